"""Read a file of model answers, its format told from its content or named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

from metaeval.citation.model import Answer, Passage, check_ids, writable
from metaeval.citation.readers.expertqa import read_expertqa
from metaeval.citation.readers.jsonl import FIELDS, read_own
from metaeval.citation.readers.scifi import read_scifi
from metaeval.corpus.loaders.rows import DataRow, read_rows
from metaeval.errors import UserError, shown, unknown
from metaeval.reading import read_json


def read_scholarqa(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """The experts' answers of ScholarQA-Multi (Asai et al. 2024); the question is the group, the annotator the system.

    Marks count from 0: nearly every answer starts at 0 and ends one below its number of passages, and a clause shares
    more words with the passage at the number counted from 0 than with the one before it. Two of the
    published passages have no text, which the file writes as NaN: their text is empty.
    """
    for row in rows:
        own = row.identifier("id")
        documents = [(one, one.fields.get("text")) for one in row.rows("ctxs")]
        yield Answer(
            id=own,
            text=row.text("output"),
            passages=tuple(
                Passage(
                    "" if isinstance(text, float) and text != text else one.text("text"), one.optional_text("title")
                )
                for one, text in documents
            ),
            question=row.text("input"),
            system=row.optional_text("annotator"),
            first=0,
        )


def read_crag25(rows: Sequence[DataRow], path: Path) -> Iterator[Answer]:
    """CRAG-25 (Gienapp et al. 2025), study 1: the topic is the group, the style (bullet, essay, news) the system.

    Marks count from 0. In the 903 published responses they run from 0 to 19 over 20 passages, 0 is the most frequent,
    and 20 never occurs; and a clause shares 38 % of its words with the passage at the number counted from 0, 22 % with
    the one before it.

    The passages are in `STUDY_retrieval.jsonl`, gzipped or not, in the folder of `STUDY_responses_llm.jsonl`.
    Raises `UserError` when that file is missing, lacks a topic, or has fewer texts than ids for one.
    """
    study = path.name.split("_")[0]
    places = [path.with_name(f"{study}_retrieval.jsonl{ending}") for ending in (".gz", "")]
    beside = next((place for place in places if place.is_file()), None)
    if beside is None:
        raise UserError(f"{path}: the passages are missing; put {places[0].name} into the same folder.")
    topics = {row.text("topic"): row for row in read_rows(beside)}
    texts = {topic: row.texts("references_texts") for topic, row in topics.items()}
    for topic, row in topics.items():
        if len(texts[topic]) != (ids := len(row.texts("references_ids"))):
            raise UserError(f"{row.where}: field 'references_texts' has {len(texts[topic])} texts for {ids} ids.")
    for row in rows:
        topic = row.text("topic")
        if topic not in topics:
            raise row.error("topic", f"a topic of {beside}")
        yield Answer(
            id=row.identifier("response"),
            text=row.text("text"),
            passages=tuple(map(Passage, texts[topic])),
            question=topics[topic].text("query"),
            group=topic,
            system=row.optional_text("style"),
            first=0,
        )


REFERENCE = ("answer", "qa_pairs", "annotations", "claims", "answers")
"""The fields that correctness is measured against, kept as they stand."""


def alce_passages(item: DataRow) -> tuple[Passage, ...]:
    """The documents of an item; `sent` is read in place of `text` where one has it, as ALCE's own code does."""
    return tuple(
        Passage(one.text("sent" if "sent" in one.fields else "text"), one.optional_text("title"))
        for one in item.rows("docs")
    )


