"""What a score costs: pairs per second of CPU time, freshly measured; money, for a metric that is paid by the token."""

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
from metaeval.runs.columns import FILE_PREFIX, expected_texts
from metaeval.runs.metrics import load_metrics, plug_in
from metaeval.runs.prepared_run import prepare
from metaeval.runs.run import metric_looks
from metaeval.scoring.contract import Combination, Metric
from metaeval.scoring.engine import score_pairs
from metaeval.scoring.plan import TextPair
from protocols.contract import Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLE = 200
"""At most so many pairs are scored to measure a metric."""

Clock = Callable[[], float]


@dataclass(frozen=True)
class Cost:
    """What a metric costs on a sample of `pairs`: CPU seconds, or USD per 1,000 pairs; None where not known.

    usd is an estimate before the fact, from the prices in the metric's options, at most what its replies may cost.
    """

    metric: str
    pairs: int
    seconds: float | None
    usd_per_1000: float | None
    note: str = ""

    @property
    def pairs_per_second(self) -> float | None:
        """Pairs per second of CPU time, all threads' time added."""
        return self.pairs / self.seconds if self.seconds else None


def measure(config: RunConfig, clock: Clock = time.process_time) -> Iterator[Cost]:
    """The cost of each metric of the run on one sample of its unique pairs, drawn with the interval's seed.

    Nothing is read from the score store or written to it. A first pair is scored outside the clock: it loads the
    model. What is paid for is never asked: its cost is estimated. Score files cost nothing here and are passed over.
    """
    job = prepare(config)
    for name in dict.fromkeys(config.metrics):
        if not name.startswith(FILE_PREFIX):
            metrics = load_metrics([name], config)
            texts = sample(expected_texts(job, name, metrics), config.interval.seed)
            yield _measured(name, metrics.fresh(name), texts, clock)


def sample(texts: Sequence[TextPair], seed: int, size: int = SAMPLE) -> list[TextPair]:
    """At most `size` of the unique pairs: the same ones for every metric, in every order of the texts."""
    unique = sorted(set(texts))
    return unique if len(unique) <= size else random.Random(seed).sample(unique, size)


def write_costs(costs: Sequence[Cost], path: Path) -> Path:
    """Write costs as CSV, one row a metric; what is not known is empty."""
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
    """For each result, its headline measure against what the metrics cost: speed, and money where any is paid."""
    from metaeval.report.figures.cost import CostPoint, cost_quality

    drawn: dict[str, Figure] = {}
    looks = metric_looks(results)
    axes = {
        ("speed", "pairs per second of CPU time"): {cost.metric: cost.pairs_per_second for cost in costs},
        ("money", "USD per 1,000 pairs"): {cost.metric: cost.usd_per_1000 for cost in costs},
    }
    for result in results:
        key = protocols[result.protocol].ranked_by([column.key for column in result.columns])
        column = next(one for one in result.columns if one.key == key)
        name = "-".join((result.data.name, result.data.split, result.unit))
        for (kind, axis), known in axes.items():
            points = []
            for row in result.rows:
                cost, found = known.get(row.metric), row.values[column.key]
                if cost and found.value is not None:
                    low, high = (None if end is None else end * column.scale for end in (found.low, found.high))
                    points.append(CostPoint(row.metric, cost, found.value * column.scale, low, high))
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
    # Replies that are stored are not asked again; the others' price holds for all.
    return Cost(name, pairs, None, 1000 * requests_a_pair * float(money) / int(requests))
