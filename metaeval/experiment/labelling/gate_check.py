"""The check of a release against a gate: its unsupported share, corrected for the metric's errors, and drift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.config import RunConfig
from metaeval.config_files import check_file
from metaeval.errors import UserError
from metaeval.experiment.columns import Column
from metaeval.experiment.labelling.gate import (
    Gate,
    check_allowed,
    cleared,
    effective_number,
    looks_of,
    made_of,
    read_gate,
)
from metaeval.experiment.labelling.scores import scored
from metaeval.experiment.metrics import MetricProgress
from metaeval.labelling.items import Items, items_of
from metaeval.signature import signature, versions
from metaeval.stats.prediction_powered import Sample, share, wilson
from metaeval.stats.risk_control import corrected_share, two_samples

DRIFT = 0.01
"""The chance at which samples of one source are said to differ, for all tests of a check together."""


@dataclass(frozen=True)
class Drift:
    """Whether a release looks like the fitting set in one respect: medians, and the p-value of a two-sample test."""

    what: str
    fitted: float
    here: float
    p: float
    drifted: bool


@dataclass(frozen=True)
class Checked:
    """The check of a release. flagged: share of its citations below the threshold, with an interval.

    unsupported: the share behind it, corrected for the metric's errors, (value, low, high) with one-sided bounds.
    passed: the lower bound is at most the gate's `max_unsupported`. below: the flagged items, lowest score first.
    """

    gate: Gate
    items: Items
    flagged: tuple[float, float, float]
    unsupported: tuple[float, float, float]
    passed: bool
    drift: tuple[Drift, ...]
    below: tuple[tuple[str, float | None], ...]
    unscored: int

    @property
    def signature(self) -> str:
        """What the outcome depends on."""
        fields = {"gate": self.gate.hash[:12], "max-unsupported": self.gate.max_unsupported}
        return signature({"data": self.items.signed, **fields, **versions("metaeval", "numpy", "scipy")})

    @property
    def drifted(self) -> bool:
        """Whether anything differs from the fitting set."""
        return any(one.drifted for one in self.drift)


def check(
    answers: Any,
    gate: Gate | Path,
    max_unsupported: float | None = None,
    mapping: Mapping[str, str] | None = None,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
) -> Checked:
    """Hold a release against a gate: how much of it is unsupported, as far as the gate's metric can tell.

    max_unsupported: in place of the gate's. Raises `UserError` for a share that none can be, for a gate that was
    changed, and where the metric here is not the one that the gate was fitted with.
    """
    if max_unsupported is not None:
        check_allowed(max_unsupported)
    where = "the gate" if isinstance(gate, Gate) else gate
    gate = gate if isinstance(gate, Gate) else read_gate(gate)
    # A gate is data: it may name what is registered, and neither code nor addresses.
    check_file(where, {"metrics": [gate.metric], "metric_options": gate.settings.get("metric_options", {})})
    items = items_of(answers, mapping)
    column = _scored(items, gate, config, progress)
    made = made_of(column)
    for name, was in gate.made.items():
        if name != "metaeval" and made.get(name) != was:
            raise UserError(
                f"The gate was fitted with {name} {was}, and here it is {made.get(name)}: the threshold holds for the "
                "former alone; install that version, or fit the gate again."
            )
    score = cleared(column)
    below = score < gate.threshold
    groups = items.groups
    n = below.size
    every = Sample(np.arange(n), np.ones(n), groups, np.zeros(n, dtype=np.int64))
    if np.unique(groups).size > 1:
        of = share(below.astype(np.float64), np.zeros(n), every, groups, "process")
        flagged, variance, df = (of.value, of.low, of.high), of.variance, of.df
    else:  # one answer: its citations are all there is to go by
        alone = float(below.mean())
        variance, df = alone * (1 - alone) / n, max(n - 1.0, 1.0)
        flagged = alone, *wilson(alone, variance, n, df, 0.95)
    if variance <= 0:  # all flagged, or none: half a citation counts as the other kind, as in Wilson's interval
        variance = 0.5 / n * (1 - 0.5 / n) / n
    unsupported = corrected_share(
        flagged[0],
        variance,
        (1 - gate.missed, gate.unsupported_labels),
        (gate.flagged, gate.supported_labels),
        gate.alpha,
        df,
    )
    most = gate.max_unsupported if max_unsupported is None else max_unsupported
    looks = looks_of(items, column)
    drift = []
    for name, reference in gate.reference.items():
        if name in looks:
            fitted = np.array(reference.quantiles)
            p = two_samples(fitted, reference.effective, looks[name], effective_number(looks[name], groups))
            medians = float(np.median(fitted)), float(np.median(looks[name]))
            drift.append(Drift(name, *medians, p, p < DRIFT / len(gate.reference)))
    order = sorted(np.flatnonzero(below).tolist(), key=lambda row: (score[row], row))
    return Checked(
        gate=gate if max_unsupported is None else gate.model_copy(update={"max_unsupported": most}),
        items=items,
        flagged=flagged,
        unsupported=unsupported,
        passed=unsupported[1] <= most,
        drift=tuple(drift),
        below=tuple((items.rows[row].id, float(score[row]) if np.isfinite(score[row]) else None) for row in order),
        unscored=int(np.isnan(column.score).sum()),
    )


def _scored(items: Items, gate: Gate, config: RunConfig | None, progress: MetricProgress | None = None) -> Column:
    """The scores of the gate's metric, made as they were when it was fitted."""
    config = (config or RunConfig()).model_copy(update={"metrics": (gate.metric,)})
    (column,) = scored(items, RunConfig.model_validate({**config.model_dump(), **gate.settings}), progress)
    return column


def score_one(gate: Gate, statement: str, source: str, config: RunConfig | None = None) -> float | None:
    """The score of one citation by the gate's metric, higher is more support; None where a text is blank.

    Raises `UserError` where the metric gives no score.
    """
    if not statement.strip() or not source.strip():
        return None
    check_file("the gate", {"metrics": [gate.metric], "metric_options": gate.settings.get("metric_options", {})})
    item = {"id": "1", "statement": statement, "source": source}
    return float(_scored(items_of([item]), gate, config).score[0])
