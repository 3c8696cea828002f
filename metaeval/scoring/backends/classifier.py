"""A classifier over (first, second) text pairs: joined ids, batches of near-equal length, logits in fp32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.scoring.backends.batches import Work, pad, run_batches
from metaeval.scoring.backends.tokens import PairIds, PairTokens

if TYPE_CHECKING:
    import torch


class Logits(NamedTuple):
    """What the model said of one pair: logits, (classes,) fp32 on the CPU; tokens before the cut, and how many cut."""

    values: torch.Tensor
    tokens: int
    cut: int


class PairClassifier:
    """A sequence-classification model over pairs; a pair's logits do not depend on its batch beyond 1e-6.

    model: a transformers model whose output has `logits`, settled on `device`. tokens: how pairs become ids.
    batch_tokens: tokens of a batch, padding included. `work` counts what was passed so far.
    """

    def __init__(self, model: Any, tokens: PairTokens, batch_tokens: int, device: str) -> None:
        self.tokens = tokens
        self.work = Work()
        self._model = model
        self._pad = int(model.config.pad_token_id or 0)
        self._segments = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
        self._batch_tokens = batch_tokens
        self._device = device

    def logits(self, firsts: Sequence[str], seconds: Sequence[str]) -> list[Logits]:
        """Classify pairs, in order."""
        pairs = self.tokens.encode(firsts, seconds)
        rows = run_batches(pairs, _length, self._forward, self._batch_tokens, self._device, self.work)
        return [Logits(row, pair.tokens, pair.cut) for row, pair in zip(rows, pairs, strict=True)]

    def _forward(self, pairs: list[PairIds]) -> Sequence[torch.Tensor]:
        import torch

        ids, mask = pad([pair.ids for pair in pairs], self._pad, self._device)
        given = {"input_ids": ids, "attention_mask": mask}
        if self._segments:  # ALBERT's tokenizer leaves them out unless asked, and its scores are wrong without
            given["token_type_ids"], _ = pad([pair.segments for pair in pairs], 0, self._device)
        with torch.inference_mode():
            logits: torch.Tensor = self._model(**given).logits
        return logits.float().cpu().unbind()


def _length(pair: PairIds) -> int:
    return len(pair.ids)
