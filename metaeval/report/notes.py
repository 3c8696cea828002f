"""The notes of a table: footnotes behind a number, asides below it, and the footer.

Footnotes tell undefined values, controls that are not beaten, orders of ties and pairs without a score. Asides give a
value's share of what it could have reached, and what others published for it. The footer says how intervals were made,
of how many effective groups, and what a simulation found of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from metaeval.report.measures import LEVELS, metrics_of
from metaeval.report.result import (
    FULL_SUPPORT,
    Column,
    Comparison,
    Data,
    Interval,
    Result,
    Row,
    Significance,
    Unit,
    Value,
)
from metaeval.report.table import Note, chance, count, grouped, numeral, place_of, plain, share, short, span, value_of
from metaeval.report.verdicts import differs

LEVEL = "†"
TIED = "‡"
UNSCORED = "§"

# No q: Unicode has no superscript for it, and the terminal prints letters as superscripts.
_ALPHABET = "abcdefghijklmnoprstuvwxyz"


def letters(values: Iterable[Value]) -> dict[str, str]:
    """A letter for each distinct reason, in reading order; cells with the same reason share it."""
    names = ("".join(parts) for length in itertools.count(1) for parts in itertools.product(_ALPHABET, repeat=length))
    return dict(zip(dict.fromkeys(filter(None, map(reason_of, values))), names, strict=False))


def reason_of(value: Value) -> str:
    """Why a value is undefined, or what its protocol notes about it; empty for a plain value."""
    if value.value is None:
        return plain(value.note) or "undefined, no reason recorded"
    return plain(value.note)


def marks(row: Row, column: Column, reasons: Mapping[str, str], but: Collection[str] = ()) -> tuple[str, ...]:
    """The marks of one cell: cluster, controls, ties, unscored, then the letter of its reason; `but` those named."""
    value = value_of(row, column)
    conditions = (
        (cluster(row, column), True),
        (LEVEL, bool(_rivals(row, column))),
        (TIED, _moves(value.ties, value, column)),
        (UNSCORED, _moves(value.bounds, value, column)),
        (reasons.get(reason_of(value), ""), True),
    )
    return tuple(mark for mark, holds in conditions if mark and holds and mark not in but)


def footnotes(
    rows: Sequence[Row], columns: Sequence[Column], reasons: Mapping[str, str], units: str, level: str
) -> tuple[Note, ...]:
    """The footnotes that `marks` points to, one for each mark in use; level: what `LEVEL` means."""
    ties, bounds = ([_spans(row, columns, kind) for row in rows] for kind in ("ties", "bounds"))
    notes = (
        Note(LEVEL, f"{level}:", _items(rows, [_level(row, columns) for row in rows])),
        Note(TIED, "the order of tied scores moves the value, [worst..best]:", _items(rows, ties)),
        Note(UNSCORED, f"{units} without a score could move the value, [worst..best]:", _items(rows, bounds)),
    )
    return (*(note for note in notes if note.items), *(Note(letter, reason) for reason, letter in reasons.items()))


def not_above(by_test: bool) -> str:
    """What the mark of a control that is not beaten means."""
    return "not significantly better than a control" if by_test else "interval does not lie above that of a control"


def tests_controls(result: Result) -> bool:
    """Return whether metrics were compared with controls by a test; in results of earlier versions, by intervals."""
    return result.significance is not None and result.significance.controls is not None


def _rivals(row: Row, column: Column) -> list[str]:
    """A control is not flagged: it is what the metrics are compared with."""
    return row.not_above.get(column.key, []) if row.kind == "metric" else []


def _moves(ends: tuple[float, float] | None, value: Value, column: Column) -> bool:
    """Return whether an end of the span is printed differently from the value."""
    return ends is not None and any(numeral(end, column) != numeral(value.value, column) for end in ends)


def _items(rows: Sequence[Row], texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((plain(row.metric), text) for row, text in zip(rows, texts, strict=True) if text)


def _level(row: Row, columns: Sequence[Column]) -> str:
    held = grouped((", ".join(map(plain, _rivals(row, column))), plain(column.label)) for column in columns)
    return "; ".join(f"{', '.join(labels)} ({rivals})" for rivals, labels in held.items() if rivals)


def _spans(row: Row, columns: Sequence[Column], kind: str) -> str:
    values = [(column, value_of(row, column)) for column in columns]
    spans = [(plain(column.label), getattr(value, kind), value, column) for column, value in values]
    return ", ".join(
        f"{label} {span(ends, column)}" for label, ends, value, column in spans if _moves(ends, value, column)
    )


_REACH = (
    "share of the most that the same scores, with their own ties, could reach against this gold; "
    "nothing is said where that is 1"
)
_PAPER = "published value of the same metric on the same data"


def asides(row: Row, column: Column) -> tuple[str, ...]:
    """The asides of one cell, the ceiling's first; controls have none, being yardsticks themselves."""
    return tuple(aside for aside in (_reach(row, column), _paper(row, column)) if aside)


