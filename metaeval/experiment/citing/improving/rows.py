"""The improved answers as a file, and what changed in each of them, round by round."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from metaeval.citation.generation.writing import own_lines
from metaeval.experiment.citing.improving.run import Bettered
from metaeval.experiment.sheet import Record
from metaeval.files import write_text


def write_improved(bettered: Bettered, output: Path, folder: Path) -> list[Path]:
    """Write the answers as JSON lines, and the changes of each round, answer by answer; the paths."""
    write_text(output, own_lines(bettered.answers))
    path = folder / "changes.jsonl"
    write_text(path, "".join(json.dumps(row) + "\n" for row in _changes(bettered)))
    return [output, path]


def _changes(bettered: Bettered) -> Iterator[Record]:
    for turn, (before, after) in enumerate(zip(bettered.rounds, bettered.rounds[1:], strict=False), start=1):
        for number in sorted(after.changed):
            done = before.edits[number].done
            yield {
                "round": turn,
                "answer": after.answers[number].id,
                "system": after.answers[number].system,
                "edits": "; ".join(
                    f"{statement}: {' '.join(f'{edit.name}:{edit.citation}' for edit in own)}"
                    for statement, own in done.items()
                    if own
                ),
                "before": before.answers[number].text,
                "after": after.answers[number].text,
            }
