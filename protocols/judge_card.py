"""A judge's card: its agreement with people, rates of yes, confusion matrix, cost, and agreement with other judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product

import numpy as np

from metaeval.stats.agreement import cohen_kappa
from metaeval.stats.arrays import Floats, Ints, group_totals, majority, numbered, ratio
from metaeval.stats.classification import decision_counts, resampled, share_equal
from metaeval.stats.influence import COUNTS, SHARES, SIGNED, Ends
from metaeval.stats.intervals import intervals
from metaeval.stats.prediction_powered import Sample, share
from metaeval.stats.resampling import replicate
from protocols.contract import Cards, Estimate, Judgements, Resampling

ByCut = dict[str, Floats]
CUTS = {"full": 2.0, "some": 1.0}
LEVELS = {0.0, 1.0, 2.0}

CountMeasure = Callable[[Floats], Floats]
Estimated = Callable[[Floats, CountMeasure, Ends | None, Floats], list[Estimate]]
"""From counts by group, a measure of them, its range, and the counts that it reads, to values with their intervals."""

_NOT_INFORMED = "undefined: TPR + TNR is at most 1 or unknown, so that verdicts tell nothing of the rate"
_ONE_ANSWER = "undefined: people, or the judge, give but one answer here"


def judge_cards(judges: Mapping[str, Judgements], resampling: Resampling, against: str) -> Cards:
    """Return the values of the cards of judges whose scores are verdicts, by judge and key (see `verdicts.card`)."""
    n_groups = 1 + max((int(rows.group.max(initial=0)) for rows in judges.values()), default=0)

    def estimated(counts: Floats, measure: CountMeasure, ends: Ends | None, read: Floats) -> list[Estimate]:
        held = read.reshape(n_groups, -1).sum(axis=1).astype(np.int64)
        return intervals(partial(replicate, resampled(counts, measure)), held, resampling, ends)

    crossed = partial(_crossed, n_groups=n_groups, against=against)
    of_judges = {name: crossed(rows.gold, rows.score, rows.group) for name, rows in judges.items()}
    suffixes: Sequence[str] = max((list(cuts) for _, _, cuts in of_judges.values()), key=len, default=[])
    cards: dict[str, dict[str, Estimate]] = {}
    for name, (levels, counts, cuts) in of_judges.items():
        cards[name] = _cells(levels, counts, estimated)
        for suffix, cut in _spread(cuts, suffixes).items():
            rates = _rates(cut, resampling, estimated)
            cards[name] |= {f"{key}{suffix}": rate for key, rate in rates.items()}
        rows = judges[name]
        if rows.cost is not None and (paid := ~np.isnan(rows.cost)).any():
            columns = rows.cost[paid], np.ones(int(paid.sum()))
            sums = np.stack([group_totals(column, rows.group[paid], n_groups) for column in columns], axis=1)
            cost = estimated(sums[:, None], lambda of: 1000 * ratio(of[..., 0, 0], of[..., 0, 1]), COUNTS, sums[:, 1])
            cards[name]["cost"] = cost[0]
    for name, other in combinations(judges, 2):
        cuts = crossed(judges[name].score, judges[other].score, judges[name].group)[2]
        for suffix, cut in _spread(cuts, suffixes).items():
            both = cut[:, :2, :2]  # rows with a verdict of either judge
            (cards[name][f"kappa{suffix}:{other}"],) = estimated(both, cohen_kappa, SIGNED, both)
            (cards[name][f"equal{suffix}:{other}"],) = estimated(both, share_equal, SHARES, both)
    votes = _votes_and_others(next(iter(judges.values()))) if judges else None
    if votes is not None:
        for suffix, cut in crossed(*votes)[2].items():
            (ceiling,) = estimated(cut, _kappa, SIGNED, cut[:, :2, :2])
            for values in cards.values():
                values[f"ceiling{suffix}"] = ceiling
    return cards


def sides(levels: Floats, least: float) -> Floats:
    """Return which of these values are a no, a yes (from `least` on) and missing, (3, K)."""
    return np.stack((levels < least, levels >= least, np.isnan(levels))).astype(np.float64)


def _crossed(people: Floats, judge: Floats, group: Ints, n_groups: int, against: str) -> tuple[Floats, Floats, ByCut]:
    """Return the distinct values of two columns, (K,), NaN last, and the numbers of rows by group and both, (G, K, K).

    Also those of no, yes and missing, (G, 3, 3), by suffix of the measures' keys. There are two, of the suffixes _full
    and _some, where either has partial beside full support, unless `against` chooses; else one, of the suffix "";
    none for a column of more values that are no levels.
    """
    levels, codes = np.unique(np.concatenate((people, judge)), return_inverse=True)
    gold, verdict = np.split(codes.astype(np.int64), 2)
    counts = decision_counts(verdict, gold, group, n_groups, levels.size)
    top = people[~np.isnan(people)].max(initial=1.0)

    def cuts_of(column: Floats) -> dict[str, float]:
        known = {*column[~np.isnan(column)].tolist()}
        if {1.0, 2.0} <= known <= LEVELS:
            return {"": CUTS[against]} if against in CUTS else {f"_{name}": least for name, least in CUTS.items()}
        return {"": 1.0 if known <= LEVELS else top} if len(known) < 3 else {}

    ways = cuts_of(people), cuts_of(judge)
    cuts = {}
    for suffix in max(*ways, key=len) if all(ways) else {}:
        down, across = (sides(levels, way.get(suffix, way.get("", 0.0))) for way in ways)
        cuts[suffix] = down @ counts @ across.T
    return levels, counts, cuts


def _spread(cuts: Mapping[str, Floats], suffixes: Sequence[str]) -> dict[str, Floats]:
    """Return a judge's counts by the suffixes of all judges: those of yes and no stand for each way of cutting."""
    return {suffix: cuts[suffix if suffix in cuts else ""] for suffix in suffixes if cuts}


