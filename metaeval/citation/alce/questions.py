"""QA-EM and QA-F1 (ASQA): a reader answers each sub-question from the answer, scored by the rules of SQuAD."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.alce.correctness import clean_answer, normalise, short_answers_of
from metaeval.citation.alce.options import PAPER, AlceOptions
from metaeval.citation.model import Answer
from metaeval.errors import UserError

MODEL = "gaotianyu1350/roberta-large-squad"
"""The reader of the published scores."""

Reader = Callable[[Sequence[tuple[str, str]]], Sequence[str]]
"""Pairs of question and context to short answers, in order; an empty answer says that the context holds none."""


MEASURES = ("qa_em", "qa_f1", "qa_hit")
"""Exact match and token F1 with the best short answer, means over an answer's sub-questions; 1 where all match."""


def exact_match(wanted: str, given: str) -> bool:
    """Whether the two are the same in SQuAD's normal form."""
    return normalise(wanted) == normalise(given)


def token_f1(wanted: str, given: str) -> float:
    """F1 of the words of the two in normal form, repeats counted; without words on a side, 1 if neither has any."""
    gold, own = normalise(wanted).split(), normalise(given).split()
    if not gold or not own:
        return float(gold == own)
    common = sum((Counter(gold) & Counter(own)).values())
    return 2 * common / (len(gold) + len(own))


def reader_scores(wanted: Sequence[Sequence[str]], given: Sequence[str]) -> dict[str, float]:
    """Scores of one answer from the reader's answer to each sub-question; empty without sub-questions.

    Raises ValueError if the lengths differ, or a sub-question has no short answer.
    """
    if not wanted:
        return {}
    pairs = list(zip(wanted, given, strict=True))
    if any(not aliases for aliases in wanted):
        raise ValueError("every sub-question needs at least one short answer")
    exact = [max(exact_match(alias, answer) for alias in aliases) for aliases, answer in pairs]
    f1 = [max(token_f1(alias, answer) for alias in aliases) for aliases, answer in pairs]
    return {"qa_em": sum(exact) / len(exact), "qa_f1": sum(f1) / len(f1), "qa_hit": float(all(exact))}


def reader_values(
    answers: Sequence[Answer], reader: Reader, options: AlceOptions = PAPER
) -> dict[str, list[float | None]]:
    """`MEASURES` of each answer, from its text without marks; None without sub-questions.

    The sub-questions of all answers are read in one call; an empty text is read as a space, as released.
    """
    asked: list[list[tuple[str, str]]] = []
    for answer in answers:
        text = clean_answer(answer, options) or " "
        asked.append([(str(pair["question"]), text) for pair in answer.reference.get("qa_pairs") or ()])
    given = iter(reader([pair for own in asked for pair in own]))
    found = [
        reader_scores(short_answers_of(answer), [next(given) for _ in own])
        for answer, own in zip(answers, asked, strict=True)
    ]
    return {name: [own.get(name) for own in found] for name in MEASURES}


Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

_TOKENS = 384
_STRIDE = 128
_LONGEST_ANSWER = 15
_BATCH = 16  # windows of one pass
_CLOSED = np.float32(-10000.0)


class Window(NamedTuple):
    """A window of one pair's context, with the question before it.

    encoding: its tokens, an `Encoding` of the tokenizers library. open: (tokens,) where an answer may begin and end,
    the classification token among them: it stands for "no answer".
    """

    pair: int
    encoding: Any
    open: Bools


class Found(NamedTuple):
    """A window's best answer as first and last token, its probability, and the probability of none."""

    first: int
    last: int
    score: float
    none: float


def extractive_reader(model: Any, tokenizer: Any) -> Reader:
    """A reader from a transformers model with a question-answering head, in eval mode, and its fast tokenizer.

    A long context is read in windows of 384 tokens with the question, 128 shared by neighbours (fewer where the
    tokenizer's limit is lower); an answer has at most 15 tokens and ends at word borders.

    Raises `UserError` for a tokenizer that is slow or pads on the left; the reader, for a question that leaves its
    context no room.
    """
    if not tokenizer.is_fast or tokenizer.padding_side != "right":
        raise UserError(
            f"{type(tokenizer).__name__} cannot be used to read answers: allowed are fast tokenizers that pad on the "
            "right."
        )

    def read(pairs: Sequence[tuple[str, str]]) -> list[str]:
        windows = [window for number, pair in enumerate(pairs) for window in _windows(tokenizer, number, *pair)]
        found: list[list[tuple[Window, Found]]] = [[] for _ in pairs]
        for window, one in _read_windows(model, tokenizer, windows):
            found[window.pair].append((window, one))
        return [_answer(context, own) for (_, context), own in zip(pairs, found, strict=True)]

    return read


