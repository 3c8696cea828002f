"""Correlation of a metric's scores with the human levels (base paper, section 3.2.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import numpy as np

from metaeval.stats.arrays import distinct
from metaeval.stats.bounds import attainable, extreme_scores, perfect
from metaeval.stats.correlations import partial_correlation, pearson, rank_correlations, residual_correlation
from metaeval.stats.influence import SIGNED, of_rows
from metaeval.stats.partial_correlation_influence import partial_spearman_by_row, residual_spearman_by_row
from metaeval.stats.resampling import Draws, itself, replicate
from metaeval.stats.ties import tie_blocks
from protocols.contract import (
    Floats,
    Influences,
    Judgements,
    Measure,
    Option,
    Outcome,
    Protocol,
    Replicates,
    Resampling,
)
from protocols.measure_estimates import NO_SCORES, ONE_LEVEL, Qualities, jackknifed, opened, outcome, pair_of_bounds
from protocols.two_way_clusters import by_clusters

MOST_LEFT_OUT = 1000
"""The number of groups up to which a measure without a one-pass jackknife is recomputed without each."""

WINSORISED = 0.1
"""The share of the scores at either end that the option `robust=winsor` sets to the next score inwards."""

HEAVY = 1.0
"""Excess kurtosis of the scores within levels from which on a warning is given; 0 for a normal distribution."""

HEAVY_TAILS = (
    f"Within levels the scores have an excess kurtosis above {HEAVY:g}: the interval of Pearson's r may hold the "
    "true value less often than it says (at 95 %, in 90 to 95 of 100 samples). Spearman's rho has no such trouble, nor "
    f"Pearson's r with the lowest and highest {100 * WINSORISED:g} % of scores drawn in "
    "(-s protocol_options.correlation.robust=winsor)."
)
BY_RANKS = {"partial_spearman": partial_spearman_by_row, "residual_spearman": residual_spearman_by_row}
PLAIN = ("pearson", "spearman", "kendall")
PARTIAL = ("partial_pearson", "partial_spearman", "residual_spearman")


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Return Pearson's r, Spearman's rho and Kendall's tau-b of score against gold, over the scored rows.

    With two generating systems or more also the partial coefficients that control for the system: Pearson's, Spearman's
    (ranks first, then the systems' means subtracted), and the Spearman of score and gold minus their systems'
    means, which FRANK's authors (arXiv 2104.13346) report as partial Spearman. Undefined, with a note, where the score
    or the gold is constant. `bounds` give each unscored row an observed score, against or with its level: a bound
    by assignment, not a proof (see `extreme_scores` in `metaeval.stats.bounds`).
    With the option `robust` Pearson's coefficients are those of winsorised scores (Wilcox, "Some results on a
    Winsorized correlation coefficient", 1993), here of the score alone, since the gold has few levels.
    Raises ValueError on an infinite score or a level not finite.
    """
    judgements, n_groups = opened(judgements, resampling)
    scored = ~np.isnan(judgements.score)
    used = judgements.rows(scored)
    keys = [*PLAIN, *(PARTIAL if _systems(judgements) > 1 else ())]
    qualities = _qualities(judgements, used, keys, n_groups, options)
    run = partial(replicates, used, n_groups, options=options, keys=keys)
    by_kind = perfect(used.gold)
    ceilings = {key: {kind: of[key] for kind, of in by_kind.items() if not np.isnan(of[key])} for key in PLAIN}
    heavy = bool(resampling.n) and options.get("robust") != "winsor" and _kurtosis_within_levels(used) > HEAVY
    return outcome(
        *(judgements, used, ~scored, run, qualities, n_groups, resampling),
        warnings=(HEAVY_TAILS,) if heavy else (),
        ceilings={key: kinds for key, kinds in ceilings.items() if kinds},
        influence=partial(influence, used, n_groups, options, keys),
    )


