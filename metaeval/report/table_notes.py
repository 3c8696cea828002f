"""The notes of a table: footnotes behind a number, asides below it, and the footer.

Footnotes explain undefined values, controls that a metric is not better than, ties and rows without a score. Asides
give a value's share of what it could have reached, and what others published for it. The footer says what the table is
of, and how it was computed. `sentence_templates` has the texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from metaeval.display_text import count
from metaeval.report import sentence_templates
from metaeval.report.interval_texts import few_groups, uncertainty
from metaeval.report.ranking_measures import LEVELS, listed, metrics_of, untested
from metaeval.report.result import Column, Comparison, Data, Result, Row, Significance, Unit, Value
from metaeval.report.significance_verdicts import differs
from metaeval.report.table import (
    Block,
    Note,
    format_p,
    format_value,
    grouped,
    place_of,
    plain,
    share,
    short,
    span,
    value_of,
)
from metaeval.stats.ranking import LETTERS

LEVEL = "†"
TIED = "‡"
UNSCORED = "§"

_RUN = 4  # letters that are shortened to the first and the last


def numbers(values: Iterable[Value]) -> dict[str, str]:
    """Return a footnote number for each distinct reason, in reading order; cells with the same reason share it."""
    reasons = dict.fromkeys(filter(None, map(reason_of, values)))
    return {reason: str(number) for number, reason in enumerate(reasons, start=1)}


def reason_of(value: Value) -> str:
    """Return why a value is undefined, or what its protocol notes about it; empty for a plain value."""
    return plain(value.note) or (sentence_templates.NO_REASON if value.value is None else "")


def on_fewer_rows(metrics: Iterable[Row]) -> dict[str, str]:
    """Return "SCORED of MOST" by metric, for those that scored some rows and fewer than another of the table."""
    counts = {row.metric: row.scored for row in metrics if row.kind == "metric"}
    most = max(counts.values(), default=0)
    return {name: f"{scored:,} of {most:,}" for name, scored in counts.items() if 0 < scored < most}


def marks(
    row: Row, column: Column, reasons: Mapping[str, str], but: Collection[str] = (), fewer: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the raised marks of a cell: letters, `LEVEL`, `TIED`, `UNSCORED`, then the number of its reason.

    reasons: the footnotes' numbers by their texts, from `numbers`. but: marks to leave out. fewer: the metrics that
    scored fewer rows than others, which have `UNSCORED` also where these rows do not move the printed value.
    """
    value = value_of(row, column)
    on_fewer = row.kind == "metric" and row.metric in fewer and value.value is not None
    conditions = (
        (letters(row, column), True),
        (LEVEL, bool(_controls_of(row, column))),
        (TIED, _is_visible(value.ties, value, column)),
        (UNSCORED, on_fewer or _is_visible(value.bounds, value, column)),
        (reasons.get(reason_of(value), ""), True),
    )
    return tuple(mark for mark, holds in conditions if mark and holds and mark not in but)


def footnotes(
    rows: Sequence[Row], columns: Sequence[Column], reasons: Mapping[str, str], units: str, level: str
) -> tuple[Note, ...]:
    """Return one footnote for each mark that `marks` puts into the cells of a table.

    reasons: the footnotes' numbers by their texts, from `numbers`. units: what the rows are, in the plural. level:
    text of the footnote of `LEVEL`.
    """
    fewer = on_fewer_rows(rows)
    notes = (
        Note(LEVEL, f"{level}:", _items(rows, [_controls_not_beaten(row, columns) for row in rows])),
        Note(TIED, sentence_templates.TIES, _items(rows, [_ranges(row, columns, "ties") for row in rows])),
        Note(
            UNSCORED,
            f"{_without_a_score(units, bool(fewer), ', [worst..best]')}:",
            _items(rows, [_unscored(row, columns, fewer) for row in rows]),
        ),
    )
    return (*(note for note in notes if note.items), *(Note(number, reason) for reason, number in reasons.items()))


def unscored(blocks: Iterable[Block], any_fewer: bool) -> Note:
    """Return the footnote of `UNSCORED` without names, empty without the mark. any_fewer: whether row counts differ."""
    used = any(UNSCORED in cell.marks for block in blocks for line in block.lines for cell in line.cells)
    return Note(UNSCORED, _without_a_score("rows", any_fewer) if used else "")


def _without_a_score(units: str, any_fewer: bool, ends: str = "") -> str:
    return (sentence_templates.UNSCORED_MOVE + ends + (sentence_templates.FEWER_SCORED if any_fewer else "")).format(
        units=units
    )


_EXCEPTIONS = 4  # values that the sentence about all values names


