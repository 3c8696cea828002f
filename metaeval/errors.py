"""The one kind of error a user sees: a sentence that says what happened, what is allowed, what to type next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Input that cannot be used. The message is one clear sentence; the command line exits with code 2."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ' Did you mean X?' for the nearest known name, else an empty string."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def unknown(kind: str, name: str, known: Iterable[str], then: str = "") -> UserError:
    """Build the error for a name that no registry knows: the name, the nearest one, what is allowed, what next."""
    names = sorted(known)
    listed = ", ".join(names) if names else "none"
    return UserError(
        f"Unknown {kind} {name!r}.{did_you_mean(name, names)} Known: {listed}.{' ' + then if then else ''}"
    )
