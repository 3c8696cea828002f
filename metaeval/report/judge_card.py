"""A judge's card: agreement with people, rates of yes, the confusion matrix, and agreement with other judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from metaeval.report import table_notes
from metaeval.report.ranking_measures import LEVELS, Headline, metrics_of
from metaeval.report.result import Column, Result, Row
from metaeval.report.result_tables import measure_table, units
from metaeval.report.table import (
    UNDEFINED,
    Block,
    Cell,
    ColumnGroup,
    Note,
    Table,
    TableLine,
    blocks_of,
    grouped,
    place_of,
    share,
    short,
    value_of,
)
from metaeval.stats.estimate import Estimate

MATRIX = "matrix"  # name of the table of confusion matrices, whose cells a page shades by their share of the line

_CUTS = {"_full": "yes: full", "_some": "yes: full or partial", "": ""}
_RATES = {
    **{"kappa": "Kappa", "tpr": "TPR", "tnr": "TNR", "says": "yes: judge", "people": "yes: people"},
    **{"corrected": "yes: corrected", "ppi": "yes: PPI", "cost": "USD per 1,000"},
}
_PAIRS = {"kappa": "Kappa", "equal": "equal verdicts"}
_SHOWN = 12  # judges, and pairs of judges


def judge_cards(result: Result, most: int = _SHOWN) -> list[Table]:
    """Return the tables of a result's judges: rates, confusion matrices, judges with each other; [] without judges.

    most: largest number of judges, and of pairs of them, that are shown.
    """
    rows = [row for row in metrics_of(result) if any(key.startswith("tpr") for key in row.values)]
    if not rows:
        return []
    pairs: dict[str, dict[str, Estimate]] = {}
    for row in rows:
        for kind, colon, other in (key.partition(":") for key in row.values):
            if colon and kind != "cell":
                pairs.setdefault(f"{row.metric} – {other}", {})[kind] = row.values[f"{kind}:{other}"]
    together = [rows[0].model_copy(update={"metric": name, "values": of, "unscored": 0}) for name, of in pairs.items()]
    text = ["TPR, TNR: share of people's yes and no that the judge repeats"]
    if any(key.startswith("ppi") for key in rows[0].values):
        text.append("yes corrected by them, or by PPI: also of rows without a label, those with one being their sample")
    else:
        text.append("yes corrected by them: what people say where every row has a label, of the rows with a verdict")
    for cut, name in _CUTS.items():
        if ceiling := rows[0].values.get(f"ceiling{cut}"):
            value, low, high = (UNDEFINED if end is None else short(f"{end:.3f}") for end in ceiling.ends)
            of = "of an annotator with the majority of the others, or of two with each other"
            text.append(f"human ceiling{name and f' ({name})'}: kappa {value} {low}–{high} {of}")
    text += [f"left out: {number:,} {why}" for why, number in rows[0].excluded.items()]
    others = [row for row in metrics_of(result) if row not in rows]
    text += [f"no card of {row.metric}: {row.values['accuracy'].note}" for row in others]
    where = f"{place_of(result.data, units(result.unit))}: {sum(result.data.levels.values()):,}"
    about = {"title": result.data.wording("Judges against human labels"), "subtitle": where}
    beside = {"title": "Judges with each other", "subtitle": "on the rows with both verdicts, labelled or not"}
    cards = [_measures(result, rows, _RATES, most, text, about), *_matrices(result, rows[:most])]
    return [*cards, _measures(result, together, _PAIRS, most, [], beside)] if pairs else cards


def _measures(
    result: Result, rows: Sequence[Row], labels: Mapping[str, str], most: int, text: list[str], about: Mapping[str, Any]
) -> Table:
    """Return a table of the values of these keys, with a group of columns for each way of cutting levels in two."""
    there = {key for row in rows for key in row.values}
    cuts = [cut for cut in _CUTS if {f"tpr{cut}", f"equal{cut}"} & there]  # kappa has a value of uncut levels too
    keys = [(key, cut) for cut in _CUTS for key in labels if f"{key}{cut}" in there and (cut in cuts or key == "cost")]
    columns = [Column(key=f"{key}{cut}", label=labels[key], digits=2 if key == "cost" else 3) for key, cut in keys]
    names, shown = {**_CUTS, "": _CUTS.get(f"_{result.settings.get('against')}", "")}, rows[:most]
    groups = [ColumnGroup(names[cut], number) for cut, number in Counter(cut for _, cut in keys).items()]
    view = result.model_copy(update={"rows": shown, "columns": columns})
    lines = [("", "metric", row.metric) for row in shown]
    table = measure_table([Headline(view, column) for column in columns], lines, brief=True)
    # The note stands below both ways of cutting, so that its names say which.
    names_of = (f"{labels[key]} at {cut[1:]}" if cut else labels[key] for key, cut in keys)
    apart = [column.model_copy(update={"label": name}) for column, name in zip(columns, names_of, strict=True)]
    noted = view.model_copy(update={"columns": apart})
    unranked = (TableLine(line.name, tuple(replace(cell, rank="") for cell in line.cells)) for line in table.lines)
    reasons = table_notes.numbers(value_of(row, column) for row in shown for column in columns)
    more = f" {len(rows) - most} more: metaeval results export." if len(rows) > most else ""
    legend = Note("", f"{'; '.join([table_notes.interval_text(result.interval, result.data.groups), *text])}.{more}")
    return replace(
        table,
        **{**about, "key": ("card", about["title"]), "stub": "judge", "legend": ""},
        groups=tuple(groups) if any(group.title for group in groups) else (),
        blocks=(Block("", tuple(unranked)),),
        footnotes=(legend, *table_notes.footnotes(table.blocks, [noted], reasons, spans=True)),
    ).noting(result.data.demo)


def _matrices(result: Result, rows: Sequence[Row]) -> list[Table]:
    """Return the confusion matrices, a block for each judge; a table for each vocabulary of verdicts."""
    scale = dict(zip((2.0, 1.0, 0.0), LEVELS, strict=True))
    lines = []
    for row in rows:
        shares = {key.partition(":")[2]: part.value or 0.0 for key, part in row.values.items() if key[:5] == "cell:"}
        cells = {tuple(map(float, key.split(":"))): round(part * row.scored) for key, part in shares.items()}
        people, judge = ({pair[side] for pair, number in cells.items() if number} for side in (0, 1))
        words = scale if judge <= scale.keys() else {value: f"{value:g}" for value in sorted(judge, reverse=True)}
        if judge <= {0.0, 1.0} or judge <= {0.0, 2.0}:
            words = {max(*judge, 1.0): "yes", 0.0: "no"}
        named = scale if people >= scale.keys() else {max(people): "yes", min(people): "no"} if len(people) == 2 else {}
        for label in sorted(people, reverse=True):
            numbers = [cells.get((label, verdict), 0) for verdict in words]
            printed = [Cell(f"{number:,}", asides=(share(number, sum(numbers)),)) for number in numbers]
            lines.append((tuple(words.values()), (row.metric, f"people {named.get(label, f'{label:g}')}", printed)))
    about = "numbers of rows, and their share of those with the label"
    table = Table(title="Confusion matrices", subtitle=about, stub="judge says", name=MATRIX)
    blocks = {words: blocks_of(same) for words, same in grouped(lines).items()}
    return [replace(table, key=(MATRIX, *words), headings=words, blocks=of) for words, of in blocks.items()]
