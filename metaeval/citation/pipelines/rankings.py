"""The tables of rankings under several backends: ranks, how far they agree, pairs that change order, and the causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from metaeval.citation.panel import Flip, Rankings, agreements, flips, ranks
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.provenance import Provenance, in_steps
from metaeval.report.cells import cell
from metaeval.report.result import Column
from metaeval.report.table import UNDEFINED, ColumnGroup, Note, Table, plain

_TAU = Column(key="tau", label="Kendall tau-b", digits=2)
_COUNT = Column(key="flips", label="flips", digits=0)
_LEAD = Column(key="lead", label="", scale=100, digits=1)
_ADDS = Column(key="adds", label="", scale=100, digits=2)
_SHARE = Column(key="share", label="", scale=100, digits=0)
_SHOWN = 12
_EXPLAINED = 3
_PAIR = ("measure", "one", "other", "ahead", "behind")


def ranking_sheets(found: Rankings, around: Provenance, name: str, agreement: str) -> list[Table]:
    """Ranks and agreement, under these names; none with one backend or one system."""
    if not found.comparable:
        return []
    of_measures = {
        measure: {backend: ranks(own[:, 0]) for backend, own in zip(found.backends, values, strict=True)}
        for measure, values in found.values.items()
    }
    columns = [(measure, backend, own) for measure, of in of_measures.items() for backend, own in of.items()]
    systems, table = found.panel.systems, TableLines()
    for number, system in enumerate(systems):
        places = (own[number] for *_, own in columns)
        table.add("", system, [UNDEFINED if place is None else str(place) for place in places])
    for measure, backend, own in columns:
        line = {"backend": backend, "measure": measure}
        table.records.extend({"system": one, **line, "rank": rank} for one, rank in zip(systems, own, strict=True))
    groups = tuple(ColumnGroup(found.labels[measure], len(found.backends)) for measure in of_measures)
    headings = ("system", *(plain(backend) for _, backend, _ in columns))
    sheet = around.lines(name, "Ranks of the systems under each backend", headings, table, groups=groups)
    return [sheet, _agreements(found, around, agreement)]


def _agreements(found: Rankings, around: Provenance, name: str) -> Table:
    table = TableLines()
    for one in agreements(found):
        cells = [interval_cell(one.tau.ends, _TAU, signed=True), interval_cell(one.flips.ends, _COUNT)]
        table.add(
            f"{plain(one.first)} and {plain(one.second)}",
            found.labels[one.measure],
            [*cells, f"{one.pairs:,}"],
            {
                **{"measure": one.measure, "one": one.first, "other": one.second, "pairs": one.pairs},
                **one.tau.named("tau"),
                **one.flips.named("flips"),
            },
        )
    headings = ("measure", _TAU.label, _COUNT.label, "of pairs")
    title = "How far two backends rank the systems alike"
    return around.lines(name, title, headings, table, [in_steps(around.interval)])


def flip_sheets(found: Rankings, around: Provenance) -> list[Table]:
    """Pairs that change order, and the causes; none where no pair does."""
    made = flips(found)
    # Those that are flipped in most resamples come first; the records are in their own order.
    strongest = sorted(made, key=lambda flip: -(flip.share_of_resamples or 0.0))
    return [_flips(found, around, made, strongest), _flip_causes(found, around, made, strongest)] if made else []


def _flips(found: Rankings, around: Provenance, made: Sequence[Flip], strongest: Sequence[Flip]) -> Table:
    table = TableLines()
    for flip in strongest[:_SHOWN]:
        title = f"{plain(flip.first)} (1), {plain(flip.second)} (2)"
        leads = [cell(value, column=_LEAD) for value in (flip.lead, flip.reversed_lead)]
        name = f"{found.labels[flip.measure]}: {flip.ahead} over {flip.behind}"
        table.add(title, name, [*leads, cell(flip.share_of_resamples, column=_SHARE)])
    left = len(made) - _SHOWN
    notes = [
        Note("reading", "lead in points under each backend; flipped: share of resamples in which the two change order"),
        Note("not shown", f"{left:,} more flips are in flips.csv and flips.json" if left > 0 else ""),
    ]
    rest = ("lead", "reversed_lead", "share_of_resamples")
    table.records.extend({**flip.pair, **{name: getattr(flip, name) for name in rest}} for flip in made)
    headings = ("pair", "lead (1)", "lead (2)", "flipped %")
    return around.lines("flips", "Pairs of systems that change order", headings, table, notes)


def _flip_causes(found: Rankings, around: Provenance, made: Sequence[Flip], strongest: Sequence[Flip]) -> Table:
    table = TableLines()
    for flip in [flip for flip in strongest if flip.causes][:_EXPLAINED]:
        title = f"{found.labels[flip.measure]}: {plain(flip.ahead)} over {plain(flip.behind)}"
        for one in flip.causes:
            values = [cell(value, column=_LEAD) for value in (one.value_one, one.value_other)]
            table.add(title, f"{one.answer} ({one.system})", [*values, cell(one.adds, column=_ADDS)])
    table.records.extend(
        {**flip.pair, **asdict(cause), "reversal": flip.lead - flip.reversed_lead}
        for flip in made
        for cause in flip.causes
    )
    reading = "adds: points of the change of lead that this answer alone makes; all answers together make it"
    headings, title = ("answer", "under (1)", "under (2)", "adds"), "Answers that add most to a change of order"
    return around.lines("flip-causes", title, headings, table, [Note("reading", reading)])
