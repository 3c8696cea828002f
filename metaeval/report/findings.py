"""The findings of a run: rules that choose a sentence of `sentence_templates` from the adjusted tests, and fill it.

No number is estimated here. A sentence claims a difference only where an adjusted test shows it, as the marks of the
tables do. It says "not" where the test does not show it, and makes no claim where nothing was tested. Each column has a
family of tests, and a page has sentences on several: so that they seldom err together, the headline measure is a gate.
By it, leading metrics are named only where one is above chance, and abilities only of metrics that are above chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from metaeval.display_text import count
from metaeval.report import sentence_templates, significance_verdicts
from metaeval.report.ranking_measures import (
    NAMED,
    Declarations,
    Headline,
    headlines,
    listed,
    measures_of,
    metrics_of,
    named_in,
)
from metaeval.report.result import Column, Result, Row
from metaeval.report.table import format_value, grouped, plain, value_of
from metaeval.report.table_notes import plural

_MOST_GROUPS = 3  # of columns that say the same; of more groups each metric's columns are counted


def findings(results: Sequence[Result], declarations: Declarations) -> list[str]:
    """Return at most three findings: which metrics lead, what they can distinguish, and how they compare with controls.

    Where no result has several metrics, the first says how many rows have a score. Where no metric has a value, the
    only finding says why.
    """
    shown = headlines(results, declarations)
    if shown and not any(headline.metrics for headline in shown):
        return [_without_values(shown[0].result)]
    first = (
        leading(shown, declarations.chance)
        if any(len(metrics_of(headline.result)) > 1 for headline in shown)
        else _coverage(shown)
    )
    abilities = _abilities(results, declarations)
    if results and all(result.data.demo for result in results):
        abilities = results[0].data.wording(abilities)
    return list(filter(None, (first, abilities, _controls(shown, declarations.oracles))))


def _without_values(result: Result) -> str:
    notes = dict.fromkeys(plain(value.note) for row in metrics_of(result) for value in row.values.values())
    return sentence_templates.NO_VALUES.format(reasons="; ".join(filter(None, notes)) or "no reason is recorded")


def _coverage(shown: Sequence[Headline]) -> str:
    """Return a sentence with the number of rows that the only metric scored in each result, and the data's groups."""
    texts = []
    for headline in shown:
        for row in headline.metrics[:1]:
            total, units = f"{row.scored + row.unscored:,}", plural(headline.result.unit)
            scored = f"{row.scored:,} of {total} {units}" if row.unscored else f"all {total} {units}"
            groups = count(headline.result.data.groups, "group")
            text = sentence_templates.COVERAGE.format(metric=plain(row.metric), scored=scored, groups=groups)
            texts.append((text, measures_of([headline], shown)))
    measures_by_text = grouped(texts)
    return " ".join(_labelled(listed(measures), text, measures_by_text) for text, measures in measures_by_text.items())


def _labelled(label: str, text: str, groups: Collection[object]) -> str:
    """Return the sentence `text`, with the label before it if `groups` are several sentences."""
    return sentence_templates.LABELLED.format(label=label, sentence=text) if len(groups) > 1 else text


def leading(every: Sequence[Headline], chance: Collection[str] = ()) -> str:
    """Return the sentences on the leading metrics of each column: those not significantly worse than the highest.

    Columns with a single metric are left out. Each name has its own value behind it where a sentence is about a single
    column. chance: controls whose scores carry no information. Where metrics differ and none is significantly better
    than these, the sentence says that, and no metric leads.
    """
    shown = [headline for headline in every if len(headline.metrics) > 1]
    groups = grouped((_standing(headline, chance), headline) for headline in shown)
    if len(groups) <= _MOST_GROUPS:
        return " ".join(_of_standing(standing, same, shown) for standing, same in groups.items())
    unled = sentence_templates.UNTESTED, sentence_templates.NONE_ABOVE_CHANCE
    led = [headline for standing, same in groups.items() if standing not in unled for headline in same]
    leaders = [[plain(name) for name in significance_verdicts.top(headline)] for headline in led]
    return _column_counts(sentence_templates.LEADING, leaders)


