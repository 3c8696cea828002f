"""Token ids of texts, pairs and prompts; each text is tokenised once, and its ids are joined where that is exact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from metaeval.core.errors import UserError

Cut = Literal["source", "longest", "longest-tie-statement"]
"""Which side of a pair is cut at its end beyond the limit: the source; the longer side, as fast tokenizers'
`longest_first` does; or the longer side token by token, the statement when both are equally long (the BERT code)."""

_KEPT_TEXTS = 200_000  # texts whose ids are cached before the cache is emptied

_PROBES = ("The cat sat.", "It did not, a dog said 3 times.")


class PairIds(NamedTuple):
    """A model's input for a pair: token ids, segment ids, number of tokens before the cut, and number cut off."""

    ids: list[int]
    segments: list[int]
    tokens: int
    cut: int


class TextTokens:
    """A fast tokenizer without special tokens, padding or truncation, whose last ids are cached.

    `calls` counts the texts that were tokenised.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = backend(tokenizer)
        self._known: dict[str, list[int]] = {}
        self.calls = 0

    def ids(self, texts: Iterable[str]) -> dict[str, list[int]]:
        """Return the token ids of each distinct text, by text."""
        wanted = dict.fromkeys(texts)
        new = [text for text in wanted if text not in self._known]
        if len(self._known) + len(new) > _KEPT_TEXTS:
            self._known.clear()
            new = list(wanted)
        for text, encoding in zip(new, self._tokenizer.encode_batch(new, add_special_tokens=False), strict=True):
            self._known[text] = encoding.ids
        self.calls += len(new)
        return {text: self._known[text] for text in wanted}


class PairTokens:
    """An encoder of pairs: ids as `tokenizer(first, second)` of transformers gives them, always with segment ids.

    tokenizer: a fast tokenizer of transformers. max_tokens: the limit, special tokens included. cut: see `Cut`.

    Raises `UserError` for a tokenizer whose pairs are not its texts joined by fixed special tokens.
    """

    def __init__(self, tokenizer: Any, max_tokens: int, cut: Cut) -> None:
        self.texts = TextTokens(tokenizer)
        self._joints = _Joints.learn(tokenizer, self.texts)
        self._room = max_tokens - self._joints.special
        self._shorten = _CUTS[cut]

    def encode(self, firsts: Sequence[str], seconds: Sequence[str]) -> list[PairIds]:
        """Return the model's input for each pair, in order.

        With the cut "source", if a second text leaves no room for the first, both are cut, the longer one first.
        """
        known = self.texts.ids([*firsts, *seconds])
        encoded = []
        for pair in zip(firsts, seconds, strict=True):
            first, second = (known[text] for text in pair)
            tokens = len(first) + len(second)
            kept_first, kept_second = self._shorten(len(first), len(second), self._room)
            first, second = first[:kept_first], second[:kept_second]
            ids, segments = self._joints.join(first, second)
            cut = tokens - len(first) - len(second)
            encoded.append(PairIds(ids, segments, tokens + self._joints.special, cut))
        return encoded


class _Joints(NamedTuple):
    """Ids and segment ids of a pair's special tokens before, between and after its texts; segment ids of both texts."""

    ids: list[list[int]]
    segments: list[list[int]]
    of_texts: tuple[int, int]

    @property
    def special(self) -> int:
        return sum(map(len, self.ids))

    @classmethod
    def learn(cls, tokenizer: Any, texts: TextTokens) -> _Joints:
        """Return a tokenizer's special tokens, found by encoding a pair; `UserError` if it does not join two texts."""
        first, second = texts.ids(_PROBES).values()
        whole = tokenizer([_PROBES[0]], [_PROBES[1]], return_token_type_ids=True)
        ids, segments = list(whole["input_ids"][0]), list(whole["token_type_ids"][0])
        start = _position(ids, first, 0)
        other = _position(ids, second, start + len(first))
        parts = slice(0, start), slice(start + len(first), other), slice(other + len(second), None)
        of_texts = segments[start], segments[other]
        return cls([ids[part] for part in parts], [segments[part] for part in parts], of_texts)

    def join(self, first: list[int], second: list[int]) -> tuple[list[int], list[int]]:
        texts = [self.of_texts[0]] * len(first), [self.of_texts[1]] * len(second)
        return _joined(self.ids, first, second), _joined(self.segments, *texts)


def _joined(joints: list[list[int]], first: list[int], second: list[int]) -> list[int]:
    before, between, behind = joints
    return [*before, *first, *between, *second, *behind]


def backend(tokenizer: Any) -> Any:
    """Return a fast tokenizer's `tokenizers.Tokenizer`, truncation and padding turned off; else raise `UserError`."""
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        raise UserError(f"The model's tokenizer, {type(tokenizer).__name__}, is not a fast one: choose another.")
    fast.no_truncation()
    fast.no_padding()
    return fast


def _position(ids: list[int], part: list[int], start: int) -> int:
    for place in range(start, len(ids) - len(part) + 1):
        if ids[place : place + len(part)] == part:
            return place
    raise UserError("This tokenizer does not join the two texts of a pair by special tokens: choose another model.")


