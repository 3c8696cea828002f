"""Tables of several metrics: letters without contradictions, intervals of ranks, and sentences that tests support."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.processes import metrics_of_one_value
from metaeval.core.config import ComparisonConfig
from metaeval.report.findings import findings
from metaeval.report.ranking_measures import differs
from metaeval.report.result import Data, Interval, Result, Row
from metaeval.runs.evaluate import column_of, declarations_of
from metaeval.runs.significance import marked, significance
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import DEFAULT, Resampling
from protocols.classification import PROTOCOL
from protocols.contract import Judgements

KEY = "overall"

ABILITIES = ("fs_ns", "fs_ps", "ps_ns")

MEANS = (1.3, 1.45, 1.6, 1.75, 1.9)

DECLARATIONS = declarations_of([PROTOCOL])


def table_of(
    means: Sequence[float], level: np.ndarray, group: np.ndarray, errors: np.ndarray, keys: Sequence[str] = (KEY,)
) -> Result:
    """Return the table of metrics that differ in their means alone, and of the expected value of random scores."""
    tested, rows = {}, [_row("random", "control", dict.fromkeys(keys, 0.5))]
    for number, (mean, error) in enumerate(zip(means, errors, strict=True)):
        judgements = Judgements(gold=level, score=mean * level / 2 + error, group=group, pool=group)
        outcome = PROTOCOL.evaluate(judgements, Resampling(n=0), {})
        tested[f"m{number}"] = judgements, outcome
        rows.append(_row(f"m{number}", "metric", {key: outcome.estimates[key].value for key in keys}))
    against = {name: {"random": None} for name in tested} if len(keys) > 1 else {}
    tests = significance(PROTOCOL, {}, DEFAULT, ComparisonConfig(), tested, keys, against)
    counts = {"statements": 0, "documents": 0, "citations": 0, "groups": np.unique(group).size}
    return Result(
        protocol=PROTOCOL.name,
        title=PROTOCOL.title,
        unit="chunk",
        settings={},
        data=Data(name="simulated", split="all", fingerprint="-", levels={}, **counts),
        interval=Interval(resamples=DEFAULT.n, seed=DEFAULT.seed, level=DEFAULT.level),
        columns=[column_of(PROTOCOL.measure(key)) for key in keys],
        rows=marked(rows, tests),
        significance=tests,
    )


def _row(name: str, kind: Literal["metric", "control"], values: Mapping[str, float | None]) -> Row:
    of_keys = {key: Estimate(value) for key, value in values.items()}
    return Row(metric=name, kind=kind, values=of_keys, total=1, scored=1, unscored=0, signature="-")


def placement(groups: int, kind: str, means: Sequence[float], rng: np.random.Generator) -> dict[str, float]:
    """Return whether letters contradict the tests, and whether all intervals hold the true ranks."""
    result = table_of(means, *metrics_of_one_value(rng, groups, kind, len(means)))
    rows = [row for row in result.rows if row.kind == "metric"]
    letters = {row.metric: set(row.letters.get(KEY, "")) for row in rows}
    pairs, alpha = (result.significance.comparisons, result.significance.alpha) if result.significance else ([], 0.0)
    wrong = [bool(letters[pair.one] & letters[pair.other]) == differs(pair, alpha) for pair in pairs]
    # A true rank is one more than the number of metrics with a higher true value.
    ranks = [1 + sum(other > mean for other in means) for mean in means]
    held = [row.ranks[KEY][0] <= rank <= row.ranks[KEY][1] for row, rank in zip(rows, ranks, strict=True)]
    width = [row.ranks[KEY][1] - row.ranks[KEY][0] for row in rows]
    return {
        "tables with a contradiction": float(any(wrong)),
        "all ranks held": float(all(held)),
        "mean width of rank intervals": float(np.mean(width)),
    }


CLAIMS = {
    "better or lead": re.compile(r"significantly worse than the highest value"),
    "can tell": re.compile(r"(?:chance:|;) by [^,;]+, (?!no metric)"),
    "better than controls": re.compile(r"significantly better than every control"),
}
DENIED = re.compile(r"\bno metric is\b", re.IGNORECASE)


def sentences(groups: int, kind: str, rng: np.random.Generator) -> dict[str, float]:
    """Return which claims the findings make of nine metrics without information, all of which are false."""
    result = table_of((0.0,) * 9, *metrics_of_one_value(rng, groups, kind, 9), keys=(KEY, *ABILITIES))
    texts = [part for text in findings([result], DECLARATIONS) for part in re.split(r"(?<=\.) (?=\S)", text)]
    made = [text for text in texts if not DENIED.search(text)]
    claims = {name: float(any(pattern.search(text) for text in made)) for name, pattern in CLAIMS.items()}
    return {"any false claim": max(claims.values()), **claims}


def _tables() -> Iterator[Cell]:
    letters = Goal("tables with a contradiction", most=0.0, before="0.75")
    cells = (("five means", 60, MEANS), ("two pairs of equal metrics", 60, (1.3, 1.3, 1.6, 1.9, 1.9)))
    for name, groups, means in (*cells, ("equal metrics", 30, (1.5,) * 5)):
        goals = (letters, Goal("all ranks held", least=0.95, before=""), Goal("mean width of rank intervals"))
        yield Cell(
            "letters and rank intervals", f"{name}, {groups} groups", partial(placement, groups, "equal", means), goals
        )


def _sentences() -> Iterator[Cell]:
    for groups, before in ((30, "0.29-0.33"), (60, "0.29-0.33"), (100, "0.29-0.33")):
        goals = (Goal("any false claim", most=0.05, before=before), *(Goal(name) for name in CLAIMS))
        sample = partial(sentences, groups, "equal")
        yield Cell("sentences", f"nine metrics without information, {groups} groups", sample, goals)


CELLS: list[Cell] = [*_tables(), *_sentences()]
