"""Correlation of systems' means, and of the systems' texts on each input: system-level and summary-level."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from metaeval.stats import systems as stats
from metaeval.stats.arrays import Floats, Ints, scaled
from metaeval.stats.influence import Influence
from metaeval.stats.intervals import studentised
from metaeval.stats.pools import pool_mean
from metaeval.stats.resampling import Draws, bootstrap, percentile_interval, replicate, swaps
from metaeval.stats.systems import COEFFICIENTS
from metaeval.stats.ties import midranks
from protocols.contract import Influences, Judgements, Measure, Option, Outcome, Protocol, Replicates, Resampling
from protocols.measure_estimates import NO_SCORES, Qualities, jackknifed, opened, outcome

BY_SYSTEM = tuple(f"sys_{name}" for name in COEFFICIENTS)
BY_INPUT = tuple(f"input_{name}" for name in COEFFICIENTS)
KEYS = (*BY_SYSTEM, "spa", *BY_INPUT)
LIMIT = "sys_disattenuated"
"""Estimated, and noted beside the table; it has neither tests nor a column."""
STEPS = ("sys_spearman", "sys_kendall")
"""Measures that change only where two systems change places, so that the jackknife says nothing of them."""
SAID = {
    "inputs": "Intervals of System Spearman and System Kendall are percentiles of {} resamples of inputs, and so are "
    "their tests against controls.",
    "both": "Intervals, and tests against controls, are of {} resamples of systems and inputs; two metrics exchange "
    "systems and inputs.",
    "systems": "Intervals, and tests against controls, are of {} resamples of systems; two metrics exchange systems.",
}
AT_SO_MANY = "System Pearson at {} inputs; disattenuated, at ever more: {}; reliability of scores {:.2f}, gold {:.2f}"
NOISE_ALONE = "the systems' means spread no more than their noise"
WITHOUT = "System Pearson without {}: {:.3f}"
FEW_ROWS = "{} {} rows on less than a quarter as many inputs as the median system, and may decide System Pearson."
FEWEST = 3
"""The least number of systems: the correlation of two is 1 or -1 whatever the scores."""


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Return Pearson, Spearman and Kendall of the systems' means, and of the systems on each input, averaged.

    Also returns soft pairwise accuracy. Several scored rows of a system on one input count with their mean. Inputs
    whose coefficient is undefined (one system, or a constant) are left out of the average. By default systems are
    fixed, and intervals are over inputs; Spearman and Kendall of systems, which a single group rarely changes, have
    percentile intervals. With the option `resample` systems, or systems and inputs, are resampled for percentile
    intervals. Values of systems are those at this many inputs; `LIMIT` is Pearson's r without their noise. Raises
    ValueError on an infinite score or a level not finite.
    """
    judgements, n_groups = opened(judgements, resampling)
    missing = np.isnan(judgements.score)
    used = judgements.rows(~missing)
    undefined = NO_SCORES if missing.all() else _blind(used) or "constant score or gold"
    limit, groups = NO_SCORES if missing.all() else _blind(used) or NOISE_ALONE, np.unique(used.group).size
    result = outcome(
        *(judgements, used, missing, partial(replicates, used, n_groups, options=options, keys=(*KEYS, LIMIT))),
        *({**dict.fromkeys(KEYS, Qualities(groups, undefined)), LIMIT: Qualities(groups, limit)}, n_groups, resampling),
        influence=partial(influence, used, n_groups, options, (*KEYS, LIMIT)),
    )
    if not _blind(used):
        result = _disattenuated(result, used, n_groups, resampling)
    what = options.get("resample", "inputs")
    if not resampling.n or _blind(used) or groups < 2:
        return result
    drawn, estimates = resampled(used, n_groups, resampling, options), dict(result.estimates)
    for key, values in drawn.items():
        if estimates[key].value is not None:
            low, high = ends = percentile_interval(values[1:], resampling.level) or (None, None)
            note = "no interval: undefined in most resamples" if None in ends else ""
            estimates[key] = replace(estimates[key], low=low, high=high, effective=None, note=note)
    warning = SAID[what].format(f"{resampling.n:,}")
    return replace(result, estimates=estimates, warnings=(*result.warnings, warning), resampled=drawn)


