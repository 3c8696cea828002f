"""The frame of rows that a protocol sees, with the facts about the data that results report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from metaeval.core.errors import UserError, count
from metaeval.report import result as results
from protocols.contract import Judgements

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Frame:
    """The n rows with known gold, in the order of their ids, with facts about the data that results report.

    numbers: (n,) the row's index in every score column. gold: (n,) float64. group, pool: (n,) codes from 0; retrieval
    ranks the rows of each pool. system: (n,) codes from 0; None where any row names no system. excluded: number of
    rows without known gold, by reason. fields: those of the signature about the data. as_published: whether published
    values are about rows like these. judged: number of citations or ratings at each level, as loaded. held: (n,) share
    of an evidence set that each row holds, 0 where unknown; None where no row holds only a part of one. warnings: about
    the data, shown for every metric. levels: whether the gold is on the three-level scale. systems: the names of the
    systems' codes. crossed: whether intervals take systems as sampled too. votes: (n,) of a rated set, mappings of an
    annotator to the vote. unlabelled: group codes of the rows that nobody labelled, which rates of verdicts count.
    voted: the frame of all rows with votes, gold NaN where they have no majority, if such rows are left out.
    """

    name: str
    split: str
    unit: results.Unit
    fields: Mapping[str, object]
    numbers: NDArray[np.intp]
    gold: NDArray[np.float64]
    group: Codes
    pool: Codes
    system: Codes | None
    summary: results.Data
    excluded: Mapping[str, int]
    as_published: bool
    judged: Mapping[str, int] = field(default_factory=dict)
    held: NDArray[np.float64] | None = None
    warnings: tuple[str, ...] = ()
    levels: bool = True
    systems: tuple[str, ...] = ()
    crossed: bool = False
    votes: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, dtype=np.object_))
    unlabelled: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    voted: Frame | None = None

    def __post_init__(self) -> None:
        if self.crossed and self.system is None:
            raise UserError(
                f"interval.cluster=group,system needs to know the system of each row, and {self.name} does not name "
                "it: leave the setting out (a table of your own: --map system=COLUMN)."
            )

    def unknown_levels(self) -> str:
        """Return a sentence on chunks without a known level, with another unit to try; "" for other units or none."""
        unknown = sum(self.excluded.values()) if self.unit == "chunk" else 0
        return f" Without a known level: {count(unknown, 'chunk')}; try --unit citation." if unknown else ""

    def judgements(self, score: NDArray[np.float64]) -> Judgements:
        """Return a protocol's input: the scores (n,), NaN where missing, with the gold and groups of the same rows."""
        other = self.system if self.crossed else None
        columns = self.gold, score, self.group, self.pool, self.system, self.levels, self.systems
        return Judgements(*columns, crossed=other)

    def with_unlabelled(
        self, score: NDArray[np.float64], unrated: NDArray[np.float64], cost: NDArray[np.float64] | None
    ) -> Judgements:
        """Return the input of a judge's card: the rows, and those that nobody labelled, if `unrated` scores them.

        score, cost: of all rows of the data, as columns have them. Rows without a majority of votes lack both there.
        """
        if self.voted:
            return self.voted.with_unlabelled(score, unrated, cost)
        group, unknown = np.append(self.group, self.unlabelled[: unrated.size]), np.full(unrated.size, np.nan)
        votes = np.append(self.votes, [{} for _ in unknown]) if self.votes.size else None
        costs = None if cost is None else np.append(cost[self.numbers], unknown)
        scores = np.append(np.where(np.isnan(self.gold), np.nan, score[self.numbers]), unrated)
        gold = np.append(self.gold, unknown)
        return Judgements(gold, scores, group, group, levels=self.levels, votes=votes, cost=costs)
