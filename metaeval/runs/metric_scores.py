"""The metrics that are held against each other: their scores on the rows of one data set, and a sheet about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from metaeval.config import RunConfig
from metaeval.corpus.ratings import Ratings
from metaeval.errors import UserError
from metaeval.own_tables import TABLES
from metaeval.report.cells import units
from metaeval.report.notes import few_of, footer, made_of
from metaeval.report.result import Data, Interval, IntervalMethod, Result
from metaeval.report.table import ColumnGroup, Note, Record, Scalar, Table, TableRow, blocks_of, place_of, table_of
from metaeval.runs.columns import FILE_PREFIX, Column, named_metrics, rated_columns, scored_columns
from metaeval.runs.evaluation import (
    Asked,
    Readable,
    find_protocols,
    readable_protocols,
    resampling_of,
    said_settings,
)
from metaeval.runs.metrics import LoadedMetrics, MetricProgress
from metaeval.runs.prepared_run import Frame, Job, RatedSet, find_dataset, prepare, prepare_ratings
from metaeval.scoring.scorefile import SUFFIXES
from metaeval.signature import resampled_fields, signature, versions
from protocols.contract import Judgements, Measure, Protocol, Resampling


@dataclass(frozen=True)
class Panel:
    """Metrics in the order asked for, and what they were asked about: pairs, or rated texts.

    protocols: those of the run.
    """

    config: RunConfig
    source: Job | RatedSet
    columns: list[Column]
    protocols: Sequence[Asked]

    @property
    def resampling(self) -> Resampling:
        """How the run's intervals are made."""
        return resampling_of(self.config)

    @cached_property
    def readable(self) -> Readable:
        """The run's protocols that distinguish metrics on the data; `UserError` where none does."""
        return readable_protocols(self.protocols, self.source)


def as_metrics(names: Sequence[str]) -> list[str]:
    """Metrics as a run names them: a path to scores gets its prefix, everything else is a name already."""
    ends = (*SUFFIXES, *TABLES)
    return [f"{FILE_PREFIX}{name}" if name.endswith(ends) and ":" not in name else name for name in names]


def load_panel(
    config: RunConfig,
    asked: bool,
    least: int = 2,
    progress: MetricProgress | None = None,
    ratings: Ratings | None = None,
    metrics: LoadedMetrics | None = None,
) -> Panel:
    """Score the data with the run's metrics; on a rated set, take their published scores.

    asked: the metrics were named; else all those of a rated set are taken. least: how many there must be. ratings: in
    place of the run's data set. metrics: those of the run, where they are loaded already.

    Raises `UserError` for a wrong setting, a metric named twice, and fewer metrics than `least`, before anything is
    scored.
    """
    protocols = find_protocols(config)
    rated = ratings is not None or find_dataset(config.dataset, config)[0].kind == "ratings"
    names = config.metrics if asked or not rated else ()
    files = any(name.startswith(FILE_PREFIX) for name in names)  # one file may hold several metrics
    if asked or not rated:
        _check_number(names, 1 if files else least)
    if rated:
        source = prepare_ratings(config, ratings)
        columns = rated_columns(source, names)
        _check_number([column.name for column in columns], least)
        return Panel(config, source, columns, protocols)
    metrics = metrics or named_metrics(config)
    job = prepare(config)
    columns = scored_columns(job, metrics, progress)
    _check_number([column.name for column in columns], least)
    return Panel(config, job, columns, protocols)


def judged(frame: Frame, column: Column) -> Judgements:
    """A metric's scores beside the gold."""
    return frame.judgements(column.score[frame.numbers])


def headline(protocol: Protocol, frame: Frame, column: Column) -> Measure:
    """The measure that the protocol's metrics are ranked by on these rows: its usual one, or the first of its table."""
    return protocol.measure(protocol.ranked_by(protocol.shown(judged(frame, column))))


def _check_number(names: Sequence[str], least: int) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(f"{twice[0].removeprefix(FILE_PREFIX)!r} is named twice: name every metric once.")
    if len(names) < least:
        named = f": {names[0].removeprefix(FILE_PREFIX)!r}" if names else ""
        metrics = "1 metric" if least == 1 else f"{least} metrics"
        raise UserError(f"This takes {metrics} or more, and {len(names)} is given{named}.")


def make_sheet(
    panel: Panel,
    frame: Frame,
    name: str,
    title: str,
    chosen: Mapping[str, str | int | float],
    table: tuple[str, Sequence[str], Iterable[TableRow]],
    records: Sequence[Record],
    notes: Sequence[Note] = (),
    footnotes: Sequence[Note] = (),
    data: Data | None = None,
    groups: Sequence[ColumnGroup] = (),
    intervals: bool = True,
    method: IntervalMethod | None = None,
) -> Table:
    """A sheet about a panel.

    chosen: the analysis's own settings, which go into its signatures. table: heading of the names, headings of the
    columns, lines. groups: headings over those. notes: those that say nothing are left out. data: what was judged,
    where that is more than the frame. intervals: the numbers depend on resampling. method: of the intervals, where it
    is not the run's.
    """
    data, method = data or frame.summary, method or panel.config.interval.method
    settings: dict[str, Scalar] = {**{key: str(value) for key, value in frame.fields.items()}, **chosen}
    made: dict[str, object] = {**chosen}
    if intervals:
        interval = panel.config.interval
        settings |= interval.drawn() | {"method": method}
        made |= resampled_fields(interval.level, interval.resamples, interval.seed, method, interval.fewest)
    made |= versions("metaeval", "numpy", "scipy")
    stub, headings, rows = table
    footer = [note for note in (*notes, *_standard(panel, frame, data, intervals, method)) if note.text or note.items]
    return table_of(
        *(name, title, data, (stub, headings, blocks_of(rows)), records, footer),
        (signature({**frame.fields, **column.fields, **made}) for column in panel.columns),
        unit=frame.unit,
        settings=settings,
        subtitle=place_of(data, units(frame.unit)),
        footnotes=footnotes,
        groups=groups,
    )


def _standard(panel: Panel, frame: Frame, data: Data, intervals: bool, method: IntervalMethod) -> tuple[Note, ...]:
    """The report's own lines on data, settings and resampling."""
    made = Interval(**{**panel.config.interval.model_dump(), "method": method})
    labels = ("data", "settings")
    said = Result(
        protocol="",
        title="",
        unit=frame.unit,
        settings=said_settings(frame),
        data=data,
        interval=made,
        columns=[],
        rows=[],
    )
    notes = tuple(note for note in footer(said) if note.label in labels)
    if not intervals:
        return notes
    uncertain = Note("uncertainty", made_of(made, data.groups)), Note("few groups", few_of(made, data.groups))
    return (*notes, *uncertain)
