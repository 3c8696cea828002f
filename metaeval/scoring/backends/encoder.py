"""A transformer encoder over texts: each text once, batches of near-equal length within a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metaeval.scoring.backends.batches import Work, pad, run_batches

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
    times longest text of a batch. `work` counts what was encoded so far.
    """

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int, batch_tokens: int, device: str) -> None:
        self._model = model.to(device)
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._batch_tokens = batch_tokens
        self._device = device
        self.work = Work()

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode texts, in order."""
        ids, cuts = self._tokenise(texts)
        encoded = run_batches(ids, len, self._forward, self._batch_tokens, self._device, self.work)
        return [Encoded(states, len(states) + cut, cut) for states, cut in zip(encoded, cuts, strict=True)]

    def _tokenise(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        whole = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        # The closing special token stays when the end is cut.
        kept = [ids if len(ids) <= self._max_tokens else [*ids[: self._max_tokens - 1], ids[-1]] for ids in whole]
        return kept, [len(ids) - len(part) for ids, part in zip(whole, kept, strict=True)]

    def _forward(self, ids: list[list[int]]) -> list[torch.Tensor]:
        import torch

        padded, mask = pad(ids, 0, self._device)
        with torch.inference_mode():
            states = self._model(input_ids=padded, attention_mask=mask).last_hidden_state
        return [states[row, : len(text)].float().clone() for row, text in enumerate(ids)]
