"""SummaC-ZS and SummaC-Conv of the same pairs: ours from one pass, against the official code's two.

    python -m benchmarks.metrics.summac [pairs] [layers] [rounds] [dataset] [data folder]

ALBERT-xlarge's real width with random weights. Its 24 layers share one set of weights, so that time is linear in their
number, and one gives the same ratio: embeddings and the three-label head weigh nothing. The official code is run as it
is: every sentence pair of all documents in batches of 128 as they come (ZS), then again document by document in batches
of 20 (Conv), each batch padded to its longest. How much of that is padding depends on the text: on the mini corpus,
with its even sentences, 1.5 and 1.25 tokens for every one read; on web pages 2 to 4 and 1.4.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

import metaeval
from benchmarks.paired import Way, bounds, compare, pin, processor
from benchmarks.workload import Texts, model_folder, workload
from metaeval.scoring.backends import model_loading
from metaeval.scoring.backends.sentence_splitting import find_splitter
from metaeval.scoring.engine import score_jointly
from metrics_zoo.summac import SummaC, SummaCConv, SummaCZS
from metrics_zoo.summac_image import as_published

GOAL, LIMIT = 7.5, 9.6
# The limit's parts: on the text of the study that set it, the official ZS pass reads 2.05 tokens for one of ours, and
# ZS with Conv 1.6 times that; the rest is an fp32 core's peak over what torch's own path reaches with this model.
LIMIT_LESS_WORK, KERNELS = 3.28, 2.93
SHAPE = "albert-xlarge"


@dataclass
class Job:
    """The ways, ours first, and after each ran: tokens that the models were given, padding included.

    ours: those of each batch.
    """

    ways: dict[str, Way]
    ours: list[int]
    usual: Official

    def less_work(self) -> float:
        """The official code's tokens over ours."""
        return self.usual.padded / sum(self.ours)


def job(pairs: Sequence[Texts], folder: Path, layers: Path) -> Job:
    """`folder` holds the NLI model, `layers` is a file of Conv's trained layers."""

    def same(model: torch.nn.Module) -> torch.nn.Module:
        return model

    ours = _metrics(folder, layers)
    padded: list[int] = []

    def note(_: torch.nn.Module, __: Any, given: dict[str, torch.Tensor]) -> None:
        padded.append(given["input_ids"].numel())

    ours[0].model._model.register_forward_pre_hook(note, with_kwargs=True)
    with mock.patch.object(model_loading, "pack_linears", same), mock.patch.object(model_loading, "plain_gelus", same):
        plain = _metrics(folder, layers)
    usual = Official(folder, layers)
    ways: dict[str, Way] = {
        "ours": lambda: _scores(ours, pairs),
        "ours, torch's own kernels": lambda: _scores(plain, pairs),
        "official, ZS then Conv": lambda: usual.zs(pairs) + usual.conv(pairs),
    }
    return Job(ways, padded, usual)


def _metrics(folder: Path, layers: Path) -> list[SummaC]:
    zs = SummaCZS(SummaCZS.Options(model=folder, fallback=True))
    conv = SummaCConv(SummaCConv.Options(model=folder, fallback=True, conv_weights=layers))
    zs.prepare([], [])  # models are loaded before the clock runs, theirs too
    return [zs, conv]


def _scores(metrics: Sequence[SummaC], pairs: Sequence[Texts]) -> list[float]:
    scored = score_jointly(metrics, pairs)
    return [float(answer.score) for one in scored for answer in one.answers if answer.score is not None]


