"""A gate: the cheapest metric and threshold that keep a promise on unsupported citations; the check of a release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from metaeval.config import RunConfig
from metaeval.corpus.model import SupportLevel
from metaeval.errors import UserError, unknown
from metaeval.experiment.columns import Column
from metaeval.experiment.labelling.items import Items, items_of, scored
from metaeval.experiment.labelling.labels import Judged, Labels, agreement, judged, labels_of
from metaeval.experiment.metrics import MetricProgress
from metaeval.files import sha256_json, write_text
from metaeval.reading import read_object
from metaeval.report.result import checked
from metaeval.signature import signature, versions
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.prediction_powered import Sample, share, wilson
from metaeval.stats.risk_control import (
    Promise,
    Tested,
    answers_for_mean,
    choose_threshold,
    corrected_share,
    design_effect,
    labels_for,
    labels_to_tell,
    threshold_order,
    two_samples,
)
from metaeval.trust import check_file

SCHEMA = "metaeval-gate/1"
Target = Literal["partial", "full"]
DRIFT = 0.01
"""The chance at which samples of one source are said to differ, for all tests of a check together."""

_QUANTILES = 201
_SETTINGS = ("chunk", "aggregate", "metric_options")
"""The settings of a run on which a score depends, and which the gate keeps."""


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


@dataclass(frozen=True)
class Fitted:
    """The outcome of a fit. gate: None where no metric is good enough. needed, there: unsupported labels, and with the
    promise "mean" answers that have one.

    effective: as how many independent ones those that there are tell (with the first metric). wanted: labels of any
    level that the missing unsupported ones take, as common as they are; None: nothing would do.
    """

    gate: Gate | None
    candidates: tuple[Candidate, ...]
    needed: int
    there: int
    effective: float
    wanted: int | None
    items: Items = field(repr=False)
    labels: Labels = field(repr=False)
    notes: tuple[tuple[str, str], ...]
    signatures: tuple[str, ...] = field(repr=False)


def fit(
    answers: Any,
    labels: Any = None,
    metrics: Sequence[str] = ("overlap", "support-mini", "minilm-bertscore"),
    max_missed: float = 0.1,
    max_flagged: float = 0.5,
    max_unsupported: float = 0.2,
    alpha: float = 0.05,
    target: str = "partial",
    mapping: Mapping[str, str] | None = None,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
    promise: str = "confidence",
) -> Fitted:
    """Find the first of the metrics, and its threshold, that flag all but `max_missed` of unsupported citations.

    The promise holds with chance 1 - alpha over labels, the choice of metric (alpha is shared out) and threshold (in a
    fixed order) included. metrics: the cheapest first. max_flagged: most supported citations that may be flagged.
    max_unsupported: stored for `check`. target: lowest level that counts as supported. promise: "mean" bounds the
    missed share of an answer on average, for one metric.

    Raises `UserError` for settings out of range, and for labels without an unsupported, or a supported, citation.
    """
    for name, value in (("max-missed", max_missed), ("max-flagged", max_flagged), ("alpha", alpha)):
        if not 0 < value < 1:
            raise UserError(f"--{name} is {value:g}; allowed: above 0 and below 1.")
    _check_allowed(max_unsupported)
    if target not in ("partial", "full"):
        raise unknown("target", target, ("partial", "full"))
    if promise not in get_args(Promise):
        raise unknown("promise", promise, get_args(Promise))
    if not metrics:
        raise UserError("No metric is asked for: name at least one, for example -m overlap.")
    if promise == "mean" and len(dict.fromkeys(metrics)) > 1:
        raise UserError(
            f"{len(dict.fromkeys(metrics))} metrics are named; allowed: one, for a promise on the mean does not hold "
            f"after a choice among several: name one, for example -m {metrics[0]}."
        )
    kept = cast(Promise, promise)
    config = (config or RunConfig()).model_copy(update={"metrics": tuple(dict.fromkeys(metrics))})
    items = items_of(answers, mapping)
    own = labels_of(labels, items, mapping)
    found = judged(items, own)
    bad = _unsupported(found, target)
    there = int(bad.sum())
    if there in (0, bad.size):
        what = "no" if there == 0 else "no other than"
        raise UserError(
            f"{own.name} has {what} unsupported citations among {bad.size:,} labels: a gate is fitted on both kinds; "
            "label more ('metaeval label')."
        )
    columns = scored(items, config, progress)
    each = alpha / len(columns)
    results = [_candidate(items, found, bad, column, max_missed, max_flagged, each, kept) for column in columns]
    first = next((number for number, one in enumerate(results) if one.passes), None)
    gate = None
    if first is not None:
        limits = max_missed, max_flagged, max_unsupported, alpha
        gate = _gate(items, own, found, bad, columns[first], results[first], limits, target, config, kept)
    more = [one.more for one in results if one.more is not None]
    rate = there / bad.size
    weight = 1 / found.sample.probability
    cluster = items.groups[found.sample.rows]
    effect = design_effect(_cleared(columns[0])[found.sample.rows][bad], cluster[bad], weight[bad])
    answers = int(np.unique(cluster[bad]).size)
    read = {"data": _data(items), "labels": f"sha256:{own.fingerprint[:12]}"}
    promised = {"promise": promise, "max-missed": max_missed, "max-flagged": max_flagged, "target": target}
    promised |= {"max-unsupported": max_unsupported, "may-fail": alpha, "candidates": ",".join(config.metrics)}
    used = versions("metaeval", "numpy", "scipy")
    return Fitted(
        gate=gate,
        candidates=tuple(results),
        needed=labels_for(max_missed, each) if kept == "confidence" else answers_for_mean(max_missed) or 0,
        there=there if kept == "confidence" else answers,
        effective=there / effect if kept == "confidence" else answers,
        wanted=int(np.ceil(min(more) / rate)) if more else None,
        items=items,
        labels=own,
        notes=(
            ("items", f"{len(items.rows):,} citations of {items.data.groups:,} answers; {found.said}"),
            *(("read", text) for text in (*items.notes, *own.notes)),
            *((("annotators", agreed),) if (agreed := agreement(own)) else ()),
        ),
        signatures=tuple(signature({**read, **_made(column), **promised, **used}) for column in columns),
    )


def _check_allowed(max_unsupported: float) -> None:
    if not 0 <= max_unsupported < 1:
        raise UserError(f"--max-unsupported is {max_unsupported:g}; allowed: from 0, and below 1.")


def _unsupported(found: Judged, target: str) -> Any:
    good = (SupportLevel.FULL,) if target == "full" else (SupportLevel.FULL, SupportLevel.PARTIAL)
    return found.label(*good) < 0.5


def _cleared(column: Column) -> Floats:
    """The scores, below all others where there is none: what cannot be vouched for is flagged."""
    return np.where(np.isnan(column.score), -np.inf, column.score)


def _candidate(
    items: Items,
    found: Judged,
    bad: Any,
    column: Column,
    max_missed: float,
    max_flagged: float,
    alpha: float,
    promise: Promise,
) -> Candidate:
    score = _cleared(column)
    rows, weight = found.sample.rows, 1 / found.sample.probability
    cluster = items.groups[rows]
    order = threshold_order(score)
    tested, passed = choose_threshold(score[rows], bad * 1.0, weight, cluster, order, max_missed, alpha, promise)
    chosen = tested[passed - 1] if passed else None
    passes = chosen is not None and chosen.flagged <= max_flagged
    within = [one for one in tested if one.flagged <= max_flagged and np.isfinite(one.threshold)]
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
            effect = int(bad.sum()) / best.labels if best.labels else 1.0
        more = None if wanted is None else max(1, int(np.ceil(wanted * effect)) - int(bad.sum()))
    at = chosen if passes else best or chosen
    flagged = score[rows] < at.threshold if at else np.zeros(rows.size, dtype=bool)
    precision = float(weight[flagged & bad].sum() / weight[flagged].sum()) if flagged.any() else 0.0
    return Candidate(column.name, chosen, precision, passes, best, more)


def _gate(
    items: Items,
    labels: Labels,
    found: Judged,
    bad: Any,
    column: Column,
    candidate: Candidate,
    limits: tuple[float, float, float, float],
    target: str,
    config: RunConfig,
    promise: Promise,
) -> Gate:
    chosen = candidate.chosen
    if chosen is None:
        raise ValueError("a gate takes a candidate that keeps the promise")
    weight, cluster = 1 / found.sample.probability, items.groups[found.sample.rows]
    fine = ~bad
    effect = design_effect(_cleared(column)[found.sample.rows][fine], cluster[fine], weight[fine])
    dumped = config.model_dump(mode="json")
    gate = Gate(
        metric=column.name,
        made=_made(column),
        settings={key: dumped[key] for key in _SETTINGS},
        threshold=chosen.threshold,
        target="full" if target == "full" else "partial",
        max_missed=limits[0],
        max_flagged=limits[1],
        max_unsupported=limits[2],
        alpha=limits[3],
        promise=promise,
        bound=chosen.bound,
        missed=chosen.missed,
        flagged=chosen.flagged,
        precision=candidate.precision,
        unsupported_labels=chosen.labels,
        supported_labels=float(fine.sum() / effect),
        labels=labels.fingerprint,
        items=items.fingerprint,
        labelled=int(bad.size),
        reference={
            name: Reference(
                quantiles=[float(one) for one in np.quantile(values, np.linspace(0, 1, _QUANTILES))],
                effective=_effective(values, items.groups),
            )
            for name, values in _looks(items, column).items()
        },
        date=datetime.now(UTC).date().isoformat(),
    )
    return gate.model_copy(update={"hash": gate.content})


def _made(column: Column) -> dict[str, str]:
    """What the metric's scores depend on, beside the texts."""
    left_out = {"data", "unit", "evidence", "pool", "levels", "over-sources"}
    fields = {key: str(value) for key, value in column.fields.items() if key not in left_out}
    return {**fields, "metaeval": versions("metaeval")["metaeval"]}