def _standing(headline: Headline, chance: Collection[str]) -> str | tuple[frozenset[str], frozenset[str]]:
    """Return the metrics that lead a column and those that are significantly worse, or why none leads."""
    names, better = significance_verdicts.top(headline), significance_verdicts.better_pairs(headline)
    if not any(pair.p is not None for pair in significance_verdicts.pairs_of(headline)):
        return sentence_templates.UNTESTED
    above = {significance_verdicts.above_chance(headline, row, chance) for row in headline.metrics}
    if above == {False} and better:
        return sentence_templates.NONE_ABOVE_CHANCE
    if worse := frozenset(row.metric for row in headline.metrics if (names[0], row.metric) in better):
        return frozenset(names), worse
    return sentence_templates.NONE_WORSE if better else sentence_templates.NO_PAIR


def _of_standing(
    standing: str | tuple[frozenset[str], frozenset[str]], same: Sequence[Headline], every: Sequence[Headline]
) -> str:
    """Return the sentence on the columns `same`, which have this standing, out of all columns `every`."""
    rows = significance_verdicts.ordered(same[0])

    def named(row: Row) -> str:
        return f"{plain(row.metric)} ({same[0].number(row)})" if len(same) == 1 else plain(row.metric)

    measures = measures_of(same, every)
    if isinstance(standing, str):
        # Values of metrics that scored different rows are not compared.
        alike = len(same) == 1 and not any(row.unscored for row in rows)
        highest = [named(row) for row in rows if same[0].number(row) == same[0].number(rows[0])] if alike else []
        have = f"; {listed(highest)} {'have' if len(highest) > 1 else 'has'} the highest value" if highest else ""
        return sentence_templates.NONE_LEADS.format(measures=measures, why=standing, highest=have)
    best, worse = ([named(row) for row in rows if row.metric in names] for names in standing)
    # Of a metric without a decided test against the highest nothing is said.
    of_all = len(best) + len(worse) == len(rows)
    if len(best) == 1:
        others = "every other metric" if of_all and len(worse) > 1 else listed(worse)
        return sentence_templates.LEADS_ALONE.format(best=listed(best), measures=measures, others=others)
    others = "the others are" if of_all else f"{listed(worse)} {_are(worse)}"
    return sentence_templates.LEAD.format(best=listed(best), measures=measures, others=others)


def _column_counts(claim: str, names_of_columns: Sequence[Collection[str]]) -> str:
    """Return a sentence with the number of columns in which a claim holds for each metric; they are given by column."""
    columns = Counter(name for names in names_of_columns for name in names)
    by_number = grouped((number, name) for name, number in columns.most_common())
    counts = [f"{listed(names)} in {number}" for number, names in by_number.items()]
    if not counts:
        return sentence_templates.NONE.format(claim=claim, evidence="")
    return sentence_templates.COUNTED.format(
        columns=len(names_of_columns), claim=claim, counts="; ".join(counts[:NAMED])
    )


class _Ability(NamedTuple):
    """An ability under one measure (`column`): the metrics tested against chance, and those significantly above it.

    text: what a metric above chance can do. chance: the measure's raw value of random scores. open: a metric is
    significantly above chance here but not by the headline measure, so that it is in neither list, and "every", "only"
    and "no metric" cannot be said.
    """

    text: str
    chance: float
    result: Result
    column: Column
    tested: list[Row]
    above: list[Row]
    open: bool


