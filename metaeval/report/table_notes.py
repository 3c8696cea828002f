"""The notes of a table: footnotes behind a number, asides below it, and the footer that says how it was computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metaeval.core.errors import Shown, count
from metaeval.report.ranking_measures import CONTRAST, LEVELS, Headline, listed, metrics_of, pairs_of
from metaeval.report.result import Column, Comparison, Data, Interval, Result, Row, Significance, Unit
from metaeval.report.table import Block, Note, format_p, format_value, grouped, place_of, plain, share, short, value_of
from metaeval.stats.estimate import Estimate
from metaeval.stats.ranking import LETTERS

# Marks of values that are not significantly above a control, that ties move, and that lack scores of some rows.
LEVEL, TIED, UNSCORED = "†", "‡", "§"

FEW_GROUPS = 30  # effective groups below which intervals cover less often than they say (docs/explanation/inference.md)

_RUN = 4  # letters that are shortened to the first and the last
_NAMED = 3  # of more metrics with the same row counts, "all others" stands in place of the names


def numbers(values: Iterable[Estimate]) -> dict[str, str]:
    """Return a footnote number for each distinct reason, in reading order; cells with the same reason share it."""
    reasons = dict.fromkeys(filter(None, map(reason_of, values)))
    return {reason: str(number) for number, reason in enumerate(reasons, start=1)}


def reason_of(value: Estimate | Comparison) -> str:
    """Return why a value or a test is undefined, or what its protocol notes about it; empty for a plain value."""
    undefined = (value.value if isinstance(value, Estimate) else value.holm) is None
    return plain(value.note) or ("undefined, no reason recorded" if undefined else "")


def marks(shown: Headline, row: Row, reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Return the raised marks of a cell: letters, `LEVEL`, `TIED`, `UNSCORED`, then the number of its reason.

    reasons: the footnotes' numbers by their texts, from `numbers`.
    """
    value, metric = shown.value(row), row.kind == "metric"
    conditions = (
        (letters(row, shown.column), True),
        (LEVEL, metric and row.not_above.get(shown.column.key)),
        (TIED, _moves(value, value.ties, shown.column)),
        (UNSCORED, metric and row.unscored),
        (reasons.get(reason_of(value), ""), True),
    )
    return tuple(mark for mark, holds in conditions if mark and holds)


def _moves(value: Estimate, ends: tuple[float, float] | None, column: Column) -> bool:
    """Return whether the ends of a span are printed differently from the value."""
    return ends is not None and any(format_value(end, column) != format_value(value.value, column) for end in ends)


def footnotes(
    blocks: Sequence[Block], results: Sequence[Result], reasons: Mapping[str, str], spans: bool
) -> tuple[Note, ...]:
    """Return a footnote for each mark in the cells of a table of these results, with counts of rows without a score.

    reasons: the footnotes' numbers by their texts, from `numbers`. spans: whether to add the worst and the best value
    over the orders of tied scores, and over the scores that rows without one could have.
    """
    lines = [line for block in blocks for line in block.lines]
    used = {mark for line in lines for cell in line.cells for mark in cell.marks}
    used |= {Shown(UNSCORED) for line in lines if line.name.endswith(f" {UNSCORED}")}

    def spans_of(row: Row, columns: Sequence[Column], kind: str) -> str:
        values = [(column, value_of(row, column)) for column in columns if spans]
        ends = [
            (column, getattr(value, kind)) for column, value in values if _moves(value, getattr(value, kind), column)
        ]
        return "".join(
            f", {plain(column.label)} [{'..'.join(format_value(end, column) for end in both)}]" for column, both in ends
        )

    missing: dict[str, None] = {}
    ties = []
    for of, row in ((result, row) for result in results for row in result.rows):
        if row.kind == "metric" and row.unscored:
            text = f"{row.unscored:,} of {row.scored + row.unscored:,}{_why(row.statuses)}"
            missing[f"{plain(row.metric)} {text}{spans_of(row, of.columns, 'bounds')}"] = None
        if moved := spans_of(row, of.columns, "ties"):
            ties.append((plain(row.metric), moved.removeprefix(", ")))
    with_spans = ", with [worst..best] value" if spans else ""
    notes = (
        Note(LEVEL, "not significantly better than at least one control"),
        Note(TIED, "mean over the orders of tied scores; [worst..best] order:", tuple(ties)),
        Note(UNSCORED, f"rows without a score, left out{with_spans}: {'; '.join(missing)}"),
        *(Note(number, reason) for reason, number in reasons.items()),
    )
    return tuple(note for note in notes if note.label in used)


