"""The edit distance: how good a statement's citations are, from what a judge would change about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.citation.citeeval.editing import Edit
from metaeval.stats.arrays import Floats

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
    of what is not there does nothing. index_shift: the statement's own citations count one too high.
    """
    shift = 1 if index_shift else 0
    own = [citation + shift for citation in citations]
    done = dict.fromkeys(own, KEEP)
    for edit in edits:
        if edit.action == "add":
            done[edit.citation] = KEEP if edit.citation in own else edit.name
        elif edit.citation in own:
            done[edit.citation] = edit.name
        else:
            done.pop(edit.citation, None)
    return tuple(done.values())


def edit_distance(
    citations: Sequence[int],
    edits: Sequence[Edit],
    coefficients: Coefficients = PUBLISHED,
    index_shift: bool = False,
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

    taken: of each statement, what `actions` gives; ratings: its human rating in [0, 1]. The shares of a statement add
    up to 1, so that an intercept can be moved into the actions without changing a fit; the solution is the one of
    smallest norm, unique in its predictions, and an action that no statement has is worth 0.
    Raises ValueError if the lengths differ, there is no statement, or one has no or an unknown action.
    """
    if len(taken) != len(ratings) or not taken:
        raise ValueError(f"refit needs one rating for each statement, got {len(ratings)} for {len(taken)}")
    shares = np.array([_shares(names) for names in taken], dtype=np.float64)
    design = np.hstack([shares, np.ones((len(taken), 1))])
    wanted: Floats = np.asarray(ratings, dtype=np.float64)
    if not np.isfinite(wanted).all():
        raise ValueError("refit needs ratings that are numbers; leave statements without a rating out")
    solution = np.linalg.lstsq(design, wanted, rcond=None)[0]
    return Coefficients(
        {name: float(worth) for name, worth in zip(ACTIONS, solution[:-1], strict=True)}, float(solution[-1])
    )


def _shares(names: Sequence[str]) -> list[float]:
    """Share of each of `ACTIONS` among the names; (7,)."""
    if not names:
        raise ValueError("a statement without any citation has no actions; leave it out")
    for name in names:
        if name not in ACTIONS:
            raise ValueError(f"action is {name!r}; allowed: {', '.join(ACTIONS)}")
    return [names.count(name) / len(names) for name in ACTIONS]
