"""Scores of the items that people label, and these items as results and tables keep them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.model import SupportLevel
from metaeval.decisions.items import Items
from metaeval.decisions.measures import LabelSide
from metaeval.errors import UserError, did_you_mean, unknown
from metaeval.report.result import Column as Measure
from metaeval.report.result import Data
from metaeval.report.table import table_of
from metaeval.runs.columns import FILE_PREFIX, Column, column_of, named_metrics, scored_columns
from metaeval.runs.metrics import MetricProgress
from metaeval.runs.prepared_run import prepare
from metaeval.scoring.contract import PairScore, Status
from metaeval.stats.arrays import Floats

PERCENT = Measure(key="", label="", scale=100, digits=1)

item_sheet = partial(table_of, unit="citation", settings={"unit": "citation"})
"""A table of citations, or of shares of them."""


@dataclass(frozen=True, eq=False)
class ScoredSide(LabelSide):
    """A side with the metric's column, of which `score` is the scores, filled."""

    column: Column


def data_of(items: Items) -> Data:
    """What was judged, as results keep it."""
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


def scored(items: Items, config: RunConfig, progress: MetricProgress | None = None) -> list[Column]:
    """A column for each metric of the run, aligned with the items; NaN where there is no score.

    A metric that is a column of the file is read from there. Raises `UserError` for a metric that is neither that nor
    known, and for a metric where the file holds no texts.
    """
    found: dict[str, Column] = {}
    asked = [name for name in dict.fromkeys(config.metrics) if name not in items.scores]
    near = next((name for name in asked if did_you_mean(name, items.scores)), None)
    if near:
        raise unknown("column of scores", near, items.scores)
    if asked and not items.with_texts:
        raise unknown(
            "column of scores", asked[0].removeprefix(FILE_PREFIX), items.scores, f"{items.name} has no texts."
        )
    for name in config.metrics:
        if name in items.scores:
            answers = [
                PairScore(one) if one is not None else PairScore(None, Status.ABSENT) for one in items.scores[name]
            ]
            found[name] = column_of(name, answers, {"metric": f"{name}@column"})
    if asked:
        run = config.model_copy(update={"metrics": tuple(asked), "unit": "citation", "dataset": "mini"})
        metrics = named_metrics(run)
        job = prepare(run, items.as_corpus())
        places = {row.id: number for number, row in enumerate(job.rows)}
        for name, column in zip(asked, scored_columns(job, metrics, progress), strict=True):
            order = [places.get(row.id) for row in items.rows]
            score = np.array([np.nan if at is None else column.score[at] for at in order], dtype=np.float64)
            status = [Status.EMPTY if at is None else column.statuses[at] for at in order]
            found[name] = Column(column.name, "metric", score, status, {**job.fields, **column.fields}, column.ledger)
    columns = [found[name] for name in config.metrics]
    for column in columns:
        if np.isnan(column.score).all():
            raise UserError(
                f"{column.name} gave no item of {items.name} a score: see 'metaeval metrics show {column.name}'."
            )
    return columns


def filled(column: Column) -> Floats:
    """The column's scores with their mean where there is none: such an item says nothing about the others."""
    return np.where(np.isnan(column.score), np.nanmean(column.score), column.score)
