"""Downstream flips: whether another backend ranks the systems in another order, and which answers make it so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.measures import Share
from metaeval.experiment.citing.judging import HEADLINES, Cited, Judged, by_key
from metaeval.experiment.citing.quantities import Interval, interval_of
from metaeval.stats.agreement import pair_signs, rank_agreement

Floats = NDArray[np.float64]

CAUSES = 5
"""Answers that are named for a flip."""


@dataclass(frozen=True)
class Agreement:
    """Two backends' rankings of the systems under one measure: Kendall's tau-b, and pairs of systems in other order."""

    measure: str
    one: str
    other: str
    tau: Interval
    flips: Interval
    pairs: int


@dataclass(frozen=True)
class Cause:
    """What an answer adds to a reversal, in the measure's units; `before` and `after` are its own values."""

    answer: str
    system: str
    before: float | None
    after: float | None
    adds: float


@dataclass(frozen=True)
class Flip:
    """Two systems, `ahead` better than `behind` under the backend `one`, and worse under `other`.

    lead, reversed_lead: ahead's value less behind's under the one and the other. share: of the resamples that order the
    two in opposite ways. causes: the answers that add most to lead - reversed_lead, which is the sum over all answers;
    none for F1, which is no sum over answers.
    """

    measure: str
    one: str
    other: str
    ahead: str
    behind: str
    lead: float
    reversed_lead: float
    share: float
    causes: tuple[Cause, ...]


def rankings(cited: Cited) -> dict[str, Floats]:
    """Values of every backend, system and weighting by measure: (backends, systems, R)."""
    return {
        column.key: np.stack(
            [
                np.stack(
                    [cited.values(by_key(one.quantities)[column.key], system) for system in range(len(cited.systems))]
                )
                for one in cited.judged
            ]
        )
        for column in HEADLINES
    }


def compare_rankings(cited: Cited) -> tuple[list[Agreement], list[Flip]]:
    """Every two backends' rankings under recall, precision and F1; nothing with one backend or one system."""
    if len(cited.judged) < 2 or len(cited.systems) < 2:
        return [], []
    level = cited.config.interval.level
    agreements: list[Agreement] = []
    flips: list[Flip] = []
    for measure, values in rankings(cited).items():
        for i, j in combinations(range(len(cited.judged)), 2):
            tau, count = rank_agreement(values[i], values[j])
            names = cited.judged[i].backend.name, cited.judged[j].backend.name
            pairs = len(cited.systems) * (len(cited.systems) - 1) // 2
            # One group alone is drawn again and again: no interval.
            shown = slice(None) if cited.draws.n_groups > 1 else slice(1)
            ends = interval_of(tau[shown], level), interval_of(count[shown], level)
            agreements.append(Agreement(measure, *names, *ends, pairs))
            flips += _flips(cited, measure, cited.judged[i], cited.judged[j], values[i], values[j])
    return agreements, flips


def _flips(cited: Cited, measure: str, one: Judged, other: Judged, values: Floats, others: Floats) -> list[Flip]:
    signs, other_signs = pair_signs(values), pair_signs(others)
    found = []
    for pair, (a, b) in enumerate(combinations(range(len(cited.systems)), 2)):
        if not signs[pair, 0] * other_signs[pair, 0] < 0:
            continue
        ahead, behind = (a, b) if signs[pair, 0] > 0 else (b, a)
        resampled = signs[pair, 1:] * other_signs[pair, 1:]
        found.append(
            Flip(
                measure=measure,
                one=one.backend.name,
                other=other.backend.name,
                ahead=cited.systems[ahead],
                behind=cited.systems[behind],
                lead=float(values[ahead, 0] - values[behind, 0]),
                reversed_lead=float(others[ahead, 0] - others[behind, 0]),
                share=float(np.mean(resampled < 0)) if resampled.size else float("nan"),
                causes=_causes(cited, measure, one, other, ahead, behind),
            )
        )
    return found


def _causes(cited: Cited, measure: str, one: Judged, other: Judged, ahead: int, behind: int) -> tuple[Cause, ...]:
    if measure not in ("recall", "precision"):
        return ()
    before, after = (list(getattr(judged, measure)) for judged in (one, other))
    causes = [
        *_parts(cited, before, after, ahead, 1.0),
        *_parts(cited, before, after, behind, -1.0),
    ]
    causes.sort(key=lambda cause: (-cause.adds, cause.answer))
    return tuple(cause for cause in causes[:CAUSES] if cause.adds > 0)


def _parts(cited: Cited, before: Sequence[Share], after: Sequence[Share], system: int, sign: float) -> list[Cause]:
    """What each answer of a system adds: the change of its part in the system's mean."""
    rows = np.flatnonzero(cited.system == system).tolist()
    counted = [sum(shares[row].value is not None for row in rows) for shares in (before, after)]
    found = []
    for row in rows:
        values = before[row].value, after[row].value
        parts = [0.0 if value is None else value / count for value, count in zip(values, counted, strict=True)]
        answer = cited.pipeline.answers[row]
        found.append(Cause(answer.id, answer.system, *values, sign * (parts[0] - parts[1])))
    return found
