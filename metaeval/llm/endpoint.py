"""An endpoint: where the model is asked, and the key, which stays in memory."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from metaeval.errors import UserError

OPENAI = "https://api.openai.com/v1"
KEY_NAME = "OPENAI_API_KEY"


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible address, a model there, and the key with the name of the variable that it came from."""

    base_url: str
    model: str
    key_name: str
    key: str = field(repr=False)


def open_endpoint(base_url: str, model: str, key_name: str) -> Endpoint:
    """An endpoint with its key from the environment.

    A server of one's own often needs no key: only OpenAI's address, and a variable that was named, require one.
    """
    key = os.environ.get(key_name, "").strip()
    if not key and (base_url == OPENAI or key_name != KEY_NAME):
        raise UserError(
            f"{base_url} needs a key, and the environment variable {key_name} is not set: type export {key_name}=... "
            "and run the same command again, or name a server of your own (--base-url http://HOST:PORT/v1; for a "
            "metric -s metric_options.NAME.base_url=...)."
        )
    if not key.isascii() or not key.isprintable():
        raise UserError(f"The key in {key_name} holds characters that no key has: type export {key_name}=... again.")
    return Endpoint(base_url, model, key_name, key)


def checked_url(url: str) -> str:
    """A base address without its last slash; `ValueError` when it is none, or holds a password."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no address; it should look like http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("an address here holds no user, password or query; the key belongs in an environment variable")
    return url.rstrip("/").removesuffix("/chat/completions")
