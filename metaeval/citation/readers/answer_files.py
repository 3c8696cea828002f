"""Readers of files of model answers, whose format is named or recognised from the content."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

from metaeval.citation.data_model import Answer, Passage, check_ids, writable
from metaeval.citation.readers.answer_tables import answers_in, cited_columns
from metaeval.citation.readers.answers_jsonl import FIELDS, read_own, shorter_texts
from metaeval.citation.readers.citebench import CITEBENCH, SYSTEM
from metaeval.citation.readers.cited_text import CitedSource
from metaeval.citation.readers.cited_to_answers import read_cited
from metaeval.citation.readers.clean_up import clean_up
from metaeval.citation.readers.expertqa import read_expertqa, with_marks
from metaeval.citation.readers.formats import anthropic, deep_research, gemini, openai, trec
from metaeval.citation.readers.formats.answer_format import (
    AnswerFormat,
    missing_paths,
    unread_text,
    unwrapped,
    whole_file,
)
from metaeval.citation.readers.formats.text_and_documents import AZURE, LAYOUTS
from metaeval.citation.readers.formats.vectara import VECTARA, vectara_rows
from metaeval.citation.readers.scifi_samples import read_scifi
from metaeval.citation.readers.source_texts import names_of, read_texts
from metaeval.citation.readers.support_level_files import FACT, TREC_SUPPORT
from metaeval.core import tables
from metaeval.core.cells import plain_heading
from metaeval.core.errors import UserError, shown, unknown
from metaeval.core.headings import ANSWERS
from metaeval.core.parsing import read_text
from metaeval.core.tables import UserTable, read_table
from metaeval.corpus.data_rows import DataRow, read_rows
from metaeval.corpus.loaders.wice import read_evidence


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
            is_nan = text != text
            passages.append(Passage("" if is_nan else document.text("text"), document.optional_text("title")))
        name, text, question = row.identifier("id"), row.text("output"), row.text("input")
        yield Answer(name, text, tuple(passages), question, system=row.optional_text("annotator"), first=0)


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
    for row in topics.values():
        if len(row.texts("references_texts")) != (ids := len(row.texts("references_ids"))):
            raise row.error("references_texts", f"one text for each of {ids} ids")
    for row in rows:
        topic = row.text("topic")
        if topic not in topics:
            raise row.error("topic", f"a topic of {beside}")
        passages, question = topics[topic].texts("references_texts"), topics[topic].text("query")
        name, text, style = row.identifier("response"), row.text("text"), row.optional_text("style")
        yield Answer(name, text, tuple(map(Passage, passages)), question, topic, style, first=0)


def read_wice(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield the claims of WiCE (Kamoi et al. 2023), which cite their supporting sentences; group: the article.

    The passages are the sentences of the cited pages. Of several sets of supporting sentences the first one that is
    not empty is cited.
    """
    for row in rows:
        about, (sentences, sets) = row.row("meta"), read_evidence(row)
        text = with_marks(row.text("claim"), [index + 1 for index in next(filter(None, sets), ())])
        yield Answer(about.text("id"), text, tuple(map(Passage, sentences)), group=about.text("claim_title"))


# The fields of an ALCE item that the measures of correctness need; `Answer.reference` holds them unchanged.
REFERENCE = ("answer", "qa_pairs", "annotations", "claims", "answers")


