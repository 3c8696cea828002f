"""The protocol of ROC-AUC and average precision of full support against the rest, and of some support against none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from metaeval.stats.arrays import Bools, Ints
from metaeval.stats.classification import auc_influence, average_precision, average_precision_influence, roc_auc
from metaeval.stats.influence import Influence
from metaeval.stats.resampling import Draws, Prepared, replicate
from metaeval.stats.significance import delong
from protocols.classification import LEVELS, OTHER_LEVEL, bounds_of, chance_precision, off_the_levels
from protocols.contract import Floats, Influences, Judgements, Measure, Outcome, Protocol, Replicates, Resampling
from protocols.measure_estimates import NO_SCORES, Qualities, opened, outcome
from protocols.two_way_clusters import by_clusters

LEAST = {"full_rest": 2.0, "some_none": 1.0, "ap_full": 2.0, "ap_some": 1.0}
"""The lowest positive level of each measure."""
AREAS = ("full_rest", "some_none")


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Return the ROC-AUC and average precision of full support against the rest, and of some support against none.

    Rows whose gold is not 0, 1 or 2 are left out, and counted in `excluded`. `bounds` are exact: every unscored row is
    placed at the worst, and at the best end. Raises ValueError for an infinite score or gold that is not finite.
    """
    judgements, n_groups = opened(judgements, resampling)
    known, missing = np.isin(judgements.gold, list(LEVELS)), np.isnan(judgements.score)
    used = judgements.rows(known & ~missing)
    qualities = {key: _qualities(judgements.rows(known), key, n_groups) for key in LEAST}
    return outcome(
        *(judgements, used, known & missing, partial(replicates, used, n_groups, options=options, keys=LEAST)),
        *(qualities, n_groups, resampling),
        excluded={OTHER_LEVEL: int((~known).sum())},
        warnings=off_the_levels(known),
        influence=partial(influence, used, n_groups, options, LEAST),
    )


def _qualities(rows: Judgements, key: str, n_groups: int) -> Qualities:
    positive, missing = rows.gold >= LEAST[key], np.isnan(rows.score)
    bounds = None if missing.all() else bounds_of(_of(key), rows, positive, n_groups)
    undefined = NO_SCORES if missing.all() else "the scored pairs are all on one side"
    return Qualities(np.unique(rows.group[~missing]).size, undefined, bounds=bounds)


def replicates(
    rows: Judgements, n_groups: int, draws: Draws, options: Mapping[str, str], keys: Collection[str]
) -> Replicates:
    """Return each measure of `keys` under each weighting of the groups, (draws.n,); every row must have a score."""
    rows = rows.rows(np.isin(rows.gold, list(LEVELS)))
    return {key: replicate(_of(key)(rows.score, rows.gold >= LEAST[key], rows.group, n_groups), draws) for key in keys}


@by_clusters
def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the groups' influence values on the measures `keys`, None where undefined; every row must have a score."""
    rows = rows.rows(np.isin(rows.gold, list(LEVELS)))
    influences: dict[str, Influence | None] = {}
    for key in keys:
        positive = rows.gold >= LEAST[key]
        if not positive.any() or positive.all():
            influences[key] = None
        elif key in AREAS:
            influences[key] = auc_influence(rows.score, positive.astype(np.float64), rows.group, n_groups)(1, 0)
        else:
            influences[key] = average_precision_influence(rows.score, positive, rows.group, n_groups)
    return influences


def chance(rows: Judgements, options: Mapping[str, str]) -> Mapping[str, float]:
    """Return the expected value of each measure for random scores; an undefined average precision is left out."""
    values = {"full_rest": 0.5, "some_none": 0.5}
    gold = rows.gold[np.isin(rows.gold, list(LEVELS))]
    for key in ("ap_full", "ap_some"):
        if (expected := chance_precision(gold >= LEAST[key])) is not None:
            values[key] = expected
    return values


def _of(key: str) -> Callable[[Floats, Bools, Ints, int], Prepared]:
    return roc_auc if key in AREAS else average_precision


def _shown(judgements: Judgements) -> tuple[str, ...]:
    # With two levels, both cuts are the same.
    shown = [key for key in AREAS if not _blind(key, judgements)]
    return tuple(shown[:1] if np.unique(judgements.gold).size == 2 else shown) or AREAS


def _blind(key: str, judgements: Judgements) -> str:
    levels = judgements.gold[np.isin(judgements.gold, list(LEVELS))]
    if not levels.size:
        return "no gold is 2 (full), 1 (partial) or 0 (none), which -p classification does not need"
    positive = levels >= LEAST[key]
    if positive.any() and not positive.all():
        return ""
    lacking = {2.0: "below full", 1.0: "none"} if positive.any() else {2.0: "full", 1.0: "partial or full"}
    return f"no row is {lacking[LEAST[key]]}"


def _delong(key: str, gold: Floats, first: Floats, other: Floats) -> dict[str, float]:
    return {"delong": delong(first, other, gold >= LEAST[key]).p}


def _measure(key: str, label: str, about: str, ability: str = "") -> Measure:
    measure = Measure(key, label, 100.0, 1, about=about, blind=partial(_blind, key), ability=ability)
    return replace(measure, closed_forms=partial(_delong, key), chance=0.5) if key in AREAS else measure


PROTOCOL = Protocol(
    name="binary",
    title="Full support against the rest, some support against none (%)",
    measures=(
        _measure(
            "full_rest", "full v. rest", "ROC-AUC of full support against the rest", "tell full support from the rest"
        ),
        _measure("some_none", "some v. none", "ROC-AUC of some support against none", "tell some support from none"),
        _measure("ap_full", "AP full", "average precision of full support against the rest"),
        _measure("ap_some", "AP some", "average precision of some support against none"),
    ),
    headline="full_rest",
    shown=_shown,
    evaluate=evaluate,
    replicate=replicates,
    influence=influence,
    chance=chance,
    usual=False,
)
