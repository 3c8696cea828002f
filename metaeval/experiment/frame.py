"""The frame: the rows that one protocol sees, from a job's pairs or from a rated set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metaeval.errors import UserError
from metaeval.experiment.prepared_run import Job, RatedSet
from metaeval.report import result as results
from protocols.contract import Judgements, Protocol

_UNKNOWN_LEVEL = "no evidence tells the chunk's level"

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Frame:
    """n rows of a known level in the order of their ids, and what the result says of them.

    numbers: (n,) the row's number in every column. gold: (n,) float64; group, pool: (n,) codes from 0. system: (n,)
    codes from 0, None where some row names none. excluded: rows left out here, by reason. fields: the signature's, for
    the data. as_published: nothing was chosen that the published files do not hold by themselves.
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

    def judgements(self, score: NDArray[np.float64]) -> Judgements:
        """Scores (n,) beside the gold."""
        return Judgements(self.gold, score, self.group, self.pool, self.system, levels=self.unit != "rating")


def from_job(job: Job, protocol: Protocol) -> Frame:
    """Cited rows, and pool rows if the protocol uses them; `UserError` where the level of none is known."""
    seen = [number for number, row in enumerate(job.rows) if row.cited or protocol.uses_pool]
    known = [number for number in seen if job.rows[number].level is not None]
    numbers = _in_order([row.id for row in job.rows], known)
    rows = [job.rows[number] for number in numbers]
    if not rows:
        raise UserError(
            f"Data set {job.config.dataset!r} has no row of a known level with unit={job.config.unit}: "
            "its citations carry no evidence. Try unit=citation."
        )
    levels = Counter(row.level for row in rows)
    judged = [job.pairs[number] for row in rows for number in row.members]
    unknown = len(seen) - len(known)
    return Frame(
        name=job.name,
        split=job.split,
        unit=job.config.unit,
        fields=job.fields,
        numbers=numbers,
        gold=np.array([float(row.level or 0) for row in rows]),
        group=_codes([row.group for row in rows]),
        pool=_codes([row.statement_id for row in rows]),
        system=_systems([job.corpus.statements[row.statement_id].system for row in rows]),
        summary=results.Data(
            name=job.name,
            split=job.split,
            fingerprint=job.corpus.fingerprint,
            statements=len({row.statement_id for row in rows}),
            documents=len({pair.document_id for pair in judged}),
            citations=len({pair.citation_id for pair in judged if pair.cited}),
            groups=len({row.group for row in rows}),
            levels={name: levels[number] for name, number in (("full", 2), ("partial", 1), ("none", 0))},
            dropped={**job.corpus.dropped, **job.table.dropped},
            evidence=dict(job.table.evidence),
        ),
        excluded={_UNKNOWN_LEVEL: unknown} if unknown else {},
        as_published=not job.config.dataset_options,
    )


def from_ratings(rated: RatedSet) -> Frame:
    """Every rated text; a group's texts are the candidates of one pool."""
    ratings, name, split, options = rated.ratings, rated.name, rated.split, rated.config.dataset_options
    numbers = _in_order([row.id for row in ratings.rows], range(len(ratings.rows)))
    rows = [ratings.rows[number] for number in numbers]
    groups = _codes([row.group for row in rows])
    return Frame(
        name=name,
        split=split,
        unit="rating",
        fields={"data": f"{name}/{split}@{ratings.fingerprint[:12]}", "unit": "rating", **options},
        numbers=numbers,
        gold=np.array([row.gold for row in rows], dtype=np.float64),
        group=groups,
        pool=groups,
        system=_systems([row.system for row in rows]),
        summary=results.Data(
            name=name,
            split=split,
            fingerprint=ratings.fingerprint,
            statements=len(rows),
            documents=0,
            citations=0,
            groups=len({row.group for row in rows}),
            levels=ratings.level_counts(),
            dropped=dict(ratings.dropped),
        ),
        excluded={},
        as_published=not options,
    )


def no_candidates(frame: Frame) -> str:
    """Why the pools of a rated set hold nothing to rank by rating; empty where they do."""
    if frame.gold.min() < 0:
        return f"a rating of {frame.gold.min():g} is no gain: gains are 0 or more"
    if np.unique(frame.pool).size == frame.pool.size:
        return "every group holds one text, and nothing to rank it against"
    return ""


def _in_order(ids: Sequence[str], numbers: Sequence[int]) -> NDArray[np.intp]:
    # In the order of ids: sums of floats then end in the same digit whatever the order of the file.
    return np.array(sorted(numbers, key=lambda number: ids[number]), dtype=np.intp)


def _systems(names: Sequence[str]) -> Codes | None:
    return _codes(names) if all(names) else None


def _codes(names: Sequence[str]) -> Codes:
    # Numbered in the order of the names, not of the rows: a resample draws the same groups in any row order.
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([numbers[name] for name in names], dtype=np.int64)
