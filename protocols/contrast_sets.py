"""The protocol of contrast sets: what each kind of edit does to the score of a pair, beside the pair as it was.

Beyond the base paper. A share that falls alone misleads, as harmless edits move scores too: beside it stands the
ROC-AUC of the fall against the falls under harmless edits, and what becomes of decisions by a threshold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.arrays import Bools, Floats, Ints, distinct
from metaeval.stats.bounds import extreme_ranks
from metaeval.stats.classification import auc_influence, roc_auc
from metaeval.stats.decisions import Objective, group_folds, nested_decisions
from metaeval.stats.pools import pool_mean
from metaeval.stats.resampling import Draws, Prepared, replicate, value
from protocols.contract import Influences, Judgements, Measure, Outcome, Protocol, Replicates, Resampling
from protocols.decision import PROTOCOL as DECISION
from protocols.measure_estimates import NO_SCORES, Qualities, jackknifed, opened, outcome, pair_of_bounds

ORIGINAL = "original"
"""The kind of an unedited row."""

SIDES = {"destroying": "crosses", "harmless": "keeps", "attack": "keeps"}
"""Families of kinds, with what is asked of the threshold: edits lower the level, keep some support, or keep none."""

NO_EDITS = "no edit stands beside its original: the columns kind and original say which row is an edit of which"
MOST = 60
"""The largest number of kinds."""

LEFT_OUT = "no kind, or its original is not in the data"
_FALLS = "share of edits that score below their original"
_AUC = "ROC-AUC of the fall against the falls under harmless edits of other kinds"
_SIDE = "share of edits that leave (destroying) or keep the side of the threshold on which the original is right"
_UNDEFINED = {
    "fall": "no edit and its original both have scores",
    "auc": "no edit of the kind, or no harmless one of another kind, has a score as its original has",
    "side": "no original that has a score is on the right side of a threshold, or there are fewer groups than folds",
    "originals": "the originals that have scores are of one level",
}
_NOISE = 1e-12
"""Falls closer than this share of the largest score are equal but for rounding."""


class _Sample(NamedTuple):
    """What a measure is made of: P values and their groups, NaN if missing; of a ROC-AUC also which are positive."""

    values: Floats
    group: Ints
    positive: Bools | None = None

    def prepared(self, n_groups: int) -> Prepared:
        """Return the measure as a function of group weights."""
        if self.positive is None:
            return pool_mean(self.values, self.group, n_groups)
        return roc_auc(self.values, self.positive, self.group, n_groups)

    def bounds(self, n_groups: int) -> tuple[float, float] | None:
        """Return the worst and the best value over all scores that are missing; None if none is."""
        if not (missing := np.isnan(self.values)).any():
            return None
        refills = [np.where(missing, end, self.values) for end in (0.0, 1.0)]
        refills = refills if self.positive is None else [*extreme_ranks(self.values, self.positive)]
        ends = (self._replace(values=refill).prepared(n_groups) for refill in refills)
        return pair_of_bounds(*(value(end, n_groups) for end in ends))


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Return for each kind of edit the share that falls, the ROC-AUC of the fall, and the share that a threshold moves.

    A pair counts where the edit and its original have scores; `bounds` of the share that falls count others as fallen,
    and as not fallen, those of a ROC-AUC are exact. The threshold is learnt on other groups' originals, full support
    against the rest, as in the protocol of decisions; where originals are all on one side there is none. Rows that are
    neither an original nor an edit of one are counted in `excluded`. Raises ValueError for an infinite score or gold
    that is not finite.
    """
    judgements, n_groups = opened(judgements, resampling)
    keys = [measure.key for measure in measures_of(judgements)]
    missing, known = np.isnan(judgements.score), _kinds(judgements) == ORIGINAL
    known[_pairs(judgements)[0]] = True
    used = judgements.rows(known & ~missing)
    samples, whole = _samples(used, options), _samples(judgements, options)
    qualities = {}
    for key in keys:
        values, group, _ = samples.get(key, _Sample(np.empty(0), used.group[:0]))
        bounded = key in whole and not key.startswith("side") and used.score.size
        why = _UNDEFINED[key.partition(":")[0]] if used.score.size else NO_SCORES
        bounds = whole[key].bounds(n_groups) if bounded else None
        qualities[key] = Qualities(distinct(group[~np.isnan(values)]).size, why, bounds=bounds)
    return outcome(
        *(judgements, used, known & missing, partial(replicates, used, n_groups, options=options, keys=keys)),
        *(qualities, n_groups, resampling),
        excluded={LEFT_OUT: int((~known).sum())},
        influence=partial(influence, used, n_groups, options, keys),
    )


