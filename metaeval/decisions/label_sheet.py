"""Which items to label: drawn by a design whose probabilities are kept, and written as a sheet of questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.jsonl import LEVELS
from metaeval.decisions.items import Items
from metaeval.decisions.labels import FIELDS, Drawn, DrawnUnit, Labels, judged
from metaeval.decisions.scores import filled, scored
from metaeval.errors import UserError, unknown
from metaeval.explorer import explorer_page
from metaeval.files import write_text
from metaeval.own_tables import WRITTEN, write_table
from metaeval.runs.metrics import MetricProgress
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.prediction_powered import draw_in_proportion, draw_simple, draw_stratified

Design = Literal["random", "stratified", "uncertain"]

_PER_STRATUM = 10
_MOST_STRATA = 5
_LEAST = 0.2
"""Size of the items of which a metric is surest, where that of the others is up to 1: no item is left out."""


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
    if unit not in get_args(DrawnUnit):
        raise unknown("unit", unit, get_args(DrawnUnit))
    if unit == "answer" and (design != "random" or besides):
        raise UserError("Whole answers are drawn at random, at once: use --design random, or --unit item.")
    if items.claims and (design != "random" or besides):
        raise UserError("Claims are drawn at random, at once, with all that is asked of each: use --design random.")
    free = np.array([number for number, row in enumerate(items.rows) if not besides or row.id not in besides.levels])
    if not 2 <= n <= free.size:
        raise UserError(f"-n is {n}; allowed: 2 to {free.size:,}, the citations of {items.name} without a label.")
    if besides and besides.probability and len(set(besides.probability.values())) > 1:
        raise UserError(
            f"{besides.name} was drawn with unequal probabilities: more items can be added to a random draw only."
        )
    strata, score = [""] * free.size, np.zeros(len(items.rows))
    if unit == "answer" or items.claims:
        rows, chance = _whole(items.groups if unit == "answer" else items.singles, n, seed)
    elif design == "random":
        rows, chance = draw_simple(free.size, n, seed), np.full(free.size, n / free.size)
    else:
        run = (config or RunConfig()).model_copy(update={"metrics": (metric,)})
        (column,) = scored(items, run, progress)
        score = filled(column)
        rank = _ranks(score[free])
        if design == "stratified":
            many = int(np.clip(n // _PER_STRATUM, 1, _MOST_STRATA))
            stratum = np.minimum((rank * many).astype(np.int64), many - 1)
            strata = [f"score {number + 1} of {many}" for number in stratum]
            rows, chance = draw_stratified(stratum, n, seed)
        else:
            rows, chance = draw_in_proportion(uncertain_sizes(score[free]), n, seed)
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
        strata, unit = [""] * free.size, judged(items, besides).unit  # whole answers keep a variance over answers
    return Drawn(items, free[rows], chance[rows], [strata[row] for row in rows], cast(DrawnUnit, unit), known)


def _ranks(score: Floats) -> Floats:
    """Ranks from 0 to 1, ties in order."""
    return np.argsort(np.argsort(score, kind="stable"), kind="stable") / max(score.size - 1, 1)


def uncertain_sizes(score: Floats) -> Floats:
    """What the probabilities of the design "uncertain" are in proportion to, (N,): 1 in the middle of the scores."""
    return np.asarray(_LEAST + (1 - _LEAST) * (1 - np.abs(2 * _ranks(score) - 1)))


def _whole(of: Ints, n: int, seed: int) -> tuple[Ints, Floats]:
    """Whole answers, or claims, that hold about n items; of: (N,) codes of these."""
    sizes = np.bincount(of)
    many = int(np.clip(round(n / sizes.mean()), 2, sizes.size))
    chosen = draw_simple(sizes.size, many, seed)
    rows = np.concatenate([np.flatnonzero(of == one) for one in chosen]).astype(np.int64)
    return rows, np.full(of.size, many / sizes.size)


PAGE = ".html"
"""The ending of a page on which citations are labelled, in a browser and without a network."""


def _panel(drawn: Drawn) -> dict[str, Any]:
    """What the page shows: neither scores nor systems, and how each item was drawn for the file that it saves."""
    items = [
        {
            **{"id": one["id"], "statementId": drawn.items.rows[place].statement_id, "statement": one["statement"]},
            **{"group": one["answer"], "sourceId": one["id"], "source": one["passage"]},
            "design": {name: one[name] for name in ("probability", "stratum", "unit")},
        }
        for place, one in zip(drawn.rows, drawn.records, strict=True)
    ]
    return {"name": drawn.items.name, "items": items}


def check_output(path: Path) -> None:
    """Refuse a file of another kind, and one that is there: it may hold labels."""
    if path.suffix.lower() not in (*WRITTEN, PAGE):
        raise UserError(f"-o is {path}; allowed: a file that ends in {', '.join((*WRITTEN, PAGE))}.")
    if path.exists():
        raise UserError(f"{path} is there already and may hold labels: give another name.")


def write_questions(drawn: Drawn, path: Path, besides: Labels | None = None) -> None:
    """Write the questions as CSV, TSV, XLSX, JSON lines or a page (.html), whole or not at all; never over a file.

    besides: labels that there are already, which are written above with the probabilities of both draws.
    """
    check_output(path)
    if path.suffix.lower() == PAGE:
        if besides:
            raise UserError(f"Labels that there are already go into a table: give {path.with_suffix('.csv')}.")
        write_text(path, explorer_page(f"Labels of {drawn.items.name}", {"items": _panel(drawn)}, "label"))
        return
    records = [*(drawn.records_besides(besides) if besides else []), *drawn.records]
    names = [*FIELDS, *(["annotator"] if any("annotator" in record for record in records) else [])]
    write_table(path, names, [[record.get(name, "") for name in names] for record in records], {"level": list(LEVELS)})