@by_clusters
def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the influence values of the groups on each coefficient; every row must have a score.

    Partial coefficients of ranks are recomputed without each group, and differentiated where there are more than
    `MOST_LEFT_OUT`; None where such a coefficient is undefined.
    """
    by_ranks = [key for key in keys if key in BY_RANKS and n_groups > MOST_LEFT_OUT]
    run = partial(replicates, rows, n_groups, options=options, keys=[key for key in keys if key not in by_ranks])
    influences = dict(jackknifed(run, rows.group, n_groups, lambda _: SIGNED))
    if rows.system is not None:
        for key in by_ranks:
            value, contributions = BY_RANKS[key](rows.score, rows.gold, rows.system)
            influences[key] = None if np.isnan(value) else of_rows(value, contributions, rows.group, n_groups, SIGNED)
    return {key: influences[key] for key in keys}


def replicates(
    rows: Judgements, n_groups: int, draws: Draws, options: Mapping[str, str], keys: Collection[str]
) -> Replicates:
    """Return each measure of `keys` under each weighting of the groups, (draws.n,); every row must have a score."""
    columns = rows.score, rows.gold, rows.group, n_groups
    drawn_in = winsorised(rows.score) if options.get("robust") == "winsor" else rows.score
    system = rows.group if rows.system is None else rows.system  # without systems no partial coefficient is asked for
    by_system = rows.gold, system, rows.group, n_groups
    prepared = {
        "pearson": lambda: pearson(drawn_in, *columns[1:]),
        "partial_pearson": lambda: partial_correlation(drawn_in, *by_system, ranks=False),
        "partial_spearman": lambda: partial_correlation(rows.score, *by_system, ranks=True),
        "residual_spearman": lambda: residual_correlation(rows.score, *by_system),
    }
    replicated = {key: replicate(prepared[key](), draws) for key in keys if key in prepared}
    if "spearman" in keys or "kendall" in keys:
        replicated["spearman"], replicated["kendall"] = replicate(rank_correlations(*columns), draws)
    return {key: replicated[key] for key in keys}


def winsorised(score: Floats) -> Floats:
    """Return scores (n,) whose lowest and highest tenth, rounded down, are set to the next score inwards.

    As `scipy.stats.mstats.winsorize` with limits of .1.
    """
    if not score.size:
        return score
    ascending, each = np.sort(score), int(WINSORISED * score.size)
    return np.clip(score, ascending[each], ascending[-1 - each])


def _kurtosis_within_levels(used: Judgements) -> float:
    """Return the excess kurtosis of the scores less their gold level's mean; -inf if scores are equal in each level."""
    level, n_levels = tie_blocks(used.gold)
    rows = np.maximum(np.bincount(level, minlength=n_levels), 1)
    rest = used.score - (np.bincount(level, used.score, n_levels) / rows)[level]
    widest, largest = (float(np.abs(values).max(initial=0.0)) for values in (rest, used.score))
    # A rest that is lost in the rounding of the scores is that of equal scores.
    if not widest > 1e-12 * largest or not np.isfinite(widest):
        return -np.inf
    rest /= widest  # so that squares can neither overflow nor vanish
    return float((rest**4).mean() / (rest**2).mean() ** 2) - 3


def _qualities(
    judgements: Judgements, used: Judgements, keys: Collection[str], n_groups: int, options: Mapping[str, str]
) -> dict[str, Qualities]:
    groups, undefined = distinct(used.group).size, _why_undefined(used)
    ceilings = {key: float(most) for key, most in attainable(used.score, used.gold).items() if not np.isnan(most)}
    bounds: dict[str, tuple[float, float] | None] = {}
    if 0 < used.score.size < judgements.score.size:
        refilled = (judgements.with_score(score) for score in extreme_scores(judgements.score, judgements.gold))
        every = [replicates(rows, n_groups, itself(n_groups), options, keys) for rows in (used, *refilled)]
        values = {key: [float(each[key][0]) for each in every] for key in keys}
        bounds = {key: pair_of_bounds(np.min(of), np.max(of)) for key, of in values.items()}
    return {key: Qualities(groups, undefined, bounds=bounds.get(key), ceiling=ceilings.get(key)) for key in keys}


def _systems(judgements: Judgements) -> int:
    return 0 if judgements.system is None else distinct(judgements.system).size


def _why_undefined(used: Judgements) -> str:
    if not used.score.size:
        return NO_SCORES
    if used.score.size < 2:
        return "fewer than two scored pairs"
    if used.score.min() == used.score.max():
        return "constant score"
    return ONE_LEVEL if used.gold.min() == used.gold.max() else "constant within every system"


def _one_level(judgements: Judgements) -> str:
    return ONE_LEVEL if np.unique(judgements.gold).size < 2 else ""


def _one_level_per_system(judgements: Judgements) -> str:
    if judgements.system is None:
        return _one_level(judgements)
    level, n_levels = tie_blocks(judgements.gold)
    same = distinct(judgements.system * n_levels + level).size == _systems(judgements)
    return _one_level(judgements) or ("one gold level only within every system" if same else "")


_plain = partial(Measure, blind=_one_level, chance=0.0)
_partial = partial(Measure, blind=_one_level_per_system, chance=0.0)

PROTOCOL = Protocol(
    name="correlation",
    title="Correlation with human levels",
    measures=(
        _plain("pearson", "Pearson", about="Pearson's r"),
        _plain(
            "spearman", "Spearman", about="Spearman's rho, with mean ranks for ties", ability="follow the human labels"
        ),
        _plain("kendall", "Kendall", about="Kendall's tau-b"),
        _partial("partial_pearson", "Partial Pearson", about="Pearson's r, controlled for the system"),
        _partial(
            *("partial_spearman", "Partial Spearman"), tested=False, about="Spearman's rho, controlled for the system"
        ),
        _partial(
            "residual_spearman",
            "Residual Spearman",
            tested=False,
            about="Spearman's rho of score and gold less each system's mean",
        ),
    ),
    headline="spearman",
    options={
        "robust": Option(
            "scores that Pearson's r is of",
            {
                "none": "the scores as they are",
                "winsor": "the lowest and the highest 10 % of the scores set to the next one (winsorised)",
            },
        )
    },
    # On corpora the system's part is a matter of its own; ratings of whole outputs are usually reported that way.
    shown=lambda rows, options: PLAIN if rows.levels or _systems(rows) < 2 else (*PLAIN, *PARTIAL),
    evaluate=evaluate,
    replicate=replicates,
    influence=influence,
    chance=lambda rows, options: dict.fromkeys((*PLAIN, *PARTIAL), 0.0),
    table_number=2,
    table_measures=PLAIN,
)
