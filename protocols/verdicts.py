"""The protocol of verdicts: scores that are decisions already, 0 and 1 or the levels. No threshold is learnt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from metaeval.stats import classification as measures
from metaeval.stats.agreement import cohen_kappa
from metaeval.stats.arrays import Floats, numbered, ratio
from metaeval.stats.influence import COUNTS, SHARES, SIGNED, Ends
from metaeval.stats.intervals import intervals
from metaeval.stats.prediction_powered import Sample, share
from metaeval.stats.resampling import Draws, Prepared, replicate, value
from protocols.contract import (
    Cards,
    Estimate,
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

MOST = 10
"""The largest number of distinct gold values with which verdicts are compared."""

MEASURES = (
    *("accuracy", "balanced_accuracy", "macro_f1", "kappa", "quadratic_kappa"),
    *("f1_top", "f1_partial", "f1_bottom", "kappa_full", "kappa_some"),
)
CUTS = {"full": 2.0, "some": 1.0}
_LEVELS = {0.0, 1.0, 2.0}
YES_NO = "yes and no are not on three levels: see kappa at full and at some support"


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Return accuracy, balanced accuracy, macro-F1, plain and quadratic kappa, and F1 of top, partial and bottom level.

    Kappa at full and at some support has gold and verdicts cut in two, where the gold or the verdicts have levels; of
    yes and no against three levels it is all that there is, for a yes may mean either.

    The levels are the gold values of the scored rows, which alone count. All agree with scikit-learn (F1 with `labels=`
    these levels and `zero_division=0`). A score that is not on their scale makes every measure undefined, with a note
    that it is not a verdict. `bounds` of accuracy and balanced accuracy count every unscored row as wrong, and as
    right. Raises ValueError on an infinite score or a level not finite.
    """
    judgements, n_groups = opened(judgements, resampling)
    missing = np.isnan(judgements.score)
    used, undefined = judgements.rows(~missing), _why_undefined(judgements, options)
    decided = decide(used, options)
    groups = np.unique(used.group).size
    lacking = undefined or (YES_NO if _is_yes_no(decided) else "the gold or the verdicts lack a level")
    keys = MEASURES if "kappa_full" in _shown(judgements, options) else MEASURES[:-2]
    qualities = {key: Qualities(groups, lacking) for key in keys}
    if missing.any() and not undefined:
        rows = _cut(judgements, options)
        levels = np.unique(rows.gold)
        wrong = levels[(np.searchsorted(levels, rows.gold) + 1) % levels.size]
        refills = [rows.with_score(np.where(missing, filler, rows.score)) for filler in (wrong, rows.gold)]
        ends = [_measures(refill, n_groups, MEASURES[:2]) for refill in refills]
        for key in MEASURES[:2]:
            bounds = pair_of_bounds(*(value(end[key], n_groups) for end in ends))
            qualities[key] = replace(qualities[key], bounds=bounds)
    return outcome(
        *(judgements, used, missing, partial(replicates, decided, n_groups, options=options, keys=keys)),
        *(qualities, n_groups, resampling),
        influence=partial(influence, decided, n_groups, options, keys),
    )


def decide(rows: Judgements, options: Mapping[str, str]) -> Judgements:
    """Return the rows with gold and verdicts on one scale; all scores are NaN if one is not a verdict.

    Every row must have a score.
    """
    cut = _cut(rows, options)
    return cut.with_score(np.full(cut.score.size, np.nan)) if _why_undefined(rows, options) else cut


def _cut(rows: Judgements, options: Mapping[str, str]) -> Judgements:
    """Return the rows on one scale: unchanged, or with gold and verdicts as 1 and 0 by the same threshold.

    Verdicts that are all 0 and 1, or 0 and 2, are no and yes. If the gold has two values, yes is the higher one,
    whatever the two are. Unscored rows stay unscored.
    """
    least, score = CUTS.get(options.get("against", "")), rows.score
    said = score[~np.isnan(score)]
    binary = bool(np.isin(said, (0.0, 1.0)).all() or np.isin(said, (0.0, 2.0)).all())
    if least is None:
        values = np.unique(rows.gold)
        if not binary or values.size != 2:
            return rows
        least = float(values[1])
    score = np.where(np.isnan(score), np.nan, score > 0 if binary else score >= least)
    return replace(rows, gold=(rows.gold >= least).astype(np.float64), score=score, levels=False)


