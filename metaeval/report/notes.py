"""The footer of a table: data, settings, counts of pairs, resampling, significance, truncation and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metaeval.report.cell_notes import aside_notes
from metaeval.report.grid import Note, chance, count, numeral, place_of, plain, share
from metaeval.report.measures import LEVELS
from metaeval.report.result import FULL_SUPPORT, Column, Comparison, Data, Result, Row, Significance, Unit
from metaeval.report.uncertainty import certificate_text, few_groups, uncertainty

# A longer list of names that share an account is "all others".
_NAMED = 3


def footer(result: Result) -> tuple[Note, ...]:
    """The footer lines in reading order; empty lines are left out."""
    rows = in_blocks(result.rows)
    said = _grouped((warning, row) for row in rows for warning in row.warnings)
    ceiling, published = aside_notes(result)
    notes_of = _grouped((note, row) for row in rows for note in row.notes)
    warnings = tuple(("all" if len(names) == len(rows) > 1 else ", ".join(names), text) for text, names in said.items())
    notes = (
        Note("data", _data(result.data)),
        Note("settings", ", ".join(f"{plain(k)} {plain(v)}" for k, v in sorted(result.settings.items()))),
        _pairs(rows, plural(result.unit)),
        Note("uncertainty", uncertainty(result)),
        Note("few groups", few_groups(result)),
        Note("certificate", certificate_text(result)),
        ceiling,
        # Kind by kind: continuous Spearman 0.899, Kendall 0.763; binary Spearman 0.962.
        Note("perfect metric", "; ".join(map(" ".join, values_by_kind(result.ceilings, result.columns)))),
        _perfect_detector(result),
        published,
        standing(result),
        Note("truncation", "", _truncation(rows, plural(result.unit))),
        Note("left out", _counts(result.data.dropped)),
        Note("evidence", _counts(result.data.evidence)),
        Note("notes", "", tuple((", ".join(names), text) for text, names in notes_of.items())),
        Note("warnings", "", warnings),
    )
    return tuple(note for note in notes if note.text or note.items)


def plural(unit: Unit) -> str:
    """The plural name of the judged rows. A rating has one text and one source, and no citation."""
    return "ratings" if unit == "rating" else "pairs"


def in_blocks(rows: Sequence[Row]) -> list[Row]:
    """Metrics first, then controls, each in the result's order."""
    return [row for row in rows if row.kind == "metric"] + [row for row in rows if row.kind == "control"]


def values_by_kind(found: Mapping[str, Mapping[str, float]], columns: Sequence[Column]) -> tuple[tuple[str, str], ...]:
    """Each kind with its value under every measure that has one; found: measure to kind to value."""
    kinds = dict.fromkeys(kind for column in columns for kind in found.get(column.key, {}))
    said = {
        kind: ", ".join(
            f"{plain(column.label)} {numeral(found[column.key][kind], column)}"
            for column in columns
            if kind in found.get(column.key, {})
        )
        for kind in kinds
    }
    return tuple((plain(kind), text) for kind, text in said.items())


def _perfect_detector(result: Result) -> Note:
    """What perfect detectors would score, and why one of full support is below the top."""
    found = result.perfect
    if found is None or not found.values:
        return Note("perfect detector", "")
    why = (
        f"one of {FULL_SUPPORT} passes over {found.incomplete:,} of the {found.full:,} {plural(result.unit)} at level "
        "full, which hold only a part of an evidence set"
        if found.incomplete
        else "below the top where two levels do not differ in what is detected"
    )
    text = f"what perfect detectors would score under these labels; {why}"
    return Note("perfect detector", text, values_by_kind(found.values, result.columns))


