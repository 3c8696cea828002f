"""Estimates of a measure from its rows: prediction-powered, from labels alone, and as PPI++ has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metaeval.errors import UserError
from metaeval.labelling.measures import Rows, Side
from metaeval.stats.prediction_powered import Estimand, Share, ppi_mean, share, with_zeros


def estimated(rows: Rows, estimand: Estimand, level: float) -> tuple[Share, Share]:
    """What a measure is from labels and scores, and from labels alone; `UserError` where there are too few labels."""
    given = rows.label, rows.score, rows.sample, rows.cluster, estimand, level
    try:
        found = share(*given, size=rows.size), share(*given, use_scores=False, size=rows.size)
    except ValueError as error:
        raise UserError(f"Too few labels: {error}.") from error
    if rows.settled is None or not rows.settled.any():
        return found
    asked = np.bincount(rows.cluster, rows.size, rows.settled.size).astype(np.float64)
    one, alone = (with_zeros(each, asked, rows.settled, estimand, level) for each in found)
    return one, alone


def wald(rows: Rows, level: float) -> tuple[float, float, float] | None:
    """PPI++ as ppi-python computes it, with scores moved into 0 .. 1; None where every item is labelled."""
    rest = np.ones(rows.score.size, dtype=bool)
    rest[rows.sample.rows] = False
    spread = np.ptp(rows.score)
    if not rest.any() or spread == 0:
        return None
    guess = (rows.score - rows.score.min()) / spread
    if np.cov(guess[rows.sample.rows], rows.label)[0, 1] < 0:
        guess = 1 - guess
    found = ppi_mean(rows.label, guess[rows.sample.rows], guess[rest], 1 / rows.sample.probability, level=level)
    return found.value, found.low, found.high


def aligned_parts(sides: Sequence[Side], found: Sequence[tuple[Share, Share]], estimand: Estimand) -> list[list[Share]]:
    """Both files' shares with parts under common codes: answers to one question are drawn, and err, together.

    Where items were drawn apart in each file, no unit of the one is a unit of the other.
    """
    apart = estimand == "set" and any(side.judged.unit == "item" for side in sides)
    names = [side.items.clusters for side in sides]
    common = {name: number for number, name in enumerate(sorted({*names[0], *names[1]}))}
    aligned = []
    for number, (own, pair) in enumerate(zip(names, found, strict=True)):
        made = []
        for one in pair:
            if apart:
                parts = np.pad(one.parts, (number * found[0][0].parts.size, 0))
            else:
                parts = np.zeros(len(common))
                parts[[common[name] for name in own[: one.parts.size]]] = one.parts
            made.append(replace(one, parts=parts))
        aligned.append(made)
    return aligned