def _data(items: Items) -> str:
    return f"{items.name}@{items.fingerprint[:12]}"


def _looks(items: Items, column: Column) -> dict[str, Floats]:
    """What drift is looked for in."""
    looks = {"score": np.where(np.isnan(column.score), np.nanmin(column.score), column.score)}
    if items.with_texts:
        looks["words of the statement"] = np.array([float(len(row.statement.split())) for row in items.rows])
        looks["words of the source"] = np.array([float(len(row.source.split())) for row in items.rows])
    return looks


def _effective(values: Floats, groups: Ints) -> float:
    return float(values.size / design_effect(values, groups, np.ones(values.size)))


def write_gate(gate: Gate, path: Path) -> None:
    """Write a gate as JSON, whole or not at all."""
    write_text(path, json.dumps(gate.model_dump(by_alias=True), indent=1, ensure_ascii=False) + "\n")


def read_gate(path: Path) -> Gate:
    """Read a gate. Raises `UserError` for another file, and for one that was changed since it was fitted."""
    then = "give the file that 'metaeval gate fit -o' wrote"
    found = read_object(path, then)
    if found.get("schema") != SCHEMA:
        raise UserError(f"{path}: schema is {found.get('schema')!r}; this version reads {SCHEMA!r}: {then}.")
    gate = checked(Gate, found, path)
    if gate.hash != gate.content:
        raise UserError(f"{path} was changed since it was fitted (its hash does not fit): fit it again.")
    return gate


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
        return signature({"data": _data(self.items), **fields, **versions("metaeval", "numpy", "scipy")})

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
        _check_allowed(max_unsupported)
    where = "the gate" if isinstance(gate, Gate) else gate
    gate = gate if isinstance(gate, Gate) else read_gate(gate)
    # A gate is data: it may name what is registered, and neither code nor addresses.
    check_file(where, {"metrics": [gate.metric], "metric_options": gate.settings.get("metric_options", {})})
    items = items_of(answers, mapping)
    column = _scored(items, gate, config, progress)
    made = _made(column)
    for name, was in gate.made.items():
        if name != "metaeval" and made.get(name) != was:
            raise UserError(
                f"The gate was fitted with {name} {was}, and here it is {made.get(name)}: the threshold holds for the "
                "former alone; install that version, or fit the gate again."
            )
    score = _cleared(column)
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
    looks = _looks(items, column)
    drift = []
    for name, reference in gate.reference.items():
        if name in looks:
            fitted = np.array(reference.quantiles)
            p = two_samples(fitted, reference.effective, looks[name], _effective(looks[name], groups))
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
