"""The tables of a paper, several data sets side by side, made from results alone.

The first counts the pairs of each human level. Those of the protocols have metrics down, data sets and their measures
across, and a number with its interval a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from metaeval.core.errors import UserError
from metaeval.core.files import safe_name
from metaeval.report import table_notes
from metaeval.report.ranking_measures import LEVELS, Headline, metrics_of
from metaeval.report.result import Data, Result, records
from metaeval.report.result_tables import measure_table, units
from metaeval.report.table import CONTROLS, UNDEFINED, ColumnGroup, Note, Table, blocks_of, place_of, plain

_SHARED = ("data", "settings", "pairs", "ratings", "uncertainty", "perfect metric", "evidence", "published")


# The groups of the base paper's Tables 2 and 3 (arXiv 2406.15264) in its order, by the family on a metric's card.
BASE_PAPER_GROUPS: Mapping[str, str] = {
    "llm judge": "LLM-based",
    **dict.fromkeys(("classifier", "entailment by generation", "NLI over sentence pairs"), "entailment-based"),
    **dict.fromkeys(("embedding", "likelihood", "lexical"), "similarity-based"),
}
OTHER_GROUP = "other"


class PaperLayout(NamedTuple):
    """How a paper's tables are laid out.

    groups: the title above each metric, by name; empty for one block of all. percent_digits: decimals of measures that
    are printed in per cent; None for those that the protocol declares.
    """

    groups: Mapping[str, str] = MappingProxyType({})
    percent_digits: int | None = None

    def blocks(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return (title of the block, name) for each metric, in the order of `BASE_PAPER_GROUPS`, other groups last."""
        if not self.groups:
            return [("", name) for name in names]
        order = [*dict.fromkeys(BASE_PAPER_GROUPS.values()), OTHER_GROUP]
        titles = {name: self.groups.get(name, OTHER_GROUP) for name in names}
        return [(title, name) for title in order for name in names if titles[name] == title]

    def of(self, result: Result) -> Result:
        """Return the result with this layout's decimals of measures in per cent; unchanged where it has none."""
        if self.percent_digits is None:
            return result
        digits = {"digits": self.percent_digits}
        columns = [column.model_copy(update=digits) if column.scale == 100 else column for column in result.columns]
        return result.model_copy(update={"columns": columns})


FLAT = PaperLayout()


def _named(results: Sequence[Result]) -> dict[str, Result]:
    """Return the results of one protocol under the names of their data sets; units are named where they differ.

    Raises `UserError` when two results would get the same name: a table has one column group for each.
    """
    several = len({result.unit for result in results}) > 1
    by_name: dict[str, Result] = {}
    for result in results:
        name = place_of(result.data)
        name += f" ({result.unit})" if several else ""
        if name in by_name:
            raise UserError(f"Two {result.protocol} results are of {name}, unit {result.unit}: leave one of them out.")
        by_name[name] = result
    return by_name


def _shared_footer(results: Mapping[str, Result]) -> tuple[Note, ...]:
    """Return the footers of results, by data set, as one: a note that all share once, others with each set's name."""
    footers = [(name, note) for name, result in results.items() for note in table_notes.footer(result)]
    below = []
    for label in _SHARED:
        of_label = [(name, note) for name, note in footers if note.label == label]
        if of_label and len(of_label) == len(results) and len({note for _, note in of_label}) == 1:
            below.append(of_label[0][1])
        elif of_label:
            below.append(Note(label, "", tuple((name, note.line.removeprefix(f"{name}: ")) for name, note in of_label)))
    return tuple(below)


def level_counts(results: Sequence[Result]) -> Table | None:
    """Return a table with the number of rows at each level; None when no data set has three-level gold.

    A line is a data set, split and unit. Protocols see different rows of one data set (retrieval adds its pools):
    the smallest set of rows is counted, that of the cited documents.
    """
    least: dict[tuple[str, str, str], Result] = {}
    for result in results:
        key = (result.data.name, result.data.split, result.unit)
        fewer = key not in least or sum(result.data.levels.values()) < sum(least[key].data.levels.values())
        if fewer and set(LEVELS) & set(result.data.levels):
            least[key] = result
    if not least:
        return None
    rows, level_records = [], []
    for name, result in _named(list(least.values())).items():
        counts = [*map(result.data.levels.get, LEVELS), sum(result.data.levels.values())]
        level_records.append({"data set": name, **dict(zip((*LEVELS, "total"), counts, strict=True))})
        rows.append(("", name, [UNDEFINED if number is None else f"{number:,}" for number in counts]))
    return Table(
        key=("levels",),
        title="Pairs by labelled level",
        subtitle=", ".join(dict.fromkeys(f"{result.unit} pairs" for result in least.values())),
        headings=(*LEVELS, "total"),
        blocks=blocks_of(rows),
        signatures=tuple(
            f"data:{plain(data.name)}/{plain(data.split)}@{data.fingerprint[:12]}"
            for data in (result.data for result in least.values())
        ),
        stub="data set",
        name="table-1-levels",
        records=level_records,
    ).noting(any(result.data.demo for result in least.values()))


