"""Readers of files of model answers, whose format is named or recognised from the content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

from metaeval import own_tables
from metaeval.citation.model import Answer, Passage, check_ids, writable
from metaeval.citation.readers.expertqa import read_expertqa
from metaeval.citation.readers.jsonl import FIELDS, read_own
from metaeval.citation.readers.scifi import read_scifi
from metaeval.citation.readers.tables import answers_in, cited_columns
from metaeval.corpus.loaders.rows import DataRow, read_rows
from metaeval.errors import UserError, shown, unknown
from metaeval.own_tables import read_table
from metaeval.reading import read_json


def read_scholarqa(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield the experts' answers of ScholarQA-Multi (Asai et al. 2024); question: the group, annotator: the system.

    Marks count from 0: nearly every answer starts at 0 and ends one below its number of passages, and a clause shares
    more words with the passage at the number counted from 0 than with the one before it. Two of the published passages
    have NaN as their text, which is read as an empty text.
    """
    for row in rows:
        passages = []
        for document in row.rows("ctxs"):
            text = document.fields.get("text")
            is_nan = isinstance(text, float) and text != text
            passages.append(Passage("" if is_nan else document.text("text"), document.optional_text("title")))
        yield Answer(
            id=row.identifier("id"),
            text=row.text("output"),
            passages=tuple(passages),
            question=row.text("input"),
            system=row.optional_text("annotator"),
            first=0,
        )


def read_crag25(rows: Sequence[DataRow], path: Path) -> Iterator[Answer]:
    """Yield the answers of CRAG-25 (Gienapp et al. 2025), study 1; group: topic, system: style (bullet, essay, news).

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
"""The fields of an item that the measures of correctness need; their values are kept unchanged."""


def alce_passages(item: DataRow) -> tuple[Passage, ...]:
    """Return the documents of an item; as in ALCE's code, `sent` is read instead of `text` where a document has it."""
    return tuple(
        Passage(document.text("sent" if "sent" in document.fields else "text"), document.optional_text("title"))
        for document in item.rows("docs")
    )


