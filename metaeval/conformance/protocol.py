"""Contract checks of a protocol: of its declaration, edge cases of input, counts, resamples and comparisons."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from metaeval.conformance.check_helpers import checks_of, instance_of, need, need_name, raises, refuse, runs
from metaeval.stats.resampling import bootstrap
from protocols.comparison import compare
from protocols.contract import Judgements, Option, Outcome, Protocol, Resampling

SIGNED = frozenset(
    "data unit chunks sentences evidence pool over-chunks metric control protocol interval by B seed metaeval numpy "
    "scipy alpha analysis file scores gold subset".split()
)
"""Names of signature fields that no option of a protocol can have."""


_COLUMNS = ("gold", "score", "group", "pool", "system")


def judgements(n: int = 300, *, missing: float = 0.0) -> Judgements:
    """Return n synthetic rows: three levels, five systems, tied scores that follow the gold, pools of about six rows,
    and three pools to a group. missing: probability that a row has no score.
    """
    rng = np.random.default_rng(0)
    pool = rng.integers(0, max(1, n // 6), n)
    gold = rng.choice([0.0, 1, 2], n, p=[0.6, 0.1, 0.3])
    score = np.round(gold + rng.normal(size=n), 1)
    system = np.random.default_rng(1).integers(0, 5, n)
    return Judgements(gold, np.where(rng.random(n) < missing, np.nan, score), pool // 3, pool, system)


def copy_rows(rows: Judgements) -> Judgements:
    """Return the same rows in new arrays."""
    columns: dict[str, Any] = {
        name: value.copy() for name, value in vars(rows).items() if isinstance(value, np.ndarray)
    }
    return dataclasses.replace(rows, **columns)


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
        return instance_of(self.value, Protocol, "protocol")

    @property
    def options(self) -> dict[str, str]:
        """Return the default value of each option, by name."""
        return {name: option.default for name, option in self.protocol.options.items()}

    def run(self, rows: Judgements, n: int = 20, seed: int = 0, options: Mapping[str, str] | None = None) -> Outcome:
        """Return the protocol's outcome on these rows, with resampled intervals. n: number of resamples."""
        chosen = self.options if options is None else options
        return self.protocol.evaluate(self.taken(rows), Resampling(n=n, seed=seed, method="percentile"), chosen)

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
    if not (protocol.title and protocol.about):
        refuse("title or about is empty: say in one sentence what it measures.")
    need(keys, "The protocol has no measures: declare at least one Measure(key, label).")
    need(len(set(keys)) == len(keys), f"Two measures have one key, among {', '.join(keys)}: give each its own.")
    for measure in protocol.measures:
        need(measure.about, f"Measure {measure.key!r} has no `about`: say in one sentence what it is.")
        need(measure.scale > 0 and measure.span > 0, f"Measure {measure.key!r}: scale and span have to be above 0.")
    shown = protocol.shown(EDGES["plain"])
    need(
        shown and set(shown) <= set(keys),
        f"shown gives {', '.join(shown) or 'nothing'}: it has to be keys of measures, which are {', '.join(keys)}.",
    )
    if protocol.headline and protocol.headline not in keys:
        refuse(f"The headline is {protocol.headline!r}, which is not a measure: choose among {', '.join(keys)}.")
    if not set(protocol.table_measures) <= set(keys):
        refuse(f"table_measures has keys that no measure has: choose among {', '.join(keys)}.")
    for name, option in protocol.options.items():
        need(
            isinstance(option, Option) and option.about and option.values and all(option.values.values()),
            f"Option {name!r} is not whole: give Option(about, {{value: what it means, ...}}), the default value "
            "first.",
        )
        need(name not in SIGNED, f"Option {name!r} is called like a field of every signature: choose another name.")


def counts_and_estimates_are_whole(subject: ProtocolSubject) -> None:
    """Check on edge cases that counts add up, each value is a number or has a note, and the input stays unchanged."""
    for edge, rows in EDGES.items():
        for resampling in (Resampling(0), Resampling(20), Resampling(20, method="percentile")):
            mine = copy_rows(rows)
            call = partial(subject.protocol.evaluate, mine, resampling, subject.options)
            outcome = runs(f"evaluate on the input {edge!r}", call)
            _check_outcome(subject.protocol, rows, outcome, edge)
            changed = any(
                not np.array_equal(getattr(rows, name), getattr(mine, name), equal_nan=True)
                for name in ("gold", "score", "group", "pool")
            )
            if changed:
                refuse(f"evaluate changed its input on {edge!r}: work on copies; other metrics read the same arrays.")


