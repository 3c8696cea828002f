"""The options that analyses of labelled citations share: answers, labels, columns of tables and scoring."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from metaeval.analyses.analysis import AnalysisOptions, FileOrObject, TableSettings
from metaeval.core.config import MetricOptionSettings, OutputSettings, ScoringSettings, StatisticsSettings
from metaeval.core.declared import ExistingPath, Flag
from metaeval.core.errors import as_value_error
from metaeval.core.headings import CITATIONS, LABELS, read_columns
from metaeval.core.registry import name_of


class ItemOptions(
    OutputSettings, ScoringSettings, StatisticsSettings, MetricOptionSettings, TableSettings, AnalysisOptions
):
    """Base of options of analyses of citations that people label."""

    untyped = frozenset({"config", "executor", "store", "budget"})


def _metric_name(metric: Any) -> Any:
    from metaeval.runs.metrics import as_metrics

    with as_value_error():
        name = name_of("metric", metric)
    return as_metrics([name])[0] if isinstance(name, str) else name


def _columns(value: Any) -> Any:
    with as_value_error():
        return read_columns(value, CITATIONS, LABELS)


AnswersFile = Annotated[FileOrObject, Flag("FILE", argument=True)]
LabelsFile = Annotated[FileOrObject, Flag("FILE", "-l")]
MetricName = Annotated[str, BeforeValidator(_metric_name), Flag("NAME", "-m")]
_SOURCE_TEXTS = Field(description="Texts of cited sources by id, url or index, where answers lack them.")
SourceTextsFile = Annotated[ExistingPath | None, Flag("FILE"), _SOURCE_TEXTS]
RareSourceTextsFile = Annotated[ExistingPath | None, Flag("FILE", hidden=True), _SOURCE_TEXTS]
PipelineName = Annotated[Literal["", "alce", "aliice"], Flag("NAME")]
Columns = Annotated[
    Mapping[str, str],
    BeforeValidator(_columns),
    Flag("ROLE=COLUMN", name="map", multiple=True),
    Field(description="Column of a role, or words for a level, as full=Good (also partial=, none=). Repeatable."),
]
_NO_CHECK = Field(description="Do not check that the labelled items can be a random sample.")
AssumeSample = Annotated[bool, Flag(), _NO_CHECK]
TargetLevel = Annotated[Literal["partial", "full"], Flag("LEVEL")]


def reading_words(columns: Mapping[str, str]) -> list[str]:
    """Return the command-line words of the options by which answers are read."""
    return [word for role, column in columns.items() for word in ("--map", f"{role}={column}")]


def answers_with(sources: Path | None, answers: Any, columns: Mapping[str, str]) -> Any:
    """Return the answers as they are, or if there are `sources`, the items of the answers with texts from there."""
    from metaeval.decisions.citation_items import items_of

    return items_of(answers, columns, sources=sources) if sources else answers
