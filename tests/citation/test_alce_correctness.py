"""What ALCE measures beside citations: published rules, the packages rouge-score and mauve-text, and arithmetic."""

import json
import os
import random
import sys

import pytest

from metaeval.citation.alce.correctness import (
    answer_values,
    answers_mauve,
    claim_recalls,
    list_scores,
    mauve,
    mauve_text,
    normalise,
    reader_scores,
    reader_values,
    references_of,
    rouge_lsum,
    short_answers,
    token_f1,
)
from metaeval.citation.data_model import Answer, Verdict
from metaeval.citation.measures import AnswerShare, estimate, group_codes, means
from metaeval.core.errors import UserError


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Cat, an owl; a DOG!", "cat owl dog"),
        ("a.b-c", "abc"),  # punctuation is deleted, not replaced
        ("The", ""),
        ("“Élan”", "“élan”"),  # only ASCII punctuation goes
    ],
)
def test_normal_form_is_squads(text, normal):
    assert normalise(text) == normal


def test_short_answers_are_looked_for_as_substrings():
    assert short_answers("He sailed in 1931, the year.", [["1931", "31"], ["May"], ["sail"]]) == AnswerShare(2, 3)
    assert short_answers("He sailed.", []) is None
    # As released, an alias that is empty in normal form is found in any text.
    assert short_answers("", [["the"]]) == AnswerShare(1, 1)


def test_a_list_is_scored_by_normal_form():
    # Items: rhine, po, po. Gold: {rhine, rhein}, {elbe}. Precision 1/3, recall 1/2, F1 = 2/6 / (5/6) = 0.4.
    found = list_scores("The Rhine, Po, PO, .", [["Rhine", "Rhein"], ["Elbe"]])
    assert (found["num_preds"], found["qampari_prec"], found["qampari_rec"]) == (3, 1 / 3, 0.5)
    assert found["qampari_f1"] == pytest.approx(0.4, abs=1e-15)
    # Six found of eight: recall 6/8, but 5/5 of the first five.
    names = list("klmnopqr")
    many = list_scores("k, l, m, n, o, p", [[name] for name in names])
    assert (many["qampari_rec"], many["qampari_rec_top5"], many["qampari_f1_top5"]) == (0.75, 1.0, 1.0)
    nothing = list_scores("", [["x"]])
    assert (nothing["num_preds"], nothing["qampari_prec"], nothing["qampari_f1"]) == (0, 0.0, 0.0)
    assert list_scores("x", []) == {}


def test_claims_are_asked_once_over_the_whole_clean_answer():
    verdicts, calls = {"c1": Verdict(True), "c2": Verdict(False), "c3": Verdict(None, status="failed")}, []

    def entails(pairs):
        calls.append(list(pairs))
        return [verdicts[claim] for _, claim in pairs]

    answers = [
        Answer("a", "Rain fell [1]. It stopped [2].", (), reference={"claims": ["c1", "c2", "c1"]}),
        Answer("b", "It began.", (), reference={"claims": ["c1", "c3"]}),
        Answer("c", "It began.", ()),
    ]
    found = claim_recalls(answers, entails)
    rain = "Rain fell. It stopped."
    assert calls == [[(rain, "c1"), (rain, "c2"), ("It began.", "c1"), ("It began.", "c3")]]
    # c2 of three is not entailed; of b the claim c3 has no verdict.
    assert found == [2 / 3, 1.0, None]


def test_rouge_is_the_packages_on_the_same_lines():
    from rouge_score.rouge_scorer import RougeScorer

    text, first, second = "It rained all day. The river rose.", "The river rose. Rain fell.", "Nothing happened."
    scorer = RougeScorer(["rougeLsum"], use_stemmer=True)
    expected = [
        scorer.score(reference.lower().replace(". ", ".\n"), text.lower().replace(". ", ".\n"))["rougeLsum"].fmeasure
        for reference in (first, second)
    ]
    assert expected[0] > expected[1]
    assert rouge_lsum([text, text, text], [[second, first], [second], []]) == [expected[0], expected[1], None]
    # By hand: "the river rose" and, stemmed, "rain": 4 of 7 words and of the reference's 5: 2 x 4 / (7 + 5).
    assert expected[0] == pytest.approx(2 / 3, abs=1e-15)
    # The rules find no sentence that opens with a small letter: one line, 3 words in order: 2 x 3 / (7 + 5).
    assert rouge_lsum([text], [[first]], split_on="small letters") == [pytest.approx(0.5, abs=1e-15)]


