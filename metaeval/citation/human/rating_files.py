"""Reads files of answers with human ratings (ExpertQA, CiteBench, our own JSONL), and score files of these answers.

Our own format is the JSONL of answers (see `metaeval.citation.readers.answers_jsonl`) with one more field::

    {"id": "a1", "text": "A Dane built it [1]. It is red.", "passages": [{"text": "..."}], "group": "q1",
     "statements": [{"start": 0, "end": 20, "ratings": [1, 0.5, null]}, {"start": 21, "end": 31, "ratings": [0]}]}

:start, end: offsets of a statement in `text`, marks included; in the order of the text, without overlaps.
:ratings: how well its citations support it, from 0 to 1, one for each annotator; null where it is missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.citation.citeeval.options_and_values import CONTEXTS
from metaeval.citation.citeeval.splitting import ResponseStatement, Split
from metaeval.citation.data_model import Answer, check_ids, writable
from metaeval.citation.human import rated_statements
from metaeval.citation.human.rated_statements import (
    SENTENCES,
    HumanAnswer,
    HumanSet,
    HumanStatement,
    RatedStatement,
    units,
)
from metaeval.citation.readers.answer_files import form_of, named_files
from metaeval.citation.readers.answers_jsonl import read_own
from metaeval.citation.readers.citebench import read_bench, with_offsets
from metaeval.citation.readers.expertqa import URLS_ALONE, read_judged
from metaeval.core.errors import UserError, unknown
from metaeval.core.parsing import read_object
from metaeval.corpus.data_rows import DataRow, read_rows, strip_marks

if TYPE_CHECKING:
    from pandas import DataFrame

FORMS = ("expertqa", "citebench", "jsonl")
_TELLING: Mapping[str, tuple[str, ...]] = {
    "citebench": ("sample_idx", "prediction_sentences_and_citations"),
    "expertqa": ("question", "answers"),
    "jsonl": ("text", "passages"),
}
_HINT = "name a file of answers with people's ratings (ExpertQA, CiteBench or JSONL; metaeval cite meta --help)"


def read_human_set(files: Sequence[Path], form: str = "auto", human: Path | None = None) -> HumanSet:
    """Read the answers of one or more files with their ratings.

    form: a name in `FORMS`, or "auto". human: CiteBench's file of judgements, which the other formats do not have. An
    answer that names no system gets its file's name as system; with several files in our own format, ids begin with the
    file's name. Raises `UserError` for no file, two files of one name, a file that cannot be read, and judgements that
    are missing, or named beside answers that hold their own.
    """
    if form not in (*FORMS, "auto"):
        raise unknown("format of rated answers", form, (*FORMS, "auto"))
    named = named_files(files, "rated answers")
    rows = {path: list(read_rows(path, _HINT)) for path in files}
    forms = {form}
    if form == "auto":
        for path, file_rows in rows.items():
            if not file_rows:
                raise UserError(f"{path} holds no answers: give a file with at least one.")
        forms = {form_of(file_rows[0], _TELLING, "rated answers") for file_rows in rows.values()}
    if len(forms) > 1:
        raise UserError(
            f"The files of rated answers have the formats {' and '.join(sorted(forms))}: give files of one format."
        )
    (format_name,) = forms
    if (format_name == "citebench") != (human is not None):
        raise UserError(
            "CiteBench has its statements and its human judgements in two files: give the .citeeval "
            "file, and the file of judgements with --human FILE."
            if human is None
            else f"--human is for CiteBench's statements only, and files of {format_name} hold their own "
            "ratings: leave --human out."
        )
    if human is not None:
        return _citebench(named, read_human(human))
    if format_name == "expertqa":
        return _expertqa([row for file_rows in rows.values() for row in file_rows])
    return _own({name: rows[path] for name, path in named.items()})


def _expertqa(rows: Sequence[DataRow]) -> HumanSet:
    """Return ExpertQA's answers, with complete, partial and incomplete support as the ratings 1, 0.5 and 0.

    A claim without a passage has no rating; answers whose evidence is URLs alone are left out. The random and the
    domain files split the same answers in two ways: each answer is taken once.
    """
    dropped: Counter[str] = Counter()
    answers: dict[str, HumanAnswer] = {}
    seen: set[str] = set()
    for answer, claims, bare in read_judged(rows):
        if answer.id in seen:
            dropped["answers that another file has too"] += 1
        elif bare and not answer.passages:
            dropped[URLS_ALONE] += 1
        else:
            dropped["pieces of evidence that are URLs without text"] += bare
            statements = (RatedStatement(start, end, text, (level,)) for start, end, text, level in claims)
            answers[answer.id] = HumanAnswer(answer, tuple(statements))
        seen.add(answer.id)
    return HumanSet(tuple(answers.values()), +dropped)


def _citebench(files: Mapping[str, Path], people: Mapping[str, Sequence[HumanStatement]]) -> HumanSet:
    """Return CiteBench's responses that have judgements (`people`); their text is that of the published statements."""
    answers: dict[str, HumanAnswer] = {}
    judged: dict[str, Sequence[HumanStatement]] = {}
    splits: dict[str, Split] = {}
    dropped: Counter[str] = Counter()
    for name, path in files.items():
        for answer, split in read_statements(path):
            if answer.id in answers:
                raise UserError(
                    f"Two files have a response with the id {answer.id!r}, and human judgements refer to "
                    "responses by their ids: give each response its own id."
                )
            if answer.id not in people:
                dropped["responses without judgements"] += 1
                continue
            judgements = judged[answer.id] = match_judgements(
                answer.id, split.statements, people[answer.id], f"in {path}"
            )
            answer, split = with_offsets(answer, split)
            rated = tuple(
                RatedStatement(statement.start, statement.end, statement.text, judgement.ratings)
                for statement, judgement in zip(split.statements, judgements, strict=True)
            )
            answers[answer.id] = HumanAnswer(replace(answer, system=answer.system or name), rated)
            splits[answer.id] = split
    return HumanSet(tuple(answers.values()), dropped, judged, splits)


