"""The declaration of a format of answers, and what formats share in reading their records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.citation.data_model import Answer
from metaeval.citation.readers.cited_text import WITHOUT_TEXT, CitedText
from metaeval.core.errors import UserError
from metaeval.core.parsing import MalformedError, parse_json, read_object
from metaeval.corpus.data_rows import DataRow


@dataclass(frozen=True)
class AnswerFormat:
    """A format of answers, one record each.

    name: as the option --format takes it. title: the systems that write the format. needs: paths of the fields, all of
    them needed, by which a record is recognised, such as `choices[].message.content`; `|` separates alternatives.
    read: yields the answers of a record. read_file: instead of `read`, yields those of
    all rows of the file at a path. note: how marks in the texts are counted, where the format does not say so.
    """

    name: str
    title: str
    needs: tuple[str, ...]
    read: Callable[[DataRow], Iterator[CitedText]] = lambda row: iter(())
    read_file: Callable[[list[DataRow], Path], Iterator[Answer]] | None = None
    note: str = ""

    @property
    def example(self) -> str:
        """A whole record as JSON."""
        return json.dumps(read_object(Path(__file__).with_name("examples.json"))[self.name], ensure_ascii=False)


def whole_file(
    name: str, title: str, needs: tuple[str, ...], read: Callable[[list[DataRow]], Iterator[Answer]]
) -> AnswerFormat:
    """Return a format whose rows are read together."""
    return AnswerFormat(name, title, needs, read_file=lambda rows, _: read(rows))


def missing_paths(fields: Mapping[str, Any], needs: Sequence[str]) -> list[str]:
    """Return the paths of `needs` of which a record has no alternative, in order."""
    return [path for path in needs if not any(holds(fields, name) for name in path.split("|"))]


def values_at(value: Any, path: str) -> list[Any]:
    """Return the values (not null) at a path: those of the first of its alternatives that has any.

    `name[]` is each entry of a list, and `*` any field. JSON in a string is read where the path goes on.
    """
    for alternative in path.split("|"):
        values = [value]
        for step in alternative.split(".") if alternative else ():
            name = step.removesuffix("[]")
            holders = [entry for entry in map(_opened, values) if isinstance(entry, Mapping)]
            inner = [each for entry in holders for each in (entry.values() if name == "*" else [entry.get(name)])]
            if step.endswith("[]"):
                inner = [each for entry in inner if isinstance(entry, list) for each in entry]
            values = [each for each in inner if each is not None]
        if values:
            return values
    return []


def _opened(value: Any) -> Any:
    try:
        return parse_json(value) if isinstance(value, str) and value[:1] == "{" else value
    except MalformedError:
        return None


def holds(value: Any, path: str) -> bool:
    """Return whether a value holds a field (not null) at a path; a path's last `name[]` may be an empty list."""
    values = values_at(value, path.removesuffix("[]"))
    return any(isinstance(each, list) for each in values) if path.endswith("[]") else bool(values)


def unwrapped(row: DataRow) -> DataRow:
    """Return the reply of a record `{"request": ..., "response": ...}`, with the request as its field `request`.

    Further fields of the record, such as `id` and `documents`, stay beside those of the reply. The two are objects, or
    JSON in a string; a batch's reply is in the field `body`. Other records are returned unchanged.
    """
    reply = _body(row, "response")
    if reply is None:
        return row
    others = {name: value for name, value in row.fields.items() if name not in ("request", "response")}
    named = {name: others[key] for name, key in (("id", "custom_id"), ("id", "id")) if others.get(key) is not None}
    return DataRow(row.where, {**others, **reply, **named, "request": _body(row, "request") or {}})


def _body(row: DataRow, name: str) -> Mapping[str, Any] | None:
    value = row.fields.get(name)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = parse_json(value, lone_surrogates=True)
        except MalformedError as error:
            raise UserError(f"{row.where}: field {name!r} is not JSON ({error}).") from error
    if isinstance(value, Mapping) and isinstance(value.get("body"), Mapping):
        value = value["body"]
    return value if isinstance(value, Mapping) else None


_OTHER_FIELDS = re.compile(r"(?i)reason|think|thought|tool|call|result|code|logprobs")
_TEXT_FIELDS = ("text", "content", "value", "page_content", "pageContent", "answer")
_LEAST = 12  # characters of a text that is looked for


def unread_text(form: AnswerFormat, fields: Mapping[str, Any], drafts: Sequence[CitedText]) -> str:
    """Return the path of a text in the fields that a format needs of a record, which is not in its answers; else "".

    What tools, users and reasoning say is not looked for.
    """
    sources = [source for draft in drafts for source in draft.sources]
    quotes = [quote for source in sources for quote in (source.text, source.title, *source.quotes)]
    read = "\0".join([text for draft in drafts for text in (draft.text, draft.question)] + quotes)
    used = [next((name for name in path.split("|") if holds(fields, name)), "") for path in form.needs]
    roots = {path.split(".")[0].removesuffix("[]") for path in used}
    left = [(root, fields.get(root)) for root in sorted(roots)]
    for path, value in left:
        if isinstance(value, list):
            left += [(f"{path.removesuffix('[]')}[]", each) for each in value]
        elif isinstance(value, Mapping):
            kind, role = str(value.get("type") or ""), value.get("role")
            if not (_OTHER_FIELDS.search(kind) or value.get("thought") or role in ("user", "system", "tool")):
                left += [(f"{path}.{key}", each) for key, each in value.items() if not _OTHER_FIELDS.search(str(key))]
        elif (
            path.rpartition(".")[2].removesuffix("[]") in _TEXT_FIELDS
            and isinstance(value, str)
            and len(text := value.strip()) >= _LEAST
            and text not in read
        ):
            return path
    return ""


