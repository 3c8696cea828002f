"""Token ids of pairs: each text is tokenised once, and pairs are joined from the parts as the tokenizer would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from metaeval.errors import UserError

Cut = Literal["source", "longest", "longest-tie-statement"]
"""Which side loses its end beyond the limit: the source alone; the longer side, as fast tokenizers' `longest_first`
does; or the longer side token by token, the statement when both are equally long (the original BERT code)."""

_KEPT_TEXTS = 200_000  # texts whose ids are remembered, before the memory is emptied

_PROBES = ("The cat sat.", "It did not, a dog said 3 times.")


class PairIds(NamedTuple):
    """A pair ready for a model: input ids, segment ids (same length), tokens before the cut, and how many were cut."""

    ids: list[int]
    segments: list[int]
    tokens: int
    cut: int


class TextTokens:
    """A fast tokenizer without special tokens, padding or truncation; each distinct text goes through it once.

    `calls` counts the texts tokenised.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = backend(tokenizer)
        self._known: dict[str, list[int]] = {}
        self.calls = 0

    def ids(self, texts: Iterable[str]) -> dict[str, list[int]]:
        """The ids of each distinct text."""
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
    """Pairs as `tokenizer(first, second)` of transformers would encode them, segment ids always included.

    tokenizer: a fast tokenizer of transformers. max_tokens: the limit, special tokens included. cut: who loses.

    Raises `UserError` for a tokenizer whose pairs are not its texts joined by fixed special tokens.
    """

    def __init__(self, tokenizer: Any, max_tokens: int, cut: Cut) -> None:
        self.texts = TextTokens(tokenizer)
        self._joints = _Joints.learn(tokenizer, self.texts)
        self._room = max_tokens - self._joints.special
        self._shorten = _CUTS[cut]

    def encode(self, firsts: Sequence[str], seconds: Sequence[str]) -> list[PairIds]:
        """Encode pairs, in order. A second text that leaves no room for a source is cut with it, longest first."""
        known = self.texts.ids([*firsts, *seconds])
        return [self._pair(known[one], known[other]) for one, other in zip(firsts, seconds, strict=True)]

    def _pair(self, first: list[int], second: list[int]) -> PairIds:
        tokens = len(first) + len(second)
        if tokens > self._room:
            kept_first, kept_second = self._shorten(len(first), len(second), self._room)
            first, second = first[:kept_first], second[:kept_second]
        ids, segments = self._joints.join(first, second)
        return PairIds(ids, segments, tokens + self._joints.special, tokens - len(first) - len(second))


class _Joints(NamedTuple):
    """The special tokens before, between and behind the two texts, with the segment ids of all five parts."""

    before: list[int]
    between: list[int]
    behind: list[int]
    before_segments: list[int]
    first_segment: int
    between_segments: list[int]
    second_segment: int
    behind_segments: list[int]

    @property
    def special(self) -> int:
        return len(self.before) + len(self.between) + len(self.behind)

    @classmethod
    def learn(cls, tokenizer: Any, texts: TextTokens) -> _Joints:
        """Read the joints off an encoded pair."""
        first, second = texts.ids(_PROBES).values()
        whole = tokenizer([_PROBES[0]], [_PROBES[1]], return_token_type_ids=True)
        ids, segments = list(whole["input_ids"][0]), list(whole["token_type_ids"][0])
        one = _position(ids, first, 0)
        other = _position(ids, second, one + len(first))
        end = other + len(second)
        return cls(
            ids[:one],
            ids[one + len(first) : other],
            ids[end:],
            segments[:one],
            segments[one],
            segments[one + len(first) : other],
            segments[other],
            segments[end:],
        )

    def join(self, first: list[int], second: list[int]) -> tuple[list[int], list[int]]:
        ids = [*self.before, *first, *self.between, *second, *self.behind]
        segments = [
            *self.before_segments,
            *[self.first_segment] * len(first),
            *self.between_segments,
            *[self.second_segment] * len(second),
            *self.behind_segments,
        ]
        return ids, segments


def backend(tokenizer: Any) -> Any:
    """The `tokenizers.Tokenizer` under a fast tokenizer of transformers, with truncation and padding off."""
    found = getattr(tokenizer, "backend_tokenizer", None)
    if found is None:
        raise UserError(f"{type(tokenizer).__name__} has no fast tokenizer: this model cannot be read here.")
    found.no_truncation()
    found.no_padding()
    return found


def _position(ids: list[int], part: list[int], start: int) -> int:
    for place in range(start, len(ids) - len(part) + 1):
        if ids[place : place + len(part)] == part:
            return place
    raise UserError("This tokenizer does not encode a pair as its two texts joined by special tokens.")


def _cut_longest(first: int, second: int, room: int) -> tuple[int, int]:
    shorter, longer = sorted((first, second))
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (longer, shorter) if first > second else (shorter, longer)


def _cut_source(first: int, second: int, room: int) -> tuple[int, int]:
    # A statement that alone fills the room: the official AlignScore falls back to the longest side.
    return (room - second, second) if second < room else _cut_longest(first, second, room)


def _cut_tie_statement(first: int, second: int, room: int) -> tuple[int, int]:
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


_CUTS: dict[Cut, Callable[[int, int, int], tuple[int, int]]] = {
    "source": _cut_source,
    "longest": _cut_longest,
    "longest-tie-statement": _cut_tie_statement,
}