def test_the_references_of_rouge_are_two_annotations_or_the_answer():
    both = {"annotations": [{"long_answer": "x"}, {"long_answer": "y"}, {"long_answer": "z"}], "answer": "w"}
    assert references_of(Answer("a", "", (), reference=both)) == ["x", "y"]
    assert references_of(Answer("a", "", (), reference={"answer": "w"})) == ["w"]
    assert references_of(Answer("a", "", ())) == []


@pytest.mark.parametrize(
    ("wanted", "given", "exact", "f1"),
    [
        ("The Danube", "danube", True, 1.0),
        ("river Danube", "Danube river", False, 1.0),
        ("a b b c", "b b d", False, 2 / 3),  # "a" is an article: 2 common of 3 and 3: 2 x 2 / 6
        ("the", "", True, 1.0),  # both without a word
        ("Rhine", "", False, 0.0),
    ],
)
def test_answers_are_matched_by_squads_rules(wanted, given, exact, f1):
    assert reader_scores([[wanted]], [given])["qa_em"] == exact
    assert token_f1(wanted, given) == pytest.approx(f1, abs=1e-15)


def test_each_sub_question_takes_its_best_short_answer():
    # Exact 1 of 2; F1 (1 + 2 x 1 / (2 + 1)) / 2 = 5/6.
    found = reader_scores([["Rhine", "Danube"], ["blue river"]], ["the Danube", "river"])
    assert (found["qa_em"], found["qa_hit"]) == (0.5, 0.0)
    assert found["qa_f1"] == pytest.approx(5 / 6, abs=1e-15)
    assert reader_scores([], []) == {}
    with pytest.raises(ValueError, match="empty"):
        reader_scores([[]], ["x"])


def test_a_reader_is_asked_every_sub_question_in_one_call():
    calls = []

    def reader(pairs):
        calls.append(list(pairs))
        return [context.split()[0] if context.strip() else "" for _, context in pairs]

    asked = {"Rhine flows.": [("q1", "Rhine"), ("q2", "Po")], "": [("q3", "Po")], "x": []}
    answers = [
        Answer(text, text, (), reference={"qa_pairs": [{"question": q, "short_answers": [a]} for q, a in own]})
        for text, own in asked.items()
    ]
    found = reader_values(answers, reader)
    assert calls == [[("q1", "Rhine flows."), ("q2", "Rhine flows."), ("q3", " ")]]
    assert found == {"qa_em": [0.5, 0.0, None], "qa_f1": [0.5, 0.0, None], "qa_hit": [0.0, 0.0, None]}


def test_an_answer_has_the_measures_of_its_reference():
    answers = [
        Answer("a", "Rhine [1].", (), group="q", reference={"answers": [["Rhine"]]}),
        Answer("b", "Rain fell [1].", (), group="q", reference={"answer": "Rain fell.", "claims": ["c"]}),
    ]
    values = answer_values(answers)
    assert values == {
        "length": [1.0, 2.0], "rougeLsum": [None, 1.0],
            "num_preds": [1.0, None], "qampari_prec": [1.0, None],
        "qampari_rec": [1.0, None], "qampari_rec_top5": [1.0, None], "qampari_f1": [1.0, None],
        "qampari_f1_top5": [1.0, None],
    }  # fmt: skip
    words, rouge = (estimate(means(values[key]), *group_codes(answers)) for key in ("length", "rougeLsum"))
    assert (words.value, rouge.value) == (1.5, 1.0)
    assert rouge.n == 1


