"""The explorer's data of a citation pipeline's result: answers with their marks, and each backend's verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metaeval.citation.marks_and_sentences import reading_of
from metaeval.citation.pipelines.figures import judged_answers
from metaeval.core.errors import UserError
from metaeval.core.files import safe_name
from metaeval.explorer.citation_lines import SUPPORTED, rows_of, verdicts_of
from metaeval.report.table_files import printed
from metaeval.runs.job import read_manifest

_FIELDS = (
    *("claim", "sentence_start", "sentence_end", "citation", "start", "end"),
    *("joint", "alone", "rest", "score", "recall", "precision", "state", "reason", "cut"),
)


def is_citation_job(folder: Path) -> bool:
    """Return whether the folder's manifest is of a job of a citation pipeline ('metaeval cite ...')."""
    return str(read_manifest(folder).get("command", "")).startswith("cite ")


def show_answers(folder: Path, answers_file: Path | None, most: int) -> dict[str, Any]:
    """Return the page's data for a result of `cite`: its answers, and each backend's verdicts on their citations.

    answers_file: used instead of the files that the manifest names. most: largest number of answers; the first ones are
    taken. Raises `UserError` for a pipeline without verdicts on single citations, and where answers cannot be read.
    """
    manifest = read_manifest(folder)
    command = str(manifest.get("command"))
    lines, degrees = verdicts_of(folder)
    if not lines:
        jobs = "'cite alce', 'cite aliice', 'cite support', 'cite scifi' or 'cite citeeval'"
        raise UserError(f"{folder} holds no verdicts on single citations: give a job of {jobs}.")
    answers, notes = judged_answers(folder, manifest, answers_file)
    if degrees:
        notes.append(f"A value of {SUPPORTED} or more has the colour of support; the value itself stands beside it.")
    judged = {line["answer"] for of_backend in lines.values() for line in of_backend}
    known = {answer.id for answer in answers}
    if not judged <= known:
        what = f"{folder} judged the answer {min(judged - known)!r}, which the answer file does not hold"
        raise UserError(f"The job in {what}: give the file that was judged with --data.")
    shown = [answer for answer in answers if answer.id in judged][:most]
    if len(shown) < len(judged):
        notes.append(f"{len(shown):,} of {len(judged):,} answers are shown, the first ones. The tables are of all.")
    names = {safe_name(str(name)): str(name) for name in manifest["config"]["metrics"]}
    passages = {(passage.title, passage.text): None for answer in shown for passage in answer.passages}
    numbers = {passage: number for number, passage in enumerate(passages)}
    replies: dict[str, list[str]] = {}
    for line in rows_of(folder / "per-replies.jsonl") if (folder / "per-replies.jsonl").is_file() else ():
        replies.setdefault(str(line["answer"]), []).append(str(line["reply"]))
    backends = []
    for name, of_backend in lines.items():
        by_answer: dict[str, list[list[Any]]] = {answer.id: [] for answer in shown}
        for line in of_backend:
            if line["answer"] in by_answer:
                by_answer[line["answer"]].append([line.get(field) for field in _FIELDS])
        backends.append({"name": names.get(name, name), "fields": _FIELDS, "lines": list(by_answer.values())})
    return {
        "kind": "answers",
        "title": f"{', '.join(dict.fromkeys(name.partition('/')[0] for name in manifest['data']))}: {command}",
        "pairs": len(shown),
        "of": len(judged),
        "notes": notes,
        "tables": [[path.stem, text] for path, text in printed(sorted(folder.iterdir())).items()],
        "passages": [list(passage) for passage in passages],
        "answers": [
            {
                **{"id": answer.id, "system": answer.system, "question": answer.question, "text": answer.text},
                "passages": [numbers[passage.title, passage.text] for passage in answer.passages],
                "first": answer.first,
                "marks": [[mark.start, mark.end, mark.number] for mark in reading_of(answer).marks(first=answer.first)],
                "replies": replies.get(answer.id, []),
            }
            for answer in shown
        ],
        "backends": backends,
    }
