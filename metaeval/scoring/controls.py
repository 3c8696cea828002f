"""Controls: scores that say nothing of support, or are the gold itself; tables show them as baselines of the metrics.

Two more controls are metrics (`OVERLAP`, `REFERENCE_MODEL`), which `metaeval.runs.evaluate` scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from metaeval.corpus.languages import fold, language_of_pairs, words_of
from metaeval.corpus.ratings import RatingColumns
from metaeval.corpus.units import UnitRow

if TYPE_CHECKING:
    from pandas import Categorical

ControlScores = NDArray[np.float64]
Control = Callable[[Sequence[UnitRow]], ControlScores]

_FOLDS = 5
_FEATURES = 1024
_RIDGE = 1.0


def statement_only(rows: Sequence[UnitRow]) -> ControlScores:
    """Return a prediction of each row's level from the statement alone, (n_rows,), by ridge regression on its words.

    Predictions are out of fold: the model of a row was fitted without the rows of its group. The features are 1,024
    hashed word presences; the target is the mean level of a statement's rows. Rows without a level are predicted, too,
    but not fitted on; without any statement to fit on the prediction is 0.
    """
    statements = {row.statement_id: row for row in rows}
    order = sorted(statements)
    language = language_of_pairs([row.statement for row in statements.values()], ())
    levels: dict[str, list[int]] = {}
    for unit in rows:
        if unit.level is not None:
            levels.setdefault(unit.statement_id, []).append(unit.level)
    target = {key: sum(values) / len(values) for key, values in levels.items()}
    features = np.zeros((len(order), _FEATURES))
    for row, key in zip(features, order, strict=True):
        words = words_of(fold(statements[key].statement), language)
        row[[crc32(word.encode()) % _FEATURES for word in words]] = 1.0
    goal = np.array([target.get(key, np.nan) for key in order])
    part = (_unit_hashes(statements[key].group for key in order) * _FOLDS).astype(int)
    predicted = np.zeros(len(order))
    # The threads of a small system wait for one another longer than they compute.
    with threadpool_limits(1 if len(order) < _FEATURES else None, "blas"):
        for number in range(_FOLDS):
            train = (part != number) & np.isfinite(goal)
            if train.any():
                predicted[part == number] = _ridge(features[train], goal[train], features[part == number])
    by_statement = dict(zip(order, predicted, strict=True))
    return np.array([by_statement[row.statement_id] for row in rows])


def _ridge(features: ControlScores, goal: ControlScores, new: ControlScores) -> ControlScores:
    used = features.any(axis=0)  # a word that no row has gets weight 0: leaving it out changes the cost alone
    features, new = features[:, used], new[:, used]
    middle = goal.mean()
    if len(features) < features.shape[1]:  # the same weights from the smaller of the two systems of equations
        gram = features @ features.T + _RIDGE * np.eye(len(features))
        weights = features.T @ np.linalg.solve(gram, goal - middle)
    else:
        gram = features.T @ features + _RIDGE * np.eye(features.shape[1])
        weights = np.linalg.solve(gram, features.T @ (goal - middle))
    predicted: ControlScores = new @ weights + middle
    # Two statements with the same words get the same score to the last bit, whatever order the solver summed in.
    return predicted.round(9)


def _unit_hashes(texts: Iterable[str]) -> ControlScores:
    """Return a number in [0, 1) for each text, (n_texts,), from 7 bytes of its hash."""
    digests = b"".join(
        [b"\0" + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest() for text in texts]
    )
    return np.asarray(np.frombuffer(digests, ">u8") / 2**56)


def _of_each(value: Callable[[UnitRow], float]) -> Control:
    return lambda rows: np.array([value(row) for row in rows], dtype=np.float64)


CONTROLS: dict[str, Control] = {
    "constant": _of_each(lambda row: 1.0),
    # Uniform in [0, 1), drawn from a hash of the row's id: the same in every run and any order.
    "random": lambda rows: _unit_hashes(row.id for row in rows),
    # The gold level itself, which is the best that this gold allows, and the gold upside down.
    "oracle": _of_each(lambda row: np.nan if row.level is None else float(row.level)),
    "inverted oracle": _of_each(lambda row: np.nan if row.level is None else -float(row.level)),
    # Words in the statement, and in the chunk (unit chunk) or in the cited document (unit citation).
    "statement length": _of_each(lambda row: len(row.statement.split())),
    "document length": _of_each(lambda row: row.words),
    "statement only": statement_only,
    # The earlier in its document, the higher.
    "chunk position": _of_each(lambda row: -float(row.position)),
}
"""Controls computed from the rows alone, by name: functions from rows to scores, (n_rows,)."""


def rated_controls(rows: RatingColumns) -> dict[str, ControlScores]:
    """Return the scores of the controls of n rated texts, by name, (n,) each; no documents are needed.

    "statement length" is left out if any text is empty, and "system" (the mean rating of the text's system in other
    groups) unless there are several systems, each text has one, and each system has texts in several folds of groups.
    """
    n, gold, system = len(rows), rows.gold, rows.system.codes
    scores = {"constant": np.ones(n), "random": _unit_hashes(rows.id.tolist())}
    scores |= {"oracle": gold, "inverted oracle": -gold}
    if (rows.text != "").all():
        scores["statement length"] = np.fromiter(map(len, map(str.split, rows.text.tolist())), np.float64, n)
    if len(rows.system.categories) > 1 and "" not in rows.system.categories:
        means = _means_elsewhere(gold, system, rows.group)
        scores |= {SYSTEM: means} if np.isfinite(means).all() else {}
    return scores


def _means_elsewhere(gold: ControlScores, system: NDArray[np.integer], group: Categorical) -> ControlScores:
    """Return for each text the mean rating of its system's texts outside the text's fold of groups, (n,).

    It is NaN where the system has no such texts. gold: ratings, (n,). system: number of each text's system, (n,). There
    are five folds: means without one text, or one group, would order the texts of one system against their own ratings
    (simulated without any difference of systems: Spearman -.15; a fold left out: -.05; the text included: +.12).
    """
    names = group.categories.tolist()
    fold = np.empty(len(names), dtype=np.int64)
    fold[np.argsort(_unit_hashes(names))] = np.arange(len(names)) % _FOLDS
    fold = fold[group.codes]
    order = np.lexsort((gold, system))  # so that sums of floats do not depend on the order of the file
    means = np.empty(gold.size)
    for number in range(_FOLDS):
        rest, left_out = order[fold[order] != number], fold == number
        totals, counts = (np.bincount(system[rest], values, system.max() + 1) for values in (gold[rest], None))
        means[left_out] = (totals / np.where(counts > 0, counts, np.nan))[system[left_out]]
    return means


OVERLAP, REFERENCE_MODEL = "overlap", "support-mini"
"""The metrics that are controls: the share of shared words, and a small model that was fitted on other data."""

BESIDE_A_METRIC = " (control)"
"""What is added to the name of a control that a metric has too."""

GOLD_CONTROLS = frozenset(name + label for name in ("oracle", "inverted oracle") for label in ("", BESIDE_A_METRIC))
"""Oracle controls: they mark the ends of the scale, and no metric has to be better than they are."""

SYSTEM = "system"
"""The control of rated texts that knows which system wrote them; a measure of systems' means would show it the gold."""

CHANCE_CONTROLS = frozenset(name + label for name in ("constant", "random") for label in ("", BESIDE_A_METRIC))
"""Controls without information: where a measure is defined for them, they have its chance value."""

_GROUPS = {**{OVERLAP: "lexical", REFERENCE_MODEL: "reference"}, **dict.fromkeys(GOLD_CONTROLS, "oracle")}
"""Groups of controls by name."""


def group_of(control: str) -> str:
    """Return a control's group by its name or its label "NAME (control)": lexical, reference, oracle, else trivial."""
    return _GROUPS.get(control.removesuffix(BESIDE_A_METRIC), "trivial")
