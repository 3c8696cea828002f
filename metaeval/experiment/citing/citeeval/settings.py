"""CiteEval's options, its baselines' and its judge's, from what --set says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.baseline_options import BaselineOptions
from metaeval.citation.citeeval.options import CiteEvalOptions
from metaeval.experiment.citing.settings import sort_settings


@dataclass(frozen=True)
class Given:
    """What --set gave, by whose it is; run: what is still to be read, of the run."""

    asking: dict[str, Any]
    options: dict[str, Any]
    baselines: dict[str, Any]
    chat: dict[str, Any]
    run: list[str]


def citeeval_settings(overrides: Sequence[str]) -> Given:
    """Overrides (name=value) by whose they are; `UserError` for an unknown name and a value of the wrong kind."""
    owners = {"asking": Asking, "options": CiteEvalOptions, "baselines": BaselineOptions, "chat": ChatOptions}
    found, of_run = sort_settings(overrides, owners)
    return Given(found["asking"], found["options"], found["baselines"], found["chat"], of_run)