def level_of_all(shown: Iterable[tuple[Result, Column]]) -> str:
    """Return one sentence in place of the marks `LEVEL` of a table where nearly all values of metrics have it, else "".

    shown: the columns of the table. Nearly all are three of four, and at most four values without; at least four values
    have it. Columns without a test are named.
    """
    columns = list(shown)
    if any(result.significance is None for result, _ in columns):
        return ""
    flagged, better = 0, []
    for result, column in columns:
        if not untested([(result, column)]):
            for row in metrics_of(result):
                if _controls_of(row, column):
                    flagged += 1
                elif value_of(row, column).value is not None:
                    better.append(f"{plain(row.metric)} ({plain(column.label)}, {place_of(result.data)})")
    if flagged < _EXCEPTIONS or len(better) > min(_EXCEPTIONS, flagged / 3):
        return ""
    but = f", but for {listed(better)}" if better else ""
    return sentence_templates.LEVEL_OF_ALL.format(but=but, untested=untested(columns))


def _controls_of(row: Row, column: Column) -> list[str]:
    """Return the controls that a metric is not significantly better than; empty for a control."""
    return row.not_above.get(column.key, []) if row.kind == "metric" else []


def _is_visible(ends: tuple[float, float] | None, value: Value, column: Column) -> bool:
    """Return whether the ends of a span are printed differently from the value."""
    return ends is not None and any(format_value(end, column) != format_value(value.value, column) for end in ends)


