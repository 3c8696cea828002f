"""What a gate is: its terms, itself as data, and what labels say of a metric that could be one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from metaeval.errors import UserError, unknown
from metaeval.files import sha256_json, write_text
from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.prediction_powered import Sample
from metaeval.stats.risk_control import (
    Promise,
    Tested,
    answers_for_mean,
    choose_threshold,
    design_effect,
    labels_to_tell,
    threshold_order,
)

SCHEMA = "metaeval-gate/1"
Target = Literal["partial", "full"]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a gate is to keep. Raises `UserError` for what is out of range.

    max_missed: most unsupported citations that are not flagged, which alpha may break; promise: with confidence, or
    "mean", on average. max_flagged: most supported ones that are. max_unsupported: most of a release. target: the
    lowest level that counts as supported.
    """

    max_missed: float = 0.1
    max_flagged: float = 0.5
    max_unsupported: float = 0.2
    alpha: float = 0.05
    target: str = "partial"
    promise: str = "confidence"

    def __post_init__(self) -> None:
        for name in ("max-missed", "max-flagged", "alpha"):
            if not 0 < (value := getattr(self, name.replace("-", "_"))) < 1:
                raise UserError(f"--{name} is {value:g}; allowed: above 0 and below 1.")
        check_allowed(self.max_unsupported)
        for name, allowed in (("target", get_args(Target)), ("promise", get_args(Promise))):
            if getattr(self, name) not in allowed:
                raise unknown(name, getattr(self, name), allowed)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)


class Reference(_Strict):
    """What the fitting set looked like. quantiles: of the values, lowest first. effective: independent values."""

    quantiles: list[float]
    effective: float


class Gate(_Strict):
    """A fitted gate. Scores are turned so that higher is more support: an item below `threshold` is flagged.

    target: the lowest level that counts as supported. missed, flagged: shares of the unsupported that are not flagged
    and of the supported that are, in the labels; bound: the missed share is at most this with confidence 1 - alpha.
    With the promise "mean" bound is that of the mean, and alpha that of `check` alone. unsupported_labels,
    supported_labels: effective numbers. made: what the scores depend on, as in a signature.
    """

    schema_: Literal["metaeval-gate/1"] = Field(default="metaeval-gate/1", alias="schema")
    metric: str
    made: dict[str, str]
    settings: dict[str, Any]
    threshold: float
    target: Target
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
    reference: dict[str, Reference]
    date: str
    hash: str = ""

    @property
    def content(self) -> str:
        """SHA-256 of all but the hash itself, and the promise that gates had before there was another."""
        left_out = {"hash", *(("promise",) if self.promise == "confidence" else ())}
        return sha256_json({key: value for key, value in self.model_dump(by_alias=True).items() if key not in left_out})


def write_gate(gate: Gate, path: Path) -> None:
    """Write a gate as JSON, whole or not at all."""
    write_text(path, json.dumps(gate.model_dump(by_alias=True), indent=1, ensure_ascii=False) + "\n")


def check_allowed(max_unsupported: float) -> None:
    """Refuse what can be no share of unsupported citations that a release may have."""
    if not 0 <= max_unsupported < 1:
        raise UserError(f"--max-unsupported is {max_unsupported:g}; allowed: from 0, and below 1.")


@dataclass(frozen=True)
class Candidate:
    """What the labels say of one metric. chosen: its last threshold that keeps the promise; None: none does.

    passes: it keeps the promise and does not flag too many of the supported. best: of the thresholds that do not, the
    one that misses least. more: unsupported labels, beyond those there are, that would tell with chance .8; None: no
    number would, as far as the labels say.
    """

    metric: str
    chosen: Tested | None
    precision: float
    passes: bool
    best: Tested | None
    more: int | None


def candidate_of(
    name: str, score: Floats, groups: Ints, sample: Sample, bad: Bools, terms: Terms, alpha: float
) -> Candidate:
    """What the labels of a sample say of a metric. score: (N,) of every item, -inf where there is none; groups: (N,)
    codes of the answers; bad: (n,) which of the labelled items are unsupported; alpha: its part of the terms'.
    """
    max_missed, promise = terms.max_missed, cast(Promise, terms.promise)
    rows, weight = sample.rows, 1 / sample.probability
    cluster = groups[rows]
    order = threshold_order(score)
    tested, passed = choose_threshold(
        score[rows], bad.astype(np.float64), weight, cluster, order, max_missed, alpha, promise
    )
    chosen = tested[passed - 1] if passed else None
    passes = chosen is not None and chosen.flagged <= terms.max_flagged
    within = [one for one in tested if one.flagged <= terms.max_flagged and np.isfinite(one.threshold)]
    best = min(within, key=lambda one: (one.missed, one.threshold), default=None)
    more = None
    if best is not None and not passes:
        # Half a miss is added: none in few labels is no proof of none.
        likely = min((best.missed * best.labels + 0.5) / (best.labels + 1), best.missed + 0.02)
        if promise == "mean":
            wanted = answers_for_mean(max_missed, likely)
            effect = int(bad.sum()) / np.unique(cluster[bad]).size
        else:
            wanted = labels_to_tell(likely, max_missed, alpha)
            # The first threshold, which misses nothing, is tested too, and there labels may count for less.
            effect = int(bad.sum()) / min(best.labels, tested[0].labels)
        more = None if wanted is None else max(1, int(np.ceil(wanted * effect)) - int(bad.sum()))
    at = chosen if passes else best or chosen
    flagged = score[rows] < at.threshold if at else np.zeros(rows.size, dtype=bool)
    precision = float(weight[flagged & bad].sum() / weight[flagged].sum()) if flagged.any() else 0.0
    return Candidate(name, chosen, precision, passes, best, more)


def effective_number(values: Floats, groups: Ints) -> float:
    """As how many independent values these tell, of which those of a group are alike."""
    return float(values.size / design_effect(values, groups, np.ones(values.size)))
