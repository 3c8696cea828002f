"""Read answers of every format: mangled records, 100,000 answers, and one answer with 5,000 citations.

    python benchmarks/answer_formats.py mangled 10000     # mangled records of each format: what became of them
    python benchmarks/answer_formats.py size              # seconds and memory by size, of one answer and of many

A record that is neither refused in one sentence nor read with every citation accounted for ends the first command.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from metaeval.citation.readers.answer_files import FORMATS, read_answers
from metaeval.citation.readers.cited_to_answers import read_cited
from metaeval.corpus.data_rows import DataRow
from tests.citation.answer_shapes import SHAPES, mangled, many_citations
from tests.citation.test_answer_formats_mangled import check


def read_mangled(number: int) -> None:
    """Print the outcomes of mangled records of each format."""
    for form, record in SHAPES.items():
        random = Random(form)
        outcomes = Counter(check(form, mangled(record, random)) for _ in range(number))
        print(f"{form:14}", dict(outcomes))
        assert set(outcomes) <= {"read", "counted", "refused"}, outcomes


def print_sizes() -> None:
    """Print CPU seconds and the peak of memory for many answers, and for answers with many citations."""
    for form in ("trec", "gemini", "openai-chat", "anthropic"):
        for number in (1_000, 5_000, 25_000):
            record = many_citations(form, number)
            start = time.process_time()
            (answer,) = read_cited(FORMATS[form], [DataRow("line 1", record)]).answers
            print(f"{form}: {number:,} citations, {time.process_time() - start:.2f} s, {len(answer.text):,} characters")
    with tempfile.TemporaryDirectory() as folder:
        for number in (10_000, 100_000):
            path = Path(folder) / "answers.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for place in range(number):
                    record = json.loads(json.dumps(SHAPES["trec"]))
                    record["metadata"]["narrative_id"] = place
                    file.write(json.dumps(record) + "\n")
            tracemalloc.start()
            start = time.process_time()
            answers = read_answers(path)
            seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
            tracemalloc.stop()
            print(f"trec: {len(answers):,} answers, {seconds:.1f} s (traced), {peak / number:,.0f} bytes an answer")


if __name__ == "__main__":
    if sys.argv[1:2] == ["mangled"]:
        read_mangled(int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
    else:
        print_sizes()
