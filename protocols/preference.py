"""The protocol of preferences between two texts of one input: consistency, and accuracy with calibrated ties."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from metaeval.stats import text_pairs as pairwise
from metaeval.stats.arrays import Floats, Ints, group_ends
from metaeval.stats.pools import pool_mean
from metaeval.stats.resampling import Draws, replicate, value
from protocols.contract import Influences, Judgements, Measure, Option, Outcome, Protocol, Replicates, Resampling
from protocols.measure_estimates import NO_SCORES, Qualities, jackknifed, opened, outcome, pair_of_bounds
from protocols.two_way_clusters import by_clusters

KEYS = ("consistency", "pairwise")
TIED = {"lost": 0.0, "half": 0.5}
ALONE = "alone in its input"
TIES = "scores less than {} apart are tied in pairwise accuracy: the margin that is best for the metric on these rows"


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Return the consistency and tie-calibrated pairwise accuracy of the pairs of rows that share a pool.

    Consistency is over all scored pairs of different gold at once; pairwise accuracy is computed in each pool, over all
    its scored pairs, and averaged over pools. Rows alone in their pool are counted in `excluded`. The difference below
    which scores tie is the one that is best for the metric on these rows (as in Deutsch et al. 2023), and is not
    changed when groups are resampled. `bounds` of the consistency count every pair with an unscored row as wrong, and
    as right: a valid bound that need not be reached. Raises ValueError on an infinite score or a level not finite.
    """
    judgements, n_groups = opened(judgements, resampling)
    _, index, sizes = np.unique(judgements.pool, return_inverse=True, return_counts=True)
    alone = sizes[index] == 1
    missing = np.isnan(judgements.score) & ~alone
    used = judgements.rows(~missing & ~alone)
    undefined = NO_SCORES if not used.score.size else _crowded(used)
    pairs = _pairs(used)
    tie = pairwise.calibrated_tie(used.score, used.gold, pairs)
    values = _values(used.with_score(used.score / tie), pairs, options)
    qualities = {
        "consistency": Qualities(_groups(values["consistency"]), undefined or "no scored pair of unlike gold"),
        "pairwise": Qualities(_groups(values["pairwise"]), undefined or "no scored pair"),
    }
    if missing.any() and not undefined:
        bounds = _bounds(judgements, n_groups, options)
        qualities["consistency"] = replace(qualities["consistency"], bounds=bounds)
    result = outcome(
        *(judgements, used, missing, partial(_replicated, values, n_groups), qualities, n_groups, resampling),
        excluded={ALONE: int(alone.sum())},
        influence=partial(_moved, values, n_groups)
        if judgements.crossed is None
        else partial(influence, used.with_score(used.score / tie), n_groups, options, KEYS),
    )
    known = result.estimates["pairwise"].value is not None
    return replace(result, notes=(TIES.format(f"{tie:.3g}"),)) if known else result


def chance(rows: Judgements, options: Mapping[str, str]) -> Mapping[str, float]:
    """Return {"pairwise": 0.5} where no two texts of an input have equal gold, so that no tie is right; else {}."""
    pairs = _pairs(rows)
    return {} if (rows.gold[pairs.one] == rows.gold[pairs.other]).any() else {"pairwise": 0.5}


def decide(rows: Judgements, options: Mapping[str, str]) -> Judgements:
    """Return the rows with scores divided by the difference below which they tie, so that this difference becomes 1."""
    return rows.with_score(rows.score / pairwise.calibrated_tie(rows.score, rows.gold, _pairs(rows)))


def replicates(
    rows: Judgements, n_groups: int, draws: Draws, options: Mapping[str, str], keys: Collection[str]
) -> Replicates:
    """Return each measure of `keys` under each weighting of the groups, (draws.n,); `rows` must come from `decide`."""
    replicated = _replicated(_values(rows, _pairs(rows), options), n_groups, draws)
    return {key: replicated[key] for key in keys}


@partial(by_clusters, pooled=True)
def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the groups' influence values on the measures `keys`; `rows` must come from `decide`."""
    influences = _moved(_values(rows, _pairs(rows), options), n_groups)
    return {key: influences[key] for key in keys}