def read_alce(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield one answer for each of ALCE's items, or for each sample where `output` is a list.

    Ids are the item's `id` or `sample_id`, else its number from 1; samples add `#1`, `#2` and share the item's group.
    """
    for number, row in enumerate(rows, start=1):
        ids = (row.identifier(field) for field in ("id", "sample_id") if row.fields.get(field) is not None)
        item = next(ids, str(number))
        passages = alce_passages(row)
        reference = {field: row.fields[field] for field in REFERENCE if row.fields.get(field) is not None}
        question = row.optional_text("question")
        several = isinstance(row.fields.get("output"), list)
        if several and not row.texts("output"):
            raise row.error("output", "a string, or a list of strings that is not empty")
        for sample, text in enumerate(row.texts("output") if several else [row.text("output")], start=1):
            name, group = f"{item}#{sample}" if several else item, "" if question.strip() else item
            yield Answer(name, text, passages, question, group=group, reference=reference)


FormatReader = Callable[[list[DataRow], Path], Iterator[Answer]]

READERS: Mapping[str, FormatReader] = {
    "alce": lambda rows, _: read_alce(rows),
    "jsonl": lambda rows, _: read_own(rows),
    "crag25": read_crag25,
    "expertqa": lambda rows, _: read_expertqa(rows),
    "scholarqa": lambda rows, _: read_scholarqa(rows),
    "scifi": lambda rows, _: read_scifi(rows),
}

# A file has the first of these formats whose fields its first item has.
_TELLING: Mapping[str, tuple[str, ...]] = {
    "scholarqa": ("output", "ctxs"),
    "alce": ("output", "docs"),
    "crag25": ("response", "topic", "text"),
    "expertqa": ("question", "annotator_id", "answers"),
    "scifi": ("query", "paragraph", "documents"),
    "jsonl": ("text", "passages"),
}

TABLES = (*own_tables.TABLES, ".parquet")

HINT = (
    "name a file of answers (ALCE's JSON, JSONL, SCiFi, CRAG-25, ScholarQABench, ExpertQA; "
    "'metaeval cite alce --help' has examples)"
)


def read_answers(path: Path, form: str = "auto") -> list[Answer]:
    """Return the answers of a file, in its order; form: a name in `READERS`, or "auto".

    Raises `UserError`, with file, item and field, if the file is empty or has another format, if passages are missing,
    and if two answers share an id.
    """
    if form == "auto" and path.suffix.lower() in TABLES and path.is_file():
        return _in_table(path)
    answers = _answers(path, form, _rows(path, form))
    check_ids((answer.id for answer in answers), "answers", path)
    return answers


def _in_table(path: Path) -> list[Answer]:
    """Return the answers in a table; raises `UserError` for one with a statement in each row."""
    table = read_table(path)
    columns = cited_columns(table, {}, can_map=False)
    if columns.text:
        return answers_in(table, columns)
    raise UserError(
        f"{path} is a table with a statement in each row (column {shown(columns.roles['statement'])}), and not of "
        f"answers with marks such as [1]: it is judged by 'metaeval score -d ratings --data {path}', 'metaeval label' "
        "and 'metaeval estimate'."
    )


def _answers(path: Path, form: str, rows: list[DataRow]) -> list[Answer]:
    return list(READERS[form_of(rows[0], _TELLING, "answers", HINT) if form == "auto" else form](rows, path))


def answers_of(objects: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """Return the answers of objects with the fields of the JSONL format; other fields and those with None are ignored.

    Raises `UserError` as `read_answers` does.
    """
    rows = [
        DataRow(f"answers row {number}", {key: record[key] for key in FIELDS if record.get(key) is not None})
        for number, record in enumerate(objects, start=1)
    ]
    answers = list(read_own(rows))
    check_ids((answer.id for answer in answers), "answers", "the answers")
    return answers


def gather(files: Sequence[Path], form: str = "auto") -> list[Answer]:
    """Return the answers of one or more files.

    An answer without a system gets its file's name; with several files, ids begin with the file's name.

    Raises `UserError` without a file, for a file that cannot be read as answers, for two files of the same name, and
    for a system with the name of another file.
    """
    read = {name: read_answers(path, form) for name, path in named_files(files, "answers").items()}
    named = {name: {answer.system for answer in file_answers} for name, file_answers in read.items()}
    for (name, systems), (other, others) in permutations(named.items(), 2):
        if "" in systems and name in others:
            raise UserError(
                f"Answers in {other} name the system {name!r}, and those in the file {name} name none, so that they "
                "get the same name: rename the file, or name its system in the field 'system'."
            )
    answers: list[Answer] = []
    for name, file_answers in read.items():
        prefix = f"{name}/" if len(files) > 1 else ""
        for answer in file_answers:
            system = writable(answer.system or name)
            answer_id, group = writable(f"{prefix}{answer.id}"), writable(answer.group)
            answers.append(replace(answer, id=answer_id, system=system, group=group))
    return answers


def named_files(files: Sequence[Path], what: str) -> dict[str, Path]:
    """Return files by their names without endings; `UserError` without a file, and for two files of the same name."""
    if not files:
        raise UserError(f"No file of {what} is given: name at least one.")
    names = [file_stem(path) for path in files]
    if len(set(names)) < len(names):
        raise UserError(f"Two files have the same name (without endings) in {', '.join(names)}: rename one of them.")
    return dict(zip(names, files, strict=True))


def file_stem(path: Path) -> str:
    """Return a file's name without its endings: answers for answers.jsonl.gz."""
    return path.name.split(".")[0] or path.name


def form_of(row: DataRow, telling: Mapping[str, Sequence[str]], what: str, hint: str = "") -> str:
    """Return the first form whose fields a file's first item has; raises `UserError` if no form fits.

    telling: the fields that are required of each form. what: the contents of the file, for errors. hint: what else the
    user can do; if it is given, an item that lacks a single field of a form gets an error that names the field.
    """
    lacking = {form: [field for field in fields if field not in row.fields] for form, fields in telling.items()}
    if complete := next((form for form, left in lacking.items() if not left), None):
        return complete
    near = [f"looks like {form} and lacks the field {left[0]}" for form, left in lacking.items() if len(left) == 1]
    fields = ", ".join(row.fields) or "none"
    if near and hint:
        raise UserError(
            f"{row.where}: {'; or '.join(near)} (it has {fields}): add this field, or rename another to it, or {hint}."
        )
    known = "; ".join(f"{form}: {', '.join(fields)}" for form, fields in telling.items())
    raise UserError(f"{row.where}: no known format of {what} has the fields {fields}. Known formats: {known}.")


def _rows(path: Path, form: str) -> list[DataRow]:
    """Return the items of a list, of JSON lines, or of the field `data` of one object, as ALCE writes it."""
    if form != "auto" and form not in READERS:
        raise unknown("format of answers", form, (*READERS, "auto"))
    if path.suffix.lower() in TABLES and path.is_file():
        raise UserError(
            f"{path} is a table, and answers are read from JSON: {HINT}. A table with a statement and a source in each "
            f"row is judged by 'metaeval score -d ratings --data {path}', 'metaeval label' and 'metaeval estimate'."
        )
    try:
        content = read_json(path)
    except UserError:
        content = None  # `read_rows` raises the error
    if isinstance(content, dict) and "data" in content:
        data = content["data"]
        if not isinstance(data, list):
            raise UserError(f"{path}: field 'data' is {shown(data)}; allowed: a list of items.")
        rows = []
        for number, value in enumerate(data, start=1):
            if not isinstance(value, dict):
                raise UserError(f"{path} record {number} is {shown(value)}; allowed: an object.")
            rows.append(DataRow(f"{path} record {number}", value))
    else:
        rows = list(read_rows(path, HINT, lone_surrogates=True))
    if not rows:
        raise UserError(f"{path} holds no answers: give a file with at least one.")
    return rows


# Formats of questions: the field of the documents, and the field of the text, which may be missing.
_UNWRITTEN: Mapping[str, tuple[str, str]] = {"jsonl": ("passages", "text"), "alce": ("docs", "output")}


def read_questions(path: Path, form: str = "auto") -> list[Answer]:
    """Return the distinct questions of a file, in its order, as answers without a meaningful text.

        {"id": "q1", "question": "Who built it?", "passages": [{"title": "Bridge", "text": "A Dane built the bridge."}]}

    Any file of answers can be read; the JSONL form needs no `text` (`readers/jsonl.py`), and ALCE's form no `output`.
    Answers to the same question from the same documents are one question, with the id of the first.

    Raises `UserError` where `read_answers` does, and for a question without words or without a document.
    """
    rows = _rows(path, form)
    for kind, (documents, text) in _UNWRITTEN.items():
        if form in (kind, "auto") and documents in rows[0].fields and text not in rows[0].fields:
            form, rows = kind, [DataRow(row.where, {text: "", **row.fields}) for row in rows]
    answers = _answers(path, form, rows)
    if not answers:
        raise UserError(f"{path} holds no questions: give a file with at least one.")
    check_ids((question.id for question in answers), "questions", path)
    distinct: dict[tuple[str, tuple[Passage, ...]], Answer] = {}
    for question in answers:
        if not question.question.strip():
            raise UserError(f"{path}: question {shown(question.id)} has no words; give it a field 'question'.")
        if not any(passage.text.strip() for passage in question.passages):
            raise UserError(f"{path}: question {shown(question.id)} has no documents; give it passages with a text.")
        distinct.setdefault((question.question, question.passages), question)
    return list(distinct.values())
