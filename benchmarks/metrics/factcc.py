"""FactCC against its official way.

    python -m benchmarks.metrics.factcc [pairs] [rounds]

usual: pairs as they come, each padded to 512 tokens, batches of 8; attention step by step as in the official code's
pytorch_transformers 1.0.0, and once more with today's fused attention. ours: the metric through the engine. A bert-base
of real shape with random weights.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertForSequenceClassification

from benchmarks.metrics.classifiers import timed_ways
from benchmarks.paired import Paired, Way, bounds, compare, pin
from benchmarks.workload import Texts, model_folder, workload
from metrics_zoo.factcc import FactCC

GOAL, LIMIT = 7.5, 10.4


class Usual:
    """The official procedure on plain torch (no pair of this workload reaches the limit, so truncation is moot)."""

    def __init__(self, folder: Path, attention: str) -> None:
        load = BertForSequenceClassification.from_pretrained
        self.model = load(folder, dtype=torch.float32, attn_implementation=attention).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def __call__(self, pairs: list[Texts]) -> list[float]:
        """P(CORRECT), batches of 8."""
        return [score for start in range(0, len(pairs), 8) for score in self.batch(pairs[start : start + 8])]

    @torch.no_grad()
    def batch(self, pairs: list[Texts]) -> list[float]:
        """P(CORRECT) of some pairs, each padded to 512 tokens."""
        sources, statements = zip(*pairs, strict=True)
        cut = {"truncation": "longest_first", "max_length": 512, "padding": "max_length"}
        given = self.tokenizer(list(sources), list(statements), return_tensors="pt", **cut)
        found: list[float] = self.model(**given).logits.softmax(-1)[:, 0].tolist()
        return found


def ways(pairs: list[Texts], folder: Path) -> dict[str, Way]:
    """Ours, the usual way with and without fused attention, ours on torch's own kernels."""
    usual, fused = Usual(folder, "eager"), Usual(folder, "sdpa")
    others = {"usual: pad 512, batch 8": lambda: usual(pairs), "usual, with fused attention": lambda: fused(pairs)}
    return timed_ways(lambda: FactCC(FactCC.Options(model=folder)), pairs, others)


def measure(count: int = 64, rounds: int = 3) -> Paired:
    """Time the ways on `count` pairs."""
    pin()
    return compare(ways(workload(count), model_folder("bert-base")), rounds)


if __name__ == "__main__":
    print(f"FactCC, {bounds(GOAL, LIMIT)}")
    print("\n".join(measure(*map(int, sys.argv[1:])).lines()))
