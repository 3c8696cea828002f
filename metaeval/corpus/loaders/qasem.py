"""QASemConsistency: generated sentences, judged question by question against their source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, DataRow, all_rows
from metaeval.corpus.dataset import published
from metaeval.corpus.model import Corpus, Statement, SupportLevel

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


SOURCES = ("verifiability", "cliff", "factscore")


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"qasem/{split}/{options['source']}")
    for row in all_rows(paths):
        source = row.choice("dataset", {name: name for name in SOURCES})
        if options["source"] not in (source, "all"):
            draft.drop(f"rows from {source} (source={options['source']})")
        elif not row.rows("qas"):
            draft.drop("rows without a judged question")
        else:
            group, model = row.identifier("source_id"), row.text("model")
            # For GenSearch pages `model` is unique ("<response>_<number>"), and `source_id` ends with the system.
            is_response = source == "verifiability"
            name = f"{source}-{model}" if is_response else f"{source}-{group}-{model}"
            system, meta = group.rpartition("-")[2] if is_response else model, {"datasource": row.text("datasource")}
            summary = row.fields.get("summary")  # a list of sentences (cliff, factscore) or one (verifiability)
            if isinstance(summary, list) and all(isinstance(sentence, list) for sentence in summary):
                tokens = [str(token) for sentence in summary for token in sentence]
            else:
                tokens = row.texts("summary")
            draft.statement(Statement(name, detokenise(tokens), group, system, meta))
            questions = row.rows("qas")
            of, supported = len(questions), sum(map(_is_supported, questions))
            document = draft.document(detokenise(row.texts("source")))
            level = SupportLevel.FULL if supported == of else SupportLevel.PARTIAL if supported else SupportLevel.NONE
            votes = [question.numbers("annotations") for question in questions]
            draft.cite(name, name, document, level, questions=of, supported=supported, votes=votes)
    return draft.corpus()


def _is_supported(question: DataRow) -> bool:
    """Return whether less than half of a question's annotators called it hallucinated (0 supported, 1 hallucinated)."""
    votes = question.numbers("annotations")
    if not votes or any(vote not in (0, 1) for vote in votes):
        raise question.error("annotations", "a list of 0 (supported) and 1 (hallucinated), not empty")
    return 2 * sum(votes) < len(votes)


DATASET = published("qasem", _load)
