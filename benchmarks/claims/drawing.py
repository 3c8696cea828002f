"""Draw cited sentences from published answers, by pointer: file, answer, number of the sentence, and a hash of it."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from metaeval.citation.aliice.claim_options import EXPANDED
from metaeval.citation.aliice.claims import in_one_form
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import cited_spans, move_leading, split
from metaeval.citation.readers.answer_files import read_answers

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"
"""The folder ../shared/data beside the project."""

CRAG, SCHOLAR = "crag25/study1_responses_llm.jsonl.gz", "scholarqabench/human_answers.json"
FILES = (CRAG, SCHOLAR)

PLAN = {("several", ""): 40, ("inside", ""): 60, ("end", CRAG): 60, ("end", SCHOLAR): 40}
"""Sentences of each kind, from one file or from all (""); see `kind_of`."""

READING, DEVELOPMENT = 20261126, 31


class Pointer(NamedTuple):
    """A cited sentence of a published file: file, id of the answer, number of the sentence from 1, kind, hash."""

    file: str
    answer: str
    sentence: int
    kind: str
    sha256: str


def digest(text: str) -> str:
    """Return the first 16 digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def kind_of(sentence: str) -> str | None:
    """Return the kind of a sentence with marks [n]; None for one without.

    several: more than one citation group; inside: words after the only group; end: none after it.
    """
    groups = cited_spans(sentence)
    if len(groups) != 1:
        return "several" if groups else None
    return "inside" if re.search(r"\w", sentence[groups[0].end :]) else "end"


def sentences_of(answer: Answer) -> list[str]:
    """Return the sentences of an answer as the expanded profile reads them, with marks [n] from 1."""
    moved = move_leading(split(in_one_form(answer, EXPANDED)), EXPANDED.leading, EXPANDED.styles)
    return [each.text for each in moved if each.text.strip()]


def cited(answers: Mapping[str, list[Answer]]) -> Iterator[tuple[Pointer, str]]:
    """Yield the cited sentences of all files with their pointers."""
    for file, rows in answers.items():
        for answer in rows:
            for number, text in enumerate(sentences_of(answer), start=1):
                if (kind := kind_of(text)) is not None:
                    yield Pointer(file, answer.id, number, kind, digest(text)), text


def answers_of(data: Path) -> dict[str, list[Answer]]:
    """Return the answers of the published files in a folder."""
    return {file: read_answers(data / file) for file in FILES}


def draw(every: list[Pointer], seed: int, plan: Mapping[tuple[str, str], int]) -> list[Pointer]:
    """Return sentences of all kinds of the plan, with different texts; all that there are where there are too few."""
    different = list({pointer.sha256: pointer for pointer in sorted(every)}.values())
    drawn: list[Pointer] = []
    for (kind, file), number in plan.items():
        pool = [each for each in different if each.kind == kind and file in ("", each.file)]
        drawn += Random(f"{seed} {kind} {file}").sample(pool, min(number, len(pool)))
    return drawn


def read_table(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV file; none if it is not there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def committed() -> list[Pointer]:
    """Return the 200 sentences that readers judge, as they were drawn before any rule was changed."""
    rows = read_table(HERE / "draw.csv")
    return [Pointer(**{**row, "sentence": int(row["sentence"])}) for row in rows]


def development(every: list[Pointer], number: int = 40) -> list[Pointer]:
    """Return sentences for work on the rules: of other texts than the 200, as many of each kind as there are."""
    held = {pointer.sha256 for pointer in committed()}
    return draw([each for each in every if each.sha256 not in held], DEVELOPMENT, dict.fromkeys(PLAN, number))