def replicates(
    rows: Judgements, n_groups: int, draws: Draws, options: Mapping[str, str], keys: Collection[str]
) -> Replicates:
    """Return each measure of `keys` under each weighting of the groups, (draws.n,); `rows` must come from `decide`."""
    return {key: replicate(averaged, draws) for key, averaged in _measures(rows, n_groups, keys).items()}


@by_clusters
def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the groups' influence values on the measures `keys`; `rows` must come from `decide`."""
    run = partial(replicates, rows, n_groups, options=options, keys=keys)
    return jackknifed(run, rows.group, n_groups, lambda key: (-1.0 if "kappa" in key else 0.0, 1.0))


def _measures(rows: Judgements, n_groups: int, keys: Collection[str]) -> dict[str, Prepared]:
    if np.isnan(rows.score).any():
        rows = rows.rows(np.zeros(rows.score.size, dtype=np.bool_))
    levels, codes = np.unique(np.concatenate((rows.gold, rows.score)), return_inverse=True)
    gold, verdict = (part.astype(np.int64) for part in np.split(codes, 2))
    counts = measures.decision_counts(verdict, gold, rows.group, n_groups, max(levels.size, 1))
    present = np.unique(gold)
    partly = present[levels[present] == 1.0] if rows.levels or levels[present].max(initial=0) == 2.0 else present[:0]
    cuts = {f"kappa{suffix}": cut for suffix, cut in _cuts(rows, {}).items() if suffix}
    # Means over the levels of the gold: one that no weighting draws leaves them undefined, as everywhere.
    of: Mapping[str, Callable[[Floats], Floats]] = {
        "accuracy": measures.share_equal,
        "balanced_accuracy": lambda counts: _mean(measures.level_recall(counts)[..., present]),
        "macro_f1": lambda counts: _mean(measures.level_f1(counts)[..., present]),
        "kappa": cohen_kappa,
        "quadratic_kappa": measures.weighted_kappa,
        "f1_top": lambda counts: _mean(measures.level_f1(counts)[..., present[-1:]]),
        "f1_partial": lambda counts: _mean(measures.level_f1(counts)[..., partly]),
        "f1_bottom": lambda counts: _mean(measures.level_f1(counts)[..., present[:1]]),
    }
    nothing = _is_yes_no(rows)

    def prepared(key: str) -> Prepared:
        if key in cuts:
            return measures.resampled(_counts(cuts[key], n_groups), lambda counts: cohen_kappa(counts[..., :2, :2]))
        undefined = nothing or key not in of
        return measures.resampled(counts, (lambda of: np.full(of.shape[:-2], np.nan)) if undefined else of[key])

    return {key: prepared(key) for key in keys}


def _is_yes_no(rows: Judgements) -> bool:
    """Return whether the gold has the three levels, and verdicts 0 and 1, which say nothing of partial support."""
    return set(np.unique(rows.gold).tolist()) == _LEVELS and np.unique(rows.score).tolist() == [0.0, 1.0]


def _cuts(rows: Judgements, options: Mapping[str, str]) -> dict[str, Judgements]:
    """Return the rows with gold and verdicts as yes (1) and no (0), NaN where missing, by suffix of the keys.

    There are two, of the suffixes _full and _some, where gold or verdicts hold partial beside full support, unless the
    option `against` chooses; else one, of the suffix "". Empty for gold of more values that are no levels.
    """
    known = np.unique(rows.gold[~np.isnan(rows.gold)])
    if known.size > 2 and not _LEVELS.issuperset(known.tolist()):
        return {}
    gold, score = (_yes(values, options, float(known.max(initial=1.0))) for values in (rows.gold, rows.score))
    return {
        suffix: replace(rows, gold=gold.get(suffix, gold.get("")), score=score.get(suffix, score.get("")), levels=False)
        for suffix in max(gold, score, key=len)
    }


def _yes(values: Floats, options: Mapping[str, str], top: float = 1.0) -> dict[str, Floats]:
    """Return gold or verdicts as yes and no by suffix, as `_cuts` has them. top: what is yes of other than levels."""
    known, against = {*values[~np.isnan(values)].tolist()}, options.get("against", "")
    cuts = {"": 1.0 if known <= _LEVELS else top}
    if {1.0, 2.0} <= known <= _LEVELS:
        cuts = {"": CUTS[against]} if against in CUTS else {f"_{name}": least for name, least in CUTS.items()}
    return {suffix: np.where(np.isnan(values), np.nan, values >= least) for suffix, least in cuts.items()}


def _counts(cut: Judgements, n_groups: int) -> Floats:
    """Return the numbers of rows by group, gold and verdict, (G, 3, 3): no, yes, missing."""
    gold, verdict = (np.nan_to_num(values, nan=2.0).astype(np.int64) for values in (cut.gold, cut.score))
    return measures.decision_counts(verdict, gold, cut.group, n_groups, 3)


