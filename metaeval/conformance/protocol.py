"""Contract checks of a protocol: of its declaration, edge cases of input, counts, resamples and comparisons."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from metaeval.conformance.check_helpers import checks_of, need, need_name, refuse, runs
from metaeval.stats.resampling import bootstrap
from protocols.comparison import tested_against
from protocols.contract import Judgements, Option, Outcome, Protocol, Resampling

_COLUMNS = ("gold", "score", "group", "pool", "system", "kind")


def judgements(n: int = 300, *, missing: float = 0.0) -> Judgements:
    """Return n synthetic rows: three levels, five systems, tied scores that follow the gold, pools of about six rows,
    and three pools to a group. The first row of a pool is an original, others are edits of it. missing: probability
    that a row has no score.
    """
    rng = np.random.default_rng(0)
    pool = rng.integers(0, max(1, n // 6), n)
    gold = rng.choice([0.0, 1, 2], n, p=[0.6, 0.1, 0.3])
    score = np.round(gold + rng.normal(size=n), 1)
    system = np.random.default_rng(1).integers(0, 5, n)
    kind = np.array(["destroying", "harmless", "case"], np.object_)[gold.astype(np.int64)]
    kind[np.unique(pool, return_index=True)[1]] = "original"
    return Judgements(gold, np.where(rng.random(n) < missing, np.nan, score), pool // 3, pool, system, kind=kind)


def copy_rows(rows: Judgements) -> Judgements:
    """Return the same rows in new arrays."""
    return dataclasses.replace(rows, **{name: getattr(rows, name).copy() for name in _COLUMNS})


_PLAIN, _LACKING = judgements(), judgements(missing=0.1)
EDGES: Mapping[str, Judgements] = {
    "plain": _PLAIN,
    "some unscored": judgements(missing=0.3),
    "constant score": dataclasses.replace(_PLAIN, score=np.full(300, 0.1)),
    "all unscored": judgements(missing=1.0),
    "only FULL": dataclasses.replace(_LACKING, gold=np.full(300, 2.0)),
    "only NONE": dataclasses.replace(_LACKING, gold=np.zeros(300)),
    "no PARTIAL": dataclasses.replace(_PLAIN, gold=np.repeat([0.0, 2.0], 150)),
    "supporting rows unscored": dataclasses.replace(_PLAIN, score=np.where(_PLAIN.gold > 0, np.nan, _PLAIN.score)),
    "gold beyond the three levels": dataclasses.replace(_PLAIN, gold=np.tile([0.0, 0.5, 3.0], 100)),
    "one group": dataclasses.replace(_LACKING, group=np.zeros(300, dtype=np.int64)),
    "sparse group codes": dataclasses.replace(_PLAIN, group=_PLAIN.group * 1000 + 7),
    "one row": judgements(1),
    "two rows": judgements(2),
    "empty": judgements(0),
}


@dataclasses.dataclass
class ProtocolSubject:
    """A protocol under test: the registered object, and the name under which it is registered ("": none)."""

    value: Any
    name: str = ""

    @cached_property
    def protocol(self) -> Protocol:
        """Return the protocol."""
        if not isinstance(self.value, Protocol):
            refuse(f"{self.value!r} is not a protocol: give an instance of protocols.contract.Protocol.")
        of_edits = self.value.of_edits(EDGES["plain"]) if self.value.of_edits else ()
        return dataclasses.replace(self.value, measures=(*self.value.measures, *of_edits))

    @property
    def options(self) -> dict[str, str]:
        """Return the default value of each option, by name."""
        return {name: option.default for name, option in self.protocol.options.items()}

    def run(self, rows: Judgements, n: int = 20, seed: int = 0, options: Mapping[str, str] | None = None) -> Outcome:
        """Return the protocol's outcome on these rows. n: number of resamples."""
        chosen = self.options if options is None else options
        return self.protocol.evaluate(self.taken(rows), Resampling(n=n, seed=seed), chosen)

    def taken(self, rows: Judgements) -> Judgements:
        """Return the rows in new arrays; for a protocol that takes levels, with scores rounded to 0, 1 and 2."""
        if not self.protocol.takes_levels:
            return copy_rows(rows)
        score = np.where(np.isfinite(rows.score), np.clip(np.round(rows.score), 0, 2), rows.score)
        return copy_rows(rows).with_score(score)


