"""MiniCheck against the official outputs on a tiny T5, and against its definition on plain transformers."""

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.scoring.contract import Status  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.minicheck import MiniCheck, cut_chunks  # noqa: E402
from tests.metrics_zoo.stand_ins import first_logits  # noqa: E402

LONG = " ".join(f"The trial enrolled {number} adults with mild asthma." for number in range(30))
PAIRS = [
    ("The Kestrel lighthouse was built in 1871 on a basalt ridge.", "The lighthouse was built in 1871."),
    (LONG, "The trial enrolled 7 adults."),
    ("It was automated.\n\nKettles get hot during use.\n  Hold them by the handle.", " Kettles are cold.\n"),
    ("Water boils at 100 degrees at sea level", "東京 🙂 and </s> too"),
]


def metric(folder, **options):
    return MiniCheck(MiniCheck.Options(model=folder, device="cpu", **options))


def sentences(text):
    return [part.strip() for part in text.replace(". ", ".\0").split("\0") if part.strip()]


# --- Official values: golden/metrics/minicheck_flan_t5.json (MiniCheck b58b9fa unmodified, transformers 5.23.0) ---


@pytest.fixture
def official(golden, punkt):
    """(id, pair, official result), and the metric on the same tiny model."""
    results = golden.official("minicheck_flan_t5")["results"]
    rows = [(name, pair, results[name]) for name, pair in zip(golden.ids, golden.pairs, strict=True)]
    return rows, metric(golden.models / "google/t5_xxl_true_nli_mixture", splitter="nltk")


def test_the_official_probability_of_every_chunk(official):
    """Below the statuses: the official code also gives numbers to statements without words."""
    rows, one = official
    for name, (source, statement), value in rows:
        chunks = cut_chunks(source, 500, one.splitter.split)
        if isinstance(value, str):  # it raises: torch.cat of no chunks
            assert chunks == [], name
            continue
        assert len(chunks) == value["n_chunks"], name
        found = one.support(one.prompts.encode(chunks, [statement] * len(chunks)))
        assert found == pytest.approx(value["per_chunk"], abs=1e-5), name


def test_the_official_scores(official):
    rows, one = official
    found = score_pairs(one, [pair for _, pair, _ in rows]).answers
    for (name, (source, statement), value), answer in zip(rows, found, strict=True):
        if not source.strip() or not statement.strip():
            assert answer.status is Status.EMPTY, name
        else:
            assert answer.score == pytest.approx(value["prob"], abs=1e-5), name
    cut = {name: answer.cut for (name, *_), answer in zip(rows, found, strict=True) if answer.cut}
    assert set(cut) == {"p11_long_statement", "p13_one_very_long_sentence"}  # over 2,048 tokens in the tiny vocabulary


@pytest.fixture(scope="module")
def folder(tiny):
    return tiny.folder("t5")


def defined(folder, chunks, statement, limit=2048):
    """Each chunk alone: one tokenised string, one forward pass, softmax over ids 3 and 209."""
    rows = [first_logits(folder, f"predict: {chunk}</s>{statement}", limit) for chunk in chunks]
    return [float(row[[3, 209]].softmax(0)[1]) for row in rows]


@pytest.mark.parametrize("batch_tokens", [1, 100_000])
def test_the_score_is_the_largest_over_chunks_whatever_the_batch(folder, batch_tokens):
    one = metric(folder, splitter="rules", chunk_words=40, batch_tokens=batch_tokens)
    values = [
        max(defined(folder, cut_chunks(source, 40, one.splitter.split), statement)) for source, statement in PAIRS
    ]
    found = score_pairs(one, PAIRS).answers
    assert [answer.score for answer in found] == pytest.approx(values, abs=1e-5)
    turned = score_pairs(one, PAIRS[::-1]).answers
    assert [answer.score for answer in turned][::-1] == pytest.approx(values, abs=1e-5)