def score_table(results: Sequence[Result], layout: PaperLayout = FLAT) -> Table:
    """Return one protocol's results as one table; best and second best are per data set and measure.

    A metric has blank cells where a data set lacks it. layout: groups of metrics, and decimals.
    """
    results = [layout.of(result) for result in results]
    sources = _named(results)
    order = [row for result in results for row in table_notes.in_blocks(result.rows)]
    names = {
        kind: list(dict.fromkeys(row.metric for row in order if row.kind == kind)) for kind in ("metric", "control")
    }
    lines = [(title, "metric", name) for title, name in layout.blocks(names["metric"])]
    lines += [(CONTROLS, "control", name) for name in names["control"]]
    shown = [Headline(result, column) for result in results for column in result.columns]
    rows = {(row.metric, row.kind) for row in order}
    tests = dict.fromkeys(table_notes.settings(result.significance) for result in results if result.significance)
    marks = (table_notes.letters(row, column) for result in results for row in result.rows for column in result.columns)
    shared = table_notes.shared_letter(filter(None, marks))
    # "human" becomes "demo", or both words, for demo data.
    title = next((result.title for result in results if not result.data.demo), results[0].title)
    reading = (
        Note("significance", f"{shared} ({'; '.join(tests)})" if shared else "; ".join(tests)),
        Note("blank", "not scored on that data set" if len(order) < len(rows) * len(results) else ""),
    )
    return replace(
        measure_table(shown, lines, but=(table_notes.TIED,)),
        key=("paper", results[0].protocol),
        title=plain(Data.wording_of([result.data for result in results], title)),
        subtitle=", ".join(dict.fromkeys(units(result.unit) for result in results)),
        footer=(*(note for note in reading if note.text), *_shared_footer(sources)),
        signatures=tuple(row.signature for result in results for row in metrics_of(result)),
        groups=tuple(ColumnGroup(name, len(result.columns)) for name, result in sources.items()),
        records=[
            record
            for result in results
            for record in records(result)
            if record["measure"] in {column.key for column in result.columns}
        ],
    ).noting(any(result.data.demo for result in results))


def paper_tables(
    results: Sequence[Result],
    left_out: Sequence[tuple[str, str]] = (),
    numbered: Mapping[str, tuple[int, tuple[str, ...]]] = MappingProxyType({}),
    layout: PaperLayout = FLAT,
) -> list[Table]:
    """Return the tables of a paper; raises `UserError` where there are no results.

    left_out: metrics or data sets that could not be run, and why; each table's footer says so. numbered: by protocol,
    the number of its table and the keys of its measures; (): those that its own table shows. layout: groups of metrics,
    and decimals.
    """
    if not results:
        raise UserError("No results are given: a paper's tables need at least one result file.")
    tables = [table for table in [level_counts(results)] if table is not None]
    in_order = sorted(numbered, key=lambda name: numbered[name][0])
    for name in dict.fromkeys([*in_order, *(result.protocol for result in results)]):
        number, keys = numbered.get(name, (0, ()))
        same = []
        for result in (result for result in results if result.protocol == name):
            # The paper's measures, where the result has them all.
            columns = [column for key in keys for column in result.columns if column.key == key]
            whole = bool(columns) and len(columns) == len(keys)
            same.append(result.model_copy(update={"columns": columns}) if whole else result)
        if same:
            stem = f"table-{f'{number}-' if number else ''}{safe_name(name)}"
            tables.append(replace(score_table(same, layout), name=stem))
    absent = (Note("not run", "", tuple(left_out)),) if left_out else ()
    return [replace(table, footer=(*table.footer, *absent)) for table in tables]
