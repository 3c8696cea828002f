"""FactCG against its published code's rules (derenlei/FactCG, factcg/inference.py), one prompt at a time."""

import random

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.scoring.backends.sentence_splitting import find_splitter  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.factcg import FactCG, count_words  # noqa: E402
from tests.metrics_zoo.stand_ins import sentences  # noqa: E402

PROMPT = (
    '{}\n\nChoose your answer: based on the paragraph above can we conclude that "{}"?\n\n'
    "OPTIONS:\n- Yes\n- No\nI think the answer is "
)


@pytest.fixture(scope="module")
def folder(tiny):
    return tiny.folder("deberta-v2", name="factcg", num_labels=2)


@pytest.fixture(scope="module")
def metric(folder):
    return FactCG(FactCG.Options(model=folder, splitter="rules"))


def slow(folder, pairs, chunk):
    """softmax[1] of the whole prompt of each chunk of a source, through the tokenizer, one at a time; their tokens."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    scores, tokens = [], []
    for source, statement in pairs:
        found = []
        for part in chunk(source):
            given = tokenizer(PROMPT.format(part, statement), return_tensors="pt")
            with torch.no_grad():
                found.append(float(model(given["input_ids"], given["attention_mask"]).logits[0].softmax(0)[1]))
            tokens.append(given["input_ids"].shape[1])
        scores.append(found)
    return scores, tokens


@pytest.fixture(scope="module")
def defined(metric, folder):
    """Pairs, the last of a source of two chunks; the score of each chunk by the definition, and all tokens."""
    rng = random.Random(3)
    sources = [sentences(rng, count, 14) for count in (1, 4, 9, 75)]
    pairs = [(source, sentences(rng, rng.randint(1, 2), 14)) for source in [*sources[:-1] * 3, sources[-1]]]
    return pairs, *slow(folder, pairs, metric.chunks)


def test_our_scores_are_those_of_the_definition(metric, defined):
    pairs, of_chunks, tokens = defined
    assert len(of_chunks[-1]) == 2
    wanted = [max(found) for found in of_chunks]
    answers = score_pairs(metric, pairs).answers
    assert [answer.score for answer in answers] == pytest.approx(wanted, abs=1e-5)
    assert max(tokens) < 2048
    assert sum(answer.tokens for answer in answers) == sum(tokens)
    assert not any(answer.cut for answer in answers)
    assert max(wanted) - min(wanted) > 0.01


def test_the_template_is_read_as_one_text(metric, folder):
    """Chunk and question tokenised apart and joined are the prompt tokenised whole, odd characters included."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    odd = ["", "One.\nTwo.", "café — 東京 🙂 [1]", "e\u0301 \u00a0 end", '(a) "quoted"', "3.5 % of it…"]
    pairs = [(one, other) for one in odd for other in odd if other]
    made = metric.model.tokens.encode(*zip(*pairs, strict=True))
    for (source, statement), ids in zip(pairs, made, strict=True):
        assert ids.ids == tokenizer(PROMPT.format(source, statement))["input_ids"]


def test_chunks_hold_550_words_at_most(metric):
    """Sentences of 28 words and a full stop (29 words), the first one 28: 19 make 550, and of the others 18 do 522."""
    sentence = " ".join(["Word"] * 28)
    sentences = [f"{sentence[5 * (not number) :]}{number}." for number in range(40)]
    chunks = metric.chunks(" ".join(sentences))
    assert chunks == ["\n".join(sentences[start:end]) for start, end in ((0, 19), (19, 37), (37, 40))]


def test_a_first_sentence_beyond_the_limit_leaves_an_empty_chunk_as_officially(metric):
    long = "Word " * 600 + "end."
    assert metric.chunks(long) == ["", long]
    assert metric.chunks(f"A start. {long} Another one.") == ["A start.", long, "Another one."]
    assert metric.chunks(" \n ") == []


def test_words_are_nltks_where_nltk_splits(punkt):
    import nltk

    splitter = find_splitter("nltk")
    for sentence in (
        "It can't cost $12.50, he said (on Jan. 5).",
        "Mr. Smith's dog... isn't here! Is it?",
        "東京では 3%",
    ):
        assert count_words(sentence, splitter) == len(nltk.word_tokenize(sentence))
    assert count_words("It can't cost $12.50.", find_splitter("rules")) == 10  # It can ' t cost $ 12 . 50 .


def test_a_chunk_beyond_2048_tokens_loses_its_end_and_the_question_stays(metric, folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    source, statement = "東京 " * 2500, "It was built."
    (made,) = metric.model.tokens.encode([source], [statement])
    question = tokenizer(PROMPT.format("", statement).strip(), add_special_tokens=False)["input_ids"]
    assert len(made.ids) == 2048
    assert made.ids[-len(question) - 1 : -1] == question
    assert made.tokens - made.cut == 2048
    (long,) = metric.model.tokens.encode(["A source."], ["claim " * 3000])
    assert len(long.ids) == 2048
