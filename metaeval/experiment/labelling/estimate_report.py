"""What estimates look like: a table with a block for each file, and one of the differences."""

from __future__ import annotations

from metaeval.experiment.labelling.estimate import Estimate, Estimates
from metaeval.labelling.measures import LABELS
from metaeval.report import result as results
from metaeval.report.cells import cell
from metaeval.report.grid import UNDEFINED, Block, Cell, Grid, Line, Note, plain
from metaeval.report.sheet import Sheet

_PERCENT = results.Column(key="", label="", scale=100, digits=1)
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
    return Sheet(
        name="estimate",
        data=found.data,
        settings=found.settings,
        records=found.records,
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
