"""Learnt thresholds as a sheet: the file that cut-offs are read from, and the table that says how well they do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metaeval.experiment.calibrate import MEASURES, Calibrated, Rated, decision_frame
from metaeval.experiment.cutoffs import SHEET
from metaeval.experiment.metric_scores import Panel
from metaeval.experiment.provenance import THREE, cell, make_sheet
from metaeval.experiment.sheet import Record, Sheet, known
from metaeval.report.citation.layout import interval_cell
from metaeval.report.grid import Block, Cell, Line, Note, plain


def calibration_sheet(panel: Panel, found: Sequence[Calibrated], target: str, objective: str, folds: int) -> Sheet:
    """Thresholds with how well they do out of fold, and below them the thresholds that metrics declare."""
    frame = decision_frame(panel)
    records: list[Record] = []
    learnt, declared = [], []
    for one in found:
        least, most = float(one.folds.min()), float(one.folds.max())
        spread = cell(one.threshold, least, most) if np.isfinite([least, most]).all() else cell(one.threshold)
        learnt.append(Line(plain(one.metric), (spread, *_cells(one.out_of_fold))))
        records.append(
            {
                "metric": one.metric,
                "identity": one.identity,
                "threshold": one.threshold,
                "rows": one.rows,
                "positives": one.positives,
                "unscored": one.unscored,
                **_numbers("", one.out_of_fold),
                "declared": one.declared[0] if one.declared else None,
                **_numbers("declared_", one.declared[1] if one.declared else None),
            }
        )
        if one.declared:
            declared.append(Line(plain(one.metric), (cell(one.declared[0]), *_cells(one.declared[1]))))
    first = found[0]
    share = f"{first.positives:,} of {first.rows:,} rows are supported ({target} or more)"
    blocks = [Block("learnt here (out of fold)", tuple(learnt))]
    if declared:
        blocks.append(Block("declared (all rows)", tuple(declared)))
    return make_sheet(
        panel,
        frame,
        SHEET,
        f"Thresholds for {target} support",
        {"target": target, "objective": objective, "folds": folds},
        ("metric", ("threshold", *MEASURES), blocks),
        records,
        notes=[
            Note("reading", "supported from the threshold on; below it, the least and the most over the folds"),
            Note("labels", share),
            Note("measures", "F1 of supported; kappa: Cohen's, with the human labels"),
        ],
    )


def _cells(rated: Rated) -> list[Cell]:
    cells = []
    for name in MEASURES:
        ends = known(rated.values[name][0]), known(rated.values[name][1]), known(rated.values[name][2])
        # A dash beside a minus sign cannot be read.
        cells.append(interval_cell(ends, THREE, signed=ends[1] is not None and ends[1] < 0))
    return cells


def _numbers(prefix: str, rated: Rated | None) -> dict[str, float | None]:
    numbers: dict[str, float | None] = {}
    for name in MEASURES:
        key = prefix + name.lower().replace(" ", "_")
        for end, value in zip(("", "_low", "_high"), rated.values[name] if rated else (np.nan,) * 3, strict=True):
            numbers[key + end] = known(value)
    return numbers
