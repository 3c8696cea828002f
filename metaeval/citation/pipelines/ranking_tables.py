"""Tables of rankings with several backends: ranks, their agreement, pairs that change order, and the causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.provenance import Provenance, ranking_intervals
from metaeval.citation.system_comparison import Flip, Rankings, agreements, flips, ranks
from metaeval.report.result import Column
from metaeval.report.result_tables import cell
from metaeval.report.table import UNDEFINED, ColumnGroup, Note, Table, plain

_TAU = Column(key="tau", label="Kendall tau-b", digits=2)
_COUNT = Column(key="flips", label="flips", digits=0)
_LEAD = Column(key="lead", label="", scale=100, digits=1)
_ADDS = Column(key="adds", label="", scale=100, digits=2)
_SHARE = Column(key="share", label="", scale=100, digits=0)
_SHOWN = 12
_EXPLAINED = 3


def ranking_sheets(rankings: Rankings, around: Provenance, name: str, agreement: str) -> list[Table]:
    """Return the table of ranks, called `name`, and that of their agreement; none with a single backend or system."""
    if not rankings.comparable:
        return []
    of_measures = {
        measure: {backend: ranks(scores[:, 0]) for backend, scores in zip(rankings.backends, values, strict=True)}
        for measure, values in rankings.values.items()
    }
    columns = [(measure, backend, ranking) for measure, of in of_measures.items() for backend, ranking in of.items()]
    systems, table = rankings.panel.systems, TableLines()
    for number, system in enumerate(systems):
        places = (ranking[number] for *_, ranking in columns)
        table.add("", system, [UNDEFINED if place is None else str(place) for place in places])
    for measure, backend, ranking in columns:
        line = {"backend": backend, "measure": measure}
        table.records.extend(
            {"system": system, **line, "rank": rank} for system, rank in zip(systems, ranking, strict=True)
        )
    groups = tuple(ColumnGroup(rankings.labels[measure], len(rankings.backends)) for measure in of_measures)
    headings = ("system", *(plain(backend) for _, backend, _ in columns))
    sheet = around.lines(name, "Ranks of the systems under each backend", headings, table, groups=groups)
    return [sheet, _agreements(rankings, around, agreement)]


def _agreements(rankings: Rankings, around: Provenance, name: str) -> Table:
    table = TableLines()
    for pair in agreements(rankings):
        cells = [interval_cell(pair.tau.ends, _TAU), interval_cell(pair.flips.ends, _COUNT)]
        table.add(
            f"{plain(pair.first)} and {plain(pair.second)}",
            rankings.labels[pair.measure],
            [*cells, f"{pair.pairs:,}"],
            {
                **{"measure": pair.measure, "one": pair.first, "other": pair.second, "pairs": pair.pairs},
                **pair.tau.record("tau"),
                **pair.flips.record("flips"),
            },
        )
    headings = ("measure", _TAU.label, _COUNT.label, "of pairs")
    title = "How far two backends rank the systems alike"
    return around.lines(name, title, headings, table, [ranking_intervals(around.interval)])


def flip_sheets(rankings: Rankings, around: Provenance) -> list[Table]:
    """Return the tables of pairs of systems that change order, and of the causes; [] where no pair does."""
    all_flips = flips(rankings)
    # The printed order is by the share of resamples; that of the records is not.
    strongest = sorted(all_flips, key=lambda flip: -(flip.share_of_resamples or 0.0))
    return (
        [_flips(rankings, around, all_flips, strongest), _flip_causes(rankings, around, all_flips, strongest)]
        if all_flips
        else []
    )


def _flips(rankings: Rankings, around: Provenance, all_flips: Sequence[Flip], strongest: Sequence[Flip]) -> Table:
    table = TableLines()
    for flip in strongest[:_SHOWN]:
        title = f"{plain(flip.first)} (1), {plain(flip.second)} (2)"
        leads = [cell(value, column=_LEAD) for value in (flip.lead, flip.reversed_lead)]
        name = f"{rankings.labels[flip.measure]}: {flip.ahead} over {flip.behind}"
        table.add(title, name, [*leads, cell(flip.share_of_resamples, column=_SHARE)])
    left = len(all_flips) - _SHOWN
    notes = [
        Note("reading", "lead in points under each backend; flipped: share of resamples in which the two change order"),
        Note("not shown", f"{left:,} more flips are in flips.csv and flips.json" if left > 0 else ""),
    ]
    rest = ("lead", "reversed_lead", "share_of_resamples")
    table.records.extend({**flip.pair, **{name: getattr(flip, name) for name in rest}} for flip in all_flips)
    headings = ("pair", "lead (1)", "lead (2)", "flipped %")
    return around.lines("flips", "Pairs of systems that change order", headings, table, notes)


def _flip_causes(rankings: Rankings, around: Provenance, all_flips: Sequence[Flip], strongest: Sequence[Flip]) -> Table:
    table = TableLines()
    for flip in [flip for flip in strongest if flip.causes][:_EXPLAINED]:
        title = f"{rankings.labels[flip.measure]}: {plain(flip.ahead)} over {plain(flip.behind)}"
        for cause in flip.causes:
            values = [cell(value, column=_LEAD) for value in (cause.value_one, cause.value_other)]
            table.add(title, f"{cause.answer} ({cause.system})", [*values, cell(cause.adds, column=_ADDS)])
    table.records.extend(
        {**flip.pair, **asdict(cause), "reversal": flip.lead - flip.reversed_lead}
        for flip in all_flips
        for cause in flip.causes
    )
    reading = "adds: points of the change of lead that are due to this answer; all answers together add up to it"
    headings, title = ("answer", "under (1)", "under (2)", "adds"), "Answers that add most to a change of order"
    return around.lines("flip-causes", title, headings, table, [Note("reading", reading)])
