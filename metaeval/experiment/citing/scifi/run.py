"""A SCiFi run: facts of the answers' sentences, and how far each is entailed by its citation, under each backend.

Nothing that differs between a run and its replay goes into the results: what came from the reply store, and what had
to be sent again, is told on the way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.chat.opening import estimate_for, open_chat
from metaeval.citation.measures import Interval, Share, group_codes, replicates, system_codes
from metaeval.citation.model import Answer
from metaeval.citation.scifi.entailment import coverage_lines, fact_lines
from metaeval.citation.scifi.model import AnswerFacts, CoverageLine, FactLine
from metaeval.citation.scifi.sentences import read_sentences
from metaeval.citation.scifi.shares import coverages, entailments
from metaeval.citation.scifi.with_model import read_with_model, requests_for
from metaeval.citation.scifi.with_parser import read_with_parser
from metaeval.experiment.citing.quantities import Panel, Quantity, macro_of, micro_of
from metaeval.experiment.citing.run import backends_of
from metaeval.experiment.citing.scifi.settings import Prepared, prepare_scifi
from metaeval.experiment.citing.settings import Asked, ChatChoice
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.verdicts import Backend
from metaeval.report.grid import count
from metaeval.report.result import Column
from metaeval.scoring.store import ScoreStore
from metaeval.stats.resampling import Draws, bootstrap

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Scored:
    """One backend's values. facts, references: the lines. entailment, coverage: of each answer. quantities: of all."""

    backend: Backend
    facts: Sequence[FactLine]
    references: Sequence[CoverageLine]
    entailment: Sequence[Share]
    coverage: Sequence[Share]
    quantities: Sequence[Quantity]


@dataclass(frozen=True, eq=False)
class Assessed:
    """Answers of one or more systems as facts, valued by one or more backends.

    models: the names that the replies came under; none where a parser made the facts. systems: names, sorted. system,
    group: (n,) codes of each answer. draws: weightings of the groups, the same for every system and backend.
    """

    prepared: Prepared
    read: Sequence[AnswerFacts]
    models: Sequence[str]
    systems: Sequence[str]
    system: Ints
    group: Ints
    draws: Draws
    scored: Sequence[Scored]

    @property
    def answers(self) -> Sequence[Answer]:
        """The answers, in order."""
        return self.prepared.answers

    @property
    def referred(self) -> bool:
        """Whether an answer has a reference that it should cover."""
        return any(own.reference is not None for own in self.read)

    def values(self, quantity: Quantity, system: int) -> Floats:
        """A quantity of one system under each weighting, (R,), the input itself first."""
        return replicates(quantity, np.flatnonzero(self.system == system), self.group, self.draws)

    def interval(self, quantity: Quantity, system: int) -> Interval:
        """A quantity of one system, with its interval; none from a single group that has a value."""
        rows = np.flatnonzero(self.system == system)
        level = self.prepared.config.interval.level
        panel = Panel(self.answers, self.systems, self.system, self.group, self.draws, level)
        return panel.interval_over(quantity, rows)


def run_scifi(
    asked: Asked,
    choice: ChatChoice,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    progress: MetricProgress | None = None,
) -> Assessed:
    """Judge the answers; nothing is written but the reply store, the score store and the file of `choice.record`.

    Raises `UserError` as `prepare_scifi` does, before anything is sent or scored, and as `assess` does.
    """
    return assess(prepare_scifi(asked, choice, settings, overrides), progress)


def assess(prepared: Prepared, progress: MetricProgress | None = None) -> Assessed:
    """Make the facts, and have every backend value them.

    Raises `UserError` when the chat model cannot go on, or the budget is spent; every reply so far is kept.
    """
    read, models = _facts(prepared, progress)
    with ScoreStore(prepared.config.store_path) as store:
        backends = backends_of(prepared.cutoffs, prepared.config, store, "joint", progress)
        return value_facts(prepared, read, models, backends)


def value_facts(
    prepared: Prepared, read: Sequence[AnswerFacts], models: Sequence[str], backends: Iterable[Backend]
) -> Assessed:
    """The facts valued by each backend in turn."""
    answers, interval = prepared.answers, prepared.config.interval
    systems, system = system_codes(answers)
    group, n_groups = group_codes(answers)
    return Assessed(
        prepared=prepared,
        read=read,
        models=models,
        systems=systems,
        system=system,
        group=group,
        draws=bootstrap(n_groups, interval.resamples, interval.seed),
        scored=[_scored(prepared, read, backend) for backend in backends],
    )


def estimate_scifi(prepared: Prepared) -> str:
    """What making the facts would still cost, in a sentence or two; sends nothing, and needs no key."""
    chat, options, splitter = prepared.chat, prepared.options, prepared.splitter
    if chat is None:
        return "A parser makes the facts: no chat model is asked, and nothing is paid for them."
    if prepared.choice.replay is not None:
        return f"The replies are in {prepared.choice.replay}: no chat model is asked, and nothing is paid for them."
    requests = requests_for(prepared.answers, options, chat, splitter)
    read = [read_sentences(answer, options, splitter) for answer in prepared.answers]
    several = sum(options.map_all or len(one.groups) > 1 for own in read for one in own)
    first = f"{count(len(requests), 'sentence')} to decompose: {estimate_for(requests, chat)}."
    if not several:
        return first
    cited = "" if options.map_all else " with several citations"
    return (
        f"{first} Then one request more for each fact of {count(several, 'sentence')}{cited}, which the first replies "
        "will tell."
    )


def entailment_column(average: str) -> Column:
    """Citation entailment, over "facts" or over "answers"."""
    return Column(key=f"entailment_{average}", label=f"over {average}", scale=100, digits=1)


def coverage_column(average: str) -> Column:
    """Coverage, over "facts" or over "answers"."""
    return Column(key=f"coverage_{average}", label=f"over {average}", scale=100, digits=1)


def averages(prepared: Prepared) -> tuple[str, str]:
    """The two averages, the headline first."""
    return ("facts", "answers") if prepared.options.average == "facts" else ("answers", "facts")


def _facts(prepared: Prepared, progress: MetricProgress | None) -> tuple[list[AnswerFacts], list[str]]:
    if prepared.chat is None:
        if prepared.parser is None:
            raise ValueError("facts need a chat model or a parser")
        return read_with_parser(prepared.answers, prepared.options, prepared.parser, prepared.splitter), []
    with open_chat(prepared.chat, prepared.choice.record, prepared.choice.replay, progress) as chat:
        read = read_with_model(prepared.answers, prepared.options, chat.ask, prepared.chat, prepared.splitter)
        _log.info("%s: %s", prepared.chat.model, chat.note())
        return read, chat.models


def _scored(prepared: Prepared, read: Sequence[AnswerFacts], backend: Backend) -> Scored:
    facts = fact_lines(read, backend.entails, prepared.options, backend.soft, prepared.splitter)
    references = coverage_lines(read, backend.entails, prepared.options, backend.soft)
    entailment, coverage = entailments(read, facts), coverages(read, references)
    average = {"facts": micro_of, "answers": macro_of}
    quantities = [average[one](entailment_column(one), entailment) for one in averages(prepared)]
    quantities += [average[one](coverage_column(one), coverage) for one in averages(prepared)]
    return Scored(backend, facts, references, entailment, coverage, quantities)
