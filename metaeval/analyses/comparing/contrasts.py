"""Pairs of metrics: equivalence, closed-form tests, groups needed, their table, and what `compare` prints at first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.report.cells import comparison_grid
from metaeval.report.findings import leading
from metaeval.report.measures import Headline
from metaeval.report.result import Column, Result, Significance
from metaeval.report.table import UNDEFINED, Block, Cell, Note, Record, Table, TableLine, chance, count, numeral, plain
from metaeval.runs.evaluation import Asked, evaluate
from metaeval.runs.metric_scores import Panel, headline, judged
from protocols.contrasts import Contrast, contrasts

_TESTS = {"delong": "DeLong p", "williams": "Williams p", "steiger": "Steiger p"}

_NAMES = ("measure", "one", "other")

POWER = 0.8

# With more pairs the terminal shows those of neighbours.
_MANY = 6


@dataclass(frozen=True)
class PairTables:
    """One protocol's result, its pairs of metrics as a sheet, and the headline's part of that table."""

    result: Result
    sheet: Table
    headline: Table


def check_comparison(config: RunConfig, margin: float) -> None:
    """Refuse, before anything is scored, a run without resamples or permutations, and a margin not above 0."""
    if not (math.isfinite(margin) and margin > 0):
        raise UserError(f"The margin is {margin:g}; it must be a number above 0, for example 0.02.")
    if config.interval.resamples < 2:
        raise UserError(f"A comparison needs resamples: interval.resamples is {config.interval.resamples}, try 1000.")
    if not config.comparison.permutations:
        raise UserError("A comparison needs permutations: comparison.permutations is 0, try 1000.")
    if not config.comparison.alpha < 0.5:
        raise UserError(f"comparison.alpha is {config.comparison.alpha:g}; equivalence needs one below 0.5.")


def compare_pairs(panel: Panel, asked: Asked, margin: float) -> PairTables:
    """Compare every two metrics under one protocol and each measure of its table.

    margin: within which two metrics count as equally good, raw. The run's settings must have passed `check_comparison`.
    """
    protocol, options = asked
    frame = panel.source.frame(protocol)
    result = evaluate(frame, panel.columns, protocol, options, panel.config)
    tested = result.significance
    if tested is None:
        raise UserError("Nothing was compared: the permutations are switched off.")
    metrics = {column.name: judged(frame, column) for column in panel.columns}
    keys = list(dict.fromkeys(pair.measure for pair in tested.comparisons))
    found = contrasts(protocol, options, panel.resampling, metrics, keys, margin, tested.alpha)
    first = [headline(protocol, frame, panel.columns[0]).key]
    sheet = replace(
        _grid(result, tested, found, keys, margin),
        name=f"{protocol.name}-pairs",
        data=result.data,
        settings={
            **{**result.settings, "protocol": protocol.name, "unit": result.unit, "margin": margin},
            **{"alpha": tested.alpha, "power": POWER, "permutations": tested.permutations},
            **{**panel.config.interval.drawn(), "method": panel.config.interval.method},
        },
        records=[
            {**pair.model_dump(mode="json"), **{k: v for k, v in asdict(contrast).items() if k not in _NAMES}}
            for pair, contrast in zip(tested.comparisons, found, strict=True)
        ],
    ).noting(result.data.demo)
    return PairTables(result, sheet, _neighbours(_grid(result, tested, found, first, margin), result, tested, first[0]))


def ranking(result: Result, keys: Sequence[str]) -> Note:
    """The metrics by value under each measure, with the number of their significance cluster."""
    said = []
    for column in result.columns:
        if column.key not in keys:
            continue
        defined = [row for row in result.rows if row.values[column.key].value is not None]
        order = sorted(defined, key=lambda row: -(row.values[column.key].value or 0.0))
        clusters: dict[str, list[str]] = {}
        for row in order:
            name = f"{plain(row.metric)} {numeral(row.values[column.key].value, column)}"
            clusters.setdefault(str(row.clusters.get(column.key, "")), []).append(name)
        text = "; ".join(f"{place} {', '.join(names)}".strip() for place, names in clusters.items())
        if text:
            said.append((plain(column.label), text))
    return Note("clusters", "by value, those of one number not told apart from its best", tuple(said))


def _grid(result: Result, tested: Significance, found: Sequence[Contrast], keys: Sequence[str], margin: float) -> Table:
    """The report's table of pairs with columns added: closed forms, equivalence, groups needed."""
    columns = [column for column in result.columns if column.key in keys]
    plain_grid = comparison_grid(result, keys)
    found = [one for one in found if one.measure in keys]
    by_place = {(one.measure, one.one, one.other): one for one in found}
    tests = {key: label for key, label in _TESTS.items() if any(getattr(one, key) is not None for one in found)}
    pairs = {one.key: [pair for pair in tested.comparisons if pair.measure == one.key] for one in columns}
    shown = [column for column in columns if pairs[column.key]]
    blocks = []
    for block, column in zip(plain_grid.blocks, shown, strict=True):
        lines = [
            TableLine(line.name, (*line.cells, *_cells(by_place[pair.measure, pair.one, pair.other], column, tests)))
            for line, pair in zip(block.lines, pairs[column.key], strict=True)
        ]
        blocks.append(Block(block.title, tuple(lines)))
    reading, *others = plain_grid.footer
    one_difference = len({(column.scale, column.digits) for column in columns}) == 1
    asked = f"±{numeral(margin, columns[0])}" if one_difference else f"±{margin:g} (unscaled)"
    return replace(
        plain_grid,
        headings=(*plain_grid.headings, *tests.values(), f"equal within {asked}", "groups needed"),
        blocks=tuple(blocks),
        footer=(reading, ranking(result, keys), *_notes(found, tests, tested.alpha, asked), *others),
    )