Averaged = tuple[Floats, Ints]
"""(values, groups), (m,) each, of the m pairs or pools whose mean is a measure; NaN does not count in the mean."""


def _replicated(values: Mapping[str, Averaged], n_groups: int, draws: Draws) -> Replicates:
    return {key: replicate(pool_mean(*averaged, n_groups), draws) for key, averaged in values.items()}


def _moved(values: Mapping[str, Averaged], n_groups: int) -> Influences:
    influences: Influences = {}
    for key, averaged in values.items():
        values_of_pairs, group = averaged
        run = partial(_replicated, {key: averaged}, n_groups)
        influences = {
            **influences,
            **jackknifed(run, group[~np.isnan(values_of_pairs)], n_groups, lambda _: (0.0, 1.0)),
        }
    return influences


def _pairs(rows: Judgements) -> pairwise.TextPairs:
    """Return all pairs of rows that share a pool; none if there are more than `MOST_PAIRS`."""
    return pairwise.text_pairs(rows.pool if not _crowded(rows) else rows.pool[:0])


def _values(rows: Judgements, pairs: pairwise.TextPairs, options: Mapping[str, str]) -> dict[str, Averaged]:
    _, first = np.unique(pairs.pool, return_index=True)
    consistent = pairwise.pair_consistency(rows.score, rows.gold, pairs, TIED[options.get("equal", "lost")])
    agreed = pairwise.accuracy_of_pools(rows.score, rows.gold, pairs, 1.0)
    return {"consistency": (consistent, rows.group[pairs.one]), "pairwise": (agreed, rows.group[pairs.one[first]])}


def _groups(averaged: Averaged) -> int:
    values, group = averaged
    return int(np.unique(group[~np.isnan(values)]).size)


def _bounds(judgements: Judgements, n_groups: int, options: Mapping[str, str]) -> tuple[float, float] | None:
    """Return (worst, best): the consistency with every pair of an unscored row counted as wrong, and as right."""
    pairs = _pairs(judgements)
    values, group = _values(judgements, pairs, options)["consistency"]
    open_ = np.isnan(judgements.score[pairs.one] + judgements.score[pairs.other]) & ~np.isnan(values)
    if not (~np.isnan(values)).any():
        return None
    low, high = (value(pool_mean(np.where(open_, end, values), group, n_groups), n_groups) for end in (0.0, 1.0))
    return pair_of_bounds(low, high)


def _crowded(judgements: Judgements) -> str:
    pairs, most = pairwise.number_of_pairs(judgements.pool), pairwise.MOST_PAIRS
    return f"{pairs:,} pairs of rows share an input, more than {most:,}" if pairs > most else ""


def _blind(judgements: Judgements, unlike: bool = False) -> str:
    if why := _crowded(judgements):
        return why
    if not pairwise.number_of_pairs(judgements.pool):
        return "no two rows share an input"
    codes, index = np.unique(judgements.pool, return_inverse=True)
    low, high = group_ends(judgements.gold, index, codes.size)
    return "" if not unlike or (low < high).any() else "no two rows of unlike gold share an input"


PROTOCOL = Protocol(
    name="preference",
    title="Which of two texts of one input is better (%)",
    measures=(
        Measure(
            "consistency",
            "Consistency",
            *(100.0, 1),
            about="share of pairs of unlike gold whose better text scores higher",
            blind=partial(_blind, unlike=True),
            ability="prefer the better of two texts",
            chance=0.5,
        ),
        Measure(
            "pairwise",
            "Pairwise accuracy",
            *(100.0, 1),
            about="share of an input's pairs ordered, or tied, as in the gold, at the tie that is best for the metric",
            blind=_blind,
        ),
    ),
    headline="consistency",
    shown=lambda judgements, options: KEYS,
    evaluate=evaluate,
    replicate=replicates,
    options={
        "equal": Option(
            "what a pair of equal scores counts",
            {
                "lost": "consistency counts a tie as a failure, as BUMP does",
                "half": "consistency counts a tie as one half",
            },
        )
    },
    usual=False,
    judge=decide,
    influence=influence,
    chance=chance,
)
