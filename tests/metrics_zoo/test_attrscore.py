"""AttrScore against its definition on plain transformers: each label teacher-forced, one pair at a time."""

import json
import os
from math import exp
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.scoring.contract import Status  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.attrscore import AttrScore  # noqa: E402
from tests.metrics_zoo.stand_ins import read_t5  # noqa: E402

# The prompt as the README of OSU-NLP-Group/AttrScore has it, with its example's texts left out.
PROMPT = (
    "As an Attribution Validator, your task is to verify whether a given reference can support the given claim. A claim can be either a plain sentence or a question followed by its answer. Specifically, your response should clearly indicate the relationship: Attributable, Contradictory or Extrapolatory. A contradictory error occurs when you can infer that the answer contradicts the fact presented in the context, while an extrapolatory error means that you cannot infer the correctness of the answer based on the information provided in the context. "  # noqa: E501
    "\n\nClaim: {statement} \n Reference: {source}"
)
PAIRS = json.loads(Path(__file__).with_name("odd_pairs.json").read_text(encoding="utf-8"))[:5]


def metric(folder, **options):
    return AttrScore(AttrScore.Options(model=folder, device="cpu", **options))


@pytest.fixture(scope="module")
def folder(tiny):
    return tiny.folder("t5")


@pytest.fixture(scope="module")
def defined(folder):
    """Natural log-probabilities (attributable, extrapolatory, contradictory) of each pair.

    `labels=` makes transformers shift the label's tokens into the decoder; the mean loss times their number is minus
    the label's log-probability, end token included.
    """
    tokenizer, model = read_t5(folder)
    rows = []
    for source, statement in PAIRS:
        given = tokenizer(PROMPT.format(source=source, statement=statement), return_tensors="pt")
        row = []
        for label in ("Attributable", "Extrapolatory", "Contradictory"):
            ids = tokenizer(label, return_tensors="pt")["input_ids"]
            with torch.inference_mode():
                row.append(-float(model(**given, labels=ids).loss) * ids.shape[1])
        rows.append(torch.tensor(row, dtype=torch.double).log_softmax(0).tolist())
    return rows


def test_the_prompt_is_the_published_one():
    assert AttrScore.card.template == PROMPT


@pytest.mark.parametrize("batch_tokens", [1, 100_000])
def test_score_and_three_classes_are_their_definition_whatever_the_batch(folder, defined, batch_tokens):
    one = metric(folder, batch_tokens=batch_tokens)
    found = score_pairs(one, PAIRS).answers
    # relative: the tiny vocabulary cuts "Attributable" into many pieces, and its random probability is small
    assert [answer.score for answer in found] == pytest.approx([exp(row[0]) for row in defined], rel=2e-4)
    for ways, row in zip(one.entail(*zip(*PAIRS, strict=True)), defined, strict=True):
        assert [*ways] == pytest.approx(row, abs=2e-4)  # sums of a dozen log-probabilities of -10 to -60
        assert sum(map(exp, ways)) == pytest.approx(1, abs=1e-9)
    turned = score_pairs(one, PAIRS[::-1]).answers
    assert [answer.score for answer in turned][::-1] == pytest.approx([exp(row[0]) for row in defined], rel=2e-4)


def test_statuses_and_limits(folder):
    pairs = [("A dog.", ""), ("A dog.", " \n"), PAIRS[1], ("A dog.", "It was not built. " * 200)]
    template = score_pairs(metric(folder), [("x", "x")]).answers[0].tokens
    one = metric(folder, max_tokens=template + 40)
    found = score_pairs(one, pairs).answers
    assert [answer.status for answer in found] == [Status.EMPTY, Status.EMPTY, Status.OK, Status.TOO_LONG]
    assert found[2].tokens - found[2].cut == template + 40
    assert one.entail(*zip(*pairs, strict=True))[0] is None
    assert score_pairs(metric(folder), [PAIRS[1]]).answers[0].cut == 0


def test_the_published_answer_of_the_real_model():
    """The README's example, whose answer is Attributable; METAEVAL_REAL_MODELS: a folder with osunlp/... in it."""
    folder = Path(os.environ.get("METAEVAL_REAL_MODELS", "nowhere")) / "osunlp/attrscore-flan-t5-large"
    if not folder.is_dir():
        pytest.skip("the real weights are not on this machine (METAEVAL_REAL_MODELS)")
    claim = "Who is the current CEO of Twitter? The current CEO of Twitter is Elon Musk"
    reference = (
        "Elon Musk is the CEO of Twitter. Musk took over as CEO in October 2022 following a back-and-forth affair in "
        "which the billionaire proposed to purchase the social media company for $44 billion, tried to back out, and "
        "then ultimately went through with the acquisition. After becoming CEO, former CEO Parag Agrawal, CFO Ned "
        "Segal, and legal affairs and policy chief Vijaya Gadde were all dismissed from the company."
    )
    ways = metric(folder).entail([reference], [claim])[0]
    assert ways.entailment == max(ways)
