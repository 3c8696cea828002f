"""Citation quality from a metric's scores of all citations and people's labels of some: shares, recall, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

import numpy as np

from metaeval.config import RunConfig
from metaeval.decisions.claims import TITLES, Claims
from metaeval.decisions.items import Items, items_of
from metaeval.decisions.labels import agreement, check_sample, judged, labels_of_each
from metaeval.decisions.measures import (
    LABELS,
    RECALL,
    LabelEstimate,
    LabelRows,
    aligned_parts,
    citation_rows,
    claim_rows,
    difference_of,
    estimate_of,
    estimated,
)
from metaeval.decisions.scores import PERCENT, ScoredSide, data_of, filled, item_sheet, scored
from metaeval.errors import UserError
from metaeval.files import sha256_json
from metaeval.report import result as results
from metaeval.report.cells import cell
from metaeval.report.notebook import Recorded
from metaeval.report.table import Note, Record, Scalar, Table, TableRow, blocks_of, plain
from metaeval.runs.metrics import MetricProgress
from metaeval.signature import signature, versions
from metaeval.stats.prediction_powered import Estimand

HEADINGS = ("estimate", "labels alone", "metric alone (biased)", "labels saved")


@dataclass(frozen=True)
class Estimates(Recorded):
    """Estimates of one or two files, and how they were made. differences: first file less second, by measure."""

    found: tuple[LabelEstimate, ...]
    differences: tuple[LabelEstimate, ...]
    data: results.Data
    settings: Mapping[str, Scalar]
    notes: tuple[tuple[str, str], ...]
    signatures: tuple[str, ...]

    @property
    def records(self) -> list[Record]:
        """Every estimate, then the differences; with what labels alone, the metric alone and PPI would say."""
        records: list[Record] = []
        for one in (*self.found, *self.differences):
            ends = dict(zip(("labels_only", "labels_only_low", "labels_only_high"), one.alone, strict=True))
            wald = dict(zip(("ppi", "ppi_wald_low", "ppi_wald_high"), one.wald or (None, None, None), strict=True))
            records.append(
                {
                    **{"system": one.system, "metric": one.metric, "measure": one.measure, "value": one.value},
                    **{"low": one.low, "high": one.high, **ends, "metric_only": one.metric_only, "lambda": one.lam},
                    **{"labels_saved": one.saved, "labels": one.labels, "items": one.items, **wald},
                }
            )
        return records

    def __getitem__(self, measure: str) -> LabelEstimate:
        """The first estimate of a measure."""
        found = next((one for one in self.found if one.measure == measure), None)
        if found is None:
            raise KeyError(measure)
        return found


def estimate(
    answers: Any,
    labels: Any = None,
    metric: str = "overlap",
    other: Any = None,
    estimand: str = "set",
    mapping: Mapping[str, str] | None = None,
    assume_sample: bool = False,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
    pipeline: str = "",
) -> Estimates:
    """Shares of full, partial and no support, precision and recall, with intervals that include the metric's errors.

    answers, other: whatever `items_of` reads; with both, differences too. labels: whatever `labels_of` reads, of both
    files' items. metric: by name, a score file, or a column of the file. estimand: this set of answers, or the process
    that makes such answers. assume_sample: do not check that the labelled items can be a sample. pipeline: alce or
    aliice, for its recall and precision with people as the judge, from labels of what it asks.

    Raises `UserError` for what cannot be read, and for labels that are no sample of the items.
    """
    if estimand not in get_args(Estimand):
        raise UserError(
            f"The estimand is {estimand!r}; allowed: set (these answers) or process (what makes such answers)."
        )
    of = cast(Estimand, estimand)
    config = (config or RunConfig()).model_copy(update={"metrics": (metric,)})
    level = config.interval.level
    files = [items_of(one, mapping, pipeline) for one in (answers, other) if one is not None]
    if len(files) == 2 and files[0].name == files[1].name:
        files = [replace(one, name=f"{one.name} ({number})") for number, one in enumerate(files, 1)]
    sides = []
    for items, own in zip(files, labels_of_each(files, labels, mapping), strict=True):
        found = judged(items, own)
        (column,) = scored(items, config, progress)
        sides.append(ScoredSide(items, own, found, filled(column), column.name, column))
        if not assume_sample:
            check_sample(items, found, {column.name: sides[-1].score})
    three = any(side.labels.three for side in sides)
    rows = [claim_rows(side) if side.items.claims else citation_rows(side, three) for side in sides]
    shares = [{name: estimated(one, of, level) for name, one in own.items()} for own in rows]
    every = [
        estimate_of(side, name, own[name], *pair, of, level)
        for side, own, made in zip(sides, rows, shares, strict=True)
        for name, pair in made.items()
    ]
    differences = []
    if len(sides) == 2:
        for name in shares[0].keys() & shares[1].keys():
            aligned = aligned_parts(sides, [made[name] for made in shares], of)
            differences.append(difference_of(sides, name, aligned, level))
        differences.sort(key=lambda one: list(LABELS).index(one.measure))
    return Estimates(tuple(every), tuple(differences), _data(sides), *_said(sides, of, level, rows))


def _data(sides: Sequence[ScoredSide]) -> results.Data:
    first = data_of(sides[0].items)
    if len(sides) == 1:
        return first
    second = data_of(sides[1].items)
    return first.model_copy(
        update={
            "name": f"{first.name}-{second.name}",
            "fingerprint": sha256_json([first.fingerprint, second.fingerprint]),
            **{key: getattr(first, key) + getattr(second, key) for key in ("statements", "documents", "citations")},
            "levels": {},
        }
    )


def _said(
    sides: Sequence[ScoredSide], estimand: Estimand, level: float, rows: Sequence[Mapping[str, LabelRows]]
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
        ("metric alone", "biased: the share of its decisions, with thresholds from these labels, as if it never erred"),
        ("labels saved", "how many more labels would tell as much without the metric; 0: it adds nothing here"),
    ]
    signatures = []
    for side, own in zip(sides, rows, strict=True):
        items, found, labels = side.items, side.judged, side.labels
        name = f"{plain(items.name)}: " if len(sides) > 1 else ""
        answers = len({row.group for row in items.rows})
        told = [("items", f"{len(items.rows):,} citations of {answers:,} answers; {found.said}")]
        told += [("read", text) for text in (*items.notes, *labels.notes)]
        if found.lost:
            told.append(("not judged", f"{found.lost:,} drawn {items.what} are blank; taken as missing at random"))
        if missing := int(np.isnan(side.column.score).sum()):
            told.append(("unscored", f"{missing:,} items have no score of {plain(side.column.name)}: their mean"))
        if items.claims:
            told += _notes_of_claims(items, items.claims, own)
        elif RECALL not in own:
            told.append(("recall", "not told: only some citations of a statement are labelled (draw whole answers)"))
        elif items.uncited:
            told.append(("recall", f"{len(items.uncited):,} statements without a citation count as not supported"))
        if agreed := agreement(labels):
            told.append(("annotators", agreed))
        notes += [(label, f"{name}{text}") for label, text in told]
        settings |= {f"labels{name and ' of ' + items.name}": labels.fingerprint[:12]}
        signatures.append(
            signature(
                {
                    "data": items.signed,
                    "labels": f"sha256:{labels.fingerprint[:12]}",
                    **(items.claims.fields if items.claims else {}),
                    "design": found.unit,
                    "estimand": estimand,
                    **{key: value for key, value in side.column.fields.items() if key not in ("data", "levels")},
                    "interval": f"ppi-wilson-{level}",
                    **versions("metaeval", "numpy", "scipy"),
                }
            )
        )
    return settings, tuple(notes), tuple(signatures)


def _notes_of_claims(items: Items, claims: Claims, own: Mapping[str, LabelRows]) -> list[tuple[str, str]]:
    notes = [
        ("judge", "full support is entailment; of two annotators or more, by more than half of them"),
        ("mean", f"over answers, of each answer's share, as {TITLES[claims.pipeline]} has it"),
    ]
    if items.uncited:
        notes.append(("recall", f"{len(items.uncited):,} claims without a passage count as not supported"))
    if not any(key.endswith("precision") for key in own):
        notes.append(
            (
                "precision",
                "not told: of some claims with several citations not all that decides is labelled (each alone, and the "
                "others without it)",
            )
        )
    return notes


def estimate_sheet(found: Estimates) -> Table:
    """The table of the estimates: a block a file, and one of the differences."""
    several = len({one.system for one in found.found}) > 1
    rows: list[TableRow] = []
    for one, signed in (*((one, False) for one in found.found), *((one, True) for one in found.differences)):
        title = f"difference: {one.system}" if signed else one.system if several else ""
        cells = (
            cell(one.value, one.low, one.high, PERCENT, signed=signed),
            cell(*one.alone, PERCENT, signed=signed),
            cell(one.metric_only, column=PERCENT),
            f"{one.saved:.0f}",
        )
        rows.append((plain(title), LABELS[one.measure], cells))
    first = found.found[0]
    return item_sheet(
        "estimate",
        "Citation quality (%)",
        found.data,
        ("share of citations", HEADINGS, blocks_of(rows)),
        found.records,
        [Note(*note) for note in found.notes],
        found.signatures,
        settings=found.settings,
        subtitle=f"{plain(found.data.name)}, {first.labels:,} labels, {plain(first.metric)}",
    )