def _own(files: Mapping[str, Sequence[DataRow]]) -> HumanSet:
    answers: list[HumanAnswer] = []
    for name, rows in files.items():
        seen: set[str] = set()
        for answer, row in zip(read_own(rows), rows, strict=True):
            if answer.id in seen:
                raise UserError(f"{row.where}: two answers have the id {answer.id!r}; give each answer its own id.")
            seen.add(answer.id)
            full_id = writable(answer.id if len(files) == 1 else f"{name}/{answer.id}")
            group, system = writable(answer.group), writable(answer.system or name)
            named = replace(answer, id=full_id, group=group, system=system)
            answers.append(HumanAnswer(named, tuple(_statements(row, answer))))
    return HumanSet(tuple(answers))


def _statements(row: DataRow, answer: Answer) -> list[RatedStatement]:
    statements: list[RatedStatement] = []
    for entry in row.rows("statements"):
        start, end = entry.number("start"), entry.number("end")
        least = statements[-1].end if statements else 0
        if not least <= start < end <= len(answer.text):
            raise UserError(
                f"{entry.where}: the statement goes from {start} to {end}; allowed: offsets in the order of the text, "
                f"here from {least} to {len(answer.text)}."
            )
        values = entry.fields.get("ratings")
        if not isinstance(values, list) or not values or not all(value is None or _is_share(value) for value in values):
            raise entry.error("ratings", "a list of numbers from 0 to 1, or null, one for each annotator")
        ratings = tuple(None if value is None else float(value) for value in values)
        statements.append(RatedStatement(start, end, strip_marks(answer.text[start:end]), ratings))
    return statements


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def read_score_file(path: Path, answers: Mapping[str, Answer]) -> DataFrame:
    """Read a score file, one JSON object per line, into rows: measure, answer, start, end, value, reason.

        {"answer": "a1", "start": 0, "end": 20, "value": 0.73}
        {"answer": "a1", "value": 0.5}

    answers: the rated answers by id. start, end: offsets of a sentence in the answer's text; without them the score is
    the whole answer's. value: any number, of which higher means better supported; null where it is missing. measure:
    name of the score, for a file with several; by default the file's name. The statements of `cite citeeval`
    (per-statements.jsonl) are read too: a score for each of their measures and baselines.

    Raises `UserError`, with the line and the field, for a line that breaks the format and for unknown answers.
    """
    rows: list[tuple[Any, ...]] = []
    wholes: set[tuple[str, str]] = set()
    for row in _of_statements(read_rows(path, "name a file of scores, one JSON object per line")):
        row.only(("answer", "start", "end", "value", "measure"))
        answer_id, value = row.identifier("answer"), _value(row)
        if answer_id not in answers:
            example = next(iter(answers), "none")
            raise UserError(
                f"{row.where}: no rated answer has the id {answer_id!r}: use the ids of the rated answers, such as "
                f"{example!r}."
            )
        measure = row.optional_text("measure") or path.name.split(".")[0]
        start = end = None
        if "start" in row.fields or "end" in row.fields:
            start, end = row.number("start"), row.number("end")
            if not 0 <= start < end <= len(answers[answer_id].text):
                raise UserError(
                    f"{row.where}: the sentence goes from {start} to {end}; allowed: offsets from 0 to "
                    f"{len(answers[answer_id].text)}, the length of answer {answer_id!r}."
                )
        elif (measure, answer_id) in wholes:
            raise UserError(f"{row.where}: the answer {answer_id!r} has two scores; keep one of them.")
        else:
            wholes.add((measure, answer_id))
        rows.append((measure, answer_id, start, end, value, "absent" if value is None else None))
    if not rows:
        raise UserError(f"The score file {path} holds no scores: give a file with at least one.")
    return units(rows, ("measure", *SENTENCES))


_OF_CITEEVAL = ("auto", "rating", "edit_distance")
_STATEMENT_SCORE = re.compile(
    r"auto|rating|edit_distance|(?:autoais|lqac|attrscore)_(?:precision|recall|f1|strict|relaxed)(?!_(?:least|most))(_.+)?"
)


