"""A judge's card: agreement with people, rates of yes, confusion matrix, and agreement with other judges and itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from metaeval.display_text import count
from metaeval.report import table_notes
from metaeval.report.ranking_measures import LEVELS, metrics_of
from metaeval.report.result import Column, Result, Row
from metaeval.report.result_tables import cell, units
from metaeval.report.table import (
    Block,
    Cell,
    ColumnGroup,
    Note,
    Table,
    TableRow,
    blocks_of,
    grouped,
    place_of,
    plain,
    share,
    short,
)
from metaeval.stats.estimate import Estimate

_RATES = {
    **{"kappa": "Kappa", "tpr": "TPR", "tnr": "TNR", "says": "yes: judge", "people": "yes: people"},
    **{"corrected": "yes: corrected", "ppi": "yes: PPI", "cost": "USD per 1,000"},
}
_CUTS = {"": "", "_full": "yes: full", "_some": "yes: full or partial"}
_SHOWN = 12  # judges, and pairs of judges


class Matrix(NamedTuple):
    """The confusion matrix of a judge: counts of people's labels (down) by verdicts (across), and rows without one."""

    judge: str
    labels: tuple[str, ...]
    verdicts: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    missing: int

    @property
    def drawn(self) -> list[tuple[str, list[tuple[str, str, str, int]]]]:
        """Each label with its cells as a page draws them: count, share of the label, share of all, per cent of shade."""
        total = sum(map(sum, self.counts))
        return [
            (label, [(f"{n:,}", share(n, sum(row)), share(n, total), round(100 * n / (sum(row) or 1))) for n in row])
            for label, row in zip(self.labels, self.counts, strict=True)
        ]


def matrix_of(row: Row, result: Result) -> Matrix:
    """Return the confusion matrix of a judge that has a card."""
    scale = {2.0: "full", 1.0: "partial", 0.0: "none"}
    keys = {key: tuple(map(float, key.split(":")[1:])) for key in row.values if key.startswith("cell:")}
    counts = {pair: round((row.values[key].value or 0.0) * row.scored) for key, pair in keys.items()}
    gold, said = (sorted({pair[side] for pair, n in counts.items() if n}, reverse=True) for side in (0, 1))
    named = scale if result.data.levels.keys() <= {*LEVELS} else {}
    words = {value: scale.get(value, f"{value:g}") for value in said}
    if {*said} <= {0.0, 1.0} or {*said} <= {0.0, 2.0}:
        words = {max(*said, 1.0): "yes", 0.0: "no"}
    elif {*said} <= scale.keys():
        words = scale
    table = tuple(tuple(counts.get((label, value), 0) for value in words) for label in gold)
    labels = tuple(named.get(label, f"{label:g}") for label in gold)
    return Matrix(plain(row.metric), labels, tuple(words.values()), table, row.unscored)


def matrices(result: Result) -> list[Matrix]:
    """Return the confusion matrices of the judges of a result; empty for results without cards."""
    return [matrix_of(row, result) for row in _judges(result)]


def _judges(result: Result) -> list[Row]:
    return [row for row in metrics_of(result) if any(key.startswith("cell:") for key in row.values)]


def judge_cards(result: Result, most: int = _SHOWN) -> list[Table]:
    """Return the tables of a result's judges: rates, confusion matrices, and judges with each other; [] without cards.

    most: largest number of judges, and of pairs of them, that are shown.
    """
    rows = _judges(result)
    suffixes = [suffix for suffix in _CUTS if any(f"tpr{suffix}" in row.values for row in rows)]
    if not suffixes:
        return []
    ranked = sorted(rows, key=lambda row: -(_value(row, f"kappa{suffixes[0]}").value or 0.0))
    left = f"{count(len(rows) - most, 'more judge')}: metaeval results show." if len(rows) > most else ""
    rows = [row for row in rows if row in ranked[:most]]
    tables = [_rates(result, rows, suffixes, left), *_counts(result, rows)]
    return [*tables, *_together(result, rows, suffixes, most)]


def _value(row: Row, key: str) -> Estimate:
    return row.values.get(key, Estimate(None))


def _cell(found: Estimate | None, reasons: dict[str, str], digits: int = 3) -> Cell:
    """Return a value as a card prints it; blank without one that was to be computed."""
    if found is None:
        return Cell()
    printed = cell(*found.ends, Column(key="", label="", digits=digits))
    reason = table_notes.reason_of(found)
    marks = (reasons.setdefault(reason, str(len(reasons) + 1)),) if reason else ()
    return Cell(short(printed.number), printed.ends and tuple(map(short, printed.ends)), marks=marks)


