"""The protocol of verdicts: scores that are decisions already, 0 and 1 or the levels. No threshold is learnt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from metaeval.stats import classification as measures
from metaeval.stats.agreement import cohen_kappa
from metaeval.stats.arrays import Floats
from metaeval.stats.resampling import Draws, Prepared, replicate, value
from protocols.contract import Cards, Influences, Judgements, Measure, Option, Outcome, Protocol, Replicates, Resampling
from protocols.judge_card import CUTS, LEVELS, judge_cards, sides
from protocols.measure_estimates import NO_SCORES, ONE_LEVEL, Qualities, jackknifed, opened, outcome, pair_of_bounds
from protocols.two_way_clusters import by_clusters

MOST = 10
"""The largest number of distinct gold values with which verdicts are compared."""

MEASURES = (
    *("accuracy", "balanced_accuracy", "macro_f1", "kappa", "quadratic_kappa"),
    *("f1_top", "f1_partial", "f1_bottom", "kappa_full", "kappa_some"),
)
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
    used, rows = judgements.rows(~missing), _cut(judgements, options)
    decided = decide(used, options)
    undefined = _why_undefined(judgements, options) or (YES_NO if _is_yes_no(decided) or _is_yes_no(rows) else "")
    groups = np.unique(used.group).size
    keys = MEASURES if "kappa_full" in _shown(judgements, options) else MEASURES[:-2]
    qualities = {key: Qualities(groups, undefined or "the gold or the verdicts lack a level") for key in keys}
    if missing.any() and not undefined:
        refills = [rows.with_score(np.where(missing, filler, rows.score)) for filler in (np.inf, rows.gold)]
        ends = [_measures(refill, n_groups, MEASURES[:2]) for refill in refills]
        for key in ends[0]:
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
    scored = score[~np.isnan(score)]
    binary = bool(np.isin(scored, (0.0, 1.0)).all() or np.isin(scored, (0.0, 2.0)).all())
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
    prepared = _measures(rows, n_groups, keys, _is_yes_no(rows))
    return {key: replicate(averaged, draws) for key, averaged in prepared.items()}


@by_clusters
def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the groups' influence values on the measures `keys`; `rows` must come from `decide`."""
    run = partial(replicates, rows, n_groups, options=options, keys=keys)
    return jackknifed(run, rows.group, n_groups, lambda key: (-1.0 if "kappa" in key else 0.0, 1.0))


def _measures(rows: Judgements, n_groups: int, keys: Collection[str], cuts_alone: bool = False) -> dict[str, Prepared]:
    if np.isnan(rows.score).any():
        rows = rows.rows(np.zeros(rows.score.size, dtype=np.bool_))
    levels, codes = np.unique(np.concatenate((rows.gold, rows.score)), return_inverse=True)
    gold, verdict = (part.astype(np.int64) for part in np.split(codes, 2))
    counts = measures.decision_counts(verdict, gold, rows.group, n_groups, max(levels.size, 1))
    present = np.unique(gold)
    partly = present[levels[present] == 1.0] if rows.levels or levels[present[-1:]].tolist() == [2.0] else present[:0]
    binary = not (rows.score == 2.0).any()

    def kappa_from(least: float) -> Callable[[Floats], Floats]:
        people, judge = sides(levels, least), sides(levels, 1.0 if binary else least)
        return lambda counts: cohen_kappa((people @ counts[..., : levels.size, : levels.size] @ judge.T)[..., :2, :2])

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
        "kappa_full": kappa_from(CUTS["full"]),
        "kappa_some": kappa_from(CUTS["some"]),
    }
    return {key: measures.resampled(counts * (not cuts_alone or key.startswith("kappa_")), of[key]) for key in keys}


def _is_yes_no(rows: Judgements) -> bool:
    """Return whether the gold has the three levels, and verdicts 0 and 1, which say nothing of partial support."""
    verdicts = np.unique(rows.score[~np.isnan(rows.score)])
    return set(np.unique(rows.gold).tolist()) == LEVELS and verdicts.tolist() == [0.0, 1.0]


def card(judges: Mapping[str, Judgements], resampling: Resampling, options: Mapping[str, str]) -> Cards:
    """Return what a judge's card holds beside the measures, by judge and key; nothing of scores that are no verdicts.

    judges: all rows, the same of every judge; gold is NaN where nobody labelled. Keys, each with the suffixes of
    `judge_card`: kappa, tpr and tnr; the rates of yes as the judge `says` on all rows, as `people` say on those with a
    label, `corrected` for the judge's errors, and by prediction-powered inference (`ppi`) where rows lack a label;
    `ceiling`, the kappa of an annotator with the majority of the others, or of two with each other; kappa:OTHER and
    equal:OTHER (the share of equal verdicts), with another judge. Further cell:GOLD:VERDICT, a share of the rows that
    have both, and cost, of 1,000 rows.
    """
    labelled = {name: rows.rows(~np.isnan(rows.gold)) for name, rows in judges.items()}
    decided = {name: rows for name, rows in judges.items() if not _why_undefined(labelled[name], options, cuts=True)}
    return judge_cards(decided, resampling, options.get("against", ""))


def _mean(values: Floats) -> Floats:
    return np.asarray(values.mean(axis=-1)) if values.shape[-1] else np.full(values.shape[:-1], np.nan)


def _why_undefined(rows: Judgements, options: Mapping[str, str], cuts: bool = False) -> str:
    """Return why the scores are not verdicts on the gold; "" if they are. Unscored rows do not count.

    cuts: levels are verdicts on gold of two values too.
    """
    gold, score = rows.gold, rows.score[~np.isnan(rows.score)]
    if not score.size:
        return NO_SCORES
    cut = _cut(rows, options)
    if reason := _why_incomparable(cut):
        return reason
    two = [(0.0, 1.0), (0.0, 2.0), *([(0.0, 1.0, 2.0)] if cuts and np.unique(gold).size == 2 else [])]
    if any(np.isin(score, some).all() for some in two[0 if cut is not rows else 2 :]):
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
    three = set(values.tolist()) == LEVELS
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
