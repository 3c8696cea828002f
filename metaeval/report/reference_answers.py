"""Answers to "which metric should I use?", by rules from the adjusted tests of the reference results.

A metric is named where it is nowhere significantly worse than the best metric that the same budget allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from metaeval.report.ranking_measures import listed

PrintedCell = Mapping[str, str]
"""A row of `cells.csv` or `tests.csv`, by heading; blank where nothing is known."""

ALPHA = 0.05
FEW = 30
"""Effective groups below which an interval may hold the true value less often than it says."""

TASKS: Mapping[str, tuple[str, str]] = {
    "ps_ns": ("find citations without any support", "partial / none ROC-AUC"),
    "fs_ps": ("tell full from partial support", "full / partial ROC-AUC"),
    "fs_ns": ("tell supported from unsupported", "full / none ROC-AUC"),
    "ndcg@5": ("rank passages by their support", "NDCG@5"),
    "kendall": ("follow human levels or ratings", "Kendall's tau-b"),
}
"""What a metric is wanted for, by measure, with the measure's name."""
MEANINGS: Mapping[str, str] = {
    "ps_ns": "How often, in per cent, a partly supported statement scores above one without support; 50 is chance.",
    "fs_ps": "How often, in per cent, a fully supported statement scores above a partly supported one; 50 is chance.",
    "fs_ns": "How often, in per cent, a supported statement scores above an unsupported one; 50 is chance.",
    "ndcg@5": "How well the five passages with the highest scores are ordered by support; 1 is the best order.",
    "kendall": "How far the order of scores agrees with the order of human levels; 1 is full agreement, 0 none.",
}
"""What a value of each measure means, in a sentence."""
BUDGETS: Mapping[str, str] = {
    "cpu": "a laptop, nothing installed",
    "model": "a laptop and a small model",
    "gpu": "a GPU of my own",
    "api": "a paid chat model too",
}
"""Budgets by what they allow beside the budgets before them (`needs` of a card)."""
LANGUAGES: Mapping[str, str] = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "hi": "Hindi",
}


@dataclass(frozen=True)
class MetricAnswer:
    """The metrics to use for a task, language and budget, cheapest first; why, and what the data do not say."""

    task: str
    language: str
    budget: str
    metrics: Sequence[str]
    headline: str
    why: Sequence[str]
    limits: Sequence[str]


@dataclass(frozen=True)
class ComparedMetrics:
    """The metrics of one question. cells: of two or more, by set. better: (set, metric, a significantly worse one)."""

    cells: Mapping[str, Sequence[PrintedCell]]
    better: frozenset[tuple[str, str, str]]

    @cached_property
    def leading(self) -> dict[str, list[str]]:
        """Return, by set, the metrics not significantly worse than that with the highest value, the highest first."""
        leading = {}
        for name, rows in self.cells.items():
            names = [row["metric"] for row in sorted(rows, key=lambda row: -float(row["common_value"]))]
            leading[name] = [metric for metric in names if (name, names[0], metric) not in self.better]
        return leading

    @property
    def undecided(self) -> list[str]:
        """Return the sets on which no metric is significantly worse than the best."""
        return [name for name, rows in self.cells.items() if len(self.leading[name]) == len(rows)]

    @cached_property
    def sets_of(self) -> dict[str, list[str]]:
        """Return the sets on which each metric was compared, by metric, the cheapest first."""
        rows = sorted((row for rows in self.cells.values() for row in rows), key=_cost)
        names = dict.fromkeys(row["metric"] for row in rows)
        return {
            metric: [name for name, rows in self.cells.items() if metric in {row["metric"] for row in rows}]
            for metric in names
        }

    @property
    def on_most_sets(self) -> list[str]:
        """Return the metrics that were compared on more than half of the sets, the cheapest first."""
        return [metric for metric, sets in self.sets_of.items() if 2 * len(sets) > len(self.cells)]

    def sets_led(self, metric: str) -> int:
        """Return on how many sets a metric is not significantly worse than the best."""
        return sum(metric in self.leading[name] for name in self.sets_of[metric])

    def in_words(self, metrics: Sequence[str]) -> str:
        """Return metrics as a list in words, with the number of its sets behind one that was not compared on all."""
        counts = {metric: len(self.sets_of[metric]) for metric in metrics}
        every = len(self.cells)
        return listed([name if count == every else f"{name} (scored in {count})" for name, count in counts.items()])

    def titles(self, names: Sequence[str]) -> str:
        """Return the titles of sets as a list in words."""
        return listed([self.cells[name][0]["title"] for name in names])


def _cost(row: PrintedCell) -> tuple[int, float, str]:
    seconds = row["seconds_per_1000"]
    return [*BUDGETS].index(row["needs"]), float("inf") if seconds in ("", "unknown") else float(seconds), row["metric"]


def answers(cells: Sequence[PrintedCell], tests: Sequence[PrintedCell]) -> Iterator[MetricAnswer]:
    """Yield the answer for each task, language and budget; some say that the data do not tell. cells, tests: rows."""
    differing = [test for test in tests if test["holm"] and float(test["holm"]) <= ALPHA]
    by_measure = {
        task: frozenset((test["set"], *_ordered(test)) for test in differing if test["measure"] == task)
        for task in TASKS
    }
    languages = sorted({row["language"] for row in cells}, key=lambda code: (code != "en", code))
    for task, language, budget in product(TASKS, languages, BUDGETS):
        yield _answer(_compared(cells, by_measure[task], task, language, budget), task, language, budget)


def usual_answer(every: Sequence[MetricAnswer]) -> MetricAnswer | None:
    """Return the answer naming metrics for the first such task and language, by the widest budget; else the first."""
    named = [answer for answer in every if answer.metrics]
    same = [answer for answer in named if (answer.task, answer.language) == (named[0].task, named[0].language)]
    return same[-1] if same else next(iter(every), None)