def replicates(
    rows: Judgements, n_groups: int, draws: Draws, options: Mapping[str, str], keys: Collection[str]
) -> Replicates:
    """Return each measure of `keys` under each weighting of the groups, (draws.n,); every row must have a score."""
    nothing, samples = np.full(draws.n, np.nan), _samples(rows, options)
    return {key: replicate(samples[key].prepared(n_groups), draws) if key in samples else nothing for key in keys}


def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the groups' influence values on the measures `keys`, None where undefined; every row must have a score."""
    moved: Influences = dict.fromkeys(keys)
    for key, (values, group, positive) in _samples(rows, options).items():
        if key in keys and positive is None:
            share = pool_mean(values, group, n_groups)
            run = partial(lambda share, key, draws: {key: replicate(share, draws)}, share, key)
            moved = {**moved, **jackknifed(run, group[~np.isnan(values)], n_groups, lambda _: (0.0, 1.0))}
        elif key in keys and positive is not None and 0 < positive.sum() < positive.size:
            moved = {**moved, key: auc_influence(values, positive.astype(np.float64), group, n_groups)(1, 0)}
    return moved


def measures_of(rows: Judgements) -> tuple[Measure, ...]:
    """Return the measures of the kinds of edits among these rows, whatever the scores: at most three of each kind.

    The ROC-AUC of falls needs harmless edits of another kind, the threshold originals on both sides.
    """
    kinds, families, measures = _kinds(rows)[_pairs(rows)[0]], {} if _blind(rows) else _families(rows), []
    for kind, family in families.items():
        name, other = f"{family} {kind} ({np.count_nonzero(kinds == kind):,})", {**families, kind: ""}
        measures.append(Measure(f"fall:{kind}", f"{name}: falls", digits=2, about=_FALLS))
        if "harmless" in other.values():
            measures.append(Measure(f"auc:{kind}", f"{name}: AUC", digits=2, about=_AUC, chance=0.5))
        if _two_sided(rows):
            measures.append(Measure(f"side:{kind}", f"{name}: {SIDES[family]}", digits=2, about=_SIDE))
    if measures and _two_sided(rows):
        about = "ROC-AUC of full support against the rest, of the originals"
        measures.append(Measure("originals", "ROC-AUC of originals", tested=False, about=about, chance=0.5))
    return tuple(measures) or PROTOCOL.measures


def _blind(rows: Judgements) -> str:
    number = len({*_kinds(rows)[_pairs(rows)[0]].tolist()})
    return NO_EDITS if not number else f"{number:,} kinds of edits are more than {MOST}" if number > MOST else ""


def _kinds(rows: Judgements) -> NDArray[np.object_]:
    return np.full(rows.score.size, "", np.object_) if rows.kind is None else rows.kind


def _pairs(rows: Judgements) -> tuple[Ints, Ints]:
    """Return the row numbers of edits, (P,), and those of their originals; a pool holds an original and its edits."""
    kinds, original = _kinds(rows), np.full(int(rows.pool.max(initial=-1)) + 1, -1, dtype=np.int64)
    first = np.flatnonzero(kinds == ORIGINAL)
    original[rows.pool[first]] = first
    edit = np.flatnonzero((kinds != ORIGINAL) & (kinds != "") & (original[rows.pool] >= 0))
    return edit, original[rows.pool[edit]]