def asides(row: Row, column: Column) -> tuple[str, ...]:
    """Return the values in brackets of a metric's cell: the most that its ties allow, the published one; () if none."""
    if row.kind == "control":
        return ()
    value, below = value_of(row, column), []
    ceiling = format_value(value.ceiling, column)
    if value.value is not None and value.ceiling and value.ceiling > 0 and ceiling != format_value(1.0, column):
        percent = round(100 * value.value / value.ceiling)
        # The share is 100 only where the two numbers print alike.
        if percent >= 100 and format_value(value.value, column) != ceiling:
            percent = 99 if value.value < value.ceiling else 101
        below.append(f"{percent} % of {short(ceiling)}")
    if value.published is not None:
        below.append(f"paper {short(format_value(value.published, column))}")
    return tuple(below)


def footer(result: Result) -> tuple[Note, ...]:
    """Return the footer of a result's table: its notes in reading order, without empty ones."""
    rows, units = in_blocks(result.rows), plural(result.unit)
    below = [aside for row in rows for column in result.columns for aside in asides(row, column)]
    effective = effective_numbers(result)
    # Intervals without a standard error are percentiles of the protocol's own resamples.
    values = {plain(c.label): [value_of(row, c) for row in metrics_of(result)] for c in result.columns}
    drawn = [label for label, of in values.items() if any(v.low is not None and v.effective is None for v in of)]
    resampled = f"; from resamples: {', '.join(drawn)}" if effective and drawn else "; from resamples" if drawn else ""
    ceilings = [aside for aside in below if " % of " in aside]
    published = [aside for aside in below if aside.startswith("paper ")]
    elsewhere = plain(result.published_elsewhere) and f"on other data: {plain(result.published_elsewhere)}"
    source = f" ({plain(result.published)})" if result.published else ""
    perfect = result.perfect.values if result.perfect else {}
    cut = {plain(row.metric): of for row in rows if (of := row.ledger) and (of.cut_tokens or of.cut_pairs)}
    unseen = "did not see {} of tokens in {} of " + units
    shares = {name: (share(of.cut_tokens, of.tokens), share(of.cut_pairs, of.pairs)) for name, of in cut.items()}
    truncated = [(name, unseen.format(*of)) for name, of in shares.items()]
    notes = (
        *of_data(result.data, result.settings),
        _row_counts(rows, units),
        Note("uncertainty", interval_text(result.interval, result.data.groups, effective) + resampled),
        Note("few groups", few_groups(effective)),
        Note("ceiling", f"{ceilings[0]}: share of what these scores could reach, given ties" if ceilings else ""),
        # Kind by kind: continuous Spearman 0.899, Kendall 0.763; binary Spearman 0.962.
        Note("perfect metric", "; ".join(map(" ".join, values_by_kind(result.ceilings, result.columns)))),
        Note("perfect detector", _perfect(result), values_by_kind(perfect, result.columns)),
        Note("published", f"{published[0]}: published {elsewhere or 'on the same data'}{source}" if published else ""),
        significance_note(result),
        Note("truncation", "", tuple(truncated)),
        Note("left out", listed_counts(result.data.dropped)),
        Note("evidence", listed_counts(result.data.evidence)),
        Note("notes", "", _by_text((note, row) for row in rows for note in row.notes)),
        Note("warnings", "", _by_text((warning, row) for row in rows for warning in row.warnings)),
    )
    return tuple(note for note in notes if note.text or note.items)


def of_data(data: Data, settings: Mapping[str, str]) -> tuple[Note, Note]:
    """Return the footer's notes on the data and on the settings."""
    chosen = ", ".join(f"{plain(name)} {plain(value)}" for name, value in sorted(settings.items()))
    nouns = ("statement", "citation", "document", "group")
    counts = [count(number, noun) for noun in nouns if (number := getattr(data, f"{noun}s"))]
    # A saved result has its keys in alphabetical order; the scale's own order is the one to read.
    names = [name for name in LEVELS if name in data.levels]
    names += sorted(set(data.levels) - set(LEVELS), key=_level_order)
    levels = " / ".join(f"{plain(name)} {data.levels[name]:,}" for name in names)
    counted = f"{place_of(data)}: {', '.join(counts)}"
    return Note("data", f"{counted}; levels {levels}" if levels else counted), Note("settings", chosen)