def _data(data: Data) -> str:
    numbers = (
        (data.statements, "statement"),
        (data.citations, "citation"),
        (data.documents, "document"),
        (data.groups, "group"),
    )
    counts = [count(number, noun) for number, noun in numbers if number]
    # A saved result has its keys in alphabetical order; the scale's own order is the one to read.
    names = [name for name in LEVELS if name in data.levels]
    names += sorted(set(data.levels) - set(LEVELS), key=_grade)
    levels = " / ".join(f"{plain(name)} {data.levels[name]:,}" for name in names)
    return "; ".join(filter(None, (f"{place_of(data)}: {', '.join(counts)}", f"levels {levels}" if levels else "")))


def _grade(name: str) -> tuple[float, str]:
    """Graded levels from the highest number down, other names behind them."""
    try:
        return -float(name), name
    except ValueError:
        return float("inf"), name


def _pairs(rows: Sequence[Row], units: str) -> Note:
    """One account for all rows, or one for each group of rows that share it."""
    accounts = _grouped((_account(row), row) for row in rows)
    if len(accounts) == 1:
        return Note(units, next(iter(accounts)))
    largest = max(accounts.values(), key=len, default=[])
    named = {text: names for text, names in accounts.items() if names is not largest or len(names) <= _NAMED}
    items = [(", ".join(names), text) for text, names in named.items()]
    items += [("all others", text) for text in accounts if text not in named]
    return Note(units, "", tuple(items))


def _account(row: Row) -> str:
    """scored + unscored + excluded = total, with the reasons spelled out."""
    excluded = sum(row.excluded.values())
    return (
        f"{row.scored:,} scored + {row.unscored:,} unscored{_why(row.statuses)}"
        f" + {excluded:,} excluded{_why(row.excluded)} = {row.total:,}"
    )


def _why(counts: Mapping[str, int]) -> str:
    reasons = [name for name, number in counts.items() if number]
    text = plain(reasons[0]) if len(reasons) == 1 else _counts(counts)
    return f" ({text})" if text else ""


def _counts(counts: Mapping[str, int]) -> str:
    """Counts that are not zero, largest first."""
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number:,} {plain(name)}" for name, number in order if number)


def _truncation(rows: Sequence[Row], units: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (
            plain(row.metric),
            f"did not see {share(row.ledger.cut_tokens, row.ledger.tokens)} of tokens in "
            f"{share(row.ledger.cut_pairs, row.ledger.pairs)} of {units}",
        )
        for row in rows
        if row.ledger is not None and (row.ledger.cut_tokens or row.ledger.cut_pairs)
    )


def _grouped(said: Iterable[tuple[str, Row]]) -> dict[str, list[str]]:
    """The names of the rows for each distinct text, so that a text shared by many rows is printed once."""
    names: dict[str, list[str]] = {}
    for text, row in said:
        names.setdefault(plain(text), []).append(plain(row.metric))
    return names


# Above this many metrics the pairs are too many for a note, and the clusters are listed.
_PAIRWISE = 6


def differs(comparison: Comparison, alpha: float) -> bool:
    """Return whether a pair differs significantly; False if p is undefined."""
    return comparison.holm is not None and comparison.holm <= alpha


def settings(tested: Significance) -> str:
    """The test and its settings."""
    family = "suite (all tables of the data set)" if tested.family == "suite" else tested.family
    over = f" over the {tested.tests:,} tests of a {family}" if tested.tests else ""
    made = f"paired cluster permutation, {tested.permutations:,} permutations"
    made += "; against controls paired cluster t;" if tested.controls else ","
    return f"{made} Holm{over}, alpha {tested.alpha:g}"


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
            words = f"p {chance(pairs[0].p)}" if pairs[0].p is not None else ""
        elif len(metrics) <= _PAIRWISE:
            words = _pairs_that_differ(pairs, tested.alpha)
        else:
            words = _clusters(metrics, column)
        if words:
            said.append((plain(column.label), words + _untested(pairs)))
    return Note("significance", text, tuple(said))


def _pairs_that_differ(pairs: Sequence[Comparison], alpha: float) -> str:
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