def _corrected(counts: Floats) -> Floats:
    """Return the rate of yes, corrected for the judge's errors (Rogan and Gladen 1978), not yet cut to 0 .. 1."""
    says, tpr, tnr = (_RATES[key][1](counts) for key in ("says", "tpr", "tnr"))
    informed = tpr + tnr - 1
    return ratio(says + tnr - 1, np.where(informed > 1e-12, informed, 0.0))


_SCORED, _ALL = slice(2), slice(3)
_RATES: Mapping[str, tuple[tuple[slice, slice], Callable[[Floats], Floats], Ends | None, str]] = {
    "kappa": (
        *((_SCORED, _SCORED), lambda of: cohen_kappa(of[..., :2, :2]), SIGNED),
        "undefined: judge and people give one and the same answer throughout",
    ),
    "tpr": (
        *((slice(1, 2), _SCORED), lambda of: ratio(of[..., 1, 1], of[..., 1, :2].sum(axis=-1)), SHARES),
        "undefined: people say yes to no row with a verdict",
    ),
    "tnr": (
        *((slice(1), _SCORED), lambda of: ratio(of[..., 0, 0], of[..., 0, :2].sum(axis=-1)), SHARES),
        "undefined: people say no to no row with a verdict",
    ),
    "says": (
        *((_ALL, _SCORED), lambda of: ratio(of[..., 1].sum(axis=-1), of[..., :2].sum(axis=(-2, -1))), SHARES),
        NO_SCORES,
    ),
    "people": (
        *((_SCORED, _ALL), lambda of: ratio(of[..., 1, :].sum(axis=-1), of[..., :2, :].sum(axis=(-2, -1))), SHARES),
        "no labels",
    ),
    "corrected": (
        *((_ALL, _SCORED), _corrected, None),
        "undefined: TPR + TNR is at most 1, so that the verdicts tell nothing of the rate, or one of them is undefined",
    ),
}
"""Of each rate: the counts by gold and verdict that it reads, its value, its ends, and why it may be undefined."""