def aside_notes(result: Result) -> tuple[Note, Note]:
    """The footer lines that explain the asides in use, of ceilings and of published values, by their first."""
    cells = [(row, column) for row in result.rows for column in result.columns]
    reach = next(filter(None, (_reach(row, column) for row, column in cells)), "")
    paper = next(filter(None, (_paper(row, column) for row, column in cells)), "")
    source = plain(result.published)
    return (
        Note("ceiling", f"{reach}: {_REACH}" if reach else ""),
        Note("published", f"{paper}: {_PAPER}{f' ({source})' if source else ''}" if paper else ""),
    )


def _reach(row: Row, column: Column) -> str:
    value = value_of(row, column)
    if row.kind == "control" or value.value is None or value.ceiling is None:
        return ""
    ceiling = numeral(value.ceiling, column)
    if value.ceiling <= 0 or ceiling == numeral(1.0, column):
        return ""
    percent = round(100 * value.value / value.ceiling)
    # The share is 100 only where the two numbers print alike.
    if percent >= 100 and numeral(value.value, column) != ceiling:
        percent = 99 if value.value < value.ceiling else 101
    return f"{percent} % of {short(ceiling)}"


def _paper(row: Row, column: Column) -> str:
    value = value_of(row, column)
    if row.kind == "control" or value.published is None:
        return ""
    return f"paper {short(numeral(value.published, column))}"


# A longer list of names that share an account is "all others".
_NAMED = 3