def _abilities(results: Sequence[Result], declarations: Declarations) -> str:
    """Return which metrics are significantly above chance, under the measures that show an ability, as text.

    Only the protocol with most abilities is used: the three levels come before a correlation. "" without any test.
    """
    tested = [ability for result in results for ability in _tested_abilities(result, declarations)]
    by_protocol = grouped((ability.result.protocol, ability) for ability in tested)
    shown = max(by_protocol.values(), key=lambda same: len({ability.text for ability in same}), default=[])
    if len({id(ability.result) for ability in shown}) > 1:
        able = grouped((ability.text, [plain(row.metric) for row in ability.above]) for ability in shown)
        return " ".join(
            _column_counts(sentence_templates.ABILITY.format(abilities=text), names) for text, names in able.items()
        )
    same_metrics = grouped(((ability.open, *(row.metric for row in ability.above)), ability) for ability in shown)
    return " ".join(map(_ability_sentence, sorted(same_metrics.values(), key=lambda same: -len(same[0].above))))


def _tested_abilities(result: Result, declarations: Declarations) -> list[_Ability]:
    reading, abilities = declarations.of(result), []
    below = {
        row.metric
        for headline in headlines([result], declarations)
        for row in headline.metrics
        if significance_verdicts.above_chance(headline, row, declarations.chance) is False
    }
    for column in result.columns:
        text, chance = reading.ability.get(column.key, ""), reading.chance.get(column.key)
        rows = [
            (row, significance_verdicts.above_chance(Headline(result, column), row, declarations.chance))
            for row in metrics_of(result)
        ]
        above = [row for row, verdict in rows if verdict and row.metric not in below]
        tested = [row for row, verdict in rows if verdict is False or (verdict and row.metric not in below)]
        unsaid = any(verdict and row.metric in below for row, verdict in rows)
        if text and chance is not None and tested and (above or not unsaid):
            abilities.append(_Ability(text, chance, result, column, tested, above, unsaid))
    return abilities


def _ability_sentence(same: Sequence[_Ability]) -> str:
    """Return the sentence on the abilities that the same metrics have."""
    names, tested = ([plain(row.metric) for row in rows] for rows in (same[0].above, same[0].tested))
    chances = dict.fromkeys(f"{ability.chance * ability.column.scale:g}" for ability in same)
    measures = listed([plain(ability.column.label) for ability in same])
    evidence = sentence_templates.NOT_ABOVE_CHANCE.format(measures=measures, chance=listed(list(chances)))
    if len(tested) == 1:
        evidence = f" ({'; '.join(map(_first_value, same))})"
    abilities = listed([ability.text for ability in same], "and" if names else "or")
    claim = sentence_templates.ABILITY.format(abilities=abilities)
    if same[0].open:
        return sentence_templates.SOME.format(claim=claim, metrics=listed(names), are=_are(names))
    return _claim(claim, names, tested, metrics_of(same[0].result), evidence)


def _claim(claim: str, names: Sequence[str], tested: Collection[str], rows: Sequence[Row], evidence: str = "") -> str:
    """Return which of the tested metrics a claim holds for, as a sentence.

    names: the metrics for which it holds. rows: of all metrics, tested or not; where some lack scores, they were not
    tested on the same rows, and those for which it holds are not set against the others. evidence: text in brackets,
    added where it holds for none.
    """
    others, metrics = [name for name in tested if name not in names], len({row.metric for row in rows})
    if not names:
        template = sentence_templates.NOT if len(tested) == 1 else sentence_templates.NONE
    elif others and not any(row.unscored for row in rows):
        is_most = len(names) > max(NAMED, len(others))
        template = sentence_templates.ALL_BUT if is_most and len(tested) == metrics else sentence_templates.ONLY
    else:
        template = sentence_templates.EVERY if len(names) == metrics > 1 else sentence_templates.SOME
    are, metrics_named = _are(names), listed(names or list(tested))
    return template.format(claim=claim, metrics=metrics_named, are=are, others=listed(others), evidence=evidence)


def _first_value(ability: _Ability) -> str:
    """Return, as text, the value of the first tested metric under the ability's measure, with its interval if any."""
    column, value = ability.column, value_of(ability.tested[0], ability.column)
    ends = " to ".join(format_value(end, column) for end in (value.low, value.high) if end is not None)
    return f"{plain(column.label)} {format_value(value.value, column)}{f', interval {ends}' if ends else ''}"


