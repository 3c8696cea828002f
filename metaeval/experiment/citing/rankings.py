"""The tables of rankings under several backends: ranks, how far they agree, pairs that change order, and the causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from metaeval.citation.panel import Flip, Rankings, agreements, flips, ranks
from metaeval.experiment.citing.provenance import Provenance, in_steps
from metaeval.report.citation.layout import interval_cell, ranks_grid
from metaeval.report.grid import Cell, Note, plain
from metaeval.report.result import Column
from metaeval.report.sheet import Record, Sheet

_TAU = Column(key="tau", label="Kendall tau-b", digits=2)
_COUNT = Column(key="flips", label="flips", digits=0)
_LEAD = Column(key="lead", label="", scale=100, digits=1)
_ADDS = Column(key="adds", label="", scale=100, digits=2)
_SHARE = Column(key="share", label="", scale=100, digits=0)
_SHOWN = 12
_EXPLAINED = 3
_PAIR = ("measure", "one", "other", "ahead", "behind")


def ranking_sheets(found: Rankings, around: Provenance, name: str, agreement: str) -> list[Sheet]:
    """Ranks and agreement, under these names; none with one backend or one system."""
    if not found.comparable:
        return []
    of_measures = {
        measure: {backend: ranks(own[:, 0]) for backend, own in zip(found.backends, values, strict=True)}
        for measure, values in found.values.items()
    }
    records: list[Record] = [
        {"system": system, "backend": backend, "measure": measure, "rank": rank}
        for measure, by_backend in of_measures.items()
        for backend, own in by_backend.items()
        for system, rank in zip(found.panel.systems, own, strict=True)
    ]
    labelled = {found.labels[measure]: own for measure, own in of_measures.items()}
    title = "Ranks of the systems under each backend"
    sheet = around.sheet(name, title, records, lambda frame: ranks_grid(frame, found.panel.systems, labelled))
    return [sheet, _agreements(found, around, agreement)]


def _agreements(found: Rankings, around: Provenance, name: str) -> Sheet:
    blocks: dict[str, list[tuple[str, list[Cell]]]] = {}
    records: list[Record] = []
    for one in agreements(found):
        cells = [interval_cell(one.tau.ends, _TAU, signed=True), interval_cell(one.flips.ends, _COUNT)]
        line = found.labels[one.measure], [*cells, Cell(f"{one.pairs:,}")]
        blocks.setdefault(f"{plain(one.one)} and {plain(one.other)}", []).append(line)
        pair: Record = {"measure": one.measure, "one": one.one, "other": one.other, "pairs": one.pairs}
        records.append({**pair, **one.tau.named("tau"), **one.flips.named("flips")})
    headings = ("measure", _TAU.label, _COUNT.label, "of pairs")
    title = "How far two backends rank the systems alike"
    notes = [in_steps(around.interval)]
    return around.lines(name, title, headings, list(blocks.items()), records, notes)


def flip_sheets(found: Rankings, around: Provenance) -> list[Sheet]:
    """Pairs that change order, and the causes; none where no pair does."""
    made = flips(found)
    return [_flips(found, around, made), _flip_causes(found, around, made)] if made else []


def _flips(found: Rankings, around: Provenance, made: Sequence[Flip]) -> Sheet:
    blocks: dict[str, list[tuple[str, list[Cell]]]] = {}
    for flip in _strongest(made)[:_SHOWN]:
        values = (flip.lead, _LEAD), (flip.reversed_lead, _LEAD), (flip.share_of_resamples, _SHARE)
        title = f"{plain(flip.one)} (1), {plain(flip.other)} (2)"
        line = f"{found.labels[flip.measure]}: {flip.ahead} over {flip.behind}", _cells(*values)
        blocks.setdefault(title, []).append(line)
    left = len(made) - _SHOWN
    notes = [
        Note("reading", "lead in points under each backend; flipped: share of resamples in which the two change order"),
        Note("not shown", f"{left:,} more flips are in flips.csv and flips.json" if left > 0 else ""),
    ]
    records = [{name: value for name, value in asdict(flip).items() if name != "causes"} for flip in made]
    headings = ("pair", "lead (1)", "lead (2)", "flipped %")
    return around.lines("flips", "Pairs of systems that change order", headings, list(blocks.items()), records, notes)


def _flip_causes(found: Rankings, around: Provenance, made: Sequence[Flip]) -> Sheet:
    with_causes = [flip for flip in made if flip.causes]
    records: list[Record] = [
        {name: getattr(flip, name) for name in _PAIR} | asdict(cause) | {"reversal": flip.lead - flip.reversed_lead}
        for flip in with_causes
        for cause in flip.causes
    ]
    blocks = [
        (
            f"{found.labels[flip.measure]}: {plain(flip.ahead)} over {plain(flip.behind)}",
            [
                (
                    f"{one.answer} ({one.system})",
                    _cells((one.value_one, _LEAD), (one.value_other, _LEAD), (one.adds, _ADDS)),
                )
                for one in flip.causes
            ],
        )
        for flip in _strongest(with_causes)[:_EXPLAINED]
    ]
    reading = "adds: points of the change of lead that this answer alone makes; all answers together make it"
    headings, notes = ("answer", "under (1)", "under (2)", "adds"), [Note("reading", reading)]
    title = "Answers that add most to a change of order"
    return around.lines("flip-causes", title, headings, blocks, records, notes)


def _strongest(made: Sequence[Flip]) -> list[Flip]:
    """Those that are flipped in most resamples first."""
    return sorted(made, key=lambda flip: -(flip.share_of_resamples or 0.0))


def _cells(*values: tuple[float | None, Column]) -> list[Cell]:
    return [interval_cell((value, None, None), column) for value, column in values]
