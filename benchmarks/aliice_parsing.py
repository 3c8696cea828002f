"""How many sentences a second become claims, on one core, with the shipped parser.

    python benchmarks/aliice_parsing.py [FILE]

FILE: JSON, a list of objects with an answer in `output` (ScholarQABench's human_answers.json); without it, the
statements of the mini corpus with marks put in. Prints CPU time of parsing alone and from sentence to claim, for each
profile.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

# One core: the matrix products of the parser would otherwise use them all.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from metaeval.citation.aliice.claim_options import PROFILES
from metaeval.citation.aliice.claims import draft, read_sentences
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.corpus.sentences import split_sentences

ROUNDS = 3


def main(path: Path | None) -> None:
    """Print the table."""
    sentences = [sentence for text in answers(path) for sentence in split_sentences(text)]
    parser = find_parser("small")
    print(parser.name)
    for name, profile in PROFILES.items():
        texts = [text for each in sentences if (text := draft(each, profile).text) is not None]
        parsing = min(seconds(partial(parser.parse, texts)) for _ in range(ROUNDS))
        whole = min(seconds(partial(read_sentences, sentences, parser, profile)) for _ in range(ROUNDS))
        print(
            f"{name:9} {len(texts)} cited sentences: parsing {len(texts) / parsing:,.0f} a second, "
            f"to claims {len(texts) / whole:,.0f} a second"
        )


def answers(path: Path | None) -> list[str]:
    """The texts to read."""
    if path is not None:
        return [item["output"] for item in json.loads(path.read_text(encoding="utf-8"))]
    import metaeval

    statements = dict.fromkeys(pair.statement for pair in metaeval.pairs(dataset="mini"))
    return [with_marks(statement) for statement in statements]


def with_marks(statement: str) -> str:
    """A mark after the middle word and one at the end."""
    words = statement.rstrip(".").split()
    middle = len(words) // 2
    return f"{' '.join(words[:middle])}[1] {' '.join(words[middle:])}[2]."


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
