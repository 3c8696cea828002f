"""Replies in JSON: the schemas that are asked for, and their strict reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from metaeval.citation.citeeval.attribution import CONTEXTS
from metaeval.citation.citeeval.editing import REASONS, Action, Edit
from metaeval.citation.citeeval.judge_output import Said, once
from metaeval.citation.citeeval.rating import STARS
from metaeval.llm.exchange import is_number, object_schema, read_object, response_format

Module = Literal["attribution", "editing"]
"""The two questions about a response."""

Review = tuple[tuple[Edit, ...], int]
"""The edits of a statement's citations, and the rating from 1 to 5 that it got."""

_CONTEXT_NUMBERS = {name: number for number, name in CONTEXTS.items()}


_EDIT_SCHEMA = object_schema(
    action={"type": "string", "enum": list(REASONS)},
    citation={"type": "integer"},
    reason={"type": "string", "enum": [reason for reasons in REASONS.values() for reason in reasons]},
)

_STATEMENTS: Mapping[Module, dict[str, Any]] = {
    "attribution": object_schema(
        id={"type": "integer"},
        thinking={"type": "string"},
        context={"type": "string", "enum": list(CONTEXTS.values())},
    ),
    "editing": object_schema(
        id={"type": "integer"},
        thinking={"type": "string"},
        edits={"type": "array", "items": _EDIT_SCHEMA},
        rating={"type": "integer", "enum": list(STARS)},
    ),
}


def reply_schema(module: Module) -> dict[str, Any]:
    """The `response_format` of a chat request of a module.

    Both ask for {"statements": [one object per statement]}, in which the thinking stands before the judgement.
    """
    schema = object_schema(statements={"type": "array", "items": _STATEMENTS[module]})
    return response_format(module, schema)


def read_contexts(text: str, statements: int) -> Said[int] | None:
    """The number of each statement's context; None for a text that is not of the form that was asked for.

    statements: how many were asked about. An entry that does not keep to the schema is counted and not read.
    """
    entries = _entries(text)
    if entries is None:
        return None
    problems: Counter[str] = Counter()
    found: list[tuple[int, int]] = []
    for entry in entries:
        context = entry.get("context") if isinstance(entry, dict) else None
        if not _keeps(entry, "context") or not isinstance(context, str) or context not in _CONTEXT_NUMBERS:
            problems["out of schema"] += 1
        else:
            found.append((entry["id"], _CONTEXT_NUMBERS[context]))
    return Said(once(found, statements, problems), +problems)


def read_reviews(text: str, statements: int) -> Said[Review] | None:
    """The edits and the rating of each statement; None for a text that is not of the form that was asked for.

    An entry of which any part does not keep to the schema is counted and not read: half of it is not taken.
    """
    entries = _entries(text)
    if entries is None:
        return None
    problems: Counter[str] = Counter()
    found: list[tuple[int, Review]] = []
    for entry in entries:
        review = _review(entry) if _keeps(entry, "edits", "rating") else None
        if review is None:
            problems["out of schema"] += 1
        else:
            found.append((entry["id"], review))
    return Said(once(found, statements, problems), +problems)


def _entries(text: str) -> list[Any] | None:
    """The list under `statements`, in a text that is one JSON object, bare or as one block of code."""
    body = read_object(text, "statements")
    return body["statements"] if body and isinstance(body["statements"], list) else None


def _keeps(entry: Any, *names: str) -> bool:
    """Whether an entry is an object with these fields, an id and its thinking, and nothing else."""
    return (
        isinstance(entry, dict)
        and entry.keys() == {"id", "thinking", *names}
        and is_number(entry["id"])
        and isinstance(entry["thinking"], str)
    )


def _review(entry: Mapping[str, Any]) -> Review | None:
    if not isinstance(entry["edits"], list) or not is_number(entry["rating"]) or entry["rating"] not in STARS:
        return None
    edits = [_edit(edit) for edit in entry["edits"]]
    whole = tuple(edit for edit in edits if edit is not None)
    return (whole, entry["rating"]) if len(whole) == len(edits) else None


def _edit(edit: Any) -> Edit | None:
    """An edit whose reason is one for its action; a citation is a whole number from 0."""
    if not isinstance(edit, dict) or edit.keys() != {"action", "citation", "reason"}:
        return None
    actions: Mapping[str, Action] = {name: name for name in REASONS}
    action = actions.get(edit["action"]) if isinstance(edit["action"], str) else None
    if action is None or not is_number(edit["citation"]) or edit["citation"] < 0:
        return None
    if edit["reason"] not in REASONS[action]:
        return None
    return Edit(action, REASONS[action].index(edit["reason"]) + 1, edit["citation"])
