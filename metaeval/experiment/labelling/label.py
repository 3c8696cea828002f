"""Which items to label: drawn by a design whose probabilities are kept, and written as a sheet of questions."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.model import SupportLevel
from metaeval.errors import UserError, unknown
from metaeval.experiment.labelling.items import Items, filled, scored
from metaeval.experiment.labelling.labels import Labels, Unit
from metaeval.experiment.metrics import MetricProgress
from metaeval.files import atomic_write, csv_text, write_text
from metaeval.shown import visible
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.sampling import draw_in_proportion, draw_simple, draw_stratified

Design = Literal["random", "stratified", "uncertain"]

FIELDS = ("id", "answer", "statement", "passage", "level", "probability", "stratum", "unit")
"""The columns of a sheet of questions. Neither scores nor systems: who judges is blind to both."""

ENDINGS = (".csv", ".tsv", ".xlsx", ".jsonl")

_PER_STRATUM = 10
_MOST_STRATA = 5
_LEAST = 0.2
"""Size of the items of which a metric is surest, where that of the others is up to 1: no item is left out."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Drawn items, in the order in which they are to be judged.

    rows: (n,) places among the items. probability, stratum: (n,) of each, stratum empty where there is none. known: the
    probability of each item that has a label already, of this draw and the one before together.
    """

    items: Items
    rows: Ints
    probability: Floats
    stratum: Sequence[str]
    unit: Unit
    known: Mapping[str, float] = field(default_factory=dict)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The questions, one mapping an item, with the level left blank."""
        found = []
        for place, chance, stratum in zip(self.rows, self.probability, self.stratum, strict=True):
            row = self.items.rows[place]
            asked = {"id": row.id, "answer": row.group, "statement": row.statement, "passage": row.source, "level": ""}
            found.append({**asked, "probability": float(chance), "stratum": stratum, "unit": self.unit})
        return found


