"""From lines to shares of each answer, and from values of answers to statistics of a set of answers with intervals.

The question is what is drawn, never the sentence or the citation. Soft verdicts are means of scores, with no threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metaeval.citation.model import Answer, Entails, Pair, Verdict, group_of
from metaeval.citation.table import Line, Untitled, Zero, claims_of, find_place, premise, unjudged_claim, verdicts_on
from metaeval.stats.arrays import Floats, Ints, codes_of, group_totals, ratio, weighted_sums
from metaeval.stats.influence import COUNTS, SHARES, Ends
from metaeval.stats.intervals import DEFAULT, Resampling, intervals
from metaeval.stats.resampling import Draws, Prepared, Tile, percentile_interval, replicate


@dataclass(frozen=True, slots=True)
class Share:
    """Hits out of a total, of one answer; a total of 0 is an answer without a value.

    open: how many more there would be if no verdict were missing.
    """

    hits: float
    total: int
    open: int = 0

    @property
    def value(self) -> float | None:
        """hits / total; None where there is nothing to share."""
        return self.hits / self.total if self.total else None

    def filled(self, hit: bool) -> Share:
        """With every missing verdict a hit, or none: the best and the worst that they can be."""
        return Share(self.hits + self.open * hit, self.total + self.open)


@dataclass(frozen=True, eq=False)
class Statistic:
    """A value of a set of answers that is a function of sums over answers, so that a resample only weighs groups.

    moments: (n, K), what each answer adds to K sums. of: sums (K, R) to values (R,), NaN where undefined. counts: (n,)
    of each answer, how much of what the value is a mean over; 0 of an answer that does not count. ends: the range.
    """

    moments: Floats
    of: Callable[[Floats], Floats]
    counts: Floats
    ends: Ends | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its interval; None where undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float | None, float | None, float | None]:
        """The value and the ends of its interval, as tables take them."""
        return self.value, self.low, self.high

    def named(self, name: str) -> dict[str, float | None]:
        """The same as fields of a record: NAME, NAME_low and NAME_high."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value of a set of answers, its interval (None: undefined, or of one group), and what went into it.

    answers: those with a value; undefined: those without, left out. groups: drawn units with a value.
    """

    value: float | None
    low: float | None
    high: float | None
    answers: int
    undefined: int
    groups: int


def citation_shares(
    answers: Sequence[Answer], lines: Sequence[Line], by_group: bool = False, undefined_is_zero: bool = False
) -> tuple[list[Share], list[Share]]:
    """Citation recall and precision of each answer; lines without a verdict are left out.

    by_group: an answer's precision is the mean over its citation groups, as in ALiiCE's paper, not over its citations.
    undefined_is_zero: see `zero_where_undefined`.
    """
    recall = recalls(answers, lines)
    of_marks = ((line.answer, line.claim_number, line.precision) for line in lines)
    precision = mean_of_groups(answers, of_marks) if by_group else precisions(answers, lines)
    return recall, zero_where_undefined(precision, recall) if undefined_is_zero else precision


def recalls(answers: Sequence[Answer], lines: Sequence[Line]) -> list[Share]:
    """Citation recall of each answer over its claims; claims without a verdict are left out."""
    return sum_up(answers, ((line.answer, line.recall, unjudged_claim(line)) for line in claims_of(lines)))


def precisions(answers: Sequence[Answer], lines: Sequence[Line]) -> list[Share]:
    """Citation precision of each answer over its citations that have one."""
    return sum_up(answers, ((line.answer, line.precision, line.state == "unjudged") for line in lines))


def mean_of_groups(answers: Sequence[Answer], marks: Iterable[tuple[str, int | None, float | None]]) -> list[Share]:
    """Shares from (answer id, number of the claim, value) of each mark: the sum of the claims' means, and their number.

    Marks without a value and marks of no claim are left out.
    """
    groups: dict[tuple[str, int], list[float]] = {}
    for answer, claim, value in marks:
        if claim is not None and value is not None:
            groups.setdefault((answer, claim), []).append(value)
    return sum_up(answers, ((answer, sum(own) / len(own), False) for (answer, _), own in groups.items()))


def sum_up(answers: Sequence[Answer], values: Iterable[tuple[str, float | None, bool]]) -> list[Share]:
    """Shares from (answer id, value, whether a verdict is missing); only a value that is None can be missing.

    Raises ValueError if two answers share an id, and for a value of an answer that is not there.
    """
    sums = {answer.id: [0.0, 0, 0] for answer in answers}
    if len(sums) != len(answers):
        raise ValueError(f"answers need ids of their own, got {len(sums)} ids for {len(answers)} answers")
    for answer, value, missing in values:
        if answer not in sums:
            raise ValueError(f"a line is of answer {answer!r}, which is not among the answers")
        own = sums[answer]
        own[0] += value or 0.0
        own[1] += value is not None
        own[2] += missing and value is None
    return [Share(hits, int(total), int(missing)) for hits, total, missing in (sums[one.id] for one in answers)]


def zero_where_undefined(precision: Sequence[Share], recall: Sequence[Share]) -> list[Share]:
    """Precision 0 of answers with claims and without a citation, as the released ALCE code counts them.

    For the macro mean only: in the micro mean they have no citations. An answer whose citations all lack a verdict
    stays without a value.
    """
    return [
        Share(0.0, 1) if not own.total + own.open and claims.total + claims.open else own
        for own, claims in zip(precision, recall, strict=True)
    ]


def filled(line: Line, verdict: int) -> Line:
    """The line with the verdicts, or degrees, that are missing in it against the answer (0), or for it (1)."""
    recall = verdict if unjudged_claim(line) else line.recall
    if line.state != "unjudged":
        return replace(line, recall=recall)
    precision = verdict if line.precision is None else line.precision
    return replace(line, recall=recall, precision=precision, state="judged")


def f1(precision: float | None, recall: float | None) -> float | None:
    """Harmonic mean; 0 where both are 0, None where either is undefined."""
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def means(values: Sequence[float | None], ends: Ends | None = SHARES) -> Statistic:
    """The mean over the answers that have a value. ends: the range of the values."""
    known = np.array([value is not None for value in values], dtype=np.float64)
    return _ratio(np.array([0.0 if value is None else value for value in values], dtype=np.float64), known, ends)


def macro(shares: Sequence[Share]) -> Statistic:
    """The mean over answers of each answer's share."""
    return means([share.value for share in shares])


