"""What is sent to a chat model and what comes back: prompts, requests, the JSON forms of replies, replies, failures."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import ceil, exp, inf
from pathlib import Path
from typing import Any, Literal, TypeVar

from metaeval.core.errors import UserError
from metaeval.core.files import canonical_json
from metaeval.core.parsing import MalformedError, parse_json, read_text
from metaeval.llm.endpoint import Cause

_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Prompt:
    """The text of a prompt with placeholders such as {statement}."""

    text: str

    @property
    def fingerprint(self) -> str:
        """Return the first 12 hex digits of the text's SHA-256, which identify the wording."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def fill(self, **values: str) -> str:
        """Return the text with the placeholders filled; braces in values, and other placeholders, are unchanged."""
        return _PLACE.sub(lambda match: values.get(match[1], match[0]), self.text)


def quoted(value: Any) -> str:
    """Return a value as JSON, for a placeholder: a quoted text cannot end early and continue as an instruction."""
    return json.dumps(value, ensure_ascii=False)


def read_prompt(path: Path, places: tuple[str, ...]) -> Prompt:
    """Read a prompt file of the user; raises `UserError` if it lacks a placeholder of the names `places`."""
    prompt = Prompt(read_text(path).rstrip("\n"))
    missing = [place for place in places if f"{{{place}}}" not in prompt.text]
    if missing:
        needed = " and ".join(f"{{{place}}}" for place in missing)
        raise UserError(f"{path}: the prompt lacks {needed}: write {needed} where that text should be inserted.")
    return prompt


@dataclass(frozen=True)
class ChatRequest:
    """A chat request: the JSON body to send, and the number of the sample (0, 1, ...) if several replies are wanted.

    attempt: 1 for a second try after an unreadable reply to attempt 0; the replies of both attempts are kept.
    """

    body: Mapping[str, Any]
    sample: int = 0
    attempt: int = 0
    form: Mapping[str, Any] | None = field(default=None, compare=False)
    """The `response_format` that a reply should keep to, be it sent or only described in the prompt."""
    loose: bool = field(default=False, compare=False)
    """Whether `response_format` may be left out of the body where the endpoint refuses it."""
    repairs: bool = field(default=False, compare=False)
    """Whether the reply is `repaired` when it is read."""

    @property
    def plain(self) -> ChatRequest:
        """Return the request without `response_format` in its body, so that the server enforces no schema."""
        return replace(self, body={name: value for name, value in self.body.items() if name != "response_format"})

    @cached_property
    def content(self) -> bytes:
        """Return the body as bytes to send; half a surrogate pair, which has no UTF-8 form, becomes a question mark."""
        return canonical_json(self.body).encode("utf-8", "replace")

    def key(self, server: str) -> bytes:
        """Return a 32-byte key of everything that is sent, and of the server that it is sent to."""
        return hashlib.sha256(_key_head(server, self.sample, self.attempt) + self.content).digest()

    def settings(self, server: str) -> str:
        """Return server and body without messages as JSON: what a server accepts or refuses whatever the text is."""
        return canonical_json([server, self.frame])

    @property
    def frame(self) -> dict[str, Any]:
        """Return the body without messages."""
        return {name: value for name, value in self.body.items() if name != "messages"}

    @property
    def likely_tokens_in(self) -> int:
        """Return the number of input tokens, estimated: English prose has about four characters a token."""
        return ceil(sum(len(message["content"]) for message in self.body["messages"]) / 4)

    @property
    def most_tokens_in(self) -> int:
        """Return the highest possible number of input tokens: a tokenizer makes at most one token per byte."""
        # 64 is more than any chat template adds around one message.
        return 64 + sum(len(message["content"].encode("utf-8", "replace")) for message in self.body["messages"])

    @property
    def most_tokens_out(self) -> int:
        """Return the limit on output tokens that the body sets; 0 if it sets none."""
        return int(self.body.get("max_tokens") or self.body.get("max_completion_tokens") or 0)


@lru_cache(maxsize=64)
def _key_head(server: str, sample: int, attempt: int) -> bytes:
    """Return the bytes that are hashed before a request's body; an attempt of 0 is left out of them."""
    return canonical_json([server, sample, *([attempt] if attempt else [])]).encode("utf-8", "replace")


