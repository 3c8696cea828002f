"""Shares of each answer from the citation table, and statistics of a set of answers with intervals.

Resampling draws groups of answers (by default those to a question), never sentences or citations. Of a soft backend,
recall and precision are means of scores, without a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metaeval.citation import citation_table
from metaeval.citation.citation_table import CitationLine
from metaeval.citation.data_model import Answer, group_of
from metaeval.stats.arrays import Floats, Ints, codes_of, group_totals, ratio, weighted_sums
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import COUNTS, SHARES, Ends
from metaeval.stats.intervals import DEFAULT, Resampling, intervals
from metaeval.stats.resampling import Draws, Prepared, Tile, percentile_interval, replicate


@dataclass(frozen=True, slots=True)
class AnswerShare:
    """Hits out of a total for one answer, such as supported claims; it has no value if the total is 0.

    open: number of missing verdicts, by which the total would grow if none were missing.
    """

    hits: float
    total: int
    open: int = 0

    @property
    def value(self) -> float | None:
        """hits / total; None for a total of 0."""
        return self.hits / self.total if self.total else None

    def filled(self, hit: bool) -> AnswerShare:
        """Return the share with every missing verdict as a hit (its highest value), or as a miss (its lowest value)."""
        return AnswerShare(self.hits + self.open * hit, self.total + self.open)


@dataclass(frozen=True, eq=False)
class Statistic:
    """A statistic of a set of answers that is a function of sums over answers, so that resampling only weights groups.

    moments: (n, K) contributions of the answers to K sums; of a ratio two, the parts above and below. of: maps sums
    (K, R) to values (R,), NaN where undefined. counts: (n,) number of units of each answer that the value is a mean
    over. ends: the lowest and the highest value that there can be, for intervals. factor: multiplies the value of a
    set, and not that of a single answer.
    """

    moments: Floats
    of: Callable[[Floats], Floats]
    counts: Floats
    ends: Ends | None = None
    factor: float = 1.0

    @property
    def alone(self) -> list[float | None]:
        """The value of each answer by itself, in order; None where undefined."""
        return [None if np.isnan(value) else float(value) for value in self.of(self.moments.T)]

    def times(self, factor: float) -> Statistic:
        """Return the statistic with a factor for sets: a mean over topics, divided by another number of topics."""
        return replace(self, factor=factor, ends=SHARES if factor <= 1 else COUNTS)


def citation_shares(
    answers: Sequence[Answer], lines: Sequence[CitationLine], by_group: bool = False, undefined_is_zero: bool = False
) -> tuple[list[AnswerShare], list[AnswerShare]]:
    """Return (citation recall, citation precision), each of every answer in order; missing verdicts are left out.

    Parameters
    ----------
    answers : sequence of Answer
        All answers.
    lines : sequence of CitationLine
        Their claims, of which recall is the mean, and their citations.
    by_group : bool
        Precision is the mean over an answer's citation groups of the means of these, as in ALiiCE's paper, instead of
        the mean over its citations. Missing verdicts then do not count as `open`.
    undefined_is_zero : bool
        Precision is 0 for answers that have claims and no citation, as in the released ALCE code. It is for the macro
        mean only: in the micro mean they add no citations. An answer whose citations all lack a verdict stays without a
        value.
    """
    claims = citation_table.claims_of(lines)
    recall = sum_up(answers, ((line.answer, line.recall, citation_table.unjudged_claim(line)) for line in claims))
    values = ((line.answer, line.precision, line.state == "unjudged") for line in lines)
    if by_group:
        groups: dict[tuple[str, int], list[float]] = {}
        for line in lines:
            if line.claim_number is not None and line.precision is not None:
                groups.setdefault((line.answer, line.claim_number), []).append(line.precision)
        values = ((answer, sum(group) / len(group), False) for (answer, _), group in groups.items())
    precision = sum_up(answers, values)
    if undefined_is_zero:
        both = zip(precision, recall, strict=True)
        precision = [AnswerShare(0, 1) if not p.total + p.open and r.total else p for p, r in both]
    return recall, precision


def sum_up(answers: Sequence[Answer], values: Iterable[tuple[str, float | None, bool]]) -> list[AnswerShare]:
    """Return the share of each answer, in order, from values: (answer id, value, whether its verdict is missing).

    A value of None adds nothing, or 1 to `open` if its verdict is missing. Raises ValueError if two answers share an
    id, and KeyError for a value of an unknown answer.
    """
    sums = {answer.id: [0.0, 0, 0] for answer in answers}
    if len(sums) != len(answers):
        raise ValueError(f"answers need ids of their own, got {len(sums)} ids for {len(answers)} answers")
    for answer, value, missing in values:
        totals = sums[answer]
        totals[0] += value or 0.0
        totals[1] += value is not None
        totals[2] += missing and value is None
    return [AnswerShare(hits, int(total), int(missing)) for hits, total, missing in sums.values()]


def filled(line: CitationLine, verdict: int) -> CitationLine:
    """Return the line with `verdict` (0 or 1) in place of each missing verdict or degree of support.

    0 gives the lowest possible value, 1 the highest.
    """
    recall = verdict if citation_table.unjudged_claim(line) else line.recall
    if line.state != "unjudged":
        return replace(line, recall=recall)
    precision = verdict if line.precision is None else line.precision
    return replace(line, recall=recall, precision=precision, state="judged")


def f1(precision: float | None, recall: float | None) -> float | None:
    """Return the harmonic mean of precision and recall; 0 where both are 0, None where either is None."""
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def means(values: Sequence[float | None], ends: Ends | None = SHARES) -> Statistic:
    """Return the mean over the answers whose value is not None, as a statistic. ends: the range of the values."""
    known = np.array([value is not None for value in values], dtype=np.float64)
    return _ratio(np.array([0.0 if value is None else value for value in values], dtype=np.float64), known, ends)


def macro(shares: Sequence[AnswerShare]) -> Statistic:
    """Return the macro-average: the mean of the answers' shares, over the answers that have one."""
    return means([share.value for share in shares])