def _ordered(test: PrintedCell) -> tuple[str, str]:
    return (test["one"], test["other"]) if float(test["difference"]) > 0 else (test["other"], test["one"])


def _compared(
    cells: Sequence[PrintedCell], better: frozenset[tuple[str, str, str]], task: str, language: str, budget: str
) -> ComparedMetrics:
    allowed = [*BUDGETS][: [*BUDGETS].index(budget) + 1]
    by_set: dict[str, list[PrintedCell]] = {}
    for row in cells:
        if (row["measure"], row["language"]) == (task, language) and row["best"] and row["needs"] in allowed:
            by_set.setdefault(row["set"], []).append(row)
    return ComparedMetrics({name: rows for name, rows in by_set.items() if len(rows) > 1}, better)


def _answer(compared: ComparedMetrics, task: str, language: str, budget: str) -> MetricAnswer:
    key = (task, language, budget)
    if not compared.cells:
        none = "No two metrics within this budget were compared on the same rows for this task and language."
        return MetricAnswer(*key, (), "The data do not say.", (none,), ())
    ranked, sets, count = compared.on_most_sets, compared.sets_of, len(compared.cells)
    always = [metric for metric in ranked if compared.sets_led(metric) == len(sets[metric])]
    most = max((compared.sets_led(metric) / len(sets[metric]) for metric in ranked), default=0.0)
    named = always or [metric for metric in ranked if compared.sets_led(metric) / len(sets[metric]) == most > 0]
    columns = f"In {_counted(count)} of the table ({compared.titles([*compared.cells])})"
    alike = len(compared.undecided)
    if alike == count:
        why = f"no metric is significantly worse than the best: the data do not decide, and {named[0]} is the cheapest"
    elif always:
        verb = "is" if len(named) == 1 else "are"
        why = f"{compared.in_words(named)} {verb} never significantly worse than the best metric within this budget"
        why += f"; in {alike} of them, no metric is" if alike else ""
    elif named:
        why = f"no metric is always among the best; {compared.in_words(named)} most often ({100 * most:.0f} %)"
    else:
        why = "each metric was scored in at most half of the columns, or is significantly worse in all"
    why = f"{columns}, {why}."
    headline = listed(named, "or") if named else "No metric can be named."
    rule = "Tests are paired, over whole groups, on the rows that all metrics scored, and adjusted (Holm, 5 %)."
    return MetricAnswer(*key, named, headline, (why, rule, *_by_set(compared)), tuple(_limits(compared, named)))


def _counted(count: int) -> str:
    return "one column" if count == 1 else f"{count} columns"


def _by_set(compared: ComparedMetrics) -> Iterator[str]:
    for name, (first, *others) in compared.leading.items():
        where = f"{compared.cells[name][0]['title']}: {first} has the highest value"
        if len(others) + 1 == len(compared.cells[name]):
            yield f"{where}, and no metric is significantly worse: it may be luck."
        elif others:
            yield f"{where}; {listed(others)} {'is' if len(others) == 1 else 'are'} not significantly different."
        else:
            yield f"{where}, and every other metric is significantly worse."


def _effective(rows: Sequence[PrintedCell]) -> float:
    """Return the smallest number of effective groups (of groups, where that is not known) in rows; inf for none."""
    counts = (row["effective"] or row["groups"] for row in rows)
    return min((float(count) for count in counts if count), default=float("inf"))


def _limits(compared: ComparedMetrics, named: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each thing that the data do not say about an answer. named: the metrics that it names."""
    if alike := compared.undecided:
        yield f"No metric is significantly worse than the best in {compared.titles(alike)}: these do not decide."
    few = {name: count for name, rows in compared.cells.items() if (count := _effective(rows)) < FEW}
    if few:
        counts = listed([f"{count:.0f} in {compared.titles([name])}" for name, count in few.items()])
        yield f"Intervals rest on fewer than {FEW} effective groups, and may be too narrow: {counts}."
    weak = [
        name
        for name, rows in compared.cells.items()
        if (of_named := [row for row in rows if row["metric"] in named])
        and not any(row["above_controls"] == "yes" for row in of_named)
    ]
    if weak:
        none = f"{named[0]} is not" if len(named) == 1 else "None of them is"
        controls = "every control, such as length or shared words"
        yield f"{none} significantly better than {controls}, in {compared.titles(weak)}."
    fitted = {
        row["metric"]: None
        for rows in compared.cells.values()
        for row in rows
        if row["metric"] in named and any(part.startswith(f"{row['dataset']}/") for part in row["fitted_on"].split())
    }
    if fitted:
        verb = "was" if len(fitted) == 1 else "were"
        yield f"{listed([*fitted])} {verb} fitted on other parts of some of these data."
    rare = [metric for metric in compared.sets_of if metric not in compared.on_most_sets]
    if rare:
        yield f"Compared in at most half of the columns, and not ranked here: {listed(rare)}."
    together = {row["title"].partition(" (")[0] for rows in compared.cells.values() for row in rows}
    language = LANGUAGES.get(code := next(iter(compared.cells.values()))[0]["language"], code)
    if len(together) == 1:
        yield f"For {language}, this task has one data set ({listed([*together])}): others may give another answer."
    elif len(together) < len(compared.cells):
        columns = f"The {len(compared.cells)} columns are of {len(together)} data sets"
        yield f"{columns}: some are the same claims in other units."
    restricted = [name for name, rows in compared.cells.items() if any(row["commercial"] == "no" for row in rows)]
    if restricted:
        yield f"Data or metrics behind {compared.titles(restricted)} are not for commercial use (NC in the table)."
    yield "Which metric is best on your data: label some of them."
