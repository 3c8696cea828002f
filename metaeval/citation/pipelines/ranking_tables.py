"""Tables of rankings with several backends: ranks, and their agreement."""

from __future__ import annotations

from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.provenance import Provenance, ranking_intervals
from metaeval.citation.system_comparison import Rankings, agreements, ranks
from metaeval.report.result import Column
from metaeval.report.table import UNDEFINED, ColumnGroup, Table, plain

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
