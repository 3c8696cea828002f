"""The protocol of ROC-AUC between human levels (base paper, section 3.2.2), or of concordance with ratings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

import numpy as np

from metaeval.stats.arrays import Bools, Ints, distinct
from metaeval.stats.bounds import extreme_ranks
from metaeval.stats.classification import auc_influence, average_precision, average_precision_influence, roc_auc
from metaeval.stats.correlations import concordance
from metaeval.stats.influence import Influence, mean_of
from metaeval.stats.resampling import Draws, Prepared, replicate, value
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

LEVELS = {2.0: "FULL", 1.0: "PARTIAL", 0.0: "NONE"}
PAIRS = {"fs_ns": (2.0, 0.0), "fs_ps": (2.0, 1.0), "ps_ns": (1.0, 0.0)}
CUTS = {"full_rest": 2.0, "some_none": 1.0, "ap_full": 2.0, "ap_some": 1.0}
"""The lowest positive level of each measure that cuts the levels in two."""
CUT_AREAS = ("full_rest", "some_none")
OTHER_LEVEL = "gold level other than 0, 1 or 2"
_LEFT_OUT = (
    "{:,} of {:,} rows are left out, as their gold is not 0, 1 or 2: -p classification (multi_class=ovo) orders gold "
    "as it is, and of a table of your own --set dataset_options.cut=0.5 makes it 1 from 0.5 on and 0 below."
)


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Return the ROC-AUC of FULL v. NONE, FULL v. PARTIAL and PARTIAL v. NONE, and their unweighted mean.

    With the option multi_class=ovr: the ROC-AUC and average precision of full support against the rest, and of some
    support against none. Rows whose gold is not 0, 1 or 2 are left out, and counted in `excluded`.

    Each AUC uses the rows of its two levels; a mean with an undefined part is undefined. In addition to the paper:
    average precision of FULL v. the rest. Gold that is not on the three-level scale gives one number: the ROC-AUC of
    its two values, or with more of them the concordance, the probability that of two rows the one with the higher gold
    has the higher score. Rows of three-level gold with another value are left out, and counted in `excluded`. `bounds`
    are exact for each AUC and for average precision. Those of the mean are the mean of the three, those of the
    concordance count each pair with an unscored row as wrong, and as right: valid bounds that need not be reached.
    Raises ValueError for an infinite score or gold that is not finite.
    """
    judgements, n_groups = opened(judgements, resampling)
    known = _known(judgements, options)
    missing = np.isnan(judgements.score)
    used = judgements.rows(known & ~missing)
    if _is_cut(options):
        qualities = {key: _of_cut(judgements.rows(known), n_groups, key) for key in CUTS}
    elif judgements.levels:
        qualities = {key: _of_pair(judgements, n_groups, high, (low,)) for key, (high, low) in PAIRS.items()}
        qualities["overall"] = _of_mean(judgements, n_groups, qualities)
        qualities["ap_full"] = _of_pair(judgements, n_groups, 2.0, (1.0, 0.0))
    else:
        qualities = _of_ratings(judgements, n_groups)
    run = partial(replicates, used, n_groups, options=options, keys=tuple(qualities))
    moved = partial(influence, used, n_groups, options, tuple(qualities))
    return outcome(
        *(judgements, used, known & missing, run, qualities, n_groups, resampling),
        excluded={OTHER_LEVEL: int((~known).sum())},
        warnings=off_the_levels(known),
        influence=moved,
    )


