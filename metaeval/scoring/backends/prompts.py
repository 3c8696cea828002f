"""Prompts as token ids: a template's two texts are tokenised once each, and joined where that changes nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from metaeval.scoring.backends.tokens import TextTokens

PromptCut = Literal["source", "end"]
"""What goes beyond the limit: the end of the source, so that template and statement stay whole; or the end of the
prompt, as tokenizers cut by themselves."""

_PROBES = ("The cat sat.", "It did not, a dog said 3 times")
_FIELD = re.compile(r"\{(source|statement)\}")


class Prompt(NamedTuple):
    """A prompt ready for a model: its ids, its tokens before the cut, and how many were cut.

    There are no ids where the limit leaves no room for the template and the statement.
    """

    ids: list[int]
    tokens: int
    cut: int


class PromptTokens:
    """Prompts as `tokenizer(text)` of transformers would encode the filled template.

    tokenizer: a fast tokenizer of transformers. template: a text with `{source}` and `{statement}` in it, once each,
    the second of them last. max_tokens: the limit, special tokens included (None: none); cut: what goes beyond it.

    A template is tokenised in two parts, each with one text in it. Where tokenizers split at white space first, the
    ids of the parts are those of the whole, unless a text begins or ends with something that the tokenizer may see
    together with what stands next to it: those prompts, and all prompts of a tokenizer whose parts do not add up, are
    tokenised whole. `texts` counts what went through the tokenizer, `wholes` how much of it was prompts.
    """

    def __init__(self, tokenizer: Any, template: str, max_tokens: int | None = None, cut: PromptCut = "source") -> None:
        self.texts = TextTokens(tokenizer)
        self.wholes = 0
        self._before, self._one, self._between, self._other, behind = _FIELD.split(template)
        if behind or {self._one, self._other} != {"source", "statement"}:
            raise ValueError(f"not a template of a source and a statement: {template!r}")
        self._joint = self._between.lstrip()
        self._limit, self._cut = max_tokens, cut
        self._ends = list(tokenizer("")["input_ids"])  # what the tokenizer puts behind every text
        self._adds_up = all(self._joined(*pair) == self._whole(*pair) for pair in (_PROBES, _PROBES[::-1]))

    def encode(self, sources: Sequence[str], statements: Sequence[str]) -> list[Prompt]:
        """Encode pairs, in order."""
        ones, others = (sources, statements) if self._one == "source" else (statements, sources)
        self.texts.ids([*map(self._part, ones), *map(self._last, others)])  # all at once, on all cores
        return [self._prompt(one, other) for one, other in zip(ones, others, strict=True)]

    def _prompt(self, one: str, other: str) -> Prompt:
        exact = self._adds_up and _stands_alone(one) and _stands_alone(other)
        ids = self._joined(one, other) if exact else self._whole(one, other)
        tokens = len(ids)
        if self._limit is None or tokens <= self._limit:
            return Prompt(ids, tokens, 0)
        if self._cut == "end":
            ids = [*ids[: self._limit - len(self._ends)], *self._ends]
        else:
            ids = self._without_source_end(one, other)
        return Prompt(ids, tokens, tokens - len(ids))

    def _without_source_end(self, one: str, other: str) -> list[int]:
        """The two parts within the limit, the source's part shortened; nothing if that is not enough."""
        parts = [self._known(self._part(one)), self._known(self._last(other))]
        side = 0 if self._one == "source" else 1
        excess = len(parts[0]) + len(parts[1]) + len(self._ends) - (self._limit or 0)
        prefix = len(self._known((self._before, self._joint)[side].rstrip()))
        if excess > len(parts[side]) - prefix:
            return []
        parts[side] = parts[side][: len(parts[side]) - max(excess, 0)]
        return [*parts[0], *parts[1], *self._ends]

    def _joined(self, one: str, other: str) -> list[int]:
        return [*self._known(self._part(one)), *self._known(self._last(other)), *self._ends]

    def _whole(self, one: str, other: str) -> list[int]:
        self.wholes += 1
        return [*self._known(f"{self._before}{one}{self._between}{other}"), *self._ends]

    def _known(self, text: str) -> list[int]:
        return self.texts.ids([text])[text]

    def _part(self, one: str) -> str:
        return self._before + one

    def _last(self, other: str) -> str:
        return self._joint + other


def _stands_alone(text: str) -> bool:
    """Whether a text begins and ends with a letter, a digit or plain punctuation: nothing that joins its neighbour."""
    return bool(text) and all(
        mark.isalnum() or (mark.isascii() and mark.isprintable() and mark not in " <>") for mark in (text[0], text[-1])
    )
