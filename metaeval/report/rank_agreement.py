"""How alike the protocols of a run rank its metrics: Kendall's tau of each pair of protocols, with an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from metaeval.report import table_notes
from metaeval.report.ranking_measures import Declarations, Headline, alpha_of, headlines, listed, metrics_of, pairs_of
from metaeval.report.result import Column, Result
from metaeval.report.result_tables import cell, units
from metaeval.report.table import Note, Table, TableRow, blocks_of, grouped, place_of, plain
from metaeval.stats.estimate import Estimate
from metaeval.stats.ranking import shared_order

_FEWEST = 3  # metrics: the ranks of two can only be the same or not
_TAU = Column(key="tau", label="Kendall tau-b", digits=2)
_FIELDS = (
    *("dataset", "split", "unit", "one", "measure_one", "other", "measure_other"),
    *("tau", "tau_low", "tau_high", "alike", "opposite", "pairs", "note"),
)


def rank_agreement(results: Sequence[Result], declarations: Declarations) -> list[Table]:
    """Return a table with a line for every two protocols: how alike their headline measures rank the metrics.

    Of several data sets, there is a block for each. No table without three metrics and two protocols on one data set.
    """
    by_set = grouped((place_of(result.data, units(result.unit)), result) for result in results)
    compared = [
        (name, *both)
        for name, same in by_set.items()
        for both in combinations(headlines(same, declarations), 2)
        if min(len(metrics_of(each.result)) for each in both) >= _FEWEST
    ]
    if not compared:
        return []
    agreed = [_agreement(*both) for _, *both in compared]
    reasons = table_notes.numbers(tau for tau, *_ in agreed)
    rows: list[TableRow] = []
    records = []
    for (name, *both), (tau, *counts) in zip(compared, agreed, strict=True):
        printed = cell(*tau.ends, _TAU, marks=(reasons[plain(tau.note)],) if tau.note else ())
        protocols = " and ".join(each.result.protocol for each in both)
        rows.append((name if len(by_set) > 1 else "", protocols, [printed, *map(str, counts)]))
        of, ranked_by = both[0].result, [text for each in both for text in (each.result.protocol, each.column.key)]
        fields = (of.data.name, of.data.split, of.unit, *ranked_by, *tau.ends, *counts, tau.note)
        records.append(dict(zip(_FIELDS, fields, strict=True)))
    text = f"Metrics are ranked by {listed(list(dict.fromkeys(each.label for _, *both in compared for each in both)))}."
    if any(tau.interval for tau, *_ in agreed):
        text += (
            " alike, opposite: pairs of metrics that tests order the same way, or in opposite ways, in both (p "
            f"Holm-adjusted); {100 * (1 - alpha_of(results[0])):g} % CI: the other pairs in every order."
        )
    table = Table(
        key=("rank-agreement", *by_set),
        title="Agreement of ranks across protocols",
        subtitle=next(iter(by_set)) if len(by_set) == 1 else "",
        headings=(_TAU.label, "alike", "opposite", "of pairs"),
        blocks=blocks_of(rows),
        footnotes=(Note("", text), *(Note(number, why) for why, number in reasons.items())),
        stub="protocols",
        name="rank-agreement",
        data=results[0].data,
        records=records,
    )
    return [table.noting(any(result.data.demo for result in results))]


def agreement_text(tables: Sequence[Table], most: int = 3) -> str:
    """Return the values of the table (or of none) in a line, of at most `most` pairs of protocols."""
    lines = [line for table in tables for line in table.lines]
    values = [
        f"{line.name} {' '.join(filter(None, (of.number, of.interval)))}" for line in lines for of in line.cells[:1]
    ]
    more = [f"{len(lines) - most} more: metaeval results show"] if len(lines) > most else []
    return f"Kendall tau-b of ranks: {'; '.join([*values[:most], *more])}" if values else ""


def _agreement(*both: Headline) -> tuple[Estimate, int, int, int]:
    """Return tau-b of the metrics with a value in both, and the numbers of pairs: alike, opposite, and all."""
    known = [{row.metric: shown.value(row).value or 0.0 for row in shown.metrics} for shown in both]
    names = [name for name in known[0] if name in known[1]]
    pairs = len(names) * (len(names) - 1) // 2
    if len(names) < _FEWEST:
        return Estimate(None, note=f"fewer than {_FEWEST} metrics have a value in both"), 0, 0, pairs
    values = [{name: of[name] for name in names} for of in known]
    first, other = (np.array([*of.values()], dtype=np.float64) for of in values)
    p = np.array([_p(shown, of) for shown, of in zip(both, values, strict=True)])
    return *shared_order(first, other, p, alpha_of(both[0].result)), pairs


def _p(shown: Headline, values: Mapping[str, float]) -> list[float]:
    """Return the p of each pair of metrics, NaN without a test; 1 where missing scores could reverse their order."""
    tests = {frozenset((test.one, test.other)): test for test in pairs_of(shown) if test.p is not None}
    p = []
    for pair in combinations(values, 2):
        test = tests.get(frozenset(pair))
        lead = (test.difference or 0.0) * (values[test.one] - values[test.other]) if test else 0.0
        p.append(math.nan if test is None else 1.0 if test.holm is None or lead <= 0 else test.p or 0.0)
    return p
