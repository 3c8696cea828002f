"""Options of chat models, and the sources of their replies: a server, the reply store, or a file of recorded replies.

Such a file holds every distinct request as it was sent and its reply as it was received, one JSON object per line, so
that a whole run can be repeated without the model. A failed request has its failure in place of a reply.

    {"request": {"model": ..., "messages": [...], ...}, "sample": 0, "reply": {"choices": [...], ...}}
    {"request": {...}, "sample": 0, "failure": {"cause": "refused", "detail": "..."}}
"""

from __future__ import annotations

import importlib.util
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from metaeval.core.errors import RequestsWritten, UserError, install_extra
from metaeval.core.files import canonical_json, write_text
from metaeval.core.parsing import parse_json
from metaeval.corpus.data_rows import DataRow, read_rows
from metaeval.llm.batch_files import BatchSession, open_session, write_batch
from metaeval.llm.budget import Estimate, estimate
from metaeval.llm.endpoint import ENDPOINT_OPTIONS, PASSING, Cause, EndpointError, ModelOptions
from metaeval.llm.messages import Answer, Ask, ChatRequest, Failure, Reply, is_malformed, read_reply
from metaeval.llm.reply_store import ReplyStore, replies_path

if TYPE_CHECKING:
    from metaeval.llm.chat_client import ChatSession

_log = logging.getLogger(__name__)

_HINT = "name a file that --record wrote"