def _neighbours(grid: Table, result: Result, tested: Significance, key: str) -> Table:
    """Of many metrics, the pairs that stand next to each other by value; of few, all pairs."""
    pairs = [pair for pair in tested.comparisons if pair.measure == key]
    if len(pairs) <= _MANY or not grid.blocks:
        return grid
    values = {row.metric: row.values[key].value for row in result.rows if row.values[key].value is not None}
    order = sorted(values, key=lambda name: -(values[name] or 0.0))
    next_to = {frozenset(two) for two in pairwise(order)}
    (block,) = grid.blocks
    kept = [line for line, pair in zip(block.lines, pairs, strict=True) if {pair.one, pair.other} in next_to]
    said = Note("shown", f"neighbours by value, {len(kept)} of {len(pairs)} pairs; the files hold them all")
    return replace(grid, blocks=(Block(block.title, tuple(kept)),), footer=(said, *grid.footer))


def _cells(contrast: Contrast, column: Column, tests: Mapping[str, str]) -> tuple[Cell, ...]:
    closed = [Cell(chance(getattr(contrast, key))) for key in tests]
    if contrast.equal_within is None:
        equal = Cell(UNDEFINED)
    else:
        smallest = f"±{numeral(contrast.equal_within, column)}"
        equal = Cell(f"{'yes' if contrast.equivalent else 'no'}, {smallest}")
    needed = Cell(UNDEFINED if contrast.needed is None else f"{contrast.needed:,}")
    return (*closed, equal, needed)


def _notes(found: Sequence[Contrast], tests: Mapping[str, str], alpha: float, asked: str) -> tuple[Note, ...]:
    groups = max((one.groups for one in found), default=0)
    closed = " and ".join(label.removesuffix(" p") for label in tests.values())
    equal = (
        f"two one-sided tests at {alpha:g}: whether the {100 * (1 - 2 * alpha):g} % interval of the difference "
        f"lies within {asked}, and the smallest margin that it lies in"
    )
    needed = f"groups for {100 * POWER:g} % power if the true difference were the one found; here are {groups:,}"
    independent = f"the tests of {closed} take rows as independent, which rows of one group are not: cross-checks only"
    notes = (Note("equal within", equal), Note("needed", needed), Note("closed form", independent if closed else ""))
    return tuple(note for note in notes if note.text)


_SHOWN = ("difference", "Holm", "groups needed")
_OBJECTIVES = {"spearman": "Spearman", "auc": "ROC-AUC of the top level against the rest"}
_CORRELATION = Column(key="", label="", digits=2)


