"""The protocol of decisions between the gold's levels, by thresholds of the score that are chosen on other rows.

Beyond the base paper. Thresholds are learnt by nested cross-validation that never splits a group; every row is decided
by thresholds from other folds. What is resampled and compared are those decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

import numpy as np

from metaeval.stats import classification as measures
from metaeval.stats.arrays import Floats
from metaeval.stats.decisions import Objective, level_count, nested_decisions
from metaeval.stats.resampling import Draws, replicate
from protocols.classification import LEVELS, OTHER_LEVEL, off_the_levels
from protocols.contract import Influences, Judgements, Measure, Option, Outcome, Protocol, Replicates, Resampling
from protocols.measure_estimates import NO_SCORES, Qualities, jackknifed, opened, outcome
from protocols.two_way_clusters import by_clusters

MEASURES: Mapping[str, Callable[[Floats], Floats]] = {
    "macro_f1": measures.macro_f1,
    "balanced_accuracy": measures.balanced_accuracy,
    "kappa": measures.quadratic_kappa,
    "accuracy": measures.accuracy,
}


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Return macro-F1, balanced accuracy, quadratic weighted kappa and accuracy of out-of-fold decisions.

    Decisions are between the levels that the gold has, three or two. options: folds, and the objective that thresholds
    maximise. Rows whose gold is not 0, 1 or 2 are left out, and counted in `excluded`. Undefined, with a note, where a
    level has no scored row or there are fewer groups than folds. Raises ValueError for an infinite score or gold that
    is not finite.
    """
    judgements, n_groups = opened(judgements, resampling)
    known, missing = np.isin(judgements.gold, list(LEVELS)), np.isnan(judgements.score)
    used = judgements.rows(known & ~missing)
    groups = np.unique(used.group).size
    why = _why_undefined(used, options, _levels(judgements))
    qualities = {key: Qualities(groups, why or "undefined") for key in MEASURES}
    decided = used.rows(np.zeros(used.gold.size, dtype=np.bool_)) if why else decide(used, options)
    run = partial(replicates, decided, n_groups, options=options, keys=MEASURES)
    return outcome(
        *(judgements, used, known & missing, run, qualities, n_groups, resampling),
        excluded={OTHER_LEVEL: int((~known).sum())},
        warnings=off_the_levels(known),
        influence=partial(influence, decided, n_groups, options, tuple(MEASURES)),
    )


@by_clusters
def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the groups' influence values on the measures `keys`; scores are decided levels."""
    run = partial(replicates, rows, n_groups, options=options, keys=keys)
    return jackknifed(run, rows.group, n_groups, lambda key: (-1.0 if key == "kappa" else 0.0, 1.0))


def decide(rows: Judgements, options: Mapping[str, str]) -> Judgements:
    """Return the rows with gold 0, 1 or 2, each score replaced by the level that is decided out of fold.

    The level is one of those that the gold has. Returns no rows if the gold has one level only, or there are fewer
    groups than folds. Every row must have a score.
    """
    rows = rows.rows(np.isin(rows.gold, list(LEVELS)))
    levels = _levels(rows)
    if _why_undefined(rows, options, levels):
        return rows.rows(np.zeros(rows.gold.size, dtype=np.bool_))
    objective: Objective = "balanced-accuracy" if options.get("objective") == "balanced-accuracy" else "macro-f1"
    gold, number = np.searchsorted(levels, rows.gold), level_count(levels)
    predicted, _ = nested_decisions(rows.score, gold, rows.group, _folds(options), 0, objective, number)
    return rows.with_score(levels[predicted])


def replicates(
    rows: Judgements, n_groups: int, draws: Draws, options: Mapping[str, str], keys: Collection[str]
) -> Replicates:
    """Return each measure of `keys` under each weighting of the groups, (draws.n,); scores are decided levels."""
    levels = _levels(rows)
    decided, gold = (np.searchsorted(levels, values) for values in (rows.score, rows.gold))
    counts = measures.decision_counts(decided, gold, rows.group, n_groups, level_count(levels))
    return {key: replicate(measures.resampled(counts, MEASURES[key]), draws) for key in keys}


def _folds(options: Mapping[str, str]) -> int:
    return int(options.get("folds", "5"))


def _levels(judgements: Judgements) -> Floats:
    """Return the levels that the gold has, ascending; all three where it has fewer than two."""
    present = np.array(sorted(level for level in LEVELS if (judgements.gold == level).any()))
    return present if present.size > 1 else np.array(sorted(LEVELS), dtype=np.float64)


def _absent(judgements: Judgements, levels: Floats) -> str:
    names = {level: name for level, name in LEVELS.items() if level in levels}
    return " or ".join(name for level, name in names.items() if not (judgements.gold == level).any())


def _blind(judgements: Judgements) -> str:
    absent = _absent(judgements, _levels(judgements))
    return f"no row is {absent}" if absent else ""


def _why_undefined(used: Judgements, options: Mapping[str, str], levels: Floats) -> str:
    if not used.score.size:
        return NO_SCORES
    absent = _absent(used, levels)
    if absent:
        return f"no scored {absent} pairs"
    groups = np.unique(used.group).size
    return f"{groups} groups cannot be cut into {_folds(options)} folds" if groups < _folds(options) else ""


_measure = partial(Measure, blind=_blind)

PROTOCOL = Protocol(
    name="decision",
    title="Decisions between levels, thresholds cross-validated",
    measures=(
        _measure("macro_f1", "Macro-F1", about="mean of the F1 of the levels"),
        _measure("balanced_accuracy", "Balanced accuracy", about="mean of the recall of the levels"),
        _measure("kappa", "Quadratic kappa", about="Cohen's kappa with quadratic weights"),
        _measure("accuracy", "Accuracy", about="share of rows whose level is decided rightly"),
    ),
    headline="macro_f1",
    shown=lambda judgements, options: ("macro_f1", "balanced_accuracy", "kappa"),
    evaluate=evaluate,
    replicate=replicates,
    options={
        "folds": Option(
            "number of folds, of whole groups",
            {number: f"thresholds are chosen in {number} folds of whole groups" for number in ("5", "10", "3")},
        ),
        "objective": Option(
            "measure that the thresholds maximise",
            {name: f"what the thresholds are chosen for: {name}" for name in ("macro-f1", "balanced-accuracy")},
        ),
    },
    usual=False,
    judge=decide,
    influence=influence,
)