def read_alce(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield one answer for each of ALCE's items, or for each sample where `output` is a list.

    Ids are the item's `id` or `sample_id`, else its number from 1; samples add `#1`, `#2` and share the item's group.
    Items of one id that differ in the field `sample` are samples too, with that number behind the id.
    """
    for number, row in enumerate(rows, start=1):
        ids = (row.identifier(field) for field in ("id", "sample_id") if row.fields.get(field) is not None)
        item = next(ids, str(number))
        passages = []
        for document in row.rows("docs"):
            text = document.text("sent" if "sent" in document.fields else "text")  # as in ALCE's code
            passages.append(Passage(text, document.optional_text("title"), "", *shorter_texts(document)))
        reference = {field: row.fields[field] for field in REFERENCE if row.fields.get(field) is not None}
        question = row.optional_text("question")
        several = isinstance(row.fields.get("output"), list)
        if several and row.fields.get("sample") is not None:
            raise row.error("sample", "left out where 'output' is a list of samples")
        if several and not row.texts("output"):
            raise row.error("output", "a string, or a list of strings that is not empty")
        for sample, text in enumerate(row.texts("output") if several else [row.text("output")], start=1):
            name, group = f"{item}#{sample}" if several else item, "" if question.strip() else item
            answer = Answer(name, text, tuple(passages), question, group, reference=reference)
            if several:
                answer = replace(answer, sample=sample)
            yield answer if row.fields.get("sample") is None else answer.in_sample(row.number("sample"))


# The formats of answers by name, in the order in which a file is recognised.
FORMATS: Mapping[str, AnswerFormat] = {
    declared.name: declared
    for declared in (
        CITEBENCH,
        SYSTEM,
        whole_file("scholarqa", "ScholarQABench, as published: marks count from 0", ("output", "ctxs"), read_scholarqa),
        whole_file("alce", "ALCE: items with an output and docs", ("output", "docs"), read_alce),
        AnswerFormat(
            "crag25",
            "CRAG-25, as published, beside its file of passages",
            ("response", "topic", "text"),
            read_file=read_crag25,
        ),
        whole_file(
            "expertqa",
            "ExpertQA, as published: claims with evidence",
            ("question", "annotator_id", "answers"),
            read_expertqa,
        ),
        whole_file(
            "scifi",
            "SCiFi: a reference paragraph with its citations, and optionally an output",
            ("query", "paragraph", "documents"),
            read_scifi,
        ),
        whole_file("jsonl", "the project's own: a text with marks, and its passages", ("text", "passages"), read_own),
        TREC_SUPPORT,
        FACT,
        VECTARA,
        trec.TREC,
        openai.RESPONSES,
        AZURE.declared(),
        openai.CHAT,
        openai.XAI,
        gemini.GEMINI,
        anthropic.INSPECT,
        openai.LANGCHAIN,
        openai.ASSISTANTS,
        anthropic.ANTHROPIC,
        deep_research.RESEARCH,
        *(layout.declared() for layout in LAYOUTS),
    )
}

# Published data sets as they are read for statistics, by the fields that tell them: all that they cite is counted,
# with or without a text.
_COUNTED = (
    (("claim", "supporting_sentences", "evidence"), read_wice),
    (FORMATS["expertqa"].needs, partial(read_expertqa, urls=True)),
)

TABLES = (*tables.TABLES, ".parquet")

_NEEDS = {name: form.needs for name, form in FORMATS.items()}

HINT = "name a file of answers ('metaeval cite formats' lists the formats, each with an example)"

_log = logging.getLogger("metaeval")


def read_answers(
    path: Path, form: str = "auto", sources: Path | None = None, clean: bool = True, judged: bool = True
) -> list[Answer]:
    """Return the answers of a file, in its order, and log what was guessed and what was left out.

    form: a name in `FORMATS`, or "auto". sources: file or folder with texts of sources that the file of answers lacks.
    clean: find what does not belong to the answers (`metaeval.citation.readers.clean_up`). judged: whether citations
    are to be judged, and not only counted.

    Raises `UserError`, with file, item and field, for an empty file, another format, missing passages and duplicate
    ids.
    """
    is_table = form == "auto" and path.suffix.lower() in TABLES and path.is_file()
    rows = [] if is_table else _rows(path, form)
    if is_table or (form == "auto" and is_table_row(rows[0].fields)):
        answers = answers_of_table(read_table(path), sources, clean)
    else:
        known = [] if judged else [read for needs, read in _COUNTED if not missing_paths(rows[0].fields, needs)]
        if known:
            answers = list(known[0](rows))
        else:
            answers = _read(rows, form_of_answers(rows[0]) if form == "auto" else form, path, sources)
        answers = clean_up(answers, path.name) if clean else answers
    check_ids((answer.id for answer in answers), "answers", path)
    return answers


def answers_of_table(table: UserTable, sources: Path | None = None, clean: bool = True) -> list[Answer]:
    """Return the answers in a table; raises `UserError` for one with a statement in each row.

    sources: file or folder with texts of sources that the table does not hold. clean: as in `read_answers`.
    """
    rows, answers = vectara_rows(table), []
    if rows:
        answers = _read(rows, VECTARA.name, Path(table.name), sources)
    elif (columns := cited_columns(table, {}, can_map=False)).text:
        answers = add_source_texts(answers_in(table, columns), table.name, sources)
    if answers:
        return clean_up(answers, Path(table.name).name) if clean else answers
    column = f"column {shown(columns.roles['statement'])}"
    raise UserError(f"{table.name} is a table with a statement in each row ({column}): use 'metaeval label'.")


def _read(rows: list[DataRow], form: str, path: Path, sources: Path | None) -> list[Answer]:
    declared = FORMATS[form]
    if declared.read_file is not None:
        answers = list(declared.read_file(rows, path))
        return add_source_texts(answers, f"{path} (format {form})", sources)
    reading = read_cited(declared, rows, sources)
    for note in reading.notes():
        _log.info("%s: %s.", path.name, note)
    for loss in reading.losses():
        _log.warning("%s: %s.", path.name, loss)
    return reading.answers


def add_source_texts(answers: Sequence[Answer], name: str, sources: Path | None) -> list[Answer]:
    """Return answers with the texts of `sources` for their passages without a text; None: the answers unchanged.

    A passage whose text is not there either stays without one. name: of the file of answers, for messages. Raises
    `UserError` as `read_texts` does, and if no passage lacks its text.
    """
    if sources is None:
        return [*answers]
    blank = {
        (answer.id, at): names_of(CitedSource(id=passage.source, url=passage.source), answer.id, at)
        for answer in answers
        for at, passage in enumerate(answer.passages)
        if not passage.text.strip()
    }
    if not blank:
        raise UserError(f"{name} holds the texts of its sources: leave --sources out.")
    texts = read_texts(sources, {key for keys in blank.values() for key in keys})

    filled = []
    for answer in answers:
        passages = []
        for at, passage in enumerate(answer.passages):
            known = next((texts[key] for key in blank.get((answer.id, at), ()) if key in texts), None)
            passages.append(replace(known, source=passage.source) if known else passage)
        filled.append(replace(answer, passages=tuple(passages)))
    return filled


def is_answer(fields: Mapping[str, Any]) -> bool:
    """Return whether a record with these fields has one of the formats of answers."""
    reply = unwrapped(DataRow("the record", fields)).fields
    return any(not missing_paths(reply, needs) for needs in _NEEDS.values())


def is_table_row(fields: Mapping[str, Any]) -> bool:
    """Return whether a record is a row of answers under the headings of a table, and in no format of answers."""
    return (
        "passages" in fields
        and "text" not in fields
        and not is_answer(fields)
        and bool({*map(plain_heading, fields)} & {*ANSWERS})
    )


def in_other_format(record: Any) -> bool:
    """Return whether an object is an answer in another format than the project's own."""
    return isinstance(record, Mapping) and not {"text", "passages"} <= record.keys() and is_answer(record)


def form_of_answers(row: DataRow) -> str:
    """Return the name of the format of a file by its first record: the first that reads all of the record's texts.

    Raises `UserError` with the closest format and the first field that does not fit, or with a text that is not read.
    """
    reply = unwrapped(row)
    failed = refused = ""
    for name in [name for name, needs in _NEEDS.items() if not missing_paths(reply.fields, needs)]:
        try:
            drafts = [*FORMATS[name].read(reply)]
        except UserError:  # raised again by the file reader, if no other format fits
            failed = failed or name
            continue
        path = "" if FORMATS[name].read_file else unread_text(FORMATS[name], reply.fields, drafts)
        if not path:
            return name
        refused = refused or f"looks like {name}, which does not read the text in its field {path}"
    if refused and not failed:
        raise UserError(f"{row.where} {refused}: rename this field, or {HINT}.")
    return failed or form_of(reply, _NEEDS, "answers", HINT)


def answers_of(objects: Sequence[Mapping[str, Any]], sources: Path | None = None) -> list[Answer]:
    """Return the answers in objects that are records of one format (that of the first).

    sources: file or folder with texts of sources that the objects lack. Other fields, and fields with None, are ignored
    in records of the format jsonl. Raises `UserError` as `read_answers` does.
    """
    named = [(f"answers row {number}", record) for number, record in enumerate(objects, start=1)]
    if in_other_format(objects[0]):
        rows = [DataRow(where, record) for where, record in named]
        return clean_up(_read(rows, form_of_answers(rows[0]), Path("answers"), sources), "answers")
    kept = [(where, {key: record[key] for key in FIELDS if record.get(key) is not None}) for where, record in named]
    answers = list(read_own([DataRow(*row) for row in kept]))
    check_ids((answer.id for answer in answers), "answers", "the answers")
    return clean_up(add_source_texts(answers, "the answers", sources), "answers")


def gather(
    files: Sequence[Path], form: str = "auto", sources: Path | None = None, clean: bool = True, judged: bool = True
) -> list[Answer]:
    """Return the answers of one or more files.

    form, sources, clean, judged: as in `read_answers`. An answer without a system gets its file's name (without
    endings) as system; with several files, ids begin with the file's name.

    Raises `UserError` without a file, for a file that cannot be read as answers, for two files of the same name, and
    where the name of a file, given to its answers as system, is that of a system in another file.
    """
    read = {
        name: read_answers(path, form, sources, clean, judged) for name, path in named_files(files, "answers").items()
    }
    named = {name: {answer.system for answer in file_answers} for name, file_answers in read.items()}
    for (name, systems), (other, others) in permutations(named.items(), 2):
        if "" in systems and name in others:
            held = f"Answers in {other} name the system {name!r}, which the answers of {name} get from their file"
            raise UserError(f"{held}: rename the file, or name its system in the field 'system'.")
    answers: list[Answer] = []
    for name, file_answers in read.items():
        prefix = f"{name}/" if len(files) > 1 else ""
        for answer in file_answers:
            system = writable(answer.system or name)
            answer_id, group = writable(f"{prefix}{answer.id}"), writable(answer.group)
            answers.append(replace(answer, id=answer_id, system=system, group=group))
    return answers


def named_files(files: Sequence[Path], what: str) -> dict[str, Path]:
    """Return files by their names without endings, in order. what: the contents of the files, for errors.

    Raises `UserError` without a file, and for two files of the same name.
    """
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
    """Return the name of the first format whose fields a file's first item has; raises `UserError` if none fits.

    telling: by name of the format, the paths that it requires (see `AnswerFormat.needs`). what: the contents of the
    file, for errors. hint: what else the user can do; if it is given, and the item has half of the paths of a format or
    more, the error names the first path that the item lacks of each closest format.
    """
    missing = {form: missing_paths(row.fields, paths) for form, paths in telling.items()}
    if complete := next((form for form, paths in missing.items() if not paths), None):
        return complete
    shares = {form: len(paths) / len(telling[form]) for form, paths in missing.items()}
    least = min(shares.values())
    near = [form for form in telling if shares[form] == least][:2]
    lacks = "; or ".join(f"looks like {form} and lacks the field {missing[form][0].split('|')[0]}" for form in near)
    fields = ", ".join([*map(str, [*row.fields][:12]), *["..."][: len(row.fields) > 12]]) or "none"
    if least <= 0.5 and hint:
        raise UserError(f"{row.where}: {lacks} (it has {fields}): add or rename it, or {hint}.")
    known = hint or "Known formats: " + "; ".join(f"{form}: {', '.join(paths)}" for form, paths in telling.items())
    raise UserError(f"{row.where}: no known format of {what} has the fields {fields}; {known}.")


def _rows(path: Path, form: str) -> list[DataRow]:
    """Return the records of a file: JSON lines, a list, or the list `data` (as in ALCE) or `samples` of one object.

    A Markdown file is one record of the format research, and Vectara's table has one record for each answer.
    """
    if form != "auto" and form not in FORMATS:
        raise unknown("format of answers", form, (*FORMATS, "auto"))
    if path.suffix.lower() == ".md":
        return [DataRow(str(path), {"id": file_stem(path), "prompt": "", "article": read_text(path)})]
    if path.suffix.lower() in TABLES and path.is_file():
        if form in ("auto", VECTARA.name) and (rows := vectara_rows(read_table(path))):
            return rows
        read = "questions are" if form == "auto" else f"the format {form} is"
        raise UserError(f"{path} is a table, and {read} read from JSON ('metaeval cite formats' shows it).")
    rows = list(read_rows(path, HINT, lone_surrogates=True))
    whole = rows[0].fields if len(rows) == 1 and not is_answer(rows[0].fields) else {}
    held = next((whole[name] for name in ("data", "samples") if name in whole), None)
    if not isinstance(held, Mapping) and ("data" in whole or isinstance(held, list)):
        if not isinstance(held, list):
            raise UserError(f"{path}: field 'data' is {shown(held)}; allowed: a list of items.")
        rows = [DataRow(f"{path} record {number}", value) for number, value in enumerate(held, start=1)]
        if wrong := next((row for row in rows if not isinstance(row.fields, dict)), None):
            raise UserError(f"{wrong.where} is {shown(wrong.fields)}; allowed: a JSON object.")
    if not rows:
        raise UserError(f"{path} holds no answers: give a file with at least one.")
    return rows


# Formats of questions: the field of the documents, and the field of the text, which may be missing.
_UNWRITTEN: Mapping[str, tuple[str, str]] = {"jsonl": ("passages", "text"), "alce": ("docs", "output")}


def read_questions(path: Path, form: str = "auto", reference: bool = False) -> list[Answer]:
    """Return the distinct questions of a file, in its order, as answers without a meaningful text.

    reference: the text is that of SCiFi's reference paragraph, even where a sample has an output.

        {"id": "q1", "question": "Who built it?", "passages": [{"title": "Bridge", "text": "A Dane built the bridge."}]}

    Any file of answers can be read; the JSONL form needs no `text` (`readers/answers_jsonl.py`), and ALCE's form no
    `output`. Answers to the same question with the same documents are one question, with the id of the first.

    Raises `UserError` where `read_answers` does, and for a question without words or without a document.
    """
    rows = _rows(path, form)
    form = form_of_answers(rows[0]) if form == "auto" and is_answer(rows[0].fields) else form
    for kind, (documents, text) in _UNWRITTEN.items():
        if form in (kind, "auto") and documents in rows[0].fields and text not in rows[0].fields:
            form, rows = kind, [DataRow(row.where, {text: "", **row.fields}) for row in rows]
    form = form_of_answers(rows[0]) if form == "auto" else form
    if form == "scifi" and reference:
        kept = [{key: row.fields[key] for key in row.fields.keys() - {"output", "text"}} for row in rows]
        rows = [DataRow(row.where, fields) for row, fields in zip(rows, kept, strict=True)]
    answers = _read(rows, form, path, None)
    if not answers:
        raise UserError(f"{path} holds no questions: give a file with at least one.")
    check_ids((question.id for question in answers), "questions", path)
    distinct: dict[tuple[str, tuple[Passage, ...]], Answer] = {}
    for question in answers:
        if not question.question.strip():
            raise UserError(f"{path}: question {shown(question.id)} has no words; give it a field 'question'.")
        if not any(passage.text.strip() for passage in question.passages):
            raise UserError(f"{path}: question {shown(question.id)} has no documents; give it passages with a text.")
        first = replace(question, id=question.sampled_id, sample=None)
        distinct.setdefault((question.question, question.passages), first)
    return list(distinct.values())
