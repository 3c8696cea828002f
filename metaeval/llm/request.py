"""A question: the body of a chat request, and the name under which its reply is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

from metaeval.files import canonical_json

CHARACTERS_PER_TOKEN = 4
"""For estimates alone: English prose has about four characters a token."""

_FRAME_TOKENS = 64  # more than any chat template adds around one message


@dataclass(frozen=True)
class ChatRequest:
    """The JSON body that is sent, and the number of the sample that this is of it (0, 1, ...)."""

    body: Mapping[str, Any]
    sample: int = 0

    @cached_property
    def content(self) -> bytes:
        """The body as it is sent; half a surrogate pair, which no UTF-8 can hold, is sent as a question mark."""
        return canonical_json(self.body).encode("utf-8", "replace")

    def key(self, base_url: str) -> bytes:
        """32 bytes that stand for everything that was sent, and where to."""
        digest = hashlib.sha256(canonical_json([base_url, self.sample]).encode("utf-8", "replace"))
        digest.update(self.content)
        return digest.digest()

    def settings(self, base_url: str) -> str:
        """What was sent but for the messages, and where to, as JSON: what a server takes or refuses for every text."""
        return canonical_json([base_url, {name: value for name, value in self.body.items() if name != "messages"}])

    @property
    def likely_tokens_in(self) -> int:
        """Input tokens, estimated from the number of characters."""
        return ceil(sum(len(message["content"]) for message in self.body["messages"]) / CHARACTERS_PER_TOKEN)

    @property
    def most_tokens_in(self) -> int:
        """Input tokens at the very worst: no tokenizer makes more than one of a byte."""
        return _FRAME_TOKENS + sum(
            len(message["content"].encode("utf-8", "replace")) for message in self.body["messages"]
        )

    @property
    def most_tokens_out(self) -> int:
        """The limit on output tokens that the body sets."""
        return int(self.body.get("max_tokens") or self.body.get("max_completion_tokens") or 0)
