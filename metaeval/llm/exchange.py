"""What is sent to a chat model and what comes back: prompts, requests, the JSON forms of replies, replies, failures."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, Literal, TypeVar

from metaeval.errors import UserError
from metaeval.files import canonical_json
from metaeval.llm.endpoint import Cause
from metaeval.reading import MalformedError, parse_json, read_text

_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Prompt:
    """A text with places such as {statement}."""

    text: str

    @property
    def fingerprint(self) -> str:
        """First 12 hex digits of the text's SHA-256: which wording it was."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def fill(self, **values: str) -> str:
        """The text with its places filled; braces inside a value, and places that are not named, stay as they are."""
        return _PLACE.sub(lambda match: values.get(match[1], match[0]), self.text)


def quoted(value: Any) -> str:
    """A value as JSON, for a place in a prompt: no text can end before its end and go on as an instruction."""
    return json.dumps(value, ensure_ascii=False)


def read_prompt(path: Path, places: tuple[str, ...]) -> Prompt:
    """Read a prompt of the user's own; raises `UserError` when a place is missing."""
    prompt = Prompt(read_text(path).rstrip("\n"))
    missing = [place for place in places if f"{{{place}}}" not in prompt.text]
    if missing:
        needed = " and ".join(f"{{{place}}}" for place in missing)
        raise UserError(
            f"{path}: the prompt lacks the placeholder {needed}: write {needed} where its text should be inserted."
        )
    return prompt


CHARACTERS_PER_TOKEN = 4
"""For estimates alone: English prose has about four characters a token."""


@dataclass(frozen=True)
class ChatRequest:
    """The JSON body that is sent, and the number of the sample that this is of it (0, 1, ...).

    attempt: 1 where the reply to attempt 0 could not be read and is asked for again; each attempt's reply is kept.
    """

    body: Mapping[str, Any]
    sample: int = 0
    attempt: int = 0
    form: Mapping[str, Any] | None = field(default=None, compare=False)
    """The `response_format` that a reply should keep to, be it sent or only described in the prompt."""
    loose: bool = field(default=False, compare=False)
    """Whether the form may be left out where the endpoint refuses it."""

    @property
    def plain(self) -> ChatRequest:
        """The request without a form that the server holds the model to."""
        return replace(self, body={name: value for name, value in self.body.items() if name != "response_format"})

    @cached_property
    def content(self) -> bytes:
        """The body as it is sent; half a surrogate pair, which no UTF-8 can hold, is sent as a question mark."""
        return canonical_json(self.body).encode("utf-8", "replace")

    def key(self, server: str) -> bytes:
        """32 bytes that stand for everything that was sent, and where to: an address, or a name for servers."""
        named = [server, self.sample, *([self.attempt] if self.attempt else [])]
        digest = hashlib.sha256(canonical_json(named).encode("utf-8", "replace"))
        digest.update(self.content)
        return digest.digest()

    def settings(self, server: str) -> str:
        """What was sent but for the messages, and where to, as JSON: what a server takes or refuses for every text."""
        return canonical_json([server, {name: value for name, value in self.body.items() if name != "messages"}])

    @property
    def likely_tokens_in(self) -> int:
        """Input tokens, estimated from the number of characters."""
        return ceil(sum(len(message["content"]) for message in self.body["messages"]) / CHARACTERS_PER_TOKEN)

    @property
    def most_tokens_in(self) -> int:
        """Input tokens at the very worst: no tokenizer makes more than one of a byte."""
        # 64 is more than any chat template adds around one message.
        return 64 + sum(len(message["content"].encode("utf-8", "replace")) for message in self.body["messages"])

    @property
    def most_tokens_out(self) -> int:
        """The limit on output tokens that the body sets."""
        return int(self.body.get("max_tokens") or self.body.get("max_completion_tokens") or 0)


_FENCE = "```"
_TYPES: Mapping[str, Any] = {"string": str, "integer": int, "number": int | float}


def object_schema(**properties: Any) -> dict[str, Any]:
    """The schema of an object that has exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def reply_form(name: str, **properties: Any) -> dict[str, Any]:
    """The `response_format` of a chat request whose reply the server holds to the schema of these properties."""
    schema = object_schema(**properties)
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def keeps(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a JSON value keeps to a schema to the letter: types, enumerations, arrays and objects of these.

    Stricter than JSON Schema in one point: 2.0 is not an integer. An empty schema allows everything.
    """
    kind = schema.get("type", "")
    if kind == "object":
        properties = schema["properties"]
        return (
            isinstance(value, dict)
            and value.keys() == properties.keys()
            and all(keeps(value[name], property_schema) for name, property_schema in properties.items())
        )
    if kind == "array":
        return isinstance(value, list) and all(keeps(element, schema["items"]) for element in value)
    if kind in _TYPES and (isinstance(value, bool) or not isinstance(value, _TYPES[kind])):
        return False
    return "enum" not in schema or value in schema["enum"]


