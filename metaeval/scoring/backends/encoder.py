"""A transformer encoder over texts: each text once, batches of near-equal length within a token budget."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text: last hidden states, (kept tokens, dimensions) fp32; tokens before the cut, and how many were cut.

    Special tokens are included in all three.
    """

    states: torch.Tensor
    tokens: int
    cut: int


class TextEncoder:
    """A model and its tokenizer, for texts encoded one by one or many at a time with the same result to 1e-6.

    model: a transformers encoder in eval mode, fp32. tokenizer: a `tokenizers.Tokenizer` without truncation and
    padding. max_tokens: the input limit, special tokens included; a longer text loses its end. batch_tokens: texts
    times longest text of a batch. `passes` counts the texts encoded so far.
    """

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int, batch_tokens: int, device: str) -> None:
        self._model = model.to(device)
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._batch_tokens = batch_tokens
        self._device = device
        self.passes = 0

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode texts, in order."""
        ids, cuts = self._tokenise(texts)
        order = sorted(range(len(texts)), key=lambda number: (-len(ids[number]), ids[number]))
        batches = list(_batches(order, lambda number: len(ids[number]), self._batch_tokens))
        found: dict[int, Encoded] = {}
        with one_thread(), ThreadPoolExecutor(_workers(self._device)) as pool:
            encoded = pool.map(lambda batch: self._forward([ids[number] for number in batch]), batches)
            for batch, texts_states in zip(batches, encoded, strict=True):
                for number, states in zip(batch, texts_states, strict=True):
                    found[number] = Encoded(states, len(states) + cuts[number], cuts[number])
        self.passes += len(texts)
        return [found[number] for number in range(len(texts))]

    def _tokenise(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        whole = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        # The closing special token stays when the end is cut.
        kept = [ids if len(ids) <= self._max_tokens else [*ids[: self._max_tokens - 1], ids[-1]] for ids in whole]
        return kept, [len(ids) - len(part) for ids, part in zip(whole, kept, strict=True)]

    def _forward(self, ids: list[list[int]]) -> list[torch.Tensor]:
        import torch

        longest = max(map(len, ids))
        padded = torch.zeros((len(ids), longest), dtype=torch.long)
        mask = torch.zeros((len(ids), longest), dtype=torch.long)
        for row, text in enumerate(ids):
            padded[row, : len(text)] = torch.tensor(text)
            mask[row, : len(text)] = 1
        with torch.inference_mode():
            states = self._model(
                input_ids=padded.to(self._device), attention_mask=mask.to(self._device)
            ).last_hidden_state
        return [states[row, : len(text)].float().clone() for row, text in enumerate(ids)]


def _batches(order: Sequence[int], length: Callable[[int], int], budget: int) -> Iterator[list[int]]:
    """Cut a longest-first order into batches whose first (longest) text times their size stays within the budget."""
    start = 0
    while start < len(order):
        size = max(budget // max(length(order[start]), 1), 1)
        yield list(order[start : start + size])
        start += size


def _workers(device: str) -> int:
    if device.startswith("cuda"):
        return 1
    # The cores this process may use, where the system tells (a pinned run gets one).
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Let each torch operation use one thread, and give the setting back afterwards.

    Batches run side by side instead. Threads inside an operation wait for each other at every step, which on a busy
    machine takes longer than one thread alone; whole batches side by side lose nothing. Nor can the number of cores
    then change a score.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def pick_device(wish: str) -> str:
    """'auto' is the first CUDA device where there is one, else the CPU; anything else is taken as torch names it."""
    import torch

    if wish != "auto":
        return wish
    return "cuda" if torch.cuda.is_available() else "cpu"
