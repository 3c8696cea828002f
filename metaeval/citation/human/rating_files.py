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
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.citation.citeeval.options_and_values import CONTEXTS
from metaeval.citation.citeeval.splitting import ResponseStatement, split_response
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
from metaeval.citation.readers.citebench import read_bench
from metaeval.citation.readers.expertqa import URLS_ALONE, read_judged
from metaeval.core.errors import UserError, shown, unknown
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
    rows = {name: [*read_rows(path, _HINT)] for name, path in named.items()}
    if form == "auto":
        if empty := next((path for name, path in named.items() if not rows[name]), None):
            raise UserError(f"{empty} holds no answers: give a file with at least one.")
        form, *others = {form_of(file_rows[0], _TELLING, "rated answers") for file_rows in rows.values()}
        if others:
            raise UserError(f"The files have the formats {' and '.join(sorted([form, *others]))}: give files of one.")
    if form == "citebench" and human is None:
        raise UserError("CiteBench has its human judgements in another file: give it with --human FILE.")
    if human is None:
        return _expertqa([*chain(*rows.values())]) if form == "expertqa" else _own(named, rows)
    if form != "citebench":
        raise UserError(f"--human is for CiteBench's statements, and {form} holds its own ratings: leave --human out.")
    return _citebench(named, read_human(human))


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
    answers: list[HumanAnswer] = []
    judged: dict[str, Sequence[HumanStatement]] = {}
    responses = [(name, path, answer) for name, path in files.items() for answer in read_statements(path)]
    check_ids((answer.id for *_, answer in responses), "responses", "the files")
    for name, path, answer in responses:
        if answer.id not in people:
            continue
        statements = split_response(answer).statements
        judged[answer.id] = match_judgements(answer.id, statements, people, f"in {path}")
        rated = tuple(
            RatedStatement(statement.start, statement.end, statement.text, judgement.ratings)
            for statement, judgement in zip(statements, judged[answer.id], strict=True)
        )
        answers.append(HumanAnswer(replace(answer, system=answer.system or name), rated))
    dropped = Counter({"responses without judgements": len(responses) - len(answers)})
    return HumanSet(tuple(answers), +dropped, judged)


def _own(files: Mapping[str, Path], rows: Mapping[str, Sequence[DataRow]]) -> HumanSet:
    answers: list[HumanAnswer] = []
    for name, path in files.items():
        read = [*read_own(rows[name])]
        check_ids((answer.id for answer in read), "answers", path)
        for answer, row in zip(read, rows[name], strict=True):
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
            raise entry.error("start", f"with end {end}, offsets in order, here from {least} to {len(answer.text)}")
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
        answer_id, value = row.identifier("answer"), row.value("value")
        if isinstance(value, bool | str | list | dict) or (value is not None and not isfinite(value)):
            raise row.error("value", "a finite number, or null where it is missing")
        if answer_id not in answers:
            raise row.error("answer", f"the id of a rated answer, such as {shown(next(iter(answers), 'none'))}")
        measure = row.optional_text("measure") or path.name.split(".")[0]
        start = end = None
        if "start" in row.fields or "end" in row.fields:
            start, end = row.number("start"), row.number("end")
            if not 0 <= start < end <= len(answers[answer_id].text):
                raise row.error("start", f"with end {end}, offsets from 0 to {len(answers[answer_id].text)}")
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

    For a statement that needs no citation, or was left out, CiteEval's own scores are left out.
    """
    for row in rows:
        if "statement" not in row.fields or "value" in row.fields:
            yield row
            continue
        place = {name: row.fields[name] for name in ("answer", "start", "end") if name in row.fields}
        exempt = _OF_CITEEVAL if row.fields.get("state") in ("needs none", "left out") else ()
        for name, value in row.fields.items():
            if _STATEMENT_SCORE.fullmatch(name) and name not in exempt:
                yield DataRow(row.where, {**place, "value": value, "measure": name})


_CONTEXT_NUMBERS: Mapping[Any, int | None] = {None: None} | {
    key: number for number, name in CONTEXTS.items() for key in (number, str(number), name, name.capitalize())
}


def read_statements(path: Path) -> list[Answer]:
    """Read the responses of a `.citeeval` file with their statements (see `metaeval.citation.readers.citebench`).

    Raises `UserError` on another format, without responses, and for duplicate ids.
    """
    responses = [*read_bench([*read_rows(path)])]
    if not responses:
        raise UserError(f"{path} holds no responses: give a file with at least one.")
    check_ids((answer.id for answer in responses), "responses", path)
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
    sample: str,
    statements: Sequence[ResponseStatement],
    people: Mapping[str, Sequence[HumanStatement]],
    where: str = "here",
) -> list[HumanStatement]:
    """Return the annotators' judgements (`people`) of a response's statements, matched by id, in `statements`' order.

    Statements that we split have no ids; their numbers, from 1, are used instead. where: for errors, the place of the
    statements. Raises `UserError` for a sample without judgements, and where annotators judged other statements, or the
    same with other citations.
    """
    if sample not in people:
        raise UserError(f"The human judgements have no sample {sample!r}: give the judgements of these responses.")
    if len(statements) != len(people[sample]):
        held = f"Sample {sample!r} has {len(statements)} statements {where} and {len(people[sample])} in the judgements"
        raise UserError(f"{held}: give the statements that people judged, or split the responses in the same way.")
    by_id = {judgement.id: judgement for judgement in people[sample]}
    judged, ordered = {name: {*each.citations} for name, each in by_id.items()}, []
    for statement in statements:
        name = statement.id or str(statement.number)
        if judged.get(name) != {*statement.citations}:
            held = f"Statement {name!r} of sample {sample!r} cites {[*statement.citations]} {where}"
            known = f"it cites {sorted(judged[name])}" if name in judged else f"there are only {', '.join(judged)}"
            raise UserError(f"{held}, and in the judgements {known}: give the statements that people judged.")
        ordered.append(by_id[name])
    return ordered


def _human(name: str, row: DataRow) -> HumanStatement:
    def three(field: str) -> list[Any]:
        values = row.fields.get(field)
        if not isinstance(values, list) or len(values) != rated_statements.ANNOTATORS:
            raise row.error(field, "a list of three values, one for each annotator")
        return values

    contexts = [DataRow(row.where, {"types": each}).choice("types", _CONTEXT_NUMBERS) for each in three("types")]
    if not all(rating is None or _is_share(rating) for rating in three("ratings")):
        raise row.error("ratings", "numbers from 0 to 1, or null")
    return HumanStatement(
        name,
        tuple(row.numbers("citations")),
        tuple(contexts),
        tuple(None if rating is None else float(rating) for rating in three("ratings")),
        tuple(three("edits") if row.fields.get("edits") is not None else ()),
    )
