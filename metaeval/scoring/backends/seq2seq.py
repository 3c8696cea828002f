"""An encoder-decoder that encodes each prompt once and decodes one token or a few.

T5's cross-attention is replaced by one that computes less when the decoder reads few tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from transformers.models.t5.modeling_t5 import T5Attention, T5LayerCrossAttention

from metaeval.scoring.backends.batches import allowed_waste, length_batches, pad, run_batches


def lighten(model: Any) -> Any:
    """Return a T5 with cheaper cross-attentions that compute the same to some 1e-6; it is changed in place."""
    for module in list(model.modules()):
        if isinstance(module, T5LayerCrossAttention):
            module.EncDecAttention = AbsorbedAttention(module.EncDecAttention)
    return model


class AbsorbedAttention(torch.nn.Module):
    """T5's cross-attention for a few queries, computed without keys and values of the prompt.

    query . (K state) = (K^T query) . state, and the sum over values V state is V times the sum over states. For one
    query that saves two of the projections over all prompt tokens in every decoder layer.
    """

    def __init__(self, attention: T5Attention) -> None:
        super().__init__()
        heads, width = attention.n_heads, attention.d_model
        self.q, self.o = attention.q, attention.o
        self._heads = heads
        self.k = torch.nn.Parameter(attention.k.weight.detach().view(heads, -1, width), requires_grad=False)
        self.v = torch.nn.Parameter(attention.v.weight.detach().view(heads, -1, width), requires_grad=False)

    def forward(
        self, hidden_states: torch.Tensor, mask: torch.Tensor | None = None, *, key_value_states: torch.Tensor, **_: Any
    ) -> tuple[torch.Tensor, None, None]:
        """Compute attention; hidden_states (rows, queries, width), key_value_states (rows, tokens, width).

        mask: true or 0 for attended tokens, (rows, 1, queries or 1, tokens). T5 does not scale scores.
        """
        rows, queries, _width = hidden_states.shape
        query = self.q(hidden_states).view(rows, queries, self._heads, -1)
        query = torch.einsum("rqhk,hkw->rhqw", query, self.k)
        scores = torch.einsum("rhqw,rtw->rhqt", query, key_value_states)
        if mask is not None:
            hidden = mask.bool() != (mask.dtype == torch.bool)  # neither true nor 0
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1, dtype=torch.float32).to(scores.dtype)  # in fp32 whatever the states are
        mixed = torch.einsum("rhqt,rtw->rhqw", weights, key_value_states)
        values = torch.einsum("rhqw,hkw->rqhk", mixed, self.v)
        return self.o(values.reshape(rows, queries, -1)), None, None


Answer = TypeVar("Answer")

_GROUP = 4  # batches of the encoder whose prompts go to the decoder together


class EncodedPrompts:
    """A batch of encoded prompts that the decoder can read."""

    def __init__(self, owner: Seq2Seq, states: torch.Tensor, mask: torch.Tensor) -> None:
        self._owner, self._states, self._mask = owner, states, mask

    def __len__(self) -> int:
        return len(self._states)

    def first(self) -> torch.Tensor:
        """Return the logits of the first token of each prompt's output, (n_prompts, vocabulary), fp32 on the CPU."""
        return self.after(range(len(self)), [()] * len(self))[:, 0]

    def after(self, rows: Sequence[int], prefixes: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return the logits for each token of the outputs so far of some prompts, and for the next token.

        rows: numbers of the prompts. prefixes: ids of the output of each so far, n_tokens each. Shape: (n_rows,
        n_tokens + 1, vocabulary), fp32, on the CPU.
        """
        chosen = slice(None) if list(rows) == list(range(len(self))) else list(rows)
        return self._owner.decode(self._states[chosen], self._mask[chosen], prefixes)


class Seq2Seq:
    """A transformers encoder-decoder over prompts of token ids; logits do not depend on the batch beyond 1e-5.

    model: on `device` (`model_loading.settle`), with fast cross-attention (`lighten`). batch_tokens: most tokens of a
    batch, padding included.
    """

    def __init__(self, model: Any, batch_tokens: int, device: str) -> None:
        self._model = model
        self._batch_tokens = batch_tokens
        self._device = device

    def ask(self, prompts: Sequence[Sequence[int]], read: Callable[[EncodedPrompts], Sequence[Answer]]) -> list[Answer]:
        """Return one result per prompt, in order. read: returns the results for a group of encoded prompts.

        A group is several batches of the encoder: the decoder reads all its weights for a few tokens a prompt,
        and padding costs it almost nothing.
        """
        # Up to eight cores have a group each. Scores would depend on the number of cores if it were read.
        tokens = max(self._batch_tokens, min(_GROUP * self._batch_tokens, sum(map(len, prompts)) // 8))
        return run_batches(prompts, len, lambda group: read(self._encode(group)), tokens, self._device, waste=1.0)

    def _encode(self, prompts: Sequence[Sequence[int]]) -> EncodedPrompts:
        """Return a group of prompts, in order, encoded; batches with the longest prompts are encoded first."""
        lengths = [len(prompt) for prompt in prompts]
        states = mask = torch.empty(0)
        for batch in length_batches(lengths, self._batch_tokens, allowed_waste(self._device)):
            ids, batch_mask = pad([prompts[number] for number in batch], 0, self._device)
            encoded = self._model.get_encoder()(input_ids=ids, attention_mask=batch_mask).last_hidden_state
            if not len(mask):
                states = encoded.new_zeros(len(prompts), max(lengths), encoded.shape[-1])
                mask = batch_mask.new_zeros(len(prompts), max(lengths))
            states[batch, : ids.shape[1]], mask[batch, : ids.shape[1]] = encoded, batch_mask
        return EncodedPrompts(self, states, mask)

    def decode(self, states: torch.Tensor, mask: torch.Tensor, prefixes: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return the logits of one decoder pass over the start token and prefixes, as `EncodedPrompts.after` does.

        states: of the encoded prompts, (n_rows, n_prompt_tokens, width). mask: 1 for their tokens, 0 for padding.
        """
        start = self._model.config.decoder_start_token_id
        ids = torch.tensor([[start, *tokens] for tokens in prefixes], dtype=torch.long, device=self._device)
        output = self._model(encoder_outputs=(states,), attention_mask=mask, decoder_input_ids=ids, use_cache=False)
        logits: torch.Tensor = output.logits
        return logits.float().cpu()
