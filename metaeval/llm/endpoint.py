"""An endpoint: where a chat model is asked, with which key (it stays in memory), at what price and with what options.

Also the causes of failed attempts, some of which pass while some end the run, and the messages about them.
"""

from __future__ import annotations

import html
import os
import re
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from time import time
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from metaeval.core.errors import UserError
from metaeval.core.parsing import MalformedError, parse_json

OPENAI = "https://api.openai.com/v1"
KEY_NAME = "OPENAI_API_KEY"
_CAPITALS = re.compile(r"[A-Z]+(_([A-Z]+|[0-9]+))*")  # names of variables, set or not; few keys are such


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible API: its base URLs, a model, and the key with the environment variable that it came from.

    base_url: an address, or several with commas that give the same answers. server: the name under which replies are
    kept; empty: the first address.
    """

    base_url: str
    model: str
    key_name: str
    key: str = field(repr=False)
    server: str = ""

    @property
    def addresses(self) -> list[str]:
        """Return the distinct base URLs, in order."""
        return list(dict.fromkeys(self.base_url.split(",")))

    @property
    def name(self) -> str:
        """Return the name that identifies the servers in the keys of stored replies."""
        return self.server or self.addresses[0]

    @property
    def is_openai(self) -> bool:
        """Return whether the base URL is OpenAI's own; only then organisation and project are sent."""
        parts = urlsplit(self.base_url)
        return parts.scheme == "https" and f".{parts.hostname}".endswith(".api.openai.com")


_OWN_SERVER = "--base-url http://HOST:PORT/v1, for a metric -s metric_options.NAME.base_url=..."
_NO_ADDRESS = "an address should look like http://127.0.0.1:8000/v1, without a key"


def _checked(value: Any, info: ValidationInfo) -> str:
    """Return base URLs (list, or text with commas) as one text of distinct checked URLs; ValueError for others."""
    if isinstance(value, list | tuple) and all(isinstance(address, str) for address in value):
        value = ",".join(value)
    key = os.environ.get(info.data.get("api_key_env", KEY_NAME), "").strip().lower()
    if not isinstance(value, str) or (len(key) >= _SHORTEST and key in unquote(value).lower()):
        raise ValueError(_NO_ADDRESS)
    return ",".join(dict.fromkeys(checked_url(address.strip()) for address in value.split(",")))


def checked_url(url: str) -> str:
    """Return a URL without a final / or /chat/completions; ValueError if it is not a URL or may hold a secret."""
    # Looked for in the text, whatever a parser makes of it: what might be a secret is not repeated in a sentence.
    if any(sign in url for sign in "@?#;\\"):
        raise ValueError("an address here holds no user, password or query; the key belongs in an environment variable")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(_NO_ADDRESS)
    return url.rstrip("/").removesuffix("/chat/completions")


def _variable(value: Any) -> str:
    """Return the name of an environment variable; ValueError for a text that may be a key in the place of the name."""
    if not isinstance(value, str) or (value not in os.environ and not _CAPITALS.fullmatch(value)):
        raise ValueError("the name of an environment variable that is set, as OPENAI_API_KEY, and never the key itself")
    return value