@by_clusters
def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the groups' influence values on the measures `keys`, None where undefined; every row must have a score."""
    rows = rows.rows(_known(rows, options))
    columns = rows.score, rows.gold, rows.group, n_groups
    influences: dict[str, Influence | None] = dict.fromkeys(keys)
    levels = np.unique(rows.gold).tolist()
    if any(key in PAIRS or key in ("overall", "auc") for key in keys) and rows.score.size:
        area = auc_influence(*columns)
        for key, pair in PAIRS.items():
            if set(pair) <= set(levels):
                influences[key] = area(*map(levels.index, pair))
        parts = [influence for key in PAIRS if (influence := influences.get(key))]
        influences["overall"] = mean_of(parts) if len(parts) == len(PAIRS) else None
        influences["auc"] = area(1, 0) if len(levels) == 2 else None
    for key in CUTS.keys() & keys:
        positive = rows.gold >= CUTS[key]
        if not positive.any() or positive.all():
            continue
        if key in CUT_AREAS:
            influences[key] = auc_influence(rows.score, positive.astype(np.float64), rows.group, n_groups)(1, 0)
        else:
            influences[key] = average_precision_influence(rows.score, positive, rows.group, n_groups)
    if "concordance" in keys:
        run = partial(replicates, rows, n_groups, options=options, keys=["concordance"])
        influences |= jackknifed(run, rows.group, n_groups, lambda _: (0.0, 1.0))
    return {key: influences[key] for key in keys}


def chance(rows: Judgements, options: Mapping[str, str]) -> Mapping[str, float]:
    """Return the expected value of each measure for random scores: one half, or the precision of a random order."""
    areas = dict.fromkeys((*PAIRS, *CUT_AREAS, "overall", "auc", "concordance"), 0.5)
    gold = rows.gold[_known(rows, options)]
    precisions = {key: chance_precision(gold >= CUTS[key]) for key in CUTS if key not in CUT_AREAS}
    return {**areas, **{key: expected for key, expected in precisions.items() if expected is not None}}


def chance_precision(positive: Bools) -> float | None:
    """Return the expected average precision of a random order; None without positives or without negatives.

    positive: (n,) whether each row is positive. Row i of n is positive with chance k / n, and then so are (k - 1) /
    (n - 1) of those before it.
    """
    n, k = positive.size, int(np.count_nonzero(positive))
    if not 0 < k < n:
        return None
    first = (1 / np.arange(1, n + 1)).sum()
    return float((first + (k - 1) / (n - 1) * (n - first)) / n)


def replicates(
    rows: Judgements, n_groups: int, draws: Draws, options: Mapping[str, str], keys: Collection[str]
) -> Replicates:
    """Return each measure of `keys` under each weighting of the groups, (draws.n,); every row must have a score."""
    rows = rows.rows(_known(rows, options))
    replicated: dict[str, Floats] = {}
    for key in PAIRS if "overall" in keys else PAIRS.keys() & keys:
        of_pair = rows.rows(np.isin(rows.gold, PAIRS[key]))
        area = roc_auc(of_pair.score, of_pair.gold == PAIRS[key][0], of_pair.group, n_groups)
        replicated[key] = replicate(area, draws)
    if "overall" in keys:
        replicated["overall"] = np.mean([replicated[key] for key in PAIRS], axis=0)
    for key in CUTS.keys() & keys:
        replicated[key] = replicate(_measure_of(key)(rows.score, rows.gold >= CUTS[key], rows.group, n_groups), draws)
    if "auc" in keys:
        top = rows.gold == rows.gold.max(initial=-np.inf)
        replicated["auc"] = replicate(roc_auc(rows.score, top, rows.group, n_groups), draws)
    if "concordance" in keys:
        replicated["concordance"] = replicate(concordance(rows.score, rows.gold, rows.group, n_groups), draws)
    return {key: replicated[key] for key in keys}


def _is_cut(options: Mapping[str, str]) -> bool:
    return options.get("multi_class") == "ovr"


def _known(judgements: Judgements, options: Mapping[str, str]) -> Bools:
    """Return whether each row counts, (n,): all do, but of three-level or cut gold only those with gold 0, 1 or 2."""
    if judgements.levels or _is_cut(options):
        return np.isin(judgements.gold, list(LEVELS))
    return np.ones(judgements.gold.size, dtype=bool)


def _measure_of(key: str) -> Callable[[Floats, Bools, Ints, int], Prepared]:
    return roc_auc if key in CUT_AREAS else average_precision


def off_the_levels(known: Bools) -> tuple[str, ...]:
    """Return a warning about rows that are left out because their gold is not a level; () without such rows.

    known: (n,) whether each row's gold is a level.
    """
    lost = int((~known).sum())
    return (_LEFT_OUT.format(lost, known.size),) if lost else ()