def best_span(start: Floats, end: Floats, open: Bools) -> Found:
    """The best answer of one window from its logits, each (tokens,); the first of equal ones.

    Probabilities are over the open tokens. None's is that of the first token as beginning and end; it stands for
    nothing else, so the answer is sought without it.
    """
    begins, ends = _softmax(start, open), _softmax(end, open)
    none = float(begins[0] * ends[0])
    begins[0] = ends[0] = 0
    product = np.tril(np.triu(np.outer(begins, ends)), _LONGEST_ANSWER - 1)
    first, last = np.unravel_index(np.argmax(product), product.shape)
    return Found(int(first), int(last), float(product[first, last]), none)


def _softmax(logits: Floats, open: Bools) -> Floats:
    # In float32, as published: equal probabilities, which the order decides, are those of float32.
    kept = np.where(open, logits, _CLOSED)
    powers = np.exp(kept - kept.max())
    shares: Floats = powers / powers.sum()
    return shares


def _answer(context: str, found: Sequence[tuple[Window, Found]]) -> str:
    """The best window's answer; empty where none is likelier, by the window that finds it least likely."""
    window, best = max(found, key=lambda one: one[1].score)
    if min(one.none for _, one in found) > best.score:
        return ""
    first, last = _characters(window.encoding, best)
    return context[first:last]


def _characters(encoding: Any, found: Found) -> tuple[int, int]:
    """First and last character of an answer, of the whole words that hold its ends."""
    words = encoding.token_to_word(found.first), encoding.token_to_word(found.last)
    first, last = (None if word is None else encoding.word_to_chars(word, 1) for word in words)
    if first is None or last is None:  # a token of no word of the context: its own place is all there is
        return encoding.offsets[found.first][0], encoding.offsets[found.last][1]
    return first[0], last[1]


def _windows(tokenizer: Any, pair: int, question: str, context: str) -> Iterator[Window]:
    limit = min(tokenizer.model_max_length, _TOKENS)
    stride = min(limit // 2, _STRIDE)
    _check_room(tokenizer, question, context, limit, stride)
    encoded = tokenizer(
        question,
        context,
        truncation="only_second",
        max_length=limit,
        stride=stride,
        return_token_type_ids=True,
        return_overflowing_tokens=True,
    )
    for encoding in encoded.encodings:
        of_context = np.array([number == 1 for number in encoding.sequence_ids])
        none = np.array(encoding.ids) == tokenizer.cls_token_id
        yield Window(pair, encoding, of_context | none)


def _check_room(tokenizer: Any, question: str, context: str, limit: int, stride: int) -> None:
    # The tokenizers library ends the whole run where a window would hold nothing but what its neighbours share.
    asked = len(tokenizer(question, "")["input_ids"])
    if asked + stride < limit:
        return
    if len(tokenizer(question, context)["input_ids"]) > limit:
        raise UserError(
            f"The question {question[:60]!r} ... is too long for the reader: it has {asked} tokens, and fewer than "
            f"{limit - stride} leave room for its context."
        )


def _read_windows(model: Any, tokenizer: Any, windows: Sequence[Window]) -> Iterator[tuple[Window, Found]]:
    """Each window with its best answer, in order, whatever the batches."""
    import torch

    order = sorted(range(len(windows)), key=lambda number: -len(windows[number].encoding.ids))
    found: dict[int, Found] = {}
    for begin in range(0, len(order), _BATCH):
        numbers = order[begin : begin + _BATCH]
        encodings = [windows[number].encoding for number in numbers]
        with torch.inference_mode():
            output = model(**_tensors(encodings, tokenizer, model.device))
        starts, ends = output.start_logits.float().cpu().numpy(), output.end_logits.float().cpu().numpy()
        for row, number in enumerate(numbers):
            length = len(windows[number].encoding.ids)
            found[number] = best_span(starts[row, :length], ends[row, :length], windows[number].open)
    yield from ((window, found[number]) for number, window in enumerate(windows))


def _tensors(encodings: Sequence[Any], tokenizer: Any, device: Any) -> dict[str, Any]:
    """What the model reads of the encodings, padded on the right: (encodings, longest) each."""
    import torch

    longest = max(len(encoding.ids) for encoding in encodings)
    rows = {
        "input_ids": ([encoding.ids for encoding in encodings], tokenizer.pad_token_id),
        "attention_mask": ([encoding.attention_mask for encoding in encodings], 0),
        "token_type_ids": ([encoding.type_ids for encoding in encodings], tokenizer.pad_token_type_id),
    }
    return {
        name: torch.tensor([[*row, *[value] * (longest - len(row))] for row in own], device=device)
        for name, (own, value) in rows.items()
        if name in tokenizer.model_input_names
    }
