"""The measure by which each result ranks its metrics, and lists of names and measures for sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from metaeval.report.result import Column, Result, Row, Value
from metaeval.report.table import format_value, grouped, place_of, plain, value_of

LEVELS = ("full", "partial", "none")

NAMED = 4
"""Names that a list shows if it has at least two more; the rest are counted."""


@dataclass(frozen=True)
class ProtocolDeclarations:
    """What a protocol declares about its measures, by their keys (see `protocols.contract.Measure`).

    headline: key of the measure that metrics are ranked by ("": the table's first). about: what it measures.
    chance: value of random scores. ability: what a metric can do that is above chance.
    """

    headline: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    ability: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Declarations:
    """The declarations of protocols about their measures, and the controls that findings treat in a special way.

    protocols: by name. oracles: controls that know the gold labels. chance: controls whose scores carry no
    information; a metric has an ability if it is significantly better.
    """

    protocols: Mapping[str, ProtocolDeclarations] = field(default_factory=dict)
    oracles: Collection[str] = ()
    chance: Collection[str] = ()

    def of(self, result: Result) -> ProtocolDeclarations:
        """Return the declarations of the result's protocol; empty ones for an unknown protocol."""
        return self.protocols.get(result.protocol, ProtocolDeclarations())


class Headline(NamedTuple):
    """The measure of a result by which its metrics are ranked."""

    result: Result
    column: Column

    @property
    def metrics(self) -> list[Row]:
        """The metrics that have a value, in the result's order."""
        return [row for row in metrics_of(self.result) if value_of(row, self.column).value is not None]

    def value(self, row: Row) -> Value:
        """Return the row's value."""
        return value_of(row, self.column)

    def number(self, row: Row) -> str:
        """Return the row's value as printed."""
        return format_value(self.value(row).value, self.column)


def metrics_of(result: Result) -> list[Row]:
    """Return the rows of metrics, without controls, in the result's order."""
    return [row for row in result.rows if row.kind == "metric"]


def headlines(results: Sequence[Result], declarations: Declarations) -> list[Headline]:
    """Return each result's headline measure; if no metric has a value there, its first measure with one, if any."""
    ranked_by = []
    for result in results:
        declared = [column for column in result.columns if column.key == declarations.of(result).headline]
        order = [*declared, *(column for column in result.columns if column not in declared)]
        defined = (column for column in order if Headline(result, column).metrics)
        if order:
            ranked_by.append(Headline(result, next(defined, order[0])))
    return ranked_by


def named_in(headline: Headline, every: Sequence[Headline]) -> str:
    """Return the name of a headline's measure, with its data set if the headlines `every` are of several."""
    label = plain(headline.column.label)
    several = len({place_of(each.result.data) for each in every}) > 1
    return f"{label} on {plain(headline.result.data.name)}" if several else label


def measures_of(shown: Sequence[Headline], every: Sequence[Headline]) -> str:
    """Return the names of the measures of `shown` as text, with their data sets if those in `every` are of several."""
    all_names = list(dict.fromkeys(plain(headline.result.data.name) for headline in every))
    names_by_label = grouped((plain(headline.column.label), plain(headline.result.data.name)) for headline in shown)
    if len(all_names) == 1:
        return listed(list(names_by_label))
    labels_by_names = grouped((tuple(dict.fromkeys(names)), label) for label, names in names_by_label.items())
    return ", ".join(
        f"{listed(labels)} on {listed(names) if len(names) < len(all_names) else 'every data set'}"
        for names, labels in labels_by_names.items()
    )


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return the names as text: a, b and c; of six or more, four and how many more there are; "" without names.

    last: the word before the last name.
    """
    if len(names) > NAMED + 1:
        names = [*names[:NAMED], f"{len(names) - NAMED} more"]
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def untested(shown: Iterable[tuple[Result, Column]]) -> str:
    """Return, as text in brackets, the measures of `shown` with values but without tests against controls.

    Only results with such tests of other measures count; "" where there are none.
    """
    labels: dict[str, None] = {}
    for result, column in shown:
        tests = result.significance.controls if result.significance else []
        tested = {test.measure for test in tests if test.p is not None}
        known = any(row.kind == "metric" and value_of(row, column).value is not None for row in result.rows)
        if tested and known and column.key not in tested:
            labels[plain(column.label)] = None
    return f" ({', '.join(labels)}: not tested)" if labels else ""