@dataclass(frozen=True)
class Prices:
    """Prices in USD per million input and output tokens."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return the cost in USD of these numbers of input and output tokens."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


VariableName = Annotated[str, BeforeValidator(_variable)]


class EndpointOptions(BaseModel):
    """Options of how requests are sent (timeouts, prices, budget ...); none of them changes the meaning of a reply."""

    model_config = ConfigDict(hide_input_in_errors=True)

    api_key_env: VariableName = KEY_NAME
    """Environment variable that holds the key."""
    replies: Path | None = None
    """File of the reply store."""
    batch: Path | None = None
    """Output of a batch (JSONL) from which replies are taken; nothing is sent."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 32
    """Requests that are open at once."""
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    """Most requests in a minute (none: no limit)."""
    timeout: Annotated[float, Field(gt=0)] = 120.0
    """Seconds after which a request is given up."""
    reply_bytes: Annotated[int, Field(ge=1000)] = 1_000_000
    """Most bytes of a reply, log-probabilities aside; a larger one is given up."""
    retries: Annotated[int, Field(ge=0, le=20)] = 6
    """Times that a failed request is repeated."""
    backoff: Annotated[float, Field(ge=0)] = 1.0
    """Seconds before the first repetition; doubled each time."""
    price_in: Annotated[float, Field(ge=0)] | None = None
    """Price of a million input tokens, in USD."""
    price_out: Annotated[float, Field(ge=0)] | None = None
    """Price of a million output tokens, in USD."""
    budget: Annotated[float, Field(gt=0)] | None = None
    """The most that one run may spend, in USD."""

    @property
    def prices(self) -> Prices | None:
        """Return the prices, None without any; raises `UserError` for one price alone, or a budget without both."""
        if self.price_in is not None and self.price_out is not None:
            return Prices(self.price_in, self.price_out)
        if (self.budget, self.price_in, self.price_out) != (None, None, None):
            cure = "set both price_in and price_out (-s chat.price_in=0.5, -s metric_options.NAME.price_in=0.5)"
            raise UserError(f"The cost needs prices in USD per million tokens: {cure}, or leave out budget too.")
        return None


ENDPOINT_OPTIONS = frozenset(EndpointOptions.model_fields)


class ModelOptions(EndpointOptions):
    """Options that choose a chat model and the servers that run it."""

    model: Annotated[str, Field(min_length=1)] = "gpt-3.5-turbo-0125"
    """Name of the model at its endpoint."""
    base_url: Annotated[str, BeforeValidator(_checked)] = OPENAI
    """Address of the server, http://HOST:PORT/v1, or several with commas: the one with the fewest open requests is
    asked."""
    server: str = ""
    """Name for the servers, under which replies are kept (default: the first address)."""

    @property
    def server_name(self) -> str:
        """Return the name that identifies the servers in the keys of stored replies."""
        return self.server or self.base_url.split(",")[0]

    def endpoint(self) -> Endpoint:
        """Return the endpoint with its key from the environment; raises `UserError` if a required key is missing.

        A server of one's own often needs no key: only OpenAI's address, and a variable that was named, require one.
        """
        name, key = self.api_key_env, os.environ.get(self.api_key_env, "").strip()
        if not key and (OPENAI in self.base_url.split(",") or name != KEY_NAME):
            what = f"{self.base_url} needs a key, and the environment variable {name} is not set"
            raise UserError(f"{what}: type export {name}=... and try again, or name your own server ({_OWN_SERVER}).")
        if not key.isascii() or not key.isprintable():
            raise UserError(f"The key in {name} holds characters that no key has: type export {name}=... again.")
        return Endpoint(self.base_url, self.model, name, key, self.server)


class Cause(StrEnum):
    """The reason why an attempt to send a request brought no reply."""

    UNREACHABLE = "no connection"
    DROPPED = "connection dropped"
    TIMEOUT = "timeout"
    RATE_LIMIT = "HTTP 429"
    SERVER_ERROR = "HTTP 5xx"
    GARBLED = "no chat completion"
    TOO_LONG = "too long"
    TOO_LARGE = "reply too large"
    REFUSED = "refused"
    KEY = "key refused"
    UNKNOWN = "unknown model or address"
    QUOTA = "no credit"
    NO_REPLY = "no reply in the batch"


# Causes that another try may mend.
PASSING = frozenset(
    {Cause.UNREACHABLE, Cause.DROPPED, Cause.TIMEOUT, Cause.RATE_LIMIT, Cause.SERVER_ERROR, Cause.GARBLED}
)

ENDING = frozenset({Cause.KEY, Cause.UNKNOWN, Cause.QUOTA})  # causes that every request of the run would meet

