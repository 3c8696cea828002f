"""Draw items to label by a design with known probabilities, and write them as a sheet of questions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, unknown
from metaeval.core.files import WRITTEN, write_table, write_text
from metaeval.decisions.citation_items import CitationItems
from metaeval.decisions.item_labels import Drawn, DrawnUnit, ItemLabels, labelled_sample
from metaeval.decisions.item_scores import filled, scored
from metaeval.explorer import explorer_page
from metaeval.runs.score import MetricProgress
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.prediction_powered import draw_in_proportion, draw_simple, draw_stratified

Design = Literal["random", "stratified", "uncertain"]

_PER_STRATUM = 10
_MOST_STRATA = 5
_LEAST = 0.2  # relative probability of the items with extreme scores, where items in the middle have 1


def draw(
    items: CitationItems,
    n: int,
    design: str = "random",
    unit: str = "item",
    metric: str = "overlap",
    seed: int = 0,
    existing: ItemLabels | None = None,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
) -> Drawn:
    """Draw n items to label (with unit answer, whole answers that hold about n; of items with claims, whole claims).

    Designs: random, with equal probabilities; stratified, in proportion, from up to five strata of the metric's scores;
    uncertain, more from the middle of the metric's scores than from the ends. existing: labels of an earlier random
    sample; the items are drawn from the others, and the probabilities are those of both draws together.

    Raises `UserError` for an unknown design, for n that cannot be drawn, and for whole answers by another design.
    """
    if design not in get_args(Design):
        raise unknown("design", design, get_args(Design))
    if unit not in get_args(DrawnUnit):
        raise unknown("unit", unit, get_args(DrawnUnit))
    if unit == "answer" and (design != "random" or existing):
        cure = "use --design random without --existing-labels, or --sampling-unit item"
        raise UserError(f"Whole answers are drawn at random and all at once: {cure}.")
    if items.claims and (design != "random" or existing):
        raise UserError("Claims can only be drawn at random and all at once: leave --existing-labels and --design out.")
    free = np.array([number for number, row in enumerate(items.rows) if not existing or row.id not in existing.levels])
    if not 2 <= n <= free.size:
        raise UserError(f"-n is {n}; allowed: 2 to {free.size:,}, the citations of {items.name} without a label.")
    if existing and existing.probability and len(set(existing.probability.values())) > 1:
        why = f"The labels in {existing.name} were drawn with unequal probabilities"
        raise UserError(f"{why}, and only a random draw can be extended: leave --existing-labels out.")
    strata, score = [""] * free.size, np.zeros(len(items.rows))
    if unit == "answer" or items.claims:
        rows, chance = _draw_whole(items.groups if unit == "answer" else items.singles, n, seed)
    elif design == "random":
        rows, chance = draw_simple(free.size, n, seed), np.full(free.size, n / free.size)
    else:
        run = (config or RunConfig()).with_metrics([metric])
        (column,) = scored(items, run, progress)
        score = filled(column)
        rank = _ranks(score[free])
        if design == "stratified":
            many = int(np.clip(n / _PER_STRATUM, 1, _MOST_STRATA))
            stratum = np.minimum((rank * many).astype(np.int64), many - 1)
            strata = [f"score {number + 1} of {many}" for number in stratum]
            rows, chance = draw_stratified(stratum, n, seed)
        else:
            rows, chance = draw_in_proportion(uncertain_sizes(score[free]), n, seed)
    known: dict[str, float] = {}
    if existing:
        # A labelled item would have had the probability of unlabelled items with its score.
        before = len(existing.levels) / len(items.rows)
        chance = before + (1 - before) * chance
        order = np.argsort(score[free], kind="stable")
        places = [items.numbers[name] for name in existing.levels]
        chances = np.interp(score[places], score[free][order], chance[order])
        known = dict(zip(existing.levels, chances.tolist(), strict=True))
        strata = [""] * free.size
        unit = labelled_sample(items, existing).unit  # whole answers keep a variance over answers
    return Drawn(items, free[rows], chance[rows], [strata[row] for row in rows], cast(DrawnUnit, unit), known)


def _ranks(score: Floats) -> Floats:
    """Return ranks from 0 (lowest score) to 1, (N,); tied scores are ranked in their order."""
    return np.argsort(np.argsort(score, kind="stable"), kind="stable") / (score.size - 1)


def uncertain_sizes(score: Floats) -> Floats:
    """Return the relative probabilities (N,) of the design "uncertain": 1 at the median score, 0.2 at either end."""
    return np.asarray(_LEAST + (1 - _LEAST) * (1 - np.abs(2 * _ranks(score) - 1)))


def _draw_whole(of: Ints, n: int, seed: int) -> tuple[Ints, Floats]:
    """Return the indices of the items in a random sample of whole answers, or claims, that hold about n items.

    Also return the probability of being drawn of every item, (N,). of: (N,) codes of the answers or claims.
    """
    sizes = np.bincount(of)
    many = int(np.clip(round(n / sizes.mean()), 2, sizes.size))
    chosen = draw_simple(sizes.size, many, seed)
    rows = np.concatenate([np.flatnonzero(of == code) for code in chosen]).astype(np.int64)
    return rows, np.full(of.size, many / sizes.size)


PAGE = ".html"  # the suffix of a page on which citations are labelled in a browser, without a network


def _panel(drawn: Drawn) -> dict[str, Any]:
    """Return the data of the labelling page: texts without scores and systems, and each item's sampling design."""
    items = []
    for place, record in zip(drawn.rows, drawn.records, strict=True):
        item = drawn.items.rows[place]
        # Texts stand without the marks of list items and headings at their beginning.
        context = {name: _BULLET.sub("", getattr(item, name)) for name in ("question", "before", "after")}
        texts = {"statement": _BULLET.sub("", record["statement"]), **context, "group": item.group}
        design = {name: record[name] for name in ("probability", "stratum", "unit")}
        source = {"sourceId": item.id, "source": record["passage"], "design": design}
        items.append({"id": item.id, "statementId": item.statement_id, **texts, **source})
    return {"name": drawn.items.name, "items": items, "form": list(drawn.form), "notes": list(drawn.items.notes)}


