"""How far apart the scores of two kinds of rows are: a protocol of one's own, in one file."""

from functools import partial

import numpy as np

from protocols.contract import Measure, Option, Protocol
from protocols.measure_estimates import NO_SCORES, Qualities, opened, outcome


def replicates(rows, n_groups, draws, options, keys):
    """How much higher rows above level 0 score than the others, in mean, as a share of the spread."""
    above = (rows.gold > 0)[:, None]
    spread = np.ptp(rows.score) if rows.score.size else 0.0
    factor = {"plain": 1.0, "halved": 0.5}[options["form"]] / spread if spread else np.nan
    found = []
    for tile in draws:
        weights = tile[rows.group].astype(float)
        found.append(factor * (_mean(rows.score, weights * above) - _mean(rows.score, weights * ~above)))
    return {key: np.concatenate(found) for key in keys}


def _mean(score, weights):
    total = weights.sum(axis=0)
    return np.divide(score @ weights, total, where=total > 0, out=np.full(total.shape, np.nan))


def evaluate(judgements, resampling, options):
    judgements, n_groups = opened(judgements, resampling)
    scored = ~np.isnan(judgements.score)
    used = judgements.rows(scored)
    why = "no rows of both kinds" if used.score.size else NO_SCORES
    qualities = {"gap": Qualities(np.unique(used.group).size, why)}
    run = partial(replicates, used, n_groups, options=options, keys=["gap"])
    return outcome(judgements, used, ~scored, run, qualities, n_groups, resampling)


GAP = Protocol(
    name="gap",
    title="Gap between supported and unsupported",
    measures=(Measure("gap", "Gap", about="difference of the mean scores, as a share of their range"),),
    shown=lambda judgements, options: ("gap",),
    evaluate=evaluate,
    replicate=replicates,
    options={"form": Option("scale of the gap", {"plain": "as it is", "halved": "half of it"})},
    headline="gap",
    usual=False,
    figure="bars",
)
