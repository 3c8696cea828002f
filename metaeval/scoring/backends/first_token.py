"""The last encoder layer of a BERT-like classifier, computed for the first token alone: nothing reads the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

Model = TypeVar("Model", bound="torch.nn.Module")

# Encoder layers of transformers that are a self-attention and a feed-forward block of these names, each layer once
# (ALBERT passes the same layer several times, DeBERTa's attention is of another kind).
_LAYERS = frozenset({"BertLayer", "RobertaLayer", "XLMRobertaLayer", "CamembertLayer", "ElectraLayer"})


def first_token_only(model: Model) -> Model:
    """Let the last layer give one row a text, that of its first token: all that a sequence classifier's head reads.

    With one query no token needs a key or a value of its own: the query is taken through the keys' weights once, and
    the mean state through the values' (the keys' bias moves all scores alike, and falls out of the softmax). The same
    function to some 1e-6, for next to nothing: one layer in 24, 12 or 6 is saved. A model of another architecture is
    left as it is. The model is changed in place and returned.
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
            asked = torch.einsum("thd,hdw->thw", query * query.shape[-1] ** -0.5, self.keys)
            scores = asked @ states.mT  # (texts, heads, tokens)
            if attention_mask is not None:
                mask = attention_mask[:, 0, :1]
                scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
            mean = scores.softmax(-1) @ states
            mixed = torch.einsum("thw,hdw->thd", mean, self.values).flatten(1) + self.bias
            return self.output(mixed[:, None], first), None

    layers = getattr(getattr(getattr(model, "base_model", model), "encoder", None), "layer", None)
    last: Any = layers[-1] if layers else None
    if type(last).__name__ in _LAYERS and not last.is_decoder:
        with torch.inference_mode():
            last.attention = FirstTokenAttention(last.attention)
    return model