def micro(shares: Sequence[Share], ends: Ends = SHARES) -> Statistic:
    """The share over all answers together. ends: its range."""
    return _ratio(
        np.array([share.hits for share in shares], dtype=np.float64),
        np.array([share.total for share in shares], dtype=np.float64),
        ends,
    )


def harmonic(recall: Statistic, precision: Statistic) -> Statistic:
    """F1, the harmonic mean of two ratios; 0 where both are 0."""

    def of(sums: Floats) -> Floats:
        one, other = ratio(sums[0], sums[1]), ratio(sums[2], sums[3])
        # Both 0 is a known failure, and no missing value.
        return np.where(one + other == 0, 0.0, ratio(2 * one * other, one + other))

    counts = np.maximum(recall.counts, precision.counts)
    return Statistic(np.concatenate((recall.moments, precision.moments), axis=1), of, counts, SHARES)


def variation(numbers: Sequence[Sequence[float]]) -> Statistic:
    """Population standard deviation over mean of numbers pooled over answers; numbers: those of each answer."""
    pooled = [x for own in numbers for x in own]
    # Squares are of distances from a middle: from 0, their mean and the squared mean would cancel all but a few digits.
    middle = sum(pooled) / len(pooled) if pooled else 0.0
    moments = [
        [len(own), sum(own), sum(x - middle for x in own), sum((x - middle) ** 2 for x in own)] for own in numbers
    ]

    def of(sums: Floats) -> Floats:
        mean, shift, square = (ratio(each, sums[0]) for each in sums[1:])
        return ratio(np.sqrt(np.maximum(square - shift**2, 0)), mean)

    sums_of = np.array(moments, dtype=np.float64).reshape(len(numbers), 4)
    return Statistic(sums_of, of, sums_of[:, 0], COUNTS)


def value_of(statistic: Statistic, rows: Ints | None = None) -> float | None:
    """The value over some answers (their numbers), or over all; None where undefined."""
    moments = statistic.moments if rows is None else statistic.moments[rows]
    value = float(statistic.of(moments.sum(axis=0)[:, None])[0])
    return None if np.isnan(value) else value


def bounds(
    shares: Sequence[Share], average: Callable[[Sequence[Share]], Statistic], rows: Ints | None = None
) -> tuple[float | None, float | None]:
    """The least and the most that an average (`macro` or `micro`) can be, were every missing verdict 0, and were it 1.

    rows: numbers of the answers that it is over; all if None.
    """
    least, most = (value_of(average([share.filled(hit) for share in shares]), rows) for hit in (False, True))
    return least, most


def group_codes(answers: Sequence[Answer]) -> tuple[Ints, int]:
    """Code of each answer's group, (n,), in order of first appearance, and how many groups there are.

    Answers to the same question share one, unless their files name groups (see `group_of`).
    """
    codes: dict[str, int] = {}
    column = [codes.setdefault(group_of(answer), len(codes)) for answer in answers]
    return np.array(column, dtype=np.int64), len(codes)


def system_codes(answers: Sequence[Answer]) -> tuple[list[str], Ints]:
    """The systems, sorted, and the code of each answer's, (n,)."""
    names = [answer.system for answer in answers]
    return sorted(set(names)), codes_of(names)


