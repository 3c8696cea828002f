"""How many golden claims each parser gives, and how many sentences a second become claims, on one core.

    python benchmarks/aliice_parsing.py [FILE]

Golden claims: those of the released code on its own parses of 37 sentences (tests/golden/aliice_parser.json), for the
profile paper with commas kept; by parser: these parses, the shipped one, and spaCy's English ones that are installed.
FILE: JSON, a list of objects with an answer in `output` (ScholarQABench's human_answers.json); without it, the
statements of the mini corpus with marks put in. Of it: CPU time of the shipped parser, and from sentence to claim.
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

from metaeval.citation.aliice.claim_options import PROFILES, AliiceProfile
from metaeval.citation.aliice.claims import draft, read_sentences
from metaeval.citation.parsers.dependency_parsers import find_parser, parse_of, stored_parser
from metaeval.corpus.sentences import split_sentences

ROUNDS = 3
GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "aliice_parser.json"
RUNS = {"released": "released_code", "paper": "commas_kept"}  # by profile, the golden run with its rules


def main(path: Path | None) -> None:
    """Print the tables."""
    from spacy.util import get_installed_models

    for name in ["stored", "small", *(f"spacy:{each}" for each in get_installed_models() if each.startswith("en_"))]:
        for profile in PROFILES.values():
            same, of, *several = golden_claims(name, profile)
            where = "{} of {} where a sentence has several".format(*several)
            print(f"{name}, {profile.name}: {same} of {of} golden claims, {where}")
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


def golden_claims(name: str, profile: AliiceProfile) -> tuple[int, ...]:
    """Golden claims that a parser gives, of how many, and the same of sentences with several claims."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["sentences"]
    runs = [each[RUNS[profile.name]] for each in golden]
    parses = {run["parser_input"]: parse_of(run["parse"]) for run in runs if "parse" in run}
    parser = stored_parser(parses) if name == "stored" else find_parser(name, profile.one_root)
    found = read_sentences([each["sentence"] for each in golden], parser, profile)
    same: list[list[bool]] = []
    for run, of in zip(runs, found, strict=True):
        given = [{"claim": claim.text, "citations": [*claim.citations]} for claim in of.claims]
        same.append([claim in given for claim in run["claims"]])
    kinds = (same, [each for each in same if len(each) > 1])
    return tuple(count for kind in kinds for count in (sum(map(sum, kind)), sum(map(len, kind))))


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