WORDS = "harbour lamp ridge trust yeast steel kettle mountain water café sign adults".split()


def drawn(words, seed):
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, k=draw.randint(4, 30))) for _ in range(60)]


TEXTS, REFERENCES = drawn(WORDS[:9], 1), drawn(WORDS[3:], 2)
QUESTIONS = [f"Which {WORDS[number % 12]}?" for number in range(60)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A GPT-2 with random weights of one seed that reads bytes."""
    pytest.importorskip("mauve", reason="mauve-text is not installed: pip install -e '.[mauve]'")
    torch = pytest.importorskip("torch", reason="MAUVE reads texts with a model")
    transformers = pytest.importorskip("transformers", reason="MAUVE reads texts with a model")
    from tokenizers.pre_tokenizers import ByteLevel

    path = tmp_path_factory.mktemp("mauve") / "tiny-gpt2"
    path.mkdir()
    tokens = ["<|endoftext|>", *sorted(ByteLevel.alphabet())]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    (path / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (path / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    (path / "tokenizer_config.json").write_text('{"model_max_length": 1024}', encoding="utf-8")
    config = transformers.GPT2Config(
        vocab_size=len(tokens), n_embd=24, n_layer=2, n_head=2, n_positions=1024, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2Model(config)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    model.eval().save_pretrained(path)
    return str(path)


def by_the_package(folder, given, wanted, seed=25):
    """The call of ALCE's `compute_mauve` (eval.py), on the CPU, with the seed that is the package's own (25)."""
    import mauve as package

    return package.compute_mauve(
        p_text=wanted,
        q_text=given,
        device_id=-1,
        max_text_length=512,
        verbose=False,
        batch_size=8,
        featurize_model_name=folder,
        seed=seed,
    ).mauve


def joined(questions, texts):
    return [f"{question} {text}" for question, text in zip(questions, texts, strict=True)]


def test_the_value_is_the_packages_and_shows_no_progress_bar(folder, capfd):
    given, wanted = joined(QUESTIONS, TEXTS), joined(QUESTIONS, REFERENCES)
    before = dict(os.environ)
    found = mauve(QUESTIONS, TEXTS, REFERENCES, 26, model=folder)
    assert (found, dict(os.environ)) == (by_the_package(folder, given, wanted, 26), before)
    assert "Featurizing" not in capfd.readouterr().err
    assert 0.01 < found < 0.99


def test_mauve_compares_100_words_without_closing_punctuation():
    assert mauve_text("Who?", " A Dane.\nHe did it!?") == "Who? A Dane. He did it"
    assert len(mauve_text("Who?", "word " * 200).split()) == 100


def test_answers_lose_their_marks_and_need_a_reference(folder):
    answers = [
        Answer(str(number), f"{text} [1][2].", (), question, reference={"answer": reference})
        for number, (question, text, reference) in enumerate(zip(QUESTIONS, TEXTS, REFERENCES, strict=True))
    ]
    others = [Answer("x", "Lamp [1].", (), "q"), Answer("y", "Lamp.", (), "q", reference={"answers": [["lamp"]]})]
    assert answers_mauve([others[0], *answers, others[1]], folder) == by_the_package(
        folder, joined(QUESTIONS, TEXTS), joined(QUESTIONS, REFERENCES)
    )
    assert answers_mauve(others, folder) is None


@pytest.mark.parametrize(
    ("questions", "texts", "references"),
    [
        ([], [], []),
        (["q", "q"], ["a", "a."], ["a", " a"]),  # one text throughout: there is nothing to tell apart
        (["", ""], ["", ""], ["a", "b"]),
        (["", ""], ["a", "b"], ["", "?"]),
    ],
)
def test_without_texts_that_differ_there_is_no_value(folder, questions, texts, references):
    assert mauve(questions, texts, references, model=folder) is None


def test_without_the_package_it_says_what_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "mauve", None)  # as an import finds it where it is not installed
    with pytest.raises(UserError, match=r"type 'pip install mauve-text faiss-cpu'"):
        mauve(["q"], ["a"], ["b"])
