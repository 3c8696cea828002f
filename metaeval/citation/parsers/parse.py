"""What a parser gives: tokens with the label of their edge and the place of their head; nothing of any library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from metaeval.errors import UserError

ROOT = "ROOT"


@dataclass(frozen=True, slots=True)
class Parse:
    """A dependency parse in the labels of spaCy's English models (nsubj, prep, pobj, advcl, cc, conj ...).

    tokens, labels, heads: one entry per token, in text order. A root's head is its own place. There can be several
    roots, where the parser saw several sentences, and none, where the text holds no token.
    Raises `ValueError` for columns of different lengths, a head that is no place, and heads that go in a circle.
    """

    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    heads: tuple[int, ...]

    def __post_init__(self) -> None:
        count = len(self.tokens)
        if (len(self.labels), len(self.heads)) != (count, count):
            raise ValueError(
                f"A parse has one label and one head per token: {count} tokens, {len(self.labels)} labels, "
                f"{len(self.heads)} heads."
            )
        for place, head in enumerate(self.heads):
            if not 0 <= head < count:
                raise ValueError(f"Token {place} has head {head}; allowed are 0 to {count - 1}.")
        for place in range(count):
            above, steps = place, 0
            while self.heads[above] != above:
                above, steps = self.heads[above], steps + 1
                if steps > count:
                    raise ValueError(f"The heads of token {place} go in a circle; they must lead to a root.")

    @property
    def roots(self) -> tuple[int, ...]:
        """Places of the roots, in order."""
        return tuple(place for place, head in enumerate(self.heads) if head == place)


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser by name. parse: texts to their parses, in order, a batch at a time.

    name: what a result says about who parsed: backend, model and version.
    """

    name: str
    parse: Callable[[Sequence[str]], list[Parse]]


def under_one_root(parse: Parse) -> Parse:
    """The parse with every further root hung on the first one, without a label."""
    if len(parse.roots) < 2:
        return parse
    first, *others = parse.roots
    heads = tuple(first if place in others else head for place, head in enumerate(parse.heads))
    labels = tuple("" if place in others else label for place, label in enumerate(parse.labels))
    return Parse(parse.tokens, labels, heads)


def stored_parser(parses: Mapping[str, Parse], name: str = "stored") -> Parser:
    """A parser that looks its texts up; a text that is not there raises `UserError`."""

    def parse(texts: Sequence[str]) -> list[Parse]:
        for text in texts:
            if text not in parses:
                raise UserError(
                    f"The stored parses hold none of {text!r}: they were made from other sentences, or with another "
                    "profile. Parse again with the parser 'small' or 'spacy:NAME'."
                )
        return [parses[text] for text in texts]

    return Parser(name, parse)