def test_the_explanation_is_the_chunk_that_scores(folder):
    one = metric(folder, splitter="rules", chunk_words=40)
    for source, statement in PAIRS:
        judged, read = one.explain(source, statement)
        values = defined(folder, one.chunks(source), statement)
        assert judged.weight == read.weight == pytest.approx(max(values), abs=1e-5)
        assert statement[judged.start : judged.end] == statement.strip()
        best = one.chunks(source)[values.index(max(values))]
        assert source[read.start : read.end].split() == best.split()
    assert not one.explain("A dog.", " ")
    assert not one.explain("", "A dog.")
    assert not metric(folder, splitter="rules", max_tokens=48).explain("word " * 300, "It was not built.")


@pytest.mark.parametrize(
    ("text", "words", "chunks"),
    [
        # 2 + 3 words fit 5, the next 2 do not
        ("A dog. It ran off. It slept.", 5, ["A dog. It ran off.", "It slept."]),
        # a sentence longer than a chunk is one, and is not cut
        ("One two three four. Five.", 2, ["One two three four.", "Five."]),
        # newlines stay, and count no word; the second of two gets a space behind it (as the official replacement does)
        ("A dog.\nIt ran.", 9, ["A dog.\nIt ran."]),
        ("A dog.\n\nIt ran.", 9, ["A dog.\n\n It ran."]),
        # a chunk neither begins nor ends with a newline
        ("A dog.\nIt ran.\n", 2, ["A dog.", "It ran."]),
        ("", 9, []),
        (" \n \n", 9, []),
    ],
)
def test_chunks_by_hand(text, words, chunks):
    assert cut_chunks(text, words, sentences) == chunks


def test_beyond_the_limit_the_statements_end_is_cut_and_counted(folder):
    source, statement = "A dog.", "It was not built in 1873 on the ridge north of the harbour. " * 3
    one = metric(folder, splitter="rules", max_tokens=48)
    answer = score_pairs(one, [(source, statement)]).answers[0]
    assert answer.score == pytest.approx(defined(folder, [source], statement, 48)[0], abs=1e-5)
    assert answer.tokens - answer.cut == 48
    whole = score_pairs(metric(folder, splitter="rules"), [(source, statement)]).answers[0]
    assert abs(answer.score - whole.score) > 1e-5


def test_a_statement_that_would_not_be_read_at_all_is_refused(folder):
    one = metric(folder, splitter="rules", max_tokens=48)
    answer = score_pairs(one, [("word " * 300, "It was not built.")]).answers[0]
    assert (answer.score, answer.status) == (None, Status.TOO_LONG)
    # Where a single piece of the statement is read there is a score.
    size = len(one.tokenizer("It was not built.", add_special_tokens=False)["input_ids"])
    found = score_pairs(one, [("word " * number, "It was not built.") for number in range(20, 60)]).answers
    assert {answer.cut for answer in found} > {size - 1, size}
    assert [answer.status is Status.TOO_LONG for answer in found] == [answer.cut >= size for answer in found]
    found = score_pairs(one, [("word " * number, "the") for number in range(36, 46)]).answers  # one piece
    assert [answer.status is Status.TOO_LONG for answer in found] == [answer.cut >= 1 for answer in found]


def test_the_published_probabilities_of_the_real_model():
    """The README of Liyan06/MiniCheck; METAEVAL_REAL_MODELS: a folder with lytang/MiniCheck-Flan-T5-Large in it."""
    folder = Path(os.environ.get("METAEVAL_REAL_MODELS", "nowhere")) / "lytang/MiniCheck-Flan-T5-Large"
    if not folder.is_dir():
        pytest.skip("the real weights are not on this machine (METAEVAL_REAL_MODELS)")
    source = "A group of students gather in the school library to study for their upcoming final exams."
    statements = ["The students are preparing for an examination.", "The students are on vacation."]
    found = score_pairs(metric(folder), [(source, statement) for statement in statements]).answers
    # the README's were computed on a GPU
    assert [answer.score for answer in found] == pytest.approx([0.9805923700332642, 0.007121330592781305], abs=1e-3)
