"""Extract short answers from contexts with a question-answering model, from the best span of each context's windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.core.errors import UserError
from metaeval.stats.arrays import Bools

# Maps (question, context) pairs to short answers, in order; an empty text where the context holds none.
QaReader = Callable[[Sequence[tuple[str, str]]], Sequence[str]]

Float32s = NDArray[np.float32]

_TOKENS = 384
_STRIDE = 128
_LONGEST_ANSWER = 15
_BATCH = 16  # windows of one pass
_CLOSED = np.float32(-10000.0)


# A window of a context, with the question before it: (its tokens, an `Encoding` of the tokenizers library; (tokens,)
# True where a short answer may begin and end: at tokens of the context, and at the classification token, "no answer").
ContextWindow: TypeAlias = "tuple[Any, Bools]"

# The best short answer of a window: indices of its first and last token, its probability and that of no answer.
AnswerSpan: TypeAlias = tuple[int, int, float, float]


def extractive_reader(model: Any, tokenizer: Any) -> QaReader:
    """Return a function that answers questions from contexts with a question-answering model.

    model: a transformers model with a question-answering head, in eval mode. tokenizer: its fast tokenizer. A long
    context is read in windows of 384 tokens with the question, 128 shared by neighbours (fewer where the
    tokenizer's limit is lower); an answer has at most 15 tokens and ends at word borders.

    Raises `UserError` for a tokenizer that is slow or pads on the left. The function raises `UserError` for a
    question that leaves no room for its context.
    """
    if not tokenizer.is_fast or tokenizer.padding_side != "right":
        raise UserError(f"{type(tokenizer).__name__} is not a fast tokenizer that pads on the right: name another.")

    def read(pairs: Sequence[tuple[str, str]]) -> list[str]:
        windows = [_windows(tokenizer, *pair) for pair in pairs]
        spans = iter(_best_spans(model, tokenizer, list(chain(*windows))))
        return [
            _answer(context, [(window, next(spans)) for window in context_windows])
            for (_, context), context_windows in zip(pairs, windows, strict=True)
        ]

    return read


def best_span(start: Float32s, end: Float32s, open: Bools) -> AnswerSpan:
    """Return the best answer of one window, of at most 15 tokens; of equally good ones the first.

    start, end: the model's logits, (tokens,). open: see `ContextWindow`. Probabilities are over the open tokens. The
    probability of no answer is that of the first token as beginning and end, so that token takes no part in the search
    for an answer.
    """
    begins, ends = _softmax(start, open), _softmax(end, open)
    none = float(begins[0] * ends[0])
    begins[0] = 0
    product = np.tril(np.triu(np.outer(begins, ends)), _LONGEST_ANSWER - 1)
    first, last = np.unravel_index(np.argmax(product), product.shape)
    return int(first), int(last), float(product[first, last]), none


def _softmax(logits: Float32s, open: Bools) -> Float32s:
    # In float32, as published: the order decides between probabilities that are equal in float32.
    kept = np.where(open, logits, _CLOSED)
    powers = np.exp(kept - kept.max())
    shares: Float32s = powers / powers.sum()
    return shares


def _answer(context: str, spans: Sequence[tuple[ContextWindow, AnswerSpan]]) -> str:
    """Return the most probable answer of all windows; empty if every window finds "no answer" more probable than it."""
    (encoding, _), (first, last, score, _) = max(spans, key=lambda pair: pair[1][2])
    if min(none for _, (*_, none) in spans) > score:
        return ""
    # Extended to the whole words at either end; a token outside all words of the context has its offsets alone.
    words = [encoding.token_to_word(place) for place in (first, last)]
    start, end = (None if word is None else encoding.word_to_chars(word, 1) for word in words)
    if start is None or end is None:
        start, end = encoding.offsets[first], encoding.offsets[last]
    return context[start[0] : end[1]]


def _windows(tokenizer: Any, question: str, context: str) -> list[ContextWindow]:
    limit = min(tokenizer.model_max_length, _TOKENS)
    stride = min(limit // 2, _STRIDE)
    # The tokenizers library panics where a window would hold only tokens that its neighbours share.
    question_tokens = len(tokenizer(question, "")["input_ids"])
    if question_tokens + stride >= limit and len(tokenizer(question, context)["input_ids"]) > limit:
        raise UserError(f"The question {question[:60]!r} ... is too long: shorten its {question_tokens} tokens.")
    encoded = tokenizer(
        question,
        context,
        truncation="only_second",
        max_length=limit,
        stride=stride,
        return_overflowing_tokens=True,
    )
    windows = []
    for encoding in encoded.encodings:
        of_context = np.array([number == 1 for number in encoding.sequence_ids])
        none = np.array(encoding.ids) == tokenizer.cls_token_id
        windows.append((encoding, of_context | none))
    return windows


def _best_spans(model: Any, tokenizer: Any, windows: Sequence[ContextWindow]) -> list[AnswerSpan]:
    """Return the best answer of each window, in order; windows of similar length share a batch."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    order = sorted(range(len(windows)), key=lambda number: -len(windows[number][0].ids))
    spans: dict[int, AnswerSpan] = {}
    for begin in range(0, len(order), _BATCH):
        numbers = order[begin : begin + _BATCH]
        encodings = [windows[number][0] for number in numbers]
        # The model's inputs by name, padded on the right: (encodings, tokens of the longest one) each.
        rows = {
            "input_ids": ([encoding.ids for encoding in encodings], tokenizer.pad_token_id),
            "attention_mask": ([encoding.attention_mask for encoding in encodings], 0),
            "token_type_ids": ([encoding.type_ids for encoding in encodings], tokenizer.pad_token_type_id),
        }
        inputs = {
            name: pad_sequence([torch.tensor(row) for row in ids], batch_first=True, padding_value=padding)
            for name, (ids, padding) in rows.items()
            if name in tokenizer.model_input_names
        }
        with torch.inference_mode():
            output = model(**{name: rows_of.to(model.device) for name, rows_of in inputs.items()})
        starts, ends = output.start_logits.float().cpu().numpy(), output.end_logits.float().cpu().numpy()
        for row, number in enumerate(numbers):
            length = len(windows[number][0].ids)
            spans[number] = best_span(starts[row, :length], ends[row, :length], windows[number][1])
    return [spans[number] for number in range(len(windows))]
