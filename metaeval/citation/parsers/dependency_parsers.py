"""Parsers by name (spaCy, stored parses) and their results: tokens with the label and the head of each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from metaeval.core.errors import UserError, install_extra
from metaeval.core.files import job_memory
from metaeval.core.parsing import read_object

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

ROOT = "ROOT"


@dataclass(frozen=True, slots=True)
class Parse:
    """A dependency parse in the labels of spaCy's English models (nsubj, prep, pobj, advcl, cc, conj ...).

    tokens, labels, heads: one entry per token, in text order; heads: indices of tokens. A root is its own head. There
    can be several roots, where the parser saw several sentences, and none, where the text holds no token.
    Raises `ValueError` for columns of different lengths, a head outside the parse, and heads that form a cycle.
    """

    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    heads: tuple[int, ...]

    def __post_init__(self) -> None:
        count = len(self.tokens)
        if (len(self.labels), len(self.heads)) != (count, count):
            raise ValueError(f"A parse of {count} tokens, {len(self.labels)} labels, {len(self.heads)} heads.")
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
        """The token indices of the roots, in order."""
        return tuple(place for place, head in enumerate(self.heads) if head == place)


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser. parse: turns a batch of texts into their parses, in order.

    name: the parser in results, with model and versions.
    """

    name: str
    parse: Callable[[Sequence[str]], list[Parse]]


def stored_parser(parses: Mapping[str, Parse], name: str = "stored") -> Parser:
    """Return a parser that looks texts up in `parses` (by text); parsing raises `UserError` for a text not in it."""

    def parse(texts: Sequence[str]) -> list[Parse]:
        if lost := next((text for text in texts if text not in parses), None):
            raise UserError(f"{name} has no parse of {lost!r}: parse again with the parser 'small' or 'spacy:NAME'.")
        return [parses[text] for text in texts]

    return Parser(name, parse)


def read_parses(path: Path) -> dict[str, Parse]:
    """Read parses by text from {text: [{"text", "dep", "head"}, ...]} (JSON), with one entry per token in order.

    Raises `UserError` for any other content.
    """
    content = read_object(path, "stored parses are an object of texts and their tokens")
    try:
        return {text: parse_of(tokens) for text, tokens in content.items()}
    except (ValueError, KeyError, TypeError) as error:
        held = f"{path} does not hold tokens with 'text', 'dep' and 'head'"
        raise UserError(f"{held} ({error!r}): store the parses again.") from error


def parse_of(tokens: Sequence[Mapping[str, Any]]) -> Parse:
    """Return the parse with these tokens ("text", "dep": texts; "head": index of a token).

    Raises `TypeError` for a value of another type, `KeyError` for a missing field, and `ValueError` as `Parse` does.
    """
    columns = [[token[name] for token in tokens] for name in ("text", "dep", "head")]
    for values, kind in zip(columns, (str, str, int), strict=True):
        if not isinstance(tokens, list) or any(type(value) is not kind for value in values):
            raise TypeError("text and dep are text, and head is a whole number")
    return Parse(*map(tuple, columns))


SMALL = Path(__file__).parents[1] / "models" / "en_support_parser"
_NOT_NEEDED = ("ner", "lemmatizer", "attribute_ruler", "tagger", "morphologizer", "senter", "textcat")


def _spacy_parser(source: str, name: str, one_root: bool) -> Parser:
    language, release = _load(source)

    def prepared(text: str) -> Doc:
        doc = language.make_doc(text)
        # The parser starts no sentence at a token that is marked beforehand as not being a start.
        for place, token in enumerate(doc if one_root else ()):
            token.is_sent_start = place == 0
        return doc

    def parse(texts: Sequence[str]) -> list[Parse]:
        return [
            Parse(tuple(token.text for token in doc), tuple(token.dep_ for token in doc), tuple(t.head.i for t in doc))
            for doc in language.pipe(map(prepared, texts), batch_size=256)
        ]

    return Parser(f"{name} ({release})", parse)


@cache
def _load(source: str) -> tuple[Language, str]:
    # The small parser needs no torch, which spaCy imports wherever it is installed. A Python program may load another
    # parser later, which does need it.
    hidden = source == str(SMALL) and "torch" not in sys.modules and job_memory().get("from_python") is False
    try:
        if hidden:
            sys.modules["torch"] = cast(ModuleType, None)
        import spacy
    except ModuleNotFoundError as error:
        raise UserError(f"Parsing sentences needs spaCy: type {install_extra('citation')}.") from error
    finally:
        if hidden:
            del sys.modules["torch"]
    try:
        language = spacy.load(source, exclude=list(_NOT_NEEDED))
    except OSError as error:
        advice = f"type 'python -m spacy download {source}', or use the parser 'small'"
        raise UserError(f"spaCy has no pipeline {source!r}: {advice}.") from error
    except Exception as error:  # every part of a pipeline has its own reader, and a broken file its own error
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UserError(f"The spaCy pipeline {source!r} cannot be loaded ({reason}): use 'small'.") from error
    if "parser" not in language.pipe_names:
        parts = ", ".join(language.pipe_names)
        raise UserError(f"The spaCy pipeline {source!r} has no dependency parser, but {parts}: choose another.")
    meta = language.meta
    return language, f"{meta['lang']}_{meta['name']} {meta['version']}, spaCy {version('spacy')}"


def find_parser(name: str = "small", one_root: bool = True) -> Parser:
    """Return a parser by name: "small", "spacy:NAME" (a pipeline of spaCy) or "stored:FILE" (see `read_parses`).

    small: the shipped English parser, which works offline if spaCy is installed. one_root: spaCy treats each text as
    one sentence (stored parses are used as they are).

    Raises `UserError` for an unknown name, a missing file, or a library that is not installed.
    """
    kind, _, argument = name.partition(":")
    if name == "small" or (argument and kind == "spacy"):
        return _spacy_parser(argument or str(SMALL), name, one_root)
    if argument and kind == "stored":
        return stored_parser(read_parses(Path(argument)), f"stored:{Path(argument).name}")
    raise UserError(f"Unknown parser {name!r}. Known: small, spacy:NAME, stored:FILE.json.")