# Causes after which the server may have made, and charged for, a reply that never came.
MAYBE_CHARGED = frozenset({Cause.DROPPED, Cause.TIMEOUT, Cause.GARBLED, Cause.TOO_LARGE})


_OF_STATUS = {
    **{401: Cause.KEY, 402: Cause.QUOTA, 403: Cause.KEY, 404: Cause.UNKNOWN, 408: Cause.TIMEOUT},
    **{409: Cause.SERVER_ERROR, 413: Cause.TOO_LONG, 429: Cause.RATE_LIMIT},
}


@dataclass(eq=False)
class Fault(Exception):  # noqa: N818 (caught by us, shown as a UserError)
    """Raised when one attempt brought no reply. retry_after: seconds that the server asks to wait; None if unknown."""

    cause: Cause
    detail: str
    retry_after: float | None = None


def fault_of_status(status: int, body: str, headers: Mapping[str, str]) -> Fault:
    """Return the fault for an HTTP status other than success, with the server's message from the body, uncut."""
    if 300 <= status < 400:
        elsewhere = headers.get("location") or "another address"
        return Fault(Cause.UNKNOWN, f"HTTP {status}, it sends on to {elsewhere}, which is not followed")
    code, message = _error(body)
    cause = _OF_STATUS.get(status, Cause.SERVER_ERROR if status >= 500 else Cause.REFUSED)
    if code == "insufficient_quota":
        cause = Cause.QUOTA
    elif cause is not Cause.QUOTA and (code == "context_length_exceeded" or "maximum context length" in message):
        cause = Cause.TOO_LONG
    return Fault(cause, f"HTTP {status}" + (f": {message}" if message else ""), _retry_after(headers))


