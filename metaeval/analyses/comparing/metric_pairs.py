"""Pairs of metrics: their differences, equivalence, their table, and the headline of `compare`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

from metaeval.analyses.panel import Panel, headline_measure, judged
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, count
from metaeval.report.findings import leading
from metaeval.report.ranking_measures import Headline, alpha_of
from metaeval.report.result import Column, Result, Significance
from metaeval.report.result_tables import comparison_grid
from metaeval.report.table import UNDEFINED, Block, Cell, Note, Record, Table, TableLine, format_value, plain
from metaeval.report.table_notes import letters, rank_interval, settings
from metaeval.runs.evaluate import ProtocolSetup, evaluate
from protocols.contrasts import Contrast, contrasts

_NAMES = ("measure", "one", "other")

# With more pairs the terminal shows those of neighbours.
_MANY = 6


@dataclass(frozen=True)
class PairTables:
    """One protocol's result, its table of all pairs of metrics, and the rows of it under the headline measure.

    With many metrics, `headline` has only the pairs that are neighbours by value.
    """

    result: Result
    sheet: Table
    headline: Table


def check_comparison(config: RunConfig, margin: float) -> None:
    """Raise `UserError` for a run without resamples or tests, for alpha from 0.5 on, and for a margin not above 0."""
    if not (math.isfinite(margin) and margin > 0):
        raise UserError(f"The margin is {margin:g}; it must be a number above 0, for example 0.02.")
    if config.interval.resamples < 2:
        raise UserError(f"A comparison needs resamples: interval.resamples is {config.interval.resamples}, try 1000.")
    if not config.comparison.permutations:
        raise UserError("A comparison needs tests, and comparison.permutations is 0: try 1000.")
    if not config.comparison.alpha < 0.5:
        raise UserError(f"comparison.alpha is {config.comparison.alpha:g}; equivalence needs one below 0.5: try 0.05.")


def compare_pairs(panel: Panel, protocol_setup: ProtocolSetup, margin: float) -> PairTables:
    """Compare every two metrics under one protocol and each measure of its table.

    protocol_setup: the protocol and its options. margin: largest raw difference at which two metrics count as
    equally good. The run's settings must have passed `check_comparison`.
    """
    protocol, options = protocol_setup
    frame = panel.source.frame(protocol)
    result = evaluate(frame, panel.columns, protocol, options, panel.config)
    tested = result.significance
    if tested is None:
        raise UserError("Nothing was compared, since comparison.permutations is 0: try 1000.")
    metrics = {column.name: judged(frame, column) for column in panel.columns}
    keys = list(dict.fromkeys(pair.measure for pair in tested.comparisons))
    pair_contrasts = contrasts(protocol, options, panel.resampling, metrics, keys, margin, tested.alpha)
    key = headline_measure(protocol_setup, frame, panel.columns[0]).key
    sheet = replace(
        _grid(result, tested, pair_contrasts, keys, margin),
        name=f"{protocol.name}-pairs",
        data=result.data,
        settings={
            **{**result.settings, "protocol": protocol.name, "unit": result.unit, "margin": margin},
            **{"alpha": tested.alpha, "permutations": tested.permutations, **panel.config.interval.drawn()},
        },
        records=[
            {**pair.model_dump(mode="json"), **{k: v for k, v in asdict(contrast).items() if k not in _NAMES}}
            for pair, contrast in zip(tested.comparisons, pair_contrasts, strict=True)
        ],
    ).noting(result.data.demo)
    headline_grid = _grid(result, tested, pair_contrasts, [key], margin)
    return PairTables(result, sheet, _neighbours(headline_grid, result, tested, key))


def ranking(result: Result, keys: Sequence[str]) -> Note:
    """Return a note that orders the metrics by value for each measure in `keys`, with letters and rank intervals."""
    entries = []
    for column in result.columns:
        if column.key not in keys:
            continue
        defined = [row for row in result.rows if row.values[column.key].value is not None]
        order = sorted(defined, key=lambda row: -(row.values[column.key].value or 0.0))
        texts = []
        for row in order:
            place = ", ".join(filter(None, (rank_interval(row, column), letters(row, column))))
            number = format_value(row.values[column.key].value, column)
            texts.append(f"{plain(row.metric)} {number}{f' ({place})' if place else ''}")
        if texts:
            entries.append((plain(column.label), "; ".join(texts)))
    level = f"{100 * (1 - alpha_of(result)):g} %"
    text = f"by value; in brackets {level} intervals of the ranks, simultaneous over the metrics, and their letters"
    return Note("ranks", text, tuple(entries))


def _grid(
    result: Result, tested: Significance, pair_contrasts: Sequence[Contrast], keys: Sequence[str], margin: float
) -> Table:
    """Return the table of pairs with one column more: equivalence within the margin."""
    columns = [column for column in result.columns if column.key in keys]
    plain_grid = comparison_grid(result, keys)
    by_place = {(contrast.measure, contrast.one, contrast.other): contrast for contrast in pair_contrasts}
    pairs = {column.key: [pair for pair in tested.comparisons if pair.measure == column.key] for column in columns}
    shown = [column for column in columns if pairs[column.key]]
    blocks = []
    for block, column in zip(plain_grid.blocks, shown, strict=True):
        lines = []
        for line, pair in zip(block.lines, pairs[column.key], strict=True):
            contrast, words = by_place[pair.measure, pair.one, pair.other], UNDEFINED
            if contrast.equal_within is not None:
                words = f"{'yes' if contrast.equivalent else 'no'}, ±{format_value(contrast.equal_within, column)}"
            lines.append(TableLine(line.name, (*line.cells, Cell(words))))
        blocks.append(Block(block.title, tuple(lines)))
    reading, *others = plain_grid.footer
    one_difference = len({(column.scale, column.digits) for column in columns}) == 1
    margin_text = f"±{format_value(margin, columns[0])}" if one_difference else f"±{margin:g} (unscaled)"
    equal = (
        f"two one-sided tests at {tested.alpha:g}: whether the {100 * (1 - 2 * tested.alpha):g} % interval of the "
        f"difference lies within {margin_text}, and the smallest margin that it lies in"
    )
    return replace(
        plain_grid,
        headings=(*plain_grid.headings, f"equal within {margin_text}"),
        blocks=tuple(blocks),
        footer=(reading, ranking(result, keys), Note("equal within", equal), *others),
    )


def _neighbours(grid: Table, result: Result, tested: Significance, key: str) -> Table:
    """Return the table unchanged for up to `_MANY` pairs; of more, only those of metrics next to each other by value.

    grid: the table of pairs under the one measure `key`.
    """
    pairs = [pair for pair in tested.comparisons if pair.measure == key]
    if len(pairs) <= _MANY or not grid.blocks:
        return grid
    values = {row.metric: row.values[key].value for row in result.rows if row.values[key].value is not None}
    order = sorted(values, key=lambda name: -(values[name] or 0.0))
    next_to = {frozenset(two) for two in pairwise(order)}
    (block,) = grid.blocks
    kept = [line for line, pair in zip(block.lines, pairs, strict=True) if {pair.one, pair.other} in next_to]
    shown_note = Note("shown", f"neighbours by value, {len(kept)} of {len(pairs)} pairs; the files hold them all")
    return replace(grid, blocks=(Block(block.title, tuple(kept)),), footer=(shown_note, *grid.footer))


_CORRELATION = Column(key="", label="", digits=2)


def headline_pairs(pairs: Sequence[PairTables]) -> Table:
    """Return one table of the headline measures of all protocols: difference and adjusted p."""
    first = pairs[0].headline
    tests = [tables.result.significance for tables in pairs if tables.result.significance]
    most = max(tests, key=lambda tested: tested.tests, default=None)  # the largest family over which p is adjusted
    of_p = Note("Holm", f"over {count(most.tests, 'test')} of a {most.family}") if most else Note()
    of_p = Note("p", "of one test, not adjusted") if most and most.tests == 1 else of_p
    adjusted = any("Holm" in tables.headline.headings for tables in pairs)
    blocks = []
    for tables in pairs:
        headings = tables.headline.headings
        places = [headings.index("difference"), headings.index("Holm" if "Holm" in headings else "p")]
        blocks += [
            Block(block.title, tuple(replace(line, cells=tuple(line.cells[n] for n in places)) for line in block.lines))
            for block in tables.headline.blocks
        ]
    of_first = {str(note.label): note for note in first.footer}
    # Only those signs between two names, such as > and =, that stand in the blocks are explained.
    texts = (note.text for tables in pairs for note in tables.headline.footer if note.label == "reading")
    parts = dict.fromkeys(part for text in texts for part in text.split("; "))
    signs = {sign for block in blocks for line in block.lines for sign in line.name.replace("<", ">").split()}
    readings = (Note("reading", "; ".join(part for part in parts if part.split()[1] in signs)), of_p)
    ranks = of_first["ranks"] if len(pairs) == 1 else Note()  # of several protocols the files hold them
    notes = (of_first.get("shown", Note()), *readings, ranks)
    used = {mark for block in blocks for line in block.lines for cell in line.cells for mark in cell.marks}
    return replace(
        first,
        key=("pairs",),
        title="Pairs of metrics",
        headings=("difference", "Holm" if adjusted else "p"),
        blocks=tuple(blocks),
        footnotes=tuple(note for note in first.footnotes if note.label in used),
        footer=tuple(note for note in notes if note.text),
        signatures=(),
    )


def comparison_findings(pairs: Sequence[PairTables], others: Sequence[Table]) -> list[str]:
    """Return the sentences below the tables: leading metric, difference of two, agreement of rankings.

    others: the tables of the further analyses.
    """
    headlines = [
        Headline(tables.result, column)
        for tables in pairs
        for column in tables.result.columns
        if plain(column.label) in {block.title for block in tables.headline.blocks}
    ]
    texts = (leading(headlines), _difference_sentence(pairs, headlines), *(_alike(sheet.records) for sheet in others))
    return [text for text in texts if text]


def _difference_sentence(pairs: Sequence[PairTables], headlines: Sequence[Headline]) -> str:
    """Return the sentence on the difference of two metrics under each headline measure; "" for more metrics."""
    columns = {(measure.result.protocol, measure.column.key): measure.column for measure in headlines}
    differences = []
    for tables in pairs:
        if len({record[side] for record in tables.sheet.records for side in ("one", "other")}) > 2:
            return ""
        for record in tables.sheet.records:
            column = columns.get((tables.result.protocol, str(record["measure"])))
            difference, low, high, p = (record[name] for name in ("difference", "low", "high", "holm"))
            ends = [end for end in (difference, low, high, p) if isinstance(end, float)]
            if column is None or len(ends) < 4:
                continue
            value, *interval = (format_value(end, column) for end in ends[:3])
            level = f"{100 * tables.result.interval.level:g} %"
            differences.append(f"{plain(column.label)} {value} ({level} CI {' to '.join(interval)}; p = {ends[3]:.2g})")
            names = f"{plain(str(record['one']))} minus {plain(str(record['other']))}"
            groups = count(int(record["groups"] or 0), "group")
            test = settings(tables.result.significance) if tables.result.significance else ""
    return f"{names}: {', '.join(differences)}; {groups}, {test}." if differences else ""


def _alike(records: Sequence[Record]) -> str:
    known = sorted(
        (float(value), f"{plain(str(record['one']))} and {plain(str(record['other']))}")
        for record in records
        if isinstance(value := record.get("spearman"), float)
    )
    if not known:
        return ""
    (low, least), (high, most) = known[0], known[-1]
    if len(known) == 1:
        return f"The rankings of {most} correlate with {format_value(high, _CORRELATION)} (Spearman of the rows)."
    text = f"The rankings of {most} are most alike (Spearman of the rows {format_value(high, _CORRELATION)})"
    return f"{text}, those of {least} least ({format_value(low, _CORRELATION)})."
