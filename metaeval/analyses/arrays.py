"""Evaluation of scores and labels in arrays, without files, names or a store."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from math import inf
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.api import results_of
from metaeval.core.cells import Cells, cells_of, objects, plain_numbers
from metaeval.core.config import load_run
from metaeval.core.errors import UserError, count, shown
from metaeval.core.files import inputs_protected
from metaeval.core.tables import headings_of, of_columns
from metaeval.corpus.ratings import interleaved, numerals
from metaeval.runs.data import prepare_ratings, ratings_in
from metaeval.runs.evaluate import evaluate_columns
from metaeval.runs.score import array_column

if TYPE_CHECKING:
    from metaeval.report.notebook import Results

_log = logging.getLogger("metaeval")
_LONG = re.compile(r"\s*[-+]?[0-9]{16,400}\s*")


@inputs_protected(from_python=True)
def evaluate_arrays(scores: Any, labels: Any, groups: Any = None, **settings: Any) -> Results:
    """Evaluate metrics' scores against human labels; one result per protocol that can be computed.

    Parameters
    ----------
    scores : array_like, mapping or data frame
        (n,), or by metric as a mapping or data frame of (n,) columns; higher is more support; NaN or None where a row
        has no score, which is counted.
    labels : array_like
        (n,), words for the levels full, partial and none, or these as 2, 1 and 0, or any other ratings as numbers; rows
        without a label are left out, and counted.
    groups : array_like, optional
        (n,), what was sampled (articles, questions), within which rows are not independent; a row without one is a
        group of its own.
    **settings
        protocols, interval, comparison and the like, as in `run`; columns={"full": "WORD,WORD"} says what words of your
        own mean, as in a file.

    Returns
    -------
    Results
        A list that prints its table and findings.

    Raises
    ------
    UserError
        For arrays of unlike lengths, series that cannot be aligned, values that are not numbers, and numbers that
        differ and are equal as 64-bit floats.

    Notes
    -----
    Masked values are missing; pandas series are aligned by their index.

    Examples
    --------
    >>> import metaeval
    >>> labels = ["full", "none", "partial", "none"] * 10
    >>> scores = {"mine": [0.9, 0.2, 0.5, 0.4] * 10, "theirs": [0.3, 0.6, 0.5, 0.1] * 10}
    >>> articles = [row // 4 for row in range(40)]
    >>> (result,) = metaeval.evaluate_arrays(scores, labels, articles, protocols=["classification"])
    >>> result.rows[0].metric, result.rows[0].values["overall"].value
    ('mine', 1.0)
    """
    scored = _columns(scores)
    inputs = [("labels", labels), *([] if groups is None else [("groups", groups)]), *scored]
    columns = [_cells(name, values) for name, values in _aligned(inputs)]
    n = len(columns[0])
    for (name, _), values in zip(inputs, columns, strict=True):
        if len(values) != n:
            raise UserError(f"{name} has {count(len(values), 'value')} and labels {n:,}: both need one per row.")
    ids = objects(str(row).zfill(len(str(n))) for row in range(n))
    if groups is None:
        _log.warning("Each row counts as a group of its own. Where rows share an article or a query, give groups=.")
    numbers = {name: plain_numbers(values) for (name, _), values in zip(scored, columns[-len(scored) :], strict=True)}
    for (name, plain), values in zip(numbers.items(), columns[-len(scored) :], strict=True):
        _check_distinct(name, values)
        if (wrong := np.flatnonzero(np.isinf(plain))).size:
            content = shown(str(values[wrong[0]]), 40)
            raise UserError(f"{name} should be numbers, None where there is no score: row {wrong[0] + 1} is {content}.")
    _check_distinct("labels", columns[0])
    if "metrics" in settings:
        raise UserError("The metrics of evaluate_arrays are the names in scores: leave metrics= out.")
    cells = [ids, columns[0], ids if groups is None else columns[1]]
    table = of_columns("arrays", ["id", "labels", "groups"], cells, range(1, n + 1), "row")
    config = load_run(None, {**settings, "metrics": tuple(numbers)})
    mapped = config.model_copy(update={"columns": {**config.columns, "gold": "labels", "group": "groups"}})
    rated = prepare_ratings(config, ratings_in(table, mapped))
    rows, keys, aligned = rated.ratings.columns.id.astype(np.int64), [f',"{key}":' for key in ids.tolist()], []
    for name, plain in numbers.items():
        content = f"{{{interleaved(keys, numerals(plain))[1:]}}}"  # as `sha256_json` writes scores by id
        file = f"sha256:{hashlib.sha256(content.encode()).hexdigest()[:12]}"
        aligned.append(array_column(name, plain[rows], {"metric": f"{name}@scores", "file": file}))
    return results_of(evaluate_columns(rated, aligned))


def _columns(scores: Any) -> list[tuple[str, Any]]:
    """Return the scores by metric; those of a single array by the name "scores"."""
    if not isinstance(scores, Mapping) and not hasattr(scores, "columns"):
        return [("scores", scores)]
    names = list(scores if isinstance(scores, Mapping) else getattr(scores, "column_names", scores.columns))
    headings = headings_of(names, "scores")
    if not all(headings or [""]):
        raise UserError("scores has no metric, or one without a name: give {'mine': [0.7, 0.2]}, or one array.")
    return [(heading, scores[name]) for heading, name in zip(headings, names, strict=True)]


def _aligned(inputs: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield each column, of pandas series with the rows in the order of the first; `UserError` where that cannot be."""
    indexes = [getattr(values, "index", None) if hasattr(values, "reindex") else None for _, values in inputs]
    known = [(name, index) for (name, _), index in zip(inputs, indexes, strict=True) if index is not None]
    first, order = known[0] if known else ("", ())  # type: str, Any
    if known and len(known) < len(inputs) and list(order) != list(range(len(order))):
        _log.warning("Not all arrays have the index of %s: rows are those of the same place.", first)
    for (name, values), index in zip(inputs, indexes, strict=True):
        if index is not None and not index.equals(order):
            alike = (len(index), index.nlevels) == (len(order), order.nlevels) and index.is_unique and order.is_unique
            if not (alike and index.isin(order).all()):
                raise UserError(f"{name} and {first} are series of unlike index: align them, or give .to_numpy().")
            _log.warning("The rows of %s are put in the order of %s by their index.", name, first)
            values = values.reindex(order)
        yield name, values


def _cells(name: str, values: Any) -> Cells:
    """Return an array, tensor, series or sequence as cells; `UserError` unless it is (n,)."""
    shape = getattr(values, "shape", None)
    if hasattr(values, "__array__") and not hasattr(values, "tolist"):
        values = np.asarray(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":  # as objects, some would be whole numbers
        lost = np.ma.getmaskarray(values) | np.isnat(np.asarray(values))
        values = np.where(lost, "", np.asarray(values).astype(str))
    try:
        cells = objects([[]]) if isinstance(values, str | bytes | Mapping | Set) else cells_of(values)
    except TypeError:  # not a sequence
        cells = objects([[]])
    if cells.ndim != 1 or any(isinstance(cell, list | Mapping | Set) for cell in cells if cells.dtype == np.object_):
        seen = f"has shape {tuple(shape)}" if shape is not None else f"is {shown(values, 40)}"
        raise UserError(f"{name} should be an array or sequence with one value per row, (n,), and {seen}.")
    return cells


def _check_distinct(name: str, values: Cells) -> None:
    """Raise `UserError` for numbers that differ, and are equal as the floats that they become."""
    if values.dtype != np.object_ and not (np.abs(plain_numbers(values)) >= 2**53).any():
        return
    exact = {int(each) if isinstance(each, str) and _LONG.fullmatch(each) else each for each in values.tolist()}
    exact = {each for each in exact - {inf, -inf} if isinstance(each, Number) and not isinstance(each, complex)}
    exact = {each for each in exact if each == each}
    if np.unique(plain_numbers(objects(exact))).size < len(exact):
        raise UserError(f"{name} holds numbers that differ and are equal as 64-bit floats, as {max(exact)}: rank them.")
