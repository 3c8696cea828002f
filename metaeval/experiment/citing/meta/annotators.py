"""How far the annotators of rated answers agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from metaeval.citation.human.model import HumanSet
from metaeval.citation.measures import Interval, interval_of
from metaeval.experiment.citing.meta.run import Meta
from metaeval.experiment.sheet import known
from metaeval.stats.agreement import Distance, alpha_by_groups
from metaeval.stats.resampling import bootstrap, replicate

_RETRIEVAL = 2.0


class _Judged(NamedTuple):
    """What annotators said of each statement, and the group of each."""

    said: list[Sequence[float | None]]
    groups: list[str]
    distance: Distance


def alphas(meta: Meta) -> dict[str, tuple[Interval, int]]:
    """Krippendorff's alpha among the annotators with its interval, and of how many statements two or more judged.

    Empty with one annotator. The interval is of resampled groups; none from a single group.
    """
    human = meta.prepared.human
    if human.annotators < 2:
        return {}
    of = {own.answer.id: own.answer.group or own.answer.id for own in human.answers}
    ratings = _Judged(
        [one.ratings for own in human.answers for one in own.statements],
        [of[own.answer.id] for own in human.answers for _ in own.statements],
        "interval",
    )
    found = {"ratings, interval": (_alpha(meta, ratings), _pairable(ratings.said))}
    return {**found, **_published(meta, human, of)} if human.people else found


def _published(meta: Meta, human: HumanSet, of: dict[str, str]) -> dict[str, tuple[Interval, int]]:
    """As CiteEval publishes it: of ratings with their gaps filled, which has no interval here, and of contexts."""
    from metaeval.citation.citeeval.human_agreement import annotator_agreement

    filled = annotator_agreement(human.people)["ratings"]
    said = [(one.contexts, of[answer]) for answer, own in human.people.items() for one in own]
    groups = [group for _, group in said]
    contexts = [[None if one is None else float(one) for one in own] for own, _ in said]
    needs = [[None if one is None else float(one == _RETRIEVAL) for one in own] for own in contexts]
    number = _pairable(contexts)
    return {
        "ratings, interval, gaps filled as published": (Interval(known(filled)), len(said)),
        "contexts, nominal": (_alpha(meta, _Judged(list(contexts), groups, "nominal")), number),
        "needs a citation, nominal": (_alpha(meta, _Judged(list(needs), groups, "nominal")), number),
    }


def _alpha(meta: Meta, judged: _Judged) -> Interval:
    width, interval = meta.prepared.human.annotators, meta.prepared.config.interval
    wide = [[*own, *[None] * (width - len(own))] for own in judged.said]
    # Numbered in the order of the names: a resample draws the same groups in any row order.
    names, group = np.unique(np.array(judged.groups, dtype=object).astype(str), return_inverse=True)
    ratings = np.array(wide, dtype=np.float64).reshape(len(wide), width)
    prepared = alpha_by_groups(ratings, group.astype(np.int64), names.size, judged.distance)
    resamples = interval.resamples if prepared.groups > 1 else 0
    return interval_of(replicate(prepared, bootstrap(names.size, resamples, interval.seed)), interval.level)


def _pairable(ratings: Sequence[Sequence[float | None]]) -> int:
    return sum(sum(one is not None for one in own) >= 2 for own in ratings)