def read_alce(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """ALCE's items: one answer for each, or for each sample where `output` is a list; samples share the item's group.

    Ids are the item's `id` or `sample_id`, else its number from 1; a sample's has `#1`, `#2` behind it.
    """
    for number, row in enumerate(rows, start=1):
        given = (row.identifier(one) for one in ("id", "sample_id") if row.fields.get(one) is not None)
        name = next(given, str(number))
        passages = alce_passages(row)
        reference = {field: row.fields[field] for field in REFERENCE if row.fields.get(field) is not None}
        question = row.optional_text("question")
        several = isinstance(row.fields.get("output"), list)
        if several and not row.texts("output"):
            raise row.error("output", "a string, or a list of strings that is not empty")
        for sample, text in enumerate(row.texts("output") if several else [row.text("output")], start=1):
            own = f"{name}#{sample}" if several else name
            yield Answer(own, text, passages, question, group="" if question.strip() else name, reference=reference)


Reader = Callable[[list[DataRow], Path], Iterator[Answer]]

READERS: Mapping[str, Reader] = {
    "alce": lambda rows, _: read_alce(rows),
    "jsonl": lambda rows, _: read_own(rows),
    "crag25": read_crag25,
    "expertqa": lambda rows, _: read_expertqa(rows),
    "scholarqa": lambda rows, _: read_scholarqa(rows),
    "scifi": lambda rows, _: read_scifi(rows),
}

# The fields that tell a format from the others; the first format whose fields a file's first item has is taken.
_TELLING: Mapping[str, tuple[str, ...]] = {
    "scholarqa": ("output", "ctxs"),
    "alce": ("output", "docs"),
    "crag25": ("response", "topic", "text"),
    "expertqa": ("question", "annotator_id", "answers"),
    "scifi": ("query", "paragraph", "documents"),
    "jsonl": ("text", "passages"),
}

HINT = (
    "name a file of answers (ALCE's JSON, JSONL, SCiFi, CRAG-25, ScholarQABench, ExpertQA; "
    "'metaeval cite alce --help' has examples)"
)


def read_answers(path: Path, form: str = "auto") -> list[Answer]:
    """The answers of a file, in its order; form: a name in `READERS`, or "auto".

    Raises `UserError`, with file, item and field, when the file is empty or of another format, when passages are
    missing, and when two answers share an id.
    """
    answers = _answers(path, form, _rows(path, form))
    check_ids((answer.id for answer in answers), "answers", path)
    return answers


def _answers(path: Path, form: str, rows: list[DataRow]) -> list[Answer]:
    return list(READERS[form_of(rows[0], _TELLING, "answers", HINT) if form == "auto" else form](rows, path))


def answers_of(objects: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """The answers of objects with the fields of the JSONL format; other fields, and those that are None, are left out.

    Raises `UserError` as `read_answers` does.
    """
    known = [{key: one[key] for key in FIELDS if one.get(key) is not None} for one in objects]
    answers = list(read_own([DataRow(f"answers row {number}", one) for number, one in enumerate(known, start=1)]))
    check_ids((answer.id for answer in answers), "answers", "the answers")
    return answers


def gather(files: Sequence[Path], form: str = "auto") -> list[Answer]:
    """The answers of one or more files.

    An answer that names no system is of its file's; with several files, ids begin with the file's name.

    Raises `UserError` for no file, a file that cannot be read as answers, two files of one name, and a system that
    goes by the name of another file.
    """
    read = {name: read_answers(path, form) for name, path in named_files(files, "answers").items()}
    named = {name: {answer.system for answer in own} for name, own in read.items()}
    for (name, systems), (other, others) in permutations(named.items(), 2):
        # Answers that name no system go by their file's name; it must not be another system's.
        if "" in systems and name in others:
            raise UserError(
                f"Answers in {other} are of a system {name!r}, and so are those of the file {name}, which name "
                "none: rename the file, or name its system in the field 'system'."
            )
    answers: list[Answer] = []
    for name, own_answers in read.items():
        for answer in own_answers:
            prefix = f"{name}/" if len(files) > 1 else ""
            own = f"{prefix}{answer.id}", answer.system or name, answer.group
            written, system, group = map(writable, own)
            answers.append(replace(answer, id=written, system=system, group=group))
    return answers


def named_files(files: Sequence[Path], what: str) -> dict[str, Path]:
    """Files by their names without endings; `UserError` for no file (of `what`), and for two of one name."""
    if not files:
        raise UserError(f"No file of {what} is given: name at least one.")
    names = [file_stem(path) for path in files]
    if len(set(names)) < len(names):
        raise UserError(f"Files are told apart by their names, and two have the same: {', '.join(names)}.")
    return dict(zip(names, files, strict=True))


def file_stem(path: Path) -> str:
    """A file's name without its endings: answers.jsonl.gz is answers."""
    return path.name.split(".")[0] or path.name


def form_of(row: DataRow, telling: Mapping[str, Sequence[str]], what: str, hint: str = "") -> str:
    """The first form whose telling fields a file's first item has. what: the file holds, for errors.

    hint: what else to do, where an item that lacks one telling field is to be refused as half of that form.
    """
    lacking = {form: [one for one in fields if one not in row.fields] for form, fields in telling.items()}
    if found := next((form for form, left in lacking.items() if not left), None):
        return found
    # A record that lacks one telling field is more likely half of a known format than of no format.
    near = [f"looks like {form} and lacks the field {left[0]}" for form, left in lacking.items() if len(left) == 1]
    fields = ", ".join(row.fields) or "none"
    if near and hint:
        raise UserError(
            f"{row.where}: {'; or '.join(near)} (it has {fields}): add it, or rename the one it is, or {hint}."
        )
    known = "; ".join(f"{form}: {', '.join(fields)}" for form, fields in telling.items())
    raise UserError(f"{row.where}: no known format of {what} has the fields {fields}; known are {known}.")


def _rows(path: Path, form: str) -> list[DataRow]:
    """The items of a list, of JSON lines, or under `data` of one object, as ALCE writes it; at least one."""
    if form != "auto" and form not in READERS:
        raise unknown("format of answers", form, (*READERS, "auto"))
    if path.suffix.lower() in (".csv", ".tsv", ".xlsx", ".parquet") and path.is_file():
        raise UserError(
            f"{path} is a table, and answers are read from JSON: {HINT}. A table with a statement and a source in each "
            f"row is judged by 'metaeval score -d ratings --data {path}', 'metaeval label' and 'metaeval estimate'."
        )
    try:
        content = read_json(path)
    except UserError:
        content = None  # `read_rows` judges what it is
    if isinstance(content, dict) and "data" in content:
        data = content["data"]
        if not isinstance(data, list):
            raise UserError(f"{path}: field 'data' is {shown(data)}; allowed: a list of items.")
        for number, value in enumerate(data, start=1):
            if not isinstance(value, dict):
                raise UserError(f"{path} record {number} is {shown(value)}; allowed: an object.")
        rows = [DataRow(f"{path} record {number}", value) for number, value in enumerate(data, start=1)]
    else:
        rows = list(read_rows(path, HINT, lone_surrogates=True))
    if not rows:
        raise UserError(f"{path} holds no answers: give a file with at least one.")
    return rows


# The field of the documents in a form whose texts may be missing, and the field of the text.
_UNWRITTEN: Mapping[str, tuple[str, str]] = {"jsonl": ("passages", "text"), "alce": ("docs", "output")}


def read_questions(path: Path, form: str = "auto") -> list[Answer]:
    """The distinct questions of a file, in its order, as answers whose text is not to be read.

        {"id": "q1", "question": "Who built it?", "passages": [{"title": "Bridge", "text": "A Dane built the bridge."}]}

    Any file of answers is read, and one's own form (`readers/jsonl.py`) without `text`, and ALCE's without `output`.

    Answers to the same question from the same documents are one question, under the first one's id.

    Raises `UserError` where `read_answers` does, and for a question without words or without a document.
    """
    rows = _rows(path, form)
    for kind, (documents, text) in _UNWRITTEN.items():
        if form in (kind, "auto") and documents in rows[0].fields and text not in rows[0].fields:
            form, rows = kind, [DataRow(row.where, {text: "", **row.fields}) for row in rows]
    answers = _answers(path, form, rows)
    if not answers:
        raise UserError(f"{path} holds no questions: give a file with at least one.")
    check_ids((one.id for one in answers), "questions", path)
    distinct: dict[tuple[str, tuple[Passage, ...]], Answer] = {}
    for one in answers:
        if not one.question.strip():
            raise UserError(f"{path}: question {shown(one.id)} has no words; give it a field 'question'.")
        if not any(passage.text.strip() for passage in one.passages):
            raise UserError(f"{path}: question {shown(one.id)} has no documents; give it passages with a text.")
        distinct.setdefault((one.question, one.passages), one)
    return list(distinct.values())