def card(judges: Mapping[str, Judgements], resampling: Resampling, options: Mapping[str, str]) -> Cards:
    """Return what a judge's card holds beside the measures, by judge and key; nothing of scores that are no verdicts.

    judges: all rows, the same of every judge; gold is NaN where nobody labelled. Keys, each with the suffixes of
    `_cuts`: kappa, tpr and tnr; the rates of yes as the judge `says` on all rows, as `people` say on those with a
    label, `corrected` for the judge's errors, and by prediction-powered inference (`ppi`) where rows lack a label;
    `ceiling`, the kappa of an annotator with the majority of the others, or of two with each other; kappa:OTHER, with
    another judge; of judges NAME#1, NAME#2 ... repeats_equal and repeats_kappa, means over their pairs. Further
    cell:GOLD:VERDICT, a share of the rows that have both, and cost, of 1,000 rows.
    """
    decided = {
        name: rows for name, rows in judges.items() if not _why_undefined(rows.rows(~np.isnan(rows.gold)), options)
    }
    n_groups = 1 + max((int(rows.group.max(initial=0)) for rows in decided.values()), default=0)
    cards: dict[str, dict[str, Estimate]] = {name: {} for name in decided}

    def known(
        counts: Floats, measure: Callable[[Floats], Floats], ends: Ends | None, read: Floats | None = None
    ) -> list[Estimate]:
        held = (counts if read is None else read).reshape(n_groups, -1).sum(axis=1)
        return intervals(
            partial(replicate, measures.resampled(counts, measure)), held.astype(np.int64), resampling, ends
        )

    for name, rows in decided.items():
        both = rows.rows(~np.isnan(rows.gold) & ~np.isnan(rows.score))
        levels, codes = np.unique(np.concatenate((both.gold, both.score)), return_inverse=True)
        gold, verdict = np.split(codes.astype(np.int64), 2)
        cells = known(measures.decision_counts(verdict, gold, both.group, n_groups, levels.size), _shares, SHARES)
        named = (f"cell:{one:g}:{other:g}" for one in levels for other in levels)
        cards[name] |= dict(zip(named, cells, strict=True))
        for suffix, cut in _cuts(rows, options).items():
            counts = _counts(cut, n_groups)
            for key, (read, measure, ends, why) in _RATES.items():
                (found,) = known(counts, measure, ends, counts[:, *read])
                found = replace(found, note=found.note if found.value is not None else why)
                cards[name][f"{key}{suffix}"] = found if ends else _within(found)
            for key, row in (("tpr", 1), ("tnr", 0)):
                hits, lost, total = counts[:, row, row].sum(), counts[:, row, 2].sum(), counts[:, row].sum()
                if lost:
                    ends_of = {"worst": hits / total, "best": (hits + lost) / total}
                    cards[name][f"{key}{suffix}"] = replace(cards[name][f"{key}{suffix}"], **ends_of)
            if np.isnan(cut.gold).any():
                cards[name][f"ppi{suffix}"] = _powered(cut, resampling)
        for suffix, counts in _annotators(rows, n_groups, options).items():
            (cards[name][f"ceiling{suffix}"],) = known(counts, cohen_kappa, SIGNED)
        if rows.cost is not None:
            paid = rows.rows(~np.isnan(rows.cost))
            sums = np.stack([np.bincount(paid.group, weights, n_groups) for weights in (paid.cost, None)], axis=1)
            (cards[name]["cost"],) = known(
                sums[:, None], lambda of: 1000 * ratio(of[..., 0, 0], of[..., 0, 1]), COUNTS, sums[:, 1]
            )
    together: dict[tuple[str, str], list[Floats]] = defaultdict(list)
    for name, other in combinations(decided, 2):
        one, two = (_yes(decided[judge].score, options) for judge in (name, other))
        for suffix in max(one, two, key=len):
            pair = replace(decided[name], gold=one.get(suffix, one.get("")), score=two.get(suffix, two.get("")))
            counts = _counts(pair, n_groups)[:, :2, :2]
            (cards[name][f"kappa{suffix}:{other}"],) = known(counts, cohen_kappa, SIGNED)
            if (base := name.rpartition("#")[0]) and base == other.rpartition("#")[0]:
                together[base, suffix].append(counts)
    for (base, suffix), pairs in together.items():
        first = next(name for name in decided if name.rpartition("#")[0] == base)
        counts = np.stack(pairs, axis=1).reshape(n_groups, len(pairs), 4)
        for key, measure, ends in (("equal", measures.share_equal, SHARES), ("kappa", cohen_kappa, SIGNED)):
            shape = (-1, len(pairs), 2, 2)
            mean = partial(lambda measure, shape, of: measure(of.reshape(shape)).mean(axis=-1), measure, shape)
            (cards[first][f"repeats_{key}{suffix}"],) = known(counts, mean, ends)
    return cards


def _shares(counts: Floats) -> Floats:
    """Return the share of each cell of counts (R, K, K), (K * K, R)."""
    return ratio(counts, counts.sum(axis=(-2, -1), keepdims=True) + np.zeros_like(counts)).reshape(len(counts), -1).T


def _within(found: Estimate) -> Estimate:
    """Return a rate cut to 0 .. 1, with its ends."""
    value, low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in found.ends)
    return replace(found, value=value, low=low, high=high)


def _powered(cut: Judgements, resampling: Resampling) -> Estimate:
    """Return the rate of yes by prediction-powered inference, the labelled rows a random sample of all."""
    rows = cut.rows(~np.isnan(cut.score))
    labelled = np.flatnonzero(~np.isnan(rows.gold))
    group = numbered(rows.group)[0]
    sample = Sample(
        labelled, np.full(labelled.size, labelled.size / max(group.size, 1)), labelled, np.zeros_like(labelled)
    )
    try:
        found = share(rows.gold[labelled], rows.score, sample, group, "process", resampling.level)
    except ValueError:
        return Estimate(None, note="undefined: labels of one group")
    if not resampling.n:
        return Estimate(found.value)
    if found.df + 1 < resampling.fewest:
        return Estimate(found.value, note=f"no interval: fewer than {resampling.fewest:g} effective groups")
    return Estimate(found.value, found.low, found.high, effective=found.df + 1)


def _annotators(rows: Judgements, n_groups: int, options: Mapping[str, str]) -> dict[str, Floats]:
    """Return the numbers of votes by group, vote, and what the majority of the item's others say, by suffix.

    (G, 2, 2) each. Of two annotators, the first is held against the second. Empty without a second annotator.
    """
    listed = (
        [] if rows.votes is None else [(row, *vote) for row, votes in enumerate(rows.votes) for vote in votes.items()]
    )
    names = sorted({name for _, name, _ in listed})
    if len(names) < 2:
        return {}
    row, votes = (np.array([vote[place] for vote in listed]) for place in (0, 2))
    first = np.array([len(names) > 2 or name == names[0] for _, name, _ in listed])
    found = {}
    for suffix, vote in _yes(votes.astype(np.float64), options, float(votes.max())).items():
        others = np.bincount(row, 2 * vote - 1)[row] - (2 * vote - 1)
        kept = first & (others != 0)
        said, majority = (part[kept].astype(np.int64) for part in (vote, others > 0))
        found[suffix] = measures.decision_counts(majority, said, rows.group[row[kept]], n_groups, 2)
    return found


