"""Coverage of intervals where articles are crossed with systems: every system writes about every article.

The true value is that over other articles and other systems, so that it has an article and a system of its own for
each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.intervals import label_of
from metaeval.stats.influence import t_test
from metaeval.stats.intervals import DEFAULT, studentised
from metaeval.stats.resampling import bootstrap
from protocols import classification, correlation
from protocols.comparison import influence_of, minus
from protocols.contract import Judgements

TRUE_ROWS = 1_000_000
"""Rows, each with an article and a system of its own, whose value is taken as the true one."""

Scores = tuple[np.ndarray, np.ndarray]


def levels_and_scores(
    rng: np.random.Generator, article: np.ndarray, system: np.ndarray, spread: float
) -> tuple[np.ndarray, Scores]:
    """Draw levels, and the scores of two metrics with the same value, of rows of these articles and systems.

    Articles and systems shift quality and both scores, and systems change how far the scores separate the levels.
    spread: standard deviation of the systems' shifts; those of articles have .6.
    """
    articles, systems = int(article.max()) + 1, int(system.max()) + 1
    quality = 0.5 * rng.normal(size=articles)[article] + spread * rng.normal(size=systems)[system]
    latent = quality + rng.normal(size=article.size)
    level = (latent > -0.5) * 1.0 + (latent > 0.4) * 1.0

    def score() -> np.ndarray:
        shift = 0.6 * rng.normal(size=articles)[article] + spread * rng.normal(size=systems)[system]
        slope = np.exp(0.6 * spread * rng.normal(size=systems))[system]
        return 0.7 * slope * level + shift + rng.normal(size=article.size)

    return level, (score(), score())


MEASURES = ((classification.PROTOCOL, ("fs_ns", "overall")), (correlation.PROTOCOL, ("pearson", "spearman")))
TESTED = ("fs_ns", "overall")
KEYS = [key for _, keys in MEASURES for key in keys]


@cache
def true_values(spread: float) -> dict[str, float]:
    """Return the measures over other articles and systems."""
    alone = np.arange(TRUE_ROWS)
    level, (score, _) = levels_and_scores(np.random.default_rng(1), alone, alone, spread)
    rows, once = Judgements(level, score, np.zeros_like(alone), alone), bootstrap(1, 0, 0)
    values: dict[str, float] = {}
    for protocol, keys in MEASURES:
        values |= {key: float(by_draw[0]) for key, by_draw in protocol.replicate(rows, 1, once, {}, keys).items()}
    return values


def coverage(articles: int, systems: int, spread: float, by_system: bool, rng: np.random.Generator) -> dict[str, float]:
    """Return whether intervals hold the true values, and whether the test of two equal metrics rejects."""
    article, system = np.repeat(np.arange(articles), systems), np.tile(np.arange(systems), articles)
    level, (score, other) = levels_and_scores(rng, article, system, spread)
    first = Judgements(level, score, article, np.arange(level.size), system, crossed=system if by_system else None)
    quantities: dict[str, float] = {}
    for protocol, keys in MEASURES:
        mine = influence_of(protocol, first, np.arange(articles), {}, keys)
        tested = [key for key in keys if key in TESTED]
        theirs = influence_of(protocol, first.with_score(other), np.arange(articles), {}, tested) if tested else {}
        for key, influence in mine.items():
            interval = studentised(influence.value, influence, articles, DEFAULT).interval
            held = interval is not None and interval[0] <= true_values(spread)[key] <= interval[1]
            quantities[f"{label_of(key)}: coverage"] = float(held) if interval else np.nan
            if key in TESTED and (apart := minus(influence, theirs[key])):
                quantities[f"{label_of(key)}: test rejects"] = float(t_test(apart) <= 0.05)
    return quantities


BEFORE = {(40, 12, 0.6): ("0.75-0.78", "0.24"), (40, 12, 0.7): ("0.67-0.70", "0.31-0.33")}
BEFORE |= {(40, 20, 0.6): ("0.78", "0.24-0.26"), (40, 12, 0.0): ("0.95-0.96", "0.04-0.05")}
"""Coverage and rejections with articles as the only clusters, 400 samples."""


def _cells() -> Iterator[Cell]:
    for (articles, systems, spread), (held, rejected) in BEFORE.items():
        goals = [Goal(f"{label_of(key)}: coverage", 0.93, before=held) for key in KEYS]
        goals += [Goal(f"{label_of(key)}: test rejects", most=0.07, before=rejected) for key in TESTED]
        name = f"{articles} articles x {systems} systems, spread of systems {spread:g}"
        true = partial(true_values, spread)
        sample = partial(coverage, articles, systems, spread, True)
        yield Cell("two-way", name, sample, tuple(goals), prepare=true)


CELLS = [*_cells()]
