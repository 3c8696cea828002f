"""How results are read: the measure by which each ranks its metrics, and the words in which findings speak of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from metaeval.report.result import Column, Result, Row, Value
from metaeval.report.table import numeral, place_of, plain, value_of

LEVELS = ("full", "partial", "none")

NAMED = 4
"""Of a longer list of names, the first are named and the rest are counted."""

_OWN_WORDS = frozenset("no all both only every above none neither the values by in on".split())


@dataclass(frozen=True)
class ProtocolReading:
    """What a protocol declares about its measures (see `protocols.contract.Measure`), by the measures' keys.

    headline: key of the measure that metrics are ranked by; "": the table's first.
    """

    headline: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    ability: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Readings:
    """How results are read. protocols: by name. aside: the oracle controls, with which no metric is compared.

    chance: controls whose scores carry no information, which a metric that can do something is above.
    """

    protocols: Mapping[str, ProtocolReading] = field(default_factory=dict)
    aside: Collection[str] = ()
    chance: Collection[str] = ()

    def of(self, result: Result) -> ProtocolReading:
        """The reading of the result's protocol; of one that is not known, an empty one."""
        return self.protocols.get(result.protocol, ProtocolReading())


class Headline(NamedTuple):
    """The measure of a result by which its metrics are ranked."""

    result: Result
    column: Column

    @property
    def metrics(self) -> list[Row]:
        """The metrics that have a value, in the result's order."""
        return [row for row in metrics_of(self.result) if value_of(row, self.column).value is not None]

    def value(self, row: Row) -> Value:
        """The row's value."""
        return value_of(row, self.column)

    def number(self, row: Row) -> str:
        """The row's value as printed."""
        return numeral(self.value(row).value, self.column)


def metrics_of(result: Result) -> list[Row]:
    """The rows that are metrics."""
    return [row for row in result.rows if row.kind == "metric"]


def headlines(results: Sequence[Result], readings: Readings) -> list[Headline]:
    """Of each result the declared measure; where no metric has a value there, the first measure in which one has."""
    ranked_by = []
    for result in results:
        declared = [column for column in result.columns if column.key == readings.of(result).headline]
        order = [*declared, *(column for column in result.columns if column not in declared)]
        defined = (column for column in order if Headline(result, column).metrics)
        if order:
            ranked_by.append(Headline(result, next(defined, order[0])))
    return ranked_by


def named_in(headline: Headline, every: Sequence[Headline]) -> str:
    """A headline's measure, and its data set where there are several."""
    label = plain(headline.column.label)
    several = len({place_of(each.result.data) for each in every}) > 1
    return f"{label} on {plain(headline.result.data.name)}" if several else label


def under(shown: Sequence[Headline], every: Sequence[Headline], last: str = "and") -> str:
    """Under which of all headlines: by these measures, on these data sets, or everywhere."""
    labels = list(dict.fromkeys(plain(headline.column.label) for headline in shown))
    names = list(dict.fromkeys(place_of(headline.result.data) for headline in shown))
    every_name = list(dict.fromkeys(place_of(headline.result.data) for headline in every))
    if len(every_name) == 1:
        return f"by {listed(labels, last)}"
    of_all = {(plain(headline.column.label), place_of(headline.result.data)) for headline in every}
    these = {(plain(headline.column.label), place_of(headline.result.data)) for headline in shown}
    if these == of_all:
        return "everywhere" if last == "and" else "anywhere"
    if these == {item for item in of_all if item[1] in names}:
        return f"on {listed([name.partition(',')[0] for name in names], last)}"
    if these == {item for item in of_all if item[0] in labels}:
        return f"by {listed(labels, last)}"
    return f"by {listed([named_in(headline, every) for headline in shown], last)}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence: a, b and c; of many, the first and how many more."""
    if len(names) > NAMED + 1:
        names = [*names[:NAMED], f"{len(names) - NAMED} more"]
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def sentence(text: str) -> str:
    """A clause as a sentence; a name that begins it keeps its case."""
    begin = f"{text[0].upper()}{text[1:]}" if text.partition(" ")[0] in _OWN_WORDS else text
    return begin if begin.endswith(".") else f"{begin}."


def untested(shown: Iterable[tuple[Result, Column]]) -> str:
    """The measures without a test against controls, beside others that have one: there, no mark says nothing."""
    labels: dict[str, None] = {}
    for result, column in shown:
        tests = (result.significance.controls or []) if result.significance else []
        tested = {test.measure for test in tests if test.p is not None}
        known = any(row.kind == "metric" and value_of(row, column).value is not None for row in result.rows)
        if tested and known and column.key not in tested:
            labels[plain(column.label)] = None
    return f" ({', '.join(labels)}: not tested)" if labels else ""