def _mean(values: Floats) -> Floats:
    return np.asarray(values.mean(axis=-1)) if values.shape[-1] else np.full(values.shape[:-1], np.nan)


def _why_undefined(rows: Judgements, options: Mapping[str, str]) -> str:
    """Return why the scores are not verdicts on the gold; "" if they are. Unscored rows do not count."""
    gold, score = rows.gold, rows.score[~np.isnan(rows.score)]
    if not score.size:
        return NO_SCORES
    cut = _cut(rows, options)
    if reason := _why_incomparable(cut):
        return reason
    if cut is not rows and (np.isin(score, (0.0, 1.0)).all() or np.isin(score, (0.0, 2.0)).all()):
        return ""
    if rows.levels or options.get("against") in CUTS:
        allowed, words = np.array([0.0, 1.0, 2.0]), "0, 1 or 2"
    elif (gold == np.round(gold)).all():
        allowed, words = np.arange(gold.min(), gold.max() + 1), f"whole numbers from {gold.min():g} to {gold.max():g}"
    else:
        allowed, words = np.unique(gold), "the values of the gold"
    strange = score[~np.isin(score, allowed)]
    return f"{strange[0]:.3g} is not a verdict: verdicts here are {words}" if strange.size else ""


def _why_incomparable(rows: Judgements) -> str:
    """Return why verdicts cannot be compared with this gold; "" if they can."""
    values = np.unique(rows.gold).size
    if values < 2:
        return ONE_LEVEL
    return f"the gold has {values} values, and verdicts are compared with {MOST} at most" if values > MOST else ""


def _shown(judgements: Judgements, options: Mapping[str, str]) -> tuple[str, ...]:
    values = np.unique(judgements.gold)
    if values.size == 2:
        return ("accuracy", "balanced_accuracy", "macro_f1", "f1_top", "f1_bottom", "kappa")
    three = set(values.tolist()) == _LEVELS
    ends = ("f1_top", "f1_partial", "f1_bottom") if three else ("f1_top", "f1_bottom")
    cuts = ("kappa_full", "kappa_some") if three and options.get("against") not in CUTS else ()
    return ("accuracy", "balanced_accuracy", "macro_f1", *ends, "kappa", "quadratic_kappa", *cuts)


_measure = partial(Measure, blind=_why_incomparable)
_AGREES: Mapping[str, Any] = {"chance": 0.0, "ability": "agree with the gold beyond chance"}

PROTOCOL = Protocol(
    name="verdicts",
    title="Verdicts as given",
    measures=(
        _measure("accuracy", "Accuracy", about="share of verdicts that are the gold"),
        _measure("balanced_accuracy", "Balanced accuracy", about="mean of the recall of the levels of the gold"),
        _measure("macro_f1", "Macro-F1", about="mean of the F1 of the levels of the gold"),
        _measure("kappa", "Kappa", about="Cohen's kappa", **_AGREES),
        _measure("quadratic_kappa", "Quadratic kappa", about="Cohen's kappa with quadratic weights", chance=0.0),
        _measure("kappa_full", "Kappa full", about="Cohen's kappa of full support against the rest", **_AGREES),
        _measure("kappa_some", "Kappa some", about="Cohen's kappa of full and partial support against none", **_AGREES),
        _measure("f1_top", "F1 top", about="F1 of the highest level: full, or 1"),
        _measure("f1_partial", "F1 partial", about="F1 of partial support"),
        _measure("f1_bottom", "F1 bottom", about="F1 of the lowest level: none, or 0"),
    ),
    headline="balanced_accuracy",
    shown=_shown,
    evaluate=evaluate,
    replicate=replicates,
    options={
        "against": Option(
            "what a verdict is compared with",
            {
                "levels": "verdicts are on the scale of the gold, or 0 and 1 where that has two values",
                "full": "verdicts and gold are cut into full support and the rest; verdicts of 0 and 1 stay",
                "some": "verdicts and gold are cut into some support and none; verdicts of 0 and 1 stay",
            },
        )
    },
    usual=False,
    judge=decide,
    card=card,
    influence=influence,
    takes_levels=True,
)
