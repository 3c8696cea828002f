"""What a run found, in sentences that rules make from its results: who leads, who can do what, what controls reach.

No number is estimated here. A sentence claims a difference only where an adjusted test of the results shows it, as the
marks of the tables do; it says "not shown" where the test does not, and nothing where there is no test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

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
from metaeval.report.notes import above, below, control_tests, differs, plural
from metaeval.report.result import Column, Comparison, Result, Row
from metaeval.report.table import count, grouped, numeral, place_of, plain, value_of


def findings(results: Sequence[Result], readings: Readings) -> list[str]:
    """At most three sentences: who leads (or, with one metric, what it rests on), who can do what, and the controls."""
    every = headlines(results, readings)
    if every and not any(one.metrics for one in every):
        return [_nothing(every[0].result)]
    first = leading(every) if any(len(metrics_of(one.result)) > 1 for one in every) else basis(every)
    able = abilities(results, readings)
    if results and all(result.data.demo for result in results):
        able = results[0].data.wording(able)
    return list(filter(None, (first, able, against_controls(every, readings.aside))))


def _nothing(result: Result) -> str:
    rows = metrics_of(result)
    reasons = dict.fromkeys(plain(value.note) for row in rows for value in row.values.values() if value.note)
    who = "No metric has" if len(rows) != 1 else f"{plain(rows[0].metric)} does not have"
    return f"{who} a value here: {'; '.join(reasons) or 'no reason is recorded'}."


def basis(every: Sequence[Headline]) -> str:
    """What the values of a single metric rest on."""
    said: dict[str, list[str]] = {}
    for one in every:
        for row in one.metrics[:1]:
            units = plural(one.result.unit)
            whole = row.scored + row.unscored
            scored = f"all {whole:,} {units}" if not row.unscored else f"{row.scored:,} of {whole:,} {units}"
            text = f"{plain(row.metric)} has a score for {scored}, of {count(one.result.data.groups, 'group')}"
            said.setdefault(text, []).append(named_in(one, every))
    texts = [text if len(said) == 1 else f"{text} ({listed(names)})" for text, names in said.items()]
    return f"{'; '.join(texts)}." if texts else ""


# Who leads.


def leading(every: Sequence[Headline]) -> str:
    """Who is not told apart from the best metric, measure by measure; all others are.

    Without tests, only who has the highest value.
    """
    shown = [one for one in every if len(one.metrics) > 1]
    if not shown:
        return ""
    if not all(any(pair.p is not None for pair in _pairs(one)) for one in shown):
        return _highest(shown)
    tops = [[plain(name) for name in top(one)] for one in shown]
    groups = grouped(
        (("",) if len(names) == len(one.metrics) else tuple(sorted(names)), number)
        for number, (one, names) in enumerate(zip(shown, tops, strict=True))
    )
    if len(groups) == 1:
        return _one_group(shown, tops[0])
    many = len({place_of(one.result.data) for one in shown}) > 1 and len(groups) > 2
    if many or len(groups) > 3 or sum(map(len, groups)) > 2 * NAMED:
        return _counted(shown, tops)
    clauses = []
    for numbers in groups.values():
        lead, same = tops[numbers[0]], [shown[number] for number in numbers]
        who = "all metrics" if len(lead) == len(same[0].metrics) > 1 else listed(lead)
        clauses.append(f"{who} {'leads' if len(lead) == 1 else 'lead'} {under(same, shown)}")
    return sentence(f"{', '.join(clauses)}; all others are told apart from the best")


def top(one: Headline) -> list[str]:
    """The best metric, and those that the test does not tell apart from it, in the order of their values."""
    ordered = _ordered(one)
    best = ordered[0].metric
    apart = {other for other in _apart(one) if best in other}
    return [row.metric for row in ordered if row.metric == best or frozenset((best, row.metric)) not in apart]


def _ordered(one: Headline) -> list[Row]:
    return sorted(one.metrics, key=lambda row: -(one.value(row).value or 0.0))


def _apart(one: Headline) -> set[frozenset[str]]:
    return {frozenset((pair.one, pair.other)) for pair in _pairs(one) if differs(pair, _alpha(one.result))}


def _pairs(one: Headline) -> list[Comparison]:
    pairs = one.result.significance.comparisons if one.result.significance else []
    return [pair for pair in pairs if pair.measure == one.column.key]


def _alpha(result: Result) -> float:
    return result.significance.alpha if result.significance else 0.0


def _one_group(shown: Sequence[Headline], lead: Sequence[str]) -> str:
    """The same metrics lead under every measure."""
    first, where, nowhere = shown[0], under(shown, shown), under(shown, shown, "or")
    names = [plain(row.metric) for row in first.metrics]
    numbers: dict[str, str] = {plain(row.metric): first.number(row) for row in first.metrics}
    alone = len(shown) == 1
    if len(lead) == 1:
        others = [name for name in names if name != lead[0]]
        against = f" ({numbers[lead[0]]} against {numbers[others[0]]})" if alone and len(others) == 1 else ""
        against = against or (f" ({numbers[lead[0]]})" if alone else "")
        whom = others[0] if len(others) == 1 else f"each of the other {len(others)} metrics"
        return f"{lead[0]} is better than {whom} {where}{against}."
    if len(lead) < len(names):
        best = f", best {lead[0]} with {numbers[lead[0]]}" if alone else ""
        rest = "the other is" if len(names) - len(lead) == 1 else f"the other {len(names) - len(lead)} are"
        return f"{listed(lead)} lead {where}{best}: none of them is told apart from the best, and {rest}."
    if len(names) == 2:
        return f"{listed(names)} are not told apart {nowhere}."
    if any(_apart(one) for one in shown):
        return f"No metric is told apart from the best {nowhere}{f', {lead[0]}' if alone else ''}."
    return f"No two of the {len(names)} metrics are told apart {nowhere}."


def _counted(shown: Sequence[Headline], tops: Sequence[Sequence[str]]) -> str:
    """Of many columns, or many leaders, in how many columns each metric leads."""
    often = Counter(name for lead in tops for name in lead)
    by_number = grouped((number, name) for name, number in often.most_common())
    said = [f"{listed(names)} in {number}" for number, names in by_number.items()]
    return f"Best, or not told apart from the best, of {count(len(shown), 'column')}: {'; '.join(said[:NAMED])}."


def _highest(shown: Sequence[Headline]) -> str:
    """Who has the highest value, where nothing was tested."""
    best = grouped((plain(_ordered(one)[0].metric), one) for one in shown)
    clauses = [f"{name} is highest {under(same, shown)}" for name, same in best.items()]
    return f"{'; '.join(clauses)}, but no test says whether that is more than noise."


# Who can do what.


class _Ability(NamedTuple):
    """One ability on one data set: the metrics that were tested against chance, and those above it."""

    text: str
    chance: float
    result: Result
    column: Column
    known: list[Row]
    above: list[Row]


def abilities(results: Sequence[Result], readings: Readings) -> str:
    """Which metrics are significantly above chance under the measures that say what a metric can do.

    Read are the results of the protocol with most such measures: the three levels before a correlation.
    """
    found = grouped((result.protocol, one) for result in results for one in _abilities(result, readings))
    shown = max(found.values(), key=lambda one: len({ability.text for ability in one}), default=[])
    if not shown:
        return ""
    if len({id(one.result) for one in shown}) > 1:
        return _over_data_sets(shown)
    if max(len(one.known) for one in shown) == 1:
        return _of_one_metric(shown)
    groups = grouped((tuple(row.metric for row in one.above), one) for one in shown)
    # What all can do stands first, what none can last.
    ordered = sorted(groups.values(), key=lambda same: -len(same[0].above))
    return sentence("; ".join(_clause(same) for same in ordered))


def _abilities(result: Result, readings: Readings) -> list[_Ability]:
    reading, found = readings.of(result), []
    for column in result.columns:
        text, chance = reading.ability.get(column.key, ""), reading.chance.get(column.key)
        if not text or chance is None:
            continue
        tests = [
            (row, [test for name, test in control_tests(result, column, row).items() if name in readings.chance])
            for row in metrics_of(result)
        ]
        known = [row for row, own in tests if own]
        able = [row for row, own in tests if own and all(above(test, _alpha(result)) for test in own)]
        found.append(_Ability(text, chance, result, column, known, able))
    return [one for one in found if one.known]


def _clause(same: Sequence[_Ability]) -> str:
    """The abilities that the same metrics have."""
    one, number = same[0], len(same[0].known)
    texts = _joined([each.text for each in same])
    if len(one.above) == number:
        return f"{'both' if number == 2 else f'all {number}'} metrics can {texts}"
    if not one.above:
        chances = listed(list(dict.fromkeys(f"{each.chance * each.column.scale:g}" for each in same)))
        why = f"{listed([plain(each.column.label) for each in same])} not significantly above {chances}"
        texts = _joined([each.text for each in same], "or")
        return f"{'neither' if number == 2 else 'none'} is shown to {texts} ({why})"
    names, everybody = ([plain(row.metric) for row in rows] for rows in (one.above, one.known))
    if _are_most(names, everybody):
        return f"{_named(names, everybody)} can {texts}"
    return f"only {listed(names)} {'are' if len(names) > 1 else 'is'} shown to {texts}"


def _of_one_metric(shown: Sequence[_Ability]) -> str:
    able = [one for one in shown if one.above]
    row = shown[0].known[0]
    unable = [(one.text, one.column, value_of(row, one.column)) for one in shown if not one.above]
    parts = [f"can {_joined([one.text for one in able])}"] if able else []
    if unable:
        spans = []
        for _, column, value in unable:
            ends = " to ".join(numeral(end, column) for end in (value.low, value.high) if end is not None)
            spans.append(f"{plain(column.label)} {numeral(value.value, column)}{f', interval {ends}' if ends else ''}")
        parts.append(f"is not shown to {_joined([text for text, _, _ in unable], 'or')} ({'; '.join(spans)})")
    return f"{plain(row.metric)} {', but '.join(parts)}."


def _over_data_sets(shown: Sequence[_Ability]) -> str:
    """Each ability over several data sets: how many of metrics and data sets are above chance."""
    by_text = grouped((one.text, one) for one in shown)
    cases = grouped(
        ((sum(len(one.above) for one in same), sum(len(one.known) for one in same)), text)
        for text, same in by_text.items()
    )
    said = []
    for (able, known), texts in sorted(cases.items(), key=lambda item: -item[0][0] / item[0][1]):
        what = _joined(texts)
        if able == known:
            said.append(f"every metric can {what} on every data set")
        elif not able:
            said.append(f"no metric is shown to {what} on any")
        else:
            said.append(f"{able} of {known} cases, a metric on a data set, show that it can {what}")
    return sentence("; ".join(said))


def _joined(texts: Sequence[str], last: str = "and") -> str:
    """Abilities in one phrase: tell full from no support and partial from no support."""
    first, *rest = texts
    verb = first.split(" ", 1)[0] + " "
    return listed([first, *(text.removeprefix(verb) for text in rest)], last)


# Controls.


def against_controls(every: Sequence[Headline], aside: Collection[str]) -> str:
    """Which metrics are significantly above every control, and the best control."""
    shown = [(one, best) for one in every if (best := best_control(one, aside))]
    held = [_Held(one, best, verdicts) for one, best in shown if (verdicts := _verdicts(one, aside))]
    if not held:
        known = [(one, best) for one, best in shown if one.value(best).high is not None]
        return sentence(_best_controls(known)) if known else ""
    said = [_above(held), _best_controls([(one, best) for one, best, _ in held]), _worse(held)]
    clauses = [text for text in said if text]
    # Where several controls are best, the clause about them holds semicolons of its own.
    return sentence("; ".join(clauses)) if _one_best(held) else " ".join(map(sentence, clauses))


def above_every_control(one: Headline, row: Row, aside: Collection[str]) -> bool | None:
    """Whether the tests show that a metric is above every control, those that see the gold left aside.

    None where no test says: a metric that was not compared with each control may be one of them itself.
    """
    tests = {name: test for name, test in control_tests(one.result, one.column, row).items() if name not in aside}
    if not all(above(test, _alpha(one.result)) for test in tests.values()):
        return False
    return True if tests and _controls(one, aside).keys() <= tests.keys() else None


def _verdicts(one: Headline, aside: Collection[str]) -> dict[str, bool]:
    """Whether each metric is above every control, without those of which no test says it."""
    verdicts = {row.metric: above_every_control(one, row, aside) for row in one.metrics}
    return {name: verdict for name, verdict in verdicts.items() if verdict is not None}


class _Held(NamedTuple):
    """A headline, its best control, and for each metric with tests whether it is above every control."""

    one: Headline
    best: Row
    above: dict[str, bool]


def _one_best(held: Sequence[_Held]) -> bool:
    return len({best.metric for _, best, _ in held}) == 1


def _above(held: Sequence[_Held]) -> str:
    """Which metrics are above every control, and by which measures where that is not by all."""
    every = [(plain(name), one, verdict) for one, _, verdicts in held for name, verdict in verdicts.items()]
    seen = Counter(name for name, _, _ in every)
    winners = grouped((name, one) for name, one, verdict in every if verdict)
    several = len(seen) > 1
    everybody = f"{'both' if len(seen) == 2 else f'all {len(seen)}'} metrics" if several else next(iter(seen))
    if several and len(seen) < len({row.metric for one, _, _ in held for row in one.metrics}):
        everybody = listed(list(seen))
    if not winners:
        return f"{'no metric is' if several else f'{everybody} is not'} shown to beat every control"
    heads = [one for one, _, _ in held]
    where = grouped(("" if len(ones) == seen[who] else under(ones, heads), who) for who, ones in winners.items())
    if len(where.get("", [])) == len(seen):
        return f"{everybody} {'are' if several else 'is'} above every control"
    clauses = [" ".join(filter(None, (_named(names, seen), text))) for text, names in where.items()]
    only = "" if any(_are_most(names, seen) for names in where.values()) else "only "
    return f"above every control {'are' if len(winners) > 1 else 'is'} {only}{'; '.join(clauses)}"


def _are_most(names: Collection[str], everybody: Collection[str]) -> bool:
    """Whether these are too many to be named, and more than half of all."""
    return len(names) > NAMED and len(names) > len(everybody) / 2


def _named(names: Sequence[str], everybody: Collection[str]) -> str:
    """These names; where they are most of all, the others."""
    if not _are_most(names, everybody):
        return listed(names)
    others = [name for name in everybody if name not in names]
    return f"all but {listed(others)}" if others else f"all {len(names)} metrics"


def _worse(held: Sequence[_Held]) -> str:
    """The metrics that are significantly below the best control under every measure."""
    lost = Counter(
        plain(row.metric)
        for one, best, _ in held
        for row in one.metrics
        if (test := control_tests(one.result, one.column, row).get(best.metric)) and below(test, _alpha(one.result))
    )
    names = [name for name, times in lost.items() if times == len(held)]
    whom = "it" if _one_best(held) else "the best control in every column"
    return f"{listed(names)} {'are' if len(names) > 1 else 'is'} worse than {whom}" if names else ""


def best_control(one: Headline, aside: Collection[str]) -> Row | None:
    """The control with the highest value, those that see the gold left aside; None without any."""
    return max(_controls(one, aside).values(), key=lambda row: one.value(row).value or 0.0, default=None)


def _controls(one: Headline, aside: Collection[str]) -> dict[str, Row]:
    """The controls with a value, by name; those that see the gold left aside."""
    rows = (row for row in one.result.rows if row.kind == "control" and row.metric not in aside)
    return {row.metric: row for row in rows if one.value(row).value is not None}


def _best_controls(shown: Sequence[tuple[Headline, Row]]) -> str:
    """The best control and its numbers; of several, each with its measures."""
    heads = [one for one, _ in shown]
    by_name = grouped((plain(best.metric), (one, best)) for one, best in shown)
    said: list[str] = []
    for name, same in sorted(by_name.items(), key=lambda item: -len(item[1])):
        twins = dict.fromkeys(
            plain(row.metric) for one, best in same for row in one.metrics if best.metric in row.same_scores
        )
        alias = f", which is {listed(list(twins))} itself" if twins else ""
        if len(by_name) == 1:
            numbers = ", ".join(f"{named_in(one, heads)} {one.number(best)}" for one, best in same)
            return f"the best control is {name}{f' ({numbers})' if len(same) <= 3 else ''}{alias}"
        often = f"in {len(same)} of {len(shown)} columns" if len(shown) > NAMED else ""
        where = often or under([one for one, _ in same], heads)
        said.append(f"{where} {'it' if said else 'the best control'} is {name}{alias}")
    return "; ".join(said[:NAMED])