def micro(shares: Sequence[AnswerShare], ends: Ends = SHARES) -> Statistic:
    """Return the micro-average: all hits over the sum of the totals. ends: its range."""
    parts = np.array([(share.hits, share.total) for share in shares], dtype=np.float64).reshape(-1, 2)
    return _ratio(parts[:, 0], parts[:, 1], ends)


def harmonic(recall: Statistic, precision: Statistic) -> Statistic:
    """Return F1, the harmonic mean of two ratios (means); 0 where both are 0, undefined where either is."""

    def of(sums: Floats) -> Floats:
        first, second = ratio(sums[0], sums[1]), ratio(sums[2], sums[3])
        # Where both are 0, F1 is defined as 0 and not as missing.
        return np.where(first + second == 0, 0.0, ratio(2 * first * second, first + second))

    counts = np.maximum(recall.counts, precision.counts)
    return Statistic(np.concatenate((recall.moments, precision.moments), axis=1), of, counts, SHARES)


def variation(numbers: Sequence[Sequence[float]]) -> Statistic:
    """Return the population standard deviation over the mean of all answers' numbers, pooled; undefined for mean 0."""
    pooled = [x for row in numbers for x in row]
    # Squares of the distances from the pooled mean: with squares of the numbers, most digits would cancel.
    pivot = sum(pooled) / len(pooled) if pooled else 0.0
    moments = [[len(row), sum(row), sum(x - pivot for x in row), sum((x - pivot) ** 2 for x in row)] for row in numbers]

    def of(sums: Floats) -> Floats:
        mean, shift, square = (ratio(each, sums[0]) for each in sums[1:])
        return ratio(np.sqrt(np.maximum(square - shift**2, 0)), mean)

    sums_of = np.array(moments, dtype=np.float64).reshape(len(numbers), 4)
    return Statistic(sums_of, of, sums_of[:, 0], COUNTS)


def value_of(statistic: Statistic, rows: Ints | None = None) -> float | None:
    """Return the value over the answers at these indices, or over all; None where undefined."""
    moments = statistic.moments if rows is None else statistic.moments[rows]
    value = float(statistic.of(moments.sum(axis=0)[:, None])[0]) * statistic.factor
    return None if np.isnan(value) else value


