"""Tell the levels apart on four human-labelled sets, each statement against its whole page: the table of the card.

    python -m benchmarks.support_mini.four_sets --data ../shared/data

It takes minutes for MiniLM; scores are kept in the store of `--results`. The sets are for final figures: nothing is
chosen by them. Values are ROC-AUC of full against none, full against partial, partial against none, and their mean,
with cluster intervals. Each metric is compared with overlap and minilm-bertscore on the mean: paired difference with
its interval, and p of a paired cluster permutation, adjusted by Holm over the eight differences of a metric.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import metaeval
from metaeval.core.errors import UserError
from metaeval.report.result import Comparison, Result
from metaeval.stats.significance import holm

SETS = (("wice", "test"), ("factcheck_gpt", "all"), ("qasem", "test"), ("expertqa", "rand_test"))
RIVALS = ("overlap", "minilm-bertscore")
METRICS = ("support-mini",)
MEASURES = {"fs_ns": "FS-NS", "fs_ps": "FS-PS", "ps_ns": "PS-NS", "overall": "mean"}


@dataclass(frozen=True)
class Difference:
    """A metric less a rival on one set, in the mean of the three AUCs; holm: p adjusted over the metric's eight.

    low, high: None where the set has too few groups for an interval.
    """

    dataset: str
    metric: str
    rival: str
    value: float
    low: float | None
    high: float | None
    p: float
    holm: float


def differences(results: Mapping[str, Result], metric: str) -> list[Difference]:
    """A metric against every rival on every set."""
    found = [(name, *_held_apart(result, metric, rival)) for name, result in results.items() for rival in RIVALS]
    adjusted = holm(np.array([pair.p for _, _, pair, _ in found], dtype=np.float64))
    return [
        Difference(name, metric, rival, sign * pair.difference, *_ends(pair, sign), pair.p, p)
        for (name, rival, pair, sign), p in zip(found, adjusted.tolist(), strict=True)
    ]


def _held_apart(result: Result, metric: str, rival: str) -> tuple[str, Comparison, int]:
    for pair in result.significance.comparisons:
        if pair.measure == "overall" and {pair.one, pair.other} == {metric, rival}:
            return rival, pair, 1 if pair.one == metric else -1
    raise KeyError(f"{metric} and {rival} were not compared")


def _ends(pair: Comparison, sign: int) -> tuple[float | None, float | None]:
    if pair.low is None or pair.high is None:
        return None, None
    return (pair.low, pair.high) if sign > 0 else (-pair.high, -pair.low)


def evaluated(metrics: Sequence[str], data: Path | None, results: Path) -> dict[str, Result]:
    """The classification protocol's result on each set."""
    settings = {
        "data": data,
        "metrics": [*RIVALS, *metrics],
        "unit": "page",
        "protocols": ["classification"],
        "controls": False,
        "results": results,
    }
    return {name: metaeval.run(dataset=name, split=split, **settings)[0] for name, split in SETS}


def shared_answers(data: Path | None) -> set[str]:
    """The answers of ExpertQA that stand in both rand_val and rand_test."""
    val, test = (metaeval.load_corpus("expertqa", split=split, data=data) for split in ("rand_val", "rand_test"))
    return {one.group for one in val.statements.values()} & {one.group for one in test.statements.values()}


def show(results: Mapping[str, Result], metrics: Sequence[str]) -> None:
    """Print both tables as Markdown."""
    print(f"| set | metric | {' | '.join(MEASURES.values())} |", "| --- " * (2 + len(MEASURES)) + "|", sep="\n")
    for name, result in results.items():
        for row in result.rows:
            cells = [_with_ends(one.value, one.low, one.high, ".1f") for one in map(row.values.get, MEASURES)]
            print(f"| {name} ({row.scored:,}) | {row.metric} | {' | '.join(cells)} |")
    for metric in (*RIVALS, *metrics):
        mean = np.mean(
            [row.values["overall"].value for one in results.values() for row in one.rows if row.metric == metric]
        )
        print(f"| mean of the sets | {metric} | | | | {100 * mean:.1f} |")
    print("\n| metric | less | set | difference of the means | p | p by Holm |", "| --- " * 6 + "|", sep="\n")
    for metric in metrics:
        for one in differences(results, metric):
            value = _with_ends(one.value, one.low, one.high, "+.1f")
            print(f"| {metric} | {one.rival} | {one.dataset} | {value} | {one.p:.4f} | {one.holm:.4f} |")


def _with_ends(value: float, low: float | None, high: float | None, form: str) -> str:
    """A share as a percentage, with its interval where there is one."""
    ends = "" if low is None or high is None else f" [{100 * low:{form}}, {100 * high:{form}}]"
    return f"{100 * value:{form}}{ends}"


def main() -> None:
    """Score, evaluate, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the published data sets; without it they are downloaded")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the score store")
    parser.add_argument("--metrics", nargs="+", default=list(METRICS), help="metrics to hold against the two rivals")
    asked = parser.parse_args()
    try:
        if shared := shared_answers(asked.data):
            raise SystemExit(f"{len(shared)} answers of ExpertQA stand in rand_val and in rand_test.")
        results = evaluated(asked.metrics, asked.data, asked.results)
    except UserError as error:
        raise SystemExit(str(error)) from error
    show(results, asked.metrics)


if __name__ == "__main__":
    main()
