"""What can go wrong with one attempt, by cause: which causes pass, which end the run, and how that is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from time import time

from metaeval.errors import UserError
from metaeval.llm.endpoint import Endpoint
from metaeval.reading import MalformedError, parse_json

_DETAIL = 200  # characters of a server's message that are worth showing


class Cause(StrEnum):
    """Why an attempt brought no reply."""

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


PASSING = frozenset(
    {Cause.UNREACHABLE, Cause.DROPPED, Cause.TIMEOUT, Cause.RATE_LIMIT, Cause.SERVER_ERROR, Cause.GARBLED}
)
"""Causes that another try may mend."""

ENDING = frozenset({Cause.KEY, Cause.UNKNOWN, Cause.QUOTA})
"""Causes that every request of the run would meet."""

MAYBE_CHARGED = frozenset({Cause.DROPPED, Cause.TIMEOUT, Cause.GARBLED, Cause.TOO_LARGE})
"""Causes after which the server may have made, and charged for, an answer that never came."""


_OF_STATUS = {
    **{401: Cause.KEY, 402: Cause.QUOTA, 403: Cause.KEY, 404: Cause.UNKNOWN, 408: Cause.TIMEOUT},
    **{409: Cause.SERVER_ERROR, 413: Cause.TOO_LONG, 429: Cause.RATE_LIMIT},
}


@dataclass(eq=False)
class Fault(Exception):  # noqa: N818 (caught by us, shown as a UserError)
    """One attempt without a reply. retry_after: seconds that the server asks to wait, None where it does not say."""

    cause: Cause
    detail: str
    retry_after: float | None = None


def fault_of_status(status: int, body: str, headers: Mapping[str, str]) -> Fault:
    """The fault that an HTTP error status means."""
    if 300 <= status < 400:
        elsewhere = shortened(headers.get("location", "")) or "another address"
        return Fault(Cause.UNKNOWN, f"HTTP {status}, it sends on to {elsewhere}, and nobody is followed there")
    code, message = _error(body)
    cause = _OF_STATUS.get(status, Cause.SERVER_ERROR if status >= 500 else Cause.REFUSED)
    if code == "insufficient_quota":
        cause = Cause.QUOTA
    elif cause is not Cause.QUOTA and (code == "context_length_exceeded" or "maximum context length" in message):
        cause = Cause.TOO_LONG
    return Fault(cause, f"HTTP {status}" + (f": {message}" if message else ""), _retry_after(headers))


def _error(body: str) -> tuple[str, str]:
    """(code, message) of an error body: OpenAI's {"error": {...}}, FastAPI's {"detail": ...}, or plain text."""
    try:
        value = parse_json(body)
    except MalformedError:
        return "", shortened(body)
    error = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return "", shortened(str(error))
    return str(error.get("code") or ""), shortened(str(error.get("message") or error.get("detail") or ""))


def shortened(text: str) -> str:
    """A server's words, on one line and not too many."""
    line = " ".join(text.split())
    return line if len(line) <= _DETAIL else f"{line[:_DETAIL]}..."


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from now, from Retry-After as a number or a date."""
    given = headers.get("retry-after", "")
    try:
        return max(float(given), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(given).timestamp() - time(), 0.0)
    except ValueError:
        return None


class EndpointError(UserError):
    """An endpoint that cannot be gone on with, and why."""

    def __init__(self, message: str, cause: Cause) -> None:
        super().__init__(message)
        self.cause = cause


def ending_error(fault: Fault, endpoint: Endpoint) -> EndpointError:
    """The error that ends a run: what happened, at which address, what to do."""
    return EndpointError(_sentence(fault, endpoint), fault.cause)


def _sentence(fault: Fault, endpoint: Endpoint) -> str:
    url, model, key = ", ".join(endpoint.addresses), endpoint.model, endpoint.key_name
    again = "then run the same command again: every answer so far is kept"
    said = f"{url} refuses the key in {key}" if endpoint.key else f"{url} asks for a key, and {key} is not set"
    told = {
        Cause.KEY: f"{said} ({fault.detail}): type export {key}=... with a key that is valid there",
        Cause.UNKNOWN: f"{url} knows no model {model!r}, or has no chat/completions under it ({fault.detail}): see its "
        f"models with curl {endpoint.addresses[0]}/models, name another model (or address, base_url)",
        Cause.QUOTA: f"{url} says that the account has no credit left ({fault.detail}): add credit",
        Cause.UNREACHABLE: f"Cannot reach {url} ({fault.detail}): start the server, or name another one (--base-url "
        "http://HOST:PORT/v1, in Python base_url=...; for a metric -s metric_options.NAME.base_url=...)",
        Cause.TOO_LARGE: f"{url} answers model {model!r} with {fault.detail}, which no chat completion needs: see what "
        "answers at that address, or allow more (-s reply_bytes=N; for a metric -s metric_options.NAME.reply_bytes=N)",
    }
    passing = (
        f"{url} gave no usable answer for model {model!r}, however often it was asked (last: {fault.detail}): see "
        "whether the server is well, perhaps lower concurrency (-s concurrency=2) or raise timeout"
    )
    refused = f"{url} refuses what is asked of model {model!r} ({fault.detail}): change the option that it names"
    return f"{told.get(fault.cause, passing if fault.cause in PASSING else refused)}, {again}."
