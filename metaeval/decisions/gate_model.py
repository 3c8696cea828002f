"""The data of a gate: its terms, the fitted gate, and the candidates of a fit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from metaeval.core.errors import UserError
from metaeval.core.files import sha256_json, write_text
from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.prediction_powered import Sample
from metaeval.stats.risk_control import (
    Promise,
    TestedThreshold,
    answers_for_mean,
    choose_threshold,
    design_effect,
    labels_for,
    labels_for_power,
    tail,
    threshold_order,
    upper_bound,
)

SCHEMA = "metaeval-gate/1"
SupportTarget = Literal["partial", "full"]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The error limits that a gate has to keep.

    Parameters
    ----------
    max_missed : float, default 0.1
        Largest share of unsupported citations that may go unflagged.
    max_flagged : float, default 0.5
        Largest share of supported citations that are flagged.
    max_unsupported : float, default 0.2
        Largest unsupported share of a release.
    alpha : float, default 0.05
        Probability with which the promise may fail.
    target : one of "partial", "full", default "partial"
        Lowest level that counts as supported.
    promise : one of "confidence", "mean", default "confidence"
        Whether `max_missed` holds with confidence 1 - alpha, or on average.

    Raises
    ------
    UserError
        For a value out of range.
    """

    max_missed: float = 0.1
    max_flagged: float = 0.5
    max_unsupported: float = 0.2
    alpha: float = 0.05
    target: SupportTarget = "partial"
    promise: Promise = "confidence"

    def __post_init__(self) -> None:
        for name in ("max-missed", "max-flagged", "alpha"):
            if not 0 < (value := getattr(self, name.replace("-", "_"))) < 1:
                raise UserError(f"--{name} is {value:g}; allowed: above 0 and below 1.")
        check_allowed(self.max_unsupported)


_STRICT = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)


class Reference(BaseModel):
    """One value's distribution in the fitting set: quantiles, lowest first, and the effective number of values."""

    model_config = _STRICT

    quantiles: list[float]
    effective: float


class Gate(BaseModel):
    """A fitted gate: an item whose score is below `threshold` is flagged. Higher scores are more support.

    Attributes
    ----------
    schema_ : str
        Schema of the file, "schema" in it.
    metric : str
        The metric.
    metric_fields : dict of str to str
        What the scores depend on, as in a signature; "made" in the file.
    settings : dict
        Settings of the run on which a score depends.
    threshold : float
        The least score that is not flagged.
    target, max_missed, max_flagged, max_unsupported, alpha, promise
        As in `Terms`.
    bound : float
        Upper bound of the missed share with confidence 1 - alpha; with the promise "mean", a bound of its mean, and
        alpha is used by `check` only.
    missed : float
        Share of the labelled unsupported citations that are not flagged.
    flagged : float
        Share of the supported ones that are.
    precision : float
        Unsupported share of what is flagged.
    unsupported_labels, supported_labels : float
        Numbers of independent labels that these are worth.
    labels, items : str
        Hashes.
    labelled : int
        Number of labelled items.
    reference : dict of str to Reference
        By name, for tests of drift.
    date : str
        When it was fitted.
    hash : str
        Of the content, by which a change is noticed.
    """

    schema_: Literal["metaeval-gate/1"] = Field(default="metaeval-gate/1", alias="schema")
    metric: str
    metric_fields: dict[str, str] = Field(alias="made")
    settings: dict[str, Any]
    threshold: float
    target: SupportTarget
    max_missed: float
    max_flagged: float
    max_unsupported: float
    alpha: float
    promise: Promise = "confidence"
    bound: float
    missed: float
    flagged: float
    precision: float
    unsupported_labels: float
    supported_labels: float
    labels: str
    items: str
    labelled: int
    reference: dict[str, Reference] = Field(repr=False)
    date: str
    hash: str = ""

    @property
    def content(self) -> str:
        """The SHA-256 of all fields except the hash and, as older gates lack it, the promise "confidence"."""
        left_out = {"hash", *(("promise",) if self.promise == "confidence" else ())}
        return sha256_json({key: value for key, value in self.model_dump(by_alias=True).items() if key not in left_out})


