"""The definitions of support, with the measures of each, and the options of `cite support`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from metaeval.citation.pipelines import pipeline
from metaeval.citation.pipelines.pipeline import PipelineMeasure
from metaeval.declared import Flag
from metaeval.setting_types import one_of


@dataclass(frozen=True)
class Definition:
    """A published definition of support. measures: of its table. ranked: keys of those by which systems are ranked.

    reading: text of the note below its table.
    """

    title: str
    measures: tuple[PipelineMeasure, ...]
    ranked: tuple[str, ...]
    reading: str


def _measures(*rows: tuple[str, str, str], counted: Sequence[str] = ()) -> tuple[PipelineMeasure, ...]:
    return tuple(
        PipelineMeasure(key, label, meaning, *((1, 2) if key in counted else (100, 1))) for key, label, meaning in rows
    )


DEFINITIONS: Mapping[str, Definition] = {
    "trec": Definition(
        "TREC RAG support",
        _measures(
            ("trec_precision", "precision", "mean level of the first citations of sentences that cite"),
            ("trec_recall", "recall", "mean level of the first citations, over all sentences"),
            ("trec_precision_all", "precision, all", "as precision, with the mean over a sentence's citations"),
            ("trec_recall_all", "recall, all", "as recall, with the mean over a sentence's citations"),
            ("trec_precision_hard", "hard precision", "share of first citations that fully support their sentence"),
            ("trec_recall_hard", "hard recall", "share of sentences that their first citation fully supports"),
        ),
        ("trec_precision", "trec_recall"),
        "full support weighs 1, partial .5; a citation without a level is left out, a sentence without a citation is 0",
    ),
    "fact": Definition(
        "FACT citation accuracy",
        _measures(
            ("fact_released", "accuracy", "supported pairs out of all judged pairs (released code)"),
            ("fact_paper", "task mean", "mean over answers of their accuracy (paper); answers without pairs left out"),
            ("fact_paper_all", "task mean, all", "as task mean, with 0 for answers without a judged pair"),
            ("fact_effective", "effective", "supported pairs per answer that cites"),
            ("fact_citations", "pairs", "judged pairs per answer that cites"),
            counted=("fact_effective", "fact_citations"),
        ),
        ("fact_released",),
        "a pair is a statement and a source, once; partial support is support; a pair without a level is left out",
    ),
}


SETTINGS = ("denominator", "stray", "matched")
"""Options of the pipeline that stand in its signature and are given by --set."""


class SupportCommand(pipeline.ReadsAnswers, pipeline.JudgedByMetrics):
    """Options of `cite support`."""

    untyped = frozenset({"budget", "calibration", *SETTINGS})

    partial: pipeline.Threshold = Field(
        default=None, description="Least score of partial support: X, or NAME=X,NAME=X (default: no partial level)."
    )
    measures: pipeline.NameList = Field(default=(), description="Definitions: trec, fact (default: both). Repeatable.")
    denominator: Annotated[str, Flag("N"), BeforeValidator(str)] = Field(
        default="answered",
        description="Topics that TREC's means divide by: answered (by the system), topics (of all files), or a number.",
    )
    stray: Annotated[str, one_of("stray", ("forgiven", "none")), Flag("NAME")] = Field(
        default="forgiven",
        description="Marks that cite no passage: forgiven (no level, as released), or none (level 0).",
    )
    matched: Annotated[bool, Flag()] = Field(
        default=False, description="Judge with metrics only the citations that have a level in the file."
    )
