"""CiteEval's options, its baselines' and its judge's, from what --set says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking, load_prompts
from metaeval.citation.citeeval.baseline_options import BaselineOptions
from metaeval.citation.citeeval.evaluate import SCENARIOS
from metaeval.citation.citeeval.options import CiteEvalOptions
from metaeval.citation.citeeval.values import Scenario
from metaeval.errors import unknown
from metaeval.experiment.citing.settings import ChatChoice, chat_options, model_of, sort_settings


@dataclass(frozen=True)
class Given:
    """What --set gave, by whose it is; run: what is still to be read, of the run."""

    asking: dict[str, Any]
    options: dict[str, Any]
    baselines: dict[str, Any]
    chat: dict[str, Any]
    run: list[str]


def scenario_of(name: str) -> Scenario:
    """The scenario of this name; `UserError` for one that is not known."""
    for known in SCENARIOS:
        if name == known:
            return known
    raise unknown("scenario", name, SCENARIOS)


def judge_of(
    choice: ChatChoice, asking: Mapping[str, Any], chat: Mapping[str, Any], budget: float | None
) -> tuple[Asking, ChatOptions]:
    """What is asked, and of whom; asking, chat: what --set says of each.

    Raises `UserError` where no model is named, for a wrong option, and for a prompt file that cannot be used.
    """
    asked = Asking(**{**asking, "model": model_of(choice, asking)})
    load_prompts(asked)
    return asked, chat_options(ChatOptions, choice, {**chat, "model": asked.model}, budget)


def citeeval_settings(overrides: Sequence[str]) -> Given:
    """Overrides (name=value) by whose they are; `UserError` for an unknown name and a value of the wrong kind."""
    owners = {"asking": Asking, "options": CiteEvalOptions, "baselines": BaselineOptions, "chat": ChatOptions}
    found, of_run = sort_settings(overrides, owners)
    return Given(found["asking"], found["options"], found["baselines"], found["chat"], of_run)
