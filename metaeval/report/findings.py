"""The findings of a run: templates of sentences, and the rules that choose one from its adjusted tests.

No number is estimated here. A sentence claims a difference only where an adjusted test shows it, as the marks of the
tables do. It says "not" where the test does not show it, and makes no claim where nothing was tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from metaeval.report import verdicts
from metaeval.report.measures import (
    NAMED,
    Headline,
    Readings,
    headlines,
    listed,
    metrics_of,
    named_in,
    sentence,
    under,
)
from metaeval.report.notes import plural
from metaeval.report.result import Column, Result, Row
from metaeval.report.table import count, grouped, numeral, place_of, plain, value_of

# Clauses and sentences, by the case in which each holds. The rules below choose the case and fill the fields.
_COVERAGE = {
    "scored": "{metric} has a score for {scored}, of {groups}",
    "no value": "{metric} does not have a value here: {reasons}",
    "no values": "No metric has a value here: {reasons}",
}
_BEST = {
    "one": "{best} is significantly better than {others} {where}{values}",
    "some": "{best} lead {where}{values}: none of them is significantly different from the best, and {others}",
    "all": "no metric is significantly different from the best {where}{values}",
    "no pair": "no two of the {number} metrics are significantly different {where}",
    "both": "{best} are not significantly different {where}",
    "by column": "{clauses}; all others are significantly different from the best",
    "by count": "Best, or not significantly different from the best, of {columns}: {clauses}",
    "untested": "{clauses}, but no test says whether that is more than noise",
}
_ABILITY = {
    "all": "{metrics} can {abilities}",
    "some": "only {metrics} {are} shown to {abilities}",
    "none": "{metrics} is shown to {abilities} ({measures} not significantly above {chance})",
    "not the one": "{metrics} is not shown to {abilities} ({values})",
    "every case": "every metric can {abilities} on every data set",
    "some cases": "{cases} cases, a metric on a data set, show that it can {abilities}",
    "no case": "no metric is shown to {abilities} on any",
}
_CONTROLS = {
    "better": "{metrics} {are} significantly better than every control",
    "none": "no metric is significantly better than every control",
    "not the one": "{metrics} is not significantly better than every control",
    "best": "{where}the best control is {control}{values}{alias}",
    "worse": "{metrics} {are} significantly worse than {control}",
}


def findings(results: Sequence[Result], readings: Readings) -> list[str]:
    """Return at most three sentences: on the best metrics, on what metrics can do, and on the controls.

    Of a single metric the first sentence says how many rows have a score.
    """
    shown = headlines(results, readings)
    if shown and not any(headline.metrics for headline in shown):
        return [_without_values(shown[0].result)]
    first = leading(shown) if any(len(metrics_of(headline.result)) > 1 for headline in shown) else _coverage(shown)
    abilities = _abilities(results, readings)
    if results and all(result.data.demo for result in results):
        abilities = results[0].data.wording(abilities)
    return list(filter(None, (first, abilities, _controls(shown, readings.aside))))


def _without_values(result: Result) -> str:
    rows = metrics_of(result)
    reasons = dict.fromkeys(plain(value.note) for row in rows for value in row.values.values() if value.note)
    template = _COVERAGE["no value" if len(rows) == 1 else "no values"]
    reason = "; ".join(reasons) or "no reason is recorded"
    return f"{template.format(metric=plain(rows[0].metric), reasons=reason)}."


def _coverage(shown: Sequence[Headline]) -> str:
    """How many rows of each table have a score of its only metric, and of how many groups they are."""
    clauses = []
    for headline in shown:
        for row in headline.metrics[:1]:
            whole, units = row.scored + row.unscored, plural(headline.result.unit)
            scored = f"{row.scored:,} of {whole:,} {units}" if row.unscored else f"all {whole:,} {units}"
            groups = count(headline.result.data.groups, "group")
            clause = _COVERAGE["scored"].format(metric=plain(row.metric), scored=scored, groups=groups)
            clauses.append((clause, named_in(headline, shown)))
    labels = grouped(clauses)
    texts = [clause if len(labels) == 1 else f"{clause} ({listed(names)})" for clause, names in labels.items()]
    return sentence("; ".join(texts)) if texts else ""


def leading(every: Sequence[Headline]) -> str:
    """Return the sentence on the best metrics of each column: those not significantly different from the best.

    Without tests it names the metric with the highest value.
    """
    shown = [headline for headline in every if len(headline.metrics) > 1]
    if not shown:
        return ""
    if not all(any(pair.p is not None for pair in verdicts.pairs_of(headline)) for headline in shown):
        highest = grouped((plain(verdicts.ordered(headline)[0].metric), headline) for headline in shown)
        clauses = [f"{name} is highest {under(same, shown)}" for name, same in highest.items()]
        return sentence(_BEST["untested"].format(clauses="; ".join(clauses)))
    leaders = [[plain(name) for name in verdicts.top(headline)] for headline in shown]
    same_leaders = grouped(
        ("" if len(names) == len(headline.metrics) else tuple(sorted(names)), number)
        for number, (headline, names) in enumerate(zip(shown, leaders, strict=True))
    )
    if len(same_leaders) == 1:
        return sentence(_leaders_of_all(shown, leaders[0]))
    several_places = len({place_of(headline.result.data) for headline in shown}) > 1
    most = 2 if several_places else 3
    if len(same_leaders) > most or sum(map(len, same_leaders)) > 2 * NAMED:
        columns = Counter(name for names in leaders for name in names)
        by_number = grouped((number, name) for name, number in columns.most_common())
        clauses = [f"{listed(names)} in {number}" for number, names in by_number.items()][:NAMED]
        return sentence(_BEST["by count"].format(columns=count(len(shown), "column"), clauses="; ".join(clauses)))
    clauses = []
    for numbers in same_leaders.values():
        names, same = leaders[numbers[0]], [shown[number] for number in numbers]
        metrics = "all metrics" if len(names) == len(same[0].metrics) else listed(names)
        clauses.append(f"{metrics} {'leads' if len(names) == 1 else 'lead'} {under(same, shown)}")
    return sentence(_BEST["by column"].format(clauses=", ".join(clauses)))


def _leaders_of_all(shown: Sequence[Headline], best: Sequence[str]) -> str:
    """The clause where the same metrics are best in every column; of one column it has values."""
    numbers: dict[str, str] = {plain(row.metric): shown[0].number(row) for row in shown[0].metrics}
    others = [name for name in numbers if name not in best]
    values = f" ({best[0]} {numbers[best[0]]})" if len(shown) == 1 else ""
    rest = f"the other {len(others)} metrics are"
    if len(best) == 1:
        case, rest = "one", f"each of the other {len(others)} metrics"
        against = ""
        if len(others) == 1:
            rest, against = others[0], f" against {numbers[others[0]]}"
        values = values and f" ({numbers[best[0]]}{against})"
    elif others:
        case, rest = "some", "the other metric is" if len(others) == 1 else rest
    elif len(numbers) == 2:
        case = "both"
    else:
        case = "all" if any(map(verdicts.different_pairs, shown)) else "no pair"
    where = under(shown, shown, "and" if others else "or")
    names = listed(best if others else list(numbers))
    return _BEST[case].format(best=names, others=rest, where=where, values=values, number=len(numbers))


class _Ability(NamedTuple):
    """An ability on one data set: the metrics that were tested against chance, and those significantly above it."""

    text: str
    chance: float
    result: Result
    column: Column
    tested: list[Row]
    above: list[Row]


def _abilities(results: Sequence[Result], readings: Readings) -> str:
    """The sentence on which metrics are significantly above chance, under the measures that show an ability.

    It is of the protocol with most such measures: the three levels come before a correlation.
    """
    tested = [ability for result in results for ability in _tested_abilities(result, readings)]
    by_protocol = grouped((ability.result.protocol, ability) for ability in tested)
    shown = max(by_protocol.values(), key=lambda same: len({ability.text for ability in same}), default=[])
    if len({id(ability.result) for ability in shown}) > 1:
        return _over_data_sets(shown)
    same_metrics = grouped((tuple(row.metric for row in ability.above), ability) for ability in shown)
    clauses = sorted(same_metrics.values(), key=lambda same: -len(same[0].above))
    return sentence("; ".join(map(_of_same_metrics, clauses))) if clauses else ""


def _tested_abilities(result: Result, readings: Readings) -> list[_Ability]:
    reading, alpha, abilities = readings.of(result), verdicts.alpha_of(result), []
    for column in result.columns:
        text, chance = reading.ability.get(column.key, ""), reading.chance.get(column.key)
        tests_of = {}
        for row in metrics_of(result):
            by_control = verdicts.control_tests(result, column, row)
            tests_of[row.metric] = [test for name, test in by_control.items() if name in readings.chance]
        tested = [row for row in metrics_of(result) if tests_of[row.metric]]
        able = [row for row in tested if all(verdicts.above(test, alpha) for test in tests_of[row.metric])]
        if text and chance is not None and tested:
            abilities.append(_Ability(text, chance, result, column, tested, able))
    return abilities


def _of_same_metrics(same: Sequence[_Ability]) -> str:
    """The clause on the abilities that the same metrics have."""
    names, tested = ([plain(row.metric) for row in rows] for rows in (same[0].above, same[0].tested))
    every = f"{'both' if len(tested) == 2 else f'all {len(tested)}'} metrics"
    case, metrics = "some", _named(names, tested)
    if len(names) == len(tested):
        case, metrics = "all", every if len(tested) > 1 else names[0]
    elif _are_most(names, tested):
        case = "all"
    elif not names and len(tested) == 1:
        case, metrics = "not the one", tested[0]
    elif not names:
        case, metrics = "none", "neither" if len(tested) == 2 else "none"
    return _ABILITY[case].format(
        metrics=metrics,
        are=_are(names),
        abilities=_joined([ability.text for ability in same], "and" if names else "or"),
        measures=listed([plain(ability.column.label) for ability in same]),
        chance=listed(list(dict.fromkeys(f"{ability.chance * ability.column.scale:g}" for ability in same))),
        values="; ".join(_value_of_first(ability) for ability in same),
    )


def _value_of_first(ability: _Ability) -> str:
    """The value of the first metric with its interval."""
    column, value = ability.column, value_of(ability.tested[0], ability.column)
    ends = " to ".join(numeral(end, column) for end in (value.low, value.high) if end is not None)
    return f"{plain(column.label)} {numeral(value.value, column)}{f', interval {ends}' if ends else ''}"


def _over_data_sets(shown: Sequence[_Ability]) -> str:
    """The sentence over several data sets: in how many cases, a metric on a data set, an ability is shown."""
    by_text = grouped((ability.text, ability) for ability in shown)
    texts_by_cases = grouped(
        ((sum(len(ability.above) for ability in same), sum(len(ability.tested) for ability in same)), text)
        for text, same in by_text.items()
    )
    clauses = []
    for (able, tested), texts in sorted(texts_by_cases.items(), key=lambda cases: -cases[0][0] / cases[0][1]):
        template = _ABILITY["every case" if able == tested else "some cases" if able else "no case"]
        clauses.append(template.format(cases=f"{able} of {tested}", abilities=_joined(texts)))
    return sentence("; ".join(clauses))


def _joined(texts: Sequence[str], last: str = "and") -> str:
    """Join abilities and name a shared verb once: tell full from no support and partial from no support."""
    first, *rest = texts
    verb = first.split(" ", 1)[0] + " "
    return listed([first, *(text.removeprefix(verb) for text in rest)], last)


def _are(names: Collection[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _are_most(names: Collection[str], every: Collection[str]) -> bool:
    """Whether these are too many to be named, and more than half of all."""
    return len(names) > NAMED and len(names) > len(every) / 2


def _named(names: Sequence[str], every: Collection[str]) -> str:
    """The names; where they are most of all, "all but" the others."""
    if not _are_most(names, every):
        return listed(names)
    others = [name for name in every if name not in names]
    return f"all but {listed(others)}" if others else f"all {len(names)} metrics"


class _Tested(NamedTuple):
    """A headline, its best control, and for each tested metric whether it is better than every control."""

    headline: Headline
    best: Row
    better: Mapping[str, bool]


def _controls(shown: Sequence[Headline], aside: Collection[str]) -> str:
    """The sentences on the metrics that are better than every control, on the best control, and on worse metrics."""
    best_of = [(headline, best) for headline in shown if (best := verdicts.best_control(headline, aside))]
    tested = []
    for headline, best in best_of:
        known: dict[str, bool | None] = {
            plain(row.metric): verdicts.above_every_control(headline, row, aside) for row in headline.metrics
        }
        if better := {name: verdict for name, verdict in known.items() if verdict is not None}:
            tested.append(_Tested(headline, best, better))
    if not tested:
        with_interval = [(headline, best) for headline, best in best_of if headline.value(best).high is not None]
        return sentence(_best_controls(with_interval)) if with_interval else ""
    one_best = len({best.metric for _, best, _ in tested}) == 1
    worse = _worse_than(tested, "it" if one_best else "the best control in every column")
    best_clause = _best_controls([(headline, best) for headline, best, _ in tested])
    clauses = list(filter(None, (_better_than_controls(tested), best_clause, worse)))
    # Where several controls are best, the clause about them holds semicolons of its own.
    return sentence("; ".join(clauses)) if one_best else " ".join(map(sentence, clauses))


def _better_than_controls(tested: Sequence[_Tested]) -> str:
    """The clause on the metrics that are better than every control, with measures where that is not under all."""
    columns = Counter(name for table in tested for name in table.better)
    won = grouped((name, table.headline) for table in tested for name, better in table.better.items() if better)
    if not won:
        return _CONTROLS["none" if len(columns) > 1 else "not the one"].format(metrics=listed(list(columns)))
    shown = [table.headline for table in tested]
    names_by_place = grouped(
        ("" if len(better) == columns[name] else under(better, shown), name) for name, better in won.items()
    )
    if len(names_by_place.get("", [])) == len(columns):
        all_tested = len(columns) == len({row.metric for headline in shown for row in headline.metrics}) > 1
        every = f"{'both' if len(columns) == 2 else f'all {len(columns)}'} metrics"
        metrics = every if all_tested else listed(list(columns))
    else:
        only = "" if any(_are_most(names, columns) for names in names_by_place.values()) else "only "
        named = (f"{_named(names, columns)} {place}".strip() for place, names in names_by_place.items())
        metrics = only + ", ".join(named)
    return _CONTROLS["better"].format(metrics=metrics, are=_are(won))


def _worse_than(tested: Sequence[_Tested], control: str) -> str:
    """The clause on the metrics that are significantly worse than the best control in every column."""
    lost = Counter(
        plain(row.metric)
        for headline, best, _ in tested
        for row in headline.metrics
        if (test := verdicts.control_tests(headline.result, headline.column, row).get(best.metric))
        and verdicts.below(test, verdicts.alpha_of(headline.result))
    )
    names = [name for name, number in lost.items() if number == len(tested)]
    return _CONTROLS["worse"].format(metrics=listed(names), are=_are(names), control=control) if names else ""


def _best_controls(shown: Sequence[tuple[Headline, Row]]) -> str:
    """The clause on the best control and its values; of several best controls, each with its measures."""
    every = [headline for headline, _ in shown]
    by_name = grouped((plain(best.metric), (headline, best)) for headline, best in shown)
    clauses: list[str] = []
    for name, same in sorted(by_name.items(), key=lambda control: -len(control[1])):
        twins = (
            plain(row.metric) for headline, best in same for row in headline.metrics if best.metric in row.same_scores
        )
        twin = listed(list(dict.fromkeys(twins)))
        where, values = "", ""
        if len(by_name) > 1:
            where = f"in {len(same)} of {len(shown)} columns " if len(shown) > NAMED else ""
            where = where or f"{under([headline for headline, _ in same], every)} "
        elif len(same) <= 3:
            numbers = ", ".join(f"{named_in(headline, every)} {headline.number(best)}" for headline, best in same)
            values = f" ({numbers})"
        alias = f", which is {twin} itself" if twin else ""
        clauses.append(_CONTROLS["best"].format(where=where, control=name, values=values, alias=alias))
    return "; ".join(clauses[:NAMED])
