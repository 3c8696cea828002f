"""How judges rank systems: ranks, their agreement, pairs of systems that change order (flips), and the causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.citation.measures import Statistic, interval_of
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell
from metaeval.core.errors import count
from metaeval.report.result import Column
from metaeval.report.result_tables import cell
from metaeval.report.table import UNDEFINED, ColumnGroup, Note, Scalar, Table, plain
from metaeval.stats.agreement import pair_signs, rank_agreement
from metaeval.stats.arrays import Floats

if TYPE_CHECKING:
    from metaeval.citation.pipelines.cited import CitedTable

_TAU = Column(key="tau", label="Kendall tau-b", digits=2)
_COUNT = Column(key="flips", label="flips", digits=0)
_LEAD = Column(key="lead", label="", scale=100, digits=1)
_ADDS = Column(key="adds", label="", scale=100, digits=2)
_SHARE = Column(key="share", label="", scale=100, digits=0)
_SHOWN = 12
_EXPLAINED = 3
_CAUSES = 5


def ranking_sheets(cited: CitedTable, shared: Provenance) -> list[Table]:
    """Return the tables of ranks, their agreement, flips and causes; none for a single judge or system."""
    judges = cited.judges
    if len(judges) < 2 or len(cited.systems) < 2:
        return []
    common = [key for key in cited.ranked if all(key in each.measured for each in judges)]
    measured = {key: np.array([cited.replicates(each.measured[key]) for each in judges]) for key in common}
    values = {key: array for key, array in measured.items() if not np.isnan(array[:, :, 0]).all()}
    if not values:
        return []
    return [_ranks(cited, values, shared), _agreement(cited, values, shared), *_flips(cited, values, shared)]


def ranks(values: Floats) -> list[int | None]:
    """Return the rank of each system, 1 the best, from values (m,); ties share the better rank, NaN has none."""
    better = np.zeros(values.size, dtype=np.int64)
    signs = pair_signs(values[:, None])
    for (first, second), (sign,) in zip(combinations(range(values.size), 2), signs, strict=True):
        better[second] += sign > 0
        better[first] += sign < 0
    return [None if np.isnan(value) else 1 + int(above) for value, above in zip(values, better, strict=True)]


def _ranks(cited: CitedTable, values: Mapping[str, Floats], shared: Provenance) -> Table:
    columns = [
        (key, judge.name, ranks(of_judge[:, 0]))
        for key, of_measure in values.items()
        for judge, of_judge in zip(cited.judges, of_measure, strict=True)
    ]
    table = TableLines()
    for number, system in enumerate(cited.systems):
        places = (ranking[number] for *_, ranking in columns)
        table.add("", system, [UNDEFINED if place is None else str(place) for place in places])
    for key, judge, ranking in columns:
        line = {"backend": judge, "measure": key}
        ranked = zip(cited.systems, ranking, strict=True)
        table.records.extend({"system": system, **line, "rank": rank} for system, rank in ranked)
    groups = tuple(ColumnGroup(cited.ranked[key][0], len(cited.judges)) for key in values)
    headings = ("system", *(plain(judge) for _, judge, _ in columns))
    return shared.lines("rankings", "Ranks of the systems under each backend", headings, table, groups=groups)


def _agreement(cited: CitedTable, values: Mapping[str, Floats], shared: Provenance) -> Table:
    names, table = [each.name for each in cited.judges], TableLines()
    # All resamples of a single group are equal: no interval.
    shown = slice(None) if cited.n_groups > 1 else slice(1)
    pairs = len(cited.systems) * (len(cited.systems) - 1) // 2
    for (key, of), (i, j) in product(values.items(), combinations(range(len(names)), 2)):
        tau, flips = (interval_of(each[shown], cited.resampling.level) for each in rank_agreement(of[i], of[j]))
        record: dict[str, Scalar] = {"measure": key, "one": names[i], "other": names[j], "pairs": pairs}
        table.add(
            f"{plain(names[i])} and {plain(names[j])}",
            cited.ranked[key][0],
            [interval_cell(tau, _TAU), interval_cell(flips, _COUNT), f"{pairs:,}"],
            {**record, **tau.record("tau"), **flips.record("flips")},
        )
    headings = ("measure", _TAU.label, _COUNT.label, "of pairs")
    title = "How far two backends rank the systems alike"
    drawn = f"{count(shared.interval.resamples, 'resample')} of groups, seed {shared.interval.seed}"
    note = Note("intervals", f"rankings change in steps, so that their intervals are percentiles: {drawn}")
    return shared.lines("ranking-agreement", title, headings, table, [note])


def _flips(cited: CitedTable, values: Mapping[str, Floats], shared: Provenance) -> list[Table]:
    """Return the tables of pairs of systems that two judges order in opposite ways, and of the causes."""
    flips: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []  # each with the answers that add most to it
    systems, judges = cited.systems, cited.judges
    for (key, of), (i, j) in product(values.items(), combinations(range(len(judges)), 2)):
        signs, others = pair_signs(of[i]), pair_signs(of[j])
        for pair, (a, b) in enumerate(combinations(range(len(systems)), 2)):
            if not signs[pair, 0] * others[pair, 0] < 0:
                continue
            ahead, behind = (a, b) if signs[pair, 0] > 0 else (b, a)
            # The lead is the value of the system ahead minus that of the one behind; the second judge reverses it.
            lead, turned = (float(of[judge, ahead, 0] - of[judge, behind, 0]) for judge in (i, j))
            resampled = signs[pair, 1:] * others[pair, 1:]
            share = float(np.mean(resampled < 0)) if resampled.size else None
            named = {"measure": key, "one": judges[i].name, "other": judges[j].name}
            named |= {"ahead": systems[ahead], "behind": systems[behind]}
            due = flip_causes(cited, [judges[judge].measured[key] for judge in (i, j)], ahead, behind)
            flip: dict[str, Any] = {**named, "lead": lead, "reversed_lead": turned, "share_of_resamples": share}
            flips.append((flip, [cause for cause in due[:_CAUSES] if cause["adds"] > 0]))
    if not flips:
        return []
    # The printed order is by the share of resamples; that of the records is not.
    strongest = sorted(flips, key=lambda flip: -(flip[0]["share_of_resamples"] or 0.0))
    pairs, causes = TableLines(), TableLines()
    for flip, _ in strongest[:_SHOWN]:
        title = f"{plain(flip['one'])} (1), {plain(flip['other'])} (2)"
        leads = [cell(flip[name], column=_LEAD) for name in ("lead", "reversed_lead")]
        name = f"{cited.ranked[flip['measure']][0]}: {flip['ahead']} over {flip['behind']}"
        pairs.add(title, name, [*leads, cell(flip["share_of_resamples"], column=_SHARE)])
    for flip, due in [both for both in strongest if both[1]][:_EXPLAINED]:
        title = f"{cited.ranked[flip['measure']][0]}: {plain(flip['ahead'])} over {plain(flip['behind'])}"
        for cause in due:
            cells = [cell(cause[name], column=_LEAD) for name in ("value_one", "value_other")]
            causes.add(title, f"{cause['answer']} ({cause['system']})", [*cells, cell(cause["adds"], column=_ADDS)])
    for flip, due in flips:
        pairs.records.append(flip)
        named = {name: flip[name] for name in ("measure", "one", "other", "ahead", "behind")}
        reversal = {"reversal": flip["lead"] - flip["reversed_lead"]}
        causes.records.extend({**named, **cause, **reversal} for cause in due)
    left = len(flips) - _SHOWN
    notes = [
        Note("reading", "lead in points under each backend; flipped: share of resamples in which the two change order"),
        Note("not shown", f"{left:,} more flips are in flips.csv and flips.json" if left > 0 else ""),
    ]
    reading = "adds: points of the change of lead that are due to this answer; all answers together add up to it"
    of_pairs, of_causes = ("pair", "lead (1)", "lead (2)", "flipped %"), ("answer", "under (1)", "under (2)", "adds")
    explained = "Answers that add most to a change of order"
    return [
        shared.lines("flips", "Pairs of systems that change order", of_pairs, pairs, notes),
        shared.lines("flip-causes", explained, of_causes, causes, [Note("reading", reading)]),
    ]


def flip_causes(cited: CitedTable, statistics: Sequence[Statistic], ahead: int, behind: int) -> list[dict[str, Any]]:
    """Return the contribution of each answer of two systems to a flip, largest first; none without a ratio.

    It is the change of the answer's part in its system's ratio from the first judge to the second, in favour of the
    system behind. statistics: the measure under both judges. ahead, behind: places of the systems.
    """
    if any(statistic.moments.shape[1] != 2 for statistic in statistics):
        return []
    first, second = (statistic.alone for statistic in statistics)
    causes = []
    for system, sign in ((ahead, 1.0), (behind, -1.0)):
        rows = cited.rows(system)
        parts = [of.moments[rows, 0] / of.moments[rows, 1].sum() * of.factor for of in statistics]
        for row, change in zip(rows.tolist(), sign * (parts[0] - parts[1]), strict=True):
            values = [
                None if value is None else value * of.factor
                for value, of in zip((first[row], second[row]), statistics, strict=True)
            ]
            answer = cited.answers[row]
            named = {"answer": answer.id, "system": answer.system, "value_one": values[0], "value_other": values[1]}
            causes.append({**named, "adds": float(change)})
    return sorted(causes, key=lambda cause: (-cause["adds"], cause["answer"]))