def _cut_longest(first: int, second: int, room: int) -> tuple[int, int]:
    shorter, longer = sorted((first, second))
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (longer, shorter) if first > second else (shorter, longer)


def _cut_tie_statement(first: int, second: int, room: int) -> tuple[int, int]:
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


_CUTS: dict[Cut, Callable[[int, int, int], tuple[int, int]]] = {
    # If the statement alone fills the room, the official AlignScore cuts the longest side.
    "source": lambda first, second, room: (
        (room - second, second) if second < room else _cut_longest(first, second, room)
    ),
    "longest": _cut_longest,
    "longest-tie-statement": _cut_tie_statement,
}


PromptCut = Literal["source", "end"]
"""Which end is cut beyond the limit: the source's, so that template and statement stay whole; or the prompt's, as
tokenizers do by default."""

_PROMPT_PROBES = ("The cat sat.", "It did not, a dog said 3 times")
_FIELD = re.compile(r"\{(source|statement)\}")


class PromptIds(NamedTuple):
    """A model's input for a prompt: token ids, number of tokens before the cut, and how many of them were cut off.

    There are no ids where the limit leaves no room for the template and the statement.
    """

    ids: list[int]
    tokens: int
    cut: int


class PromptTokens:
    """An encoder of prompts: ids as `tokenizer(text)` of transformers gives them for the filled template.

    tokenizer: a fast tokenizer of transformers. template: a text with `{source}` and `{statement}` in it, once each, in
    either order; it ends with one of them (else `ValueError`). max_tokens: the limit, special tokens included (None: no
    limit); cut: see `PromptCut`.

    A template is tokenised in two parts, each with one text in it. Where tokenizers split at white space first, the
    ids of the parts are those of the whole, unless a text begins or ends with a character that the tokenizer may join
    with its neighbour: those prompts, and all prompts of a tokenizer whose parts do not add up, are tokenised whole.
    `texts.calls` counts the tokenised texts, `wholes` the whole prompts among them.
    """

    def __init__(self, tokenizer: Any, template: str, max_tokens: int | None = None, cut: PromptCut = "source") -> None:
        self.texts = TextTokens(tokenizer)
        self.wholes = 0
        self._before, self._one, self._between, self._other, behind = _FIELD.split(template)
        if behind or {self._one, self._other} != {"source", "statement"}:
            raise ValueError(f"not a template of a source and a statement: {template!r}")
        self._joint = self._between.lstrip()
        self._limit, self._cut = max_tokens, cut
        self._ends = list(tokenizer("")["input_ids"])  # the special tokens after every text
        pairs = _PROMPT_PROBES, _PROMPT_PROBES[::-1]
        self._adds_up = all(self._joined(*pair) == self._whole(*pair) for pair in pairs)

    def encode(self, sources: Sequence[str], statements: Sequence[str]) -> list[PromptIds]:
        """Return the model's input for the prompt of each pair, in order."""
        ones, others = (sources, statements) if self._one == "source" else (statements, sources)
        texts = [*(self._before + text for text in ones), *(self._joint + text for text in others)]
        self.texts.ids(texts)  # all in one call, on all cores
        return [self._prompt(leading, trailing) for leading, trailing in zip(ones, others, strict=True)]

    def _prompt(self, leading: str, trailing: str) -> PromptIds:
        exact = self._adds_up and _stands_alone(leading) and _stands_alone(trailing)
        ids = self._joined(leading, trailing) if exact else self._whole(leading, trailing)
        tokens = len(ids)
        if self._limit is None or tokens <= self._limit:
            return PromptIds(ids, tokens, 0)
        if self._cut == "end":
            ids = [*ids[: self._limit - len(self._ends)], *self._ends]
        else:
            ids = self._without_source_end(leading, trailing, self._limit)
        return PromptIds(ids, tokens, tokens - len(ids))

    def _without_source_end(self, leading: str, trailing: str, limit: int) -> list[int]:
        """Return the ids of the prompt with the source cut at its end to fit the limit; [] if no cut makes it fit."""
        parts = [self._known(self._before + leading), self._known(self._joint + trailing)]
        side = 0 if self._one == "source" else 1
        excess = len(parts[0]) + len(parts[1]) + len(self._ends) - limit
        prefix = len(self._known((self._before, self._joint)[side].rstrip()))
        if excess > len(parts[side]) - prefix:
            return []
        parts[side] = parts[side][: len(parts[side]) - excess]
        return [*parts[0], *parts[1], *self._ends]

    def _joined(self, leading: str, trailing: str) -> list[int]:
        return [*self._known(self._before + leading), *self._known(self._joint + trailing), *self._ends]

    def _whole(self, leading: str, trailing: str) -> list[int]:
        self.wholes += 1
        return [*self._known(f"{self._before}{leading}{self._between}{trailing}"), *self._ends]

    def _known(self, text: str) -> list[int]:
        return self.texts.ids([text])[text]


def _stands_alone(text: str) -> bool:
    """Return whether a text begins and ends with a letter, a digit or plain punctuation, which tokenizers split off."""
    return bool(text) and all(
        mark.isalnum() or (mark.isascii() and mark.isprintable() and mark not in " <>") for mark in (text[0], text[-1])
    )