def _families(rows: Judgements) -> dict[str, str]:
    """Return the family of each kind of edit, by what it does to the level, in the order of `SIDES`."""
    edit, original = _pairs(rows)
    kinds, lowest = _kinds(rows)[edit], 0.0 if rows.levels else rows.gold.min(initial=np.inf)
    families = {}
    for kind in sorted({*kinds.tolist()}):
        before, after = (rows.gold[numbers[kinds == kind]] for numbers in (original, edit))
        unchanged = "harmless" if before.max() > lowest else "attack"
        families[kind] = "destroying" if after.mean() < before.mean() else unchanged
    return {kind: family for family in SIDES for kind, of in families.items() if of == family}


def _full(rows: Judgements) -> tuple[Ints, Bools]:
    """Return the row numbers of originals, and whether each has the highest of their levels."""
    first = np.flatnonzero(_kinds(rows) == ORIGINAL)
    return first, rows.gold[first] == rows.gold[first].max(initial=-np.inf)


def _two_sided(rows: Judgements) -> bool:
    return len({*_full(rows)[1].tolist()}) == 2


def _samples(rows: Judgements, options: Mapping[str, str]) -> dict[str, _Sample]:
    """Return what each measure of the rows is made of, by key; missing scores are NaN."""
    edit, original = _pairs(rows)
    kinds, group, families = _kinds(rows)[edit], rows.group[edit], _families(rows)
    harmless = np.array([families[kind] == "harmless" for kind in kinds.tolist()], dtype=np.bool_)
    fall, above = rows.score[original] - rows.score[edit], _above(rows, options)
    unit = _NOISE * float(np.nanmax(np.abs(rows.score), initial=0.0)) or 1.0
    samples: dict[str, _Sample] = {}
    for kind, family in families.items():
        inside = kinds == kind
        fell = np.where(np.isnan(fall), np.nan, fall > 0)[inside]
        samples[f"fall:{kind}"] = _Sample(fell, group[inside])
        beside = inside | harmless
        samples[f"auc:{kind}"] = _Sample(np.round(fall[beside] / unit), group[beside], inside[beside])
        before, after = above[original[inside]], above[edit[inside]]
        right = np.isfinite(after) & (before == (family != "attack"))
        wanted = (after == before) == (family != "destroying")
        samples[f"side:{kind}"] = _Sample(np.where(right, wanted, np.nan), group[inside])
    first, full = _full(rows)
    return {**samples, "originals": _Sample(rows.score[first], rows.group[first], full)}


def _above(rows: Judgements, options: Mapping[str, str]) -> Floats:
    """Return whether each row scores at or above the threshold for its original, (n,); NaN without one or the other."""
    folds, least = int(options.get("folds", "5")), np.full(int(rows.pool.max(initial=-1)) + 1, np.nan)
    scored = rows.rows(~np.isnan(rows.score))
    first, full = _full(scored)
    score, group = scored.score[first], scored.group[first]
    if _two_sided(scored) and distinct(group).size >= folds:
        objective: Objective = "balanced-accuracy" if options.get("objective") == "balanced-accuracy" else "macro-f1"
        _, thresholds = nested_decisions(score, full.astype(np.int64), group, folds, 0, objective, 2)
        least[scored.pool[first]] = thresholds[group_folds(group, folds, 0), 0]
    return np.where(np.isnan(least[rows.pool] + rows.score), np.nan, rows.score >= least[rows.pool])


PROTOCOL = Protocol(
    name="contrast",
    title="What edits do to scores",
    measures=(Measure("fall", "Falls", about=_FALLS, blind=_blind),),
    shown=lambda rows, options: tuple(measure.key for measure in measures_of(rows) if measure.key != "originals"),
    evaluate=evaluate,
    replicate=replicates,
    options=DECISION.options,
    usual=False,
    influence=influence,
    of_edits=measures_of,
    no_plan="Edits are made by rule, as many as the data allow: there is nothing to plan.",
)