def parts(row: DataRow, name: str) -> list[DataRow]:
    """Return the objects of the list in a field; an empty list where the field is absent or null."""
    return row.rows(name) if row.fields.get(name) is not None else []


def entries(row: DataRow, name: str) -> list[Any]:
    """Return the list in a field; an empty one where the field is absent or null."""
    listed = row.fields.get(name)
    if not isinstance(listed, list | None):
        raise row.error(name, "a list")
    return listed or []


def part(row: DataRow, name: str) -> DataRow:
    """Return the object in a field; one without fields where the field is absent or null."""
    return row.row(name) if row.fields.get(name) is not None else DataRow(f"{row.where}, {name}", {})


def offset(row: DataRow, name: str) -> int | None:
    """Return the whole number in a field; None for any other value, or without the field."""
    value = row.fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text_in(value: Any) -> str:
    """Return the text of a message's content: a string, or the joined texts of its parts; empty for anything else."""
    if isinstance(value, str):
        return value
    listed = value if isinstance(value, list) else [value]
    texts = (entry.get("text") if isinstance(entry, Mapping) else entry for entry in listed)
    return "".join(text for text in texts if isinstance(text, str))


def text_part(block: DataRow, draft: CitedText, citations: str) -> str | None:
    """Return the text of a part of a reply; None where it has no text.

    citations: the field of its citations, whose number is then added to `draft.left_out`.
    """
    if isinstance(block.fields.get("text"), str):
        return block.text("text")
    draft.left_out[WITHOUT_TEXT] += len(parts(block, citations))
    return None


_CALL = re.compile(r"(?i)(tool_?use|_call|tool_?call|function_?call|executable_?code)$")
REASONING = re.compile(r"(?i)^(redacted_)?(thinking|reasoning|thought)(_?content)?$")


def is_aside(fields: Mapping[str, Any], kind: re.Pattern[str]) -> bool:
    """Return whether a part of a reply is of a kind, by its `type`, or by a field that is not empty or false."""
    names = [str(fields.get("type") or ""), *(str(name) for name, value in fields.items() if value)]
    return any(map(kind.search, names))


def answering(blocks: Iterable[DataRow], draft: CitedText, gap: str = "\n") -> Iterator[DataRow]:
    """Yield the parts of a reply without its reasoning; each has to be written to the draft before the next is taken.

    Text before the call of a tool and text behind it are not one sentence: `gap` stands between them, and the text
    before is left out if it cites nothing.
    """
    start, cited, called = draft.length, len(draft.spans), False
    for block in blocks:
        if is_aside(block.fields, REASONING):
            draft.cut.append(("reasoning block", 0))
            continue
        if is_aside(block.fields, _CALL):
            called = True
        elif called and text_in(block.fields.get("text")).strip():
            called = False
            if draft.text[start:].strip():
                draft.write(gap)
                if cited == len(draft.spans):
                    draft.mark(start, draft.length, ())
                    draft.cut.append(("pre-tool text", 0))
                start, cited = draft.length, len(draft.spans)
        yield block


_QUESTIONS = ("question", "query", "prompt", "user_input", "input")


def question_of(row: DataRow) -> str:
    """Return the question of a record: a field of it, or the last message of the user in its request; else empty."""
    request = part(row, "request").fields
    for fields in (row.fields, request):
        if named := next((fields[name] for name in _QUESTIONS if isinstance(fields.get(name), str)), ""):
            return str(named)
    for name in ("messages", "input", "contents"):
        listed = request.get(name)
        for message in reversed(listed if isinstance(listed, list) else []):
            if isinstance(message, Mapping) and message.get("role", "user") == "user":
                return text_in(message.get("content") or message.get("parts"))
    return ""


def named_by(row: DataRow, *names: str) -> str:
    """Return the first of these fields that is a string or a whole number, as a string; else an empty one."""
    values = (row.fields.get(name) for name in names)
    return next((str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)), "")


def finished(
    draft: CitedText,
    row: DataRow,
    number: int = 0,
    id: str | None = None,
    question: str | None = None,
    group: str = "",
    system: str | None = None,
) -> CitedText:
    """Return an answer with its id, question and system, by default (None) those of the record.

    number: of the answer in its record, from 0; the second one's id ends in #2 (not a given `id`).
    """
    if id is None:
        id = named_by(row, "id", "responseId", "response_id")
        id += f"#{number + 1}" if id and number else ""
    draft.id, draft.group, draft.question = id, group, question_of(row) if question is None else question
    draft.system = named_by(row, "model", "modelVersion") if system is None else system
    return draft
