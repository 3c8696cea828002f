"""Who answers CiteEval's questions: a chat model at an address, or replies in a file; and what --set says of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

from metaeval.citation.citeeval.asking import Ask, Asking
from metaeval.citation.citeeval.options import CiteEvalOptions
from metaeval.citation.citeeval.replay import recording, replaying
from metaeval.config import RunConfig, load_run
from metaeval.corpus.loaders.rows import read_rows
from metaeval.errors import UserError, did_you_mean
from metaeval.experiment.metrics import load_metric, plug_in
from metaeval.experiment.scoring import check_metric

CHAT = "llm-discrete"
"""The registered metric whose endpoint, key, prices and reply store are used; its own prompt is not."""

_ENDPOINT = frozenset(
    "base_url api_key_env replies concurrency requests_per_minute timeout retries backoff price_in price_out".split()
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chat:
    """A model at an address, or the replies in a file. record: where the replies are kept for a replay."""

    model: str | None = None
    base_url: str | None = None
    record: Path | None = None
    replay: Path | None = None


@dataclass(frozen=True)
class Given:
    """What --set gave, by whose it is; chat and run, of the endpoint and of the run, are still to be read."""

    asking: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    chat: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Prices:
    """USD per million tokens, read and written."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """USD for so many tokens."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


def sort_settings(overrides: Sequence[str]) -> Given:
    """Overrides (key=value) by whose they are. Raises `UserError` for a value of the wrong kind."""
    given = Given()
    for override in overrides:
        name = override.partition("=")[0].strip()
        if name in Asking.__dataclass_fields__:
            given.asking[name] = _value(Asking, override)
        elif name in CiteEvalOptions.__dataclass_fields__:
            given.options[name] = _value(CiteEvalOptions, override)
        elif name in _ENDPOINT:
            given.chat.append(f"metric_options.{CHAT}.{override.strip()}")
        elif name.partition(".")[0] in RunConfig.model_fields or not name:
            given.run.append(override)
        else:
            known = [*Asking.__dataclass_fields__, *CiteEvalOptions.__dataclass_fields__, *_ENDPOINT]
            raise UserError(
                f"Unknown setting {name!r} in --set.{did_you_mean(name, [*known, *RunConfig.model_fields])}"
            )
    return given


def _value(owner: type, override: str) -> Any:
    """What a field of a dataclass is set to, read as YAML and checked against the field's type."""
    name, _, text = override.partition("=")
    try:
        return TypeAdapter(get_type_hints(owner)[name.strip()]).validate_python(yaml.safe_load(text))
    except ValidationError as error:
        allowed = error.errors()[0]["msg"].removeprefix("Input should be ")
        raise UserError(f"--set {override}: {name.strip()} should be {allowed}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"--set {override}: the value is not YAML; text is safe in quotes, 'like this'.") from error


def model_of(chat: Chat, given: Given) -> str:
    """The model that was named, else the one that the file of replies was recorded with; `UserError` without either."""
    if named := chat.model or given.asking.get("model"):
        return str(named)
    if chat.replay is None:
        raise UserError(
            "A chat model judges, and none is named: type --model NAME (with export OPENAI_API_KEY=..., or --base-url "
            "http://HOST:PORT/v1 for a server of your own), or --replay FILE for replies that --record FILE kept."
        )
    first = next(read_rows(chat.replay), None)
    if first is None:
        raise UserError(f"{chat.replay} holds no replies: name the model with --model, or record the file again.")
    return first.row("request").text("model")


@contextmanager
def answering(chat: Chat, model: str, given: Given, budget: float | None) -> Iterator[tuple[Ask, Prices | None]]:
    """What answers the requests, and the prices where they are known; a session is closed behind the block.

    Raises `UserError` for a wrong address or option, no key, missing packages, and a file that cannot be replayed.
    """
    if chat.record is not None and chat.replay is not None:
        raise UserError("Replies are recorded or replayed: give --record or --replay, not both.")
    endpoint = {"model": model, **({"base_url": chat.base_url} if chat.base_url else {})}
    config = load_run(None, {"budget": budget, "metric_options": {CHAT: endpoint}}, given.chat)
    judge: Any = load_metric(CHAT, config)
    price_in, price_out = judge.options.price_in, judge.options.price_out
    prices = None if price_in is None or price_out is None else Prices(price_in, price_out)
    if chat.replay is not None:
        yield replaying(chat.replay), prices
        return
    check_metric(CHAT, config)
    with plug_in(CHAT):
        judge.prepare((), ())
        session = judge.session  # of the metric nothing else is used: the prompt here is CiteEval's own
    try:
        yield (recording(session.ask, chat.record) if chat.record else session.ask), prices
        _log.info("%s: %s", model, session.ledger.note())
    finally:
        session.close()
