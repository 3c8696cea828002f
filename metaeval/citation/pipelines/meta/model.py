"""What a meta-evaluation is made of: its options, measures of pipelines, and what comes of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from metaeval.citation.chat import ChatOptions
from metaeval.citation.citeeval.evaluate import SCENARIOS, ResponseValues
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.citeeval.values import CitedScenario as CiteEvalScenario
from metaeval.citation.citeeval.values import CiteEvalOptions
from metaeval.citation.human.model import Alignment, AnswerValues, HumanSet, Level, MetaOptions
from metaeval.citation.judging import PipelineReading
from metaeval.citation.model import Answer
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.pipelines.pipeline import AsksChat, Files, JudgedByMetrics, Names, Run, Scenario, one_of
from metaeval.citation.pipelines.run import DEFAULT_BACKEND
from metaeval.citation.pipelines.verdicts import Backend
from metaeval.citation.scifi.model import ScifiOptions
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.declared import Flag
from metaeval.report.result import Ledger, Result
from metaeval.runs.cutoffs import Cutoff
from metaeval.runs.evaluation import resampling_of
from metaeval.stats.intervals import Resampling

BY_METRIC = ("alce", "aliice", "scifi", "autoais")
PIPELINES = (*BY_METRIC, "citeeval")
USUAL = ("alce", "aliice")


class MetaCommand(JudgedByMetrics, AsksChat):
    """Options of `cite meta`."""

    untyped = frozenset({"calibration", "format"})

    files: Annotated[tuple[Path, ...], Flag("FILE", multiple=True, argument=True)] = Field(
        description="Files of answers with people's ratings."
    )
    human: Annotated[Path | None, Flag("FILE")] = Field(
        default=None, description="CiteBench's judgements, for its .citeeval file."
    )
    pipelines: Names = Field(
        default=(), description="alce, aliice, scifi, autoais, citeeval; with commas (default: alce,aliice)."
    )
    scores: Files = Field(default=(), description="Scores made elsewhere: answer, start, end, value. Repeatable.")
    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model of citeeval and scifi.")
    scenario: Annotated[Scenario, one_of("scenario", SCENARIOS)] = "full"
    format: Annotated[str, Flag("NAME", "-f")] = Field(default="auto", description="expertqa, citebench or jsonl.")

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines that judge."""
        return tuple(dict.fromkeys(self.pipelines)) or (() if self.scores else USUAL)

    @property
    def judges(self) -> tuple[str, ...]:
        """The metrics that judge; none where no pipeline needs one."""
        return (super().judges or (DEFAULT_BACKEND,)) if set(self.names) & set(BY_METRIC) else ()


@dataclass(frozen=True, eq=False)
class Measurement:
    """One measure of one pipeline under one judge, named pipeline:measure:judge, and its values.

    fields: what the signature says of it. assumed: what the ends of its values take for granted.
    """

    name: str
    fields: Mapping[str, object]
    values: AnswerValues
    ledger: Ledger | None = None
    assumed: str = ""

    @property
    def headline(self) -> bool:
        """Whether it is the one that its pipeline is known by: F1, entailment, CiteEval-Auto, or scores of others."""
        pipeline, measure = self.name.split(":")[:2]
        return pipeline == "scores" or measure in ("f1", "entailment", "auto")


@dataclass(frozen=True, eq=False)
class ToMeasure:
    """Rated answers, with everything that is known before a model is asked.

    run: its options are a `MetaCommand`. splits: the statements that CiteEval and AutoAIS judge; empty where neither
    does. pipelines: those that read sentences and claims. cutoffs, graded: of each backend, as a decision and as SCiFi
    takes it. asking, chat: None where nobody is asked. parser: of SCiFi's facts; None where a model makes them. given:
    scores that were made elsewhere.
    """

    run: Run
    names: Sequence[str]
    options: MetaOptions
    scenario: CiteEvalScenario
    citeeval: CiteEvalOptions
    asking: Asking | None
    chat: ChatOptions | None
    scifi: ScifiOptions
    parser: Parser | None
    splitter: SentenceSplitter
    human: HumanSet
    splits: Sequence[Split]
    pipelines: Sequence[PipelineReading]
    cutoffs: Mapping[str, Cutoff]
    graded: Mapping[str, Cutoff]
    given: Sequence[Measurement]

    @property
    def answers(self) -> list[Answer]:
        """The rated answers, in order."""
        return [own.answer for own in self.human.answers]

    def tested(self, measured: Sequence[Measurement]) -> frozenset[str]:
        """The names of the measures that are tested against each other."""
        every = self.options.tested == "all"
        return frozenset(one.name for one in measured if every or one.headline)


@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """Every measure held against people's ratings.

    levels: statements, then responses; one that cannot be judged stands in `left_out` with the reason. results: of
    each level, by protocol. backends: with the one pipeline that uses it, or nothing where several do. rated:
    what CiteEval's judge said; empty where it was not asked.
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
        """How intervals are made."""
        return resampling_of(self.read.run.config)
