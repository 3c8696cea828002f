"""Answers to "which metric should I use?", by rules from the adjusted tests of the reference results.

A metric is named where it is nowhere significantly worse than the best metric that the same budget allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.reference.cells import CellTables, PrintedCell
from metaeval.report.ranking_measures import listed

ALPHA = 0.05
FEW = 30
"""Effective groups below which an interval may hold the true value less often than it says."""

BUDGETS = {
    "cpu": "a laptop, nothing installed",
    "model": "a laptop and a small model",
    "gpu": "a GPU of my own",
    "api": "a paid chat model too",
}
"""Budgets by what they allow beside the budgets before them (`needs` of a card)."""
LANGUAGES = {"en": "English", "de": "German", "es": "Spanish", "fr": "French", "hi": "Hindi"}


class Compared(NamedTuple):
    """The metrics of one question. cells: of two or more, by set. alike: sets on which none is significantly worse.

    led: by metric, the cheapest first, whether it is not significantly worse than the best, for each of its sets.
    """

    cells: Mapping[str, Sequence[PrintedCell]]
    alike: Sequence[str]
    led: Mapping[str, Sequence[bool]]

    def titles(self, names: Sequence[str]) -> str:
        """The titles of sets as a list in words."""
        return listed([self.cells[name][0]["title"] for name in names])


def answer(tables: CellTables, task: str, language: str, budget: str) -> tuple[str, str, list[str]]:
    """Which metrics to use for a measure, in words, the cheapest first; why; and what the data do not say."""
    compared = _compared(tables, task, language, budget)
    if not (every := len(compared.cells)):
        why = "No two metrics within this budget were compared on the same rows for this task and language."
        return "The data do not say.", why, []
    shares = {metric: sum(led) / len(led) for metric, led in compared.led.items() if 2 * len(led) > every}
    most = max(shares.values(), default=0.0)
    named = [metric for metric, share in shares.items() if share == most > 0]
    counts = {metric: len(compared.led[metric]) for metric in named}
    words = listed([name if count == every else f"{name} (scored in {count})" for name, count in counts.items()])
    if named and len(compared.alike) == every:
        why = f"no metric is significantly worse than the best: the data do not decide, and {named[0]} is the cheapest"
    elif most == 1:
        verb = "is" if len(named) == 1 else "are"
        why = f"{words} {verb} never significantly worse than the best metric within this budget"
        why += f"; in {len(compared.alike)} of them, no metric is" if compared.alike else ""
    elif named:
        why = f"no metric is always among the best; {words} most often ({100 * most:.0f} %)"
    else:
        why = "each metric was scored in at most half of the columns, or is significantly worse in all"
    columns = "one column" if every == 1 else f"{every} columns"
    why = f"In {columns} of the table ({compared.titles([*compared.cells])}), {why}."
    headline = listed(named, "or") if named else "No metric can be named."
    return headline, why, [*_limits(compared, named, LANGUAGES.get(language, language))]


def _compared(tables: CellTables, task: str, language: str, budget: str) -> Compared:
    needs = [*BUDGETS]
    allowed = needs[: needs.index(budget) + 1]
    by_set: dict[str, list[PrintedCell]] = {}
    for row in tables.cells:
        if (row["measure"], row["language"]) == (task, language) and row["best"] and row["needs"] in allowed:
            by_set.setdefault(row["set"], []).append(row)
    cells = {name: rows for name, rows in by_set.items() if len(rows) > 1}
    better = set()
    for test in tables.tests:
        if test["measure"] == task and test["holm"] and float(test["holm"]) <= ALPHA:
            fields = ("set", "one", "other") if float(test["difference"]) > 0 else ("set", "other", "one")
            better.add(tuple(test[field] for field in fields))
    leading = {}
    for name, rows in cells.items():
        best = max(rows, key=lambda row: float(row["common_value"]))["metric"]
        leading[name] = [row["metric"] for row in rows if (name, best, row["metric"]) not in better]

    def cost(row: PrintedCell) -> tuple[int, float, str]:
        seconds = row["seconds_per_1000"]
        return needs.index(row["needs"]), float("inf" if seconds in ("", "unknown") else seconds), row["metric"]

    led: dict[str, list[bool]] = {}
    for row in sorted((row for rows in cells.values() for row in rows), key=cost):
        led.setdefault(row["metric"], []).append(row["metric"] in leading[row["set"]])
    return Compared(cells, [name for name, rows in cells.items() if len(leading[name]) == len(rows)], led)


def _limits(compared: Compared, named: Sequence[str], language: str) -> Iterator[str]:
    """Yield a sentence for each thing that the data do not say about an answer. named: the metrics that it names."""
    if compared.alike:
        alike = compared.titles(compared.alike)
        yield f"No metric is significantly worse than the best in {alike}: these do not decide."
    few, weak, fitted, restricted = [], [], {}, []
    for name, rows in compared.cells.items():
        of_named = [row for row in rows if row["metric"] in named]
        groups = min(float(row["effective"] or row["groups"]) for row in rows)
        few += [f"{groups:.0f} in {rows[0]['title']}"] * (groups < FEW)
        weak += [name] * (of_named != [] and all(row["above_controls"] != "yes" for row in of_named))
        fitted |= {row["metric"]: None for row in of_named if f" {row['dataset']}/" in f" {row['fitted_on']}"}
        restricted += [name] * any(row["commercial"] == "no" for row in rows)
    if few:
        yield f"Intervals rest on fewer than {FEW} effective groups, and may be too narrow: {listed(few)}."
    if weak:
        none = f"{named[0]} is not" if len(named) == 1 else "None of them is"
        controls = "every control, such as length or shared words"
        yield f"{none} significantly better than {controls}, in {compared.titles(weak)}."
    if fitted:
        verb = "was" if len(fitted) == 1 else "were"
        yield f"{listed([*fitted])} {verb} fitted on other parts of some of these data."
    if rare := [metric for metric, led in compared.led.items() if 2 * len(led) <= len(compared.cells)]:
        yield f"Compared in at most half of the columns, and not ranked here: {listed(rare)}."
    together = [*{row["title"].partition(" (")[0]: None for rows in compared.cells.values() for row in rows}]
    if len(together) == 1:
        yield f"For {language}, this task has one data set ({together[0]}): others may give another answer."
    elif len(together) < len(compared.cells):
        columns = f"The {len(compared.cells)} columns are of {len(together)} data sets"
        yield f"{columns}: some are the same claims in other units."
    if restricted:
        yield f"Data or metrics behind {compared.titles(restricted)} are not for commercial use (NC in the table)."
    yield "Which metric is best on your data: label some of them."
