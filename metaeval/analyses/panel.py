"""Panels: the scores of several metrics on the rows of one data set, and tables about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.core.files import resampled_fields, signature, versions
from metaeval.corpus.ratings import Ratings
from metaeval.report.result import Interval
from metaeval.report.result_tables import units
from metaeval.report.table import ColumnGroup, Note, Record, Scalar, Table, TableRow, blocks_of, place_of
from metaeval.report.table_notes import few_groups, interval_text, of_data
from metaeval.runs.data import Frame, Job, RatedSet, kind_of_data
from metaeval.runs.evaluate import ProtocolSetup, find_protocols, footer_settings, readable_protocols, resampling_of
from metaeval.runs.metrics import FILE_PREFIX, load_run_data
from metaeval.runs.score import AlignedColumn, MetricProgress, scored_columns
from protocols.contract import Judgements, Measure, Resampling


@dataclass(frozen=True)
class Panel:
    """The scores of the run's metrics, a column each in the run's order, on pairs or rated texts, without controls."""

    config: RunConfig
    source: Job | RatedSet
    columns: list[AlignedColumn]
    protocols: Sequence[ProtocolSetup]

    @property
    def resampling(self) -> Resampling:
        """Return the resampling of the run's intervals."""
        return resampling_of(self.config)

    @cached_property
    def readable(self) -> tuple[list[ProtocolSetup], dict[str, str]]:
        """Return the run's protocols that can distinguish metrics, and why others cannot; `UserError` if none can."""
        framed, left_out = readable_protocols(self.protocols, self.source)
        return [protocol for protocol, _ in framed], left_out


def load_panel(
    config: RunConfig,
    named: bool,
    least: int = 2,
    progress: MetricProgress | None = None,
    ratings: Ratings | None = None,
    check: Callable[[RunConfig, Job | RatedSet], object] | None = None,
) -> Panel:
    """Score the data with the run's metrics; published scores and those of score files are taken as they are.

    named: whether the user named the metrics; otherwise all published ones of a rated set are taken. least: minimum
    number of metrics. ratings: replaces the run's data set. check: called with the data before anything is scored.
    Raises `UserError` for a wrong setting, a metric named twice, and too few metrics; before anything is scored, unless
    a score file, which may hold several, is named.
    """
    protocols = find_protocols(config)
    if not named and (ratings is not None or kind_of_data(config) == "ratings"):
        metrics, source = load_run_data(config.model_copy(update={"metrics": ()}), ratings, published=True)
    else:
        files = any(name.startswith(FILE_PREFIX) for name in config.metrics)  # one file may hold several metrics
        _check_number(config.metrics, 1 if files else least)
        metrics, source = load_run_data(config, ratings)
    if check:
        check(config, source)
    panel = Panel(config, source, scored_columns(source, metrics, progress), protocols)
    _check_number([column.name for column in panel.columns], least)
    return panel


def judged(frame: Frame, column: AlignedColumn) -> Judgements:
    """Return a protocol's input: a column's scores (NaN where missing) on the n rows with gold, and their gold."""
    return frame.judgements(column.score[frame.numbers])


def headline_measure(protocol_setup: ProtocolSetup, frame: Frame, column: AlignedColumn) -> Measure:
    """Return the measure (key, label, scale; without a value) by which the protocol ranks metrics on these rows."""
    protocol, options = protocol_setup
    return protocol.measure(protocol.ranked_by(protocol.shown(judged(frame, column), options)))


def _check_number(names: Sequence[str], least: int) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(f"The metric {twice[0].removeprefix(FILE_PREFIX)!r} is given twice: give every metric once.")
    if len(names) < least:
        named = f": {names[0].removeprefix(FILE_PREFIX)!r}" if names else ""
        metrics = "1 metric" if least == 1 else f"{least} metrics"
        raise UserError(f"This command needs at least {metrics}, and {len(names)} is given{named}.")


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
    groups: Sequence[ColumnGroup] = (),
    intervals: bool = True,
) -> Table:
    """Return a table about a panel's metrics, with notes on data, settings, intervals, and a signature per column.

    frame: its rows. name: of its files. chosen: the analysis's own settings, which are part of the signatures. table:
    the heading of the names, the headings of the columns, and the rows. groups: headings above these. notes: before the
    standard ones; empty ones are left out. intervals: whether there are any.
    """
    data = frame.summary
    settings: dict[str, Scalar] = {**{key: str(value) for key, value in frame.fields.items()}, **chosen}
    signed: dict[str, object] = {**chosen}
    standard = [*of_data(data, footer_settings(frame))]
    if intervals:
        interval = Interval(**panel.config.interval.model_dump())
        settings |= panel.config.interval.drawn()
        signed |= resampled_fields(interval.level, interval.resamples, interval.seed, interval.fewest)
        standard.append(Note("uncertainty", interval_text(interval, data.groups)))
        standard.append(Note("few groups", few_groups([data.groups], named=False) if interval.resamples else ""))
    signed |= versions("metaeval", "numpy", "scipy")
    stub, headings, rows = table
    below = (*notes, *standard)
    return Table(
        key=(name, data.name, data.split, frame.unit),
        title=title,
        subtitle=place_of(data, units(frame.unit)),
        headings=tuple(headings),
        blocks=blocks_of(rows),
        footnotes=tuple(footnotes),
        footer=tuple(note for note in below if note.text or note.items),
        signatures=tuple(signature({**frame.fields, **column.fields, **signed}) for column in panel.columns),
        stub=stub,
        groups=tuple(groups),
        name=name,
        data=data,
        settings=settings,
        records=records,
    ).noting(data.demo)
