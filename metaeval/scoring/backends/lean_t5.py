"""T5 for a few decoder tokens: transformers' own model with its cross-attention exchanged for one that does less."""

from __future__ import annotations

from typing import Any

import torch
from transformers.models.t5.modeling_t5 import T5Attention, T5LayerCrossAttention


def lighten(model: Any) -> Any:
    """Exchange a T5's cross-attentions; the same function to some 1e-6. The model is changed in place and returned."""
    for module in list(model.modules()):
        if isinstance(module, T5LayerCrossAttention):
            module.EncDecAttention = AbsorbedAttention(module.EncDecAttention)
    return model


class AbsorbedAttention(torch.nn.Module):
    """T5's cross-attention for a few queries: keys and values of the prompt are never made.

    query . (K state) = (K^T query) . state, and the sum over values V state is V times the sum over states. For one
    query that leaves out two of the projections over all prompt tokens in every decoder layer.
    """

    def __init__(self, attention: T5Attention) -> None:
        super().__init__()
        heads, width = attention.n_heads, attention.d_model
        self.q, self.o = attention.q, attention.o
        self._heads = heads
        self.k = torch.nn.Parameter(attention.k.weight.detach().view(heads, -1, width), requires_grad=False)
        self.v = torch.nn.Parameter(attention.v.weight.detach().view(heads, -1, width), requires_grad=False)

    def forward(
        self,
        hidden_states: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        key_value_states: torch.Tensor,
        **_: Any,
    ) -> tuple[torch.Tensor, None, None]:
        """Attend; hidden_states (rows, queries, width), key_value_states (rows, tokens, width), mask true or 0 at
        what is attended to, (rows, 1, queries or 1, tokens). T5 scales no scores and gives this layer no position bias.
        """
        rows, queries, _width = hidden_states.shape
        asked = self.q(hidden_states).view(rows, queries, self._heads, -1)
        asked = torch.einsum("rqhk,hkw->rhqw", asked, self.k)
        scores = torch.einsum("rhqw,rtw->rhqt", asked, key_value_states)
        if mask is not None and mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        elif mask is not None:
            scores = scores + mask
        found = torch.einsum("rhqt,rtw->rhqw", scores.softmax(-1), key_value_states)
        values = torch.einsum("rhqw,hkw->rqhk", found, self.v)
        return self.o(values.reshape(rows, queries, -1)), None, None