def draw(
    items: Items,
    n: int,
    design: str = "random",
    unit: str = "item",
    metric: str = "overlap",
    seed: int = 0,
    besides: Labels | None = None,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
) -> Drawn:
    """Draw n items to label (with unit answer: whole answers that hold about n).

    random: all alike. stratified: in proportion from up to five strata of the metric's scores. uncertain: more of the
    middle of the metric's scores than of the ends. besides: labels that there are already, drawn at random; the items
    are drawn from the others, and probabilities are those of both draws together.

    Raises `UserError` for an unknown design, for n that cannot be drawn, and for whole answers by another design.
    """
    if design not in get_args(Design):
        raise unknown("design", design, get_args(Design))
    if unit not in get_args(Unit):
        raise unknown("unit", unit, get_args(Unit))
    if unit == "answer" and (design != "random" or besides):
        raise UserError("Whole answers are drawn at random, at once: use --design random, or --unit item.")
    free = np.array([number for number, row in enumerate(items.rows) if not besides or row.id not in besides.levels])
    if not 2 <= n <= free.size:
        raise UserError(f"-n is {n}; allowed: 2 to {free.size:,}, the citations of {items.name} without a label.")
    if besides and besides.probability and len(set(besides.probability.values())) > 1:
        raise UserError(
            f"{besides.name} was drawn with unequal probabilities: more items can be added to a random draw only."
        )
    strata, score = [""] * free.size, np.zeros(len(items.rows))
    if unit == "answer":
        rows, chance = _whole_answers(items, n, seed)
    elif design == "random":
        rows, chance = draw_simple(free.size, n, seed), np.full(free.size, n / free.size)
    else:
        run = (config or RunConfig()).model_copy(update={"metrics": (metric,)})
        (column,) = scored(items, run, progress)
        score = filled(column)
        rank = np.argsort(np.argsort(score[free], kind="stable"), kind="stable") / max(free.size - 1, 1)
        if design == "stratified":
            many = int(np.clip(n // _PER_STRATUM, 1, _MOST_STRATA))
            stratum = np.minimum((rank * many).astype(np.int64), many - 1)
            strata = [f"score {number + 1} of {many}" for number in stratum]
            rows, chance = draw_stratified(stratum, n, seed)
        else:
            rows, chance = draw_in_proportion(_LEAST + (1 - _LEAST) * (1 - np.abs(2 * rank - 1)), n, seed)
    known: dict[str, float] = {}
    if besides:
        # An item that has a label would have had the chance of the others with its score.
        before = len(besides.levels) / len(items.rows)
        chance = before + (1 - before) * chance
        order = np.argsort(score[free], kind="stable")
        own = [items.numbers[name] for name in besides.levels]
        known = dict(
            zip(besides.levels, np.interp(score[own], score[free][order], chance[order]).tolist(), strict=True)
        )
        strata = [""] * free.size
    return Drawn(items, free[rows], chance[rows], [strata[row] for row in rows], cast(Unit, unit), known)


def _whole_answers(items: Items, n: int, seed: int) -> tuple[Ints, Floats]:
    sizes = np.bincount(items.groups)
    many = int(np.clip(round(n / sizes.mean()), 2, sizes.size))
    chosen = draw_simple(sizes.size, many, seed)
    rows = np.concatenate([np.flatnonzero(items.groups == one) for one in chosen]).astype(np.int64)
    return rows, np.full(len(items.rows), many / sizes.size)


def check_output(path: Path) -> None:
    """Refuse a file of another kind, and one that is there: it may hold labels."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f"-o is {path}; allowed: a file that ends in {', '.join(ENDINGS)}.")
    if path.exists():
        raise UserError(f"{path} is there already and may hold labels: give another name.")


def write_questions(drawn: Drawn, path: Path, besides: Labels | None = None) -> None:
    """Write the questions as CSV, TSV, XLSX or JSON lines, whole or not at all; never over a file that is there.

    besides: labels that there are already, which are written above with the probabilities of both draws.
    """
    check_output(path)
    records = [*(_known(drawn, besides) if besides else []), *drawn.records]
    ending = path.suffix.lower()
    if ending == ".jsonl":
        write_text(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    elif ending == ".xlsx":
        _write_sheet(records, path)
    else:
        text = csv_text([FIELDS, *([record[name] for name in FIELDS] for record in records)])
        write_text(path, text if ending == ".csv" else _tabbed(records))


def _known(drawn: Drawn, besides: Labels) -> Iterator[dict[str, Any]]:
    """The rows of the labels that there are already."""
    for own, levels in besides.levels.items():
        item = drawn.items.rows[drawn.items.numbers[own]]
        level = SupportLevel(round(sum(levels) / len(levels))).label
        asked = {"id": own, "answer": item.group, "statement": item.statement, "passage": item.source, "level": level}
        yield {**asked, "probability": drawn.known[own], "stratum": "", "unit": drawn.unit}


def _tabbed(records: Sequence[dict[str, Any]]) -> str:
    lines = [FIELDS, *([record[name] for name in FIELDS] for record in records)]
    return "".join("\t".join(" ".join(visible(str(cell)).split()) for cell in line) + "\n" for line in lines)


_LONGEST_CELL = 32_767
_WIDTHS = {"id": 16, "answer": 16, "statement": 60, "passage": 90, "level": 10, "probability": 12, "stratum": 14}


def _write_sheet(records: Sequence[dict[str, Any]], path: Path) -> None:
    """A workbook whose texts are texts: no cell is a formula, and the level is chosen from a list."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
        from openpyxl.styles import Alignment, Font
        from openpyxl.worksheet.datavalidation import DataValidation
    except ImportError as error:
        raise UserError(
            "A .xlsx file needs openpyxl, not installed here: type \"pip install 'metaeval[xlsx]'\", or write .csv."
        ) from error
    book = Workbook()
    sheet = book.active
    sheet.title = "Labels"
    sheet.append(list(FIELDS))
    for number, record in enumerate(records, start=2):
        for place, name in enumerate(FIELDS, start=1):
            value = record[name]
            cell = sheet.cell(number, place)
            if isinstance(value, str):
                cell.value = ILLEGAL_CHARACTERS_RE.sub(" ", visible(value, keep="\t\n"))[:_LONGEST_CELL]
                cell.data_type = "s"
                cell.alignment = Alignment(wrap_text=True, vertical="top")
            else:
                cell.value = value
    for place, name in enumerate(FIELDS):
        sheet.cell(1, place + 1).font = Font(bold=True)
        sheet.column_dimensions["ABCDEFGH"[place]].width = _WIDTHS.get(name, 10)
    sheet.freeze_panes = "A2"
    choice = DataValidation(type="list", formula1='"full,partial,none"', allow_blank=True)
    choice.add(f"E2:E{len(records) + 1}")
    sheet.add_data_validation(choice)
    written = io.BytesIO()
    book.save(written)
    with atomic_write(path) as file:
        file.write(written.getvalue())
