"""A classifier over (first, second) text pairs: joined ids, batches of near-equal length, logits in fp32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from metaeval.scoring.backends.batches import Work, pad, run_batches
from metaeval.scoring.backends.first_token import first_token_only
from metaeval.scoring.backends.tokens import PairIds

if TYPE_CHECKING:
    import torch


class Encoder(Protocol):
    """Makes model inputs of pairs, in order: `tokens.PairTokens`, or a metric's own template."""

    def encode(self, firsts: Sequence[str], seconds: Sequence[str]) -> list[PairIds]:
        """One input per pair."""


class Logits(NamedTuple):
    """What the model said of one pair: logits, (classes,) fp32 on the CPU; tokens before the cut, and how many cut."""

    values: torch.Tensor
    tokens: int
    cut: int


class Table(NamedTuple):
    """What the model said of pairs: logits, (pairs, classes) fp32 on the CPU; tokens before the cut; how many cut."""

    values: torch.Tensor
    tokens: list[int]
    cut: list[int]


class PairClassifier:
    """A sequence-classification model over pairs; a pair's logits do not depend on its batch beyond 1e-6.

    model: a transformers model whose output has `logits`, read off the first token, settled on `device`. tokens: how
    pairs become ids. batch_tokens: tokens of a batch, padding included. Each distinct pair of a call passes the model
    once; `work` counts what was passed so far.
    """

    def __init__(self, model: Any, tokens: Encoder, batch_tokens: int, device: str) -> None:
        self.tokens = tokens
        self.work = Work()
        self._model = first_token_only(model)
        self._pad = int(model.config.pad_token_id or 0)
        self._segments = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
        self._batch_tokens = batch_tokens
        self._device = device

    def logits(self, firsts: Sequence[str], seconds: Sequence[str]) -> list[Logits]:
        """Classify pairs, in order."""
        table = self.table(firsts, seconds)
        return [Logits(*row) for row in zip(table.values.unbind(), table.tokens, table.cut, strict=True)]

    def table(self, firsts: Sequence[str], seconds: Sequence[str]) -> Table:
        """Classify pairs, in order, as one table."""
        import torch

        asked = list(zip(firsts, seconds, strict=True))
        places = {pair: place for place, pair in enumerate(dict.fromkeys(asked))}
        if not places:
            return Table(torch.empty(0, 0), [], [])
        inputs = self.tokens.encode([one for one, _ in places], [other for _, other in places])
        rows = run_batches(inputs, _length, self._forward, self._batch_tokens, self._device, self.work)
        order = [places[pair] for pair in asked]
        return Table(
            torch.stack(rows)[order], [inputs[place].tokens for place in order], [inputs[place].cut for place in order]
        )

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
