"""Decisions as pictures; the report room draws them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metaeval.experiment.decisions.deciding import LEVELS, Decided
from metaeval.files import safe_name


def write_pictures(found: Sequence[Decided], folder: Path) -> list[Path]:
    """Each metric's confusion and the reliability of its calibrated scores; `UserError` without matplotlib."""
    from metaeval.report.canvas import save_figure
    from metaeval.report.charts import confusion_map, reliability_curve

    written: list[Path] = []
    for one in found:
        name = safe_name(one.metric)
        written += save_figure(confusion_map(one.counts.tolist(), LEVELS, one.metric), folder / f"confusion-{name}")
        for of in one.calibrations:
            note = f"chance of {of.target}; expected calibration error {of.error:.3f}"
            bins = of.bins.stated.tolist(), of.bins.found.tolist(), of.bins.rows.tolist()
            stem = folder / f"reliability-{safe_name(of.target)}-{name}"
            written += save_figure(reliability_curve(*bins, name=one.metric, note=note), stem)
    return written
