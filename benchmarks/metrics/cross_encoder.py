"""Any cross-encoder against sentence-transformers.

    python -m benchmarks.metrics.cross_encoder [pairs] [rounds]

usual: CrossEncoder.predict, which sorts by length, batches of 32. ours: the metric `nli` through the engine. MiniLM's
shape (384 wide) with 6 and with 12 layers, random weights.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from sentence_transformers import CrossEncoder

from benchmarks.metrics.classifiers import timed_ways
from benchmarks.paired import Paired, Way, bounds, compare, pin
from benchmarks.workload import Texts, model_folder, workload
from metrics_zoo.nli import NLI, NLIOptions

GOAL, LIMIT = 2.3, 3.4
LAYERS = (6, 12)


def ways(pairs: list[Texts], folder: Path) -> dict[str, Way]:
    """Ours, the usual way, ours on torch's own kernels."""
    options = NLIOptions(model=folder, labels="entailment,neutral,contradiction")
    usual = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Softmax(dim=-1))

    def predict() -> list[float]:
        found: list[float] = usual.predict(pairs, show_progress_bar=False)[:, 0].tolist()
        return found

    return timed_ways(lambda: NLI(options), pairs, {"usual: CrossEncoder.predict, batch 32": predict})


def measure(count: int = 320, rounds: int = 3, layers: int = 6) -> Paired:
    """Time the ways on `count` pairs."""
    pin()
    return compare(ways(workload(count), model_folder("minilm-l6", num_hidden_layers=layers)), rounds)


if __name__ == "__main__":
    for depth in LAYERS:
        print(f"Cross-encoder, MiniLM of {depth} layers, {bounds(GOAL, LIMIT)}")
        print("\n".join(measure(*(list(map(int, sys.argv[1:])) or [320]), layers=depth).lines()))
