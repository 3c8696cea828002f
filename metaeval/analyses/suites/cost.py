"""Costs of scores: measured pairs per second of CPU time, and estimated money for metrics with prices."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.config import RunConfig
from metaeval.files import csv_text, safe_name, write_text
from metaeval.report.result import Result
from metaeval.runs.loaded_metrics import load_metrics, plug_in
from metaeval.runs.prepared_run import prepare
from metaeval.runs.row_scores import expected_texts
from metaeval.runs.run import metric_looks
from metaeval.runs.score_columns import FILE_PREFIX
from metaeval.scoring.contract import Combination, Metric, TextPair
from metaeval.scoring.engine import score_pairs
from protocols.contract import Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLE = 200
"""Most pairs that are scored to measure a metric."""

Clock = Callable[[], float]


@dataclass(frozen=True)
class Cost:
    """The cost of scoring a sample of pairs with a metric: CPU seconds, or USD per 1,000 pairs; None where not known.

    pairs: size of the sample. usd_per_1000: an upper bound, from prices in the metric's options. note: why not known.
    """

    metric: str
    pairs: int
    seconds: float | None
    usd_per_1000: float | None
    note: str = ""

    @property
    def pairs_per_second(self) -> float | None:
        """Pairs per second of CPU time, summed over threads; None where the time is not known."""
        return self.pairs / self.seconds if self.seconds else None


def measure(config: RunConfig, clock: Clock = time.process_time) -> Iterator[Cost]:
    """Measure the cost of each metric of the run on one sample of its unique pairs, drawn with the interval's seed.

    The score store is neither read nor written. One pair is scored before the clock starts, to load the model. Metrics
    that cost money are estimated and never called. Score files are skipped.
    """
    job = prepare(config)
    for name in dict.fromkeys(config.metrics):
        if not name.startswith(FILE_PREFIX):
            metrics = load_metrics([name], config)
            texts = sample(expected_texts(job, name, metrics), config.interval.seed)
            yield _measured(name, metrics.fresh(name), texts, clock)


def sample(texts: Sequence[TextPair], seed: int) -> list[TextPair]:
    """Return the unique pairs or, of more than `SAMPLE`, as many at random; the order of the texts has no effect."""
    unique = sorted(set(texts))
    return unique if len(unique) <= SAMPLE else random.Random(seed).sample(unique, SAMPLE)


def write_costs(costs: Sequence[Cost], path: Path) -> Path:
    """Write costs as CSV, one row a metric; unknown values are empty."""
    rows: list[tuple[object, ...]] = [
        ("metric", "pairs", "cpu_seconds", "pairs_per_second", "usd_per_1000_pairs", "note")
    ]
    for cost in costs:
        seconds, rate = ("" if value is None else f"{value:.6g}" for value in (cost.seconds, cost.pairs_per_second))
        usd = "" if cost.usd_per_1000 is None else f"{cost.usd_per_1000:.6g}"
        rows.append((cost.metric, cost.pairs, seconds, rate, usd, cost.note))
    write_text(path, csv_text(rows))
    return path


def cost_figures(
    costs: Sequence[Cost], results: Sequence[Result], protocols: Mapping[str, Protocol]
) -> dict[str, Figure]:
    """Return figures by file name: each result's headline measure against speed, and against money, where known."""
    from metaeval.report.figures.cost_and_ranks import CostPoint, cost_quality

    drawn: dict[str, Figure] = {}
    looks = metric_looks(results)
    axes = {
        ("speed", "pairs per second of CPU time"): {cost.metric: cost.pairs_per_second for cost in costs},
        ("money", "USD per 1,000 pairs"): {cost.metric: cost.usd_per_1000 for cost in costs},
    }
    for result in results:
        key = protocols[result.protocol].ranked_by([column.key for column in result.columns])
        column = next(candidate for candidate in result.columns if candidate.key == key)
        name = "-".join((result.data.name, result.data.split, result.unit))
        for (kind, axis), known in axes.items():
            points = []
            for row in result.rows:
                cost, estimate = known.get(row.metric), row.values[column.key]
                if cost and estimate.value is not None:
                    low, high = (None if end is None else end * column.scale for end in (estimate.low, estimate.high))
                    points.append(CostPoint(row.metric, cost, estimate.value * column.scale, low, high))
            if points:
                stem = f"cost-quality-{kind}-{result.protocol}-{safe_name(name)}"
                drawn[stem] = cost_quality(points, axis, column.label, looks)
    return drawn


def _measured(name: str, metric: Metric, texts: Sequence[TextPair], clock: Clock) -> Cost:
    if isinstance(metric, Combination):
        return Cost(name, len(texts), None, None, "made of other metrics: it costs what its members cost")
    with plug_in(name):
        estimate = metric.estimate([source for source, _ in texts], [statement for _, statement in texts])
        if estimate is not None:
            return _paid(name, len(texts), estimate, int(getattr(metric.options, "samples", 1)))
        score_pairs(metric, texts[:1])
        start = clock()
        score_pairs(metric, texts)
        return Cost(name, len(texts), clock() - start, None)


def _paid(name: str, pairs: int, estimate: object, requests_a_pair: int) -> Cost:
    requests, money = (getattr(estimate, key, None) for key in ("requests", "money"))
    if money is None:
        return Cost(name, pairs, None, None, "no prices: set its options price_in and price_out")
    if not requests:
        return Cost(name, pairs, None, None, "every reply is stored already: nothing is left to pay")
    # Stored replies cost nothing; the price of the other requests is taken for all.
    return Cost(name, pairs, None, 1000 * requests_a_pair * float(money) / int(requests))