def read_object(text: str, form: Mapping[str, Any], any_entries: bool = False) -> dict[str, Any] | None:
    """The JSON object that a text is, bare or as one block of code, where it keeps to a `response_format`; or None.

    An object that names a field twice, at whatever depth, is malformed: which of both words was meant nobody can tell.
    any_entries: a list is a list, whatever it holds; its entries are judged one by one, by their reader.
    """
    schema = form["json_schema"]["schema"]
    if any_entries:
        properties = {
            name: {"type": "array", "items": {}} if property_schema.get("type") == "array" else property_schema
            for name, property_schema in schema["properties"].items()
        }
        schema = {**schema, "properties": properties}
    try:
        body: dict[str, Any] = parse_json(_unfenced(text), lone_surrogates=True)
    except MalformedError:
        return None
    return body if keeps(body, schema) else None


def is_malformed(request: ChatRequest, answer: Reply | Failure) -> bool:
    """Whether a reply as a whole does not keep to the form that its request has; never for a request without one."""
    if request.form is None or isinstance(answer, Failure):
        return False
    return not answer.whole or read_object(answer.content, request.form, any_entries=True) is None


def _unfenced(text: str) -> str:
    """The content of a block of code with fences on lines of their own; any other text unchanged."""
    block = text.strip()
    if len(block) < 2 * len(_FENCE) or not block.startswith(_FENCE) or not block.endswith(_FENCE):
        return text
    opening, _, body = block[len(_FENCE) : -len(_FENCE)].partition("\n")
    own_line = body.rstrip(" \t").endswith("\n")
    return body if opening.rstrip() in ("", "json") and own_line else text


@dataclass(frozen=True, slots=True)
class Reply:
    """One chat completion. tokens_in and tokens_out are the server's own count, None where it gives none that can be.

    `logprobs` is the list of output tokens with their log-probabilities; empty unless the request asked for them and
    the server gives them. `raw` is the body as it came.
    """

    raw: str
    content: str
    finish_reason: str
    refusal: str
    model: str
    fingerprint: str
    tokens_in: int | None
    tokens_out: int | None
    logprobs: Sequence[Mapping[str, Any]]

    @property
    def whole(self) -> bool:
        """Whether the reply is complete: no refusal, nothing filtered, not cut at the token limit."""
        cut = self.finish_reason in ("length", "content_filter")
        return bool(self.content.strip()) and not self.refusal and not cut


def read_reply(raw: str) -> Reply:
    """Read the body of a chat completion.

    Raises `ValueError` for a body that is not a chat completion: not JSON, no choice, a message without text.
    """
    try:
        body = parse_json(raw, lone_surrogates=True, long_integers=True)
        choice = body["choices"][0]
        message = choice["message"]
        usage = body.get("usage") or {}
        logprobs = choice.get("logprobs") or {}
        content = message.get("content")  # a text, which some servers cut into parts
        parts = [part["text"] for part in content] if isinstance(content, list) else [content]
        reply = Reply(
            raw=raw,
            content="".join(map(_text, parts)),
            finish_reason=_text(choice.get("finish_reason")),
            refusal=_text(message.get("refusal")),
            model=_text(body.get("model")),
            fingerprint=_text(body.get("system_fingerprint")),
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
            logprobs=logprobs.get("content") or (),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a chat completion ({type(error).__name__}: {error})") from error
    return reply


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where text should be")
    return value


def _count(value: Any) -> int | None:
    # No request reads or writes a billion; a higher count is a server's mistake.
    return value if type(value) is int and 0 <= value <= 10**9 else None


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that got no reply, however often it was sent: the last fault's cause, and what was said."""

    cause: Cause
    detail: str


Answer = Reply | Failure

Ask = Callable[[Sequence[ChatRequest]], Sequence[Answer]]
"""Requests to their answers, in order: a chat session, or a replay."""


Trouble = Literal["unparsed", "failed", "too long"]
"""Why a request gave nothing: the reply was malformed, there was no reply, or the request was refused as too long."""


State = Literal["read"] | Trouble
"""Outcome of a request."""

T = TypeVar("T")


def text_of(answer: Answer) -> tuple[str | None, Trouble | None]:
    """The text of a complete reply, or why there is none; the other of the two is None."""
    if isinstance(answer, Failure):
        return None, "too long" if answer.cause is Cause.TOO_LONG else "failed"
    return (answer.content, None) if answer.whole else (None, "unparsed")


def read_answer(answer: Answer, read: Callable[[str], T | None]) -> tuple[T | None, State]:
    """What `read` makes of the text of an answer (None: malformed), and the outcome of the request."""
    text, trouble = text_of(answer)
    value = None if text is None else read(text)
    return (None, trouble or "unparsed") if value is None else (value, "read")