def _error(body: str) -> tuple[str, str]:
    """Return (code, message) of an error body: OpenAI's {"error": {...}}, FastAPI's {"detail": ...}, or plain text."""
    try:
        value = parse_json(body)
    except MalformedError:
        return "", body
    error = (value.get("error") or value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return "", str(error)
    return str(error.get("code") or ""), str(error.get("message") or error.get("detail") or "")


def shortened(text: str) -> str:
    """Return a server's message, from which keys are removed already, on one line, cut to 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:200]}..."


_SHORTEST = 8  # characters; what is shorter is a word that servers of one's own take for a key, such as EMPTY
_CODED = re.compile(  # a character in JSON, a percent code or HTML; line breaks and blanks, which stand for nothing
    r"(?i)[\\%&\s\x00-\x1f\xad\u200b-\u200f\ufeff](?:(?<=\\)\\*(?:[nrtbf]|x(?P<x>[0-9a-f]{2})|u(?P<u>[0-9a-f]{4})"
    r"|(?P<itself>\S)?)|(?<=%)(?:25)*(?:(?P<percent>[0-9a-f]{2})|u(?P<wide>[0-9a-f]{4}))|(?P<html>(?<=&)#?\w{2,8};?)"
    r"|(?<![\\%&]))"
)


def _meant(match: re.Match[str]) -> str:
    """Return what a match of `_CODED` stands for."""
    code = match["x"] or match["u"] or match["percent"] or match["wide"]
    return chr(int(code, 16)) if code else match["itself"] or (html.unescape(match[0]) if match["html"] else "")


def without_key(text: str, key: str) -> str:
    """Return a text with *** in place of a key, and of its parts of 8 characters or more, other than plain words.

    It is found escaped as in JSON or HTML, percent-coded, in base64 (alone or behind a name), in another case, and with
    blanks and line breaks in it. A key below 8 characters stays.
    """
    if len(key) < _SHORTEST:
        return text
    # In base64 it has three forms, by the length of what is before it; both ends depend on the neighbours.
    forms = [key.encode().lower()]
    for skip in range(3):
        form = b64encode(bytes(skip) + key.encode())[skip + (skip > 0) : (skip + len(key)) * 8 // 6].lower()
        forms += form, form.replace(b"+", b"-").replace(b"/", b"_")
    # Each part of 8 characters holds one of these of 5. Few texts do, and for the others this is quick.
    likely, plain = {form[at : at + 5] for form in forms for at in range(0, len(form) - 4, 4)}, "".join(text.split())
    for _ in range(4):  # codings in one another
        plain = _CODED.sub(_meant, plain)
    if not any(map(plain.encode("ascii", "replace").lower().count, likely)):
        return text
    plain, starts = text, [*range(len(text) + 1)]  # the place in `text` where each character of `plain` begins
    for _ in range(4):
        pieces, places, end = [""], starts[:0], 0
        for match in _CODED.finditer(plain):
            pieces += plain[end : match.start()], _meant(match)
            places += starts[end : match.start()] + [starts[match.start()]] * len(pieces[-1])
            end = match.end()
        plain, starts = "".join([*pieces, plain[end:]]), places + starts[end:]
    lowered, hidden = plain.encode("ascii", "replace").lower(), bytearray(len(plain))
    for part in {form[at : at + _SHORTEST] for form in forms for at in range(len(form) - _SHORTEST + 1)}:
        for hit in re.finditer(b"(?=" + re.escape(part) + b")", lowered):
            hidden[hit.start() : hit.start() + _SHORTEST] = b"x" * _SHORTEST
    for run in reversed([*re.finditer(b"x+", hidden)]):
        start = starts[run.start()]
        piece = re.sub(r"(?:\\+[nrtbf]|\s)+\Z", "", text[start : starts[run.end()]])
        if len(piece) >= len(key) or not re.fullmatch("[A-Za-z][a-z]+", piece):
            text = f"{text[:start]}***{text[start + len(piece) :]}"
    return text


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait by the header Retry-After, a number or a date; None without a readable one."""
    retry_after = headers.get("retry-after", "")
    with suppress(ValueError):
        return max(float(retry_after), 0.0)
    with suppress(ValueError):
        return max(parsedate_to_datetime(retry_after).timestamp() - time(), 0.0)
    return None


class EndpointError(UserError):
    """Raised when an endpoint cannot be used any further; the message says why, and `cause` is that of the fault."""

    def __init__(self, message: str, cause: Cause) -> None:
        super().__init__(message)
        self.cause = cause


def ending_error(fault: Fault, endpoint: Endpoint) -> EndpointError:
    """Return the error that ends a run: what happened, at which address, what to do."""
    url, model, key = ", ".join(endpoint.addresses), endpoint.model, endpoint.key_name
    again = "then run the same command again: every reply so far is kept"
    refusal = f"{url} refuses the key in {key}" if endpoint.key else f"{url} asks for a key, and {key} is not set"
    see_models = f"see its models with curl {endpoint.addresses[0]}/models, name another model (or address, base_url)"
    too_large = "which no chat completion needs: see what answers there, or allow more (-s reply_bytes=N)"
    sentence_by_cause = {
        Cause.KEY: f"{refusal} ({fault.detail}): type export {key}=... with a key that is valid there",
        Cause.UNKNOWN: f"{url} knows no model {model!r}, or no chat/completions ({fault.detail}): {see_models}",
        Cause.QUOTA: f"{url} says that the account has no credit left ({fault.detail}): add credit",
        Cause.UNREACHABLE: f"Cannot reach {url} ({fault.detail}): start the server, or name another ({_OWN_SERVER})",
        Cause.TOO_LARGE: f"{url} answers model {model!r} with {fault.detail}, {too_large}",
    }
    usable = f"{url} gave no usable reply for model {model!r}, not in any try (last: {fault.detail})"
    passing = f"{usable}: see whether the server is well, perhaps set concurrency=2 or a longer timeout"
    refused = f"{url} refuses what is asked of model {model!r} ({fault.detail}): change the option that it names"
    refusal = sentence_by_cause.get(fault.cause, passing if fault.cause in PASSING else refused)
    return EndpointError(f"{refusal}, {again}.", fault.cause)