def _rates(result: Result, rows: Sequence[Row], suffixes: Sequence[str], left: str) -> Table:
    reasons: dict[str, str] = {}
    against = "" if len(suffixes) > 1 else result.settings.get("against", "")
    titles = {**_CUTS, "": _CUTS.get(f"_{against}", "")}
    keys = [key for key in _RATES if any(f"{key}{suffix}" in row.values for row in rows for suffix in (*suffixes, ""))]
    lines: list[TableRow] = []
    blank = [Cell()] * (len(keys) - 1)
    for suffix in suffixes:
        for row in rows:
            found = [row.values.get(key if key == "cost" else f"{key}{suffix}") for key in keys]
            if found[1] is not None:
                name = f"{plain(row.metric)} {table_notes.UNSCORED}" if row.unscored else row.metric
                cells = [_cell(one, reasons, 2 if key == "cost" else 3) for key, one in zip(keys, found, strict=True)]
                lines.append((titles[suffix], name, cells))
        if ceiling := next((row.values[f"ceiling{suffix}"] for row in rows if f"ceiling{suffix}" in row.values), None):
            lines.append((titles[suffix], "an annotator", [_cell(ceiling, reasons), *blank]))
    for row in rows if len(suffixes) > 1 else ():
        if row.values["kappa"].value is not None and len(matrix_of(row, result).verdicts) > 2:
            lines.append(("on three levels", row.metric, [_cell(row.values["kappa"], reasons), *blank]))
    missing = []
    for row in (row for row in rows if row.unscored):
        ends = {key: _value(row, key).bounds for suffix in suffixes for key in (f"tpr{suffix}", f"tnr{suffix}")}
        bounds = [
            f"{key.replace('_', ' ').upper()} {'..'.join(short(f'{end:.3f}') for end in both)}"
            for key, both in ends.items()
            if both
        ]
        lost = f"{plain(row.metric)} {row.unscored:,} of {row.scored + row.unscored:,}"
        missing.append(f"{lost} ({', '.join(bounds)} if all wrong..all right)" if bounds else lost)
    data, text = result.data, [table_notes.interval_text(result.interval)]
    text.append("TPR, TNR: share of people's yes and no that the judge repeats")
    more = f"{data.dropped.get('texts without a rating', 0):,}"
    text.append(
        f"yes of the judge, corrected (by TPR and TNR) and PPI: {more} rows without a label too, the others their sample"
        if "ppi" in keys
        else "all rows have labels, so that the rate corrected for TPR and TNR is people's own, of rows with a verdict"
    )
    if any(line[1] == "an annotator" for line in lines):
        text.append("an annotator: held against the majority of the others, or of two against the other")
    notes = [Note(table_notes.UNSCORED, f"rows without a verdict, left out: {'; '.join(missing)}")] if missing else []
    return Table(
        key=("card", data.name, data.split, result.unit),
        title=data.wording("Judges against human labels"),
        subtitle=", ".join((place_of(data, units(result.unit)), count(data.groups, "group"))),
        headings=tuple(_RATES[key] for key in keys),
        blocks=blocks_of(lines),
        footnotes=(
            Note("", f"{'; '.join(text)}."),
            *([Note("", left)] if left else []),
            *notes,
            *(Note(number, reason) for reason, number in reasons.items()),
        ),
        stub="judge",
        name="judge-card",
    ).noting(data.demo)


def _counts(result: Result, rows: Sequence[Row]) -> list[Table]:
    tables = []
    for (labels, verdicts), same in grouped(
        ((m.labels, m.verdicts), m) for m in (matrix_of(row, result) for row in rows)
    ).items():
        lines: list[TableRow] = []
        for matrix in same:
            cells = [Cell(n, asides=(of_label,)) for _, row in matrix.drawn for n, of_label, _, _ in row]
            lines.append(("", matrix.judge, [*cells, f"{matrix.missing:,}"]))
        tables.append(
            Table(
                key=("matrix", *labels, *verdicts),
                title="Confusion matrices",
                subtitle="numbers of rows, and their share of those with the same label",
                headings=(*(f"judge {verdict}" for _ in labels for verdict in verdicts), "no verdict"),
                groups=(*(ColumnGroup(f"people {label}", len(verdicts)) for label in labels), ColumnGroup("", 1)),
                blocks=blocks_of(lines),
                stub="judge",
            )
        )
    return tables


def _together(result: Result, rows: Sequence[Row], suffixes: Sequence[str], most: int) -> list[Table]:
    reasons: dict[str, str] = {}
    pairs: dict[tuple[str, str], dict[str, Estimate]] = {}
    repeats: dict[str, dict[str, Estimate]] = {}
    for row in rows:
        for key, found in row.values.items():
            kind, colon, other = key.partition(":")
            if colon and kind != "cell":
                pairs.setdefault((row.metric, other), {})[kind] = found
            elif key.startswith("repeats_"):
                repeats.setdefault(row.metric.rpartition("#")[0], {})[key.removeprefix("repeats_")] = found
    if not pairs:
        return []
    found = [
        key
        for key in (f"{kind}{suffix}" for suffix in _CUTS for kind in ("kappa", "equal"))
        if any(key in of for of in (*pairs.values(), *repeats.values()))
    ]
    names = {"kappa": "Kappa", "equal": "equal verdicts", "full": "at full", "some": "at some"}
    lines = [
        ("", f"{plain(one)} – {plain(other)}", [_cell(of.get(key), reasons) for key in found])
        for (one, other), of in [*pairs.items()][:most]
    ]
    lines += [
        ("repeats, mean over pairs", f"{plain(base)}#", [_cell(of.get(key), reasons) for key in found])
        for base, of in repeats.items()
    ]
    left = [Note("", f"{count(len(pairs) - most, 'more pair')}: metaeval results export.")] if len(pairs) > most else []
    return [
        Table(
            key=("together",),
            title="Judges with each other",
            subtitle="on the rows with both verdicts, labelled or not",
            headings=tuple(" ".join(names[part] for part in key.split("_")) for key in found),
            blocks=blocks_of(lines),
            footnotes=(*left, *(Note(number, reason) for reason, number in reasons.items())),
            stub="judges",
        )
    ]
