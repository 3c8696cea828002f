"""From values per answer to means with intervals: the question is what is drawn, never the sentence or the citation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.citation.model import Answer
from metaeval.citation.table import Line, claims_of, unjudged_claim
from metaeval.stats.arrays import Floats, Ints, group_totals, ratio, weighted_sums
from metaeval.stats.resampling import Prepared, bootstrap, percentile_interval, replicate


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


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over answers: its value and percentile interval (None: undefined, or of one group), and what went into it.

    answers: those with a value; undefined: those without, left out. groups: drawn units with a value.
    """

    value: float | None
    low: float | None
    high: float | None
    answers: int
    undefined: int
    groups: int


def recalls(answers: Sequence[Answer], lines: Sequence[Line]) -> list[Share]:
    """Citation recall of each answer over its claims; claims without a verdict are left out."""
    return _shares(answers, [(line.answer, line.recall, unjudged_claim(line)) for line in claims_of(lines)])


def precisions(answers: Sequence[Answer], lines: Sequence[Line]) -> list[Share]:
    """Citation precision of each answer over its citations that have one."""
    return _shares(answers, [(line.answer, line.precision, line.state == "unjudged") for line in lines])


def zero_where_undefined(precision: Sequence[Share], recall: Sequence[Share]) -> list[Share]:
    """Precision 0 of answers with claims and without a citation, as the released ALCE code counts them.

    For the macro mean only: in the micro mean they have no citations. An answer whose citations all lack a verdict
    stays without a value.
    """
    return [
        Share(0.0, 1) if not own.total + own.open and claims.total + claims.open else own
        for own, claims in zip(precision, recall, strict=True)
    ]


def f1(precision: float | None, recall: float | None) -> float | None:
    """Harmonic mean; 0 where both are 0, None where either is undefined."""
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def means(values: Sequence[float | None]) -> tuple[Floats, Floats]:
    """Numerators and denominators, (n,) each, of the mean over answers of the values that are defined."""
    return (
        np.array([0.0 if value is None else value for value in values], dtype=np.float64),
        np.array([value is not None for value in values], dtype=np.float64),
    )


def macro(shares: Sequence[Share]) -> tuple[Floats, Floats]:
    """Numerators and denominators, (n,) each, of the mean over answers of each answer's own value."""
    return means([share.value for share in shares])


def micro(shares: Sequence[Share]) -> tuple[Floats, Floats]:
    """Numerators and denominators, (n,) each, of the share over all answers together."""
    return (
        np.array([share.hits for share in shares], dtype=np.float64),
        np.array([share.total for share in shares], dtype=np.float64),
    )


def group_codes(answers: Sequence[Answer]) -> tuple[Ints, int]:
    """Code of each answer's group, (n,), in order of first appearance, and how many groups there are.

    An answer without a group is one by itself, under its id.
    """
    codes: dict[str, int] = {}
    column = [codes.setdefault(answer.group or answer.id, len(codes)) for answer in answers]
    return np.array(column, dtype=np.int64), len(codes)


def system_codes(answers: Sequence[Answer]) -> tuple[list[str], Ints]:
    """The systems, sorted, and the code of each answer's, (n,)."""
    systems = sorted({answer.system for answer in answers})
    number = {name: code for code, name in enumerate(systems)}
    return systems, np.array([number[answer.system] for answer in answers], dtype=np.int64)


def estimate(
    parts: tuple[Floats, Floats], group: Ints, n_groups: int, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> Estimate:
    """Ratio of the sums of `macro` or `micro` parts with its cluster-bootstrap interval; group: (n,) codes.

    One group with a value has no interval: resampling only repeats it.
    Raises ValueError if the lengths differ.
    """
    numerators, denominators = parts
    if not numerators.shape == denominators.shape == group.shape:
        raise ValueError(f"parts of {numerators.size} and {denominators.size} answers, but {group.size} group codes")
    counted = denominators > 0
    prepared = _prepared(numerators, denominators, group, n_groups)
    values = replicate(prepared, bootstrap(n_groups, resamples, seed))
    interval = percentile_interval(values[1:], level) if resamples and prepared.groups > 1 else None
    low, high = interval or (None, None)
    return Estimate(
        value=None if np.isnan(values[0]) else float(values[0]),
        low=low,
        high=high,
        answers=int(counted.sum()),
        undefined=int((~counted).sum()),
        groups=prepared.groups,
    )


def _prepared(numerators: Floats, denominators: Floats, group: Ints, n_groups: int) -> Prepared:
    """Sorted by group once: a resample only weighs the groups' sums."""
    sums = np.stack(
        [group_totals(numerators, group, n_groups), group_totals(denominators, group, n_groups)], axis=1
    ).reshape(n_groups, 2)

    def evaluate(tile: np.ndarray[tuple[int, ...], np.dtype[np.unsignedinteger]]) -> Floats:
        above, below = weighted_sums(sums, tile)
        return ratio(above, below)

    return Prepared(evaluate, int(np.unique(group[denominators > 0]).size))


def _shares(answers: Sequence[Answer], values: Sequence[tuple[str, int | None, bool]]) -> list[Share]:
    """Shares from (answer id, value, whether a verdict is missing). Raises ValueError if two answers share an id."""
    counts = {answer.id: [0, 0, 0] for answer in answers}
    if len(counts) != len(answers):
        raise ValueError(f"answers need ids of their own, got {len(counts)} ids for {len(answers)} answers")
    for answer, value, missing in values:
        own = counts[answer]
        own[0] += value or 0
        own[1] += value is not None
        own[2] += missing
    return [Share(*counts[answer.id]) for answer in answers]