def headline_pairs(pairs: Sequence[PairTables]) -> Table:
    """The pairs of every protocol's headline measure: difference, adjusted p, and the groups that it would take."""
    first = pairs[0].headline
    blocks = []
    for one in pairs:
        places = [one.headline.headings.index(name) for name in _SHOWN]
        blocks += [
            Block(block.title, tuple(replace(line, cells=tuple(line.cells[n] for n in places)) for line in block.lines))
            for block in one.headline.blocks
        ]
    shown = next((note for note in first.footer if note.label == "shown"), Note())
    needed = next((note for note in first.footer if note.label == "needed"), Note())
    notes = (shown, Note("reading", _reading(pairs, blocks)), Note("Holm", _holm(pairs[0].result)), needed)
    used = {mark for block in blocks for line in block.lines for cell in line.cells for mark in cell.marks}
    return replace(
        first,
        key=("pairs",),
        title="Pairs of metrics",
        headings=_SHOWN,
        blocks=tuple(blocks),
        footnotes=tuple(note for note in first.footnotes if note.label in used),
        footer=tuple(note for note in notes if note.text),
        signatures=(),
    )


def _reading(pairs: Sequence[PairTables], blocks: Sequence[Block]) -> str:
    """What the signs between the names mean, of those that are there."""
    said = (note.text for one in pairs for note in one.headline.footer if note.label == "reading")
    parts = dict.fromkeys(part for text in said for part in text.split("; "))
    signs = {sign for block in blocks for line in block.lines for sign in line.name.replace("<", ">").split()}
    return "; ".join(part for part in parts if part.split()[1] in signs)


def _holm(result: Result) -> str:
    """Which tests p is adjusted over."""
    tested = result.significance
    if tested is None:
        return ""
    return f"over {count(tested.tests, 'test')} of a {tested.family}" if tested.tests > 1 else "p itself: one test"


def comparison_findings(pairs: Sequence[PairTables], others: Sequence[Table]) -> list[str]:
    """Who leads, of two metrics by how much, how alike they rank the rows, and what a stack of them gains."""
    headlines = [
        Headline(one.result, column)
        for one in pairs
        for column in one.result.columns
        if plain(column.label) in {block.title for block in one.headline.blocks}
    ]
    by_name = {sheet.name: sheet.records for sheet in others}
    said = (
        leading(headlines),
        _apart(pairs, headlines),
        _alike(by_name.get("agreement", ())),
        _gains(by_name.get("complementarity", ())),
    )
    return [text for text in said if text]


def _apart(pairs: Sequence[PairTables], headlines: Sequence[Headline]) -> str:
    """Of two metrics the difference under each headline measure, as a paper reports it."""
    columns = {(one.result.protocol, one.column.key): one.column for one in headlines}
    said = []
    for one in pairs:
        if len({record["one"] for record in one.sheet.records} | {record["other"] for record in one.sheet.records}) > 2:
            return ""
        for record in one.sheet.records:
            column = columns.get((one.result.protocol, str(record["measure"])))
            difference, low, high, p = (record[name] for name in ("difference", "low", "high", "holm"))
            ends = [end for end in (difference, low, high, p) if isinstance(end, float)]
            if column is None or len(ends) < 4:
                continue
            value, *interval = (numeral(end, column) for end in ends[:3])
            level = f"{100 * one.result.interval.level:g} %"
            said.append(f"{plain(column.label)} {value} ({level} interval {' to '.join(interval)}; p = {ends[3]:.2g})")
            names = f"{plain(str(record['one']))} less {plain(str(record['other']))}"
            groups = count(int(record["groups"] or 0), "group")
    return f"{names}: {', '.join(said)}; {groups}, paired permutation test." if said else ""


def _alike(records: Sequence[Record]) -> str:
    known = sorted(
        (float(value), f"{plain(str(one['one']))} and {plain(str(one['other']))}")
        for one in records
        if isinstance(value := one.get("spearman"), float)
    )
    if not known:
        return ""
    low, high = known[0], known[-1]
    text = f"The rankings of {high[1]} are most alike (Spearman of the rows {numeral(high[0], _CORRELATION)})"
    if len(known) == 1:
        return f"The rankings of {high[1]} correlate with {numeral(high[0], _CORRELATION)} (Spearman of the rows)."
    return f"{text}, those of {low[1]} least ({numeral(low[0], _CORRELATION)})."


def _gains(records: Sequence[Record]) -> str:
    shown, tried = [], []
    for one in records:
        objective, low = str(one["objective"]), one["low"]
        tried.append(_OBJECTIVES.get(objective, objective))
        if isinstance(low, float) and low > 0:
            shown.append(f"{plain(str(one['best_stack']))} by {tried[-1]}")
    if not records:
        return ""
    if shown:
        return f"A stack is better than the best metric alone: {'; '.join(dict.fromkeys(shown))}."
    return f"No stack is shown to be better than the best metric alone ({', '.join(dict.fromkeys(tried))})."
