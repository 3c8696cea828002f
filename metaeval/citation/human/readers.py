"""Files of answers with people's ratings (ExpertQA's, CiteBench's, a format of one's own), and files of scores.

One's own is the JSONL of answers (see `metaeval.citation.readers.jsonl`) with one more field::

    {"id": "a1", "text": "A Dane built it [1]. It is red.", "passages": [{"text": "..."}], "group": "q1",
     "statements": [{"start": 0, "end": 20, "ratings": [1, 0.5, null]}, {"start": 21, "end": 31, "ratings": [0]}]}

:start, end: offsets of a statement in `text`, marks included; in the order of the text, none over another.
:ratings: how well its citations support it, from 0 to 1, one for each annotator; null where one gave none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from metaeval.citation.citeeval.splitting import NO_ANSWER, Split, Statement
from metaeval.citation.citeeval.values import CONTEXTS
from metaeval.citation.human.model import (
    ANNOTATORS,
    HumanAnswer,
    HumanSet,
    HumanStatement,
    RatedStatement,
    SpanValue,
    Valued,
)
from metaeval.citation.model import Answer, check_ids, writable
from metaeval.citation.readers.answers import form_of, named_files
from metaeval.citation.readers.expertqa import URLS_ALONE, read_judged, written
from metaeval.citation.readers.jsonl import passages_of, read_own
from metaeval.corpus.loaders.rows import DataRow, read_rows, strip_marks
from metaeval.errors import UserError, unknown
from metaeval.reading import read_object

FORMS = ("expertqa", "citebench", "jsonl")
_TELLING: Mapping[str, tuple[str, ...]] = {
    "citebench": ("sample_idx", "prediction_sentences_and_citations"),
    "expertqa": ("question", "answers"),
    "jsonl": ("text", "passages"),
}
_HINT = "name a file of answers with people's ratings (ExpertQA, CiteBench or JSONL; metaeval cite meta --help)"


def read_human_set(files: Sequence[Path], form: str = "auto", human: Path | None = None) -> HumanSet:
    """The answers of one or more files with their ratings. human: CiteBench's file of judgements.

    An answer that names no system is of its file's; with several files of one's own, ids begin with the file's name.
    Raises `UserError` for no file, two of one name, a file that cannot be read as such, and judgements that are
    missing, or given with answers that have their own.
    """
    if form not in (*FORMS, "auto"):
        raise unknown("format of rated answers", form, (*FORMS, "auto"))
    named = named_files(files, "rated answers")
    rows = {path: list(read_rows(path, _HINT)) for path in files}
    empty = [path for path, own in rows.items() if not own] if form == "auto" else []
    if empty:
        raise UserError(f"{empty[0]} holds no answers: give a file with at least one.")
    forms = {form_of(own[0], _TELLING, "rated answers") if form == "auto" else form for own in rows.values()}
    if len(forms) > 1:
        raise UserError(f"All files are to be of one format, and these are {' and '.join(sorted(forms))}.")
    (found,) = forms
    if (found == "citebench") != (human is not None):
        raise UserError(
            "CiteBench's statements and its judgements are two files: name the .citeeval file, and --human FILE."
            if human is None
            else f"--human goes with CiteBench's statements; answers in {found} have their ratings in them."
        )
    if found == "citebench" and human is not None:
        return _citebench(named, read_human(human))
    if found == "expertqa":
        return _expertqa([row for own in rows.values() for row in own])
    return _own({name: rows[path] for name, path in named.items()})


def _expertqa(rows: Sequence[DataRow]) -> HumanSet:
    """Complete, partial, incomplete support as 1, 0.5, 0; a claim without a passage to hold it against has no rating.

    Its random and its domain files split the same answers in two ways: each is taken once.
    """
    dropped: Counter[str] = Counter()
    found: dict[str, HumanAnswer] = {}
    seen: set[str] = set()
    for judged in read_judged(rows):
        if judged.answer.id in seen:
            dropped["answers that another file has too"] += 1
        elif judged.all_urls:
            dropped[URLS_ALONE] += 1
        else:
            dropped["pieces of evidence that are URLs without text"] += sum(claim.bare for claim in judged.claims)
            statements = (RatedStatement(one.start, one.end, one.text, (one.level,)) for one in judged.claims)
            found[judged.answer.id] = HumanAnswer(judged.answer, tuple(statements))
        seen.add(judged.answer.id)
    return HumanSet(tuple(found.values()), +dropped)


def _citebench(files: Mapping[str, Path], people: Mapping[str, Sequence[HumanStatement]]) -> HumanSet:
    """The text of a response is its published statements with their citations; where they stood is not published."""
    found: dict[str, HumanAnswer] = {}
    judged: dict[str, Sequence[HumanStatement]] = {}
    splits: dict[str, Split] = {}
    dropped: Counter[str] = Counter()
    for name, path in files.items():
        for answer, split in read_statements(path):
            if answer.id in found:
                raise UserError(f"Two files hold a response {answer.id!r}, and the judgements know them by their ids.")
            if answer.id not in people:
                dropped["responses without judgements"] += 1
                continue
            own = judged[answer.id] = judged_as(answer.id, split.statements, people[answer.id], f"in {path}")
            text, places = written([(one.text, one.citations) for one in split.statements])
            placed = [(one, *where) for one, where in zip(split.statements, places, strict=True)]
            whole = replace(answer, text=text, system=answer.system or name)
            rated = [
                RatedStatement(start, end, one.text, said.ratings)
                for (one, start, end), said in zip(placed, own, strict=True)
            ]
            found[answer.id] = HumanAnswer(whole, tuple(rated))
            moved = tuple(replace(one, start=start, end=end) for one, start, end in placed)
            splits[answer.id] = Split(moved, split.no_answer)
    return HumanSet(tuple(found.values()), dropped, judged, splits)


def _own(files: Mapping[str, Sequence[DataRow]]) -> HumanSet:
    found: list[HumanAnswer] = []
    for name, rows in files.items():
        seen: set[str] = set()
        for answer, row in zip(read_own(rows), rows, strict=True):
            if answer.id in seen:
                raise UserError(
                    f"{row.where}: two answers have the id {answer.id!r}; allowed: an id of its own for each."
                )
            seen.add(answer.id)
            own = answer.id if len(files) == 1 else f"{name}/{answer.id}"
            known = replace(
                answer, id=writable(own), group=writable(answer.group), system=writable(answer.system or name)
            )
            found.append(HumanAnswer(known, tuple(_statements(row, answer))))
    return HumanSet(tuple(found))


def _statements(row: DataRow, answer: Answer) -> list[RatedStatement]:
    statements: list[RatedStatement] = []
    for one in row.rows("statements"):
        start, end = one.number("start"), one.number("end")
        least = statements[-1].end if statements else 0
        if not least <= start < end <= len(answer.text):
            raise UserError(
                f"{one.where}: the statement goes from {start} to {end}; allowed: offsets in the order of the text, "
                f"here from {least} to {len(answer.text)}."
            )
        given = one.fields.get("ratings")
        if not isinstance(given, list) or not given or not all(value is None or _is_share(value) for value in given):
            raise one.error("ratings", "a list of numbers from 0 to 1, or null, one for each annotator")
        ratings = tuple(None if value is None else float(value) for value in given)
        statements.append(RatedStatement(start, end, strip_marks(answer.text[start:end]), ratings))
    return statements


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


@dataclass(frozen=True)
class Given:
    """One measure's scores: of spans, and of whole answers, by the answers' ids."""

    spans: dict[str, list[SpanValue]] = field(default_factory=dict)
    wholes: dict[str, Valued] = field(default_factory=dict)


def read_given(path: Path, answers: Mapping[str, Answer]) -> dict[str, Given]:
    """The scores of a file, one JSON object per line, by measure; answers: the rated ones by id.

        {"answer": "a1", "start": 0, "end": 20, "value": 0.73}
        {"answer": "a1", "value": 0.5}

    start, end: offsets of a sentence in the answer's text; left out: the whole answer's score. value: higher is better
    supported; null where it is missing. measure: optional, the name of the score, where a file holds several; default:
    the file's.

    Raises `UserError`, with the line and the field, for what the format does not allow and for unknown answers.
    """
    found: dict[str, Given] = {}
    for row in read_rows(path, "name a file of scores, one JSON object per line"):
        row.only(("answer", "start", "end", "value", "measure"))
        own, value = row.identifier("answer"), _value(row)
        if own not in answers:
            example = next(iter(answers), "none")
            raise UserError(f"{row.where}: no rated answer has the id {own!r} (one is {example!r}).")
        scores = found.setdefault(row.optional_text("measure") or path.name.split(".")[0], Given())
        if "start" not in row.fields and "end" not in row.fields:
            if own in scores.wholes:
                raise UserError(f"{row.where}: the answer {own!r} has a score already; allowed: one for each answer.")
            scores.wholes[own] = value
            continue
        start, end = row.number("start"), row.number("end")
        if not 0 <= start < end <= len(answers[own].text):
            raise UserError(
                f"{row.where}: the sentence goes from {start} to {end}; allowed: offsets from 0 to "
                f"{len(answers[own].text)}, the length of answer {own!r}."
            )
        scores.spans.setdefault(own, []).append(SpanValue(start, end, value))
    if not found:
        raise UserError(f"{path} holds no scores: give a file with at least one.")
    return found


def _value(row: DataRow) -> Valued:
    if "value" not in row.fields:
        row.number("value")  # says that it is missing
    value = row.fields["value"]
    if value is None:
        return Valued(None, "missing", "absent")
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise row.error("value", "a finite number, or null where it is missing")
    return Valued(float(value))


_CONTEXT_NUMBERS: Mapping[Any, int] = (
    {number: number for number in CONTEXTS}
    | {str(number): number for number in CONTEXTS}
    | {name: number for number, name in CONTEXTS.items()}
    | {name.capitalize(): number for number, name in CONTEXTS.items()}
)


def read_statements(path: Path) -> list[tuple[Answer, Split]]:
    """The responses of a `.citeeval` file, and their statements as they are cut there, in order, under their ids.

        [{"sample_idx", "query", "passages": [{"id", "title", "text"}], "prediction",
          "prediction_sentences_and_citations": [{"id", "sentence", "citations", "concat"}]}]

    Offsets of published statements are not known, and stand as 0. Raises `UserError` on another format.
    """
    found: list[tuple[Answer, Split]] = []
    for row in read_rows(path):
        passages = passages_of(row, "passages")
        answer = Answer(row.identifier("sample_idx"), row.text("prediction"), passages, row.text("query"))
        statements = tuple(
            Statement(
                number,
                one.text("sentence"),
                tuple(dict.fromkeys(one.numbers("citations"))),
                start=0,
                end=0,
                id=one.identifier("id"),
            )
            for number, one in enumerate(row.rows("prediction_sentences_and_citations"), start=1)
        )
        check_ids((one.id for one in statements), "statements", row.where)
        found.append((answer, Split(statements, [one.text for one in statements] == [NO_ANSWER])))
    if not found:
        raise UserError(f"{path} holds no responses: give a file with at least one.")
    check_ids((answer.id for answer, _ in found), "responses", path)
    return found


def read_human(path: Path) -> dict[str, list[HumanStatement]]:
    """The human judgements by sample, each sample's statements in the file's order.

        {sample: {"statements": {statement: {"citations", "types", "ratings", "edits"}}}}

    Three annotators each for types (1 to 4, see `CONTEXTS`), ratings (0, 0.25, ..., 1 or null) and edits.
    Raises `UserError`, with sample, statement and field, on another format, on values that are not allowed, and where a
    sample or a statement stands twice.
    """
    content = read_object(path, "fetch the published file again")
    samples = DataRow(f"{path}", content)
    return {
        sample: [
            _human(name, samples.row(sample).row("statements").row(name))
            for name in samples.row(sample).row("statements").fields
        ]
        for sample in content
    }


def judged_as(
    sample: str, statements: Sequence[Statement], people: Sequence[HumanStatement], where: str = "here"
) -> list[HumanStatement]:
    """What people said of each statement of a response, in the statements' order: found by its id.

    Statements that were cut here have no ids, and go by their places, from 1. where: they stand, for errors.
    Raises `UserError` where people judged other statements, or the same with other citations.
    """
    if len(statements) != len(people):
        raise UserError(
            f"Sample {sample!r} has {len(statements)} statements {where} and {len(people)} in the judgements: give "
            "the file of statements that people judged, or cut the responses as it was."
        )
    by_id = {one.id: one for one in people}
    found = []
    for one in statements:
        name = one.id or str(one.number)
        own = by_id.get(name)
        if own is None:
            raise UserError(
                f"Sample {sample!r} has a statement {name!r} {where}, and the judgements are of {', '.join(by_id)}: "
                "give the file of statements that people judged."
            )
        if set(own.citations) != set(one.citations):
            raise UserError(
                f"Statement {name!r} of sample {sample!r} cites {_cited(one.citations)} {where} and "
                f"{_cited(own.citations)} in the judgements: give the file of statements that people judged."
            )
        found.append(own)
    return found


def _cited(citations: Sequence[int]) -> str:
    return ", ".join(map(str, sorted(set(citations)))) or "nothing"


def _human(name: str, row: DataRow) -> HumanStatement:
    citations = row.numbers("citations")
    contexts, ratings = _three(row, "types"), _three(row, "ratings")
    for one in contexts:
        if one is not None and (isinstance(one, bool | list | dict) or one not in _CONTEXT_NUMBERS):
            raise row.error("types", "1 to 4 or their names, or null")
    if not all(one is None or _is_share(one) for one in ratings):
        raise row.error("ratings", "numbers from 0 to 1, or null")
    return HumanStatement(
        name,
        tuple(citations),
        tuple(None if one is None else _CONTEXT_NUMBERS[one] for one in contexts),
        tuple(None if one is None else float(one) for one in ratings),
        tuple(_three(row, "edits") if row.fields.get("edits") is not None else ()),
    )


def _three(row: DataRow, name: str) -> list[Any]:
    values = row.fields.get(name)
    if not isinstance(values, list) or len(values) != ANNOTATORS:
        raise row.error(name, "a list of three values, one of each annotator")
    return values
