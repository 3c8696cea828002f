"""AutoAIS: ours, against ALCE's loop of one pair at a time.

    python -m benchmarks.metrics.autoais [pairs] [layers] [rounds]

T5-large's shape with random weights and an untied vocabulary head, as in T5 1.1; `layers` of encoder and decoder each:
8 of T5-large's 24, because four copies of the model have to lie in memory (the vocabulary head then weighs three times
as much, 2 % of the loop). The T5-XXL of the metric has the same layers, four times as wide. Compared is the two-way
score: over a whole vocabulary a random model gives every piece next to nothing.

    ALCE's loop                    each pair alone through `generate`, two steps (the piece and the end), and the
                                   probability from the first
    one step, one pair at a time   the same without `generate`: one forward pass with one decoder token
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from benchmarks.paired import Way, bounds, compare, pin
from benchmarks.workload import Texts, model_folder, workload
from metaeval.scoring.backends import model_loading, seq2seq
from metaeval.scoring.engine import score_pairs
from metrics_zoo.autoais import AutoAIS

ALCE_LOOP = "ALCE's loop"
GOAL, LIMIT = 2.5, 3.5


def ways(pairs: Sequence[Texts], folder: Path) -> dict[str, Way]:
    """Ours first. Models are loaded beforehand; texts are tokenised anew in every round."""
    metric = loaded(folder)
    with mock.patch.object(model_loading, "pack_linears", lambda model: model):
        own_kernels = loaded(folder)
        unchanged = mock.Mock(side_effect=lambda model: model)
        with (
            mock.patch.object(seq2seq, "lighten", unchanged),
            mock.patch.object(model_loading, "plain_gelus", unchanged),
        ):
            batched = loaded(folder)
    usual = ALCE(folder)
    return {
        "ours": lambda: scores(metric, pairs),
        "ours, torch's own kernels": lambda: scores(own_kernels, pairs),
        "our batches alone, the model as it is": lambda: scores(batched, pairs),
        "one step, one pair at a time": lambda: [usual.one_step(*pair) for pair in pairs],
        ALCE_LOOP: lambda: [usual.generate(*pair) for pair in pairs],
    }


def loaded(folder: Path) -> AutoAIS:
    """The metric with its model in memory."""
    metric = AutoAIS(AutoAIS.Options(model=folder, device="cpu", score="two_way"))
    metric.prepare([], [])
    return metric


def scores(metric: AutoAIS, pairs: Sequence[Texts]) -> list[float]:
    """Scores of the metric, with nothing remembered of earlier rounds."""
    metric.__dict__.pop("prompts", None)
    return [float(answer.score or 0) for answer in score_pairs(metric, pairs).answers]


class ALCE:
    """What ALCE's code does with the model, on today's transformers, in fp32 on the CPU."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self._model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
        self._both = self._tokenizer.convert_tokens_to_ids(["▁", "▁1"])

    def generate(self, source: str, statement: str) -> float:
        """Two steps of greedy generation; a random model would not end by itself."""
        with torch.inference_mode():
            output = self._model.generate(
                **self._read(source, statement),
                do_sample=False,
                min_new_tokens=2,
                max_new_tokens=2,
                output_logits=True,
                return_dict_in_generate=True,
            )
        return float(output.logits[0][0][self._both].softmax(-1)[1])

    def one_step(self, source: str, statement: str) -> float:
        """One forward pass."""
        with torch.inference_mode():
            given = torch.zeros(1, 1, dtype=torch.long)
            logits = self._model(**self._read(source, statement), decoder_input_ids=given, use_cache=False).logits
        return float(logits[0, 0][self._both].softmax(-1)[1])

    def _read(self, source: str, statement: str) -> Any:
        return self._tokenizer(f"premise: {source} hypothesis: {statement}", return_tensors="pt")


def main(count: int, layers: int, rounds: int) -> None:
    """Print the table."""
    pin()
    pairs = workload(count, seed=1)
    folder = model_folder("t5-large", num_layers=layers, num_decoder_layers=layers, initializer_factor=0.3)
    metric = loaded(folder)
    timed = compare(ways(pairs, folder), rounds)
    lengths = [prompt.tokens for prompt in metric.prompts.encode(*zip(*pairs, strict=True))]
    print(
        f"AutoAIS, {count} pairs of {sum(lengths) / count:.0f} tokens, T5-large's width, {layers} + {layers} layers, "
        f"fp32, one thread, median of {rounds}"
    )
    print("\n".join(timed.lines()))
    print(f"  {timed.ratios[ALCE_LOOP]:.2f} x; {bounds(GOAL, LIMIT)}")


if __name__ == "__main__":
    main(*(int(given) for given in [*sys.argv[1:], *("24", "8", "3")[len(sys.argv) - 1 :]]))
