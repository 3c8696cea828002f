"""From tokens back to running text, by rules that anyone can check."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CLOSES = re.compile(r"[,.;:!?)\]}%…”]+|['’](?:s|re|ve|ll|m|d|S)|n['’]t|N['’]T|['’]{2}", re.ASCII)
_OPENS = re.compile(r"[(\[{“‘$£€#]+|``")
_JOINS = frozenset("-/")


def detokenise(tokens: Sequence[str]) -> str:
    """Join tokens (spaCy's, with "\\n" as a token) into text.

    1. A line-break token is a line break; other tokens of white space are dropped.
    2. No space before , . ; : ! ? ) ] } % … ” and before the clitics 's 're 've 'll 'm 'd n't, with ' or ’.
    3. No space after ( [ { “ ‘ $ £ € #.
    4. No space around a single - or / between two tokens that touch it with a letter or digit (co - operation).
    5. A straight " or ' opens when none of its kind is open on the line, else closes; a ' after a final s while none
       is open, and every ’, closes (the students' vote).

    What the tokens do not tell is lost: a spaced hyphen between words comes back without its spaces.
    """
    lines: list[list[str]] = [[]]
    for token in tokens:
        if "\n" in token:
            lines.append([])
        elif token.strip():
            lines[-1].append(token.strip())
    return "\n".join(filter(None, map(_join_line, lines)))


def _join_line(tokens: Sequence[str]) -> str:
    pieces: list[str] = []
    open_quotes: set[str] = set()
    glue_next = True
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        glue, glue_after = bool(_CLOSES.fullmatch(token)), bool(_OPENS.fullmatch(token))
        if token in ('"', "'", "’"):
            glue = token == "’" or token in open_quotes or (token == "'" and before.endswith("s"))
            glue_after = not glue
            open_quotes ^= {token} if token in open_quotes or not glue else set()
        elif token in _JOINS and index + 1 < len(tokens):
            glue = glue_after = before[-1:].isalnum() and tokens[index + 1][:1].isalnum()
        pieces.append(token if glue or glue_next else f" {token}")
        glue_next = glue_after
    return "".join(pieces)
