"""How much time the engine saves on an encoder metric: each text once, v. what is usually done.

    python benchmarks/encode_once.py [pairs]

Times three ways to get the cosine of the same (source, statement) pairs of the mini corpus, interleaved in one process
on one thread, in CPU seconds:

    engine       metaeval's engine: unique texts once, batches of near-equal length
    library      sentence-transformers: encode() on the two columns of pairs, batches of 32 sorted by length
    pair by pair sentence-transformers: encode() on the two texts of each pair

and prints the median ratio to the engine, with the largest difference between the scores.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import distribution

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

import metaeval
from metaeval.scoring.backends import minilm
from metaeval.scoring.engine import score_pairs
from metrics_zoo.minilm import MiniLMCosine, MiniLMOptions

ROUNDS = 3


def main(count: int) -> None:
    """Print the table."""
    torch.set_num_threads(1)
    texts = [(pair.source, pair.statement) for pair in metaeval.pairs(dataset="mini")][:count]
    folder = distribution(minilm.FILES.package).locate_file(minilm.FILES.folder)
    model = SentenceTransformer(str(folder), device="cpu")
    sources, statements = zip(*texts, strict=True)

    def engine() -> np.ndarray:
        metric = MiniLMCosine(MiniLMOptions(max_tokens=256))
        return np.array([answer.score for answer in score_pairs(metric, texts).answers])

    def library() -> np.ndarray:
        one, other = (model.encode(list(side), normalize_embeddings=True) for side in (sources, statements))
        return (one * other).sum(axis=1)

    def pair_by_pair() -> np.ndarray:
        both = (model.encode(list(pair), normalize_embeddings=True) for pair in texts)
        return np.array([one @ other for one, other in both])

    ways: dict[str, Callable[[], np.ndarray]] = {"engine": engine, "library": library, "pair by pair": pair_by_pair}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    scores = {}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.process_time()
            scores[name] = way()
            seconds[name].append(time.process_time() - start)
    print(f"{len(texts)} pairs, {len(set(sources))} sources, {len(set(statements))} statements; median of {ROUNDS}")
    for name in ways:
        ratio = statistics.median(a / b for a, b in zip(seconds[name], seconds["engine"], strict=True))
        apart = np.abs(scores[name] - scores["engine"]).max()
        print(f"{name:<13} {statistics.median(seconds[name]):7.2f} s   {ratio:5.2f} x   scores apart {apart:.1e}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
