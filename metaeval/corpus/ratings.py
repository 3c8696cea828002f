"""Rated sets: texts that humans rated, with what metrics were published to score, and without the sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite

from metaeval.errors import UserError
from metaeval.files import sha256_json


@dataclass(frozen=True, slots=True)
class Rating:
    """One rated text. `gold` is any finite number, more is more faithful.

    group: what resampling draws, and whose texts are ranked against each other: the article that they are made from.
    system: the generator; subset: the part of the set that the text comes from. Empty where not known.
    """

    id: str
    group: str
    gold: float
    system: str = ""
    subset: str = ""
    text: str = ""


@dataclass(frozen=True)
class Ratings:
    """Rated texts in their file order, and the scores that metrics gave them.

    scores: for each metric, rating id to score, higher is more faithful; None, or an id left out, is a missing score.
    dropped: what the loader left out, by reason.

    Raises `UserError` for fewer than two ratings, an id that is empty or used twice, an empty group, a gold rating
    that is not finite or is the same everywhere, and a score that is not finite or belongs to no rating.
    """

    name: str
    rows: tuple[Rating, ...]
    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"Rated set {self.name!r}"
        seen: set[str] = set()
        for row in self.rows:
            if not row.id or not row.group:
                raise UserError(
                    f"{where}: rating {row.id!r} of group {row.group!r} needs an id and a group, not empty."
                )
            if row.id in seen:
                raise UserError(f"{where}: rating id {row.id!r} is used twice; ids must be unique.")
            seen.add(row.id)
            if not isfinite(row.gold):
                raise UserError(f"{where}: rating {row.id!r} has gold {row.gold}; it must be a finite number.")
        if len(self.rows) < 2:
            raise UserError(f"{where} holds {len(self.rows)} ratings; no metric can be judged with fewer than two.")
        if len({row.gold for row in self.rows}) == 1:
            raise UserError(
                f"{where}: all {len(self.rows)} ratings are {self.rows[0].gold:g}; "
                "nothing tells one text from another, so no metric can be judged."
            )
        for metric, scores in self.scores.items():
            self._check(f"{where}: metric {metric!r}", scores, seen)

    def _check(self, where: str, scores: Mapping[str, float | None], ids: set[str]) -> None:
        for rating_id, score in scores.items():
            if rating_id not in ids:
                raise UserError(f"{where} has a score for {rating_id!r}, which is no rating of the set.")
            if score is not None and not isfinite(score):
                raise UserError(
                    f"{where} has the score {score} for {rating_id!r}; it must be finite, or null where it is missing."
                )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over what the ratings are (ids, groups, gold, systems, texts), in any order; not over the scores."""
        return sha256_json(sorted([row.id, row.group, float(row.gold), row.system, row.text] for row in self.rows))

    def level_counts(self, most: int = 10) -> dict[str, int]:
        """Number of texts at each gold value, highest first; empty where there are more than `most` values."""
        counts = Counter(row.gold for row in self.rows)
        return {} if len(counts) > most else {f"{gold:g}": counts[gold] for gold in sorted(counts, reverse=True)}