def _disattenuated(result: Outcome, used: Judgements, n_groups: int, resampling: Resampling) -> Outcome:
    """Return the result with an estimate of `LIMIT`, a note on it, and a warning and note on systems with few rows."""
    score, gold, group = _cells(used)
    limit, parts, reliability = stats.disattenuated(score, gold, group, n_groups)
    warnings, notes = _few_rows(used, n_groups)
    if np.isnan(limit):
        return replace(result, notes=notes, warnings=(*result.warnings, *warnings))
    counts = np.bincount(group, minlength=n_groups)
    # Close to 1, where the scale of the interval ends, it is that of the widest value below.
    moved = Influence(min(limit, stats.MOST_CERTAIN), parts[None], counts[None], (-1.0, 1.0))
    estimate, known = studentised(limit, moved, int(np.count_nonzero(counts)), resampling), f"{limit:.3f}"
    if ends := estimate.interval:
        low, high = min(ends[0], limit), max(ends[1], limit)
        estimate, known = replace(estimate, low=low, high=high), f"{known} ({low:.3f} to {high:.3f})"
    notes = (AT_SO_MANY.format(f"{group.size:,}", known, *reliability), *notes)
    estimates = {**result.estimates, LIMIT: estimate}
    return replace(result, estimates=estimates, notes=notes, warnings=(*result.warnings, *warnings))


