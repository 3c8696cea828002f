"""The pipeline `scifi`: its options, who makes the facts, and how each backend values them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.citation.chat import ChatOptions, estimate_for
from metaeval.citation.model import Answer
from metaeval.citation.parsers.parse import Parser, find_parser
from metaeval.citation.scifi import shares
from metaeval.citation.scifi.entailment import counter
from metaeval.citation.scifi.facts import PROFILE, fact_prompts, read_with_model, read_with_parser, requests_for
from metaeval.citation.scifi.model import AnswerFacts, ScifiOptions, read_sentences
from metaeval.citation.scifi.shares import Scored
from metaeval.config import Flag
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.errors import UserError
from metaeval.experiment.citing.pipeline import AsksChat, Given, JudgedByMetrics, ReadsAnswers, Run
from metaeval.experiment.verdicts import Backend, Cutoff, find_cutoff
from metaeval.report.grid import count
from metaeval.scoring.contract import Metric

_GRADED = (0.0, 1.0, 1)
"""Low, high and direction of a metric whose scores can be read as degrees of support."""


class ScifiCommand(ReadsAnswers, JudgedByMetrics, AsksChat):
    """Options of `cite scifi`."""

    threshold: Annotated[str | None, Flag("X")] = Field(
        default=None,
        description="Score from which a fact is supported: X, or NAME=X with commas (default: the score itself).",
    )
    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model that makes the facts.")
    parser: Annotated[str, Flag("NAME")] = Field(
        default="small", description="Parser that makes the facts where no model is named."
    )


@dataclass(frozen=True, eq=False)
class Assessed:
    """Answers of one or more systems as facts, valued by one or more backends; empty before a stage is through.

    parser: what makes the facts (None: the run's chat model). read: the facts of every answer, in order. models: the
    names that the replies came under; none where a parser made the facts. scored: in the order of `backends`.
    """

    run: Run
    options: ScifiOptions
    parser: Parser | None
    read: Sequence[AnswerFacts] = ()
    models: Sequence[str] = ()
    backends: Sequence[Backend] = ()
    scored: Sequence[Scored] = ()

    @property
    def both(self) -> list[tuple[Backend, Scored]]:
        """Each backend with its values."""
        return list(zip(self.backends, self.scored, strict=True))

    @property
    def referred(self) -> bool:
        """Whether an answer has a reference that it should cover."""
        return any(own.reference is not None for own in self.read)


def options_of(given: Given) -> ScifiOptions:
    """The options of SCiFi that --set gives."""
    return ScifiOptions(**given.get("options", {}))


def asks_model(choice: AsksChat, given: Given) -> bool:
    """Whether a chat model makes the facts; `UserError` for both at once, and for a model's setting without a model."""
    facts, chat = given["options"].get("facts"), given["chat"]
    named = choice.names_model or "model" in chat
    if named and facts == "parser":
        raise UserError("Facts are made by the parser (facts=parser) or by a chat model: leave out one of the two.")
    if named or facts == "model":
        return True
    idle = [f"--set {name}" for name in chat if name != "budget"]
    idle += choice.idle
    if idle:
        raise UserError(
            f"{idle[0]} is a chat model's, and a parser makes the facts: name a model with --model, or leave it out."
        )
    return False


def fact_cutoff(
    name: str, metric: Metric, thresholds: Mapping[str, float | None], calibrations: Sequence[Path], given: Given
) -> Cutoff:
    """How a backend's scores become values of facts: as they are (a soft cut-off), or decided at a threshold."""
    entailment, card = options_of(given).entailment, metric.card
    graded = (card.low, card.high, card.direction) == _GRADED
    as_it_is = entailment == "probability" or (entailment == "auto" and graded)
    if name not in thresholds and not calibrations and as_it_is:
        cutoff = Cutoff(None, "as it is")
    else:
        cutoff = find_cutoff(name, metric, thresholds, calibrations)
    if cutoff.value is None and entailment == "binary":
        raise UserError(f"entailment=binary decides at a threshold, and {name!r} is given none: leave out one.")
    if cutoff.value is None and not graded:
        raise UserError(
            f"A fact's value is a score from 0 to 1, and {name!r} gives others: give it a threshold (--threshold "
            f"{name}=X), or leave entailment at auto."
        )
    return cutoff


def read_run(run: Run) -> Assessed:
    """Who makes the facts of the run's answers; `UserError` for a prompt, tokenizer or parser that cannot be had."""
    options = options_of({"options": {**run.given["options"], "facts": "parser" if run.chat is None else "model"}})
    # Whether there are such prompts, and such a tokenizer.
    fact_prompts(options), counter(options.window_unit)
    parser = find_parser(run.options.parser, PROFILE.one_root) if run.chat is None else None
    return Assessed(run, options, parser)


def estimate(source: Assessed) -> str:
    """What making the facts would still cost, in a sentence or two; sends nothing, and needs no key."""
    run, options = source.run, source.options
    if run.chat is None:
        return "A parser makes the facts: no chat model is asked, and nothing is paid for them."
    if run.choice.replay is not None:
        return f"The replies are in {run.choice.replay}: no chat model is asked, and nothing is paid for them."
    return estimate_facts(run.answers, options, run.chat, run.splitter)


def estimate_facts(
    answers: Sequence[Answer], options: ScifiOptions, chat: ChatOptions, splitter: SentenceSplitter
) -> str:
    """What asking a chat model for the facts would still cost."""
    requests = requests_for(answers, options, chat, splitter)
    read = [read_sentences(answer, options, splitter) for answer in answers]
    # Their facts' citation is not known before the model has said where they are stated.
    several = sum(options.map_all or len(one.groups) > 1 for own in read for one in own)
    first = f"{count(len(requests), 'sentence')} to decompose: {estimate_for(requests, chat)}."
    if not several:
        return first
    cited = "" if options.map_all else " with several citations"
    return (
        f"{first} Then one request more for each fact of {count(several, 'sentence')}{cited}, which the first replies "
        "will tell."
    )


def make_facts(source: Assessed, chat: Any) -> Assessed:
    """The facts of every answer, made by the chat model or by the parser."""
    run, options = source.run, source.options
    if source.parser is not None:
        return replace(source, read=read_with_parser(run.answers, options, source.parser, run.splitter))
    read = read_with_model(run.answers, options, chat.ask, run.chat, run.splitter)
    return replace(source, run=replace(run, chat=chat.settled(run.chat)), read=read, models=chat.models)


def value_facts(facts: Assessed, backends: Iterable[Backend]) -> Assessed:
    """The facts valued by each backend in turn."""
    found = [
        (one, shares.score_facts(facts.read, one.entails, facts.options, one.soft, facts.run.splitter))
        for one in backends
    ]
    return replace(facts, backends=[backend for backend, _ in found], scored=[scored for _, scored in found])
