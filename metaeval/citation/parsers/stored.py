"""Parses that were made earlier, read from JSON: the same claims again with no parser installed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.citation.parsers.parse import Parse, Parser
from metaeval.errors import UserError


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


def read_parses(path: Path) -> dict[str, Parse]:
    """Read {text: [{"text", "dep", "head"}, ...]} (one entry per token, in order); `UserError` when it is not that."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"The stored parses {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise UserError(f"The stored parses {path} are not JSON: {error}.") from error
    if not isinstance(content, dict):
        raise UserError(f"The stored parses {path} are not an object of texts and their tokens.")
    try:
        return {text: parse_of(tokens) for text, tokens in content.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"The stored parses {path} are not lists of tokens with 'text', 'dep' and 'head': {error!r}."
        ) from error


def parse_of(tokens: Sequence[Mapping[str, Any]]) -> Parse:
    """Token objects ("text", "dep", "head") to a parse."""
    return Parse(
        tuple(str(token["text"]) for token in tokens),
        tuple(str(token["dep"]) for token in tokens),
        tuple(int(token["head"]) for token in tokens),
    )
