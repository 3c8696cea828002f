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
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from metaeval.citation.readers.answer_files import FORMATS, read_answers
from metaeval.citation.readers.cited_to_answers import read_cited
from metaeval.corpus.data_rows import DataRow
from tests.citation.answer_shapes import SHAPES, A, annotation, mangled
from tests.citation.test_answer_formats_mangled import check


def read_mangled(number: int) -> None:
    """Print the outcomes of mangled records of each format."""
    for form, record in ((form, SHAPES[form]) for form in SHAPES if FORMATS[form].read_file is None):
        random = Random(form)
        outcomes = Counter(check(form, mangled(record, random)) for _ in range(number))
        print(f"{form:14}", dict(outcomes))
        assert set(outcomes) <= {"read", "counted", "refused"}, outcomes


def many_citations(form: str, number: int) -> dict[str, Any]:
    """One answer with this many sentences, each with a citation of a source of its own."""
    sentences = [f"Bridge {place} é opened in {place}." for place in range(number)]
    urls = [f"https://a.example/{place}" for place in range(number)]
    if form == "trec":
        cited = [{"text": text, "citations": [url]} for text, url in zip(sentences, urls, strict=True)]
        return {"run_id": "r", "topic_id": "7", "answer": cited, "documents": {url: {"text": A} for url in urls}}
    if form == "anthropic":
        blocks = [
            {"type": "text", "text": f"{text} ", "citations": [{"url": url, "cited_text": text}]}
            for text, url in zip(sentences, urls, strict=True)
        ]
        return {"content": blocks}
    ends, length = [], 0
    for text in sentences:
        ends.append((length, length + len(text.encode() if form == "gemini" else text)))
        length = ends[-1][1] + 1
    if form == "gemini":
        supports = [
            {"segment": {"startIndex": start, "endIndex": end, "text": text}, "groundingChunkIndices": [place]}
            for place, ((start, end), text) in enumerate(zip(ends, sentences, strict=True))
        ]
        metadata = {"groundingChunks": [{"web": {"uri": url}} for url in urls], "groundingSupports": supports}
        return {"candidates": [{"content": {"parts": [{"text": " ".join(sentences)}]}, "groundingMetadata": metadata}]}
    annotations = [annotation(*place, url) for place, url in zip(ends, urls, strict=True)]
    return {"choices": [{"message": {"content": " ".join(sentences), "annotations": annotations}}]}


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
