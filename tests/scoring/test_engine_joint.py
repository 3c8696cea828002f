"""Metrics that share an observation: each pair is observed once, for those that still need it."""

from typing import ClassVar

import pytest

from metaeval.core.errors import UserError
from metaeval.scoring.block_plan import make_plan
from metaeval.scoring.contract import MetricCard, PairScore, TwoStepMetric
from metaeval.scoring.engine import score_jointly, score_pairs
from metaeval.scoring.score_store import ScoreStore, pair_key

PAIRS = [(f"source {number}", f"statement {number % 4}") for number in range(12)]


class Lengths(TwoStepMetric):
    """Observes the two texts' lengths, and remembers which pairs it observed."""

    card = MetricCard(name="source-length", family="test", summary="", paper="", licence="")
    block_tokens: ClassVar[int] = 20
    part = 0

    def __init__(self, options=None):
        super().__init__(options)
        self.seen = []

    def observed(self):
        return {"lengths": 1}

    def observe(self, sources, statements):
        self.seen += zip(sources, statements, strict=True)
        return [(len(source), len(statement)) for source, statement in zip(sources, statements, strict=True)]

    def judge(self, observations):
        return [PairScore(float(observation[self.part])) for observation in observations]


class StatementLengths(Lengths):
    card = MetricCard(name="statement-length", family="test", summary="", paper="", licence="")
    part = 1


def test_two_metrics_observe_each_pair_once_and_score_as_they_do_alone():
    one, other = Lengths(), StatementLengths()
    first, second = score_jointly([one, other], PAIRS)
    assert sorted(one.seen) == sorted(PAIRS)
    assert other.seen == []
    assert first.answers == score_pairs(Lengths(), PAIRS).answers
    assert second.answers == score_pairs(StatementLengths(), PAIRS).answers
    assert [answer.score for answer in second.answers] == [float(len(statement)) for _, statement in PAIRS]


def test_only_the_blocks_that_one_of_them_lacks_are_observed(tmp_path):
    with ScoreStore(tmp_path / "s.sqlite") as store:
        score_pairs(Lengths(), PAIRS, store)
        score_pairs(StatementLengths(), PAIRS[:5], store)
        one, other = Lengths(), StatementLengths()
        first, second = score_jointly([one, other], PAIRS, store)
        # A block of which a pair is missing is observed whole: its pairs are always seen together.
        plan = make_plan({pair_key(*pair): pair for pair in PAIRS}, Lengths.block_tokens)
        missing = {pair_key(*pair) for pair in PAIRS[5:]}
        assert [pair_key(*pair) for pair in one.seen] == [
            key for block in plan if missing & {*block.keys} for key in block.keys
        ]
        assert len(PAIRS[5:]) < len(one.seen) <= len(PAIRS)
        assert (first.computed, second.computed) == (0, 7)
        again = Lengths(), StatementLengths()
        score_jointly(again, PAIRS, store)
        assert again[0].seen == []


def test_an_observation_too_few_is_refused():
    metric = type("Broken", (Lengths,), {"observe": lambda *_: []})()
    with pytest.raises(UserError, match="0 results"):
        score_pairs(metric, PAIRS)
