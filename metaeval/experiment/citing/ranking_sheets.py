"""Rankings of systems under several backends as sheets: ranks, how far they agree, flips, and their causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from metaeval.experiment.citing.flips import Agreement, Flip, compare_rankings, rankings
from metaeval.experiment.citing.judging import HEADLINES, Cited
from metaeval.experiment.citing.notes import frame_of, sheet_of
from metaeval.experiment.citing.quantities import Interval
from metaeval.experiment.sheet import Record, Sheet, known
from metaeval.report.citation.layout import interval_cell, lines_grid, ranks_grid
from metaeval.report.grid import Cell, Note
from metaeval.report.number_format import plain
from metaeval.report.result import Column, Data

_LABELS: Mapping[str, str] = {column.key: column.label for column in HEADLINES}
_TAU = Column(key="tau", label="Kendall tau-b", digits=2)
_COUNT = Column(key="flips", label="flips", digits=0)
_LEAD = Column(key="lead", label="", scale=100, digits=1)
_ADDS = Column(key="adds", label="", scale=100, digits=2)
_SHARE = Column(key="share", label="", scale=100, digits=0)
_SHOWN = 12
_EXPLAINED = 3


def ranking_sheets(cited: Cited, data: Data) -> list[Sheet]:
    """Ranks, agreement, flips and causes; none with one backend or one system, and no flips where there are none."""
    agreements, flips = compare_rankings(cited)
    sheets = [_ranks(cited, data), _agreements(cited, data, agreements)] if agreements else []
    return sheets + ([_flips(cited, data, flips), _causes(cited, data, flips)] if flips else [])


def _ranks(cited: Cited, data: Data) -> Sheet:
    values = rankings(cited)
    backends = [one.backend.name for one in cited.judged]
    ranks = {
        _LABELS[measure]: {backend: _rank(found[number, :, 0]) for number, backend in enumerate(backends)}
        for measure, found in values.items()
    }
    records: list[Record] = [
        {"system": system, "backend": backend, "measure": measure, "rank": ranks[_LABELS[measure]][backend][number]}
        for measure in values
        for backend in backends
        for number, system in enumerate(cited.systems)
    ]
    frame = frame_of(cited, data, "rankings", "Ranks of the systems under each backend")
    return sheet_of(cited, data, "rankings", records, ranks_grid(frame, cited.systems, ranks))


def _rank(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[int | None]:
    # Equal means over other rows can differ in the last bits.
    return [None if np.isnan(value) else 1 + int(np.sum(values - value > 1e-12)) for value in values]


def _agreements(cited: Cited, data: Data, found: Sequence[Agreement]) -> Sheet:
    blocks: dict[str, list[tuple[str, list[Cell]]]] = {}
    records: list[Record] = []
    for one in found:
        cells = [
            interval_cell(_ends(one.tau), _TAU, signed=True),
            interval_cell(_ends(one.flips), _COUNT),
            Cell(f"{one.pairs:,}"),
        ]
        blocks.setdefault(f"{plain(one.one)} and {plain(one.other)}", []).append((_LABELS[one.measure], cells))
        pair: Record = {"measure": one.measure, "one": one.one, "other": one.other, "pairs": one.pairs}
        records.append({**pair, **_numbers("tau", one.tau), **_numbers("flips", one.flips)})
    frame = frame_of(cited, data, "ranking-agreement", "How far two backends rank the systems alike")
    headings = (_TAU.label, _COUNT.label, "of pairs")
    return sheet_of(
        cited, data, "ranking-agreement", records, lines_grid(frame, "measure", headings, list(blocks.items()))
    )


def _flips(cited: Cited, data: Data, found: Sequence[Flip]) -> Sheet:
    blocks: dict[str, list[tuple[str, list[Cell]]]] = {}
    for flip in _strongest(found)[:_SHOWN]:
        cells = [
            interval_cell((flip.lead, None, None), _LEAD),
            interval_cell((flip.reversed_lead, None, None), _LEAD),
            interval_cell((known(flip.share), None, None), _SHARE),
        ]
        title = f"{plain(flip.one)} (1), {plain(flip.other)} (2)"
        blocks.setdefault(title, []).append((f"{_LABELS[flip.measure]}: {flip.ahead} over {flip.behind}", cells))
    records: list[Record] = [
        {
            **_pair(flip),
            "lead": flip.lead,
            "reversed_lead": flip.reversed_lead,
            "share_of_resamples": known(flip.share),
        }
        for flip in found
    ]
    left = len(found) - _SHOWN
    notes = [
        Note("reading", "lead in points under each backend; flipped: share of resamples in which the two change order")
    ]
    if left > 0:
        notes.append(Note("not shown", f"{left:,} more flips are in flips.csv and flips.json"))
    frame = frame_of(cited, data, "flips", "Pairs of systems that change order", notes)
    grid = lines_grid(frame, "pair", ("lead (1)", "lead (2)", "flipped %"), list(blocks.items()))
    return sheet_of(cited, data, "flips", records, grid)


def _causes(cited: Cited, data: Data, found: Sequence[Flip]) -> Sheet:
    blocks, records = [], []
    with_causes = [flip for flip in found if flip.causes]
    for flip in with_causes:
        for cause in flip.causes:
            records.append(
                {
                    **_pair(flip),
                    "answer": cause.answer,
                    "system": cause.system,
                    "value_one": cause.before,
                    "value_other": cause.after,
                    "adds": cause.adds,
                    "reversal": flip.lead - flip.reversed_lead,
                }
            )
    for flip in _strongest(with_causes)[:_EXPLAINED]:
        rows = [
            (
                f"{cause.answer} ({cause.system})",
                [
                    interval_cell((cause.before, None, None), _LEAD),
                    interval_cell((cause.after, None, None), _LEAD),
                    interval_cell((cause.adds, None, None), _ADDS),
                ],
            )
            for cause in flip.causes
        ]
        blocks.append((f"{_LABELS[flip.measure]}: {plain(flip.ahead)} over {plain(flip.behind)}", rows))
    notes = [
        Note("reading", "adds: points of the change of lead that this answer alone makes; all answers together make it")
    ]
    frame = frame_of(cited, data, "flip-causes", "Answers that add most to a change of order", notes)
    grid = lines_grid(frame, "answer", ("under (1)", "under (2)", "adds"), blocks)
    return sheet_of(cited, data, "flip-causes", records, grid)


def _pair(flip: Flip) -> dict[str, str]:
    return {"measure": flip.measure, "one": flip.one, "other": flip.other, "ahead": flip.ahead, "behind": flip.behind}


def _strongest(flips: Sequence[Flip]) -> list[Flip]:
    """Those that are flipped in most resamples first."""
    return sorted(flips, key=lambda flip: -(known(flip.share) or 0.0))


def _numbers(name: str, interval: Interval) -> dict[str, float | None]:
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _ends(interval: Interval) -> tuple[float | None, float | None, float | None]:
    return interval.value, interval.low, interval.high
