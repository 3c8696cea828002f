"""What tests of commands share: every command that can be typed, samples of answers, and the files of a job."""

import json
from collections.abc import Iterator
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


PASSAGES = [{"title": "Oder", "text": "Dams store water. It is long."}, {"text": "Barges carry coal."}]
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


def reply(body):
    """The judge of every prompt that is held to a schema; else it writes an answer, or what stands for a claim."""
    kind = body.get("response_format", {}).get("json_schema", {}).get("name")
    return json.dumps(REPLIES[kind]) if kind in REPLIES else "The Oder is long [1]."


def write_rated_answers(folder):
    """Write two systems' answers to three questions, the same with ratings of their statements by two people, and
    scores of these; return the answers without ratings.
    """
    rows = []
    for system in range(2):
        for number in range(3):
            second = SECOND.format(number)
            places = ((0, len(FIRST) - 1), (len(FIRST), len(FIRST) + len(second)))
            ratings = ([1, number / 4], [system / 4, None])
            rows.append(
                {
                    **{"id": f"{system}-{number}", "group": f"q{number}", "system": f"system {system}"},
                    **{"question": f"Question {number}?", "passages": PASSAGES, "text": FIRST + second},
                    "statements": [
                        {"start": start, "end": end, "ratings": own}
                        for (start, end), own in zip(places, ratings, strict=True)
                    ],
                }
            )
    scores = [
        {"answer": row["id"], "start": one["start"], "end": one["end"], "value": float(number)}
        for row in rows
        for number, one in enumerate(row["statements"])
    ]
    unrated = [{key: value for key, value in row.items() if key != "statements"} for row in rows]
    for name, own in (("answers", unrated), ("rated", rows), ("scores", scores)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
    return unrated


def unchanging_files(folder):
    """The content of a job's files, without manifests and stores, by their paths."""
    kept = [path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in kept if ".sqlite" not in path.name}
