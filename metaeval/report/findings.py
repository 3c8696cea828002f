"""The findings of a run: at most three sentences, filled from the adjusted tests.

A sentence claims a difference only where an adjusted test shows it. Each column has a family of tests, and a page has
sentences on several: so that they seldom err together, nothing is claimed of metrics that the headline measure does not
show above chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from metaeval.report.first_table import CONTROLS_SHOWN, judge_of
from metaeval.report.ranking_measures import (
    Declarations,
    Headline,
    abilities,
    above_chance,
    above_every_control,
    best_control,
    headlines,
    listed,
    metrics_of,
    top,
    worse_than,
)
from metaeval.report.result import Result, Row
from metaeval.report.table import grouped, place_of, plain, short

# A list in a sentence has each name with its value, of the table's column that the sentence names.
NO_VALUES = "No metric has a value: {reasons}."
NONE_ABOVE_CHANCE = "No metric is significantly above chance by {measure}."
LEADING = "By {measure}, {names}; {worse} significantly worse than the highest value."
NONE_LEADS = "By {measure}, no metric is significantly worse than the highest value, that of {names}."
UNTESTED = "By {measure}, no test decides between metrics; the highest value is that of {names}."
AHEAD = "{names} the highest {columns}{but}."
NONE_AHEAD = "No metric has the highest value in {every}: {highest}."
NOT_WORSE = " {names} not significantly worse than the highest value in any column."
COUNTED = "Not significantly worse than the highest value, of {columns} columns: {counts}."
CONTROLS = "{names} significantly better than every control by {measure}; the best control is {control}."
ABILITIES = "Significantly above chance: {abilities}."

_ACROSS = 3  # columns of which the highest values are named


def findings(results: Sequence[Result], declarations: Declarations) -> list[str]:
    """Return at most three findings: which metrics lead, which are better than every control, and above chance.

    Where no metric has a value, the only finding says why.
    """
    shown = headlines(results, declarations)
    if shown and not any(column.metrics for column in shown):
        notes = dict.fromkeys(plain(v.note) for row in metrics_of(shown[0].result) for v in row.values.values())
        return [NO_VALUES.format(reasons="; ".join(filter(None, notes)) or "no reason is recorded")]
    judge = judge_of(shown, declarations)
    first = leading(shown, declarations.chance)
    if judge is None or len({place_of(result.data) for result in results}) > 1:
        return [first] if first else []
    if not_above_chance(judge, declarations.chance):
        chance = NONE_ABOVE_CHANCE.format(measure=judge.label)
        return [first, chance] if len(shown) > 1 and first else [chance]
    return list(filter(None, (first, _controls(judge, declarations.oracles), _abilities(judge, declarations))))


def not_above_chance(shown: Headline, chance: Collection[str]) -> bool:
    """Return whether metrics were tested against random scores, and none is significantly better."""
    verdicts = {above_chance(shown, row, chance) for row in shown.metrics}
    return False in verdicts and True not in verdicts


def leading(every: Sequence[Headline], chance: Collection[str] = ()) -> str:
    """Return the sentence on the metrics that are not significantly worse than the highest value; "" for one metric.

    chance: controls whose scores carry no information; where no metric is above them, no metric leads.
    """
    shown = [column for column in every if len(column.metrics) > 1]
    if len(shown) == 1:
        return _of_one(shown[0], chance)
    leaders = Counter(name for column in shown for name in top(column))
    if len(shown) > _ACROSS:
        by_number = grouped((number, plain(name)) for name, number in leaders.most_common())
        counts = "; ".join(f"{listed(names)} in {number}" for number, names in by_number.items())
        return COUNTED.format(columns=len(shown), counts=counts)
    if not shown:
        return ""
    highest = [[plain(row.metric) for row in _highest(column)] for column in shown]
    labels = [f"{column.label} ({short(column.number(_highest(column)[0]))})" for column in shown]
    alone = [name for name in highest[0] if all(name in names for names in highest)]
    if alone:
        verb = "have" if len(alone) > 1 else "has"
        sentence = AHEAD.format(names=f"{listed(alone)} {verb}", columns=listed(labels), but=_but(shown))
    else:
        columns_of = grouped((listed(names), label) for names, label in zip(highest, labels, strict=True))
        by = "; ".join(f"{names} by {listed(columns)}" for names, columns in columns_of.items())
        sentence = NONE_AHEAD.format(every={2: "both", 3: "all three"}[len(shown)], highest=by)
    everywhere = [plain(name) for name, number in leaders.items() if number == len(shown) and plain(name) not in alone]
    return sentence + (NOT_WORSE.format(names=f"{listed(everywhere)} {are(everywhere)}") if everywhere else "")


def _of_one(shown: Headline, chance: Collection[str]) -> str:
    worse = worse_than(shown)
    fields = {"measure": shown.label, "names": listed([shown.named(row) for row in _highest(shown)])}
    if not worse:
        return UNTESTED.format(**fields)
    if not_above_chance(shown, chance):
        return ""
    behind = [plain(row.metric) for row in shown.metrics if worse.get(row.metric)]
    if not behind:
        return NONE_LEADS.format(**fields)
    rows, names = {row.metric: row for row in shown.metrics}, top(shown)
    fields["names"] = f"{listed([shown.named(rows[name]) for name in names])} {'lead' if len(names) > 1 else 'leads'}"
    return LEADING.format(**fields, worse=f"{listed(behind)} {are(behind)}")


def _highest(shown: Headline) -> list[Row]:
    """Return the metrics with the highest printed value, of those with a decided test if there are any."""
    first = next(row for row in shown.metrics if row.metric == top(shown)[0])
    return [row for row in shown.metrics if shown.number(row) == shown.number(first)]


def _but(shown: Sequence[Headline]) -> str:
    """Return which controls stand in the first table with a higher value than every metric of a column, as a clause."""
    higher = dict.fromkeys(
        plain(row.metric)
        for column in shown
        for row in column.result.rows
        if row.kind == "control"
        and row.control in CONTROLS_SHOWN
        and (column.value(row).value or 0.0) > (column.value(_highest(column)[0]).value or 0.0)
    )
    return f", apart from the control{'s' if len(higher) > 1 else ''} {listed([*higher])}" if higher else ""


def are(names: Collection[object]) -> str:
    """Return the verb for these names."""
    return "are" if len(names) > 1 else "is"


def _controls(shown: Headline, oracles: Collection[str]) -> str:
    """Return which metrics are better than every control, and the best control; "" where no test says."""
    verdicts = {row.metric: above_every_control(shown, row, oracles) for row in shown.metrics}
    best = best_control(shown, oracles)
    if best is None or not {True, False} & {*verdicts.values()}:
        return ""
    better = [shown.named(row) for row in shown.metrics if verdicts[row.metric]]
    names = f"{listed(better)} {are(better)}" if better else "No metric is"
    return CONTROLS.format(names=names, measure=shown.label, control=shown.named(best))


def _abilities(judge: Headline, declarations: Declarations) -> str:
    """Return which metrics are above chance under each measure of an ability, of those that are by the headline."""
    parts = []
    kept = [row for row in judge.metrics if above_chance(judge, row, declarations.chance) is not False]
    for shown in abilities(judge.result, declarations):
        rows = [row for row in kept if above_chance(shown, row, declarations.chance)]
        every = len(rows) == len(metrics_of(judge.result)) > 1
        names = "every metric" if every else listed([shown.named(row) for row in rows]) or "no metric"
        if any(above_chance(shown, row, declarations.chance) is not None for row in kept):
            parts.append(f"by {shown.label}, {names}")
    return ABILITIES.format(abilities="; ".join(parts)) if parts else ""
