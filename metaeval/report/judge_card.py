"""A judge's card: agreement with people, rates of yes, the confusion matrix, and agreement with other judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from metaeval.report import table_notes
from metaeval.report.ranking_measures import LEVELS, Headline, metrics_of
from metaeval.report.result import Column, Result, Row
from metaeval.report.result_tables import measure_table, units
from metaeval.report.table import Cell, ColumnGroup, Note, Table, blocks_of, grouped, place_of, share, value_of

MATRIX = "matrix"
"""Name of the table of confusion matrices, whose cells a page shades by their share of the line."""

_CUTS = {"_full": "yes: full support", "_some": "yes: full or partial support", "": "as given"}
_RATES = {
    **{"kappa": "Kappa", "tpr": "TPR", "tnr": "TNR", "says": "yes: judge", "people": "yes: people"},
    **{"corrected": "yes: corrected", "ppi": "yes: PPI", "cost": "USD per 1,000"},
}
_SHOWN = 12  # judges, and pairs of judges


def judge_cards(result: Result, most: int = _SHOWN) -> list[Table]:
    """Return the tables of a result's judges: rates, confusion matrices, judges with each other; [] without judges.

    most: largest number of judges, and of pairs of them, that are shown.
    """
    rows = [row for row in metrics_of(result) if any(key.startswith("tpr") for key in row.values)]
    if not rows:
        return []
    pairs: dict[tuple[str, str], Row] = {}
    for row in rows:
        for key, found in row.values.items():
            kind, colon, other = key.partition(":")
            if colon and kind != "cell":
                pair = pairs.setdefault((row.metric, other), row.model_copy(update={"values": {}, "unscored": 0}))
                pairs[row.metric, other] = pair.model_copy(
                    update={"metric": f"{row.metric} – {other}", "values": {**pair.values, kind: found}}
                )
    text = ["TPR, TNR: share of people's yes and no that the judge repeats"]
    if any(key.startswith("ppi") for key in rows[0].values):
        text.append(
            "yes, corrected by TPR and TNR or by PPI: also of rows without a label, those with one their sample"
        )
    else:
        text.append("every row has a label: yes corrected by TPR and TNR is people's own, of rows with a verdict")
    for suffix, cut in _CUTS.items():
        if ceiling := rows[0].values.get(f"ceiling{suffix}"):
            low, value, high = (f"{end or 0:.3f}" for end in (ceiling.low, ceiling.value, ceiling.high))
            of = "an annotator against the majority of the others, or of two against the other"
            text.append(f"human ceiling{suffix and f' ({cut})'}: kappa {value} ({low} to {high}) of {of}")
    data = result.data
    counts = f"{place_of(data, units(result.unit))}: {sum(data.levels.values()):,}, {data.groups:,} groups"
    cards = [_measures(result, rows, _RATES, most, data.wording("Judges against human labels"), counts, text)]
    cards += _matrices(result, rows[:most])
    if pairs:
        labels = {"kappa": "Kappa", "equal": "equal verdicts"}
        where = "on the rows with both verdicts, labelled or not"
        cards.append(_measures(result, [*pairs.values()], labels, most, "Judges with each other", where, []))
    return cards


def _measures(
    result: Result,
    rows: Sequence[Row],
    labels: Mapping[str, str],
    most: int,
    title: str,
    subtitle: str,
    text: list[str],
) -> Table:
    """Return a table of the values of these keys, with a group of columns for each way of cutting levels in two."""
    cuts = [cut for cut in _CUTS if any(key.endswith(cut) for row in rows for key in row.values) and cut]
    columns = {
        cut: [
            Column(key=f"{key}{cut}", label=label, digits=2 if key == "cost" else 3)
            for key, label in labels.items()
            if any(
                f"{key}{cut}" in row.values and (cut or not cuts or row.values[key].value is not None) for row in rows
            )
        ]
        for cut in _CUTS
    }
    every, shown = [column for same in columns.values() for column in same], rows[:most]
    view = result.model_copy(update={"rows": shown, "columns": every})
    lines = [("", "metric", row.metric) for row in shown]
    table = measure_table([Headline(view, column) for column in every], lines, brief=True)
    plain_lines = [replace(line, cells=tuple(replace(cell, rank="") for cell in line.cells)) for line in table.lines]
    reasons = table_notes.numbers(value_of(row, column) for row in shown for column in every)
    against = f"_{result.settings.get('against')}"
    names = {**_CUTS, "": _CUTS.get(against, _CUTS[""] if cuts else "")}
    text = [table_notes.interval_text(result.interval), *text]
    more = f" {len(rows) - most} more: metaeval results export." if len(rows) > most else ""
    return replace(
        table,
        key=("card", title),
        title=title,
        subtitle=subtitle,
        groups=tuple(ColumnGroup(names[cut], len(same)) for cut, same in columns.items() if same and names[cut]),
        blocks=(replace(table.blocks[0], lines=tuple(plain_lines)),),
        legend="",
        footnotes=(
            Note("", f"{'; '.join(text)}.{more}"),
            *table_notes.footnotes(table.blocks, [view], reasons, spans=True),
        ),
        stub="judge",
    ).noting(result.data.demo)


def _matrices(result: Result, rows: Sequence[Row]) -> list[Table]:
    """Return the confusion matrices, a block for each judge; a table for each vocabulary of verdicts."""
    scale = dict(zip((2.0, 1.0, 0.0), LEVELS, strict=True))
    labels = scale if result.data.levels.keys() <= {*LEVELS} else {}
    lines = []
    for row in rows:
        counts = {}
        for key, found in row.values.items():
            if key.startswith("cell:") and found.value:
                people, judge = map(float, key.split(":")[1:])
                counts[people, judge] = round(found.value * row.scored)
        said = {judge for _, judge in counts}
        words = dict(sorted(((value, scale.get(value, f"{value:g}")) for value in said), reverse=True))
        if said <= {0.0, 1.0} or said <= {0.0, 2.0}:
            words = {max(*said, 1.0): "yes", 0.0: "no"}
        elif said <= scale.keys():
            words = scale
        for people in sorted({people for people, _ in counts}, reverse=True):
            numbers = [counts.get((people, judge), 0) for judge in words]
            cells = [Cell(f"{number:,}", asides=(share(number, sum(numbers)),)) for number in numbers]
            lines.append((tuple(words.values()), (row.metric, f"people {labels.get(people, f'{people:g}')}", cells)))
    return [
        Table(
            key=(MATRIX, *verdicts),
            title="Confusion matrices",
            subtitle="rows by people's label, and their share of the label",
            headings=tuple(f"judge {verdict}" for verdict in verdicts),
            blocks=blocks_of(same),
            stub="label",
            name=MATRIX,
        )
        for verdicts, same in grouped(lines).items()
    ]
