"""A prompt: text with named places, filled in one pass."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from metaeval.errors import UserError
from metaeval.files import read_text

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


def read_prompt(path: Path, places: tuple[str, ...]) -> Prompt:
    """Read a prompt of the user's own; `UserError` when a place is missing."""
    prompt = Prompt(read_text(path).rstrip("\n"))
    missing = [place for place in places if f"{{{place}}}" not in prompt.text]
    if missing:
        needed = " and ".join(f"{{{place}}}" for place in missing)
        raise UserError(f"{path}: the prompt has no place for {needed}; write {needed} where that text should stand.")
    return prompt
