"""MAUVE of answers, against the mauve-text package called as ALCE's released code calls it."""

import json
import os
import random
import sys

import pytest

import metaeval
from metaeval.citation.alce.correctness import answers_mauve, mauve
from metaeval.citation.data_model import Answer
from metaeval.errors import UserError

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


@pytest.mark.parametrize("seed", [25, 26])
def test_the_value_is_the_packages(folder, seed):
    given, wanted = joined(QUESTIONS, TEXTS), joined(QUESTIONS, REFERENCES)
    found = mauve(QUESTIONS, TEXTS, REFERENCES, seed, model=folder)
    assert found == by_the_package(folder, given, wanted, seed)
    assert 0.01 < found < 0.99
    assert mauve(QUESTIONS, TEXTS, REFERENCES, seed, model=folder) == found


def test_texts_are_cut_to_100_words_and_lose_closing_punctuation(folder):
    # Question (2 words) and text: 98 words of it are left; white space becomes single spaces.
    long = [f"\n {text}  and\t{'lamp ' * 120}" for text in TEXTS]
    closed = [f"{text}.!?)" for text in REFERENCES]
    cut = [" ".join([*text.split(), "and", *["lamp"] * (97 - len(text.split()))]) for text in TEXTS]
    found = mauve(QUESTIONS, long, closed, model=folder)
    assert found == by_the_package(folder, joined(QUESTIONS, cut), joined(QUESTIONS, REFERENCES))
    assert found != mauve(QUESTIONS, TEXTS, REFERENCES, model=folder)


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


@pytest.mark.parametrize("before", [None, "0"])
def test_no_progress_bar_is_shown_and_the_environment_is_given_back(folder, capfd, monkeypatch, before):
    if before is None:
        monkeypatch.delenv("DISABLE_TQDM", raising=False)
    else:
        monkeypatch.setenv("DISABLE_TQDM", before)
    mauve(QUESTIONS, TEXTS, REFERENCES, model=folder)
    assert "Featurizing" not in capfd.readouterr().err
    assert os.environ.get("DISABLE_TQDM") == before


def test_lengths_must_agree(folder):
    with pytest.raises(ValueError, match="zip"):
        mauve(["q"], ["a", "b"], ["c"], model=folder)


def test_a_model_that_the_package_cannot_tell_is_refused(folder):
    with pytest.raises(UserError, match="accepts only models with gpt2 or bert in their name"):
        mauve(["q"], ["a"], ["b"], model="models/large")


def test_without_the_package_it_says_what_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "mauve", None)  # as an import finds it where it is not installed
    with pytest.raises(UserError, match=r"type 'pip install mauve-text faiss-cpu'"):
        mauve(["q"], ["a"], ["b"])


def test_the_command_line_gives_each_system_its_mauve(folder, tmp_path):
    items = [
        {"question": question, "output": f"{text} [1].", "docs": [{"title": "t", "text": text}], "answer": reference}
        for question, text, reference in zip(QUESTIONS, TEXTS, REFERENCES, strict=True)
    ]
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(items), encoding="utf-8")

    found = metaeval.cite(
        "alce", file, nli="overlap", measures="mauve", mauve_model=folder, results=tmp_path, interval={"resamples": 20}
    )

    (value,) = [row["value"] for row in found.estimates if row["measure"] == "mauve"]
    assert value == by_the_package(folder, joined(QUESTIONS, TEXTS), joined(QUESTIONS, REFERENCES))
