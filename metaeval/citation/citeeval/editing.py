"""Edits: what a judge would change about the citations of a statement, and whether that can be done."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Action = Literal["delete", "add"]

REASONS: Mapping[Action, tuple[str, str, str]] = {
    "delete": ("misleading", "substandard", "redundant"),
    "add": ("evidence", "refinement", "credibility"),
}
"""Why a citation goes or comes: the first reason has the number 1."""

OWN_KNOWLEDGE = 0
"""The number that stands for the model's own knowledge where a source is added."""

EditProblem = Literal["not cited", "cited already", "no such passage"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change: action, reason (1 to 3, see `REASONS`), and the number of the citation."""

    action: Action
    reason: int
    citation: int

    @property
    def name(self) -> str:
        """As the official prompt writes it: DELETE_1."""
        return f"{self.action.upper()}_{self.reason}"


def edit_problems(
    citations: Collection[int], edits: Sequence[Edit], passages: Collection[int] | None = None
) -> list[EditProblem]:
    """What cannot be done, one entry for each edit of which something is wrong.

    citations: what the statement cites. passages: the numbers that passages have; None: any. Edits are done one after
    the other, so that an addition can be taken back and a deletion undone.
    """
    standing = set(citations)
    problems: list[EditProblem] = []
    for edit in edits:
        if edit.action == "delete":
            if edit.citation not in standing:
                problems.append("not cited")
            standing.discard(edit.citation)
        else:
            if passages is not None and edit.citation != OWN_KNOWLEDGE and edit.citation not in passages:
                problems.append("no such passage")
            elif edit.citation in standing:
                problems.append("cited already")
            standing.add(edit.citation)
    return problems


def edited(citations: Sequence[int], edits: Sequence[Edit]) -> tuple[int, ...]:
    """The citations after the edits: those kept in their order, then those added; the model's own knowledge is none."""
    standing = dict.fromkeys(citations)
    for edit in edits:
        if edit.action == "delete":
            standing.pop(edit.citation, None)
        elif edit.citation != OWN_KNOWLEDGE:
            standing[edit.citation] = None
    return tuple(standing)


def doable(
    citations: Collection[int], edits: Sequence[Edit], passages: Collection[int]
) -> tuple[list[Edit], list[EditProblem]]:
    """The edits that can be done one after the other, and what is wrong with the others, one entry each.

    An edit that cannot be done is passed over: what follows finds the citations as if it were not there. The model's
    own knowledge is no citation: adding it is neither done nor wrong.
    """
    standing = set(citations)
    done: list[Edit] = []
    problems: list[EditProblem] = []
    for edit in edits:
        if edit.action == "delete":
            if edit.citation not in standing:
                problems.append("not cited")
                continue
            standing.remove(edit.citation)
        elif edit.citation == OWN_KNOWLEDGE:
            continue
        elif edit.citation not in passages or edit.citation in standing:
            problems.append("cited already" if edit.citation in standing else "no such passage")
            continue
        else:
            standing.add(edit.citation)
        done.append(edit)
    return done, problems
