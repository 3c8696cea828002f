"""Ensemble: the mean of several metrics' scores, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator

from metaeval.scoring.contract import Combination, MetricCard, MetricOptions, PairScore, Status

MemberScores = NDArray[np.float64]


class EnsembleOptions(MetricOptions):
    """Options of an ensemble."""

    members: str = "overlap+rouge"
    """Metric names joined by '+' (autoais+minilm-cosine), two at least."""
    scale: Literal["z", "rank"] = "z"
    """z (score minus the job's mean, over its standard deviation), or rank (average rank, from 0 to 1)."""

    @field_validator("members")
    @classmethod
    def _members(cls, value: str) -> str:
        names = [name.strip() for name in value.split("+")]
        if len(names) < 2 or not all(names) or len(set(names)) < len(names):
            raise ValueError(f"an ensemble needs two or more different metrics joined by '+'; it was given {value!r}")
        if any(name.split(":")[0] == "ensemble" for name in names):
            raise ValueError(f"an ensemble cannot be a member of an ensemble; it was given {value!r}")
        return "+".join(names)


class Ensemble(Combination):
    """Mean over members of their scores on a common scale, all members with equal weight.

    A pair that any member could not score has no score. The scale is set by the unique pairs that all members scored;
    by z, a member that gives them all one score adds 0.
    """

    card = MetricCard(
        name="ensemble",
        family="combination",
        summary="mean of z-scores (or ranks) of named metrics: ensemble:METRIC+METRIC",
        paper="Fox and Shaw 1994, Combination of Multiple Searches (combination of scores)",
        licence="of its members",
        corpus_dependent=True,
        argument="members",
    )
    Options = EnsembleOptions

    @property
    def members(self) -> tuple[str, ...]:
        """Return the names of the member metrics."""
        return tuple(self.options.members.split("+"))

    def combine(self, answers: Sequence[Sequence[PairScore]]) -> list[PairScore]:
        """Return each pair's combined score, or the status of the first member without one; answers: by member."""
        scores = np.array(
            [[np.nan if answer.score is None else answer.score for answer in member] for member in answers]
        )
        whole = ~np.isnan(scores).any(axis=0)
        combined = np.full(scores.shape[1], np.nan)
        if whole.any():
            combined[whole] = np.mean([_scaled(member[whole], self.options.scale) for member in scores], axis=0)
        pair_scores = []
        for value, parts in zip(combined.tolist(), zip(*answers, strict=True), strict=True):
            tokens, cut = sum(part.tokens for part in parts), sum(part.cut for part in parts)
            missing = next((part.status for part in parts if part.score is None), Status.OK)
            pair_scores.append(PairScore(value if missing is Status.OK else None, missing, tokens, cut))
        return pair_scores


def _scaled(scores: MemberScores, scale: Literal["z", "rank"]) -> MemberScores:
    if scale == "rank":
        from scipy.stats import rankdata  # half a second that `metrics list` need not wait for

        ranks: MemberScores = rankdata(scores)
        return (ranks - 1) / max(len(scores) - 1, 1)
    spread = scores.std()
    # A metric that gives every pair the same score says nothing about any of them.
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros_like(scores)
