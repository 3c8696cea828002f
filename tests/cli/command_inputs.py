"""The files of answers, ratings and samples that commands are tried with, the same at every call."""

import json
import re
import zlib

ODER = "The Oder is 840 kilometres long. It rises in the Czech Republic. Barges carry coal on it."
PASSAGES = [
    {"title": "Oder", "text": ODER},
    {"title": "Bridge", "text": "The mayor opened the stone bridge in May. A Dane built the bridge in 1999."},
    {"title": "Winter", "text": "The river froze in winter and ships stayed in port. Rain fell in spring."},
]
TEXTS = (
    "The Oder is {n} kilometres long [1]. Barges carry coal [1][2], and the mayor opened the bridge in May [2].",
    "The river froze in winter [3] and ships stayed in port. A Dane built the bridge in {n} [2][1]. Nobody sails.",
    "Rain fell in spring [3][7]. The stone bridge, which the mayor opened [2], is long. Ships carry wool [1].",
)


def chance(text, of):
    """A number below `of` that depends on the text alone."""
    return zlib.crc32(text.encode()) % of


def write_inputs(folder):
    """Write answers.jsonl, rated.jsonl, samples.jsonl and readers.csv."""

    def write(name, rows):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    answers = [
        {
            "id": f"{system}-{group}",
            "group": f"q{group}",
            "system": f"system {system}",
            "question": f"Question {group}?",
            "passages": PASSAGES,
            "text": TEXTS[(system + group) % 3].format(n=(840, 1999)[group % 2]),
        }
        for system in range(2)
        for group in range(4)
    ]
    write("answers.jsonl", answers)
    rated = []
    for number, one in enumerate([*answers, *({**one, "group": f"{one['group']}b"} for one in answers)]):
        text = f"{one['text']} Number {number}."
        ends = [match.end() for match in re.finditer(r"\. |\.$", text)]
        spans = [(start, end - (text[end - 1] == " ")) for start, end in zip([0, *ends], ends, strict=False)]
        ratings = [
            {"start": start, "end": end, "ratings": [chance(f"{number}{start}{who}", 5) / 4 for who in "abc"]}
            for start, end in spans
        ]
        rated.append({**one, "id": f"r{number}", "text": text, "statements": ratings})
    write("rated.jsonl", rated)
    samples = []
    for number, one in enumerate(answers):
        paragraph = "The river froze in winter. The mayor opened the bridge in May."
        cited = [{"position": 25, "document": 3}, {"position": len(paragraph) - 1, "document": 2}]
        about = {"id": f"s{number}", "group": one["group"], "system": one["system"], "query": one["question"]}
        samples.append(
            about | {"paragraph": paragraph, "citations": cited, "documents": PASSAGES} | {"output": one["text"]}
        )
    write("samples.jsonl", samples)
    given = (f"u{n},q{n // 2},{n % 3},{n % 3},{n % 2}\n" for n in range(12))
    (folder / "readers.csv").write_text("".join(["id,question,r1,r2,r3\n", *given]))