def _level_order(name: str) -> tuple[float, str]:
    """Return a sort key: graded levels from the highest number down, other names after them."""
    try:
        return -float(name), name
    except ValueError:
        return float("inf"), name


def plural(unit: Unit) -> str:
    """Return what the judged rows are, in the plural: a rating has one text and one source, and no citation."""
    return "ratings" if unit == "rating" else "pairs"


def in_blocks(rows: Sequence[Row]) -> list[Row]:
    """Return the metrics, then the controls, each in the result's order."""
    return [row for row in rows if row.kind == "metric"] + [row for row in rows if row.kind == "control"]


def values_by_kind(
    values_of: Mapping[str, Mapping[str, float]], columns: Sequence[Column]
) -> tuple[tuple[str, str], ...]:
    """Return (kind, values as text under the measures of `columns`) for each kind of perfect metric or detector.

    values_of: raw value by measure, then by kind.
    """
    values = grouped(
        (plain(kind), f"{plain(column.label)} {format_value(value, column)}")
        for column in columns
        for kind, value in values_of.get(column.key, {}).items()
    )
    return tuple((kind, ", ".join(texts)) for kind, texts in values.items())


def _perfect(result: Result) -> str:
    """Return what the values of perfect detectors are, and why a detector of full support is below the maximum."""
    perfect = result.perfect
    if perfect is None or not perfect.values:
        return ""
    parts = f"{perfect.incomplete:,} of the {perfect.full:,} {plural(result.unit)} at level full hold only a part of an"
    why = f" ({parts} evidence set)" if perfect.incomplete else ""
    return f"what perfect detectors would score under these labels{why}:"


def _row_counts(rows: Sequence[Row], units: str) -> Note:
    """Return the note on the number of rows: one count for all metrics, or one for each group that shares it."""

    def counts_of(row: Row) -> str:
        excluded = sum(row.excluded.values())
        parts = f"{row.scored:,} scored + {row.unscored:,} unscored{_why(row.statuses)}"
        return f"{parts} + {excluded:,} excluded{_why(row.excluded)} = {row.total:,}"

    names_by_counts = grouped((counts_of(row), plain(row.metric)) for row in rows)
    largest = max(names_by_counts.values(), key=len, default=[])
    if len(names_by_counts) == 1:
        return Note(units, next(iter(names_by_counts)))
    label = "all others" if len(largest) > _NAMED else ", ".join(largest)
    items = [(label if names is largest else ", ".join(names), text) for text, names in names_by_counts.items()]
    return Note(units, "", tuple(sorted(items, key=lambda item: item[0] == "all others")))


def listed_counts(counts: Mapping[str, int]) -> str:
    """Return the counts that are not zero as text, largest first."""
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number:,} {plain(name)}" for name, number in order if number)


def _why(counts: Mapping[str, int]) -> str:
    """Return reasons in brackets, with their counts if there are several."""
    reasons = [name for name, number in counts.items() if number]
    return f" ({plain(reasons[0]) if len(reasons) == 1 else listed_counts(counts)})" if reasons else ""


def _by_text(texts: Iterable[tuple[str, Row]]) -> tuple[tuple[str, str], ...]:
    """Return (names of the rows, text) for each distinct text, so that a text shared by many rows is printed once."""
    names_by_text = grouped((plain(text), plain(row.metric)) for text, row in texts)
    return tuple((", ".join(names), text) for text, names in names_by_text.items())


def interval_text(interval: Interval, groups: int | None = None, effective: Sequence[float] = ()) -> str:
    """Return, as text, what the intervals are, or that there are none.

    groups: number of groups; None where it differs between rows. effective: numbers of effective groups behind the
    values, whose range is named.
    """
    if interval.resamples == 0:
        return "no intervals"
    text = f"{100 * interval.level:g} % CI, clustered by {' and '.join(interval.cluster.split(','))}"
    ends = (min(effective), max(effective)) if effective else ()
    clusters: Mapping[str, Sequence[float]] = interval.effective or {"group": (groups or 0, *ends)}
    for name, (number, *ends_of) in clusters.items():
        behind = f"{whole_range(ends_of)} effective of " if ends_of else ""
        text += f", {behind}{count(int(number), name)}" if number else ""
    return text


