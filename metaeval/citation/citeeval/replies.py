"""Replies of the judge: the JSON schemas that are asked for, and the strict reading of JSON and of tags.

Tags are the form of the official prompts, needed by those who name an official prompt file. Source: the released
code's stored inputs and outputs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from metaeval.citation.citeeval.editing import REASONS, Edit
from metaeval.citation.citeeval.values import CONTEXTS, STARS
from metaeval.errors import UserError
from metaeval.llm.exchange import keeps, object_schema, read_object, response_format

T = TypeVar("T")

Module = Literal["attribution", "editing"]
"""The two questions about a response."""

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
_ANY_STATEMENTS = object_schema(statements={"type": "array", "items": {}})  # entries are judged one by one

_THINKING = re.compile(r"<thinking>.*?</thinking>", re.DOTALL)
_BLOCK = r'<{tag}\s+sentence_id="(?P<number>\d+)"\s*>(?P<body>.*?)</{tag}>'
_EDIT = re.compile(
    r'<(?P<action>DELETE|ADD)\s+citation="(?P<citation>[^"]*)"\s*>(?P<reason>.*?)</(?P=action)>', re.DOTALL
)
_REASON = re.compile(r"\s*(?:(?:DELETE|ADD)\s+REASON\s+)?(\d+)\s*")
_LONGEST_NUMBER = 9  # digits; nothing that is numbered here has more, and Python refuses to read some longer numbers


@dataclass(frozen=True)
class Words:
    """What a judge said of statements, by their numbers: contexts (1 to 4), edits, stars (1 to 5).

    problems: counts of "out of schema" (an entry that cannot be read), "no such statement", and "said twice" (none of
    the two counts). Statements that the judge skipped are not in them.
    """

    contexts: Mapping[int, int] = field(default_factory=dict)
    edits: Mapping[int, tuple[Edit, ...]] = field(default_factory=dict)
    stars: Mapping[int, int] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)


def reply_schema(module: Module) -> dict[str, Any]:
    """The `response_format` of a chat request of a module.

    Both ask for {"statements": [one object per statement]}, in which the thinking stands before the judgement.
    """
    return response_format(module, object_schema(statements={"type": "array", "items": _STATEMENTS[module]}))


def read_json(text: str, module: Module, statements: int) -> Words | None:
    """Read a reply in JSON; None for a malformed one. statements: how many were asked about.

    An entry of which any part does not keep to the schema is counted and not read: half of it is not taken.
    """
    body = read_object(text, _ANY_STATEMENTS)
    if body is None:
        return None
    entries = [
        (one["id"], one)
        for one in body["statements"]
        if keeps(one, _STATEMENTS[module])
        and all(edit["reason"] in REASONS[edit["action"]] and edit["citation"] >= 0 for edit in one.get("edits", ()))
    ]
    problems = Counter({"out of schema": len(body["statements"]) - len(entries)})
    by = _once(entries, statements, problems)
    if module == "attribution":
        return Words({number: _CONTEXT_NUMBERS[one["context"]] for number, one in by.items()}, problems=+problems)
    edits = {
        number: tuple(
            Edit(edit["action"], REASONS[edit["action"]].index(edit["reason"]) + 1, edit["citation"])
            for edit in one["edits"]
        )
        for number, one in by.items()
    }
    return Words(
        edits=edits,
        stars={number: one["rating"] for number, one in by.items()},
        problems=+problems,
    )


def read_tags(
    text: str, module: Module, statements: int, tag: str = "attribution", stops: bool = False
) -> Words | None:
    """Read a reply in tags; None for one without any block of the right name.

    Contexts: `<attribution sentence_id="1"> 2 </attribution>`; tag: the name in place of attribution. Edits and
    ratings: `<editing sentence_id="1"> <DELETE citation="6"> DELETE REASON 1 </DELETE> </editing>` and
    `<rating sentence_id="1"> 4 </rating>`. A block of edits that is empty, or `N/A`, gives an empty tuple: other words
    may mean an edit, and are out of schema. So is a whole block with an edit that cannot be read; with stops, a reason
    that does not exist raises `UserError`.
    """
    spoken = _THINKING.sub("", text)
    problems: Counter[str] = Counter()

    def read(tag: str, value: Callable[[str], T | None]) -> dict[int, T]:
        found = [
            (_number(match["number"]), value(match["body"]))
            for match in re.finditer(_BLOCK.format(tag=tag), spoken, re.DOTALL)
        ]
        entries = [(number, one) for number, one in found if one is not None]
        problems["out of schema"] += len(found) - len(entries)
        return _once(entries, statements, problems)

    if module == "attribution":
        words = Words(contexts=read(tag, lambda body: _one_of(CONTEXTS, body)), problems=+problems)
    else:
        edits = read("editing", lambda body: _edits(body, stops))
        words = Words(edits=edits, stars=read("rating", lambda body: _one_of(STARS, body)), problems=+problems)
    return words if words.contexts or words.edits or words.stars or words.problems else None


def _once(entries: Sequence[tuple[int, T]], statements: int, problems: Counter[str]) -> dict[int, T]:
    """The entries of statements 1 to `statements` that were spoken of once; the others are counted in `problems`."""
    times = Counter(number for number, _ in entries)
    problems["no such statement"] += sum(not 1 <= number <= statements for number, _ in entries)
    problems["said twice"] += sum(1 <= number <= statements and count > 1 for number, count in times.items())
    return {number: value for number, value in entries if 1 <= number <= statements and times[number] == 1}


def _number(text: str) -> int:
    """The whole number that a text is; -1 for all else."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= _LONGEST_NUMBER else -1


def _one_of(allowed: Container[int], body: str) -> int | None:
    number = _number(body)
    return number if number in allowed else None


def _edits(body: str, stops: bool) -> tuple[Edit, ...] | None:
    edits = [_edit_in_tags(match, stops) for match in _EDIT.finditer(body)]
    readable = [edit for edit in edits if edit is not None]
    rest = _EDIT.sub("", body).strip()
    if len(readable) < len(edits) or ("<" in rest if edits else rest not in ("", "N/A")):
        return None
    return tuple(readable)


def _edit_in_tags(match: re.Match[str], stops: bool) -> Edit | None:
    reason = _REASON.fullmatch(match["reason"])
    citation, number = _number(match["citation"]), -1 if reason is None else _number(reason[1])
    if reason is None or citation < 0:
        return None
    if number not in (1, 2, 3):
        if stops:
            raise UserError(
                f"An edit has the reason {reason[1]}, at which the released code stops; set stops=false to count it."
            )
        return None
    return Edit("delete" if match["action"] == "DELETE" else "add", number, citation)
