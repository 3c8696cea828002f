"""BERTScore precision: ours, against the official package's one call over everything and calls of 16 pairs.

    python -m benchmarks.metrics.bertscore [pairs] [layers] [rounds]

DeBERTa-xlarge's real width (1,024, 16 heads, 4,096), random weights, and by default 4 of its 40 layers: nothing but an
embedding table stands outside the layers, so that the ratio is theirs. With fewer layers the matching of tokens counts
for more than it does (its share of each way is printed). Pairs come statement by statement, as a job lists them.

    official, one call     unique texts sorted by words, 64 at a time, padded; all states kept; pairs matched so too
    official, calls of 16  the same, called for 16 pairs at a time, as a loop over statements does
    ours, torch's own kernels
                           our work with the products left to torch: official / this = less work, this / ours = kernels
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModel, AutoTokenizer

from benchmarks.paired import Way, bounds, compare, pin
from benchmarks.workload import Texts, model_folder, workload
from metaeval.scoring.backends import deberta, model_loading
from metaeval.scoring.engine import score_pairs
from metrics_zoo import bertscore
from metrics_zoo.bertscore import BERTScore

ONE_CALL, CALLS, OWN_KERNELS = "official, one call", "official, calls of 16", "ours, torch's own kernels"
GOALS = {ONE_CALL: (3.5, 5.2), CALLS: (6.0, 9.4)}
"""Way -> (goal, physical limit)."""
PER_SOURCE = 1.95
"""Statements a source, as in the workload that the goals were set on (1,297 pairs of 664 sources)."""


class Ways:
    """The four ways on one model; models are loaded once, texts are tokenised anew in every round."""

    def __init__(self, folder: Path, layers: int) -> None:
        self._ours = _loaded(folder, layers)
        with mock.patch.object(model_loading, "pack_linears", lambda model: model):
            self._own_kernels = _loaded(folder, layers)
        self._official = Official(folder, layers)

    def of(self, pairs: Sequence[Texts]) -> dict[str, Way]:
        """Ours first."""
        return {
            "ours": lambda: _scores(self._ours, pairs),
            OWN_KERNELS: lambda: self._without_kernels(pairs),
            ONE_CALL: lambda: self._official.score(pairs),
            CALLS: lambda: [
                score for first in range(0, len(pairs), 16) for score in self._official.score(pairs[first : first + 16])
            ],
        }

    def tokens(self, texts: Sequence[str]) -> int:
        """Tokens of texts."""
        return sum(map(len, self._ours.backbone.encoder.tokenise(texts)[0]))

    def matching(self, pairs: Sequence[Texts]) -> str:
        """CPU seconds of the matching of tokens, ours and official."""
        taken = 0.0
        match = bertscore.match_pairs

        def timed(*given: Any) -> list[tuple[float, float]]:
            nonlocal taken
            start = time.process_time()
            found = match(*given)
            taken += time.process_time() - start
            return found

        with mock.patch.object(bertscore, "match_pairs", timed):
            _scores(self._ours, pairs)
        self._official.score(pairs)
        return f"matching of tokens: ours {taken:.2f} s, official {self._official.matching:.2f} s"

    def _without_kernels(self, pairs: Sequence[Texts]) -> list[float]:
        with mock.patch.object(deberta, "_product", lambda one, other: torch.bmm(one, other.transpose(1, 2))):
            return _scores(self._own_kernels, pairs)


class Official:
    """What the official package does with the model, on today's transformers; `matching` is its last step's time."""

    def __init__(self, folder: Path, layers: int) -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        config = AutoConfig.from_pretrained(folder)
        config.num_hidden_layers = layers
        self._model: Any = AutoModel.from_pretrained(folder, config=config, dtype=torch.float32).eval()
        self.matching = 0.0

    @torch.no_grad()
    def score(self, pairs: Sequence[Texts]) -> list[float]:
        """One call: everything is embedded, then everything is matched."""
        unique = sorted({text for pair in pairs for text in pair}, key=lambda text: (-len(text.split(" ")), text))
        states: dict[str, torch.Tensor] = {}
        for first in range(0, len(unique), 64):
            batch = unique[first : first + 64]
            read = self._tokenizer(batch, max_length=512, truncation=True, padding=True, return_tensors="pt")
            ids, mask = read["input_ids"], read["attention_mask"]
            for text, row, own in zip(batch, self._model(ids, attention_mask=mask)[0], mask, strict=True):
                states[text] = row[: int(own.sum())]
        start = time.process_time()
        found: list[float] = []
        for first in range(0, len(pairs), 64):
            found += self._match(states, pairs[first : first + 64])
        self.matching = time.process_time() - start
        return found

    def _match(self, states: dict[str, torch.Tensor], pairs: Sequence[Texts]) -> list[float]:
        source, there = _padded([states[source] for source, _ in pairs])
        statement, here = _padded([states[statement] for _, statement in pairs])
        weights = here.clone()
        for row, (_, text) in enumerate(pairs):
            weights[row, [0, len(states[text]) - 1]] = 0
        near = torch.bmm(_unit(statement), _unit(source).transpose(1, 2))
        near = near * torch.bmm(here.unsqueeze(2), there.unsqueeze(1))
        _recall = near.max(dim=1)[0]
        precision = (near.max(dim=2)[0] * weights / weights.sum(1, keepdim=True)).sum(1)
        return [float(score) for score in precision]


def _unit(states: torch.Tensor) -> torch.Tensor:
    unit: torch.Tensor = states / states.norm(dim=-1, keepdim=True)
    return unit


def _padded(rows: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    ones = [torch.ones(len(row)) for row in rows]
    return pad_sequence(list(rows), batch_first=True, padding_value=2.0), pad_sequence(ones, batch_first=True)


def _loaded(folder: Path, layers: int) -> BERTScore:
    metric = BERTScore(BERTScore.Options(model=folder, layer=layers, device="cpu"))
    metric.prepare([], [])
    return metric


def _scores(metric: BERTScore, pairs: Sequence[Texts]) -> list[float]:
    return [float(answer.score or 0) for answer in score_pairs(metric, pairs).answers]


def main(count: int, layers: int, rounds: int) -> None:
    """Print the table."""
    pin()
    made = Ways(model_folder("deberta-xlarge", num_hidden_layers=layers), layers)
    pairs = sorted(workload(count, per_source=PER_SOURCE, seed=1), key=lambda pair: (pair[1], pair[0]))
    sources, statements = (sorted(set(side)) for side in zip(*pairs, strict=True))
    print(
        f"BERTScore precision, DeBERTa-xlarge's width, {layers} layers, fp32, one thread, median of {rounds}\n"
        f"{count} pairs of {len(sources)} sources of {made.tokens(sources) / len(sources):.0f} tokens and "
        f"{len(statements)} statements of {made.tokens(statements) / len(statements):.0f}"
    )
    timed = compare(made.of(pairs), rounds)
    print("\n".join(timed.lines()))
    for way, (goal, limit) in GOALS.items():
        work, kernels = timed.ratios[way] / timed.ratios[OWN_KERNELS], timed.ratios[OWN_KERNELS]
        parts = f"less work {work:.2f} x, faster kernels {kernels:.2f} x"
        print(f"  {way}: {timed.ratios[way]:.2f} x ({parts}); {bounds(goal, limit)}")
    print(f"  {made.matching(pairs)}", flush=True)


if __name__ == "__main__":
    main(*(int(given) for given in [*sys.argv[1:], *("170", "4", "3")[len(sys.argv) - 1 :]]))