_FENCE = "```"
_TYPES: Mapping[str, Any] = {"string": str, "integer": int, "number": int | float}


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object that has exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def reply_form(name: str, **properties: Any) -> dict[str, Any]:
    """Return the `response_format` of a chat request whose reply has to match the schema of these properties."""
    schema = object_schema(**properties)
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def keeps(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether a JSON value matches a schema of types, enumerations, arrays, and objects of required properties.

    Stricter than JSON Schema: 2.0 is not an integer, and no further property is allowed. An empty schema allows all.
    """
    kind = schema.get("type", "")
    if kind == "object":
        properties = schema["properties"]
        has_them = isinstance(value, dict) and value.keys() == properties.keys()
        return has_them and all(keeps(value[name], of_property) for name, of_property in properties.items())
    if kind == "array":
        return isinstance(value, list) and all(keeps(element, schema["items"]) for element in value)
    of_kind = kind not in _TYPES or (isinstance(value, _TYPES[kind]) and not isinstance(value, bool))
    return of_kind and ("enum" not in schema or value in schema["enum"])


def repaired(value: Any, schema: Mapping[str, Any], repairs: Counter[str]) -> Any:
    """Return a JSON value as its schema wants it where that takes no guess, else as it is; count the repairs by kind.

    Repaired are whole numbers as text or with a point (4.0), capitals in names and choices, further fields, and text
    without choices, such as reasoning, that is missing. A field that is there twice but for capitals is not repaired.
    """
    kind = schema.get("type", "")
    if kind == "array" and isinstance(value, list):
        return [repaired(element, schema["items"], repairs) for element in value]
    if kind == "object" and isinstance(value, dict):
        named = {name: [key for key in value if key.strip().lower() == name] for name in schema["properties"]}
        if any(len(keys) > 1 for keys in named.values()):
            return value
        repairs["repaired: further fields"] += len(value) > sum(map(len, named.values()))
        fields = {}
        for name, of_property in schema["properties"].items():
            for key in named[name]:
                fields[name] = repaired(value[key], of_property, repairs)
                repairs["repaired: capitals"] += key != name
            if of_property == {"type": "string"} and not isinstance(fields.get(name), str):
                fields[name] = ""
                repairs["repaired: no reasoning"] += 1
        return fields
    whole = _WHOLE.fullmatch(str(value)) if kind == "integer" and isinstance(value, str | float) else None
    if whole:
        repairs["repaired: number"] += 1
        return int(whole[1])
    choices = {choice.lower(): choice for choice in schema.get("enum", ())} if kind == "string" else {}
    choice = choices.get(value.strip().lower(), value) if isinstance(value, str) else value
    repairs["repaired: capitals"] += choice != value
    return choice


_WHOLE = re.compile(r"\s*([0-9]{1,9})(?:\.0+)?\s*")


def read_object(
    text: str, form: Mapping[str, Any], any_entries: bool = False, repairs: Counter[str] | None = None
) -> dict[str, Any] | None:
    """Parse a JSON object, bare or in one code block, that matches a `response_format`; return None otherwise.

    An object that names a field twice, at whatever depth, is malformed: it is unclear which of the two counts.
    any_entries: do not check the entries of lists, which the caller then checks one by one. repairs: text around the
    object, and reasoning in tags before it, are left out, and it is `repaired`; what was done is counted here.
    """
    schema = form["json_schema"]["schema"]
    if any_entries:
        properties = {
            name: {"type": "array", "items": {}} if property_schema.get("type") == "array" else property_schema
            for name, property_schema in schema["properties"].items()
        }
        schema = {**schema, "properties": properties}
    body: Any = _parsed(_unfenced(text))
    if repairs is not None and not keeps(body, schema):
        if body is None:
            body = _parsed(_object_in(text))
            repairs["repaired: text around the reply"] += body is not None
        body = repaired(body, schema, repairs)
    return body if keeps(body, schema) else None


def _parsed(text: str) -> Any:
    try:
        return parse_json(text, lone_surrogates=True)
    except MalformedError:
        return None


def _object_in(text: str) -> str:
    """Return a text from its first brace to the last, without reasoning in tags; empty if that does not end."""
    spoken = re.split(r"(?i)</think(?:ing)?>", text)[-1]
    start = spoken.find("{")
    return "" if re.search(r"(?i)<think(?:ing)?>", spoken[:start]) else spoken[start : spoken.rfind("}") + 1]


def is_malformed(request: ChatRequest, answer: Reply | Failure) -> bool:
    """Return whether a reply breaks its request's schema, list entries aside, or is refused, filtered, cut or empty.

    False for a failure, for a request without a schema (`form`), and for a reply that is repaired where the request
    says so.
    """
    if request.form is None or isinstance(answer, Failure):
        return False
    repairs = Counter[str]() if request.repairs else None
    return not answer.whole or read_object(answer.content, request.form, any_entries=True, repairs=repairs) is None


def _unfenced(text: str) -> str:
    """Return the content of a code block whose fences are on lines of their own; other text is unchanged."""
    block = text.strip()
    if not block.startswith(_FENCE) or not block.endswith(_FENCE):
        return text
    opening, _, body = block[len(_FENCE) : -len(_FENCE)].partition("\n")
    own_line = body.rstrip(" \t").endswith("\n")
    return body if opening.rstrip() in ("", "json") and own_line else text


_CUT = ("length", "content_filter")  # finish reasons


@dataclass(frozen=True, slots=True)
class Reply:
    """One chat completion. tokens_in, tokens_out: the server's own counts, None if it gives none or impossible ones.

    `logprobs` is the list of output tokens with their log-probabilities; empty unless the request asked for them and
    the server gives them with alternatives, of this text, each of a type and in a range that one can have. `raw` is the
    body as it came, without the key. blank: the message has no text, and nothing in its place, such as a refusal,
    reasoning or a tool call.
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
    blank: bool

    def usable(self, body: Mapping[str, Any]) -> bool:
        """Return whether the reply answers the request with this body, be it without a score.

        It does not if it is whole without the log-probabilities that were asked for, or ended normally and said nothing
        at all: the server did not do its part, and may be repaired.
        """
        lacking = self.whole and body.get("logprobs") and not self.logprobs
        return not (lacking or (self.blank and self.finish_reason not in _CUT))

    @property
    def whole(self) -> bool:
        """Return whether the reply is complete: not empty, not refused, not filtered, not cut at the token limit."""
        return bool(self.content.strip()) and not self.refusal and self.finish_reason not in _CUT


def read_reply(raw: str) -> Reply:
    """Parse the body of a chat completion.

    Of a content in parts, those that are text are read. Raises `ValueError` for a body that is not a chat completion:
    not JSON, no choice, no message.
    """
    try:
        body = parse_json(raw, lone_surrogates=True, long_integers=True)
        choice = body["choices"][0]
        message = choice["message"]
        usage = body.get("usage") or {}
        content = message.get("content")  # a text, or parts, of which some are the model's thoughts or a refusal
        listed = content if isinstance(content, list) else [content]
        parts = [{"text": part} if isinstance(part, str) else part for part in listed if isinstance(part, str | dict)]
        texts = [part.get("text") for part in parts if (part.get("type") or "text") in ("text", "output_text")]
        text = "".join(part for part in texts if isinstance(part, str))
        refusals = [message.get("refusal"), *(part.get("refusal") for part in parts)]
        names = ("tool_calls", "function_call", "reasoning", "reasoning_content", "audio")
        reply = Reply(
            raw=raw,
            content=text,
            finish_reason=_text(choice.get("finish_reason")),
            refusal="".join(str(refusal) for refusal in refusals if refusal),
            model=_text(body.get("model")),
            fingerprint=_text(body.get("system_fingerprint")),
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
            logprobs=_log_probabilities(choice.get("logprobs"), text),
            blank=not (text.strip() or len(texts) < len(parts) or any([*refusals, *map(message.get, names)])),
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


def _log_probabilities(logprobs: Any, text: str) -> Sequence[Mapping[str, Any]]:
    """Return the tokens of a choice's `logprobs`; () if they are of no use.

    They are none where there are none, one has a type or range that none has, no token has an alternative, or the
    tokens do not make up the text.
    """
    with suppress(KeyError, TypeError, AttributeError):
        tokens: list[dict[str, Any]] = logprobs["content"]
        each = ([*(token.get("top_logprobs") or ()), token] for token in tokens)
        chances = [{entry["token"]: _probability(entry) for entry in position} for position in each]
        sound = all(sum(position.values()) <= 1.01 for position in chances)  # rounded
        if isinstance(tokens, list) and sound and any(token.get("top_logprobs") for token in tokens):
            return tokens if text.encode("utf-8", "replace") in b"".join(token_bytes(tokens)) else ()
    return ()


def token_bytes(tokens: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Return the bytes of each output token: those that the server gives, else its text in UTF-8."""
    coded = [(token["token"].encode("utf-8", "replace"), token.get("bytes")) for token in tokens]
    return [text if values is None else bytes(values) for text, values in coded]


def _probability(token: Mapping[str, Any]) -> float:
    """Return the probability of an output token or alternative; infinity where a field has another type or range."""
    chance, encoded = token["logprob"], token.get("bytes")
    is_bytes = isinstance(encoded, list) and all(type(byte) is int and 0 <= byte < 256 for byte in encoded)
    sound = isinstance(token["token"], str) and type(chance) in (int, float) and (encoded is None or is_bytes)
    return exp(chance) if sound and -inf < chance < 1 else inf


def _count(value: Any) -> int | None:
    # No request reads or writes a billion; a higher count is a server's mistake.
    return value if type(value) is int and 0 <= value <= 10**9 else None


@dataclass(frozen=True, slots=True)
class Failure:
    """The result of a request that got no reply. cause: of its last failed attempt. detail: the server's message."""

    cause: Cause
    detail: str


Answer = Reply | Failure  # the result of a chat request

# A function from requests to the reply or failure of each, in order: a chat session's, or that of a replay.
Ask = Callable[[Sequence[ChatRequest]], Sequence[Answer]]


# Why a request gave nothing: a malformed, refused or cut reply; no reply; or the request was refused as too long.
Trouble = Literal["unparsed", "failed", "too long"]


State = Literal["read"] | Trouble  # the outcome of a request: its reply was read, or why not

T = TypeVar("T")


def text_of(answer: Answer) -> tuple[str | None, Trouble | None]:
    """Return (text, None) for a complete reply, else (None, reason why there is no text)."""
    if isinstance(answer, Failure):
        return None, "too long" if answer.cause is Cause.TOO_LONG else "failed"
    return (answer.content, None) if answer.whole else (None, "unparsed")


def read_answer(answer: Answer, read: Callable[[str], T | None]) -> tuple[T | None, State]:
    """Return (what `read` parses from a reply, "read"), or (None, reason) without a text or if `read` returns None."""
    text, trouble = text_of(answer)
    value = None if text is None else read(text)
    return (None, trouble or "unparsed") if value is None else (value, "read")