def _items(rows: Sequence[Row], texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((plain(row.metric), text) for row, text in zip(rows, texts, strict=True) if text)


def _controls_not_beaten(row: Row, columns: Sequence[Column]) -> str:
    labels_by_controls = grouped(
        (", ".join(map(plain, _controls_of(row, column))), plain(column.label)) for column in columns
    )
    return "; ".join(f"{', '.join(labels)} ({names})" for names, labels in labels_by_controls.items() if names)


def _unscored(row: Row, columns: Sequence[Column], fewer: Mapping[str, str]) -> str:
    """Return, as text, how many rows a metric scored if others scored more, then what unscored rows could change."""
    marked = row.kind == "metric" and any(value_of(row, column).value is not None for column in columns)
    counts = fewer.get(row.metric, "") if marked else ""
    return "; ".join(filter(None, (counts, _ranges(row, columns, "bounds"))))


def _ranges(row: Row, columns: Sequence[Column], kind: str) -> str:
    values = [(column, value_of(row, column)) for column in columns]
    spans = [
        (column, getattr(value, kind)) for column, value in values if _is_visible(getattr(value, kind), value, column)
    ]
    return ", ".join(f"{plain(column.label)} {span(ends, column)}" for column, ends in spans)


def asides(row: Row, column: Column) -> tuple[str, ...]:
    """Return the values in brackets of a metric's cell: the most that its ties allow, the published one; () if none."""
    return tuple(aside for aside in (_ceiling(row, column), _published(row, column)) if aside)


def _aside_notes(result: Result) -> tuple[Note, Note]:
    """Return the notes on the values in brackets, one on ceilings and one on published values, each with an example."""
    cells = [(row, column) for row in result.rows for column in result.columns]
    ceiling = next(filter(None, (_ceiling(row, column) for row, column in cells)), "")
    published = next(filter(None, (_published(row, column) for row, column in cells)), "")
    source = f" ({plain(result.published)})" if result.published else ""
    elsewhere = plain(result.published_elsewhere)
    note = sentence_templates.PUBLISHED_ELSEWHERE_NOTE if elsewhere else sentence_templates.PUBLISHED_NOTE
    return (
        Note("ceiling", sentence_templates.CEILING_NOTE.format(aside=ceiling) if ceiling else ""),
        Note("published", note.format(aside=published, source=source, elsewhere=elsewhere) if published else ""),
    )


def _ceiling(row: Row, column: Column) -> str:
    value = value_of(row, column)
    if row.kind == "control" or value.value is None or value.ceiling is None:
        return ""
    ceiling = format_value(value.ceiling, column)
    if value.ceiling <= 0 or ceiling == format_value(1.0, column):
        return ""
    percent = round(100 * value.value / value.ceiling)
    # The share is 100 only where the two numbers print alike.
    if percent >= 100 and format_value(value.value, column) != ceiling:
        percent = 99 if value.value < value.ceiling else 101
    return sentence_templates.CEILING.format(percent=percent, ceiling=short(ceiling))


def _published(row: Row, column: Column) -> str:
    value = value_of(row, column)
    if row.kind == "control" or value.published is None:
        return ""
    return sentence_templates.PUBLISHED.format(value=short(format_value(value.published, column)))


_NAMED = 3  # of more metrics with the same row counts, "all others" stands in place of the names


def footer(result: Result) -> tuple[Note, ...]:
    """Return the footer of a result's table: its notes in reading order, without empty ones."""
    rows = in_blocks(result.rows)
    names_by_note = _names_by_text((note, row) for row in rows for note in row.notes)
    names_by_warning = _names_by_text((warning, row) for row in rows for warning in row.warnings)
    ceiling, published = _aside_notes(result)
    warnings = tuple(
        ("all" if len(names) == len(rows) > 1 else ", ".join(names), text) for text, names in names_by_warning.items()
    )
    notes = (
        *of_data(result.data, result.settings),
        _row_counts(rows, plural(result.unit)),
        Note("uncertainty", uncertainty(result)),
        Note("few groups", few_groups(result)),
        ceiling,
        # Kind by kind: continuous Spearman 0.899, Kendall 0.763; binary Spearman 0.962.
        Note("perfect metric", "; ".join(map(" ".join, values_by_kind(result.ceilings, result.columns)))),
        _perfect_detector(result),
        published,
        significance_note(result),
        Note("truncation", "", _truncation(rows, plural(result.unit))),
        Note("left out", _listed_counts(result.data.dropped)),
        Note("evidence", _listed_counts(result.data.evidence)),
        Note("notes", "", tuple((", ".join(names), text) for text, names in names_by_note.items())),
        Note("warnings", "", warnings),
    )
    return tuple(note for note in notes if note.text or note.items)


def of_data(data: Data, settings: Mapping[str, str]) -> tuple[Note, Note]:
    """Return the footer's notes on the data and on the settings."""
    chosen = ", ".join(f"{plain(name)} {plain(value)}" for name, value in sorted(settings.items()))
    return Note("data", _data_counts(data)), Note("settings", chosen)


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
    kinds = dict.fromkeys(kind for column in columns for kind in values_of.get(column.key, {}))
    values = {
        kind: [(column, values_of[column.key][kind]) for column in columns if kind in values_of.get(column.key, {})]
        for kind in kinds
    }
    return tuple(
        (plain(kind), ", ".join(f"{plain(column.label)} {format_value(value, column)}" for column, value in of))
        for kind, of in values.items()
    )


def _perfect_detector(result: Result) -> Note:
    """Return the note on the values of perfect detectors, and why a detector of full support is below the maximum."""
    perfect = result.perfect
    if perfect is None or not perfect.values:
        return Note("perfect detector", "")
    why = sentence_templates.PARTS_AT_FULL if perfect.incomplete else sentence_templates.LEVELS_ALIKE
    text = sentence_templates.PERFECT_DETECTOR.format(why=why.format(perfect=perfect, units=plural(result.unit)))
    return Note("perfect detector", text, values_by_kind(perfect.values, result.columns))


def _data_counts(data: Data) -> str:
    nouns = ("statement", "citation", "document", "group")
    counts = [count(number, noun) for noun in nouns if (number := getattr(data, f"{noun}s"))]
    # A saved result has its keys in alphabetical order; the scale's own order is the one to read.
    names = [name for name in LEVELS if name in data.levels]
    names += sorted(set(data.levels) - set(LEVELS), key=_level_order)
    levels = " / ".join(f"{plain(name)} {data.levels[name]:,}" for name in names)
    return "; ".join(filter(None, (f"{place_of(data)}: {', '.join(counts)}", f"levels {levels}" if levels else "")))


def _level_order(name: str) -> tuple[float, str]:
    """Return a sort key: graded levels from the highest number down, other names after them."""
    try:
        return -float(name), name
    except ValueError:
        return float("inf"), name


def _row_counts(rows: Sequence[Row], units: str) -> Note:
    """Return the note on the number of rows: one count for all metrics, or one for each group that shares it."""
    names_by_counts = _names_by_text((_counts_of(row), row) for row in rows)
    if len(names_by_counts) == 1:
        return Note(units, next(iter(names_by_counts)))
    largest = max(names_by_counts.values(), key=len, default=[])
    label = "all others" if len(largest) > _NAMED else ", ".join(largest)
    items = [(label if names is largest else ", ".join(names), text) for text, names in names_by_counts.items()]
    return Note(units, "", tuple(sorted(items, key=lambda item: item[0] == "all others")))


def _counts_of(row: Row) -> str:
    excluded = sum(row.excluded.values())
    return sentence_templates.ROW_COUNTS.format(
        row=row, excluded=excluded, statuses=_in_brackets(row.statuses), reasons=_in_brackets(row.excluded)
    )


def _in_brackets(counts: Mapping[str, int]) -> str:
    reasons = [name for name, number in counts.items() if number]
    text = plain(reasons[0]) if len(reasons) == 1 else _listed_counts(counts)
    return f" ({text})" if text else ""


def _listed_counts(counts: Mapping[str, int]) -> str:
    """Return the counts that are not zero as text, largest first."""
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number:,} {plain(name)}" for name, number in order if number)


