"""What answers hold beside the answer is left out: the claims and values are those of the clean answers."""

import json
import logging
from pathlib import Path
from random import Random

import pytest

import metaeval
from metaeval.citation.alce.citations import PAPER, statements
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.marks_and_sentences import cleaned, reading_of
from metaeval.citation.readers.answer_files import gather
from metaeval.citation.readers.clean_up import left_out_of

FACTS = ["The dam opened in 1936", "It is 221 metres tall", "Its lake holds water for cities", "Two towers stand in it"]
PASSAGES = tuple(Passage(f"{fact} in the west.") for fact in FACTS)


def linked(number, random):
    page = f"https://www.example.org/wiki/Page_({number})?x={number}"
    forms = ("[{n}]({a})", "[[{n}]]({a})", "[\\[{n}\\]]({a})", "([{n}]({a}))", "<sup>[{n}]({a})</sup>", "[[{n}]({a})]")
    return random.choice(forms).format(n=number, a=page)


def decorated(facts, random):
    """Return (clean text, the same answer as models write it), with one cited fact a line."""
    clean, lines = [], []
    style = random.choice(["plain", "numbers", "letters", "bullets", "quote", "bold"])
    for at, fact in enumerate(facts, start=1):
        number = random.randint(1, len(PASSAGES))
        mark = f" {linked(number, random)}" if random.random() < 0.5 else f" [{number}]"
        cited = random.random() < 0.8
        clean.append(f"{fact} [{number}]." if cited else f"{fact}.")
        text = f"{fact}{mark if cited else ''}."
        sign = {"numbers": f"{at}. ", "letters": f"{'abcd'[at - 1]}) ", "bullets": "- ", "quote": "> "}.get(style, "")
        lines.append(sign + (text.replace(fact, f"**{fact}**") if style == "bold" else text))
    parts = ["\n".join(lines)]
    if random.random() < 0.5:
        parts.insert(0, random.choice(["# Dams", "**Dams and lakes:**", "Dams\n====", "---"]))
    if random.random() < 0.5:
        parts.insert(0, "<think>\nPassage 1 says so [1]. Is it wide [2]?\n</think>")
    if random.random() < 0.5:
        parts.append("```python\nx = a[1]\n# Sources: none\n```")
    if random.random() < 0.5:
        listed = [f"[{at}] {fact}. https://example.org/{at}" for at, fact in enumerate(FACTS, start=1)]
        parts.append("\n".join([random.choice(["## References", "Sources:", "**Works cited**"]), *listed]))
    return "\n".join(clean), "\n\n".join(parts)


def read(text):
    answer = Answer("a", text, PASSAGES)
    return Answer("a", text, PASSAGES, left_out=left_out_of(answer))


def claims(answer):
    return [(row.claim.text, row.claim.citations) for row in statements(answer, PAPER) if row.number]


def test_answers_as_models_write_them_have_the_claims_and_values_of_the_clean_ones():
    random = Random(0)
    pairs = [decorated(random.sample(FACTS, random.randint(1, 4)), random) for _ in range(60)]
    wrong = [(clean, text) for clean, text in pairs if claims(Answer("a", clean, PASSAGES)) != claims(read(text))]
    assert not wrong, wrong[0]
    passages = [passage.text for passage in PASSAGES]
    values = []
    for side in (0, 1):
        objects = [{"id": str(at), "text": pair[side], "passages": passages} for at, pair in enumerate(pairs)]
        found = metaeval.cite.alce(objects, nli="overlap", threshold=0.5)
        values.append([record["value"] for record in found["citation-scores"].records])
    assert len(values[0]) == 3
    assert values[0] == values[1]


CASES = json.loads(Path(__file__).with_name("report_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "left"), CASES["left"])
def test_what_is_left_of_a_text(text, left):
    assert cleaned(read(text)).text == left


def test_offsets_are_those_of_the_text_as_it_was_read():
    text = "<think>x [1]</think>\n1. It opened [[2]](https://a.example)."
    reading = reading_of(read(text))
    (mark,) = reading.marks()
    assert (text[mark.start :][:3], mark.number) == ("[[2", 2)
    (row,) = statements(read(text), PAPER)
    assert text[row.claim.start : row.claim.end].startswith("It opened")
    for text in ("[" * 100_000, "<think>" * 15_000, "**a " * 25_000, "[1](" * 25_000, "|" * 100_000, "- " * 50_000):
        assert "It opened." in cleaned(read(f"It opened.\n{text}")).text


def test_what_is_left_out_is_counted_and_may_stay(tmp_path, caplog):
    caplog.set_level(logging.INFO, "metaeval")
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "<think>x</think>\\n1. It opened [1].", "passages": ["It opened."]}\n', encoding="utf-8")
    (answer,) = gather([path])
    assert [piece.kind for piece in answer.left_out] == ["reasoning block", "list number"]
    assert "1 reasoning block, 1 list number" in caplog.text
    assert "1 reasoning block, 1 list number" in str(metaeval.cite.alce(path, nli="overlap")["citation-scores"].footer)
    assert gather([path], clean=False)[0].left_out == ()
    assert claims(answer) == [("It opened.", (1,))]