def recording(ask: Ask, path: Path) -> Ask:
    """Return a function that asks as `ask` does, and records each distinct request and its latest outcome in a file.

    Each call rewrites the file with all requests so far, in the order in which they were first asked; the first call
    replaces an existing file.
    """
    lines: dict[bytes, str] = {}

    def asked(requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        answers = ask(requests)
        for request, answer in zip(requests, answers, strict=True):
            kept: dict[str, Any] = {"request": request.body, "sample": request.sample}
            if isinstance(answer, Failure):
                kept["failure"] = {"cause": str(answer.cause), "detail": answer.detail}
            else:
                kept["reply"] = parse_json(answer.raw, lone_surrogates=True)
            lines[request.key("")] = canonical_json(kept | ({"attempt": request.attempt} if request.attempt else {}))
        write_text(path, "".join(f"{line}\n" for line in lines.values()))
        return answers

    return asked


class Replay:
    """A source of replies that takes them from a file of recorded replies.

    Creating it raises `UserError` for a file that cannot be read, calling it for a request that was not recorded.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = dict(map(_recorded, read_rows(path, _HINT, lone_surrogates=True)))

    def fitted(self, requests: Sequence[ChatRequest]) -> Sequence[ChatRequest]:
        """Return the requests, without the optional schema where a request was recorded only without it."""
        kept = self._kept
        return [
            each.plain if each.loose and each.key("") not in kept and each.plain.key("") in kept else each
            for each in requests
        ]

    def note(self) -> str:
        """Return the line "replies from PATH"."""
        return f"replies from {self._path}"

    def ask(self, requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        """Return the recorded reply or failure of each request, in order."""
        if missing := sum(request.key("") not in self._kept for request in requests):
            held = f"{self._path} holds no reply to {missing:,} of {len(requests):,} requests: give the model, prompt,"
            raise UserError(f"{held} options and input of then, or leave --replay out to ask the model again.")
        return [self._kept[request.key("")] for request in requests]


def replayed_model(path: Path) -> str:
    """Return the name of the model in the first request of a file of replies; raises `UserError` for an empty file."""
    for row in read_rows(path, _HINT, lone_surrogates=True):
        return row.row("request").text("model")
    raise UserError(f"{path} holds no recorded replies: name the model with --model, or record the file again.")


def _recorded(row: DataRow) -> tuple[bytes, Answer]:
    """Return the key of a recorded request, and its reply or failure."""
    attempt = row.number("attempt") if "attempt" in row.fields else 0
    try:
        key = ChatRequest(row.row("request").fields, row.number("sample"), attempt).key("")
    except ValueError as error:  # a number that is not finite
        raise row.error("request", "an object that JSON can hold") from error
    if "failure" in row.fields:
        failure = row.row("failure")
        cause = failure.choice("cause", {str(cause): cause for cause in Cause})
        return key, Failure(cause, failure.optional_text("detail"))
    try:
        return key, read_reply(canonical_json(row.row("reply").fields))
    except ValueError as error:
        raise UserError(f"{row.where}: the reply is {error}; record the file again.") from error


# How replies in JSON are obtained: the prompt alone asks for JSON (json), or the server enforces a schema too.
ReplyForm = Literal["json", "json_schema"]
Output = Literal["auto", "json", "json_schema", "text"]

_OURS = frozenset(
    "model messages stream n temperature top_p max_tokens max_completion_tokens seed response_format".split()
)


def checked_extra(extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return `extra` (more fields of a request's body) unchanged; ValueError for a field that metaeval itself sets."""
    if taken := sorted(_OURS & extra.keys()):
        raise ValueError(f"extra may not set {', '.join(taken)}, which metaeval sets itself: leave it out of extra")
    return extra


def chat_request(
    options: Any,
    content: str,
    form: dict[str, Any] | None = None,
    max_tokens: int | None = None,
    repairs: bool = False,
) -> ChatRequest:
    """Return the request that sends one message, `content`, to the chat model.

    options: a `ChatOptions`, or an object with its fields. form: the `response_format` that a reply should match: sent
    if `options.output` is auto or json_schema, only kept with the request if it is json, dropped for every other value
    (None: any reply will do). max_tokens: limit of the reply in place of the option's (None: the option's). repairs:
    whether the reply is repaired when it is read.
    """
    sampling = {"temperature": options.temperature, "top_p": options.top_p, "seed": options.seed}
    form = None if options.output == "text" else form
    body: dict[str, Any] = {"model": options.model, options.max_tokens_name: max_tokens or options.max_tokens}
    body |= {name: value for name, value in sampling.items() if value is not None}
    if form is not None and options.output in ("auto", "json_schema"):
        body["response_format"] = form
    messages = [{"role": options.role, "content": content}]
    loose = form is not None and options.output == "auto"
    return ChatRequest({**body, **options.extra, "messages": messages}, form=form, loose=loose, repairs=repairs)


class ChatOptions(ModelOptions):
    """The chat model, its servers, and the settings of a request; those of `EndpointOptions` cannot change a reply."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    """Sampling temperature (none: the server's own)."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Nucleus sampling (none: the server's own)."""
    seed: int | None = None
    """Seed that is sent with each request (none: no seed)."""
    max_tokens: Annotated[int, Field(ge=1)] = 1024
    """Most tokens in a reply, reasoning included; a reply that reaches it is unparsed."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name under which the limit is sent; some models refuse max_tokens."""
    output: Output = "auto"
    """Form of the reply: json_schema (the server holds the model to a schema), json (the prompt alone asks for JSON),
    auto (json_schema, and json where the server refuses it or replies in that form are kept), or text (plain text,
    as papers' own prompts ask for)."""
    role: Literal["user", "system"] = "user"
    """Role of the one message that is sent."""
    extra: Annotated[dict[str, JsonValue], AfterValidator(checked_extra)] = Field(default_factory=dict)
    """Further fields of the request's body."""
    ask_again: Literal["unparsed"] | None = None
    """Replies that are asked for once more: unparsed (those out of form; the first is kept, and both count), or
    none."""

    def identity(self) -> dict[str, Any]:
        """Return the options that are set and can change a reply, by name, for a signature; temperature even if None.

        The server's address is left out: a file of replies does not hold it, and a replay has to give the same
        signature as the run.
        """
        values: dict[str, Any] = self.model_dump(mode="json", exclude={"base_url", "server", *ENDPOINT_OPTIONS})
        return {name: value for name, value in values.items() if value not in (None, {}) or name == "temperature"}


# Called while the model replies with "asking MODEL" (and ", round 2" in the second batch of requests, and so on), the
# number of requests of the batch that are done, and the number of requests in the batch.
ChatProgress = Callable[[str, int, int], None]


class Chat:
    """A source of replies: a chat model, or a file of recorded replies.

    heard: the reply or failure that was used for each request so far, in the requests' order. superseded: of each
    request that was sent twice (`ask_again`), the outcome that was not used.
    """

    def __init__(self, source: Replay | _Asker, options: ChatOptions, record: Path | None = None) -> None:
        self._source, self._ask_again = source, options.ask_again
        self._ask = recording(source.ask, record) if record else source.ask
        self.heard: list[Answer] = []
        self.superseded: list[Answer] = []
        self._read = 0
        self._form: ReplyForm | None = None

    def ask(self, requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        """Return the reply or failure of each request, in order.

        With ask_again="unparsed", a request with a malformed reply is sent twice; the second is used if well-formed.
        """
        loose = [request.loose for request in requests]
        requests = self._source.fitted(requests)
        if self._form is None and any(loose):
            self._form = "json_schema" if "response_format" in requests[loose.index(True)].body else "json"
        answers = list(self._ask(requests))
        bad = [place for place, pair in enumerate(zip(requests, answers, strict=True)) if is_malformed(*pair)]
        if bad and self._ask_again == "unparsed":
            second = [replace(requests[place], attempt=1) for place in bad]
            for place, request, answer in zip(bad, second, self._ask(second), strict=True):
                taken = isinstance(answer, Reply) and not is_malformed(request, answer)
                self.superseded.append(answers[place] if taken else answer)
                answers[place] = answer if taken else answers[place]
                self._read += taken
        self.heard.extend(answers)
        return answers

    def note(self) -> str:
        """Return one line for the screen: number, cost and errors of the replies (of a file: its path only)."""
        again = f"; {len(self.superseded):,} unparsed replies asked for again, {self._read:,} of them read then"
        return self._source.note() + (again if self.superseded else "")

    def settled(self, options: ChatOptions) -> ChatOptions:
        """Return the options, with output="auto" replaced by the form in use ("json_schema" before any request)."""
        form = self._form or "json_schema"
        return options.model_copy(update={"output": form}) if options.output == "auto" else options

    @property
    def models(self) -> list[str]:
        """The model names in the replies, sorted."""
        return sorted({answer.model for answer in self.heard if isinstance(answer, Reply) and answer.model})


@contextmanager
def open_chat(
    options: ChatOptions,
    record: Path | None = None,
    replay: Path | None = None,
    progress: ChatProgress | None = None,
    requests: Path | None = None,
) -> Iterator[Chat]:
    """Open a source of replies for the length of the block, and log what they cost; the budget is for all in it.

    Every reply is kept in the reply store as it arrives: an interrupted run continues where it stopped, and a run with
    all replies in the store needs no key, no server, and none of the client's packages. record: also write all requests
    and outcomes to this file. replay: take all outcomes from such a file, and ignore record and requests. requests:
    send nothing; the first call of `ask` with requests that lack a reply writes these to this file as a batch, and
    raises `RequestsWritten`.

    Raises `UserError` for one price without the other, a budget without prices, and a file that cannot be replayed;
    asking raises it without a key, for missing packages, and where continuing is pointless (see `ChatClient.ask`).
    """
    _ = options.prices  # validates the prices before anything is read or asked
    if replay is not None:
        chat = Chat(Replay(replay), options)
        yield chat
        _log.info("%s: %s", options.model, chat.note())
        return
    with ReplyStore(replies_path(options.replies)) as store:
        asker = _Asker(options, store, progress, requests)
        chat = Chat(asker, options, record)
        try:
            yield chat
            _log.info("%s: %s", options.model, chat.note())
        finally:
            if asker.session is not None:
                asker.session.close()


def estimate_for(requests: Iterable[ChatRequest], options: ChatOptions) -> Estimate:
    """Return the estimated cost of the requests that lack a stored reply; sends nothing, and needs no key."""
    with ReplyStore(replies_path(options.replies)) as store:
        listed = list(requests)
        first = next((request for request in listed if request.loose), None)
        form = None if first is None else _known_form(first, options.server_name, store)
        listed = [each.plain if each.loose and form == "json" else each for each in listed]
        return estimate(listed, options.server_name, store, options.prices)


def _known_form(request: ChatRequest, server: str, store: ReplyStore) -> ReplyForm | None:
    """Return the form of stored replies to requests with these settings: json_schema if both occur, None if neither."""
    if store.knows(request.settings(server)):
        return "json_schema"
    return "json" if store.knows(request.plain.settings(server)) else None


def reply_texts(answers: Iterable[Answer]) -> list[str]:
    """Return the text of each reply, malformed ones included; failures are left out."""
    return [answer.content for answer in answers if isinstance(answer, Reply)]


MONEY = "USD for these replies"


def tokens_and_cost(answers: Iterable[Answer], options: ChatOptions) -> dict[str, float | None]:
    """Return the tokens and the cost of replies as the server counted, by their names in tables of counts.

    Replies that earlier runs stored count too; failures are left out. The cost is None without prices, and where a
    reply lacks a count of tokens.
    """
    replies = [answer for answer in answers if isinstance(answer, Reply)]
    tokens_in = sum(reply.tokens_in or 0 for reply in replies)
    tokens_out = sum(reply.tokens_out or 0 for reply in replies)
    uncounted = sum(reply.tokens_in is None or reply.tokens_out is None for reply in replies)
    return {
        "tokens in": tokens_in,
        "tokens out": tokens_out,
        "replies without a count of tokens": uncounted,
        MONEY: None if options.prices is None or uncounted else options.prices.cost(tokens_in, tokens_out),
    }


class _Asker:
    """A source of replies that opens a chat session only when a request has no stored reply.

    requests: file to which such requests are written instead of being sent (None: they are sent).
    """

    def __init__(
        self, options: ChatOptions, store: ReplyStore, progress: ChatProgress | None, requests: Path | None
    ) -> None:
        self._options, self._store, self._progress, self._requests = options, store, progress, requests
        self.session: ChatSession | BatchSession | None = None
        self._kept = self._rounds = 0
        self._form: ReplyForm | None = None

    def ask(self, requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        keys = [request.key(self._options.server_name) for request in requests]
        replies = [reply for reply in map(self._store.find, keys) if reply is not None]
        if len(replies) == len(requests):
            self._kept += len(replies)
            return replies
        if self._requests is not None:
            if self._options.batch is not None:  # its replies are stored first
                self._open().ask(requests)
            contents = {key: request.content for key, request in zip(keys, requests, strict=True)}
            if left := {key.hex(): content for key, content in contents.items() if not self._store.has(key)}:
                raise RequestsWritten(write_batch(self._requests, left))
        session = self._open()
        self._rounds += 1
        name = f"asking {self._options.model}" + (f", round {self._rounds}" if self._rounds > 1 else "")
        progress = partial(self._progress, name) if self._progress else None
        if progress:
            progress(0, len(requests))
        return session.ask(requests, progress)

    def fitted(self, requests: Sequence[ChatRequest]) -> Sequence[ChatRequest]:
        """Return the requests; all without their optional schemas if stored replies came so, or the server refuses.

        Where no reply is stored, the first request with an optional schema is sent to find out.
        """
        first = next((request for request in requests if request.loose), None)
        if first is not None and self._form is None:
            self._form = _known_form(first, self._options.server_name, self._store) or self._tried(first)
        return [each.plain if each.loose and self._form == "json" else each for each in requests]

    def _tried(self, request: ChatRequest) -> ReplyForm:
        """Return the form of replies that the endpoint supports: json if it refuses this request with its schema.

        Nothing is sent where requests are written to a file, or a batch is read: json then only if the batch holds the
        request without its schema alone.
        """
        if self._requests is not None or self._options.batch is not None:
            session = None if self._options.batch is None else self._open()
            plain = isinstance(session, BatchSession) and session.holds(request.plain) and not session.holds(request)
            return "json" if plain else "json_schema"
        session = self._open()
        form: ReplyForm = "json_schema"
        try:
            (answer,) = session.ask([request])
        except EndpointError as error:
            if error.cause not in (Cause.REFUSED, *PASSING):
                raise
            answer, form = Failure(error.cause, str(error)), "json" if error.cause is Cause.REFUSED else "json_schema"
        if isinstance(answer, Reply):
            session.ledger.stored -= 1  # the run below takes it from the store and counts it again
        else:  # it is asked again, with the others or without its schema, and counted there
            session.ledger.failed -= Counter([answer.cause])
        return form

    def note(self) -> str:
        if self.session is None:
            return f"0 replies asked for, {self._kept:,} from the reply store"
        return self.session.note() + (f"; {self._kept:,} more from the reply store" if self._kept else "")

    def _open(self) -> ChatSession | BatchSession:
        if self.session is None:
            missing = [name for name in ("openai", "aiohttp") if importlib.util.find_spec(name) is None]
            if missing and self._options.batch is None:
                held = f"Requests to a chat model need the packages {', '.join(missing)}"
                raise UserError(f"{held}, which are not installed here: type {install_extra('llm')}.")
            self.session = open_session(self._options, self._store)
        return self.session


_CUT = "cut at the token limit"


def why_unread(answers: Sequence[Answer], max_tokens: int) -> str:
    """Return the end of an error about unreadable replies: how many there are by cause, how one begins, what to do.

    answers: the replies and failures. max_tokens: the limit of the requests, which is advised to be raised only if a
    reply reached it.
    """

    def ended(answer: Answer) -> str:
        if isinstance(answer, Failure):
            return "refused as too long" if answer.cause is Cause.TOO_LONG else "failed"
        if answer.finish_reason == "length":
            return _CUT
        if answer.refusal or answer.finish_reason == "content_filter":
            return "refused by the model or a filter"
        return "malformed" if answer.content.strip() else "without a text"

    causes = Counter(map(ended, answers))
    came = ", ".join(f"{times:,} {name}" for name, times in causes.items())
    words = next((" ".join(text.split()) for text in reply_texts(answers) if text.strip()), "")
    begins = f"; the first reply begins {words if len(words) <= 40 else words[:40] + '...'!r}" if words else ""
    higher = f"set max_tokens higher (-s chat.max_tokens={2 * max_tokens}), or " if causes[_CUT] else ""
    return f"{came}{begins}; {higher}ask another model (--model NAME)"