def effective_numbers(result: Result) -> list[float]:
    """Return the number of effective groups of each metric's value, where it is known."""
    values = [value_of(row, column) for row in metrics_of(result) for column in result.columns]
    return [value.effective for value in values if value.effective is not None]


def whole_range(ends: Sequence[float]) -> str:
    """Return the range of these numbers as text, "12 to 40"; both ends are rounded down, so that few stay few."""
    low, high = int(min(ends)), int(max(ends))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def few_groups(groups: Sequence[float], named: bool = True) -> str:
    """Return what few effective groups mean for intervals and tests; "" if they are not few.

    named: whether their number is said first.
    """
    below = [number for number in groups if number < FEW_GROUPS]
    begin = f"{whole_range(below)} effective groups: " if below and named else ""
    often = "intervals hold the true value less often, and tests err more often, than they say"
    return f"{begin}below {FEW_GROUPS}, {often}" if below else ""


def settings(tested: Significance) -> str:
    """Return, as text, the test of pairs, how p is adjusted, and alpha."""
    of = f" over {count(tested.tests, 'test')} of a {tested.family}" if tested.tests else ""
    # A control that is a metric of the run: its pairs are adjusted as those of all controls are.
    controls = {pair.other for pair in tested.controls}
    compared = dict.fromkeys(name for pair in tested.comparisons for name in (pair.one, pair.other))
    apart = listed([plain(name) for name in compared if name in controls])
    adjusted = "" if tested.tests == 1 and not apart else f", p Holm-adjusted{of}"
    adjusted += f", apart for pairs with {apart}" if apart else ""
    return f"paired cluster t{adjusted}, alpha {tested.alpha:g}"


def letters(row: Row, column: Column) -> str:
    """Return a metric's raised letters, of which four and more in a row become a-d; empty without any.

    Two metrics share a letter if and only if they are not significantly different.
    """
    text = row.letters.get(column.key, "") if row.kind == "metric" else ""
    runs = grouped((LETTERS.index(letter) - place, letter) for place, letter in enumerate(text)).values()
    return "".join("".join(run) if len(run) < _RUN else f"{run[0]}-{run[-1]}" for run in runs)


def shared_letter(marks: Iterable[str]) -> str:
    """Return what the letters among these marks mean; empty if there are none."""
    used = [mark for mark in marks if mark[0] in LETTERS]
    runs = " (a-d: a, b, c and d)" if any("-" in mark for mark in used) else ""
    return f"metrics that share a letter in a column are not significantly different{runs}" if used else ""


def rank_interval(row: Row, column: Column) -> str:
    """Return the confidence interval of a metric's rank as text, "2-4" or "1"; "" where it is not known."""
    low, high = row.ranks.get(column.key, (0, 0))
    return f"{low}-{high}" if low < high else str(low or "")


def significance_note(result: Result) -> Note:
    """Return the note on the tests: what letters mean, p for two metrics, and pairs that were not tested and why."""
    tested, metrics = result.significance, metrics_of(result)
    if tested is None or not tested.comparisons:
        return Note("significance", "")
    shared = shared_letter(filter(None, (letters(row, column) for row in metrics for column in result.columns)))
    shared = shared.replace("in a column", "in a measure of a line") if result.protocol == CONTRAST else shared
    items = []
    for column in result.columns:
        pairs = pairs_of(Headline(result, column))
        missing = [pair for pair in pairs if pair.holm is None]
        why = ", ".join(dict.fromkeys(plain(pair.note) for pair in missing if pair.note))
        alone = len(metrics) == 2 and result.protocol != CONTRAST
        texts = [f"p {format_p(pair.holm)}" for pair in pairs if alone and pair.holm is not None]
        texts += [f"{len(missing)} of {len(pairs)} pairs not decided{f': {why}' if why else ''}"] if missing else []
        if texts:
            items.append((plain(column.label), "; ".join(texts)))
    return Note("significance", f"{shared} ({settings(tested)})" if shared else settings(tested), tuple(items))
