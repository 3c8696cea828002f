"""BARTScore: ours, against the official code's batches of four pairs, at three densities of statements a document.

    python -m benchmarks.metrics.bartscore [pairs] [rounds]

BART-large's real shape, 12 + 12 layers and the whole vocabulary head (fewer layers would distort its share), random
weights. Pairs come statement by statement, as a job lists them: each statement with its documents.

    official, batch 4        each pair anew through encoder and decoder, padded to the longest of its batch; the loss of
                             the model's own head, and the log-softmax over the vocabulary once more
    ours, torch's own kernels
                             our work, the products left to torch: official / this = less work, this / ours = kernels
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from transformers import AutoTokenizer, BartForConditionalGeneration

from benchmarks.paired import Way, bounds, compare, pin
from benchmarks.workload import Texts, model_folder, workload
from metaeval.scoring.backends import model_loading
from metaeval.scoring.backends.tokenization import TextTokens
from metaeval.scoring.engine import score_pairs
from metrics_zoo import bartscore
from metrics_zoo.bartscore import BARTScore

OFFICIAL, OWN_KERNELS = "official, batch 4", "ours, torch's own kernels"
GOALS = {2.4: (3.5, 5.1), 4.0: (4.5, 6.6), 12.0: (6.0, 9.5)}
"""Statements a document -> (goal, physical limit)."""


class Ways:
    """The three ways on one model; models are loaded once, texts are tokenised anew in every round."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self._ours = _loaded(folder)
        with (
            mock.patch.object(model_loading, "pack_linears", lambda model: model),
            mock.patch.object(bartscore, "pack_linears", lambda model: model),
        ):
            self._own_kernels = _loaded(folder)
        self._official = Official(folder)

    def of(self, pairs: Sequence[Texts]) -> dict[str, Way]:
        """Ours first."""
        return {
            "ours": lambda: self._scores(self._ours, pairs),
            OWN_KERNELS: lambda: self._scores(self._own_kernels, pairs),
            OFFICIAL: lambda: self._official.score(pairs),
        }

    def _scores(self, metric: BARTScore, pairs: Sequence[Texts]) -> list[float]:
        metric.model.texts = TextTokens(self._tokenizer)  # nothing is remembered of earlier rounds
        return [float(answer.score or 0) for answer in score_pairs(metric, pairs).answers]

    def lengths(self, pairs: Sequence[Texts]) -> tuple[float, float]:
        """Mean tokens of a pair's source and of its statement."""
        read = self._ours.model.read([text for pair in pairs for text in pair])
        sources, statements = zip(*pairs, strict=True)
        return tuple(sum(read[text].tokens for text in side) / len(pairs) for side in (sources, statements))  # type: ignore[return-value]


class Official:
    """What the official code does with the model, on today's transformers."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self._model: Any = BartForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()

    def score(self, pairs: Sequence[Texts]) -> list[float]:
        """Four pairs at a time, as they come."""
        found: list[float] = []
        for first in range(0, len(pairs), 4):
            found += self._batch(*zip(*pairs[first : first + 4], strict=True))
        return found

    @torch.no_grad()
    def _batch(self, sources: Sequence[str], statements: Sequence[str]) -> list[float]:
        read, judged = self._encode(sources), self._encode(statements)
        labels = judged["input_ids"]
        logits = self._model(input_ids=read["input_ids"], attention_mask=read["attention_mask"], labels=labels).logits
        likely = logits.view(-1, logits.shape[-1]).log_softmax(1)
        pad = self._model.config.pad_token_id
        losses = torch.nn.functional.nll_loss(likely, labels.view(-1), reduction="none", ignore_index=pad)
        means = losses.view(len(sources), -1).sum(1) / judged["attention_mask"].sum(1)
        return [-float(mean) for mean in means]

    def _encode(self, texts: Sequence[str]) -> Any:
        return self._tokenizer(list(texts), max_length=1024, truncation=True, padding=True, return_tensors="pt")


def _loaded(folder: Path) -> BARTScore:
    metric = BARTScore(BARTScore.Options(model=folder, device="cpu"))
    metric.prepare([], [])
    return metric


def main(count: int, rounds: int) -> None:
    """Print the table."""
    pin()
    made = Ways(model_folder("bart-large"))
    print(f"BARTScore, BART-large's shape, fp32, one thread, {count} pairs, median of {rounds}")
    for density, (goal, limit) in GOALS.items():
        pairs = sorted(workload(count, per_source=density, seed=1), key=lambda pair: (pair[1], pair[0]))
        timed = compare(made.of(pairs), rounds)
        source, statement = made.lengths(pairs)
        documents = len({source for source, _ in pairs})
        texts = f"{documents} documents of {source:.0f} tokens, statements of {statement:.0f}"
        print(f"\n{count / documents:.1f} statements a document: {texts}")
        print("\n".join(timed.lines()))
        work, kernels = timed.ratios[OFFICIAL] / timed.ratios[OWN_KERNELS], timed.ratios[OWN_KERNELS]
        print(f"  less work {work:.2f} x, faster kernels {kernels:.2f} x")
        print(f"  {timed.ratios[OFFICIAL]:.2f} x; {bounds(goal, limit)}", flush=True)


if __name__ == "__main__":
    main(*(int(given) for given in [*sys.argv[1:], *("96", "3")[len(sys.argv) - 1 :]]))
