"""spaCy as a parser: any installed pipeline, or the small one that is shipped with the package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.citation.parsers.parse import Parse, Parser
from metaeval.errors import UserError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

SMALL = Path(__file__).parents[1] / "models" / "en_support_parser"
_INSTALL = "type 'pip install \"metaeval[citation]\"'"
_NOT_NEEDED = ("ner", "lemmatizer", "attribute_ruler", "tagger", "morphologizer", "senter", "textcat")


def small_parser(one_root: bool = True) -> Parser:
    """The shipped English parser; works offline wherever spaCy is installed."""
    return _parser(str(SMALL), "small", one_root)


def spacy_parser(name: str, one_root: bool = True) -> Parser:
    """An installed pipeline by name or folder, such as en_core_web_sm.

    one_root: each text is one sentence for the parser, whatever it would have seen.
    """
    return _parser(name, f"spacy:{name}", one_root)


def _parser(source: str, name: str, one_root: bool) -> Parser:
    language, release = _load(source)

    def parse(texts: Sequence[str]) -> list[Parse]:
        docs = (_one_sentence(language.make_doc(text)) if one_root else language.make_doc(text) for text in texts)
        return [_parse_of(doc) for doc in _pipe(language, docs)]

    return Parser(f"{name} ({release})", parse)


def _pipe(language: Language, docs: Iterator[Doc]) -> Iterator[Doc]:
    parsed: Iterator[Doc] = language.pipe(docs, batch_size=256)
    return parsed


def _one_sentence(doc: Doc) -> Doc:
    # The parser's transition system may not break between tokens that are marked so beforehand.
    for place, token in enumerate(doc):
        token.is_sent_start = place == 0
    return doc


def _parse_of(doc: Doc) -> Parse:
    return Parse(
        tuple(token.text for token in doc),
        tuple(token.dep_ for token in doc),
        tuple(token.head.i for token in doc),
    )


@cache
def _load(source: str) -> tuple[Language, str]:
    try:
        import spacy
    except ModuleNotFoundError as error:
        raise UserError(f"Parsing sentences needs spaCy: {_INSTALL}.") from error
    try:
        language = spacy.load(source, exclude=list(_NOT_NEEDED))
    except OSError as error:
        raise UserError(
            f"spaCy has no pipeline {source!r}: type 'python -m spacy download {source}', or use the parser 'small'."
        ) from error
    if "parser" not in language.pipe_names:
        raise UserError(f"The spaCy pipeline {source!r} has no dependency parser; its parts: {language.pipe_names}.")
    meta = language.meta
    return language, f"{meta['lang']}_{meta['name']} {meta['version']}, spaCy {version('spacy')}"
