"""What each measure is a mean of: shares of citations, recall of statements, and a pipeline's recall and precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from metaeval.citation.readers.answers import writable
from metaeval.corpus.model import SupportLevel
from metaeval.errors import UserError, shown
from metaeval.labelling.claims import TITLES, Measure
from metaeval.labelling.items import Items
from metaeval.labelling.labels import Judged, Labels
from metaeval.stats.arrays import Floats, Ints, codes_of
from metaeval.stats.decisions import best_thresholds, decide
from metaeval.stats.prediction_powered import Sample

FULL, PARTIAL, NONE = SupportLevel.FULL, SupportLevel.PARTIAL, SupportLevel.NONE

SHARES: Mapping[str, tuple[str, tuple[SupportLevel, ...]]] = {
    "full": ("full support", (FULL,)),
    "partial": ("partial support", (PARTIAL,)),
    "none": ("no support", (NONE,)),
    "precision": ("precision (full or partial)", (FULL, PARTIAL)),
}
"""What is estimated of citations: its label, and the levels that count."""

RECALL = "recall"
LABELS: Mapping[str, str] = {
    **{name: label for name, (label, _) in SHARES.items()},
    RECALL: "recall (statements in full)",
    **{f"{name}-{measure}": f"{title} {measure}" for name, title in TITLES.items() for measure in get_args(Measure)},
}


@dataclass(frozen=True, eq=False)
class Side:
    """One file of answers with its labels and the scores of one metric."""

    items: Items
    labels: Labels
    judged: Judged
    score: Floats


@dataclass(frozen=True, eq=False)
class Rows:
    """What one measure is a mean of: labels of a sample of units of analysis, their scores and clusters.

    size: what each counts; None: all alike. settled: (K,) by cluster, what units that are known to be 0 count.
    """

    label: Floats
    score: Floats
    sample: Sample
    cluster: Ints
    metric_only: float | None
    size: Floats | None = None
    settled: Floats | None = None


def citation_rows(side: Side, three: bool) -> dict[str, Rows]:
    """Shares of citations by level, and recall where the labels tell it; three: some label is partial."""
    found, groups = side.judged, side.items.groups
    rows = {
        name: Rows(found.label(*levels), side.score, found.sample, groups, _metric_only(side, levels))
        for name, (_, levels) in SHARES.items()
        if three or name not in ("partial", "precision")
    }
    recall = _recall_rows(side)
    return {**rows, RECALL: recall} if recall else rows


def _metric_only(side: Side, levels: Sequence[SupportLevel]) -> float | None:
    """The share that the metric's decisions give, with the thresholds that fit the labels best; None for one label."""
    gold = np.rint(side.judged.level).astype(np.int64)
    if np.unique(gold).size < 2:
        return None
    if not side.labels.three:
        cuts = best_thresholds(side.score[side.judged.sample.rows], gold // 2, None, "macro-f1", 2)
        decided = 2 * decide(side.score, cuts)
    else:
        decided = decide(side.score, best_thresholds(side.score[side.judged.sample.rows], gold))
    return float(np.isin(decided, [int(one) for one in levels]).mean())


def _recall_rows(side: Side) -> Rows | None:
    """Statements of which some citation is full; a statement without a citation is not. None where labels cannot say.

    A statement is labelled where all its citations are; their chance of that is known where whole answers were drawn,
    or where every statement has one citation.
    """
    items, found = side.items, side.judged
    statement = codes_of([row.statement_id for row in items.rows])
    n = int(statement.max()) + 1
    size = np.bincount(statement, minlength=n)
    if found.unit == "item" and int(size.max()) > 1:
        return None
    held = np.bincount(statement[found.sample.rows], minlength=n)
    whole = np.flatnonzero(held == size)
    best = np.zeros(n)
    np.maximum.at(best, statement[found.sample.rows], found.label(FULL))
    score = np.full(n, -np.inf)
    np.maximum.at(score, statement, side.score)
    first = np.zeros(n, dtype=np.int64)
    first[statement[::-1]] = np.arange(statement.size)[::-1]
    place = np.full(statement.size, -1)
    place[found.sample.rows] = np.arange(found.sample.size)
    own = place[first[whole]]
    unit = whole if found.unit == "item" else found.sample.unit[own]
    sample = Sample(whole, found.sample.probability[own], unit, found.sample.stratum[own])
    return Rows(best[whole], score, sample, items.groups[first], None, settled=_by_cluster(items, items.uncited))


def _by_cluster(items: Items, groups: Sequence[str], size: Floats | None = None) -> Floats:
    """(K,) the number of these groups in each cluster, or the sum of what they count."""
    code = {name: number for number, name in enumerate(items.clusters)}
    return np.bincount([code[one] for one in groups], size, len(code)).astype(np.float64)


def claim_rows(side: Side) -> dict[str, Rows]:
    """Recall and precision of the pipeline whose questions are the items; precision where no answer to one is missing.

    Both are means over answers of each answer's share, as the pipeline's own, so that a claim counts by how many its
    answer has. Claims that nothing is asked of are settled: their marks point at no passage, or they have none.
    Raises `UserError` where no claim's recall is told.
    """
    items, sample = side.items, side.judged.sample
    claims = items.claims
    if claims is None:
        return {}
    full = side.judged.label(FULL) > 0.5
    place = {int(row): number for number, row in enumerate(sample.rows)}
    drawn = [[place[row] for row in one.items.values() if row in place] for one in claims.claims]
    groups = [writable(one.answer.group or one.answer.id) for one in claims.claims]
    cluster = {name: number for number, name in enumerate(items.clusters)}

    def people(item: int) -> bool | None:
        return bool(full[place[item]]) if item in place else None

    gold = full.astype(np.int64)
    cut = best_thresholds(side.score[sample.rows], gold, None, "macro-f1", 2)[0] if np.ptp(gold) else None
    found = {}
    for measure in get_args(Measure):
        size = claims.sizes(measure)
        rows = [number for number, one in enumerate(claims.claims) if one.items and size[number] > 0]
        value = [claims.claims[row].value(measure, people, claims.untitled) if drawn[row] else None for row in rows]
        known = [number for number, one in enumerate(value) if one is not None]
        heard = sum(bool(drawn[row]) for row in rows)
        if not known or (measure == "precision" and len(known) < heard):
            continue
        own = np.array([drawn[rows[number]][0] for number in known])
        unit = sample.unit[own]
        chance = sample.probability[own] * (len(known) / heard)
        by_metric = None
        if cut is not None:
            says = (side.score >= cut).tolist()
            decided = [claims.claims[row].value(measure, says.__getitem__, claims.untitled) or 0.0 for row in rows]
            by_metric = float(size[rows] @ np.array(decided) / size.sum())
        settled = [row for row in np.flatnonzero(size > 0).tolist() if not claims.claims[row].items]
        found[f"{claims.pipeline}-{measure}"] = Rows(
            np.array([value[number] for number in known], dtype=np.float64),
            np.array([claims.claims[row].degree(measure, side.score, claims.untitled) for row in rows]),
            Sample(np.array(known), chance, unit, sample.stratum[own]),
            np.array([cluster[groups[row]] for row in rows]),
            by_metric,
            size[rows],
            _by_cluster(items, [groups[row] for row in settled], size[settled]),
        )
    if not found:
        several = next(one.names[0] for one in claims.claims if len(one.names) > 1)
        raise UserError(
            f"{side.labels.name} labels no claim with all its passages together, which recall takes: label these items "
            f"too (for example {shown(several)})."
        )
    return found
