"""What a SCiFi run is asked for, checked before anything is sent or scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.model import Answer
from metaeval.citation.parsers.find import find_parser
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.scifi.chunks import counter
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.with_model import decomposition_prompt, mapping_prompt
from metaeval.citation.scifi.with_parser import PROFILE
from metaeval.citation.sentences import SentenceSplitter, find_sentence_splitter
from metaeval.config import RunConfig, load_run
from metaeval.errors import UserError
from metaeval.experiment.citing.run import DEFAULT_BACKEND, gather
from metaeval.experiment.citing.settings import Asked, ChatChoice, chat_options, sort_settings
from metaeval.experiment.columns import check_names
from metaeval.experiment.cutoffs import Cutoff, find_cutoff, read_thresholds
from metaeval.experiment.verdicts import load_judge

_GRADED = (0.0, 1.0, 1)
"""Low, high and direction of a metric whose scores can be read as degrees of support."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that is known before a model is asked. chat, parser: who makes the facts; the other is None."""

    asked: Asked
    choice: ChatChoice
    config: RunConfig
    options: ScifiOptions
    chat: ChatOptions | None
    parser: Parser | None
    splitter: SentenceSplitter
    cutoffs: Mapping[str, Cutoff]
    answers: Sequence[Answer]


def prepare_scifi(
    asked: Asked, choice: ChatChoice, settings: Mapping[str, Any], overrides: Sequence[str] = ()
) -> Prepared:
    """Read the answers and check all that is asked; no model is asked, nothing is scored.

    choice: the chat model that makes the facts; with nobody in it, `asked.parser` does. overrides: options of SCiFi
    (window=128), of the chat model (price_in=0.5) and of a run (interval.resamples=100).

    Raises `UserError` for whatever is wrong in what is asked, in the files and in the backends.
    """
    given, of_run = sort_settings(overrides, {"options": ScifiOptions, "chat": ChatOptions})
    names = tuple(dict.fromkeys(asked.nli)) or (DEFAULT_BACKEND,)
    # A budget is the run's too: a backend may cost money as well.
    budget = {"budget": given["chat"].pop("budget")} if "budget" in given["chat"] else {}
    config = load_run(None, {**settings, **budget, "metrics": names}, of_run)
    by_model = _by_model(choice, given["options"].get("facts"), given["chat"])
    options = ScifiOptions(**{**given["options"], "facts": "model" if by_model else "parser"})
    # Whether there are such prompts, and such a tokenizer.
    decomposition_prompt(options), mapping_prompt(options), counter(options.window_unit)
    chat = chat_options(ChatOptions, choice, given["chat"], config.budget, "makes the facts") if by_model else None
    if choice.record is not None and choice.replay is not None:
        raise UserError("Replies are recorded or replayed: give --record or --replay, not both.")
    splitter = find_sentence_splitter(asked.splitter)
    cutoffs = _cutoffs(names, config, options, asked.threshold, asked.calibrations)
    answers = gather(asked.files, asked.form)
    if not any(answer.passages for answer in answers):
        raise UserError(f"No answer of {asked.name} comes with passages: there is nothing that its citations point at.")
    parser = None if by_model else find_parser(asked.parser, PROFILE.one_root)
    return Prepared(asked, choice, config, options, chat, parser, splitter, cutoffs, answers)


def _by_model(choice: ChatChoice, facts: str | None, chat: Mapping[str, Any]) -> bool:
    """Whether a chat model makes the facts; `UserError` for both at once, and for a model's setting without a model."""
    named = choice.given or "model" in chat
    if named and facts == "parser":
        raise UserError("Facts are made by the parser (facts=parser) or by a chat model: leave out one of the two.")
    if named or facts == "model":
        return True
    idle = [f"--set {name}" for name in chat]
    idle += [f"--{name}" for name, value in (("base-url", choice.base_url), ("record", choice.record)) if value]
    if idle:
        raise UserError(
            f"{idle[0]} is a chat model's, and a parser makes the facts: name a model with --model, or leave it out."
        )
    return False


def _cutoffs(
    names: Sequence[str],
    config: RunConfig,
    options: ScifiOptions,
    threshold: str | None,
    calibrations: Sequence[Path],
) -> dict[str, Cutoff]:
    """How each backend's scores become values of facts: as they are (a soft cut-off), or decided at a threshold."""
    check_names(config)
    given = read_thresholds(threshold, names)
    found = {}
    for name in names:
        metric = load_judge(name, config)
        card = metric.card
        graded = (card.low, card.high, card.direction) == _GRADED
        as_it_is = options.entailment == "probability" or (options.entailment == "auto" and graded)
        if name not in given and not calibrations and as_it_is:
            cutoff = Cutoff(None, "as it is")
        else:
            cutoff = find_cutoff(name, metric, given, calibrations)
        if cutoff.value is None and options.entailment == "binary":
            raise UserError(f"entailment=binary decides at a threshold, and {name!r} is given none: leave out one.")
        if cutoff.value is None and not graded:
            raise UserError(
                f"A fact's value is a score from 0 to 1, and {name!r} gives others: give it a threshold (--threshold "
                f"{name}=X), or leave entailment at auto."
            )
        found[name] = cutoff
    return found
