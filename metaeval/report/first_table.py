"""The first screen of a run: its protocols side by side, and which metrics are better than word overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from metaeval.core.errors import count
from metaeval.report.judge_card import judge_cards
from metaeval.report.rank_agreement import agreement_text, rank_agreement
from metaeval.report.ranking_measures import (
    CONTRAST,
    LEVELS,
    Declarations,
    Headline,
    above,
    alpha_of,
    differs,
    headlines,
    metrics_of,
)
from metaeval.report.result import Comparison, Data, Result
from metaeval.report.result_tables import TableKey, lay_out, measure_table, units
from metaeval.report.table import CONTROLS, UNDEFINED, Cell, ColumnGroup, Note, Table, grouped, place_of, plain
from metaeval.report.table_notes import interval_text

# Metrics that the table shows; of more, those with the highest values. What is said below fits on the same screen.
ROWS = 12

_WITH_INTERVALS = 7  # columns
_FEW, _NARROW = 7, 5  # metrics, and columns, up to which all measures of a single protocol are shown
CONTROLS_SHOWN = ("lexical", "reference")  # groups of the controls that a useful metric has to beat


def first_table(results: Sequence[Result], declarations: Declarations, most: int = ROWS) -> Table:
    """Return the first table of a run: a single protocol's measures, or the headline measure of each.

    Of one data set, a column says which metrics are significantly better than the lexical control. Of several data
    sets there is a column for each, protocol by protocol. most: largest number of metrics shown. Of verdicts alone it
    is the first table of the judges' card.
    """
    if len(results) == 1 and (cards := judge_cards(results[0], most)):
        return cards[0]
    if all(result.protocol == CONTRAST for result in results):
        return lay_out(results[0], brief=True)
    places = {(result.data.name, result.data.split, result.unit) for result in results}
    protocols = list(dict.fromkeys(result.protocol for result in results))
    ordered = sorted(results, key=lambda result: protocols.index(result.protocol))
    ranked = headlines(ordered, declarations)
    every, few = results[0].columns, len(metrics_of(results[0])) <= _FEW or len(results[0].columns) <= _NARROW
    shown = [Headline(results[0], column) for column in every] if len(results) == 1 and few else ranked
    lines, left = _lines(ranked, most, len(places) == 1)
    table = measure_table(shown, lines, brief=True, intervals=len(shown) <= _WITH_INTERVALS)
    by_protocol = grouped((column.result.protocol, column) for column in shown)
    first, data = shown[0].result, [result.data for result in results]
    if len(places) > 1:
        several = len({result.unit for result in results}) > 1
        table = replace(
            table,
            key=("headline",),
            title=Data.wording_of(data, "Metrics against human labels"),
            subtitle=", ".join(dict.fromkeys(units(result.unit) for result in results)),
            headings=tuple(f"{plain(c.result.data.name)}{f' {c.result.unit}' if several else ''}" for c in shown),
            groups=tuple(
                ColumnGroup(", ".join(dict.fromkeys(column.label for column in same)), len(same))
                for same in by_protocol.values()
            ),
        )
    else:
        # Retrieval adds its pools: the rows are those of the result with the fewest.
        least = min(results, key=lambda result: sum(result.data.levels.values()))
        levels = " / ".join(f"{name} {least.data.levels[name]:,}" for name in LEVELS if name in least.data.levels)
        largest = max(least.rows, key=lambda row: row.total, default=None)
        rows = f"{largest.total if largest else 0:,} {units(least.unit)}"
        if largest and largest.excluded:
            rows += f" (left out: {', '.join(f'{number:,} {plain(why)}' for why, number in largest.excluded.items())})"
        subtitle = (f"{place_of(least.data)}: {rows}, {count(least.data.groups, 'group')}", levels)
        title = "Metrics against human labels" if len(results) > 1 else plain(first.title)
        table = replace(
            table,
            key=("headline", *next(iter(places))),
            title=first.data.wording(title),
            subtitle="; ".join(filter(None, subtitle)),
            groups=tuple(ColumnGroup(plain(name), len(same)) for name, same in by_protocol.items() if len(results) > 1),
        )
        table = _with_verdicts(table, shown, ranked, declarations)
    percent = dict.fromkeys(column.label for column in shown if column.column.scale == 100 and len(results) > 1)
    has_ends = any(cell.ends for line in table.lines for cell in line.cells)
    ci = interval_text(first.interval) if has_ends else ""
    tested = "p Holm-adjusted, n.s.: not significantly different" if len(table.headings) > len(shown) else ""
    text = "; ".join(filter(None, (ci, f"{', '.join(percent)} in %" if percent else "", tested)))
    more = f"{count(left, 'more metric')}: metaeval results show" if left else ""
    agreement = agreement_text(rank_agreement(results, declarations)) if len(places) == 1 else ""
    notes = (Note("", f"{line}.") for line in (text, agreement, more) if line)
    return replace(table, footnotes=(*table.footnotes, *notes))


def first_tables(results: Sequence[Result], declarations: Declarations, most: int = ROWS) -> list[Table]:
    """Return the first table of a run, and the tables of its judges' cards, of which that of verdicts alone is one."""
    cards = [card for result in results for card in judge_cards(result, most)]
    return [first_table(results, declarations, most), *cards[len(results) == 1 :]]


