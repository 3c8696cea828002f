"""Evaluation of scores and labels in arrays, without files, names or a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metaeval.api import evaluate_scores
from metaeval.corpus.model import SupportLevel
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.declared import typed
from metaeval.errors import UserError, refuse_same_text

if TYPE_CHECKING:
    from metaeval.report.notebook import Results

_LEVELS = {level.name.lower(): float(level) for level in SupportLevel}


@typed
def evaluate_arrays(scores: Any, labels: Any, groups: Any = None, **settings: Any) -> Results:
    """Evaluate metrics' scores against human labels; one result per protocol that can be computed.

    scores: (n,), or by metric as a mapping or data frame of (n,) columns; higher is more support; NaN or None where a
    row has no score, which is counted. labels: (n,), the levels full, partial and none as text or as 2, 1 and 0, or
    any other ratings as numbers. groups: (n,) what was sampled (articles, questions), within which rows are not
    independent; without it every row is a group. settings: protocols, interval, comparison and the like, as in `run`.

    Raises `UserError` for arrays of unlike lengths, and labels that are not finite.
    """
    columns = _columns(scores)
    gold, is_graded = _gold(labels)
    names = np.arange(gold.size).astype(str) if groups is None else np.asarray(groups).astype(str)
    for name, column in {"groups": names, **columns}.items():
        if column.shape != gold.shape:
            raise UserError(f"{name} has shape {column.shape} and labels {gold.shape}: both need one value per row.")
    ids = [f"{number:0{len(str(gold.size))}}" for number in range(gold.size)]
    rows = [
        Rating(id=row, group=group, gold=value)
        for row, group, value in zip(ids, names.tolist(), gold.tolist(), strict=True)
    ]
    values = {
        name: {row: None if np.isnan(score) else score for row, score in zip(ids, column.tolist(), strict=True)}
        for name, column in columns.items()
    }
    return evaluate_scores(values, ratings=Ratings("arrays", tuple(rows), levels=is_graded), **settings)


def _columns(scores: Any) -> dict[str, NDArray[np.float64]]:
    """Return the scores by metric, (n,) each with NaN for None; those of a single array by the name "scores"."""
    named = isinstance(scores, Mapping) or hasattr(scores, "columns")
    if named:
        refuse_same_text("scores", scores if isinstance(scores, Mapping) else scores.columns)
    columns = {str(name): scores[name] for name in scores} if isinstance(scores, Mapping) else {}
    if named and not columns:
        columns = {str(name): scores[name] for name in scores.columns}
    return {name: _numbers(name, column) for name, column in (columns if named else {"scores": scores}).items()}


def _numbers(name: str, values: Sequence[float | None]) -> NDArray[np.float64]:
    try:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(f"{name} should be numbers, one for each row, or None where a row has no score.") from None


def _gold(labels: Any) -> tuple[NDArray[np.float64], bool]:
    """Return the labels as numbers, and whether they are levels: as text, or all 0, 1 or 2 with a 2 among them."""
    listed = list(labels)
    if listed and all(isinstance(label, str) for label in listed):
        if unknown := sorted(set(listed) - _LEVELS.keys()):
            raise UserError(f"labels contains {unknown[0]!r}; allowed texts: full, partial and none.")
        return np.array([_LEVELS[label] for label in listed]), True
    gold = _numbers("labels", listed)
    if not gold.size or not np.isfinite(gold).all():
        raise UserError("labels should be finite numbers, or full, partial and none: at least one, none missing.")
    return gold, set(gold.tolist()) <= set(_LEVELS.values()) and float(SupportLevel.FULL) in gold
