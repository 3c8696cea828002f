"""Who answers: a chat model at an address, what it said in earlier runs, or a file of its replies."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.citation.chat.ask import Ask
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.chat.replay import recording, replaying
from metaeval.errors import UserError
from metaeval.llm.answer import Answer
from metaeval.llm.budget import Estimate, Prices, Purse, estimate, prices_of
from metaeval.llm.endpoint import open_endpoint
from metaeval.llm.replies import ReplyStore, replies_path
from metaeval.llm.reply import Reply
from metaeval.llm.request import ChatRequest

if TYPE_CHECKING:
    from metaeval.llm.session import ChatSession

Progress = Callable[[str, int, int], None]
"""What is told while the model answers: "asking MODEL" (and ", round 2" of what is asked next), requests answered so
far, and how many there are."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of some replies, as the server counted them; uncounted: replies of which it did not say."""

    tokens_in: int = 0
    tokens_out: int = 0
    uncounted: int = 0


@dataclass(frozen=True)
class Chat:
    """Somebody who answers. note: what asking took so far, in a line. heard: every answer, in the requests' order.

    prices: None where they are not known.
    """

    ask: Ask
    note: Callable[[], str]
    prices: Prices | None
    heard: list[Answer] = field(default_factory=list)

    @property
    def models(self) -> list[str]:
        """The names that the replies came under, sorted."""
        return sorted({answer.model for answer in self.heard if isinstance(answer, Reply) and answer.model})


@contextmanager
def open_chat(
    options: ChatOptions, record: Path | None = None, replay: Path | None = None, progress: Progress | None = None
) -> Iterator[Chat]:
    """Somebody who answers, for the length of the block; the budget is for all that is asked in it.

    Every reply is kept in the reply store as it comes: a run that was cut off goes on where it was, and one whose
    replies are all there needs no key, no server, and not the client's packages. record: what came of all requests is
    also kept in this file. replay: the answers come from such a file, and nothing else is looked at.

    Raises `UserError` for one price without the other, a budget without prices, both files at once, and a file that
    cannot be replayed; asking raises it where there is no key, where packages are missing, and where going on is
    pointless (see `ChatClient.ask`).
    """
    if record is not None and replay is not None:
        raise UserError("Replies are recorded or replayed: give --record or --replay, not both.")
    prices = prices_of(options.price_in, options.price_out, options.budget)
    if replay is not None:
        yield _listening(replaying(replay), lambda: f"replies from {replay}", prices)
        return
    store = ReplyStore(replies_path(options.replies))
    asker = _Asker(options, store, Purse(prices, options.budget), progress)
    try:
        yield _listening(recording(asker.ask, record) if record else asker.ask, asker.note, prices)
    finally:
        asker.close()
        store.close()


def estimate_for(requests: Iterable[ChatRequest], options: ChatOptions) -> Estimate:
    """What asking these would still cost; sends nothing, and needs no key."""
    store = ReplyStore(replies_path(options.replies))
    try:
        prices = prices_of(options.price_in, options.price_out, options.budget)
        return estimate(requests, options.base_url, store, prices)
    finally:
        store.close()


def cost_of(spent: Spent, options: ChatOptions) -> float | None:
    """USD of the replies when they were asked for; None where prices, or counts of tokens, are not known."""
    if options.price_in is None or options.price_out is None or spent.uncounted:
        return None
    return Prices(options.price_in, options.price_out).cost(spent.tokens_in, spent.tokens_out)


def spent_on(answers: Iterable[Answer]) -> Spent:
    """Tokens of the replies among some answers, be they asked for in this run or kept from another."""
    replies = [answer for answer in answers if isinstance(answer, Reply)]
    return Spent(
        sum(reply.tokens_in or 0 for reply in replies),
        sum(reply.tokens_out or 0 for reply in replies),
        sum(reply.tokens_in is None or reply.tokens_out is None for reply in replies),
    )


def _listening(ask: Ask, note: Callable[[], str], prices: Prices | None) -> Chat:
    heard: list[Answer] = []

    def asked(requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        answers = ask(requests)
        heard.extend(answers)
        return answers

    return Chat(asked, note, prices, heard)


class _Asker:
    """The reply store in front of a session, which is opened when something has to be sent."""

    def __init__(self, options: ChatOptions, store: ReplyStore, purse: Purse, progress: Progress | None) -> None:
        self._options, self._store, self._purse, self._progress = options, store, purse, progress
        self._session: ChatSession | None = None
        self._kept = self._rounds = 0

    def ask(self, requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        kept = [self._store.find(request.key(self._options.base_url)) for request in requests]
        found = [reply for reply in kept if reply is not None]
        if len(found) == len(requests):
            self._kept += len(found)
            return found
        self._session = self._session or self._opened()
        progress = self._progress
        if progress is None:
            return self._session.ask(requests)
        self._rounds += 1
        name = f"asking {self._options.model}" + (f", round {self._rounds}" if self._rounds > 1 else "")
        progress(name, 0, len(requests))
        return self._session.ask(requests, lambda done, total: progress(name, done, total))

    def note(self) -> str:
        if self._session is None:
            return f"0 replies asked for, {self._kept:,} from the reply store"
        before = f"; {self._kept:,} more from the reply store" if self._kept else ""
        return f"{self._session.ledger.note()}{before}"

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def _opened(self) -> ChatSession:
        if missing := [name for name in ("openai", "aiohttp") if importlib.util.find_spec(name) is None]:
            raise UserError(
                f"Asking a model needs {', '.join(missing)}, not installed here: type \"pip install 'metaeval[llm]'\"."
            )
        endpoint = open_endpoint(self._options.base_url, self._options.model, self._options.api_key_env)
        from metaeval.llm.session import ChatSession

        return ChatSession(endpoint, self._options.conduct(), self._store, self._purse)