_BULLET = re.compile(r"^\s*(?:(?:[-*•‣◦–+]|#{1,6}|\d{1,2}[.)])\s+)+")


def check_output(path: Path) -> None:
    """Raise `UserError` for a file of an unknown type, and for an existing file, which may hold labels."""
    if path.suffix.lower() not in (*WRITTEN, PAGE):
        raise UserError(f"-o is {path}; allowed: a file that ends in {', '.join((*WRITTEN, PAGE))}.")
    if path.exists():
        raise UserError(f"{path} exists already and may hold labels: give another name with -o.")


def write_questions(drawn: Drawn, path: Path, existing: ItemLabels | None = None) -> None:
    """Write existing labels and the items to label as CSV, TSV, XLSX, JSON lines or a page (.html), atomically.

    Raises `UserError` as `check_output` does (never overwriting a file), and for existing labels in a page.
    """
    check_output(path)
    if path.suffix.lower() == PAGE:
        if existing:
            raise UserError(f"Existing labels can only be written into a table: give -o {path.with_suffix('.csv')}.")
        write_text(path, explorer_page(f"Labels of {drawn.items.name}", {"items": _panel(drawn)}, "label"))
        return
    records = [*(drawn.records_of_existing(existing) if existing else []), *drawn.records]
    names = [*drawn.fields, *(["annotator"] if any("annotator" in record for record in records) else [])]
    choices = {question["column"]: [choice["value"] for choice in question["choices"]] for question in drawn.form}
    write_table(path, names, [[record.get(name, "") for name in names] for record in records], choices)
