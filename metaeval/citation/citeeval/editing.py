"""Edits: what a judge would change about the citations of a statement, whether it can be done, and the edit distance.

Coefficients of the edit distance are kept in a file, which `cite refit` writes and `cite citeeval` reads; made says
what they were fitted on:

    {"schema": "metaeval-coefficients/1", "action": {"KEEP": 1.0, ...}, "intercept": 0.0, "made": {...}}
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np

from metaeval.errors import UserError, shown
from metaeval.files import sha256_json
from metaeval.reading import read_object
from metaeval.stats.arrays import Floats

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
            continue
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


KEEP = "KEEP"
ACTIONS = (KEEP, "DELETE_1", "DELETE_2", "DELETE_3", "ADD_1", "ADD_2", "ADD_3")


@dataclass(frozen=True)
class Coefficients:
    """What each action is worth, and the intercept; `action` has a value for each of `ACTIONS`."""

    action: Mapping[str, float]
    intercept: float


PUBLISHED = Coefficients(
    {
        KEEP: 1.00298631,
        "DELETE_1": 0.06935712,
        "DELETE_2": 0.79767963,
        "DELETE_3": 0.5318322,
        "ADD_1": 0.0,
        "ADD_2": 0.01623296,
        "ADD_3": 0.43404136,
    },
    -0.010901728784493359,
)
"""The released coefficients: least squares on human ratings of the edits of the published judge."""


def actions(citations: Sequence[int], edits: Sequence[Edit], index_shift: bool = False) -> tuple[str, ...]:
    """What becomes of each citation that the statement has or gets, as names in `ACTIONS`.

    A citation that is deleted and added again is kept, one that is added and deleted again never was, and a deletion
    of what is not there does nothing. Of two additions of the same citation the first counts, and of two deletions the
    last. index_shift: the statement's own citations count one too high.
    """
    shift = 1 if index_shift else 0
    own = [citation + shift for citation in citations]
    done = dict.fromkeys(own, KEEP)
    for edit in edits:
        if edit.action == "add":
            if edit.citation in own:
                done[edit.citation] = KEEP
            else:
                done.setdefault(edit.citation, edit.name)
        elif edit.citation in own:
            done[edit.citation] = edit.name
        else:
            done.pop(edit.citation, None)
    return tuple(done.values())


def edit_distance(
    citations: Sequence[int], edits: Sequence[Edit], coefficients: Coefficients = PUBLISHED, index_shift: bool = False
) -> float:
    """Mean worth of what becomes of each citation, plus the intercept; 1 without edits, or with no citation at all.

    Near 1 is good. Not clipped: with the published coefficients it lies between -0.0109 and 0.992, or is 1.
    """
    taken = actions(citations, edits, index_shift)
    if not edits or not taken:
        return 1.0
    return sum(coefficients.action[name] for name in taken) / len(taken) + coefficients.intercept


def refit(taken: Sequence[Sequence[str]], ratings: Sequence[float]) -> Coefficients:
    """Coefficients for another judge: least squares of human ratings on the share of each action.

    taken: of each statement, what `actions` gives; ratings: its human rating in [0, 1]. Where several coefficients fit
    equally well, those nearest to the published ones are taken: an action that no statement has keeps its published
    coefficient. The intercept stays the published one, as the shares of a statement add up to 1 and any other intercept
    can be moved into the actions without changing a fit.
    Raises ValueError if the lengths differ, there is no statement, or one has no or an unknown action.
    """
    if len(taken) != len(ratings) or not taken:
        raise ValueError(f"refit needs one rating for each statement, got {len(ratings)} for {len(taken)}")
    if any(not names for names in taken):
        raise ValueError("a statement without any citation has no actions; leave it out")
    if unknown := {name for names in taken for name in names} - {*ACTIONS}:
        raise ValueError(f"action is {min(unknown)!r}; allowed: {', '.join(ACTIONS)}")
    # The share of each action among a statement's, (n, 7).
    shares = np.array([[names.count(name) / len(names) for name in ACTIONS] for names in taken], dtype=np.float64)
    wanted: Floats = np.asarray(ratings, dtype=np.float64)
    if not np.isfinite(wanted).all():
        raise ValueError("refit needs ratings that are numbers; leave statements without a rating out")
    published = np.array([PUBLISHED.action[name] for name in ACTIONS])
    # The solution of smallest norm for what the published coefficients leave over is the one nearest to them.
    change = np.linalg.lstsq(shares, wanted - shares @ published - PUBLISHED.intercept, rcond=None)[0]
    worth = {name: float(one) for name, one in zip(ACTIONS, published + change, strict=True)}
    seen = {name for names in taken for name in names}
    return Coefficients(
        {name: worth[name] if name in seen else PUBLISHED.action[name] for name in ACTIONS}, PUBLISHED.intercept
    )


SCHEMA = "metaeval-coefficients/1"


def coefficients_text(coefficients: Coefficients, made: Mapping[str, Any]) -> str:
    """The file's text; the same coefficients and facts always give the same."""
    content = {
        "schema": SCHEMA,
        "action": {name: coefficients.action[name] for name in ACTIONS},
        "intercept": coefficients.intercept,
        "made": dict(made),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def read_coefficients(path: Path, index_shift: bool = False) -> Coefficients:
    """The coefficients in a file.

    Raises `UserError` where it is none, lacks an action, or holds what is no finite number, and where it was fitted
    with another reading of the edits than `index_shift` says.
    """
    content = read_object(path, "give a file that 'metaeval cite refit' wrote")
    if content.get("schema") != SCHEMA or not isinstance(content.get("action"), dict):
        raise UserError(f"{path} holds no coefficients ({SCHEMA}): give a file that 'metaeval cite refit' wrote.")
    made = content.get("made")
    shifted = bool(made.get("index_shift")) if isinstance(made, dict) else False
    if shifted != index_shift:
        raise UserError(
            f"{path} was fitted with index_shift={str(shifted).lower()}, and edits are read otherwise here: set "
            f"--set index_shift={str(shifted).lower()}, or fit again with 'metaeval cite refit'."
        )
    values = {**content["action"], "intercept": content.get("intercept")}
    for name in (*ACTIONS, "intercept"):
        value = values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise UserError(f"{path}: {name} is {shown(value)}; allowed: a finite number.")
    return Coefficients({name: float(values[name]) for name in ACTIONS}, float(values["intercept"]))


def fingerprint(coefficients: Coefficients) -> str:
    """12 hex digits that stand for the coefficients."""
    return sha256_json([[coefficients.action[name] for name in ACTIONS], coefficients.intercept])[:12]
