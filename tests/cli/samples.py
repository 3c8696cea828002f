"""What tests of commands share: every command that can be typed, answers to judge, and a judge of them."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import typer.main

from metaeval.analyses.metrics import SHOW


def every_command() -> dict[str, Any]:
    """Every command of the tree by the words that it is typed with."""
    from metaeval.cli.app import app

    def inside(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        if not hasattr(command, "list_commands"):
            yield " ".join(words), command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from inside(command.get_command(context, name), (*words, name))

    return dict(inside(typer.main.get_command(app), ()))


RIVERS = {
    "id": "rivers",
    "group": "q1",
    "system": "m",
    "query": "What do rivers carry?",
    "paragraph": "Dams store water. Barges carry coal.",
    "citations": [{"position": 16, "document": 1}, {"position": 35, "document": 2}],
    "documents": [{"text": "Dams store water."}, {"text": "Barges carry coal."}],
}


def with_options(name, settings):
    """The configuration that gives a metric options, each as key=value, as `metrics show` takes them."""
    return SHOW.options_of({"name": name}, settings).configured()


FIRST, SECOND = "The Oder is long [1] and barges carry coal [2]. ", "Dams store {} water [1]."
REPLIES = {
    "attribution": {"statements": [{"id": n, "thinking": "", "context": "retrieval"} for n in (1, 2)]},
    "editing": {"statements": [{"id": n, "thinking": "", "edits": [], "rating": 3 + n} for n in (1, 2)]},
    "lqac_recall": {"thinking": "", "support": "partial"},
    "lqac_need": {"thinking": "", "needs_citation": "no"},
    "lqac_precision": {"thinking": "", "relevance": "relevant"},
    "attrscore": {"thinking": "", "label": "Attributable"},
    "facts": {"facts": ["The Oder is long."]},
    "segment": {"segment": "The Oder is long"},
    "selection": {"documents": [1]},
    "summary": {"summary": "The Oder is long."},
}


def reply(body: Any) -> str:
    """What a judge says to a prompt that is held to a schema; else an answer, or what stands for a claim."""
    kind = body.get("response_format", {}).get("json_schema", {}).get("name")
    return json.dumps(REPLIES[kind]) if kind in REPLIES else "The Oder is long [1]."


def lines_of(path: Path) -> list[Any]:
    """The values of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file by its headings."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    """Write values as a JSONL file, a text as the line that it is."""
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def write_rated_answers(folder: Path) -> list[dict[str, Any]]:
    """Write two systems' answers to three questions, as they are and with people's ratings and scores of statements.

    answers.jsonl, rated.jsonl and scores.jsonl; the answers as they are.
    """
    rows: list[dict[str, Any]] = []
    for system in range(2):
        for number in range(3):
            second = SECOND.format(number)
            places = ((0, len(FIRST) - 1), (len(FIRST), len(FIRST) + len(second)))
            ratings = ([1, number / 4], [system / 4, None])
            rows.append(
                {
                    **{"id": f"{system}-{number}", "group": f"q{number}", "system": f"system {system}"},
                    **{"question": f"Question {number}?", "text": FIRST + second},
                    "passages": [
                        {"title": "Oder", "text": "Dams store water. It is long."},
                        {"text": "Barges carry coal."},
                    ],
                    "statements": [
                        {"start": start, "end": end, "ratings": pair}
                        for (start, end), pair in zip(places, ratings, strict=True)
                    ],
                }
            )
    scores = [
        {"answer": row["id"], "start": statement["start"], "end": statement["end"], "value": float(number)}
        for row in rows
        for number, statement in enumerate(row["statements"])
    ]
    unrated = [{key: value for key, value in row.items() if key != "statements"} for row in rows]
    for name, records in (("answers", unrated), ("rated", rows), ("scores", scores)):
        write_lines(folder / f"{name}.jsonl", records)
    return unrated


def write_towns(folder: Path, levels: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Write answers.jsonl, of two citations each with sources of these levels, and labels.csv; the levels by item."""
    sources = {"full": "Town {} has a bridge.", "partial": "Town has a mill.", "none": "Cats sleep."}
    rows, labels = [], {}
    for number, pair in enumerate(levels):
        text = f"Town {number} has a bridge [1]. Town {number} has a bridge [2]."
        passages = [{"text": sources[level].format(number)} for level in pair]
        rows.append({"id": f"a{number}", "question": f"Town {number}?", "text": text, "passages": passages})
        labels |= {f"a{number}/{place}[{place}]": level for place, level in enumerate(pair, start=1)}
    write_lines(folder / "answers.jsonl", rows)
    write_lines(folder / "labels.csv", ["Item,Verdict", *map(",".join, labels.items())])
    return labels
