"""Score the items that people label, and describe them as results and tables do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, did_you_mean, unknown
from metaeval.corpus.model import SupportLevel
from metaeval.decisions.citation_items import CitationItems
from metaeval.report.result import Column as Measure
from metaeval.report.result import Data
from metaeval.report.table import Block, Note, Record, Scalar, Table, plain
from metaeval.runs.data import prepare
from metaeval.runs.metrics import FILE_PREFIX, named_metrics, score_path
from metaeval.runs.score import AlignedColumn, MetricProgress, array_column, scored_columns
from metaeval.scoring.contract import Status
from metaeval.stats.arrays import Floats

PERCENT = Measure(key="", label="", scale=100, digits=1)


def item_sheet(
    name: str,
    title: str,
    data: Data,
    lines: tuple[str, Sequence[str], Sequence[Block]],
    records: Sequence[Record],
    footer: Sequence[Note],
    signatures: Sequence[str],
    settings: Mapping[str, Scalar] = MappingProxyType({"unit": "citation"}),
    subtitle: str = "",
) -> Table:
    """Return a table about citations, or about shares of citations.

    lines: the heading of the column of row names, the other headings, and the blocks of rows. footer: notes. subtitle:
    by default the name of the data.
    """
    stub, headings, blocks = lines
    return Table(
        key=(name, data.name, data.split, "citation"),
        title=title,
        subtitle=subtitle or plain(data.name),
        headings=tuple(headings),
        blocks=tuple(blocks),
        footer=tuple(footer),
        signatures=tuple(signatures),
        stub=stub,
        name=name,
        data=data,
        settings=dict(settings),
        records=records,
    ).noting(data.demo)


def data_of(items: CitationItems) -> Data:
    """Return the description of the items for a result: name, hash, and numbers of statements, sources, citations."""
    levels = Counter(row.level for row in items.rows if row.level is not None)
    return Data(
        name=items.name,
        split="given",
        fingerprint=items.fingerprint,
        statements=len({row.statement_id for row in items.rows}) + len(items.uncited),
        documents=len({row.source for row in items.rows}),
        citations=len(items.rows),
        groups=len({row.group for row in items.rows}),
        levels={level.label: levels[level] for level in sorted(SupportLevel, reverse=True)} if levels else {},
    )


def scored(items: CitationItems, config: RunConfig, progress: MetricProgress | None = None) -> list[AlignedColumn]:
    """Return a column for each of `config.metrics`, aligned with the items; NaN is unscored.

    A metric may be a column of the items' file. Raises `UserError` for an unknown metric, for a column that is not all
    numbers, for a metric that needs texts where there are none, or scores no item, and for a file of several metrics.
    """
    registry.refuse_given("metric", items.scores, f"the columns of {items.name}")
    column_by_name: dict[str, AlignedColumn] = {}
    unscored = [name for name in dict.fromkeys(config.metrics) if name not in items.scores]
    for name in unscored:
        if name in items.unread:
            raise items.unread[name]
        if did_you_mean(name, items.scores):
            raise unknown("column of scores", name, items.scores)
    if unscored and not items.with_texts:
        name = unscored[0].removeprefix(FILE_PREFIX)
        raise unknown("column of scores", name, items.scores, f"{items.name} has no texts.")
    for name in config.metrics:
        if name in items.scores:
            score = np.array(items.scores[name], dtype=np.float64)
            column_by_name[name] = array_column(name, score, {"metric": f"{name}@column"})
    if unscored:
        run = config.model_copy(update={"metrics": tuple(unscored), "unit": "citation", "dataset": "mini"})
        metrics = named_metrics(run)
        if several := [name for name, files in metrics.files.items() if len(files) > 1]:
            raise UserError(f"{score_path(several[0])} holds scores of several metrics: give a file with those of one.")
        job = prepare(run, items.as_corpus())
        places = {row.id: number for number, row in enumerate(job.rows)}
        for name, column in zip(unscored, scored_columns(job, metrics, progress), strict=True):
            order = [places.get(row.id) for row in items.rows]
            score = np.array([np.nan if at is None else column.score[at] for at in order], dtype=np.float64)
            status = [Status.EMPTY if at is None else column.statuses[at] for at in order]
            column_by_name[name] = AlignedColumn(
                column.name, "metric", score, status, {**job.fields, **column.fields}, column.ledger
            )
    columns = [column_by_name[name] for name in config.metrics]
    for column in columns:
        if np.isnan(column.score).all():
            see = f"see 'metaeval metrics show {column.name}'"
            raise UserError(f"Metric {column.name} gave no item of {items.name} a score: {see}.")
    return columns


def filled(column: AlignedColumn) -> Floats:
    """Return the column's scores, with the mean of the known ones in place of missing ones."""
    return np.where(np.isnan(column.score), np.nanmean(column.score), column.score)