def _are(names: Collection[str]) -> str:
    return "are" if len(names) > 1 else "is"


class _ControlTests(NamedTuple):
    """A headline, its best control, names of metrics tested against every control, and of those better than each."""

    headline: Headline
    best: Row
    tested: Sequence[str]
    better: Sequence[str]


def _controls(shown: Sequence[Headline], oracles: Collection[str]) -> str:
    """Return which metrics are better than every control, which control is best, and which metrics are worse than it.

    oracles: controls that know the gold labels and are left out.
    """
    best_of = [
        (headline, best) for headline in shown if (best := significance_verdicts.best_control(headline, oracles))
    ]
    tables = []
    for headline, best in best_of:
        rows = headline.metrics
        verdict_of = {
            plain(row.metric): significance_verdicts.above_every_control(headline, row, oracles) for row in rows
        }
        tested = [name for name, verdict in verdict_of.items() if verdict is not None]
        if tested:
            tables.append(_ControlTests(headline, best, tested, [name for name in tested if verdict_of[name]]))
    if not tables:
        return _best_controls([(headline, best) for headline, best in best_of if headline.value(best).high is not None])
    best_controls = _best_controls([(table.headline, table.best) for table in tables])
    return " ".join(filter(None, (_better_than_controls(tables), best_controls, _worse_than_control(tables))))


def _better_than_controls(tables: Sequence[_ControlTests]) -> str:
    """Return which metrics are better than every control, with measures where that differs between columns, as text."""
    same_better = grouped((frozenset(table.better), table) for table in tables)
    if len(same_better) > _MOST_GROUPS:
        return _column_counts(sentence_templates.BETTER_THAN_CONTROLS, [table.better for table in tables])
    texts, every = [], [table.headline for table in tables]
    for same in same_better.values():
        shown = [table.headline for table in same]
        tested = dict.fromkeys(name for table in same for name in table.tested)
        rows = [row for headline in shown for row in headline.metrics]
        text = _claim(sentence_templates.BETTER_THAN_CONTROLS, same[0].better, tested, rows)
        texts.append(_labelled(measures_of(shown, every), text, same_better))
    return " ".join(texts)


def _worse_than_control(tables: Sequence[_ControlTests]) -> str:
    """Return which metrics are, in every column, significantly worse than that column's best control; "" for none."""
    worse = [
        {
            plain(row.metric)
            for row in table.headline.metrics
            if significance_verdicts.below_control(table.headline, row, table.best)
        }
        for table in tables
    ]
    shown = [table.headline for table in tables]
    names = [plain(row.metric) for row in shown[0].metrics if plain(row.metric) in set.intersection(*worse)]
    control = f"the best control by {measures_of(shown, shown)}" if len(shown) > 1 else "it"
    fields = {"metrics": listed(names), "are": _are(names), "control": control}
    return sentence_templates.WORSE_THAN_CONTROL.format(**fields) if names else ""


def _best_controls(shown: Sequence[tuple[Headline, Row]]) -> str:
    """Return a sentence for each control that is the best of some columns, with its values in up to three columns."""
    every = [headline for headline, _ in shown]
    by_name = grouped((plain(best.metric), (headline, best)) for headline, best in shown)
    texts = []
    for name, same in sorted(by_name.items(), key=lambda control: -len(control[1]))[:NAMED]:
        rows = [(row, best) for headline, best in same for row in headline.metrics]
        twins = listed(list(dict.fromkeys(plain(row.metric) for row, best in rows if best.metric in row.same_scores)))
        values = [f"{named_in(headline, every)} ({headline.number(best)})" for headline, best in same]
        measures = listed(values) if len(same) <= 3 else measures_of([headline for headline, _ in same], every)
        alias = sentence_templates.ALIAS.format(metrics=twins) if twins else ""
        texts.append(sentence_templates.BEST_CONTROL.format(measures=measures, control=name, alias=alias))
    return " ".join(texts)
