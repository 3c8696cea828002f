"""What `compare` prints at first: the headline pairs of all protocols in one table, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from metaeval.experiment.comparing.contrasts import Pairs
from metaeval.report.findings import leading
from metaeval.report.grid import Block, Grid, Note, count, numeral, plain
from metaeval.report.measures import Headline
from metaeval.report.result import Column, Result
from metaeval.report.sheet import Record, Sheet

_SHOWN = ("difference", "Holm", "groups needed")
_OBJECTIVES = {"spearman": "Spearman", "auc": "ROC-AUC of the top level against the rest"}
_CORRELATION = Column(key="", label="", digits=2)


def headline_pairs(pairs: Sequence[Pairs]) -> Grid:
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


def _reading(pairs: Sequence[Pairs], blocks: Sequence[Block]) -> str:
    """What the signs between the names mean, of those that are there."""
    said = (note.text for one in pairs for note in one.headline.footer if note.label == "reading")
    parts = dict.fromkeys(part for text in said for part in text.split("; "))
    signs = {sign for block in blocks for line in block.lines for sign in line.name.replace("<", ">").split()}
    return "; ".join(part for part in parts if part.split()[1] in signs)


def _holm(result: Result) -> str:
    """Which tests p is adjusted over, here and in the table of a run."""
    tested = result.significance
    if tested is None:
        return ""
    here = f"over {count(tested.tests, 'test')} of a {tested.family}" if tested.tests > 1 else "p itself: one test"
    return f"{here}; a run's table adds its tests against controls, so that its clusters may be larger"


def comparison_findings(pairs: Sequence[Pairs], others: Sequence[Sheet]) -> list[str]:
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


def _apart(pairs: Sequence[Pairs], headlines: Sequence[Headline]) -> str:
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
