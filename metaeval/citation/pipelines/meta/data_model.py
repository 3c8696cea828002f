"""The data classes of a meta-evaluation: options, measurements of pipelines, input and result of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from metaeval.citation.chat_models import ChatOptions
from metaeval.citation.citeeval.baselines import BASELINES, Baseline
from metaeval.citation.citeeval.evaluate_responses import SCENARIOS, ResponseValues
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import BaselineOptions, CiteEvalOptions
from metaeval.citation.citeeval.options_and_values import CitedScenario as CiteEvalScenario
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.data_model import Answer
from metaeval.citation.human.rated_statements import Alignment, AnswerValues, HumanSet, Level, MetaOptions
from metaeval.citation.parsers.dependency_parsers import Parser
from metaeval.citation.pipelines import pipeline
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import Run
from metaeval.citation.pipelines.run_pipeline import DEFAULT_BACKEND
from metaeval.citation.scifi.data_model import ScifiOptions
from metaeval.citation.stated_answers import StatedAnswers
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.declared import Flag
from metaeval.report.result import Ledger, Result
from metaeval.runs.evaluation import resampling_of
from metaeval.runs.verdict_cutoffs import Cutoff
from metaeval.setting_types import one_of
from metaeval.stats.intervals import Resampling

BY_METRIC = ("alce", "aliice", "scifi", "autoais")
BY_CHAT = ("attrscore", "lqac", "citeeval")
PIPELINES = (*BY_METRIC, *BY_CHAT)
USUAL = ("alce", "aliice")


class MetaCommand(pipeline.JudgedByMetrics, pipeline.AsksChat):
    """Options of `cite meta`."""

    untyped = frozenset({"calibration", "format"})

    files: pipeline.FilesToRead = Field(description="Files of answers with human ratings.")
    human: Annotated[Path | None, Flag("FILE")] = Field(
        default=None, description="CiteBench's file of human judgements, for answers in a .citeeval file."
    )
    pipelines: pipeline.NameList = Field(
        default=(), description=f"Pipelines: {', '.join(PIPELINES)} (default: alce,aliice). Repeatable."
    )
    scores: pipeline.Files = Field(
        default=(),
        description="Scores of other tools (answer, start, end, value), or per-statements.jsonl of 'cite citeeval'.",
    )
    model: Annotated[str | None, Flag("NAME")] = Field(
        default=None, description="Chat model for citeeval, its baselines and scifi."
    )
    scenario: Annotated[pipeline.ScenarioName, one_of("scenario", SCENARIOS)] = "full"
    format: Annotated[str, Flag("NAME", "-f")] = Field(
        default="auto", description="Format of the files: expertqa, citebench, jsonl, or auto (by content)."
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines that are compared with the ratings."""
        return tuple(dict.fromkeys(self.pipelines)) or (() if self.scores else USUAL)

    @property
    def judges(self) -> tuple[str, ...]:
        """The metrics that give verdicts; none if no pipeline needs one."""
        return (super().judges or (DEFAULT_BACKEND,)) if set(self.names) & set(BY_METRIC) else ()


@dataclass(frozen=True, eq=False)
class Measurement:
    """The values of one measure of one pipeline with one judge, named pipeline:measure:judge.

    fields: of its signature. values: of statements and answers. ledger: counts of what the judge read. assumed: text on
    what the bounds of its values assume. lone: it is the only measure of its pipeline.
    """

    name: str
    fields: Mapping[str, object]
    values: AnswerValues
    ledger: Ledger | None = None
    assumed: str = ""
    lone: bool = False

    @property
    def headline(self) -> bool:
        """Whether it is tested by default: F1, entailment, strict AttrScore, CiteEval-Auto, a pipeline's only measure,
        or a score of another tool."""
        pipeline, measure = self.name.split(":")[:2]
        return pipeline == "scores" or measure in ("f1", "entailment", "strict", "auto") or self.lone


@dataclass(frozen=True, eq=False)
class ToMeasure:
    """Rated answers, and everything else that is known before a model is asked.

    run: its options are a `MetaCommand`. splits: the statements that CiteEval and its baselines judge; empty where none
    does. pipelines: ALCE and ALiiCE, with their claims. cutoffs: of each backend, for decisions; graded: those for
    SCiFi. asking, chat: None where no chat model is asked. parser: parser of SCiFi's facts; None where a model makes
    them. outside_scores: those of the option `scores`.
    """

    run: Run
    names: Sequence[str]
    options: MetaOptions
    scenario: CiteEvalScenario
    citeeval: CiteEvalOptions
    baselines: BaselineOptions
    asking: Asking | None
    chat: ChatOptions | None
    scifi: ScifiOptions
    parser: Parser | None
    splitter: SentenceSplitter
    human: HumanSet
    splits: Sequence[Split]
    pipelines: Sequence[StatedAnswers]
    cutoffs: Mapping[str, Cutoff]
    graded: Mapping[str, Cutoff]
    outside_scores: Sequence[Measurement]

    @property
    def by_model(self) -> list[Baseline]:
        """CiteEval's baselines that the chat model judges."""
        return [name for name in BASELINES if name in self.names]

    @property
    def answers(self) -> list[Answer]:
        """The rated answers, in order."""
        return [rated.answer for rated in self.human.answers]

    def tested(self, measured: Sequence[Measurement]) -> frozenset[str]:
        """Return the names of the measures that significance tests compare."""
        every = self.options.tested == "all"
        return frozenset(measurement.name for measurement in measured if every or measurement.headline)


@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """The result of comparing every measure with human ratings.

    levels: statements, then responses; a level that cannot be evaluated is in `left_out`, with the reason. results: one
    list for each level, with a result for each protocol. backends: each with the pipeline that uses it (empty: several
    do). rated: the judgements of CiteEval's judge; empty where it was not asked.
    """

    read: ToMeasure
    measured: Sequence[Measurement]
    aligned: Alignment
    levels: Sequence[Level]
    left_out: Sequence[tuple[str, str]]
    results: Sequence[Sequence[Result]]
    backends: Sequence[tuple[str, Backend]] = ()
    rated: Sequence[ResponseValues] = ()

    @property
    def resampling(self) -> Resampling:
        """How intervals are resampled."""
        return resampling_of(self.read.run.config)