def _few_rows(used: Judgements, n_groups: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (warnings, notes), at most one each, on systems on few inputs, and on System Pearson without them."""
    score, gold, group = _cells(used)
    inputs = (~np.isnan(score)).sum(axis=1)
    few = inputs < np.median(inputs) / 4
    if not few.any():
        return (), ()
    codes = np.unique(used.system if used.system is not None else [])[few]
    names = ", ".join(used.systems[code] if code < len(used.systems) else f"system {code}" for code in codes)
    warning = FEW_ROWS.format(names, "has" if codes.size == 1 else "have")
    rest = stats.system_level(score[~few], gold[~few], group, n_groups)
    pearson = float(rest.evaluate(np.ones((n_groups, 1), dtype=np.uint8))[0, 0])
    enough = (~few).sum() >= FEWEST and not np.isnan(pearson)
    return (warning,), ((WITHOUT.format(names, pearson),) if enough else ())


def resampled(rows: Judgements, n_groups: int, resampling: Resampling, options: Mapping[str, str]) -> Replicates:
    """Return the measures with resampled intervals, (1 + n,) each, the input's value first; all rows need a score."""
    if _blind(rows):
        return {}
    what, (score, gold, group) = options.get("resample", "inputs"), _cells(rows)
    draws = bootstrap(n_groups, resampling.n, resampling.seed)
    if what == "inputs":
        values = replicate(stats.system_level(score, gold, group, n_groups), draws)
        return {key: row for key, row in zip(BY_SYSTEM, values, strict=True) if key in STEPS}
    drawn = score, gold, group, draws, resampling.seed, what == "both"
    measures = dict(zip((*BY_SYSTEM, *BY_INPUT), np.concatenate(stats.two_way(*drawn)), strict=True))
    return measures if _many(rows) else measures | {"spa": stats.soft_accuracy_of_drawn(*drawn)}


def exchanged(
    first: Judgements, other: Judgements, permutations: int, seed: int, options: Mapping[str, str]
) -> Replicates:
    """Return two metrics' differences (1 + permutations,), in the measures of `resampled`, when scores are exchanged.

    Exchanged are whole groups of inputs, or with the option `resample` systems, or systems and inputs. The scores are
    on one scale then: ranks over all rows for rank correlations on each input, otherwise z-scores.
    """
    if _blind(first):
        return {}
    what = options.get("resample", "inputs")
    (mine, gold, group), (theirs, _, _) = (_cells(rows.with_score(_z_scores(rows.score))) for rows in (first, other))
    if what == "inputs":
        codes, group = np.unique(group, return_inverse=True)
        # The inputs of both metrics side by side, the second with groups of its own.
        groups = np.concatenate((group, group + codes.size))
        both = stats.system_level(np.hstack((mine, theirs)), np.hstack((gold, gold)), groups, 2 * codes.size)
        values = replicate(both, swaps(codes.size, permutations, seed))
        apart = dict(zip(BY_SYSTEM, values[:, 0::2] - values[:, 1::2], strict=True))
        return {key: apart[key] for key in STEPS}
    kind: stats.Exchanged = "both" if what == "both" else "systems"
    ranks, other_ranks = (_cells(rows.with_score(midranks(rows.score)))[0] for rows in (first, other))
    drawn, keys = (gold, group, permutations, seed, kind), (*BY_SYSTEM, *BY_INPUT)
    by_z = dict(zip(keys, stats.exchange_differences(mine, theirs, *drawn), strict=True))
    by_rank = dict(zip(keys, stats.exchange_differences(ranks, other_ranks, *drawn), strict=True))
    return by_z | {key: by_rank[key] for key in ("input_spearman", "input_kendall")}


def _z_scores(score: Floats) -> Floats:
    unit = scaled(score)
    spread = unit.std()
    return np.asarray((unit - unit.mean()) / spread) if spread > 0 else np.zeros(score.size)


def replicates(
    rows: Judgements, n_groups: int, draws: Draws, options: Mapping[str, str], keys: Collection[str]
) -> Replicates:
    """Return each measure of `keys` under each weighting of the groups, (draws.n,); every row must have a score."""
    if _blind(rows):
        return {key: np.full(draws.n, np.nan) for key in keys}
    score, gold, group = _cells(rows)
    measures: dict[str, Floats] = {}
    if any(key in BY_SYSTEM for key in keys):
        measures |= dict(
            zip(BY_SYSTEM, replicate(stats.system_level(score, gold, group, n_groups), draws), strict=True)
        )
    if any(key in BY_INPUT for key in keys):
        values = stats.coefficients(score, gold)
        measures |= dict(zip(BY_INPUT, replicate(pool_mean(values, group, n_groups), draws), strict=True))
    if "spa" in keys and _many(rows):
        measures["spa"] = np.full(draws.n, np.nan)
    elif "spa" in keys:
        measures["spa"] = replicate(stats.soft_pairwise_accuracy(score, gold, group, n_groups), draws)
    if LIMIT in keys:
        # Resamples add the noise once more that this value is free of, so that they say nothing of it.
        measures[LIMIT] = np.full(draws.n, np.nan)
        measures[LIMIT][:1] = stats.disattenuated(score, gold, group, n_groups)[0]
    return {key: measures[key] for key in keys}


def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the influence values of the inputs' groups, None on `STEPS` and `LIMIT`; every row must have a score."""
    if _blind(rows):
        return dict.fromkeys(keys)
    smooth = [key for key in keys if key not in (*STEPS, LIMIT)]
    run = partial(replicates, rows, n_groups, options=options, keys=smooth)
    influences = jackknifed(run, _cells(rows)[2], n_groups, lambda key: (0.0 if key == "spa" else -1.0, 1.0))
    return {**dict.fromkeys(keys), **influences}


def _cells(rows: Judgements) -> tuple[Floats, Floats, Ints]:
    """Return scores and gold of S systems on N inputs, (S, N) each, and the inputs' groups, (N,)."""
    if rows.system is None:
        raise ValueError("the systems are not known")
    _, first = np.unique(rows.pool, return_index=True)
    score, gold = (stats.cells(values, rows.system, rows.pool) for values in (rows.score, rows.gold))
    return score, gold, rows.group[first]


def _many(judgements: Judgements) -> str:
    inputs = np.unique(judgements.pool).size
    return f"{inputs:,} inputs are more than {stats.MOST_INPUTS:,}" if inputs > stats.MOST_INPUTS else ""


def _blind(judgements: Judgements) -> str:
    if judgements.system is None:
        return "the systems are not known (--map system=COLUMN names them)"
    systems = np.unique(judgements.system).size
    return f"{systems} systems are compared, and {FEWEST} are needed" if systems < FEWEST else ""


_measure = partial(Measure, blind=_blind, chance=0.0)

PROTOCOL = Protocol(
    name="systems",
    title="Correlation of systems, and of the systems on each input",
    measures=(
        _measure(
            *("sys_pearson", "System Pearson"),
            about="Pearson's r of the systems' means over these inputs",
            ability="follow the systems' mean ratings",
        ),
        _measure("sys_spearman", "System Spearman", about="Spearman's rho of the systems' means"),
        _measure("sys_kendall", "System Kendall", about="Kendall's tau-b of the systems' means"),
        _measure(
            *(LIMIT, "System Pearson, disattenuated"),
            tested=False,
            about="Pearson's r of the means that the systems would have over ever more inputs",
        ),
        Measure(
            *("spa", "Soft accuracy"),
            tested=False,
            about="agreement of the p-values that scores and gold give to each two systems",
            blind=lambda judgements: _blind(judgements) or _many(judgements),
        ),
        _measure("input_pearson", "Input Pearson", about="mean over inputs of Pearson's r of the systems"),
        _measure("input_spearman", "Input Spearman", about="mean over inputs of Spearman's rho of the systems"),
        _measure("input_kendall", "Input Kendall", about="mean over inputs of Kendall's tau-b of the systems"),
    ),
    headline="sys_pearson",
    shown=lambda judgements, options: KEYS,
    evaluate=evaluate,
    replicate=replicates,
    options={
        "resample": Option(
            "what intervals are about",
            {
                "inputs": "intervals are those of other inputs, for these very systems",
                "both": "intervals are percentiles of resampled systems and inputs, and tests exchange both",
                "systems": "intervals are of resampled systems, on these very inputs, and tests exchange systems",
            },
        )
    },
    usual=False,
    of_systems=True,
    influence=influence,
    resampled=resampled,
    exchanged=exchanged,
)