def _of_cut(rows: Judgements, n_groups: int, key: str) -> Qualities:
    positive, missing = rows.gold >= CUTS[key], np.isnan(rows.score)
    bounds = None if missing.all() else bounds_of(_measure_of(key), rows, positive, n_groups)
    undefined = NO_SCORES if missing.all() else "the scored pairs are all on one side"
    return Qualities(distinct(rows.group[~missing]).size, undefined, bounds=bounds)


def _of_pair(judgements: Judgements, n_groups: int, positive: float, negatives: tuple[float, ...]) -> Qualities:
    """Return the context of an AUC: groups, bounds, and why it may be undefined.

    positive, negatives: the levels that are compared; against two levels the measure is average precision.
    """
    missing, chosen = np.isnan(judgements.score), np.isin(judgements.gold, (positive, *negatives))
    scored, nothing = chosen & ~missing, bool(missing.all())
    measure, bounds = roc_auc if len(negatives) == 1 else average_precision, None
    if missing.any() and not nothing:
        rows = judgements.rows(chosen)
        bounds = bounds_of(measure, rows, rows.gold == positive, n_groups)
    absent = negatives if (judgements.gold[scored] == positive).any() else (positive,)
    undefined = NO_SCORES if nothing else f"no scored {' or '.join(LEVELS[level] for level in absent)} pairs"
    return Qualities(distinct(judgements.group[scored]).size, undefined, bounds=bounds)


def bounds_of(
    measure: Callable[[Floats, Bools, Ints, int], Prepared], rows: Judgements, positive: Bools, n_groups: int
) -> tuple[float, float] | None:
    """Return the (worst, best) value of a two-class measure over all scores of unscored rows; None if all have one."""
    if not np.isnan(rows.score).any():
        return None
    refills = extreme_ranks(rows.score, positive)
    return pair_of_bounds(*(value(measure(r, positive, rows.group, n_groups), n_groups) for r in refills))


def _of_mean(judgements: Judgements, n_groups: int, parts: Mapping[str, Qualities]) -> Qualities:
    scored = judgements.rows(~np.isnan(judgements.score))
    present = set(np.unique(scored.gold).tolist())
    lost = [
        f"{PROTOCOL.measure(key).label} ({parts[key].undefined})"
        for key, pair in PAIRS.items()
        if not present.issuperset(pair)
    ]
    bounds = None
    if any(part.bounds for part in parts.values()):
        ends = []
        for key, (high, low) in PAIRS.items():
            rows = scored.rows(np.isin(scored.gold, (high, low)))
            # A part without unscored rows cannot move: both its bounds are its value.
            alone = value(roc_auc(rows.score, rows.gold == high, rows.group, n_groups), n_groups)
            ends.append(parts[key].bounds or (alone, alone))
        bounds = pair_of_bounds(*np.mean(ends, axis=0))
    undefined = f"undefined: {', '.join(lost)}" if scored.score.size else NO_SCORES
    return Qualities(min(part.groups for part in parts.values()), undefined, bounds=bounds)


def _of_ratings(judgements: Judgements, n_groups: int) -> dict[str, Qualities]:
    missing = np.isnan(judgements.score)
    key = _of_gold(judgements)
    undefined = NO_SCORES if missing.all() else ONE_LEVEL
    bounds = None
    if missing.any() and not missing.all():
        if key == "auc":
            bounds = bounds_of(roc_auc, judgements, judgements.gold == judgements.gold.max(), n_groups)
        else:
            bounds = pair_of_bounds(*_widest(judgements, n_groups))
    return {key: Qualities(distinct(judgements.group[~missing]).size, undefined, bounds=bounds)}


def _widest(judgements: Judgements, n_groups: int) -> tuple[float, float]:
    """Return (worst, best): the concordance if all pairs with an unscored row were ordered wrongly, and rightly."""
    missing = np.isnan(judgements.score)
    rows = judgements.rows(~missing)
    inside = value(concordance(rows.score, rows.gold, rows.group, n_groups), n_groups)
    pairs, scored_pairs = _untied_pairs(judgements.gold), _untied_pairs(rows.gold)
    won = inside * scored_pairs if scored_pairs else 0.0
    return won / pairs, (won + pairs - scored_pairs) / pairs


