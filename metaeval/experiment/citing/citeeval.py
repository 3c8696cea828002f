"""A CiteEval run: what is asked for, checked before anything is sent; then judged by a chat model or from its replies.

Nothing that differs between a run and its replay goes into the results: what came from the reply store, and what had
to be sent again, is told on the way.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.citation.chat.opening import Chat, Spent, open_chat, spent_on
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.aggregate import Scenario
from metaeval.citation.citeeval.asking import Asking, load_prompts
from metaeval.citation.citeeval.baselines import Triple, autoais
from metaeval.citation.citeeval.evaluate import SCENARIOS, ResponseValues, evaluate_splits
from metaeval.citation.citeeval.judge import requests_of
from metaeval.citation.citeeval.options import CiteEvalOptions, citeeval_options
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.model import Answer
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.config import RunConfig, load_run
from metaeval.errors import UserError, unknown
from metaeval.experiment.citing.chat import ChatChoice, chat_options, model_of
from metaeval.experiment.citing.citeeval_judge import citeeval_settings
from metaeval.experiment.citing.judging import gather
from metaeval.experiment.citing.pipelines import SPLITTERS
from metaeval.experiment.citing.run import Asked, backends_of, find_cutoffs
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.verdicts import Backend
from metaeval.scoring.store import ScoreStore

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Rated:
    """Answers as the judge rated them, and what made the numbers.

    results, spent: of each answer, in order. models: the names that the replies came under. baselines: each backend
    with AutoAIS of every statement of every answer.
    """

    name: str
    config: RunConfig
    profile: str
    scenario: Scenario
    splitter: str
    asking: Asking
    options: CiteEvalOptions
    answers: Sequence[Answer]
    results: Sequence[ResponseValues]
    spent: Sequence[Spent]
    models: Sequence[str]
    chat: ChatOptions
    baselines: Sequence[tuple[Backend, Sequence[Sequence[Triple]]]]

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
        price_in, price_out = self.chat.price_in, self.chat.price_out
        if price_in is None or price_out is None or any(one.uncounted for one in spent):
            return None
        return sum(one.tokens_in * price_in + one.tokens_out * price_out for one in spent) / 1e6


def run_citeeval(
    asked: Asked,
    choice: ChatChoice,
    scenario: str,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    progress: MetricProgress | None = None,
) -> Rated:
    """Judge the answers; nothing is written but the reply store, the score store and the file of `choice.record`.

    overrides: settings of a run, options of CiteEval (weight=0.3), of what is asked (output=json) and of the endpoint
    (price_in=0.5). asked.nli: metrics that give AutoAIS of the same statements.

    Raises `UserError` for whatever is wrong in what is asked and in the files, before anything is sent.
    """
    given = citeeval_settings(overrides)
    names = tuple(dict.fromkeys(asked.nli))
    config = load_run(None, {**settings, **({"metrics": names} if names else {})}, given.run)
    wanted = _scenario(scenario)
    options = citeeval_options(asked.profile, **given.options)
    asking = Asking(**{**given.asking, "model": model_of(choice, given.asking)})
    load_prompts(asking)
    endpoint = chat_options(ChatOptions, choice, {**given.chat, "model": asking.model}, config.budget)
    if asked.splitter not in SPLITTERS:
        raise unknown("splitter", asked.splitter, SPLITTERS)
    cutter = find_sentence_splitter(asked.splitter)  # type: ignore[arg-type]
    cutoffs = find_cutoffs(names, config, asked.threshold, asked.calibrations) if names else {}
    if soft := [name for name, cutoff in cutoffs.items() if cutoff.value is None]:
        raise UserError(f"AutoAIS is made of decisions, and {soft[0]!r} is asked for soft scores: give a threshold.")
    answers = gather(asked.files, asked.form)
    if not any(answer.passages for answer in answers):
        raise UserError(f"No answer of {asked.name} comes with passages: there is nothing that its citations point at.")
    splits = [split_response(answer, options, cutter) for answer in answers]
    with open_chat(endpoint, choice.record, choice.replay, progress) as chat:
        results = evaluate_splits(answers, splits, chat.ask, asking, options)
        _log.info("%s: %s", asking.model, chat.note())
    baselines = []
    if cutoffs:
        with ScoreStore(config.store_path) as store:
            for backend in backends_of(cutoffs, config, store, "joint", progress):
                baselines.append((backend, autoais(answers, splits, backend.entails)))
    return Rated(
        name=asked.name,
        config=config,
        profile=asked.profile,
        scenario=wanted,
        splitter=cutter.name,
        asking=asking,
        options=options,
        answers=answers,
        results=results,
        spent=_spent(answers, splits, asking, chat),
        models=chat.models,
        chat=endpoint,
        baselines=baselines,
    )


def _scenario(name: str) -> Scenario:
    for known in SCENARIOS:
        if name == known:
            return known
    raise unknown("scenario", name, SCENARIOS)


def _spent(answers: Sequence[Answer], splits: Sequence[Split], asking: Asking, chat: Chat) -> list[Spent]:
    """What the replies about each answer took; a reply that two requests share is counted for both."""
    heard: list[list[Any]] = [[] for _ in answers]
    for (index, _, _), answer in zip(requests_of(answers, splits, asking), chat.heard, strict=True):
        heard[index].append(answer)
    return [spent_on(own) for own in heard]
