"""AlignScore against its official way.

    python -m benchmarks.metrics.alignscore [pairs] [rounds]

usual: one pair after the other as the official code goes: NLTK sentences, chunks x sentences in batches of 32 padded to
512 tokens, encoder and vocabulary head run on all of them (the head's output is dropped); attention step by step as in
the versions of transformers that the official package asks for, and once more with today's fused attention. ours: the
metric through the engine. A roberta-large of real shape with random weights, all 24 layers: the head weighs as much as
it does in truth.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, RobertaConfig, RobertaForMaskedLM

from benchmarks.metrics.classifiers import timed_ways
from benchmarks.paired import Paired, Way, bounds, compare, pin
from benchmarks.workload import SHAPES, Texts, save_tokenizer, workload
from metaeval.core.files import cache_folder
from metaeval.scoring.backends.sentence_splitting import find_splitter
from metrics_zoo.alignscore import AlignScore, AlignScoreOptions

GOAL, LIMIT = 8.0, 10.8


def checkpoint_folder(**config: Any) -> Path:
    """A folder as users have it: AlignScore-large.ckpt, and roberta-large's configuration and tokenizer; made once."""
    path = cache_folder() / "benchmarks" / "-".join(["alignscore", *(f"{key}{value}" for key, value in config.items())])
    if not (path / "AlignScore-large.ckpt").exists():
        torch.manual_seed(0)
        shape = RobertaConfig(**{**SHAPES["roberta-large"][2], **config})
        whole = RobertaForMaskedLM(shape)
        state = {f"base_model.{name}": value for name, value in whole.roberta.state_dict().items()}
        heads = {"base_model.pooler.dense": shape.hidden_size, "bin_layer": 2, "tri_layer": 3, "reg_layer": 1}
        for name, size in heads.items():
            layer = torch.nn.Linear(shape.hidden_size, size)
            state |= {f"{name}.weight": layer.weight.data, f"{name}.bias": layer.bias.data}
        state |= {f"mlm_head.{name}": value for name, value in whole.lm_head.state_dict().items()}
        save_tokenizer("roberta", path)
        shape.save_pretrained(path)
        torch.save({"state_dict": state}, path / "AlignScore-large.ckpt")
    return path


class Usual:
    """The official procedure on plain torch."""

    def __init__(self, folder: Path, attention: str) -> None:
        state = torch.load(folder / "AlignScore-large.ckpt", weights_only=True, mmap=True)["state_dict"]
        config = RobertaConfig.from_pretrained(folder, attn_implementation=attention)
        whole = RobertaForMaskedLM(config).eval()
        whole.roberta.load_state_dict(part(state, "base_model"), strict=False)
        whole.lm_head.load_state_dict(part(state, "mlm_head"))
        self.encoder, self.vocabulary_head = whole.roberta, whole.lm_head
        self.pooler, self.head = part(state, "base_model.pooler.dense"), part(state, "tri_layer")
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.split = find_splitter().split

    def __call__(self, pairs: list[Texts]) -> list[float]:
        """P(ALIGNED), best chunk, mean over sentences; pair by pair."""
        return [self.pair(*pair) for pair in pairs]

    def pair(self, source: str, statement: str) -> float:
        """One pair: chunks of about 350 words against sentences."""
        units, claims = self.split(source) or [""], self.split(statement)
        size = max(len(units) // (len(source.split()) // 350 + 1), 1)
        chunks = [" ".join(units[start : start + size]) for start in range(0, len(units), size)]
        cells = [(chunk, claim) for chunk in chunks for claim in claims]
        found = [self.batch(cells[start : start + 32]) for start in range(0, len(cells), 32)]
        return float(torch.cat(found).view(len(chunks), len(claims)).amax(0).mean())

    @torch.no_grad()
    def batch(self, cells: list[Texts]) -> torch.Tensor:
        """P(ALIGNED) of some pairs, each padded to 512 tokens."""
        chunks, claims = zip(*cells, strict=True)
        cut = {"truncation": "only_first", "max_length": 512, "padding": "max_length"}
        given = self.tokenizer(list(chunks), list(claims), return_tensors="pt", **cut)
        states = self.encoder(input_ids=given["input_ids"], attention_mask=given["attention_mask"]).last_hidden_state
        self.vocabulary_head(states)
        pooled = torch.tanh(torch.nn.functional.linear(states[:, 0], self.pooler["weight"], self.pooler["bias"]))
        logits = torch.nn.functional.linear(pooled, self.head["weight"], self.head["bias"])
        return logits.softmax(-1)[:, 0]


def part(state: dict[str, torch.Tensor], name: str) -> dict[str, torch.Tensor]:
    """The entries of one module, under their own names."""
    return {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}


def ways(pairs: list[Texts], folder: Path) -> dict[str, Way]:
    """Ours, the usual way with and without fused attention, ours on torch's own kernels."""
    usual, fused = Usual(folder, "eager"), Usual(folder, "sdpa")
    others = {
        "usual: pad 512, vocabulary head, pair by pair": lambda: usual(pairs),
        "usual, with fused attention": lambda: fused(pairs),
    }
    return timed_ways(lambda: AlignScore(AlignScoreOptions(model=folder)), pairs, others)


def measure(count: int = 24, rounds: int = 3) -> Paired:
    """Time the ways on `count` pairs."""
    pin()
    return compare(ways(workload(count), checkpoint_folder()), rounds)


if __name__ == "__main__":
    print(f"AlignScore, {bounds(GOAL, LIMIT)}")
    print("\n".join(measure(*map(int, sys.argv[1:])).lines()))