def _untied_pairs(gold: Floats) -> int:
    _, counts = np.unique(gold, return_counts=True)
    return (gold.size**2 - int((counts**2).sum())) // 2


def _of_gold(judgements: Judgements) -> str:
    return "auc" if np.unique(judgements.gold).size <= 2 else "concordance"


def _shown(judgements: Judgements, options: Mapping[str, str]) -> tuple[str, ...]:
    if _is_cut(options):
        shown = [key for key in CUT_AREAS if not _blind_cut(key, judgements)]
        # With two levels, both cuts are the same.
        return tuple(shown[:1] if np.unique(judgements.gold).size == 2 else shown) or CUT_AREAS
    if not judgements.levels:
        return (_of_gold(judgements),)
    # Two levels have one area.
    only = [key for key, pair in PAIRS.items() if set(pair) == set(np.unique(judgements.gold).tolist())]
    return tuple(only) or ("fs_ns", "fs_ps", "ps_ns", "overall")


def _blind(key: str, judgements: Judgements) -> str:
    if not judgements.levels:
        return ONE_LEVEL if np.unique(judgements.gold).size < 2 else ""
    pairs = [PAIRS[key]] if key in PAIRS else list(PAIRS.values())
    needed = dict.fromkeys(level for pair in pairs for level in pair)
    absent = [LEVELS[level] for level in needed if not (judgements.gold == level).any()]
    return f"no row is {' or '.join(absent)}" if absent else ""


def _blind_cut(key: str, judgements: Judgements) -> str:
    levels = judgements.gold[np.isin(judgements.gold, list(LEVELS))]
    if not levels.size:
        return "no gold is 2 (full), 1 (partial) or 0 (none), which multi_class=ovo does not need"
    positive = levels >= CUTS[key]
    if positive.any() and not positive.all():
        return ""
    lacking = {2.0: "below full", 1.0: "none"} if positive.any() else {2.0: "full", 1.0: "partial or full"}
    return f"no row is {lacking[CUTS[key]]}"


def _area(key: str, label: str, about: str, ability: str = "") -> Measure:
    blind = partial(_blind_cut if key in CUTS else _blind, key)
    chance = None if key in CUTS and key not in CUT_AREAS else 0.5
    text = f"ROC-AUC of {about}" if key in PAIRS else about
    return Measure(key, label, 100.0, 1, about=text, blind=blind, chance=chance, ability=ability)


PROTOCOL = Protocol(
    name="classification",
    title="ROC-AUC of human support levels (%; chance 50, perfect 100)",
    measures=(
        _area("fs_ns", "full / none", "full against no support (FS-NS)", "tell full from no support"),
        _area("fs_ps", "full / partial", "full against partial support (FS-PS)", "tell full from partial support"),
        _area("ps_ns", "partial / none", "partial against no support (PS-NS)", "tell partial from no support"),
        _area("overall", "mean ROC-AUC", "unweighted mean of the three ROC-AUCs"),
        _area(
            "full_rest", "full v. rest", "ROC-AUC of full support against the rest", "tell full support from the rest"
        ),
        _area("some_none", "some v. none", "ROC-AUC of some support against none", "tell some support from none"),
        _area("ap_full", "AP full", "average precision of full support against the rest"),
        _area("ap_some", "AP some", "average precision of some support against none"),
        _area("auc", "ROC-AUC", "ROC-AUC of gold that takes two values", "tell the two values of the gold apart"),
        _area(
            "concordance",
            "Concordance",
            "chance that of two rows the one with the higher gold scores higher",
            "order the ratings",
        ),
    ),
    options={
        "multi_class": Option(
            "how three levels become areas of two classes",
            {"ovo": "each pair of levels (one v. one)", "ovr": "full against the rest, and some support against none"},
        )
    },
    headline="overall",
    shown=_shown,
    evaluate=evaluate,
    replicate=replicates,
    influence=influence,
    chance=chance,
    table_number=3,
)
