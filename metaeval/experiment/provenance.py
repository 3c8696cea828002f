"""How a sheet's numbers were made, said in its notes, its settings and its signatures; and the sheet put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.experiment.frame import Frame
from metaeval.experiment.metric_scores import Panel
from metaeval.experiment.sheet import Record, Scalar, Sheet, resampled
from metaeval.report.cells import units
from metaeval.report.footer import footer
from metaeval.report.grid import UNDEFINED, Block, Cell, Grid, Group, Note, numeral, one_line, plain
from metaeval.report.result import Column, Data, Interval, Result
from metaeval.signature import resampled_fields, signature, versions

# As under the table of a protocol.
_SETTINGS = ("chunks", "sentences", "evidence", "pool", "over-chunks")

THREE = Column(key="", label="")
"""How a number without a measure of its own is printed: three decimals."""


def make_sheet(
    panel: Panel,
    frame: Frame,
    name: str,
    title: str,
    chosen: Mapping[str, str | int | float],
    table: tuple[str, Sequence[str], Sequence[Block]],
    records: Sequence[Record],
    notes: Sequence[Note] = (),
    footnotes: Sequence[Note] = (),
    data: Data | None = None,
    groups: Sequence[Group] = (),
    intervals: bool = True,
) -> Sheet:
    """A sheet about a panel.

    chosen: the analysis's own settings, which go into its signatures. table: heading of the names, headings of the
    columns, blocks of lines; groups: headings over those. data: what was judged, where that is more than the frame.
    intervals: the numbers depend on resampling.
    """
    data = data or frame.summary
    where = ", ".join(part for part in (plain(data.name), plain(data.split), units(frame.unit)) if part)
    stub, headings, blocks = table
    settings: dict[str, Scalar] = {**{key: str(value) for key, value in frame.fields.items()}, **chosen}
    made: dict[str, object] = {**chosen}
    if intervals:
        interval = panel.config.interval
        settings |= resampled(interval)
        made |= resampled_fields(interval.level, interval.resamples, interval.seed)
    made |= versions("metaeval", "numpy", "scipy")
    return Sheet(
        name=name,
        data=data,
        settings=settings,
        records=records,
        grid=Grid(
            key=(name, data.name, data.split, frame.unit),
            title=title,
            subtitle=where,
            headings=tuple(headings),
            blocks=tuple(blocks),
            legend="",
            footnotes=tuple(footnotes),
            footer=(*notes, *_standard(panel, frame, data, intervals)),
            signatures=tuple(
                one_line(signature({**frame.fields, **column.fields, **made})) for column in panel.columns
            ),
            stub=stub,
            groups=tuple(groups),
        ),
    )


def cell(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    column: Column = THREE,
    signed: bool = False,
    marks: tuple[str, ...] = (),
    spelt: bool = False,
) -> Cell:
    """A value with its interval as a column prints it.

    signed: a difference or a preference, with its sign. spelt: "to" between the ends, for a table with negative ends,
    where a dash beside a minus sign cannot be read.
    """

    def show(number: float | None, column: Column) -> str:
        text = numeral(number, column)
        plus = signed and text != UNDEFINED and not text.startswith("-") and float(text) != 0
        return f"+{text}" if plus else text

    if value is None:
        return Cell(UNDEFINED, marks=marks)
    if low is None or high is None:
        return Cell(show(value, column), marks=marks)
    ends = show(low, column), show(high, column)
    return Cell(show(value, column), (" to " if signed or spelt else "–").join(ends), ends, marks=marks)


def _standard(panel: Panel, frame: Frame, data: Data, intervals: bool) -> tuple[Note, ...]:
    """The report's own lines on data, settings and resampling."""
    interval = panel.config.interval
    labels = ("data", "settings", *(["uncertainty"] if intervals else []))
    said = Result(
        protocol="",
        title="",
        unit=frame.unit,
        settings={key: str(frame.fields[key]) for key in _SETTINGS if key in frame.fields},
        data=data,
        interval=Interval(resamples=interval.resamples, seed=interval.seed, level=interval.level),
        columns=[],
        rows=[],
    )
    return tuple(note for note in footer(said) if note.label in labels)
