"""Parsers by the name that a user types."""

from __future__ import annotations

from pathlib import Path

from metaeval.citation.parsers.conllu import conllu_parser, stanza_parser
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.parsers.stored import read_parses, stored_parser
from metaeval.citation.parsers.with_spacy import small_parser, spacy_parser
from metaeval.errors import UserError

DEFAULT = "small"
KNOWN = "small, spacy:NAME, stored:FILE.json, ud:FILE.conllu, ud:stanza"


def find_parser(name: str = DEFAULT, one_root: bool = True) -> Parser:
    """The parser of that name; one_root: where it parses anew, each text is one sentence for it.

    Raises `UserError` for an unknown name, a missing file, or a library that is not installed.
    """
    kind, _, argument = name.partition(":")
    if name == "small":
        return small_parser(one_root)
    if name == "ud:stanza":
        return stanza_parser(one_root)
    if argument and kind == "spacy":
        return spacy_parser(argument, one_root)
    if argument and kind == "stored":
        return stored_parser(read_parses(Path(argument)), f"stored:{Path(argument).name}")
    if argument and kind == "ud":
        return conllu_parser(Path(argument))
    raise UserError(f"Unknown parser {name!r}. Known: {KNOWN}.")
