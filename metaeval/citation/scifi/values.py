"""From verdicts to values in 0 to 1: a backend's scores, or its decisions; and the most of several."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.citation.model import Entails, Pair, Verdict


def judge_pairs(pairs: Sequence[Pair], entails: Entails, soft: bool) -> dict[Pair, Verdict]:
    """The verdict on each pair; equal pairs are asked once, all in one call.

    Raises ValueError for a soft score outside 0 to 1, and for another number of verdicts than pairs.
    """
    new = list(dict.fromkeys(pairs))
    known = dict(zip(new, entails(new), strict=True)) if new else {}
    for verdict in known.values():
        if soft and verdict.score is not None and not 0 <= verdict.score <= 1:
            raise ValueError(f"a value is a score from 0 to 1, but the backend gave {verdict.score}")
    return known


def value_of(verdict: Verdict, soft: bool) -> float | None:
    """The score, or the decision as 0 or 1; None where there is none."""
    if soft:
        return verdict.score
    return None if verdict.entailed is None else float(verdict.entailed)


def most(verdicts: Sequence[Verdict], soft: bool) -> tuple[int | None, float | None, str]:
    """The place of the highest value (of equal ones the first), that value, and why there is none.

    A missing verdict leaves the whole without a value, unless a known one already has all that can be had.
    """
    values = [value_of(verdict, soft) for verdict in verdicts]
    known = [(value, -place) for place, value in enumerate(values) if value is not None]
    best = max(known, default=None)
    if best is not None and (len(known) == len(values) or best[0] >= 1):
        return -best[1], best[0], ""
    return None, None, next(verdict.status for verdict, value in zip(verdicts, values, strict=True) if value is None)
