"""Labels as label tools export them: Label Studio, Argilla, Prodigy and doccano, as a table of id, level and annotator.

Each tool is one declaration in `TOOLS`. What a person discarded, skipped or only began, and what a model suggests, is
counted and left out; a task without an answer has a row whose level is blank.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import filter as matching
from typing import Any, NamedTuple

from metaeval.core.cells import cell_list, is_blank, number_in, plain_heading, text_of
from metaeval.core.errors import UserError, count, shown
from metaeval.core.headings import CITATIONS, LABELS
from metaeval.core.parsing import MalformedError, parse_json
from metaeval.core.tables import UserTable, name_column, table_of
from metaeval.corpus.level_words import WORDS, own_words, plain_word

_Record = Mapping[str, Any]
_Answers = Iterator[tuple[str, Any, Any, Any]]  # of each answer the question, the value, who gave it, and its state

_CONTAINERS = ("data", "fields", "inputs", "metadata", "meta")
_IDS = ("external_id", "item_id", "citation_id", "pair_id", "id")
_VALUES = ("choices", "rating", "number", "taxonomy", "text", "value", "label")
_NO_ANSWER = {
    **{state: state for state in ("discarded", "draft", "cancelled", "pending")},
    **{"ignore": "ignored", "reject": "rejected"},
}
_LEVEL, _OTHER = (
    {plain_heading(name) for names in kind for name in names} for kind in ([LABELS["level"]], CITATIONS.values())
)


class LabelTool(NamedTuple):
    """A tool's exports. name: the tool's. needs: where the item's id belongs, for messages.

    fields: patterns of fields by which a form of its records is known, separated by spaces. answers: yields the answers
    in a record. fixed: patterns of fields that are not the task's. suggested: of fields with what no person answered.
    """

    name: str
    needs: str
    fields: tuple[str, ...]
    answers: Callable[[_Record], _Answers]
    fixed: str
    suggested: str = ""


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; also of an object of lists, as data frames hold a list of objects."""
    if isinstance(value, dict) and all(isinstance(part, list) for part in value.values()):
        return [dict(zip(value, parts, strict=False)) for parts in zip(*value.values(), strict=False)]
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _label_studio(record: _Record) -> _Answers:
    for answer in _objects(record.get("annotations") or record.get("completions")):
        who = answer.get("completed_by")
        who = who.get("email") or who.get("id") if isinstance(who, dict) else who
        for part in _objects(answer.get("result")) or [{}]:
            yield part.get("from_name", ""), part.get("value"), who, "cancelled" if answer.get("was_cancelled") else ""


def _label_studio_columns(record: _Record) -> _Answers:
    names = [name for name in record if name not in ("text", "annotation_id", *_IDS) and name[-3:] != "_at"]
    for name in [name for name in names if plain_heading(name) in _LEVEL] or names:
        if plain_heading(name) not in _OTHER and name not in ("annotator", "lead_time", "agreement"):
            yield name, record[name], record["annotator"], ""


def _argilla(record: _Record) -> _Answers:
    responses = record.get("responses")
    for answer in _objects(responses) if isinstance(responses, list) else []:  # what each user answered
        values = answer.get("values")
        for name, value in ((isinstance(values, dict) and values) or {"": None}).items():
            yield name, value, answer.get("user_id"), answer.get("status")
    for name, answers in (responses if isinstance(responses, dict) else record).items():  # what each question got
        for answer in (answer for answer in _objects(answers) if {"value", "user_id"} <= answer.keys()):
            yield name, answer["value"], answer["user_id"], answer.get("status")
    for name in matching(record, "*.responses"):  # the same in three columns
        values, users, states = (cell_list(record.get(name + end)) or [] for end in ("", ".users", ".status"))
        for place, value in enumerate(values):
            yield name.removesuffix(".responses"), value, *(part[place : place + 1] for part in (users, states))
    if not is_blank(record.get("annotation")):
        yield "annotation", record["annotation"], record.get("annotation_agent"), record.get("status")


def _prodigy(record: _Record) -> _Answers:
    who, state = record.get("_annotator_id") or record.get("_session_id"), record["answer"]
    options = {text_of(option.get("id")): option.get("text") for option in _objects(record.get("options"))}
    chosen, label = record.get("accept"), record.get("label") or "yes"
    if isinstance(chosen, list):
        texts = [options.get(text_of(option)) for option in chosen]
        yield "accept", texts if any(plain_word(text) in WORDS for text in texts) else chosen, who, state
    elif not record.get("spans"):
        against = state == "reject" and WORDS.get(plain_word(label)) == WORDS["full"]
        yield "answer", *(("no", who, "") if against else (label, who, state))


def _doccano(record: _Record) -> _Answers:
    yield from ((name, record[name], "", "") for name in ("label", "labels", "cats") if type(record.get(name)) is list)


TOOLS = (
    LabelTool(
        *("Label Studio", "data.id of each task", ("data annotations", "data completions"), _label_studio),
        *("*", "predictions drafts"),
    ),
    LabelTool(
        *("Label Studio", "data.item_id of each task", ("annotation_id annotator lead_time",), _label_studio_columns),
        "annotat* *_at lead_time agreement",
    ),
    LabelTool(
        *("Argilla", "id or external_id of each record"),
        (
            "fields responses",
            "*.responses *.responses.users",
            "external_id *-suggestion",
            "annotation annotation_agent",
        ),
        _argilla,
        "*responses* *suggestion* annotation* prediction* vectors explan* metrics multi_label status _server_id *_at",
        "suggestions *.suggestion *-suggestion prediction",
    ),
    LabelTool("Prodigy", "id of each task", ("answer _task_hash",), _prodigy, "_* answer accept label *order"),
    LabelTool(
        *("doccano", "item_id of each text", ("text label", "text labels", "data label", "text cats"), _doccano),
        "label* cats annotation*",
    ),
)