def without_scores_nothing_is_defined(subject: ProtocolSubject) -> None:
    """Check that without any scored row every value is None and has a note."""
    for edge in ("all unscored", "empty"):
        outcome = subject.run(EDGES[edge])
        need(outcome.scored == 0, f"On the input {edge!r} scored is {outcome.scored}; no row has a score.")
        for key, estimate in outcome.estimates.items():
            need(
                estimate.value is None and estimate.note,
                f"{key} is {estimate.value} on the input {edge!r}: return Estimate(None, note='no scored pairs').",
            )


def one_group_has_no_interval(subject: ProtocolSubject) -> None:
    """Check that rows of one group give no interval, which would have no width, and a note beside each value."""
    for key, estimate in subject.run(EDGES["one group"]).estimates.items():
        need(
            estimate.low is None and (estimate.value is None or estimate.note),
            f"{key} has an interval, or no note, where all rows come from one group: return low=None, high=None and a "
            "note (protocols.measure_estimates.outcome does).",
        )


def without_resamples_there_is_no_interval(subject: ProtocolSubject) -> None:
    """Check that without resamples no estimate has an interval."""
    for key, estimate in subject.run(EDGES["plain"], n=0).estimates.items():
        need(estimate.low is None, f"{key} has an interval without resamples: return low=None and high=None.")


def the_seed_fixes_the_interval(subject: ProtocolSubject) -> None:
    """Check that the same seed gives the same outcome, and another seed at least one other interval."""
    first, again, other = (subject.run(EDGES["plain"], n=200, seed=seed) for seed in (1, 1, 2))
    if first != again:
        refuse("Two runs with one seed differ: draw with metaeval.stats.resampling.bootstrap, from the seed given.")
    intervals = [
        {key: (estimate.low, estimate.high) for key, estimate in outcome.estimates.items()}
        for outcome in (first, other)
    ]
    if all(low is None for low, _ in intervals[0].values()):
        refuse("No measure has an interval with 200 resamples of 17 groups: fill Estimate.low and high.")
    need(intervals[0] != intervals[1], "Another seed gives the same intervals: resample from Resampling.seed.")


def order_of_rows_is_irrelevant(subject: ProtocolSubject) -> None:
    """Check that the order of rows does not change the estimates."""
    rows = EDGES["some unscored"]
    shuffled = np.random.default_rng(3).permutation(rows.score.size)
    again = dataclasses.replace(rows, **{name: getattr(rows, name)[shuffled] for name in _COLUMNS})
    _same(subject.run(rows), subject.run(again), "The order of rows", "rows have no order")


def names_of_groups_are_irrelevant(subject: ProtocolSubject) -> None:
    """Check that other group codes do not change the estimates."""
    both = subject.run(EDGES["sparse group codes"]), subject.run(EDGES["plain"])
    _same(*both, "Renumbering the groups", "renumber those present first (protocols.measure_estimates.opened does)")


def bad_input_is_refused(subject: ProtocolSubject) -> None:
    """Check that infinite scores, gold that is not finite, and impossible resampling raise ValueError."""
    plain = EDGES["plain"]
    then = "has to raise a ValueError of one sentence (protocols.measure_estimates.opened does)."
    for bad in (np.inf, -np.inf):
        rows = dataclasses.replace(plain, score=np.where(np.arange(300) == 4, bad, plain.score))
        raises(ValueError, partial(subject.run, rows), f"A score of {bad} {then}")
    for bad in (np.nan, np.inf):
        rows = dataclasses.replace(plain, gold=np.where(np.arange(300) == 7, bad, plain.gold))
        raises(ValueError, partial(subject.run, rows), f"A gold level of {bad} {then}")
    for wrong in (Resampling(n=-1), Resampling(level=95.0), Resampling(seed=-1)):
        raises(ValueError, partial(subject.protocol.evaluate, plain, wrong, subject.options), f"{wrong} {then}")


