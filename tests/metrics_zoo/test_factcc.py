"""FactCC against the official code's outputs (salesforce/factCC 6170a8c, run on a tiny BERT), and against its
definition, one pair at a time on plain transformers."""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.factcc import FactCC  # noqa: E402
from tests.metrics_zoo.stand_ins import odd_pairs  # noqa: E402

# The official code stops at an empty statement, and forgets a [SEP] where the statement is white space alone.
WITHOUT_WORDS = {"p07_empty_statement", "p12_whitespace_only_statement"}


@pytest.fixture(scope="module")
def metric(golden):
    return FactCC(FactCC.Options(model=golden.models / "factcc-checkpoint"))


def test_the_official_logits(metric, golden):
    for name, pair, logits in zip(golden.ids, golden.pairs, golden.official("factcc")["logits"], strict=True):
        if name not in WITHOUT_WORDS:
            found = metric.model.table([pair[0]], [pair[1]])
            assert found.values[0].tolist() == pytest.approx(logits, abs=1e-5), name


def test_the_official_inputs(golden, metric):
    """Length of all, of the source (n_a) and of segment 1, its [SEP] included, after the official truncation."""
    features = golden.official("factcc")["features"]
    for name, pair in zip(golden.ids, golden.pairs, strict=True):
        if name in WITHOUT_WORDS:
            continue
        (ids, segments, _, _), wanted = metric.model.tokens.encode([pair[0]], [pair[1]])[0], features[name]
        assert len(ids) == wanted["n_real"], name
        assert sum(segments) == wanted["n_seg1"], name
        assert ids.index(3) - 1 == wanted["n_a"], name  # 3 is [SEP]
        assert [*ids, *[0] * 12][:12] == wanted["head"], name


# From here on nothing is needed beside the project: a tiny BERT made here.

LABELS = {0: "CORRECT", 1: "INCORRECT"}


@pytest.fixture(scope="module")
def folder(tiny):
    return tiny.folder("bert", name="factcc", id2label=LABELS)


@pytest.fixture(scope="module")
def pairs():
    return [*odd_pairs(300), ("word " * 400, "claim " * 400)]


def slow(folder, pairs):
    """P(CORRECT) one pair at a time; of two sides too long, one token at a time off the longer (tie: the claim)."""
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    model = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    scores = []
    for source, statement in pairs:
        first = tokenizer(source, add_special_tokens=False)["input_ids"]
        second = tokenizer(statement, add_special_tokens=False)["input_ids"]
        while len(first) + len(second) > 509:
            (first if len(first) > len(second) else second).pop()
        ids = [tokenizer.cls_token_id, *first, tokenizer.sep_token_id, *second, tokenizer.sep_token_id]
        segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([segments])).logits[0]
        scores.append(float(logits.softmax(0)[0]))
    return scores


def test_our_scores_are_those_of_the_definition(folder, pairs):
    answers = score_pairs(FactCC(FactCC.Options(model=folder)), pairs).answers
    assert [answer.score for answer in answers] == pytest.approx(slow(folder, pairs), abs=1e-5)
    assert max(answer.score for answer in answers) - min(answer.score for answer in answers) > 0.05