def declares_itself(subject: ProtocolSubject) -> None:
    """Check the names, texts and options that every command reads."""
    protocol = subject.protocol
    keys = [measure.key for measure in protocol.measures]
    need_name("The protocol's", protocol.name, subject.name)
    need(len(set(keys)) == len(keys) > 0, "Measures are missing, or two have one key: declare Measure(key, label).")
    for name, option in protocol.options.items():
        whole = isinstance(option, Option) and option.values
        need(whole, f"Option {name!r} is not whole: give Option(about, {{value: what it means}}), the default first.")
    shown = protocol.shown(EDGES["plain"], subject.options)
    need(shown, f"shown gives nothing: give keys among {', '.join(keys)}.")
    named = {"shown": shown, "headline": filter(None, [protocol.headline]), "table_measures": protocol.table_measures}
    for what, names in named.items():
        need(set(names) <= set(keys), f"{what} has a key that no measure has: choose among {', '.join(keys)}.")


def counts_and_estimates_are_whole(subject: ProtocolSubject) -> None:
    """Check on edge cases that counts add up, each value is a number or has a note, and the input stays unchanged."""
    for edge, rows in EDGES.items():
        for resampling in (Resampling(0), Resampling(20)):
            mine = copy_rows(rows)
            call = partial(subject.protocol.evaluate, mine, resampling, subject.options)
            _check_outcome(subject, rows, runs(f"evaluate on the input {edge!r}", call), edge, subject.options)
            for name in ("gold", "score", "group", "pool"):
                same = np.array_equal(getattr(rows, name), getattr(mine, name), equal_nan=True)
                need(same, f"evaluate changed its input on {edge!r}: work on copies; other metrics read these arrays.")


def intervals_need_scores_groups_and_resamples(subject: ProtocolSubject) -> None:
    """Check that no value is defined without scores, and no interval from one group or without resamples."""
    for edge in ("all unscored", "empty"):
        for key, cell in subject.run(EDGES[edge]).estimates.items():
            text = f"{key} is {cell.value} on the input {edge!r}: return Estimate(None, note='no scored pairs')."
            need(cell.value is None, text)
    for key, cell in subject.run(EDGES["one group"]).estimates.items():
        noted = cell.low is None and (cell.value is None or cell.note)
        need(noted, f"{key} has an interval, or no note, where all rows come from one group.")
    for key, cell in subject.run(EDGES["plain"], n=0).estimates.items():
        need(cell.low is None, f"{key} has an interval without resamples: return low=None and high=None.")


def the_seed_fixes_the_interval(subject: ProtocolSubject) -> None:
    """Check that the same seed gives the same outcome, and of resampled measures another seed another interval."""
    first, again, other = (subject.run(EDGES["plain"], n=200, seed=seed) for seed in (1, 1, 2))
    need(first == again, "Two runs with one seed differ: draw with metaeval.stats.resampling.bootstrap, from the seed.")
    mine, theirs = ([(cell.low, cell.high) for cell in outcome.estimates.values()] for outcome in (first, other))
    need(any(low is not None for low, _ in mine), "No measure has an interval with 200 resamples of 17 groups.")
    resampled = mine != theirs or not subject.protocol.resampled
    need(resampled, "Another seed gives the same intervals: resample from Resampling.seed.")


def order_and_names_of_groups_are_irrelevant(subject: ProtocolSubject) -> None:
    """Check that neither the order of rows nor other group codes change the estimates."""
    rows = EDGES["some unscored"]
    shuffled = np.random.default_rng(3).permutation(rows.score.size)
    again = dataclasses.replace(rows, **{name: getattr(rows, name)[shuffled] for name in _COLUMNS})
    _same(subject.run(rows), subject.run(again), "The order of rows", "rows have no order")
    both = subject.run(EDGES["sparse group codes"]), subject.run(EDGES["plain"])
    _same(*both, "Renumbering the groups", "renumber those present first (protocols.measure_estimates.opened does)")