def every_option_value_runs(subject: ProtocolSubject) -> None:
    """Check that each allowed value of each option runs, with the other options at their defaults."""
    for name, option in subject.protocol.options.items():
        for value in option.values:
            options = {**subject.options, name: value}
            outcome = runs(f"evaluate with {name}={value}", partial(subject.run, EDGES["plain"], options=options))
            _check_outcome(subject.protocol, EDGES["plain"], outcome, f"plain, {name}={value}")


def replicate_agrees_with_evaluate(subject: ProtocolSubject) -> None:
    """Check that `replicate` on the scored rows gives the values of `evaluate`, one row per weighting."""
    protocol, edge = subject.protocol, EDGES["plain"]
    outcome = subject.run(edge, n=20)
    keys = [key for key, estimate in outcome.estimates.items() if estimate.value is not None]
    n_groups = np.unique(edge.group).size
    taken = subject.taken(edge)
    rows = protocol.judge(taken, subject.options) if protocol.judge else taken
    draws = bootstrap(n_groups, 20, 0)
    replicates = runs("replicate", lambda: protocol.replicate(rows, n_groups, draws, subject.options, keys))
    for key in keys:
        values = np.asarray(replicates.get(key, []))
        need(
            values.shape == (21,),
            f"replicate gives {key} with shape {values.shape} for 20 resamples: return (1 + 20,) values, the input's "
            "first.",
        )
        expected = outcome.estimates[key].value or 0.0
        need(
            math.isclose(values[0], expected, rel_tol=1e-9, abs_tol=1e-12),
            f"replicate gives {key} = {values[0]} on the input and evaluate {expected}: both have to compute the same.",
        )
        if not np.array_equal(values, np.asarray(outcome.replicates.get(key, [])), equal_nan=True):
            refuse(f"Outcome.replicates[{key!r}] is not what replicate gives for the same draws: `compare` needs it.")


def influence_agrees_with_evaluate(subject: ProtocolSubject) -> None:
    """Check that `influence`, if a protocol has it, agrees with `evaluate`, and `chance` names only its measures."""
    protocol, edge = subject.protocol, EDGES["plain"]
    estimates = subject.run(edge, n=0).estimates
    keys = [key for key, estimate in estimates.items() if estimate.value is not None]
    taken = subject.taken(edge)
    rows = protocol.judge(taken, subject.options) if protocol.judge else taken
    n_groups = np.unique(edge.group).size
    influence = protocol.influence(rows, n_groups, subject.options, keys) if protocol.influence else {}
    for key, parts in ((key, parts) for key, parts in influence.items() if parts is not None):
        expected = estimates[key].value or 0.0
        need(
            parts.parts.shape[1] == n_groups and math.isclose(parts.value, expected, abs_tol=1e-9),
            f"influence gives {key} = {parts.value} and evaluate {expected}: give one column a group, and the value of "
            "the input.",
        )
    measures = {measure.key for measure in protocol.measures}
    unknown = set(protocol.chance(rows, subject.options) if protocol.chance else {}) - measures
    need(not unknown, f"chance gives {', '.join(sorted(unknown))}, which are not measures: declare them.")


def two_metrics_can_be_compared(subject: ProtocolSubject) -> None:
    """Check that a metric can be compared with a worse one and with itself, and that p-values are from 0 to 1."""
    protocol, metric = subject.protocol, subject.taken(EDGES["plain"])
    noise = np.random.default_rng(5).normal(size=metric.score.size)
    other = subject.taken(metric.with_score(metric.score + noise))
    resampling = Resampling(n=20)
    keys = [key for key in protocol.shown(metric) if protocol.measure(key).normal]
    for what, pair in (("two metrics", (metric, other)), ("a metric with itself", (metric, metric))):
        first, second = (protocol.evaluate(rows, resampling, subject.options) for rows in pair)
        call = partial(compare, protocol, pair, (first, second), resampling, 20, subject.options, keys)
        for key, difference in runs(f"Comparing {what}", call).items():
            need(
                pair[0] is not pair[1] or difference.value in (0.0, None),
                f"{key} of a metric less that of the same metric is {difference.value}: use the draws as given.",
            )
            need(difference.p is None or 0 < difference.p <= 1, f"{key}: p is {difference.p}; give 0 < p <= 1.")
    for measure in protocol.measures:
        if measure.closed_forms is None:
            continue
        closed = partial(measure.closed_forms, metric.gold, metric.score, other.score)
        for name, p in runs(f"closed_forms of {measure.key}", closed).items():
            need(
                name in ("delong", "williams", "steiger") and (math.isnan(p) or 0 <= p <= 1),
                f"closed_forms of {measure.key} gives {name}={p}: give p of 'delong', 'williams' or 'steiger', from 0 "
                "to 1.",
            )


