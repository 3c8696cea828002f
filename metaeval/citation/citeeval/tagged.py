"""Replies in tags, as the official prompts ask for them: contexts, edits and ratings, each under a statement's number.

Source: the released code's stored inputs and outputs. A user who names an official prompt file needs this form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from metaeval.citation.citeeval.attribution import CONTEXTS
from metaeval.citation.citeeval.editing import Action, Edit
from metaeval.citation.citeeval.judge_output import Said, once
from metaeval.citation.citeeval.rating import STARS
from metaeval.errors import UserError

_THINKING = re.compile(r"<thinking>.*?</thinking>", re.DOTALL)
_BLOCK = r'<{tag}\s+sentence_id="(?P<number>\d+)"\s*>(?P<body>.*?)</{tag}>'
_EDIT = re.compile(
    r'<(?P<action>DELETE|ADD)\s+citation="(?P<citation>[^"]*)"\s*>(?P<reason>.*?)</(?P=action)>', re.DOTALL
)
_REASON = re.compile(r"\s*(?:(?:DELETE|ADD)\s+REASON\s+)?(\d+)\s*")
_LONGEST_NUMBER = 9  # digits; nothing that is numbered here has more, and Python refuses to read some longer numbers


def read_tagged_contexts(text: str, statements: int, tag: str = "attribution") -> Said[int]:
    """The contexts in `<attribution sentence_id="1"> 2 </attribution>`; statements: how many were asked about."""
    found: list[tuple[int, int]] = []
    problems: Counter[str] = Counter()
    for number, body in _blocks(text, tag):
        if (context := _number(body)) in CONTEXTS:
            found.append((number, context))
        else:
            problems["out of schema"] += 1
    return Said(once(found, statements, problems), +problems)


def read_tagged_ratings(text: str, statements: int) -> Said[int]:
    """The ratings, 1 to 5, in `<rating sentence_id="1"> 4 </rating>`."""
    found: list[tuple[int, int]] = []
    problems: Counter[str] = Counter()
    for number, body in _blocks(text, "rating"):
        if (stars := _number(body)) in STARS:
            found.append((number, stars))
        else:
            problems["out of schema"] += 1
    return Said(once(found, statements, problems), +problems)


def read_tagged_edits(text: str, statements: int, stops: bool = False) -> Said[tuple[Edit, ...]]:
    """The edits in `<editing sentence_id="1"> <DELETE citation="6"> DELETE REASON 1 </DELETE> </editing>`.

    An empty block, or `N/A`, gives an empty tuple: other words may mean an edit, and are out of schema. So is a whole
    block with an edit that cannot be read; with stops, a reason that does not exist raises `UserError`.
    """
    found: list[tuple[int, tuple[Edit, ...]]] = []
    problems: Counter[str] = Counter()
    for number, body in _blocks(text, "editing"):
        edits = [_edit(match, stops) for match in _EDIT.finditer(body)]
        readable = [edit for edit in edits if edit is not None]
        rest = _EDIT.sub("", body).strip()
        if len(readable) < len(edits) or ("<" in rest if edits else rest not in ("", "N/A")):
            problems["out of schema"] += 1
        else:
            found.append((number, tuple(readable)))
    return Said(once(found, statements, problems), +problems)


def _blocks(text: str, tag: str) -> Iterator[tuple[int, str]]:
    """Number and content of each statement's block; the number is no statement's where it is too long to be one."""
    for match in re.finditer(_BLOCK.format(tag=tag), _THINKING.sub("", text), re.DOTALL):
        yield _number(match["number"]), match["body"]


def _number(text: str) -> int:
    """The whole number that a text is; -1 for all else."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= _LONGEST_NUMBER else -1


def _edit(match: re.Match[str], stops: bool) -> Edit | None:
    action: Action = "delete" if match["action"] == "DELETE" else "add"
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
    return Edit(action, number, citation)