def bad_input_is_refused(subject: ProtocolSubject) -> None:
    """Check that infinite scores, gold that is not finite, and impossible resampling raise ValueError."""
    plain = EDGES["plain"]
    cases = [(str(wrong), plain, wrong) for wrong in (Resampling(-1), Resampling(level=95.0), Resampling(seed=-1))]
    for name, bad in (("score", np.inf), ("score", -np.inf), ("gold", np.nan), ("gold", np.inf)):
        changed: dict[str, Any] = {name: np.append(getattr(plain, name)[:-1], bad)}
        cases.append((f"{name}={bad}", dataclasses.replace(plain, **changed), Resampling()))
    for what, rows, resampling in cases:
        try:
            subject.protocol.evaluate(subject.taken(rows), resampling, subject.options)
        except ValueError:
            continue
        except Exception as error:  # noqa: BLE001 (someone else's code: anything can come out of it)
            refuse(f"{what} has to raise a ValueError. It raised {type(error).__name__}: {error}.", error)
        refuse(f"{what} has to raise a ValueError (protocols.measure_estimates.opened does).")


def every_option_value_runs(subject: ProtocolSubject) -> None:
    """Check that each allowed value of each option runs, with the other options at their defaults."""
    for name, option in subject.protocol.options.items():
        for value in option.values:
            options = {**subject.options, name: value}
            outcome = runs(f"evaluate with {name}={value}", partial(subject.run, EDGES["plain"], options=options))
            _check_outcome(subject, EDGES["plain"], outcome, f"plain, {name}={value}", options)


def replicates_and_influence_agree_with_evaluate(subject: ProtocolSubject) -> None:
    """Check that `replicate` and `influence` give the values of `evaluate`, and `chance` only its measures."""
    protocol, edge = subject.protocol, EDGES["plain"]
    outcome = subject.run(edge)
    expected = {key: cell.value for key, cell in outcome.estimates.items() if cell.value is not None}
    keys, n_groups, taken = list(expected), np.unique(edge.group).size, subject.taken(edge)
    rows = protocol.judge(taken, subject.options) if protocol.judge else taken
    draws = bootstrap(n_groups, 20, 0)
    replicates = runs("replicate", lambda: protocol.replicate(rows, n_groups, draws, subject.options, keys))
    for key, value in expected.items():
        values = np.asarray(replicates.get(key, []))
        need(values.shape == (21,), f"replicate gives {key} with shape {values.shape}: return (1 + resamples,) values.")
        text = f"replicate gives {key} = {values[0]} on the input and evaluate {value}: both compute the same."
        need(math.isclose(values[0], value, abs_tol=1e-9), text)
    influence = protocol.influence(rows, n_groups, subject.options, keys) if protocol.influence else {}
    for key, parts in ((key, parts) for key, parts in influence.items() if parts is not None):
        same = parts.parts.shape[1] == n_groups and math.isclose(parts.value, expected[key], abs_tol=1e-9)
        need(same, f"influence gives {key} = {parts.value} and evaluate {expected[key]}: give one column a group.")
    chance = set(protocol.chance(rows, subject.options) if protocol.chance else {})
    need(chance <= {measure.key for measure in protocol.measures}, "chance names what is not a measure: declare it.")


