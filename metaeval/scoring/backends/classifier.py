"""A classifier of pairs of texts (first, second): joined ids, batches of near-equal length, logits in fp32.

The last encoder layer of a BERT-like classifier is computed for the first token alone, which the classifier reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from metaeval.scoring.backends.batches import pad, run_batches
from metaeval.scoring.backends.tokenization import PairIds
from metaeval.scoring.contract import PairScore, Status

if TYPE_CHECKING:
    import torch

Model = TypeVar("Model", bound="torch.nn.Module")

# Encoder layers of transformers that are a self-attention and a feed-forward block of these names, each layer once
# (ALBERT passes the same layer several times, DeBERTa's attention is of another kind).
_LAYERS = frozenset({"BertLayer", "RobertaLayer", "XLMRobertaLayer", "CamembertLayer", "ElectraLayer"})


def first_token_only(model: Model) -> Model:
    """Return the model with a last encoder layer that computes only the first token, which the classifier reads.

    With one query no token needs its own key or value: the query is multiplied with the keys' weights once, and the
    mean state with the values' (the keys' bias is the same in all scores, and cancels in the softmax). The function
    is the same to some 1e-6, and one layer in 24, 12 or 6 is saved. A model of another architecture is not changed.
    The model is changed in place and returned.
    """
    import torch

    class FirstTokenAttention(torch.nn.Module):
        def __init__(self, attention: Any) -> None:
            super().__init__()
            inner = attention.self
            self.heads = inner.num_attention_heads
            self.query, self.output = inner.query, attention.output
            self.keys, self.values = self.by_head(inner.key.weight), self.by_head(inner.value.weight)
            self.bias = inner.value.bias

        def by_head(self, weight: torch.Tensor) -> torch.Tensor:
            dense = weight.to_dense() if weight.is_mkldnn else weight
            return dense.detach().view(self.heads, -1, dense.shape[1])  # (heads, size of a head, width)

        def forward(
            self, states: torch.Tensor, attention_mask: torch.Tensor | None = None, *_: Any, **__: Any
        ) -> tuple[torch.Tensor, None]:
            first = states[:, :1]
            query = self.query(first).view(len(states), self.heads, -1)
            queries = torch.einsum("thd,hdw->thw", query * query.shape[-1] ** -0.5, self.keys)
            scores = queries @ states.mT  # (texts, heads, tokens)
            if attention_mask is not None:
                mask = attention_mask[:, 0, :1]
                scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
            mean = scores.softmax(-1, dtype=torch.float32).to(states.dtype) @ states
            mixed = torch.einsum("thw,hdw->thd", mean, self.values).flatten(1) + self.bias
            return self.output(mixed[:, None], first), None

    layers = getattr(getattr(getattr(model, "base_model", model), "encoder", None), "layer", None)
    last: Any = layers[-1] if layers else None
    if type(last).__name__ in _LAYERS and not last.is_decoder:
        with torch.inference_mode():
            last.attention = FirstTokenAttention(last.attention)
    return model


class Encoder(Protocol):
    """What makes model inputs from pairs of texts: `tokenization.PairTokens`, or a metric's own class."""

    def encode(self, firsts: Sequence[str], seconds: Sequence[str]) -> list[PairIds]:
        """Return one model input per pair (first, second), in order."""


class LogitTable(NamedTuple):
    """A model's output for pairs: logits, (n_pairs, n_classes) fp32 on the CPU; tokens before the cut; tokens cut."""

    values: torch.Tensor
    tokens: list[int]
    cut: list[int]


class PairClassifier:
    """A sequence-classification model over pairs; a pair's logits do not depend on its batch beyond 1e-6.

    model: a transformers model on `device` (see `model_loading.settle`) whose `logits` are read off the first token.
    tokens: turns pairs into ids. batch_tokens: most tokens of a batch, padding included. Each distinct pair of a call
    passes the model once.
    """

    def __init__(self, model: Any, tokens: Encoder, batch_tokens: int, device: str) -> None:
        self.tokens = tokens
        self._model = first_token_only(model)
        self._pad = int(model.config.pad_token_id or 0)
        self._segments = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
        self._batch_tokens = batch_tokens
        self._device = device

    def table(self, firsts: Sequence[str], seconds: Sequence[str]) -> LogitTable:
        """Return the logits of pairs (first, second), in order; (0, 0) without pairs."""
        import torch

        pairs = list(zip(firsts, seconds, strict=True))
        places = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
        if not places:
            return LogitTable(torch.empty(0, 0), [], [])
        inputs = self.tokens.encode([first for first, _ in places], [second for _, second in places])
        rows = run_batches(inputs, lambda pair: len(pair.ids), self._forward, self._batch_tokens, self._device)
        order = [places[pair] for pair in pairs]
        encoded = [inputs[place] for place in order]
        return LogitTable(torch.stack(rows)[order], [pair.tokens for pair in encoded], [pair.cut for pair in encoded])

    def _forward(self, pairs: list[PairIds]) -> Sequence[torch.Tensor]:
        ids, mask = pad([pair.ids for pair in pairs], self._pad, self._device)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self._segments:  # ALBERT's tokenizer leaves them out unless asked, and its scores are wrong without
            inputs["token_type_ids"], _ = pad([pair.segments for pair in pairs], 0, self._device)
        logits: torch.Tensor = self._model(**inputs).logits
        return logits.float().cpu().unbind()


def worded_logits(classifier: PairClassifier, sources: Sequence[str], statements: Sequence[str]) -> LogitTable:
    """Return the logits of the pairs whose statement is not blank, in order; the other pairs have no row."""
    pairs = [(source, text) for source, text in zip(sources, statements, strict=True) if text.strip()]
    return classifier.table([source for source, _ in pairs], [text for _, text in pairs])


def answers_of(statements: Sequence[str], scores: Sequence[float], table: LogitTable) -> list[PairScore]:
    """Return a `PairScore` per statement: EMPTY if blank, else the next of `scores`, with token counts of `table`."""
    answers = (
        PairScore(score, Status.OK, *counts) for score, *counts in zip(scores, table.tokens, table.cut, strict=True)
    )
    return [next(answers) if text.strip() else PairScore(None, Status.EMPTY) for text in statements]