def _truncation(rows: Sequence[Row], units: str) -> tuple[tuple[str, str], ...]:
    items = []
    for row in rows:
        ledger = row.ledger
        if ledger is not None and (ledger.cut_tokens or ledger.cut_pairs):
            tokens, pairs = share(ledger.cut_tokens, ledger.tokens), share(ledger.cut_pairs, ledger.pairs)
            items.append(
                (plain(row.metric), sentence_templates.TRUNCATION.format(tokens=tokens, pairs=pairs, units=units))
            )
    return tuple(items)


def _names_by_text(texts: Iterable[tuple[str, Row]]) -> dict[str, list[str]]:
    """Return the names of the rows for each distinct text, so that a text shared by many rows is printed once."""
    return grouped((plain(text), plain(row.metric)) for text, row in texts)


_PAIRWISE = 6  # of more metrics the pairs are too many for a note, and the ranks are listed


def settings(tested: Significance) -> str:
    """Return, as text, the test of pairs, how p is adjusted (also against controls), and alpha."""
    family = "suite (all tables of the data set)" if tested.family == "suite" else tested.family
    tests = count(tested.tests, "test") if tested.tests else ""
    adjusted = sentence_templates.HOLM.format(tests=tests, family=family) if tests else "Holm"
    if tested.controls:
        adjusted = sentence_templates.WITH_CONTROLS.format(holm=adjusted)
    return sentence_templates.TEST.format(tested=tested, adjusted=adjusted)


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
    if not used:
        return ""
    return sentence_templates.SHARED_LETTER + (
        sentence_templates.RUN_OF_LETTERS if any("-" in mark for mark in used) else ""
    )


def rank_interval(row: Row, column: Column) -> str:
    """Return the confidence interval of a metric's rank as text, "2-4" or "1"; "" where it is not known."""
    low, high = row.ranks.get(column.key, (0, 0))
    return f"{low}-{high}" if low < high else str(low or "")


def significance_note(result: Result) -> Note:
    """Return the note on the tests: p for two metrics, the different pairs for a few, the ranks for many."""
    tested, metrics = result.significance, metrics_of(result)
    if tested is None or not tested.comparisons:
        return Note("significance", "")
    shared = shared_letter(filter(None, (letters(row, column) for row in metrics for column in result.columns)))
    text = f"{shared} ({settings(tested)})" if shared else settings(tested)
    if len(metrics) > _PAIRWISE:
        text += f"; {sentence_templates.RANKS.format(level=100 * (1 - tested.alpha))}"
    items = []
    for column in result.columns:
        pairs = [comparison for comparison in tested.comparisons if comparison.measure == column.key]
        if not pairs:
            continue
        if len(metrics) == 2:
            outcome = f"p {format_p(pairs[0].holm)}" if pairs[0].holm is not None else ""
        elif len(metrics) <= _PAIRWISE:
            outcome = _pairs_that_differ(pairs, tested.alpha)
        else:
            outcome = "; ".join(f"{ranks} {', '.join(names)}" for ranks, names in in_ranks(result, column).items())
        if outcome:
            items.append((plain(column.label), outcome + _untested_pairs(pairs)))
    return Note("significance", text, tuple(items))


def in_ranks(result: Result, column: Column) -> dict[str, list[str]]:
    """Return the names of the metrics by the interval of their rank as text ("2-4"), the best rank first."""
    ranked = [row for row in metrics_of(result) if column.key in row.ranks]
    order = sorted(ranked, key=lambda row: (row.ranks[column.key], -(value_of(row, column).value or 0.0)))
    return grouped((rank_interval(row, column), plain(row.metric)) for row in order)


def _pairs_that_differ(pairs: Sequence[Comparison], alpha: float) -> str:
    """Return as text, for each better metric, all that are significantly worse: a > b, c; b > c."""
    led = grouped(
        (plain(pair.one), plain(pair.other)) if pair.difference > 0 else (plain(pair.other), plain(pair.one))
        for pair in pairs
        if pair.difference and differs(pair, alpha)
    )
    # Who leads most stands first; metrics that lead equally many keep the table's order.
    order = sorted(led.items(), key=lambda item: -len(item[1]))
    return "; ".join(f"{better} > {', '.join(worse)}" for better, worse in order) or sentence_templates.NO_PAIR_DIFFERS


def _untested_pairs(pairs: Sequence[Comparison]) -> str:
    missing = [pair for pair in pairs if pair.holm is None]
    notes = ", ".join(dict.fromkeys(plain(pair.note) for pair in missing if pair.note))
    fields = {"missing": len(missing), "pairs": len(pairs), "reasons": f": {notes}" if notes else ""}
    return sentence_templates.PAIRS_NOT_TESTED.format(**fields) if missing else ""
