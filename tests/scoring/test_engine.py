"""The engine: unique pairs once, longest first, resumed without recomputing, plug-in faults caught."""

import os
import random
from types import SimpleNamespace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.scoring.block_plan import make_plan
from metaeval.scoring.contract import Metric, MetricCard, PairScore
from metaeval.scoring.engine import score_pairs
from metaeval.scoring.score_store import ScoreStore, pair_key


class Lengths(Metric):
    """Scores a pair by its texts' lengths, and remembers what it was asked."""

    card = MetricCard(name="lengths", family="test", summary="", paper="", licence="")
    block_tokens: ClassVar[int] = 50

    def __init__(self, options=None):
        super().__init__(options)
        self.asked, self.blocks, self.prepared = [], [], []
        self.stop_after = None

    def prepare(self, sources, statements):
        self.prepared.append((list(sources), list(statements)))

    def score(self, sources, statements):
        if self.stop_after is not None and len(self.blocks) == self.stop_after:
            raise KeyboardInterrupt
        pairs = list(zip(sources, statements, strict=True))
        self.blocks.append(pairs)
        self.asked.extend(pairs)
        return [PairScore(len(source) + len(statement) / 1000) for source, statement in pairs]


def job(count=30, seed=0):
    rng = random.Random(seed)
    sources = ["s" * rng.randrange(1, 120) + str(number) for number in range(count // 3)]
    return [(rng.choice(sources), f"statement {rng.randrange(count)}") for _ in range(count)]


def test_every_unique_pair_is_scored_once_and_answers_are_aligned():
    pairs = job(60) + job(60)
    metric = Lengths()
    scored = score_pairs(metric, pairs)
    assert sorted(metric.asked) == sorted(set(pairs))
    assert [answer.score for answer in scored.answers] == [len(a) + len(b) / 1000 for a, b in pairs]
    assert scored.unique == scored.computed == len(set(pairs))


def test_blocks_go_longest_first_and_keep_a_source_together():
    metric = Lengths()
    score_pairs(metric, job(60))
    firsts = [len(source) for source, _ in dict(metric.asked).items()]
    assert firsts == sorted(firsts, reverse=True)
    places = {}
    for number, block in enumerate(metric.blocks):
        for source, _ in block:
            places.setdefault(source, set()).add(number)
    assert len(metric.blocks) > 3
    assert all(len(numbers) == 1 for numbers in places.values())


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=20)), max_size=40), st.randoms())
def test_the_plan_depends_on_the_set_of_pairs_and_not_on_their_order(pairs, rng):
    unique = {pair_key(*pair): pair for pair in pairs}
    shuffled = list(unique.items())
    rng.shuffle(shuffled)
    plan = [list(block.keys) for block in make_plan(unique, 20)]
    assert plan == [list(block.keys) for block in make_plan(dict(shuffled), 20)]
    assert sorted(key for block in plan for key in block) == sorted(unique)