def two_metrics_can_be_compared(subject: ProtocolSubject) -> None:
    """Check that a metric can be compared with a worse one and with itself, from which it does not differ."""
    protocol, metric = subject.protocol, subject.taken(EDGES["plain"])
    noise = np.random.default_rng(5).normal(size=metric.score.size)
    other = subject.taken(metric.with_score(metric.score + noise))
    resampling = Resampling(n=20)
    keys = [key for key in protocol.shown(metric, subject.options) if protocol.measure(key).tested]
    for what, pair in (("two metrics", (metric, other)), ("a metric with itself", (metric, metric))):
        first, second = (protocol.evaluate(rows, resampling, subject.options) for rows in pair)
        metrics, against = {"one": (pair[0], first)}, {"one": {"other": (pair[1], second)}}
        call = partial(tested_against, protocol, subject.options, resampling, metrics, against, keys, 20)
        for key, difference in runs(f"Comparing {what}", call)["one", "other"].items():
            none = pair[0] is not pair[1] or difference.value in (0.0, None)
            need(none, f"{key} of a metric less that of the same metric is {difference.value}: use the draws as given.")


def ties_and_blindness_are_as_declared(subject: ProtocolSubject) -> None:
    """Check that tie_orders fills `ties`, and that a measure with a reason in `blind` ignores the scores."""
    if subject.protocol.tie_orders:
        ties = any(cell.ties for cell in subject.run(EDGES["constant score"]).estimates.values())
        need(ties, "tie_orders is set and no estimate has `ties`: fill Estimate.ties with (worst, best).")
    for edge, rows in EDGES.items():
        unscored = rows.with_score(np.full(rows.score.size, np.nan))
        reasons = {measure.key: measure.blind(unscored) for measure in subject.protocol.measures}
        high, low = (subject.run(rows.with_score(score)).estimates for score in (rows.gold, -rows.gold))
        for key in reasons.keys() & high.keys():
            same = high[key].value == low[key].value or not reasons[key]
            need(same, f"On the input {edge!r} {key!r} depends on the scores, and `blind` says {reasons[key]!r}.")


CHECKS = checks_of(globals())


def _check_outcome(
    subject: ProtocolSubject, rows: Judgements, outcome: Any, edge: str, options: Mapping[str, str]
) -> None:
    where = f"On the input {edge!r}"
    if not isinstance(outcome, Outcome):
        refuse(f"{where} evaluate returned {type(outcome).__name__}: return a protocols.contract.Outcome.")
    parts = outcome.scored, outcome.unscored, sum(outcome.excluded.values())
    text = f"{where} scored, unscored and excluded are {parts} of {rows.score.size} rows: count every row once."
    need(sum(parts) == outcome.total == rows.score.size, text)
    need(all(outcome.excluded.values()), f"{where} excluded holds a reason without rows: leave it out.")
    keys = set(outcome.estimates)
    unknown = keys - {measure.key for measure in subject.protocol.measures}
    need(not unknown, f"{where} estimates has {', '.join(unknown)}, which are not measures: declare them.")
    lacking = set(subject.protocol.shown(rows, options)) - keys
    need(not lacking, f"{where} estimates lacks {', '.join(lacking)}, which `shown` names: return Estimates.")
    for key, cell in outcome.estimates.items():
        ends = [(cell.low, cell.high), *(pair for pair in (cell.ties, cell.bounds) if pair)]
        for number in (cell.value, *(end for pair in ends for end in pair)):
            finite = number is None or (type(number) is float and math.isfinite(number))
            need(finite, f"{where} {key} holds {number!r}: numbers are finite floats; what is undefined is None.")
        noted = cell.value is not None or (cell.note and cell.low is None)
        need(noted, f"{where} {key} is undefined without a note, or has an interval all the same: say why in `note`.")
        for low, high in ends:
            need((low is None) == (high is None), f"{where} {key} has one end of an interval only: give both, or none.")
            need(low is None or low <= (high or 0.0), f"{where} {key} has ends {low} and {high}: the lower one first.")


def _same(first: Outcome, other: Outcome, what: str, then: str) -> None:
    for key, estimate in first.estimates.items():
        for name in ("value", "low", "high"):
            mine, theirs = getattr(estimate, name), getattr(other.estimates[key], name)
            near = mine is theirs if mine is None or theirs is None else math.isclose(mine, theirs, abs_tol=1e-12)
            need(near, f"{what} moves {key} ({name}) from {mine} to {theirs}: {then}.")
