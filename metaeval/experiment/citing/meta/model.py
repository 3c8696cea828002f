"""What a meta-evaluation is made of: its options, measures of pipelines, levels of ratings, and what comes of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from metaeval.citation.chat import ChatOptions
from metaeval.citation.citeeval.evaluate import ResponseValues
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options import CiteEvalOptions
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.citeeval.values import Scenario as CiteEvalScenario
from metaeval.citation.human.model import Aligned, HumanSet, Nothing, SpanValue, Valued
from metaeval.citation.model import Answer
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.scifi.model import AnswerFacts, ScifiOptions
from metaeval.citation.sentences import SentenceSplitter
from metaeval.config import Flag
from metaeval.corpus.model import Ratings
from metaeval.experiment.citing.claims import Reading
from metaeval.experiment.citing.pipeline import AsksChat, JudgedByMetrics, Names, Run, Scenario
from metaeval.experiment.citing.run import DEFAULT_BACKEND
from metaeval.experiment.columns import Column
from metaeval.experiment.cutoffs import Cutoff
from metaeval.experiment.verdicts import Backend
from metaeval.report.result import Ledger, Result

BY_METRIC = ("alce", "aliice", "scifi", "autoais")
PIPELINES = (*BY_METRIC, "citeeval")
USUAL = ("alce", "aliice")

Spans = Mapping[str, Sequence[SpanValue]]
Ends = tuple[float, float]
Unit = Literal["statements", "responses"]
Alignment = Mapping[str, Mapping[str, Aligned]]
"""By measure and answer."""


@dataclass(frozen=True)
class MetaOptions:
    """How values are held against ratings, and how pipelines read answers."""

    none: Literal["left out", "response"] = "left out"
    """Value of a statement to which one side gives none: left out, or its response's (CiteEval's rule); a missing
    verdict is always left out."""
    unrated: Nothing = "left out"
    """Value of a response none of whose statements has one: left out, or full marks."""
    responses: Literal["own", "rated statements"] = "own"
    """Value of a response: the pipeline's own, or the mean over the rated statements."""
    tested: Literal["headline", "all"] = "headline"
    """Measures that are tested against each other: each pipeline's headline measure, or all."""
    profile: str = "paper"
    """Profile of the pipelines, as in 'cite alce' and 'cite aliice'."""
    parser: str = "small"
    """Parser of the sentences, as in 'cite aliice'."""
    splitter: Literal["auto", "nltk", "rules"] = "auto"
    """Sentence splitter."""
    premise: Literal["joint", "chunks"] = "joint"
    """How a group's passages are read: as one text (joint), or by their best chunk (chunks)."""

    @property
    def rules(self) -> dict[str, str]:
        """The options that decide how the two sides meet, for signatures."""
        return {"none": self.none, "unrated": self.unrated, "responses": self.responses}


class MetaCommand(JudgedByMetrics, AsksChat):
    """Options of `cite meta`."""

    files: Annotated[tuple[Path, ...], Flag("FILE", multiple=True, argument=True)] = Field(
        description="Files of answers with people's ratings."
    )
    human: Annotated[Path | None, Flag("FILE")] = Field(
        default=None, description="CiteBench's judgements, for its .citeeval file."
    )
    pipelines: Names = Field(
        default=(), description="alce, aliice, scifi, autoais, citeeval; with commas (default: alce,aliice)."
    )
    scores: Annotated[tuple[Path, ...], Flag("FILE", multiple=True)] = Field(
        default=(), description="Scores made elsewhere: answer, start, end, value. Repeatable."
    )
    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model of citeeval and scifi.")
    scenario: Scenario = "full"
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
class Measured:
    """One measure of one pipeline under one judge.

    fields: what the signature says of it. spans: its values of sentences, by answer; empty where it has none of single
    sentences. wholes: its value of each answer. partial: answers whose value leaves out what has no verdict. ends: the
    least and the most that the value of an answer could be that a verdict is missing of, where that is known. assumed:
    what the ends take for granted.
    """

    name: str
    fields: Mapping[str, object]
    spans: Spans
    wholes: Mapping[str, Valued]
    partial: frozenset[str] = field(default_factory=frozenset)
    ledger: Ledger | None = None
    ends: Mapping[str, Ends] = field(default_factory=dict)
    assumed: str = ""

    @property
    def headline(self) -> bool:
        """Whether it is the one that its pipeline is known by: F1, entailment, CiteEval-Auto, or scores of others."""
        pipeline, measure = self.name.split(":")[:2]
        return pipeline == "scores" or measure in ("f1", "entailment", "auto")


@dataclass(frozen=True, eq=False)
class Level:
    """A rated set with what each measure says of it. values: of every row, in the rows' order, by measure.

    partial: by measure the ids of the rows whose value leaves out what has no verdict.
    """

    unit: Unit
    ratings: Ratings
    values: Mapping[str, Sequence[Valued]]
    columns: Sequence[Column]
    partial: Mapping[str, frozenset[str]]


@dataclass(frozen=True, eq=False)
class ToMeasure:
    """Rated answers, with everything that is known before a model is asked.

    run: its options are a `MetaCommand`. splits: the statements that CiteEval and AutoAIS judge; empty where neither
    does. pipelines: those that read sentences and claims. cutoffs, graded: of each backend, as a decision and as SCiFi
    takes it. asking: None where CiteEval is not asked. parser: of SCiFi's facts; None where a model makes them. given:
    scores that were made elsewhere.
    """

    run: Run
    names: Sequence[str]
    options: MetaOptions
    scenario: CiteEvalScenario
    citeeval: CiteEvalOptions
    asking: Asking | None
    scifi: ScifiOptions
    parser: Parser | None
    splitter: SentenceSplitter
    human: HumanSet
    splits: Sequence[Split]
    pipelines: Sequence[Reading]
    cutoffs: Mapping[str, Cutoff]
    graded: Mapping[str, Cutoff]
    given: Sequence[Measured]

    @property
    def answers(self) -> list[Answer]:
        """The rated answers, in order."""
        return [own.answer for own in self.human.answers]

    @property
    def chat(self) -> ChatOptions | None:
        """Of the chat model; None where none is asked."""
        chat: ChatOptions | None = self.run.chat
        return chat

    def tested(self, measured: Sequence[Measured]) -> frozenset[str]:
        """The names of the measures that are tested against each other."""
        every = self.options.tested == "all"
        return frozenset(one.name for one in measured if every or one.headline)


@dataclass(frozen=True, eq=False)
class Heard:
    """What the chat model, or the parser, made of the answers.

    rated, measured: what CiteEval's judge said; empty where it was not asked. facts, fields: SCiFi's, and what the
    signature says of them.
    """

    read: ToMeasure
    rated: Sequence[ResponseValues]
    measured: Sequence[Measured]
    facts: Sequence[AnswerFacts]
    fields: Mapping[str, object]


@dataclass(frozen=True, eq=False)
class Meta:
    """Every measure held against people's ratings.

    levels: statements, then responses; one that cannot be judged stands in `left_out` with the reason. results: of
    each level, by protocol. backends: with the one pipeline that uses it, or nothing where several do. rated: as in
    `Heard`.
    """

    read: ToMeasure
    measured: Sequence[Measured]
    aligned: Alignment
    levels: Sequence[Level]
    left_out: Sequence[tuple[str, str]]
    results: Sequence[Sequence[Result]]
    backends: Sequence[tuple[str, Backend]] = ()
    rated: Sequence[ResponseValues] = ()
