"""How a fault in a file is told: where it stands, what was found, what is allowed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from metaeval.errors import did_you_mean


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a file. `line` counts from 1, `value` is what was found, `allowed` what may stand there."""

    line: int
    field: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.field} is {self.value}; allowed: {self.allowed}"


def shown(value: Any, width: int = 60) -> str:
    """A value as JSON, cut to about `width` characters so that a message stays one sentence."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def shown_with_hint(value: Any, known: Iterable[str]) -> str:
    """A value as JSON, and the nearest known name when there is one."""
    hint = did_you_mean(value, known).strip() if isinstance(value, str) else ""
    return f"{shown(value)} (d{hint[1:]})" if hint else shown(value)