def _lines(ranked: Sequence[Headline], most: int, with_controls: bool) -> tuple[list[TableKey], int]:
    """Return the lines of at most `most` metrics, those of controls below them, and the number of metrics left out.

    Of more metrics those with the highest values of the first measure are kept.
    """
    rows = [((row.kind, row.metric), row) for column in ranked for row in column.result.rows]
    control = {key for key, row in rows if row.control in CONTROLS_SHOWN and with_controls}
    every = list(dict.fromkeys(key for key, _ in rows))
    names = [key for key in every if key[0] == "metric" and key not in control]
    if len(names) > most:
        values = {row.metric: ranked[0].value(row).value or 0.0 for row in ranked[0].metrics}
        names = sorted(names, key=lambda key: -values.get(key[1], -math.inf))
    keys = [*names[:most], *(key for key in every if key in control)]
    return [(CONTROLS if key in control and names else "", *key) for key in keys], max(len(names) - most, 0)


def judge_of(ranked: Sequence[Headline], declarations: Declarations) -> Headline | None:
    """Return the headline measure by which verdicts are given, that of the protocol that shows most abilities."""
    tested = [column for column in ranked if column.result.significance]
    return max(tested, key=lambda column: len(declarations.of(column.result).ability), default=None)


def _with_verdicts(
    table: Table, shown: Sequence[Headline], ranked: Sequence[Headline], declarations: Declarations
) -> Table:
    """Return the table with a column behind the ranking measure: better, worse or n.s. than the lexical control."""
    judge = judge_of(ranked, declarations)
    rows = {row.metric: row for row in judge.result.rows} if judge else {}
    against = next((row for row in rows.values() if row.control == "lexical"), None)
    if judge is None or against is None:
        return table
    tests: dict[str, Comparison] = {
        plain(test.one): test
        for test in (judge.result.significance.controls or () if judge.result.significance else ())
        if (test.measure, test.other) == (judge.column.key, against.metric)
    }
    place = shown.index(judge) + 1
    used = [note.label for note in table.footnotes if note.label.isdigit()]
    reasons = dict.fromkeys(test.note for test in tests.values() if test.holm is None and test.note)
    number_of = {reason: str(len(used) + number) for number, reason in enumerate(reasons, start=1)}

    def verdict(name: str) -> Cell:
        test, alpha = tests.get(name), alpha_of(judge.result)
        if test is None or test.holm is None:
            return Cell(UNDEFINED, marks=(number_of[test.note],) if test and test.note else ())
        return Cell("n.s." if not differs(test, alpha) else "better" if above(test, alpha) else "worse")

    blocks = []
    for block in table.blocks:
        lines = [
            replace(line, cells=(*line.cells[:place], verdict(line.name.removesuffix(" §")), *line.cells[place:]))
            for line in block.lines
        ]
        blocks.append(replace(block, lines=tuple(lines)))
    heading = f"{judge.label} v. {plain(against.metric)}"
    wider = [group.columns + (group.title == judge.result.protocol) for group in table.groups]
    groups = tuple(replace(group, columns=columns) for group, columns in zip(table.groups, wider, strict=True))
    notes = tuple(Note(number, f"v. {plain(against.metric)}: {plain(reason)}") for reason, number in number_of.items())
    headings = (*table.headings[:place], heading, *table.headings[place:])
    footnotes = (*table.footnotes, *notes)
    return replace(table, headings=headings, blocks=tuple(blocks), groups=groups, footnotes=footnotes)