def ties_are_as_declared(subject: ProtocolSubject) -> None:
    """Check, if the protocol sets tie_orders, that some estimate on a constant score has `ties` (worst, best order)."""
    if subject.protocol.tie_orders:
        estimates = subject.run(EDGES["constant score"]).estimates.values()
        need(
            any(estimate.ties for estimate in estimates),
            "tie_orders is set and no estimate has `ties`: fill Estimate.ties with (worst, best), or do not set it.",
        )


def what_is_blind_is_blind(subject: ProtocolSubject) -> None:
    """Check that a measure whose `blind` gives a reason has the same value for opposite scores."""
    for edge, rows in EDGES.items():
        unscored = rows.with_score(np.full(rows.score.size, np.nan))
        reasons = {measure.key: measure.blind(unscored) for measure in subject.protocol.measures}
        high, low = (subject.run(rows.with_score(score)).estimates for score in (rows.gold, -rows.gold))
        for key in reasons.keys() & high.keys():
            same = high[key].value == low[key].value
            need(
                same or not reasons[key],
                f"On the input {edge!r} measure {key!r} says {reasons[key]!r}, but is {high[key].value} for the gold "
                f'as score and {low[key].value} for its opposite: `blind` has to return "" there.',
            )


CHECKS = checks_of(globals())


def _check_outcome(protocol: Protocol, rows: Judgements, outcome: Any, edge: str) -> None:
    where = f"On the input {edge!r}"
    if not isinstance(outcome, Outcome):
        refuse(f"{where} evaluate returned {type(outcome).__name__}: return a protocols.contract.Outcome.")
    parts = outcome.scored, outcome.unscored, sum(outcome.excluded.values())
    need(
        sum(parts) == outcome.total == rows.score.size,
        f"{where} {parts[0]} scored + {parts[1]} unscored + {parts[2]} excluded rows are not the {rows.score.size} "
        "given: count every row once.",
    )
    need(all(n > 0 for n in outcome.excluded.values()), f"{where} excluded holds a reason without rows: leave it out.")
    unknown = set(outcome.estimates) - {measure.key for measure in protocol.measures}
    need(not unknown, f"{where} estimates has {', '.join(sorted(unknown))}, which are not measures: declare them.")
    lacking = set(protocol.shown(rows)) - set(outcome.estimates)
    if lacking:
        refuse(f"{where} estimates lacks {', '.join(sorted(lacking))}, which `shown` names: return Estimates.")
    for warning in outcome.warnings:
        if not (warning.endswith(".") and (warning[0].isupper() or warning[0].isdigit())):
            refuse(f"The warning {warning!r} is not a sentence: begin with a capital and end with a full stop.")
    for key, estimate in outcome.estimates.items():
        pairs = [pair for pair in (estimate.ties, estimate.bounds) if pair]
        numbers = [estimate.value, estimate.low, estimate.high, *(end for pair in pairs for end in pair)]
        for number in numbers:
            need(
                number is None or (type(number) is float and math.isfinite(number)),
                f"{where} {key} holds {number!r}: numbers are finite floats; what is undefined is None, with a note.",
            )
        need(
            estimate.value is not None or (estimate.note and estimate.low is None),
            f"{where} {key} is undefined without a note, or has an interval all the same: say in `note` why it is "
            "None.",
        )
        ends = [(estimate.low, estimate.high), *pairs]
        for low, high in ends:
            need((low is None) == (high is None), f"{where} {key} has one end of an interval only: give both, or none.")
            if low is not None and high is not None and low > high:
                refuse(f"{where} {key} has ends {low} and {high}: the lower one first.")


def _same(first: Outcome, other: Outcome, what: str, then: str) -> None:
    for key, estimate in first.estimates.items():
        for name in ("value", "low", "high"):
            mine, theirs = getattr(estimate, name), getattr(other.estimates[key], name)
            near = mine is theirs if mine is None or theirs is None else math.isclose(mine, theirs, abs_tol=1e-12)
            need(near, f"{what} moves {key} ({name}) from {mine} to {theirs}: {then}.")
