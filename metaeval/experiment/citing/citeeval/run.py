"""A CiteEval run: what is asked for, checked before anything is sent; then judged by a chat model or from its replies.

Nothing that differs between a run and its replay goes into the results: what came from the reply store, and what had
to be sent again, is told on the way.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.citation.chat.opening import Spent, cost_of, estimate_for, open_chat, spent_on
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.baseline_options import BaselineOptions
from metaeval.citation.citeeval.baselines import Triple
from metaeval.citation.citeeval.editing import Coefficients
from metaeval.citation.citeeval.evaluate import ResponseValues, asked_of, evaluate
from metaeval.citation.citeeval.options import CiteEvalOptions
from metaeval.citation.citeeval.statement_questions import LqacStatement
from metaeval.citation.citeeval.values import Scenario
from metaeval.citation.model import Answer
from metaeval.config import RunConfig
from metaeval.experiment.citing.citeeval.baselines import Labelled, judged_by_metrics, labelled_by_metrics
from metaeval.experiment.citing.citeeval.plan import plan_citeeval
from metaeval.experiment.citing.settings import Asked, ChatChoice
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.verdicts import Backend

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Rated:
    """Answers as the judge rated them, and what made the numbers.

    results, spent: of each answer, in order. models: the names that the replies came under. baselines: each backend
    with AutoAIS of every statement of every answer. lqac: what the chat model said for LQAC of the same statements;
    None: it was not asked. attrscore: AttrScore by each judge of it.
    """

    name: str
    config: RunConfig
    profile: str
    scenario: Scenario
    splitter: str
    asking: Asking
    options: CiteEvalOptions
    coefficients: Coefficients
    answers: Sequence[Answer]
    results: Sequence[ResponseValues]
    spent: Sequence[Spent]
    models: Sequence[str]
    chat: ChatOptions
    baselines: Sequence[tuple[Backend, Sequence[Sequence[Triple]]]]
    lqac: Sequence[Sequence[LqacStatement]] | None
    attrscore: Sequence[Labelled]
    baseline_options: BaselineOptions

    @property
    def systems(self) -> Mapping[str, Sequence[int]]:
        """The numbers of each system's answers, by the systems' names, sorted."""
        names = [answer.system for answer in self.answers]
        return {name: [number for number, own in enumerate(names) if own == name] for name in sorted(set(names))}

    @property
    def answered_as(self) -> str:
        """The model as the replies name it, and as it was asked where no reply came."""
        return ", ".join(self.models) or self.asking.model

    def money(self, spent: Sequence[Spent]) -> float | None:
        """USD of what some answers took; None where prices, or counts of tokens, are not known."""
        costs = [cost_of(one, self.chat) for one in spent]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


def run_citeeval(
    asked: Asked,
    choice: ChatChoice,
    scenario: str,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    progress: MetricProgress | None = None,
    baselines: Sequence[str] = (),
    coefficients: Path | None = None,
) -> Rated:
    """Judge the answers; nothing is written but the reply store, the score store and the file of `choice.record`.

    overrides: settings of a run, options of CiteEval (weight=0.3), of the baselines (otherwise=missing), of what is
    asked (output=json) and of the endpoint (price_in=0.5). asked.nli: metrics that give AutoAIS of the same statements.
    baselines: of the same statements too, see `baselines.wanted`. coefficients: of the edit distance, a file
    that `cite refit` wrote; None: the published ones.

    Raises `UserError` for whatever is wrong in what is asked and in the files, before anything is sent.
    """
    plan = plan_citeeval(asked, choice, scenario, settings, overrides, baselines, coefficients)
    answers, splits, config = plan.answers, plan.splits, plan.config
    with open_chat(plan.chat, choice.record, choice.replay, progress) as chat:
        heard = evaluate(
            answers,
            splits,
            chat.ask,
            plan.asking,
            plan.options,
            plan.wanted.by_model,
            plan.baseline_options,
            plan.coefficients,
        )
        _log.info("%s: %s", plan.asking.model, chat.note())
    by_metrics = list(labelled_by_metrics(answers, splits, plan.wanted.labellers, config, progress))
    by_model = [] if heard.attrscore is None else [Labelled(plan.asking.model, heard.attrscore)]
    return Rated(
        name=asked.name,
        config=config,
        profile=asked.profile,
        scenario=plan.scenario,
        splitter=plan.splitter,
        asking=plan.asking,
        options=plan.options,
        coefficients=plan.coefficients,
        answers=answers,
        results=heard.results,
        spent=[spent_on(own) for own in heard.replies],
        models=chat.models,
        chat=plan.chat,
        baselines=judged_by_metrics(answers, splits, plan.cutoffs, config, progress),
        lqac=heard.lqac,
        attrscore=[*by_model, *by_metrics],
        baseline_options=plan.baseline_options,
    )


def estimate_citeeval(
    asked: Asked,
    choice: ChatChoice,
    scenario: str,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    baselines: Sequence[str] = (),
    coefficients: Path | None = None,
) -> str:
    """What such a run would still ask of the chat model, and cost; nothing is sent, and no key is needed.

    Raises `UserError` as `run_citeeval` does before anything is sent.
    """
    plan = plan_citeeval(asked, choice, scenario, settings, overrides, baselines, coefficients)
    to_ask = asked_of(plan.answers, plan.splits, plan.asking, plan.wanted.by_model, plan.baseline_options)
    return str(estimate_for(to_ask.requests, plan.chat))