def _cells(levels: Floats, counts: Floats, estimated: Estimated) -> dict[str, Estimate]:
    """Return the share of each combination of a label and a verdict among the rows that have both."""
    here = ~np.isnan(levels)
    both = counts[:, here][:, :, here]
    shares = estimated(both, lambda of: (of / of.sum((-2, -1), keepdims=True)).reshape(len(of), -1).T, SHARES, both)
    names = (f"cell:{gold:g}:{verdict:g}" for gold, verdict in product(levels[here], repeat=2))
    return dict(zip(names, shares, strict=True))


# Rates from counts (..., 3, 3) of no, yes and missing: people down, the judge across.
def _kappa(counts: Floats) -> Floats:
    return cohen_kappa(counts[..., :2, :2])


def _recall(counts: Floats, answer: int) -> Floats:
    return ratio(counts[..., answer, answer], counts[..., answer, :2].sum(-1))


def _judge_says(counts: Floats) -> Floats:
    return ratio(counts[..., 1].sum(-1), counts[..., :2].sum((-2, -1)))


def _corrected(counts: Floats) -> Floats:
    """Return the rate of yes, corrected for the judge's errors (Rogan and Gladen 1978), not yet cut to 0 .. 1."""
    informed = _recall(counts, 1) + _recall(counts, 0) - 1
    return ratio(_judge_says(counts) + _recall(counts, 0) - 1, np.where(informed > 1e-12, informed, 0.0))


def _rates(cut: Floats, resampling: Resampling, estimated: Estimated) -> dict[str, Estimate]:
    """Return kappa and the rates of yes, by key, from counts (G, 3, 3) of no, yes and missing."""
    rates: dict[str, Estimate] = {}

    def add(key: str, measure: CountMeasure, ends: Ends | None, read: Floats) -> Estimate:
        (rate,) = estimated(cut, measure, ends, read)
        none = _NOT_INFORMED if key == "corrected" else _ONE_ANSWER
        rates[key] = replace(rate, note=none) if rate.value is None else rate
        return rates[key]

    add("kappa", _kappa, SIGNED, cut[:, :2, :2])
    for key, answer in (("tpr", 1), ("tnr", 0)):
        rate = add(key, partial(_recall, answer=answer), SHARES, cut[:, answer, :2])
        hits, lost, total = cut[:, answer, answer].sum(), cut[:, answer, 2].sum(), cut[:, answer].sum()
        if rate.value is not None and lost:
            rates[key] = replace(rate, worst=hits / total, best=(hits + lost) / total)
    add("says", _judge_says, SHARES, cut[:, :, :2])
    add("people", lambda of: ratio(of[..., 1, :].sum(-1), of[..., :2, :].sum((-2, -1))), SHARES, cut[:, :2])
    rate = add("corrected", _corrected, None, cut[:, :, :2])
    if rate.value is not None:
        value, low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in rate.ends)
        rates["corrected"] = replace(rate, value=value, low=low, high=high)
        if not (cut[:, 2].any() or cut[..., 2].any()):
            rates["corrected"] = rates["people"]  # the same rate, whose interval is that of a share
    if cut[:, 2, :2].any():
        rates["ppi"] = _powered(cut, resampling)
    return rates


def _powered(counts: Floats, resampling: Resampling) -> Estimate:
    """Return the rate of yes by prediction-powered inference from counts (G, 3, 3), the labelled rows a random sample.

    Rows without a verdict do not count.
    """
    cells = counts[..., :2].astype(np.int64)
    group, gold, verdict = (np.repeat(part.ravel(), cells.ravel()) for part in np.indices(cells.shape))
    labelled, group = np.flatnonzero(gold < 2), numbered(group)[0]
    fewest = max(2, resampling.fewest)
    if np.unique(group[labelled]).size < fewest:
        return Estimate(None, note=f"undefined: labels of fewer than {fewest:g} groups")
    part = np.full(labelled.size, labelled.size / gold.size)
    sample = Sample(labelled, part, labelled, np.zeros_like(labelled))
    scores = verdict.astype(np.float64)
    rate = share(gold[labelled].astype(np.float64), scores, sample, group, "process", resampling.level)
    return Estimate(rate.value, *((rate.low, rate.high) if resampling.n else ()))


def _votes_and_others(rows: Judgements) -> tuple[Floats, Floats, Ints] | None:
    """Return each annotator's votes, the majority of the others, and the groups of their rows; None with one annotator.

    Of two annotators, the votes of the first.
    """
    votes = [] if rows.votes is None else rows.votes.tolist()
    names = sorted({name for of_row in votes for name in of_row})
    if len(names) < 2:
        return None
    pairs = [
        (group, vote, majority(theirs for name, theirs in of_row.items() if name != who))
        for group, of_row in zip(rows.group.tolist(), votes, strict=True)
        for who, vote in of_row.items()
        if len(names) > 2 or who == names[0]
    ]
    group, vote, others = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    return vote, others, group.astype(np.int64)