class Official:
    """What the official code does with a model, on today's transformers, with segment ids."""

    def __init__(self, folder: Path, layers: Path) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self._model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self._tokenizer = as_published(AutoTokenizer.from_pretrained(folder))
        self._layers = torch.load(layers, weights_only=True)
        self._split = find_splitter().split
        self.padded = 0

    def zs(self, pairs: Sequence[Texts]) -> list[float]:
        """All pairs together, in batches of 128."""
        units = [self._units(*pair) for pair in pairs]
        flat = [(one, other) for sources, claims in units for one in sources for other in claims]
        answers = iter(self._probabilities(flat, 128))
        images = [self._image(len(sources), len(claims), answers) for sources, claims in units]
        return [float((image[0].max(0) - image[1].max(0)).mean()) for image in images]

    def conv(self, pairs: Sequence[Texts]) -> list[float]:
        """Pair by pair, in batches of 20."""
        images = []
        for pair in pairs:
            sources, claims = self._units(*pair)
            flat = [(one, other) for one in sources for other in claims]
            images.append(self._image(len(sources), len(claims), iter(self._probabilities(flat, 20))))
        return [self._convolved(image) for image in images]

    def _convolved(self, image: np.ndarray) -> float:
        high = [*np.arange(90, 95) / 100, *np.arange(190, 201) / 200]
        edges = [0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37, *high]
        counts = [np.histogram(image[0, :, claim], edges)[0] for claim in range(image.shape[2])][:10]
        rows = torch.tensor(np.array(counts), dtype=torch.float32)
        unit = rows @ self._layers["mlp.weight"].T + self._layers["mlp.bias"]
        logits = self._layers["layer_final.weight"] @ unit.mean().expand(3) + self._layers["layer_final.bias"]
        return float(logits.softmax(0)[1])

    def _units(self, source: str, statement: str) -> tuple[list[str], list[str]]:
        one, other = ([piece for piece in self._split(text) if len(piece) > 10] for text in (source, statement))
        return one[:100], other

    def _image(self, sources: int, claims: int, answers: Iterator[list[float]]) -> np.ndarray:
        values = [[next(answers) for _ in range(claims)] for _ in range(sources)]
        return np.array(values).transpose(2, 0, 1) if sources and claims else np.zeros((3, 1, 1))

    def _probabilities(self, flat: list[Texts], size: int) -> list[list[float]]:
        found: list[list[float]] = []
        for start in range(0, len(flat), size):
            batch = [list(pair) for pair in flat[start : start + size]]
            given = self._tokenizer(
                batch, padding=True, truncation=True, max_length=500, return_tensors="pt", return_token_type_ids=True
            )
            self.padded += given["input_ids"].numel()
            with torch.no_grad():
                found += self._model(**given).logits.softmax(-1).tolist()
        return found


def main(count: int = 60, layers: int = 1, rounds: int = 3, dataset: str = "mini", data: str | None = None) -> None:
    """Print the table."""
    pin()
    pairs = workload(pairs=count) if dataset == "mini" else _drawn(dataset, data, count)
    with tempfile.TemporaryDirectory() as place:
        conv = Path(place) / "conv.bin"
        torch.save(trained_layers(), conv)
        made = job(pairs, model_folder(SHAPE, num_hidden_layers=layers), conv)
        found = compare(made.ways, rounds)
    print(f"SummaC-ZS and -Conv, {len(pairs)} pairs of {dataset}, {layers} of ALBERT-xlarge's 24 layers, x {rounds}")
    print(*found.lines(), sep="\n")
    ratio, less = found.ratios["official, ZS then Conv"], made.less_work()
    print(f"  {ratio:.1f} x over official = {less:.2f} x fewer tokens x {ratio / less:.2f} x faster on each")
    print(f"  {bounds(GOAL, LIMIT)}")
    if "AMD" in processor():
        reached = f"{less * KERNELS:.1f} x, of which {ratio / less / KERNELS:.0%} are reached"
        print(f"  That is {LIMIT_LESS_WORK} x fewer tokens x {KERNELS} x; on this text the limit is {reached}")


def _drawn(dataset: str, data: str | None, count: int) -> list[Texts]:
    found = [(pair.source, pair.statement) for pair in metaeval.pairs(dataset=dataset, data=data)]
    return random.Random(0).sample(found, count)


def trained_layers() -> dict[str, torch.Tensor]:
    """Layers of the published ones' shape: random, for speed does not depend on them."""
    generator = torch.Generator().manual_seed(7)
    shapes = {"mlp.weight": (1, 23), "mlp.bias": (1,), "layer_final.weight": (2, 3), "layer_final.bias": (2,)}
    return {name: torch.randn(shape, generator=generator) / 2 for name, shape in shapes.items()}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:])
