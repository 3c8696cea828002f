"""How the metrics of a table stand to each other: the note to the raised numbers."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.report.grid import Note
from metaeval.report.number_format import chance, plain
from metaeval.report.result import Column, Comparison, Result, Row, Significance

# Above this many metrics the pairs are too many for a note, and the clusters are listed.
_PAIRWISE = 6


def differs(comparison: Comparison, alpha: float) -> bool:
    """Whether a pair counts as different; an undefined p says nothing."""
    return comparison.holm is not None and comparison.holm <= alpha


def settings(tested: Significance) -> str:
    """What was tested, and how strictly."""
    return f"paired cluster permutation, {tested.permutations:,} permutations, Holm, alpha {tested.alpha:g}"


def cluster(row: Row, column: Column) -> str:
    """The raised number of a metric's cluster; empty without one."""
    number = row.clusters.get(column.key)
    return str(number) if number is not None and row.kind == "metric" else ""


def standing(result: Result) -> Note:
    """For two metrics p, for a few the pairs that differ, for many the clusters, measure by measure."""
    tested = result.significance
    metrics = [row for row in result.rows if row.kind == "metric"]
    if tested is None or not tested.comparisons:
        return Note("significance", "")
    numbered = any(cluster(row, column) for row in metrics for column in result.columns)
    text = f"same raised number: not told apart ({settings(tested)})" if numbered else settings(tested)
    said = []
    for column in result.columns:
        pairs = [comparison for comparison in tested.comparisons if comparison.measure == column.key]
        if not pairs:
            continue
        if len(metrics) == 2:
            words = _one(pairs[0])
        elif len(metrics) <= _PAIRWISE:
            words = _pairs(pairs, tested.alpha)
        else:
            words = _clusters(metrics, column)
        if words:
            said.append((plain(column.label), words + _untested(pairs)))
    return Note("significance", text, tuple(said))


def _one(pair: Comparison) -> str:
    return f"p {chance(pair.p)}" if pair.p is not None else ""


def _pairs(pairs: Sequence[Comparison], alpha: float) -> str:
    """The better metric of each pair that differs, and all that it leads: a > b, c; b > c."""
    led: dict[str, list[str]] = {}
    for pair in pairs:
        if differs(pair, alpha) and pair.difference:
            better, worse = (pair.one, pair.other) if pair.difference > 0 else (pair.other, pair.one)
            led.setdefault(plain(better), []).append(plain(worse))
    # Who leads most stands first; metrics that lead equally many keep the table's order.
    order = sorted(led.items(), key=lambda item: -len(item[1]))
    return "; ".join(f"{better} > {', '.join(worse)}" for better, worse in order) or "no two told apart"


def _clusters(metrics: Sequence[Row], column: Column) -> str:
    members: dict[str, list[str]] = {}
    for row in metrics:
        if number := cluster(row, column):
            members.setdefault(number, []).append(plain(row.metric))
    return "; ".join(f"{number} {', '.join(members[number])}" for number in sorted(members, key=int))


def _untested(pairs: Sequence[Comparison]) -> str:
    missing = [pair for pair in pairs if pair.p is None]
    if not missing:
        return ""
    why = ", ".join(dict.fromkeys(plain(pair.note) for pair in missing if pair.note))
    return f" ({len(missing)} of {len(pairs)} pairs not tested{f': {why}' if why else ''})"
