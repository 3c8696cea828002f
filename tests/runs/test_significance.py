"""Every pair of metrics of a table: which are tested, how p is adjusted, which letters and ranks a metric has."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats as scipy_stats

from metaeval.core.config import ComparisonConfig
from metaeval.report import result as results
from metaeval.runs.significance import adjusted, marked, significance, withheld
from metaeval.stats.estimate import Estimate
from protocols import classification, correlation
from protocols.contract import Judgements, Outcome, Protocol, Resampling

RESAMPLING = Resampling(n=50, seed=1)
NOISE = {"best": 0.5, "good": 1.2, "as good": 1.2, "bad": 4.0}


def metrics(protocol: Protocol, noise: dict[str, float] = NOISE, n: int = 240) -> dict[str, tuple[Judgements, Outcome]]:
    """Metrics that are the gold with more and more noise, on groups of four rows."""
    rng = np.random.default_rng(0)
    gold, codes = rng.choice([0.0, 1, 2], n), np.arange(n)
    given = {
        name: Judgements(gold, gold + spread * rng.normal(size=n), codes // 4, codes) for name, spread in noise.items()
    }
    return {name: (rows, protocol.evaluate(rows, RESAMPLING, {})) for name, rows in given.items()}


def compared(
    given: dict[str, tuple[Judgements, Outcome]] | None = None,
    keys: tuple[str, ...] = ("spearman",),
    against: Any = None,
    resampling: Resampling = RESAMPLING,
    protocol: Protocol = correlation.PROTOCOL,
    **settings: Any,
) -> results.Significance:
    """The tests of these metrics, or of the usual four."""
    chosen = ComparisonConfig(**{"permutations": 199, **settings})
    answer = significance(protocol, {}, resampling, chosen, given or metrics(protocol), keys, against or {})
    assert answer is not None
    return answer


def by_hand_holm(p: list[float]) -> list[float]:
    """The k-th smallest of m times (m - k + 1), never less than one before it, at most 1."""
    adjusted, least = [0.0] * len(p), 0.0
    for k, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        least = max(least, p[place] * (len(p) - k))
        adjusted[place] = min(least, 1.0)
    return adjusted


@pytest.mark.parametrize("protocol", [classification.PROTOCOL, correlation.PROTOCOL])
def test_p_is_the_level_at_which_the_interval_ends_at_0(protocol: Protocol) -> None:
    given = metrics(protocol, {"a": 1.0, "b": 1.2})
    keys = ("fs_ns", "overall") if protocol is classification.PROTOCOL else ("pearson", "spearman", "kendall")
    for pair in compared(given, keys, protocol=protocol).comparisons:
        assert pair.p is not None
        level = replace(RESAMPLING, level=1 - pair.p)
        (at_p,) = compared(given, (pair.measure,), resampling=level, protocol=protocol).comparisons
        nearest = at_p.low if (pair.difference or 0) > 0 else at_p.high
        assert nearest == pytest.approx(0, abs=1e-9)


def test_groups_of_one_row_have_the_standard_error_of_delong() -> None:
    # DeLong's variance of the difference, on the logit scale of -1 .. 1 with Student's t at all 240 groups less one.
    rng = np.random.default_rng(4)
    gold = rng.choice([0.0, 2.0], 240)
    scores = [gold + spread * rng.normal(size=240) for spread in (1.5, 2.0)]
    every = np.arange(240)
    rows = [Judgements(gold, score, every, every) for score in scores]
    given = {
        name: (row, classification.PROTOCOL.evaluate(row, RESAMPLING, {})) for name, row in zip("ab", rows, strict=True)
    }
    # DeLong, DeLong and Clarke-Pearson (1988): each positive's share of negatives below it, and the converse.
    beats = np.array([score[gold == 2][:, None] > score[gold == 0] for score in scores], dtype=float)
    by_positive, by_negative = (beats[0] - beats[1]).mean(axis=1), (beats[0] - beats[1]).mean(axis=0)
    variance = by_positive.var(ddof=1) / by_positive.size + by_negative.var(ddof=1) / by_negative.size
    at = (by_positive.mean() + 1) / 2
    unit = np.sqrt(variance) / (2 * at * (1 - at))
    influence = given["a"][1].influence["fs_ns"] - given["b"][1].influence["fs_ns"]
    p = 2 * scipy_stats.t.sf(abs(np.log(at / (1 - at))) / unit, influence.effective_groups - 1)
    (found,) = compared(given, ("fs_ns",), protocol=classification.PROTOCOL).comparisons
    assert found.p == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize(("permutations", "alpha"), [(1, 0.05), (19, 0.01), (5000, 0.05)])
def test_enough_permutations_for_holm_to_reach_alpha(permutations: int, alpha: float) -> None:
    # Six pairs: the least p, 1 / (1 + B), times six must lie below alpha; twice as many are made.
    answer = compared(permutations=permutations, alpha=alpha)
    assert answer.permutations == max(permutations, ceil(2 * 6 / alpha))
    assert 6 / (1 + answer.permutations) < alpha
    assert min(one.holm for one in answer.comparisons if one.holm is not None) <= alpha


def test_an_undefined_pair_is_not_counted_among_those_adjusted_for() -> None:
    # A constant metric has no correlation: its three pairs have no p, and Holm multiplies by the other three at most.
    given = metrics(correlation.PROTOCOL, {"best": 0.5, "good": 1.2, "bad": 4.0})
    rows = given["best"][0]
    flat = rows.with_score(np.full(rows.gold.size, 0.3))
    given["flat"] = flat, correlation.PROTOCOL.evaluate(flat, RESAMPLING, {})
    pairs = compared(given, permutations=239).comparisons
    undefined = [one for one in pairs if "flat" in (one.one, one.other)]
    assert [(one.p, one.holm, one.difference) for one in undefined] == [(None, None, None)] * 3
    defined = [one for one in pairs if "flat" not in (one.one, one.other)]
    assert [one.holm for one in defined] == pytest.approx(by_hand_holm([one.p for one in defined]), abs=1e-15)


def test_nothing_to_test() -> None:
    given = metrics(classification.PROTOCOL, {"alone": 1.0})
    call = classification.PROTOCOL, {}, RESAMPLING
    assert significance(*call, ComparisonConfig(), given, ("overall",)) is None
    two = metrics(classification.PROTOCOL, {"a": 1.0, "b": 1.0})
    assert significance(*call, ComparisonConfig(permutations=0), two, ("overall",)) is None


def row(name: str, value: float | None, kind: Literal["metric", "control"] = "metric") -> results.Row:
    values = {"spearman": Estimate(value=value)}
    return results.Row(metric=name, kind=kind, values=values, total=9, scored=9, unscored=0, signature="s")


def pair(one: str, other: str, difference: float | None, p: float | None) -> results.Comparison:
    return results.Comparison(measure="spearman", one=one, other=other, rows=9, difference=difference, p=p, holm=p)


def test_all_pairs_and_controls_are_tested_adjusted_and_lettered_as_they_were(recorded: Any) -> None:
    """In each family, beside controls of which some are metrics too: a pair with a control has one p."""
    given, found = metrics(correlation.PROTOCOL, n=80), {}
    against = {name: {"random": None, **{other: given[other] for other in NOISE if "good" in other}} for name in given}
    against = {name: {other: of for other, of in own.items() if other != name} for name, own in against.items()}
    for family, rivals in product(("column", "table", "suite"), (None, against)):
        tests = compared(given, ("pearson", "spearman"), rivals, family=family, permutations=19)
        pairs = [
            [one.measure, one.one, one.other, one.rows, one.difference, one.p, one.holm] for one in tests.comparisons
        ]
        controls = [[one.measure, one.one, one.other, one.p, one.holm] for one in tests.controls]
        rows = [row(name, outcome.estimates["spearman"].value) for name, (_, outcome) in given.items()]
        marks = [[own.letters, own.ranks, own.not_above] for own in marked(rows, tests)]
        counts = {"permutations": tests.permutations, "tests": tests.tests}
        found[f"{family} {rivals is not None}"] = {"pairs": pairs, "controls": controls, "marks": marks, **counts}
    recorded.held("runs-significance", found)


PAIRS = {
    "plain": [
        pair("a", "b", 0.4, 0.03),
        pair("a", "c", None, None),
        pair("a", "d", 0.1, None),
        pair("b", "d", -0.1, 0.05),
    ],
    "turned": [pair("a", "b", -0.2, 0.01)],
    "words": [pair("a", "words", 0.4, 0.01), pair("a", "b", 0.1, 0.01), pair("words", "b", -0.2, 0.01)],
    "none": [pair("a", "b", 0.0, 0.01), pair("a", "words", 0.3, 0.06)],
}


def test_what_rows_without_a_score_could_reverse_is_withheld_and_marks_follow(recorded: Any) -> None:
    """a has the difference on the rows that both scored, and the value of its own with these bounds; b has .6."""
    found = {}
    for (name, pairs), bounds in product(
        PAIRS.items(), ((None, None), (0.6, 0.8), (0.61, 0.8), (0.2, 0.55), (0.2, 0.6))
    ):
        rows = [row("a", 0.7), row("b", 0.6), row("c", None), row("d", 0.65), row("words", 0.6, kind="control")]
        value = replace(rows[0].values["spearman"], worst=bounds[0], best=bounds[1])
        rows[0] = rows[0].model_copy(update={"values": {"spearman": value}})
        controls = [each for each in pairs if each.other == "words"]
        given = results.Significance(permutations=9, seed=0, alpha=0.05, comparisons=pairs, controls=controls)
        answer = withheld(given, rows)
        rows[1] = rows[1].model_copy(update={"control": "lexical" if name == "words" else ""})
        holm = [[test.holm for test in tests] for tests in (answer.comparisons, answer.controls)]
        found[f"{name} {bounds}"] = [holm, [[own.letters, own.ranks, own.not_above] for own in marked(rows, answer)]]
    assert marked(rows, None) == rows
    (alone,) = adjusted([given.model_copy(update={"comparisons": []})], None)
    recorded.held("runs-withheld", {**found, "alone": [test.holm for test in alone.controls]})
