"""What is asked of an improvement, checked before the judge is asked anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.citation.chat.opening import estimate_for
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.judge import questions_of
from metaeval.citation.citeeval.options import CiteEvalOptions, citeeval_options
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.citeeval.values import Scenario
from metaeval.citation.model import Answer
from metaeval.citation.sentences import SentenceSplitter, find_sentence_splitter
from metaeval.config import RunConfig, load_run
from metaeval.errors import UserError
from metaeval.experiment.citing.citeeval.settings import citeeval_settings, judge_of, scenario_of
from metaeval.experiment.citing.run import gather
from metaeval.experiment.citing.settings import Asked, ChatChoice


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that is known before the judge is asked."""

    name: str
    config: RunConfig
    profile: str
    scenario: Scenario
    rounds: int
    splitter: SentenceSplitter
    asking: Asking
    options: CiteEvalOptions
    chat: ChatOptions
    answers: Sequence[Answer]
    splits: Sequence[Split]

    @property
    def systems(self) -> Mapping[str, Sequence[int]]:
        """The numbers of each system's answers, by the systems' names, sorted."""
        names = [answer.system for answer in self.answers]
        return {name: [number for number, own in enumerate(names) if own == name] for name in sorted(set(names))}


def prepare_improving(
    asked: Asked,
    choice: ChatChoice,
    scenario: str,
    rounds: int,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
) -> Prepared:
    """Read and split the answers, and check all that is asked; nobody is asked anything.

    Raises `UserError` for whatever is wrong in what is asked and in the files.
    """
    if rounds < 1:
        raise UserError(f"--rounds is {rounds}; allowed: a whole number from 1.")
    wanted = scenario_of(scenario)
    given = citeeval_settings(overrides)
    config = load_run(None, settings, given.run)
    options = citeeval_options(asked.profile, **given.options)
    asking, chat = judge_of(choice, given.asking, given.chat, config.budget)
    cutter = find_sentence_splitter(asked.splitter)
    answers = gather(asked.files, asked.form)
    if not any(answer.passages for answer in answers):
        raise UserError(f"No answer of {asked.name} comes with passages: there is nothing that its citations point at.")
    splits = [split_response(answer, options, cutter) for answer in answers]
    return Prepared(asked.name, config, asked.profile, wanted, rounds, cutter, asking, options, chat, answers, splits)


def estimate_improving(prepared: Prepared) -> str:
    """Lines on what asking the judge would still cost; sends nothing, and needs no key."""
    questions = list(questions_of(prepared.answers, prepared.splits, prepared.asking))
    requests = [one.request for one in questions]
    editing = sum(one.module == "editing" for one in questions)
    return (
        f"{len(prepared.answers):,} answers, to judge before any edit: {estimate_for(requests, prepared.chat)}\n"
        f"then, in each of {prepared.rounds:,} rounds, at most {editing:,} requests of about the same size: for every "
        "answer that was changed, about its citations alone (their contexts too, where an edit moved a sentence's end)"
    )