def _of_statements(rows: Iterable[DataRow]) -> Iterator[DataRow]:
    """Yield the rows of a score file; a row written by `cite citeeval` (a statement) as one row for each of its scores.

    For a statement that needs no citation CiteEval's own scores are left out.
    """
    for row in rows:
        if "statement" not in row.fields or "value" in row.fields:
            yield row
            continue
        place = {name: row.fields[name] for name in ("answer", "start", "end") if name in row.fields}
        exempt = _OF_CITEEVAL if row.fields.get("state") == "needs none" else ()
        for name, value in row.fields.items():
            if _STATEMENT_SCORE.fullmatch(name) and name not in exempt:
                yield DataRow(row.where, {**place, "value": value, "measure": name})


def _value(row: DataRow) -> float | None:
    if "value" not in row.fields:
        row.number("value")  # raises the error for a missing field
    value = row.fields["value"]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise row.error("value", "a finite number, or null where it is missing")
    return float(value)


_CONTEXT_NUMBERS: Mapping[Any, int] = {
    key: number for number, name in CONTEXTS.items() for key in (number, str(number), name, name.capitalize())
}


def read_statements(path: Path) -> list[tuple[Answer, Split]]:
    """Read the responses of a `.citeeval` file with their statements (see `metaeval.citation.readers.citebench`).

    Raises `UserError` on another format, without responses, and for duplicate ids.
    """
    responses = [*read_bench([*read_rows(path)])]
    if not responses:
        raise UserError(f"{path} holds no responses: give a file with at least one.")
    check_ids((answer.id for answer, _ in responses), "responses", path)
    return responses


def read_human(path: Path) -> dict[str, list[HumanStatement]]:
    """Read the human judgements by sample, each sample's statements in the file's order.

        {sample: {"statements": {statement: {"citations", "types", "ratings", "edits"}}}}

    types (numbers or names of `CONTEXTS`, or null), ratings (numbers from 0 to 1, or null) and edits (not checked) are
    lists with an entry for each of three annotators; edits may be null or absent.
    Raises `UserError`, with sample, statement and field, on another format, on values that are not allowed, and on
    duplicate samples or statements.
    """
    content = read_object(path, "fetch the published file again")
    samples = DataRow(f"{path}", content)
    judgements: dict[str, list[HumanStatement]] = {}
    for sample in content:
        statements = samples.row(sample).row("statements")
        judgements[sample] = [_human(name, statements.row(name)) for name in statements.fields]
    return judgements


def match_judgements(
    sample: str, statements: Sequence[ResponseStatement], people: Sequence[HumanStatement], where: str = "here"
) -> list[HumanStatement]:
    """Return the annotators' judgements (`people`) of a response's statements, matched by id, in `statements`' order.

    Statements that we split have no ids; their numbers, from 1, are used instead. where: for errors, the place of the
    statements. Raises `UserError` where annotators judged other statements, or the same with other citations.
    """
    if len(statements) != len(people):
        raise UserError(
            f"Sample {sample!r} has {len(statements)} statements {where} and {len(people)} in the judgements: give the "
            "file of statements that people judged, or split the responses in the same way."
        )
    by_id = {judgement.id: judgement for judgement in people}
    ordered = []
    for statement in statements:
        name = statement.id or str(statement.number)
        judgement = by_id.get(name)
        if judgement is None:
            raise UserError(
                f"Sample {sample!r} has a statement {name!r} {where}, and the judgements have only "
                f"{', '.join(by_id)}: give the file of statements that people judged."
            )
        if set(judgement.citations) != set(statement.citations):
            raise UserError(
                f"Statement {name!r} of sample {sample!r} cites {_cited(statement.citations)} {where} and "
                f"{_cited(judgement.citations)} in the judgements: give the file of statements that people judged."
            )
        ordered.append(judgement)
    return ordered


def _cited(citations: Sequence[int]) -> str:
    return ", ".join(map(str, sorted(set(citations)))) or "nothing"


def _human(name: str, row: DataRow) -> HumanStatement:
    citations = row.numbers("citations")
    contexts, ratings = _three(row, "types"), _three(row, "ratings")
    for context in contexts:
        if context is not None and (isinstance(context, bool | list | dict) or context not in _CONTEXT_NUMBERS):
            raise row.error("types", "three of 1 (query), 2 (retrieval), 3 (response), 4 (model), these names, or null")
    if not all(rating is None or _is_share(rating) for rating in ratings):
        raise row.error("ratings", "numbers from 0 to 1, or null")
    return HumanStatement(
        name,
        tuple(citations),
        tuple(None if context is None else _CONTEXT_NUMBERS[context] for context in contexts),
        tuple(None if rating is None else float(rating) for rating in ratings),
        tuple(_three(row, "edits") if row.fields.get("edits") is not None else ()),
    )


def _three(row: DataRow, name: str) -> list[Any]:
    values = row.fields.get(name)
    if not isinstance(values, list) or len(values) != rated_statements.ANNOTATORS:
        raise row.error(name, "a list of three values, one for each annotator")
    return values
