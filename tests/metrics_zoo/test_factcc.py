"""FactCC against the official code's outputs (salesforce/factCC 6170a8c, run on a tiny BERT)."""

import pytest

from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_pairs
from metrics_zoo.factcc import FactCC


@pytest.fixture
def metric(golden):
    return FactCC(FactCC.Options(folder=golden.models / "factcc-checkpoint"))


def test_the_official_probabilities(golden, metric):
    official = dict(zip(golden.ids, golden.official("factcc")["p_correct"], strict=True))
    answers = dict(zip(golden.ids, score_pairs(metric, golden.pairs).answers, strict=True))
    # The official code stops at an empty statement, and forgets a [SEP] where the statement is white space alone.
    without_words = {"p07_empty_statement", "p12_whitespace_only_statement"}
    for name, answer in answers.items():
        if name in without_words:
            assert answer.status is Status.EMPTY
        else:
            assert answer.score == pytest.approx(official[name], abs=1e-5), name
