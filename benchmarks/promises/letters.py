"""Tables of several metrics: letters without contradictions, intervals of ranks, and sentences that tests support."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.processes import metrics_of_one_value
from metaeval.analyses.arrays import evaluate_arrays
from metaeval.config import ComparisonConfig
from metaeval.report.result import Row, Significance, Value
from metaeval.report.verdicts import differs
from metaeval.runs.significance import marked, significance
from metaeval.stats.intervals import DEFAULT
from protocols import classification
from protocols.contract import Judgements

KEY = "overall"

MEANS = (1.3, 1.45, 1.6, 1.75, 1.9)


def table_of(
    groups: int, kind: str, means: Sequence[float], rng: np.random.Generator
) -> tuple[list[Row], Significance]:
    """Return the rows and tests of one measure, of metrics that differ in their means alone."""
    level, group, noise = metrics_of_one_value(rng, groups, kind, len(means))
    protocol, tested, rows = classification.PROTOCOL, {}, []
    for number, (mean, error) in enumerate(zip(means, noise, strict=True)):
        judgements = Judgements(gold=level, score=mean * level / 2 + error, group=group, pool=group)
        outcome = protocol.evaluate(judgements, DEFAULT, {})
        values = {KEY: Value(value=outcome.estimates[KEY].value)}
        tested[f"m{number}"] = judgements, outcome
        row = Row(metric=f"m{number}", kind="metric", values=values, total=1, scored=1, unscored=0, signature="-")
        rows.append(row)
    tests = significance(protocol, {}, DEFAULT, ComparisonConfig(), tested, [KEY])
    if tests is None:
        raise ValueError("two metrics at least are needed")
    return marked(rows, tests), tests


def placement(groups: int, kind: str, means: Sequence[float], rng: np.random.Generator) -> dict[str, float]:
    """Return whether letters contradict the tests, and whether all intervals hold the true ranks."""
    rows, tests = table_of(groups, kind, means, rng)
    letters = {row.metric: set(row.letters.get(KEY, "")) for row in rows}
    wrong = [bool(letters[pair.one] & letters[pair.other]) == differs(pair, tests.alpha) for pair in tests.comparisons]
    # A true rank is one more than the number of metrics with a higher true value.
    ranks = [1 + sum(other > mean for other in means) for mean in means]
    held = [row.ranks[KEY][0] <= rank <= row.ranks[KEY][1] for row, rank in zip(rows, ranks, strict=True)]
    width = [row.ranks[KEY][1] - row.ranks[KEY][0] for row in rows]
    return {
        "contradictions": float(any(wrong)),
        "all ranks held": float(all(held)),
        "mean width": float(np.mean(width)),
    }


CLAIMS = {
    "better or lead": re.compile(r"\b(?:(?:is|are) significantly better than (?!every control)|lead by)"),
    "can tell": re.compile(r"\bshown to\b"),
    "better than controls": re.compile(r"\bsignificantly better than every control"),
    "worse": re.compile(r"\bsignificantly worse than"),
    "best": re.compile(r"\bbest\b(?! control)"),
}
DENIED = re.compile(r"\b(?:no metric is|no two metrics are|is not)\b", re.IGNORECASE)


def sentences(groups: int, kind: str, protocols: tuple[str, ...], rng: np.random.Generator) -> dict[str, float]:
    """Return which claims the findings make of nine metrics without information, all of which are false."""
    level, group, scores = metrics_of_one_value(rng, groups, kind, 9)
    columns = {f"m{number}": score for number, score in enumerate(scores)}
    results = evaluate_arrays(columns, level, group, protocols=protocols)
    texts = [part for text in results.findings for part in re.split(r"(?<=\.) (?=\S)", text)]
    made = [text for text in texts if not DENIED.search(text)]
    claims = {name: float(any(pattern.search(text) for text in made)) for name, pattern in CLAIMS.items()}
    return {"any false claim": max(claims.values()), **claims}


def _tables() -> Iterator[Cell]:
    letters = Goal("contradictions", most=0.0, before="75")
    cells = (("five means", 60, MEANS), ("two pairs of equal metrics", 60, (1.3, 1.3, 1.6, 1.9, 1.9)))
    for name, groups, means in (*cells, ("equal metrics", 30, (1.5,) * 5)):
        goals = (letters, Goal("all ranks held", least=0.95, before="-"), Goal("mean width"))
        yield Cell(
            "letters and rank intervals", f"{name}, {groups} groups", partial(placement, groups, "equal", means), goals
        )


def _sentences() -> Iterator[Cell]:
    for groups, before in ((30, "29-33"), (60, "29-33"), (100, "29-33")):
        goals = (Goal("any false claim", most=0.05, before=before), *(Goal(name) for name in CLAIMS))
        sample = partial(sentences, groups, "equal", ("classification",))
        yield Cell("sentences", f"nine metrics without information, {groups} groups", sample, goals)


CELLS: list[Cell] = [*_tables(), *_sentences()]
