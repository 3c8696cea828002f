"""A judge's edits of the citations of a statement, their validity, and the edit distance.

Coefficients of the edit distance are stored in a file, which `cite refit` writes and `cite citeeval` reads; its field
"made" holds the data and options of the fit:

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

from metaeval.core.errors import UserError, shown
from metaeval.core.files import sha256_json
from metaeval.core.parsing import read_object
from metaeval.stats.arrays import Floats

Action = Literal["delete", "add"]

# Reasons for deleting or adding a citation, numbered from 1.
REASONS: Mapping[Action, tuple[str, str, str]] = {
    "delete": ("misleading", "substandard", "redundant"),
    "add": ("evidence", "refinement", "credibility"),
}

OWN_KNOWLEDGE = 0  # in an edit that adds a citation, the number of the model's own knowledge in place of a passage's

EditProblem = Literal["not cited", "cited already", "no such passage"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of a citation by the judge: action, reason (1 to 3, see `REASONS`), and the cited passage's number."""

    action: Action
    reason: int
    citation: int

    @property
    def name(self) -> str:
        """The name in the official prompt, such as DELETE_1."""
        return f"{self.action.upper()}_{self.reason}"


def edit_problems(
    citations: Collection[int], edits: Sequence[Edit], passages: Collection[int] | None = None
) -> list[EditProblem]:
    """Return the problems of the edits, one entry for each invalid edit, in order; empty if all are valid.

    citations: numbers that the statement cites. passages: numbers of all passages (None: any number is one). Edits are
    checked in sequence, so that a later edit can undo an earlier one.
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


def apply_edits(
    citations: Sequence[int], edits: Sequence[Edit], passages: Collection[int]
) -> tuple[tuple[int, ...], list[Edit], list[EditProblem]]:
    """Return (the citations after the edits, the valid edits, the problem of each invalid edit).

    Kept citations are in order, and before added ones. Invalid edits are skipped. An edit that adds the model's own
    knowledge changes no citation: it is neither among the valid edits nor a problem.
    """
    standing = dict.fromkeys(citations)
    done: list[Edit] = []
    problems: list[EditProblem] = []
    for edit in edits:
        if edit.action == "delete":
            if edit.citation not in standing:
                problems.append("not cited")
                continue
            del standing[edit.citation]
        elif edit.citation == OWN_KNOWLEDGE:
            continue
        elif edit.citation not in passages or edit.citation in standing:
            problems.append("cited already" if edit.citation in standing else "no such passage")
            continue
        else:
            standing[edit.citation] = None
        done.append(edit)
    return tuple(standing), done, problems


KEEP = "KEEP"
ACTIONS = (KEEP, "DELETE_1", "DELETE_2", "DELETE_3", "ADD_1", "ADD_2", "ADD_3")


@dataclass(frozen=True)
class Coefficients:
    """The coefficient of each of `ACTIONS` in the edit distance, and its intercept."""

    action: Mapping[str, float]
    intercept: float


# The released coefficients, fitted by least squares to human ratings and the published judge's edits.
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


def actions(citations: Sequence[int], edits: Sequence[Edit], index_shift: bool = False) -> tuple[str, ...]:
    """Return the one of `ACTIONS` taken on each citation of the statement, in order, and then on each added one.

    A citation that is deleted and added again is kept, one that is added and deleted again is ignored, and so is a
    deletion of a citation that does not exist. The first of two additions of a citation counts, and the last of two
    deletions. index_shift: compare edits with the statement's own citations plus 1, as the released code does.
    """
    shift = 1 if index_shift else 0
    cited = [citation + shift for citation in citations]
    done = dict.fromkeys(cited, KEEP)
    for edit in edits:
        if edit.action == "add":
            if edit.citation in cited:
                done[edit.citation] = KEEP
            else:
                done.setdefault(edit.citation, edit.name)
        elif edit.citation in cited:
            done[edit.citation] = edit.name
        else:
            done.pop(edit.citation, None)
    return tuple(done.values())


def edit_distance(
    citations: Sequence[int], edits: Sequence[Edit], coefficients: Coefficients = PUBLISHED, index_shift: bool = False
) -> float:
    """Return the mean coefficient of the statement's `actions`, plus the intercept; 1 without edits or actions.

    Higher is better. Values are not clipped: the published coefficients give -0.0109 to 0.992, or 1.
    """
    taken = actions(citations, edits, index_shift)
    if not edits or not taken:
        return 1.0
    return sum(coefficients.action[name] for name in taken) / len(taken) + coefficients.intercept


def refit(taken: Sequence[Sequence[str]], ratings: Sequence[float]) -> Coefficients:
    """Fit coefficients for another judge: least squares of human ratings on the share of each action.

    taken: the `actions` of each statement. ratings: its human rating, in [0, 1]. Of several solutions, the nearest to
    the published coefficients is returned, so that an action without statements keeps its published coefficient. The
    intercept is the published one: the shares of a statement add up to 1, so that any other intercept gives the same
    fit with other coefficients.
    """
    # The share of each action among a statement's, (n, 7).
    shares = np.array([[names.count(name) / len(names) for name in ACTIONS] for names in taken], dtype=np.float64)
    wanted: Floats = np.asarray(ratings, dtype=np.float64)
    published = np.array([PUBLISHED.action[name] for name in ACTIONS])
    # The minimum-norm solution for the residuals of the published coefficients is the nearest to these.
    change = np.linalg.lstsq(shares, wanted - shares @ published - PUBLISHED.intercept, rcond=None)[0]
    seen, fitted = {name for names in taken for name in names}, zip(ACTIONS, published + change, strict=True)
    worth = {name: float(value) if name in seen else PUBLISHED.action[name] for name, value in fitted}
    return Coefficients(worth, PUBLISHED.intercept)


SCHEMA = "metaeval-coefficients/1"


def coefficients_text(coefficients: Coefficients, facts: Mapping[str, Any]) -> str:
    """Return the JSON text of a file of coefficients. facts: the data and options of the fit, its field "made"."""
    content = {
        "schema": SCHEMA,
        "action": {name: coefficients.action[name] for name in ACTIONS},
        "intercept": coefficients.intercept,
        "made": dict(facts),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def read_coefficients(path: Path, index_shift: bool = False) -> Coefficients:
    """Return the coefficients in a file. index_shift: of this run (see `actions`).

    Raises `UserError` for another file, for an action without a finite number, and for coefficients that were fitted
    with another `index_shift`.
    """
    content = read_object(path, "give a file that 'metaeval cite refit' wrote")
    if content.get("schema") != SCHEMA or not isinstance(content.get("action"), dict):
        raise UserError(f"{path} holds no coefficients ({SCHEMA}): give a file that 'metaeval cite refit' wrote.")
    facts = content.get("made")
    shifted = bool(facts.get("index_shift")) if isinstance(facts, dict) else False
    if shifted != index_shift:
        raise UserError(f"{path} was fitted with index_shift={str(shifted).lower()}: use the same, or fit again.")
    values = {**content["action"], "intercept": content.get("intercept")}
    for name in (*ACTIONS, "intercept"):
        value = values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise UserError(f"{path}: {name} is {shown(value)}; allowed: a finite number.")
    return Coefficients({name: float(values[name]) for name in ACTIONS}, float(values["intercept"]))


def fingerprint(coefficients: Coefficients) -> str:
    """Return the first 12 hex digits of a SHA-256 of the coefficients."""
    return sha256_json([[coefficients.action[name] for name in ACTIONS], coefficients.intercept])[:12]