def footer(result: Result) -> tuple[Note, ...]:
    """The footer lines in reading order; empty lines are left out."""
    rows = in_blocks(result.rows)
    names_by_warning = _grouped((warning, row) for row in rows for warning in row.warnings)
    ceiling, published = aside_notes(result)
    notes_of = _grouped((note, row) for row in rows for note in row.notes)
    warnings = tuple(
        ("all" if len(names) == len(rows) > 1 else ", ".join(names), text) for text, names in names_by_warning.items()
    )
    notes = (
        *of_data(result.data, result.settings),
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


def of_data(data: Data, settings: Mapping[str, str]) -> tuple[Note, Note]:
    """The lines on the data and on the settings."""
    chosen = ", ".join(f"{plain(name)} {plain(value)}" for name, value in sorted(settings.items()))
    return Note("data", _data(data)), Note("settings", chosen)


def plural(unit: Unit) -> str:
    """The plural name of the judged rows. A rating has one text and one source, and no citation."""
    return "ratings" if unit == "rating" else "pairs"


def in_blocks(rows: Sequence[Row]) -> list[Row]:
    """Metrics first, then controls, each in the result's order."""
    return [row for row in rows if row.kind == "metric"] + [row for row in rows if row.kind == "control"]


def values_by_kind(
    values_of: Mapping[str, Mapping[str, float]], columns: Sequence[Column]
) -> tuple[tuple[str, str], ...]:
    """Return each kind with its value under every measure that has one. values_of: measure to kind to value."""
    kinds = dict.fromkeys(kind for column in columns for kind in values_of.get(column.key, {}))
    values = {
        kind: [(column, values_of[column.key][kind]) for column in columns if kind in values_of.get(column.key, {})]
        for kind in kinds
    }
    return tuple(
        (plain(kind), ", ".join(f"{plain(column.label)} {numeral(value, column)}" for column, value in of))
        for kind, of in values.items()
    )


def _perfect_detector(result: Result) -> Note:
    """What perfect detectors would score, and why one of full support is below the top."""
    perfect = result.perfect
    if perfect is None or not perfect.values:
        return Note("perfect detector", "")
    why = (
        f"one of {FULL_SUPPORT} passes over {perfect.incomplete:,} of the {perfect.full:,} {plural(result.unit)} at "
        "level full, which hold only a part of an evidence set"
        if perfect.incomplete
        else "below the top where two levels do not differ in what is detected"
    )
    text = f"what perfect detectors would score under these labels; {why}"
    return Note("perfect detector", text, values_by_kind(perfect.values, result.columns))


def _data(data: Data) -> str:
    nouns = ("statement", "citation", "document", "group")
    counts = [count(number, noun) for noun in nouns if (number := getattr(data, f"{noun}s"))]
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


def _grouped(texts: Iterable[tuple[str, Row]]) -> dict[str, list[str]]:
    """The names of the rows for each distinct text, so that a text shared by many rows is printed once."""
    return grouped((plain(text), plain(row.metric)) for text, row in texts)


# Above this many metrics the pairs are too many for a note, and the clusters are listed.
_PAIRWISE = 6


def settings(tested: Significance) -> str:
    """The test and its settings."""
    family = "suite (all tables of the data set)" if tested.family == "suite" else tested.family
    over = f"Holm over the {count(tested.tests, 'test')} of a {family}" if tested.tests else "Holm"
    test = f"paired cluster permutation, {tested.permutations:,} permutations"
    if tested.controls and tested.separate_controls:
        return f"{test}, {over}; against controls paired cluster t, Holm over the metrics; alpha {tested.alpha:g}"
    test += "; against controls paired cluster t;" if tested.controls else ","
    return f"{test} {over}, alpha {tested.alpha:g}"


def cluster(row: Row, column: Column) -> str:
    """The raised number of a metric's cluster; empty without one."""
    number = row.clusters.get(column.key)
    return str(number) if number is not None and row.kind == "metric" else ""


def standing(result: Result) -> Note:
    """For two metrics p, for a few the pairs that differ, for many the clusters, measure by measure."""
    tested = result.significance
    metrics = metrics_of(result)
    if tested is None or not tested.comparisons:
        return Note("significance", "")
    numbered = any(cluster(row, column) for row in metrics for column in result.columns)
    text = f"same raised number: not significantly different ({settings(tested)})" if numbered else settings(tested)
    items = []
    for column in result.columns:
        pairs = [comparison for comparison in tested.comparisons if comparison.measure == column.key]
        if not pairs:
            continue
        if len(metrics) == 2:
            words = f"p {chance(pairs[0].p)}" if pairs[0].p is not None else ""
        elif len(metrics) <= _PAIRWISE:
            words = _pairs_that_differ(pairs, tested.alpha)
        else:
            members = grouped((cluster(row, column), plain(row.metric)) for row in metrics)
            numbers = sorted(filter(None, members), key=int)
            words = "; ".join(f"{number} {', '.join(members[number])}" for number in numbers)
        if words:
            items.append((plain(column.label), words + _untested(pairs)))
    return Note("significance", text, tuple(items))


def _pairs_that_differ(pairs: Sequence[Comparison], alpha: float) -> str:
    """The better metric of each pair that differs, and all that it leads: a > b, c; b > c."""
    apart = [(pair.one, pair.other, pair.difference) for pair in pairs if differs(pair, alpha) and pair.difference]
    led = grouped((plain(a), plain(b)) if more > 0 else (plain(b), plain(a)) for a, b, more in apart)
    # Who leads most stands first; metrics that lead equally many keep the table's order.
    order = sorted(led.items(), key=lambda item: -len(item[1]))
    return "; ".join(f"{better} > {', '.join(worse)}" for better, worse in order) or "no two significantly different"


def _untested(pairs: Sequence[Comparison]) -> str:
    missing = [pair for pair in pairs if pair.p is None]
    if not missing:
        return ""
    why = ", ".join(dict.fromkeys(plain(pair.note) for pair in missing if pair.note))
    return f" ({len(missing)} of {len(pairs)} pairs not tested{f': {why}' if why else ''})"


_METHODS = {"t": "cluster-t", "bootstrap-t": "cluster bootstrap-t", "percentile": "percentile", "bca": "BCa"}

FEW_GROUPS = 30
"""Effective groups below which intervals are known to cover less often than they say (docs/inference.md)."""


def uncertainty(result: Result) -> str:
    """How a table's intervals were made, of how many effective groups."""
    behind = effective(result, result.columns)
    others = [plain(column.label) for column in result.columns if _made_otherwise(result, column)]
    studentised = result.interval.studentised
    if others and not behind and studentised and result.interval.resamples:
        return f"{100 * result.interval.level:g} % intervals of {count(result.data.groups, 'group')}: see the warnings"
    text = made_of(result.interval, result.data.groups, behind if studentised else ())
    return f"{text}; of {', '.join(others)}: see the warnings" if others and studentised else text


def made_of(interval: Interval, groups: int | None, behind: Sequence[float] = ()) -> str:
    """How intervals were made. groups: None where their number is not one for all; behind: the effective ones."""
    if interval.resamples == 0:
        return "no intervals (0 resamples)"
    some = "groups" if groups is None else count(groups, "group")
    drawn = f"{count(interval.resamples, 'resample')} of {some}, seed {interval.seed}"
    parts = [intervals_of(interval)]
    if interval.studentised and groups is not None:
        parts.append(f"{whole_range(behind)} effective of {some}" if behind else some)
    if interval.method != "t":
        parts.append(drawn)
    return ", ".join(parts)


def few_of(interval: Interval, groups: int) -> str:
    """What few groups mean for the intervals of a sheet; "" where they are not few."""
    if not interval.studentised or not interval.resamples or groups >= FEW_GROUPS:
        return ""
    often = f"below {FEW_GROUPS}, intervals hold the true value less often than they say"
    return f"{often}, and below {interval.fewest:g} effective ones there is none"


def _made_otherwise(result: Result, column: Column) -> bool:
    """Whether the protocol made the intervals itself: those of Student's t say their effective groups."""
    values = [value_of(row, column) for row in result.rows if row.kind == "metric"]
    return any(value.low is not None and value.effective is None for value in values)


def intervals_of(interval: Interval) -> str:
    """The level and the method of the intervals."""
    return f"{100 * interval.level:g} % {_METHODS[interval.method]} intervals"


def effective(result: Result, columns: Sequence[Column]) -> list[float]:
    """Effective groups of the metrics under these measures."""
    values = [value_of(row, column) for row in result.rows if row.kind == "metric" for column in columns]
    return [value.effective for value in values if value.effective is not None]


def whole_range(numbers: Sequence[float]) -> str:
    """Whole numbers from the smallest to the largest, rounded down: too few groups are never said to be enough."""
    low, high = int(min(numbers)), int(max(numbers))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def few_groups(result: Result) -> str:
    """The measures of a table that have few effective groups, and what that means; "" without any."""
    few = {}
    for column in result.columns:
        below = [number for number in effective(result, [column]) if number < FEW_GROUPS]
        if below:
            few[plain(column.label)] = whole_range(below)
    if not few:
        return ""
    named = ", ".join(f"{label} {numbers}" for label, numbers in few.items())
    numbers = f"{named} effective groups, below {FEW_GROUPS}"
    hint = "" if result.certificate else " ('metaeval plan --certify' simulates how often)"
    return f"{numbers}: intervals hold the true value less often, and tests err more often, than they say{hint}"


def certificate_text(result: Result, short: bool = False) -> str:
    """Return what a simulation on the table's own rows showed; "" without one. short: without its samples."""
    sim = result.certificate
    if sim is None:
        return ""
    label = next((column.label for column in result.columns if column.key == sim.measure), sim.measure)
    text = f"on data built like these, {100 * sim.level:g} % intervals of {plain(label)} covered "
    text += within(sim.held, sim.given)
    if sim.given_likewise < sim.given and sim.effective is not None:
        likewise = within(sim.held_likewise, sim.given_likewise)
        text += f", and {likewise} of those with {effective_class(sim.effective)} effective groups, as here"
    if sim.tested:
        text += f"; the test rejected {within(sim.rejected, sim.tested)} of equal metrics"
    if sim.effective is not None:
        text += f"; effective groups {sim.effective:,.0f} of {sim.groups:,}"
    beside = f", beside {plain(sim.other)}" if sim.other and sim.tested else ""
    samples = f"{sim.given + sim.without:,} samples of {plain(sim.metric)}{beside}, ± one Monte Carlo error"
    return text if short else f"{text} ({samples})"


def within(hits: int, of: int) -> str:
    """A simulated share in per cent, with its Monte Carlo error of one standard deviation."""
    if not of:
        return "none of 0"
    near = (hits + 1) / (of + 2)  # an error of none would be none of the share's, and not none of ours
    return f"{100 * hits / of:.1f} % (± {100 * math.sqrt(near * (1 - near) / of):.1f})"


EFFECTIVE = (0, 6, FEW_GROUPS, 60)
"""Effective groups at which a class of them begins; intervals of one class hold the true value about equally often."""


def effective_class(effective: float) -> str:
    """The class that a number of effective groups lies in, in words."""
    number = max(place for place, begin in enumerate(EFFECTIVE) if effective >= begin)
    if number == 0:
        return f"fewer than {EFFECTIVE[1]}"
    begin, *end = EFFECTIVE[number : number + 2]
    return f"{begin} to {end[0]}" if end else f"{begin} or more"