def label_tool(headings: Iterable[str]) -> LabelTool | None:
    """Return the tool whose records have these fields, if any."""
    forms = ((tool, form.split()) for tool in TOOLS for form in tool.fields)
    return next((tool for tool, patterns in forms if all(matching(headings, field) for field in patterns)), None)


def label_export(
    table: UserTable, mapping: Mapping[str, str], wanted: str = "", known: Container[str] = ()
) -> tuple[UserTable, str, str, str] | None:
    """Return a label tool's export as a table of answers, the heading of the levels, how it was read, and help on ids.

    Return None for any other table. mapping: words of the user's own, by level. wanted: the question whose answers are
    the levels, where the user names it. known: ids of items, which say what field holds the id. Raises `UserError`
    where the question is unclear.
    """
    tool = label_tool(table.headings)
    answers = [list(tool.answers(row.cells)) for row in table.rows] if tool else []
    if tool is None or not any(answers):
        return None
    texts, left_out = defaultdict[str, list[str]](list), Counter[str]()
    rows, by_people = list[tuple[dict[str, Any], str]](), list[list[tuple[str, str, str]]]()
    for each in answers:
        by_people.append([])
        for name, *rest in each:
            text, who, state = map(_text, rest)
            if text and state.casefold() not in _NO_ANSWER:
                by_people[-1].append((str(name), text, who))
                texts[str(name)].append(text)
            else:
                left_out[f"{_NO_ANSWER.get(state.casefold(), 'blank')} answer"] += 1
    question = _question(table.name, texts, {**WORDS, **own_words(mapping)}, wanted)
    left_out["other answer"] = sum(map(len, texts.values())) - len(texts[question])
    named = any(_text(who) for each in answers for _, _, who, _ in each)
    for row, levels in zip(table.rows, by_people, strict=True):
        for name in (name for pattern in tool.suggested.split() for name in matching(row.cells, pattern)):
            value = row.cells[name]
            several = len(value) if isinstance(value, list | dict) else not is_blank(value)
            left_out[name.replace("-", ".").rpartition(".")[2].removesuffix("s")] += several
        fixed = {name for pattern in tool.fixed.split() for name in matching(row.cells, pattern)}
        fields = {name: cell for name, cell in row.cells.items() if name not in fixed}
        for inner in (_parsed(row.cells.get(name)) for name in _CONTAINERS):
            fields |= inner if isinstance(inner, dict) else {}
        ids = [*filter(None, (text_of(fields.get(name)) for name in _IDS)), text_of(row.cells.get("id"))]
        fields["id"] = next((text for text in ids if text in known), ids[0])
        for text, who in [(text, who) for name, text, who in levels if name == question] or [("", "")]:
            fields |= {question: text, **({"annotator": who or "unnamed"} if named else {})}
            rows.append(({name: cell for name, cell in fields.items() if not isinstance(cell, dict | list)}, row.where))
    # An item has one row without a level at most, and none beside its levels: each annotator may have a record of it.
    blank = {row["id"]: row for row, _ in rows if row["id"]}
    blank |= {row["id"]: {} for row, _ in rows if row[question]}
    rows = [(row, where) for row, where in rows if row[question] or blank.get(row["id"], row) is row]
    counted = ", ".join(count(number, what) for what, number in left_out.items() if number)
    note = f"{count(len(texts[question]), 'answer')} to {shown(question)}, exported by {tool.name}"
    note += f"; left out: {counted}" if counted else ""
    read = table_of(table.name, [row for row, _ in rows], [where for _, where in rows])
    return read, question, note, f"{tool.name} should have the item's id as {tool.needs}"


def _question(name: str, texts: Mapping[str, list[str]], known: Container[str], wanted: str) -> str:
    """Return the question whose answers are levels, or the one that is wanted or alone."""

    def is_level(text: str) -> bool:
        with suppress(ValueError):
            return number_in(text) in (0, 0.5, 1, 2)
        return plain_word(text) in known

    named = [question for question, listed in texts.items() if listed]
    graded = [question for question in named if all(map(is_level, texts[question]))] or named
    if wanted in named or (len(graded) == 1 and not wanted):
        return wanted or graded[0]
    listed = ", ".join(map(shown, named if wanted else graded)) or "none"
    several = f"{count(len(graded), 'question')} whose answers may be levels"
    what = f"no answers to {shown(wanted)}" if wanted else several
    raise UserError(f"{name} has {what} (there: {listed}): {name_column('level')}.")


def _parsed(value: Any) -> Any:
    with suppress(MalformedError):
        return parse_json(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
    return value


def _text(value: Any) -> str:
    """Return a value as text: of a list its entries, and of an object with a value that value."""
    value = _parsed(value)
    if isinstance(value, dict):
        return _text(next((value[name] for name in _VALUES if name in value), None))
    return ", ".join(filter(None, map(_text, value))) if isinstance(value, list) else text_of(value)
