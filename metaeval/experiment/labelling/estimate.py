"""Citation quality from a metric's scores of all citations and people's labels of some: shares, recall, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.model import SupportLevel
from metaeval.errors import UserError
from metaeval.experiment.columns import Column
from metaeval.experiment.labelling.items import Items, codes, filled, items_of, scored
from metaeval.experiment.labelling.labels import Judged, Labels, check_sample, judged, labels_of
from metaeval.experiment.metrics import MetricProgress
from metaeval.files import sha256_json
from metaeval.report import result as results
from metaeval.report.cells import cell
from metaeval.report.grid import UNDEFINED, Block, Cell, Grid, Line, Note, plain
from metaeval.report.sheet import Record, Scalar, Sheet
from metaeval.signature import signature, versions
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.decisions import best_thresholds, decide
from metaeval.stats.prediction_powered import Estimand, Sample, Share, difference, labels_saved, ppi_mean, share

FULL, PARTIAL, NONE = SupportLevel.FULL, SupportLevel.PARTIAL, SupportLevel.NONE

SHARES: Mapping[str, tuple[SupportLevel, ...]] = {
    "full": (FULL,),
    "partial": (PARTIAL,),
    "none": (NONE,),
    "precision": (FULL, PARTIAL),
}
"""What is estimated of citations, by the levels that count."""

RECALL = "recall"
LABELS: Mapping[str, str] = {
    "full": "full support",
    "partial": "partial support",
    "none": "no support",
    "precision": "precision (full or partial)",
    RECALL: "recall (statements in full)",
}

_PERCENT = results.Column(key="", label="", scale=100, digits=1)


@dataclass(frozen=True)
class Estimate:
    """One share: from labels and scores, from labels alone, and from the metric alone.

    measure: a key of `LABELS`. value, low, high: prediction-powered. alone: (value, low, high) of labels alone, the
    same kind of interval. metric_only: what the metric's own decisions add up to; biased by its errors. saved: labels
    that the metric stands for. wald: of PPI++ (value, low, high), which takes items as independent and as many.
    """

    system: str
    metric: str
    measure: str
    value: float
    low: float
    high: float
    alone: tuple[float, float, float]
    metric_only: float | None
    lam: float
    saved: float
    labels: int
    items: int
    wald: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Estimates:
    """Estimates of one or two files, and how they were made. differences: first file less second, by measure."""

    found: tuple[Estimate, ...]
    differences: tuple[Estimate, ...]
    data: results.Data
    settings: Mapping[str, Scalar]
    notes: tuple[tuple[str, str], ...]
    signatures: tuple[str, ...]

    def __getitem__(self, measure: str) -> Estimate:
        """The first estimate of a measure."""
        found = next((one for one in self.found if one.measure == measure), None)
        if found is None:
            raise KeyError(measure)
        return found


@dataclass(frozen=True, eq=False)
class _Side:
    """One file of answers with its labels and the scores of one metric."""

    items: Items
    labels: Labels
    judged: Judged
    column: Column
    score: Floats


@dataclass(frozen=True, eq=False)
class _Rows:
    """What one measure is a mean of: labels of a sample of units of analysis, their scores, clusters, and a factor."""

    label: Floats
    score: Floats
    sample: Sample
    cluster: Ints
    metric_only: float | None
    factor: float = 1.0


def estimate(
    answers: Any,
    labels: Any = None,
    metric: str = "overlap",
    other: Any = None,
    estimand: Estimand = "set",
    mapping: Mapping[str, str] | None = None,
    assume_sample: bool = False,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
) -> Estimates:
    """Shares of full, partial and no support, precision and recall, with intervals that include the metric's errors.

    answers, other: whatever `items_of` reads; with both, differences too. labels: whatever `labels_of` reads, of both
    files' items. metric: by name, a score file, or a column of the file. estimand: this set of answers, or the process
    that makes such answers. assume_sample: do not check that the labelled items can be a sample.

    Raises `UserError` for what cannot be read, and for labels that are no sample of the items.
    """
    if estimand not in ("set", "process"):
        raise UserError(f"The estimand is {estimand!r}; allowed: set (these answers) or process (what makes them).")
    config = (config or RunConfig()).model_copy(update={"metrics": (metric,)})
    level = config.interval.level
    files = [items_of(one, mapping) for one in (answers, other) if one is not None]
    if len(files) == 2 and files[0].name == files[1].name:
        files = [replace(one, name=f"{one.name} ({number})") for number, one in enumerate(files, 1)]
    sides = []
    for items, own in zip(files, _labels_of_each(files, labels, mapping), strict=True):
        found = judged(items, own)
        (column,) = scored(items, config, progress)
        sides.append(_Side(items, own, found, column, filled(column)))
        if not assume_sample:
            check_sample(items, found, {column.name: sides[-1].score})
    three = any(side.labels.three for side in sides)
    measures = [name for name in SHARES if three or name not in ("partial", "precision")]
    rows = [{name: _share_rows(side, SHARES[name]) for name in measures} for side in sides]
    for side, known in zip(sides, rows, strict=True):
        if recall := _recall_rows(side):
            known[RECALL] = recall
    shares = [{name: _both(one, estimand, level) for name, one in own.items()} for own in rows]
    every = [
        _estimate(side, name, own[name], *pair, estimand, level)
        for side, own, made in zip(sides, rows, shares, strict=True)
        for name, pair in made.items()
    ]
    differences = []
    if len(sides) == 2:
        for name in shares[0].keys() & shares[1].keys():
            aligned = _aligned(sides, [made[name] for made in shares], estimand)
            differences.append(_difference(sides, name, aligned, level))
        differences.sort(key=lambda one: list(LABELS).index(one.measure))
    return Estimates(tuple(every), tuple(differences), _data(sides), *_said(sides, estimand, level, rows))


def _labels_of_each(files: Sequence[Items], labels: Any, mapping: Mapping[str, str] | None) -> list[Labels]:
    """The labels of each file; one file of labels may hold those of both, whose ids must then be apart."""
    if len(files) == 1:
        return [labels_of(labels, files[0], mapping)]
    if labels is None:
        return [labels_of(None, one, mapping) for one in files]
    both = set(files[0].numbers) & set(files[1].numbers)
    names = [f"{one.name}/" if both else "" for one in files]
    rows = tuple(replace(row, id=f"{name}{row.id}") for name, one in zip(names, files, strict=True) for row in one.rows)
    try:
        whole = labels_of(labels, Items(" and ".join(one.name for one in files), rows), mapping)
    except UserError as error:
        if both:
            raise UserError(
                f"{error} Both files have an item {min(both)!r}: write {names[0]}ID or {names[1]}ID in the labels."
            ) from error
        raise
    found = []
    for name, one in zip(names, files, strict=True):
        own = {f"{name}{row.id}": row.id for row in one.rows}
        kept = [{own[key]: value for key, value in part.items() if key in own} for part in _parts(whole)]
        if not kept[0]:
            raise UserError(f"{whole.name} labels no item of {one.name}: a difference takes labels of both.")
        blank = tuple(own[key] for key in whole.blank if key in own)
        found.append(replace(whole, levels=kept[0], probability=kept[1], stratum=kept[2], blank=blank))
    return found


def _parts(labels: Labels) -> tuple[Mapping[str, Any], ...]:
    return labels.levels, labels.probability, labels.stratum


def _share_rows(side: _Side, levels: Sequence[SupportLevel]) -> _Rows:
    found = side.judged
    return _Rows(
        found.label(*levels),
        side.score,
        found.sample,
        side.items.groups,
        _metric_only(side, levels),
    )


def _metric_only(side: _Side, levels: Sequence[SupportLevel]) -> float | None:
    """The share that the metric's decisions give, with the thresholds that fit the labels best; None for one label."""
    gold = np.rint(side.judged.level).astype(np.int64)
    if np.unique(gold).size < 2:
        return None
    if not side.labels.three:
        cuts = best_thresholds(side.score[side.judged.sample.rows], gold // 2, None, "macro-f1", 2)
        decided = 2 * decide(side.score, cuts)
    else:
        decided = decide(side.score, best_thresholds(side.score[side.judged.sample.rows], gold))
    return float(np.isin(decided, [int(one) for one in levels]).mean())


def _recall_rows(side: _Side) -> _Rows | None:
    """Statements of which some citation is full; a statement without a citation is not. None where labels cannot say.

    A statement is labelled where all its citations are; their chance of that is known where whole answers were drawn,
    or where every statement has one citation.
    """
    items, found = side.items, side.judged
    statement = codes([row.statement_id for row in items.rows])
    n = int(statement.max()) + 1
    size = np.bincount(statement, minlength=n)
    if found.unit == "item" and int(size.max()) > 1:
        return None
    held = np.bincount(statement[found.sample.rows], minlength=n)
    whole = np.flatnonzero(held == size)
    best = np.zeros(n)
    np.maximum.at(best, statement[found.sample.rows], found.label(FULL))
    score = np.full(n, -np.inf)
    np.maximum.at(score, statement, side.score)
    first = np.zeros(n, dtype=np.int64)
    first[statement[::-1]] = np.arange(statement.size)[::-1]
    place = np.full(statement.size, -1)
    place[found.sample.rows] = np.arange(found.sample.size)
    own = place[first[whole]]
    unit = whole if found.unit == "item" else found.sample.unit[own]
    sample = Sample(whole, found.sample.probability[own], unit, found.sample.stratum[own])
    cited = n / (n + items.uncited)
    return _Rows(best[whole], score, sample, items.groups[first], None, cited)


def _both(rows: _Rows, estimand: Estimand, level: float) -> tuple[Share, Share]:
    given = rows.label, rows.score, rows.sample, rows.cluster, estimand, level
    try:
        return share(*given), share(*given, use_scores=False)
    except ValueError as error:
        raise UserError(f"Too few labels: {error}.") from error


def _estimate(
    side: _Side, name: str, rows: _Rows, found: Share, alone: Share, estimand: Estimand, level: float
) -> Estimate:
    f = rows.factor
    return Estimate(
        system=side.items.name,
        metric=side.column.name,
        measure=name,
        value=min(max(found.value, 0.0), 1.0) * f,
        low=found.low * f,
        high=found.high * f,
        alone=(alone.value * f, alone.low * f, alone.high * f),
        metric_only=rows.metric_only,
        lam=found.lam,
        saved=labels_saved(rows.label.size, found, alone, rows.score.size if estimand == "set" else None),
        labels=int(rows.label.size),
        items=int(rows.score.size),
        wald=_wald(rows, level) if f == 1 else None,
    )


def _wald(rows: _Rows, level: float) -> tuple[float, float, float] | None:
    """PPI++ as ppi-python computes it, with scores moved into 0 .. 1; None where every item is labelled."""
    rest = np.ones(rows.score.size, dtype=bool)
    rest[rows.sample.rows] = False
    spread = np.ptp(rows.score)
    if not rest.any() or spread == 0:
        return None
    guess = (rows.score - rows.score.min()) / spread
    if np.corrcoef(guess[rows.sample.rows], rows.label)[0, 1] < 0 if np.ptp(rows.label) > 0 else False:
        guess = 1 - guess
    found = ppi_mean(rows.label, guess[rows.sample.rows], guess[rest], 1 / rows.sample.probability, level=level)
    return found.value, found.low, found.high


def _aligned(sides: Sequence[_Side], found: Sequence[tuple[Share, Share]], estimand: Estimand) -> list[list[Share]]:
    """Both files' shares with parts under common codes: answers to one question are drawn, and err, together.

    Where items were drawn apart in each file, no unit of the one is a unit of the other.
    """
    apart = estimand == "set" and any(side.judged.unit == "item" for side in sides)
    names = [sorted({row.group for row in side.items.rows}) for side in sides]
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


def _difference(sides: Sequence[_Side], name: str, pairs: Sequence[Sequence[Share]], level: float) -> Estimate:
    (one, one_alone), (other, other_alone) = pairs
    value, low, high = difference(one, other, level)
    variance = float((high - low) ** 2)
    alone = difference(one_alone, other_alone, level)
    labels = sum(side.judged.sample.size for side in sides)
    return Estimate(
        system=f"{sides[0].items.name} less {sides[1].items.name}",
        metric=sides[0].column.name,
        measure=name,
        value=value,
        low=low,
        high=high,
        alone=alone,
        metric_only=None,
        lam=(one.lam + other.lam) / 2,
        saved=max(0.0, labels * ((alone[2] - alone[1]) ** 2 / variance - 1)) if variance else 0.0,
        labels=labels,
        items=sum(len(side.items.rows) for side in sides),
    )


def _data(sides: Sequence[_Side]) -> results.Data:
    first = sides[0].items.data
    if len(sides) == 1:
        return first
    second = sides[1].items.data
    return first.model_copy(
        update={
            "name": f"{first.name}-{second.name}",
            "fingerprint": sha256_json([first.fingerprint, second.fingerprint]),
            **{key: getattr(first, key) + getattr(second, key) for key in ("statements", "documents", "citations")},
            "levels": {},
        }
    )


def _said(
    sides: Sequence[_Side], estimand: Estimand, level: float, rows: Sequence[Mapping[str, _Rows]]
) -> tuple[Mapping[str, Scalar], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Settings, notes and signatures."""
    settings: dict[str, Scalar] = {"unit": "citation", "estimand": estimand, "level": level}
    of = (
        "these very answers (finite-population correction)"
        if estimand == "set"
        else "the process that made these answers, of which they are a sample"
    )
    notes = [
        ("estimand", of),
        (
            "interval",
            f"{100 * level:g} %, Wilson's form with t, variance by a jackknife over "
            + ("what was drawn" if estimand == "set" else "answers")
            + "; it includes the metric's errors",
        ),
        (
            "metric alone",
            "biased: the share of its decisions, with thresholds from these labels, as if it never erred",
        ),
        ("labels saved", "how many more labels would tell as much without the metric; 0: it adds nothing here"),
    ]
    signatures = []
    for side, own in zip(sides, rows, strict=True):
        items, found, labels = side.items, side.judged, side.labels
        name = f"{plain(items.name)}: " if len(sides) > 1 else ""
        answers = len({row.group for row in items.rows})
        notes.append(("items", f"{name}{len(items.rows):,} citations of {answers:,} answers; {found.said}"))
        notes += [("read", f"{name}{text}") for text in (*items.notes, *labels.notes)]
        if labels.blank:
            notes.append(
                ("not judged", f"{name}{len(labels.blank):,} drawn items are blank; taken as missing at random")
            )
        if missing := int(np.isnan(side.column.score).sum()):
            notes.append(
                ("unscored", f"{name}{missing:,} items have no score of {plain(side.column.name)}: their mean")
            )
        if RECALL not in own:
            notes.append(
                ("recall", f"{name}not told: only some citations of a statement are labelled (draw whole answers)")
            )
        elif items.uncited:
            notes.append(("recall", f"{name}{items.uncited:,} statements without a citation count as not supported"))
        twice = [levels for levels in labels.levels.values() if len(levels) > 1]
        if twice:
            same = sum(len(set(levels)) == 1 for levels in twice)
            notes.append(("annotators", f"{name}{len(twice):,} items are judged twice or more, {same:,} of them alike"))
        settings |= {f"labels{name and ' of ' + items.name}": labels.fingerprint[:12]}
        signatures.append(
            signature(
                {
                    "data": f"{items.name}@{items.fingerprint[:12]}",
                    "labels": f"sha256:{labels.fingerprint[:12]}",
                    "design": found.unit,
                    "estimand": estimand,
                    **{key: value for key, value in side.column.fields.items() if key not in ("data", "levels")},
                    "interval": f"ppi-wilson-{level}",
                    **versions("metaeval", "numpy", "scipy"),
                }
            )
        )
    return settings, tuple(notes), tuple(signatures)


HEADINGS = ("estimate", "labels alone", "metric alone (biased)", "labels saved")


def estimate_sheet(found: Estimates) -> Sheet:
    """The table of the estimates: a block a file, and one of the differences."""
    systems = list(dict.fromkeys(one.system for one in found.found))
    blocks = [
        Block(
            plain(system) if len(systems) > 1 else "",
            tuple(_line(one) for one in found.found if one.system == system),
        )
        for system in systems
    ]
    if found.differences:
        lines = tuple(_line(one, signed=True) for one in found.differences)
        blocks.append(Block(plain(f"difference: {found.differences[0].system}"), lines))
    first = found.found[0]
    records: list[Record] = []
    for one in (*found.found, *found.differences):
        ends = dict(zip(("labels_only", "labels_only_low", "labels_only_high"), one.alone, strict=True))
        wald = dict(zip(("ppi", "ppi_wald_low", "ppi_wald_high"), one.wald or (None, None, None), strict=True))
        records.append(
            {
                **{"system": one.system, "metric": one.metric, "measure": one.measure, "value": one.value},
                **{"low": one.low, "high": one.high, **ends, "metric_only": one.metric_only, "lambda": one.lam},
                **{"labels_saved": one.saved, "labels": one.labels, "items": one.items, **wald},
            }
        )
    return Sheet(
        name="estimate",
        data=found.data,
        settings=found.settings,
        records=records,
        grid=Grid(
            key=("estimate", found.data.name, "given", "citation"),
            title="Citation quality (%)",
            subtitle=f"{plain(found.data.name)}, {first.labels:,} labels, {plain(first.metric)}",
            headings=HEADINGS,
            blocks=tuple(blocks),
            footer=tuple(Note(label, text) for label, text in found.notes),
            signatures=found.signatures,
            stub="share of citations",
        ),
    )


def _line(one: Estimate, signed: bool = False) -> Line:
    return Line(
        LABELS[one.measure],
        (
            cell(one.value, one.low, one.high, _PERCENT, signed=signed),
            cell(*one.alone, _PERCENT, signed=signed),
            Cell(UNDEFINED) if one.metric_only is None else cell(one.metric_only, column=_PERCENT),
            Cell(f"{one.saved:.0f}"),
        ),
    )