def write_gate(gate: Gate, path: Path) -> None:
    """Write a gate as JSON, atomically."""
    write_text(path, json.dumps(gate.model_dump(by_alias=True), indent=1, ensure_ascii=False) + "\n")


def check_allowed(max_unsupported: float) -> None:
    """Raise `UserError` for a `max_unsupported` below 0, or of 1 or more."""
    if not 0 <= max_unsupported < 1:
        raise UserError(f"--max-unsupported is {max_unsupported:g}; allowed: from 0, and below 1.")


@dataclass(frozen=True)
class Candidate:
    """A metric that may be chosen for a gate.

    Parameters
    ----------
    metric : str
        Its name.
    chosen : TestedThreshold or None
        The lowest threshold before the first, from the highest down, that breaks the limit on missed unsupported
        citations; None if the first one breaks it.
    precision : float
        Unsupported share of what `chosen` flags (`best`, where the metric does not pass and has one).
    passes : bool
        Whether `chosen` also flags few enough supported citations.
    best : TestedThreshold or None
        The threshold with the fewest misses among those that do not flag too many; None without one.
    labels : float
        How many independent unsupported labels there are where none is missed.
    more : (float, float) or None
        The least number of further unsupported labels that could do, and the number with which the metric would pass
        with probability .8 if its missed share is at the end of its one-sided 80 % bound (inf: no number would do);
        None: it passes, or its missed share is shown to be too large.
    """

    metric: str
    chosen: TestedThreshold | None
    precision: float
    passes: bool
    best: TestedThreshold | None
    labels: float
    more: tuple[float, float] | None


def candidate_of(
    name: str, score: Floats, groups: Ints, sample: Sample, bad: Bools, terms: Terms, alpha: float
) -> Candidate:
    """Return a metric as a candidate, with the threshold that a labelled sample selects for it.

    score: (N,) of every item, -inf where there is none. groups: (N,) codes of the answers. bad: (n,) whether each
    labelled item is unsupported. alpha: the metric's part of the terms' alpha.
    """
    max_missed, promise = terms.max_missed, terms.promise
    rows, weight = sample.rows, 1 / sample.probability
    cluster = groups[rows]
    order = threshold_order(score)
    size = np.bincount(groups)[cluster].astype(np.float64)
    tested, passed = choose_threshold(
        score[rows], bad.astype(np.float64), weight, cluster, order, max_missed, alpha, promise, size
    )
    chosen = tested[passed - 1] if passed else None
    passes = chosen is not None and chosen.flagged <= terms.max_flagged
    within = [test for test in tested if test.flagged <= terms.max_flagged and np.isfinite(test.threshold)]
    best = min(within, key=lambda test: (test.missed, test.threshold), default=None)
    more = None
    if best is not None and not passes:
        misses, worst = best.missed * best.labels, upper_bound(best.missed * best.labels, best.labels, 0.2)
        if promise == "mean":
            answers = np.unique(cluster[bad]).size
            needed = np.ceil((best.missed * answers + 1) / max_missed - 1), answers_for_mean(max_missed, worst)
            effect = int(bad.sum()) / answers
        else:
            needed = labels_for(max_missed, alpha, round(misses)), labels_for_power(worst, max_missed, alpha)
            # The first threshold misses nothing and is tested too; its effective number of labels may be smaller.
            effect = int(bad.sum()) / min(best.labels, tested[0].labels)
        least, most = (max(1.0, np.ceil(number * effect) - int(bad.sum())) if number else np.inf for number in needed)
        if tail(best.labels - misses, best.labels, 1 - max_missed) > alpha:
            more = least, max(least, most)
    at = chosen if passes else best or chosen
    flagged = score[rows] < at.threshold if at else np.zeros(rows.size, dtype=bool)
    precision = float(weight[flagged & bad].sum() / weight[flagged].sum()) if flagged.any() else 0.0
    return Candidate(name, chosen, precision, passes, best, tested[0].labels, more)


def effective_number(values: Floats, groups: Ints) -> float:
    """Return how many independent values these are worth, (n,), given that values of a group are correlated."""
    return float(values.size / design_effect(values, groups, np.ones(values.size)))