@pytest.mark.parametrize(("limit", "blocks"), [(201, [1, 1]), (202, [2])])
def test_the_source_counts_once_in_a_block_and_each_statement_in_every_pair(limit, blocks):
    # 380 characters of source and two statements of ten: 400 / 4 + 1 = 101 tokens a source, 202 for both.
    pairs = [(letter * 380, statement * 10) for letter in "ab" for statement in "xy"]
    plan = [list(block.keys) for block in make_plan({str(pair).encode(): pair for pair in pairs}, limit)]
    assert [len(block) // 2 for block in plan] == blocks


class LengthsInLargeBlocks(Lengths):
    block_tokens = 5000


@pytest.mark.parametrize("kind", [Lengths, LengthsInLargeBlocks])
def test_a_second_run_computes_nothing_and_does_not_even_prepare(tmp_path, kind):
    with ScoreStore(tmp_path / "s.sqlite") as store:
        first = score_pairs(Lengths(), job(), store)
        again = kind()
        second = score_pairs(again, job(), store)
    assert again.prepared == again.asked == []
    assert second.answers == first.answers
    assert second.computed == 0


@pytest.mark.parametrize("stop", range(5))
def test_an_interrupted_run_goes_on_with_the_blocks_that_are_left(tmp_path, stop):
    whole = Lengths()
    score_pairs(whole, job(90))
    with ScoreStore(tmp_path / "s.sqlite") as store:
        broken, resumed = Lengths(), Lengths()
        broken.stop_after = stop
        with pytest.raises(KeyboardInterrupt):
            score_pairs(broken, job(90), store)
        score_pairs(resumed, job(90), store)
    assert broken.blocks + resumed.blocks == whole.blocks
    # The same texts are prepared, so what is computed from them is the same too.
    assert resumed.prepared == whole.prepared


NEW = ("a new source", "statement")


def test_more_pairs_later_cost_only_their_blocks(tmp_path):
    with ScoreStore(tmp_path / "s.sqlite") as store:
        score_pairs(Lengths(), job(90), store)
        more, whole = Lengths(), Lengths()
        assert score_pairs(more, [*job(90), NEW], store).computed == 1
    score_pairs(whole, [*job(90), NEW])
    assert NEW in more.asked
    assert all(block in whole.blocks for block in more.blocks)
    assert len(more.asked) < len(whole.asked) / 2


def test_a_metric_that_scores_each_pair_alone_is_asked_for_the_new_ones_alone(tmp_path):
    class Alone(Lengths):
        batched = False

    with ScoreStore(tmp_path / "s.sqlite") as store:
        score_pairs(Alone(), job(30), store)
        more = Alone()
        score_pairs(more, [NEW, *job(30)], store)
    assert more.asked == [NEW]


class Company(Lengths):
    """A score that the other pairs of its batch move, as the rounding of a model does, only more."""

    def score(self, sources, statements):
        drift = 1e-8 * sum(map(len, sources)) + 1e-8 * len(sources)
        return [answer._replace(score=answer.score + drift) for answer in super().score(sources, statements)]


@pytest.mark.parametrize("seed", range(10))
def test_scores_do_not_depend_on_what_was_stored(tmp_path, seed):
    pairs, rng = job(60), random.Random(seed)
    keys = [pair_key(*pair) for pair in pairs]
    whole = score_pairs(Company(), pairs).answers
    every = dict(zip(keys, whole, strict=True))
    kept = {key: answer for key, answer in every.items() if rng.random() < 0.7}
    with ScoreStore(tmp_path / "s.sqlite") as store:
        store.put(Company().identity(), kept.items())
        scored = score_pairs(Company(), pairs, store)
        assert scored.computed == len(every) - len(kept)
        assert scored.answers == whole
        assert store.find(Company().identity(), keys) == every


def test_a_row_that_is_stored_is_not_written_again(tmp_path):
    pairs = job(60)
    first = pair_key(*pairs[0])
    with ScoreStore(tmp_path / "s.sqlite") as store:
        store.put(Company().identity(), [(first, PairScore(-5.0))])
        assert score_pairs(Company(), pairs, store).answers[0].score == -5.0
        assert store.find(Company().identity(), [first]) == {first: PairScore(-5.0)}


def test_an_answer_is_the_same_from_the_metric_and_from_the_store(tmp_path):
    # SQLite has no -0.0, and no whole numbers in a column of reals; both would be printed otherwise.
    class Odd(Lengths):
        def score(self, sources, statements):
            return [PairScore(-0.0) if "1" in text else PairScore(1) for text in statements]

    with ScoreStore(tmp_path / "s.sqlite") as store:
        first, again = (score_pairs(Odd(), job(30), store).answers for _ in range(2))
    assert list(map(repr, first)) == list(map(repr, again))


def test_progress_counts_served_pairs_as_done(tmp_path):
    with ScoreStore(tmp_path / "s.sqlite") as store:
        score_pairs(Lengths(), job(30), store)
        seen = []
        total = len({*job(30), ("new", "new")})
        score_pairs(Lengths(), [*job(30), ("new", "new")], store, lambda done, all_: seen.append((done, all_)))
    assert seen == [(total - 1, total), (total, total)]


def test_a_block_that_another_run_scores_is_waited_for_and_then_taken_from_the_store(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", logger="metaeval")
    (begun, begins), (waits, ends), naps, told = os.pipe(), os.pipe(), [], []

    def run(metric, tell=None):
        with ScoreStore(tmp_path / "s.sqlite") as store:
            return score_pairs(metric, job(60), store, tell)

    def nap(seconds):
        naps.append(seconds)
        if len(naps) == 4:
            os.write(ends, b"1")
            assert os.waitpid(child, 0)[1] >> 8 == 7  # it scores the one block that it holds, and takes the others

    if not (child := os.fork()):
        held = Lengths()
        held.prepare = lambda *_: os.read(waits, os.write(begins, b"1"))
        run(held)
        os._exit(7 * len(held.blocks))
    os.read(begun, 1)
    monkeypatch.setattr("metaeval.scoring.engine.time", SimpleNamespace(sleep=nap))
    assert run(Lengths(), lambda *_: told.append(len(naps))).answers == score_pairs(Lengths(), job(60)).answers
    assert [told.count(number) for number in range(1, 6)] == [1, 1, 1, 1, 0]
    assert [record.args for record in caplog.records if "locked" in record.message] == [(1,)]