def replicates(statistic: Statistic, rows: Ints, group: Ints, draws: Draws) -> Floats:
    """The value over some answers under each weighting of the groups, (R,), the input itself first.

    rows: numbers of the answers. group: (n,) codes of all answers.
    """
    sums = _by_group(statistic, rows, group, draws.n_groups)

    def evaluate(tile: Tile) -> Floats:
        return statistic.of(weighted_sums(sums, tile))

    def left_out() -> Floats:
        return statistic.of((sums.sum(axis=0) - sums).T)

    return replicate(Prepared(evaluate, int(np.unique(group[rows]).size), left_out), draws)


def groups_with_value(statistic: Statistic, rows: Ints, group: Ints) -> int:
    """How many groups have a value by themselves; of one alone, resampling only repeats the value."""
    codes = np.unique(group[rows])
    if not codes.size:
        return 0
    alone = _by_group(statistic, rows, group, int(codes[-1]) + 1)[codes]
    return int((~np.isnan(statistic.of(alone.T))).sum())


def interval_over(statistic: Statistic, rows: Ints, group: Ints, n_groups: int, resampling: Resampling) -> Interval:
    """The value over some answers with its interval; no interval where fewer than two groups have a value."""
    asked = resampling if groups_with_value(statistic, rows, group) > 1 else replace(resampling, n=0)
    counts = group_totals(statistic.counts[rows], group[rows], n_groups).astype(np.int64)
    return interval_by(lambda draws: replicates(statistic, rows, group, draws), counts, asked, statistic.ends)[0]


def interval_by(
    run: Callable[[Draws], Floats], rows: Ints, resampling: Resampling, ends: Ends | None = None
) -> list[Interval]:
    """As `metaeval.stats.intervals.intervals`."""
    return [Interval(*found[:3]) for found in intervals(run, rows, resampling, ends)]


def interval_of(values: Floats, level: float) -> Interval:
    """The value on the input, and the percentile interval of the resamples: of measures that move in steps."""
    if np.isnan(values[0]):
        return Interval(None)
    ends = percentile_interval(values[1:], level) if values.size > 1 else None
    return Interval(float(values[0]), *(ends or (None, None)))


def estimate(statistic: Statistic, group: Ints, n_groups: int, resampling: Resampling = DEFAULT) -> Estimate:
    """The value over all answers with its cluster interval; group: (n,) codes.

    Raises ValueError if the lengths differ.
    """
    if len(statistic.moments) != group.size:
        raise ValueError(f"values of {len(statistic.moments)} answers, but {group.size} group codes")
    rows = np.arange(group.size)
    own = interval_over(statistic, rows, group, n_groups, resampling)
    counted = int((~np.isnan(statistic.of(statistic.moments.T))).sum())
    groups = groups_with_value(statistic, rows, group)
    return Estimate(own.value, own.low, own.high, counted, group.size - counted, groups)


def _by_group(statistic: Statistic, rows: Ints, group: Ints, n_groups: int) -> Floats:
    """The sums of some answers in each group, (n_groups, K)."""
    return np.stack([group_totals(moment[rows], group[rows], n_groups) for moment in statistic.moments.T], axis=1)


def _ratio(above: Floats, below: Floats, ends: Ends | None) -> Statistic:
    return Statistic(np.stack((above, below), axis=1), lambda sums: ratio(sums[0], sums[1]), below, ends)


_OPEN = "ok"
"""The reason on a line whose verdict is open though there is a score: what a soft cut-off leaves behind."""


def soften(
    answers: Sequence[Answer], lines: Sequence[Line], entails: Entails, untitled: Untitled, zero: Zero
) -> list[Line]:
    """The lines of a pipeline that was run with a soft backend, with degrees of support in [0, 1] in place of verdicts.

    A claim's recall is the score of its passages together, a citation's precision the score of its passage alone: one
    more call of `entails`. What the pipeline settled without a verdict (a mark that points nowhere, an uncited claim)
    stays as it settled it. A line keeps its state: see `settled`.
    """
    passages = {answer.id: answer.passages for answer in answers}
    pairs: list[Pair | None] = []
    for line in lines:
        own = passages[line.answer]
        place, _ = find_place(line.citation, len(own), zero)
        asked = line.state == "unjudged" and place is not None
        pairs.append((premise([own[place]], untitled), line.claim) if asked and place is not None else None)
    known = verdicts_on(pairs, entails)
    return [_soft(line, None if pair is None else known[pair]) for line, pair in zip(lines, pairs, strict=True)]


def settled(line: Line, degrees: Line) -> Line:
    """A soft backend's line for the citation table: judged where it has its degrees, with no verdict on it."""
    judged = line.state == "unjudged" and not degrees.reason
    return replace(line, state="judged" if judged else line.state, reason=degrees.reason)


def _soft(line: Line, alone: Verdict | None) -> Line:
    recall, reason = line.recall if line.score is None else line.score, line.reason if line.reason != _OPEN else ""
    if alone is None:
        return replace(line, recall=recall, reason=reason)
    reason = reason or ("" if alone.score is not None else alone.status)
    return replace(line, recall=recall, precision=alone.score, reason=reason)