def bounds(
    shares: Sequence[AnswerShare], average: Callable[[Sequence[AnswerShare]], Statistic], rows: Ints | None = None
) -> tuple[float | None, float | None]:
    """Return (lowest, highest) possible average: with every missing verdict negative, and positive; None: undefined.

    average: `macro` or `micro`. rows: indices of the averaged answers; all if None.
    """
    least, most = (value_of(average([share.filled(hit) for share in shares]), rows) for hit in (False, True))
    return least, most


def group_codes(answers: Sequence[Answer]) -> tuple[Ints, int]:
    """Return the code of each answer's group, (n,), in order of first appearance, and the number of groups.

    Answers to the same question share a group, unless their files name groups (see `group_of`).
    """
    codes: dict[str, int] = {}
    column = [codes.setdefault(group_of(answer), len(codes)) for answer in answers]
    return np.array(column, dtype=np.int64), len(codes)


def system_codes(answers: Sequence[Answer]) -> tuple[list[str], Ints]:
    """Return the names of the systems, sorted, and the index of each answer's system among them, (n,)."""
    names = [answer.system for answer in answers]
    return sorted(set(names)), codes_of(names)


def replicates(statistic: Statistic, rows: Ints, group: Ints, draws: Draws) -> Floats:
    """Return the value over some answers under each of the R weightings of `draws`, (R,), the input itself first.

    rows: indices of the answers. group: (n,) codes of all answers.
    """
    sums = _by_group(statistic, rows, group, draws.n_groups)

    def evaluate(tile: Tile) -> Floats:
        return statistic.of(weighted_sums(sums, tile)) * statistic.factor

    def left_out() -> Floats:
        return statistic.of((sums.sum(axis=0) - sums).T) * statistic.factor

    return replicate(Prepared(evaluate, int(np.unique(group[rows]).size), left_out), draws)


def interval_over(statistic: Statistic, rows: Ints, group: Ints, n_groups: int, resampling: Resampling) -> Estimate:
    """Return the value over some answers and its interval, if there is one; it takes at least two groups with a value.

    rows: indices of the answers. group: (n,) codes of all answers. n_groups: number of codes.
    """
    # With fewer than two groups that have a value, all resamples are equal.
    alone = _by_group(statistic, rows, group, n_groups)[np.unique(group[rows])]
    valued = np.count_nonzero(~np.isnan(statistic.of(alone.T)))
    effective = resampling if valued > 1 else replace(resampling, n=0)
    counts = group_totals(statistic.counts[rows], group[rows], n_groups).astype(np.int64)
    return intervals(lambda draws: replicates(statistic, rows, group, draws), counts, effective, statistic.ends)[0]


def interval_of(values: Floats, level: float) -> Estimate:
    """Return values[0] (of the input) with the percentile interval of values[1:] (of the resamples), if there is one.

    It is for discrete measures, such as numbers of flips.
    """
    if np.isnan(values[0]):
        return Estimate(None)
    ends = percentile_interval(values[1:], level)
    return Estimate(float(values[0]), *(ends or (None, None)))


def estimate(statistic: Statistic, group: Ints, n_groups: int, resampling: Resampling = DEFAULT) -> Estimate:
    """Return the value over all answers with its cluster interval, and the number `n` of answers that have a value.

    group: (n,) code of each answer's group. Raises ValueError if the lengths differ.
    """
    if len(statistic.moments) != group.size:
        raise ValueError(f"values of {len(statistic.moments)} answers, but {group.size} group codes")
    interval = interval_over(statistic, np.arange(group.size), group, n_groups, resampling)
    return replace(interval, n=int((~np.isnan(statistic.of(statistic.moments.T))).sum()))


def _by_group(statistic: Statistic, rows: Ints, group: Ints, n_groups: int) -> Floats:
    """Return the moments of some answers summed within each group, (n_groups, K)."""
    return np.stack([group_totals(moment[rows], group[rows], n_groups) for moment in statistic.moments.T], axis=1)


def _ratio(above: Floats, below: Floats, ends: Ends | None) -> Statistic:
    return Statistic(np.stack((above, below), axis=1), lambda sums: ratio(sums[0], sums[1]), below, ends)
