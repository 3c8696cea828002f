"""Labels as label tools export them: Label Studio, Argilla, Prodigy and doccano, as a table of id, level and annotator.

Each tool is one declaration (`TOOLS`): the fields by which its records are known, what is no label of a person, and how
a record holds its answers. Discarded, skipped and draft answers, and what a model suggests, are counted and left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import filter as matching
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from metaeval.cells import cell_list, is_blank, number_in, plain_heading, text_of
from metaeval.corpus.level_words import WORDS, own_words, plain_word
from metaeval.corpus.model import SupportLevel
from metaeval.display_text import count
from metaeval.errors import UserError, shown
from metaeval.headings import LABELS
from metaeval.parsing import MalformedError, parse_json
from metaeval.tables import UserTable, name_column, table_of

_Answer = tuple[str, Any, Any, Any]
"""The control (question) that is answered, the value, who answered, and the state of the answer."""

_CONTAINERS = ("data", "fields", "inputs", "metadata", "meta")
_IDS = ("external_id", "item_id", "citation_id", "pair_id", "id")
_NO_ANSWER = frozenset("discarded draft ignore reject cancelled pending".split())
_VALUES = ("choices", "rating", "number", "taxonomy", "value", "label")


class LabelTool(NamedTuple):
    """A form of a tool's exports. name: the tool's. needs: where the item's id belongs, for messages.

    fields: patterns, each of which a field of its records matches. answers: yields the answers in a record. own:
    patterns of fields that are the tool's, not the task's. suggested: patterns of fields with what no person answered.
    """

    name: str
    needs: str
    fields: tuple[str, ...]
    answers: Callable[[Mapping[str, Any]], Iterator[_Answer]]
    own: tuple[str, ...]
    suggested: tuple[str, ...] = ()


class LabelExport(NamedTuple):
    """An export as a table of answers. roles: its headings. note: how it was read. cure: advice on a wrong id."""

    table: UserTable
    roles: Mapping[str, str]
    note: str
    cure: str


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; also of an object of lists, as data frames hold a list of objects."""
    if isinstance(value, dict) and value and all(isinstance(part, list) for part in value.values()):
        return [dict(zip(value, parts, strict=False)) for parts in zip(*value.values(), strict=False)]
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _label_studio(record: Mapping[str, Any]) -> Iterator[_Answer]:
    for answer in _objects(record.get("annotations") or record.get("completions")):
        who = answer.get("completed_by")
        who = who.get("email") or who.get("id") if isinstance(who, dict) else who
        state = "cancelled" if answer.get("was_cancelled") or answer.get("skipped") else ""
        for part in _objects(answer.get("result")) or [{}]:
            yield str(part.get("from_name") or ""), part.get("value"), who, state


def _label_studio_columns(record: Mapping[str, Any]) -> Iterator[_Answer]:
    named = {plain_heading(name) for name in LABELS["level"]}
    controls = [name for name in record if plain_heading(name) in named] or [
        name for name in record if name not in _IDS
    ]
    for name in controls:
        if not any(fnmatchcase(name, pattern) for pattern in _COLUMNS):
            yield name, record[name], record["annotator"], ""


def _argilla(record: Mapping[str, Any]) -> Iterator[_Answer]:
    responses = record.get("responses")
    for answer in _objects(responses) if isinstance(responses, list) else []:  # of version 1: each user's answers
        parts = answer.get("values") if isinstance(answer.get("values"), dict) else {}
        for name, part in (parts or {"": None}).items():
            yield name, part, answer.get("user_id"), answer.get("status")
    for name, answers in (responses if isinstance(responses, dict) else record).items():  # each question's answers
        for answer in _objects(answers):
            if "value" in answer and "user_id" in answer:
                yield name, answer["value"], answer["user_id"], answer.get("status")
    for name in matching(record, "*.responses"):  # each question's answers, users and states in three columns
        values, *others = (cell_list(record.get(f"{name}{end}")) or [] for end in ("", ".users", ".status"))
        users, states = (listed + [None] * (len(values) - len(listed)) for listed in others)
        for value, user, state in zip(values, users, states, strict=False):
            yield name.removesuffix(".responses"), value, user, state


def _argilla_class(record: Mapping[str, Any]) -> Iterator[_Answer]:
    if not is_blank(record["annotation"]):
        yield "annotation", record["annotation"], record["annotation_agent"], record.get("status")


def _prodigy(record: Mapping[str, Any]) -> Iterator[_Answer]:
    who, state = record.get("_annotator_id") or record.get("_session_id"), record["answer"]
    options = {text_of(option.get("id")): option.get("text") for option in _objects(record.get("options"))}
    chosen, label = record.get("accept"), record.get("label") or "yes"
    if isinstance(chosen, list):
        texts = [options.get(text_of(option)) for option in chosen]
        value: Any = texts if any(plain_word(text) in WORDS for text in texts) else chosen
        yield "accept", value, who, state
    elif not record.get("spans") and state == "reject" and WORDS.get(plain_word(label)) == SupportLevel.FULL:
        yield "answer", "no", who, ""
    elif not record.get("spans"):
        yield "answer", label, who, state


def _doccano(record: Mapping[str, Any]) -> Iterator[_Answer]:
    for name in ("label", "labels", "cats"):
        if isinstance(record.get(name), list):
            yield name, record[name], None, ""


_COLUMNS = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "choice_id")
_RESPONSES = ("responses*", "*.responses*", "*suggestion*", "vectors", "status", "_server_id", "*_at")
_SUGGESTED = ("suggestions", "*.suggestion", "*-suggestion")
_ARGILLA = ("Argilla", "id or external_id of each record")

TOOLS = (
    *(
        LabelTool(
            "Label Studio", "data.id of each task", ("data", name), _label_studio, ("*",), ("predictions", "drafts")
        )
        for name in ("annotations", "completions")
    ),
    LabelTool(
        "Label Studio",
        "data.item_id of each task",
        ("annotation_id", "annotator", "lead_time"),
        _label_studio_columns,
        _COLUMNS,
    ),
    *(
        LabelTool(*_ARGILLA, fields, _argilla, _RESPONSES, _SUGGESTED)
        for fields in (("fields", "responses"), ("*.responses", "*.responses.users"), ("external_id", "*-suggestion"))
    ),
    LabelTool(
        *_ARGILLA,
        ("annotation", "annotation_agent"),
        _argilla_class,
        ("annotation*", "prediction*", "vectors", "explanation", "metrics", "multi_label", "status", "*timestamp"),
        ("prediction",),
    ),
    LabelTool(
        "Prodigy", "id of each task", ("answer", "_task_hash"), _prodigy, ("_*", "answer", "accept", "label", "*order")
    ),
    *(
        LabelTool("doccano", "item_id of each text", (text, label), _doccano, ("label*", "cats", "annotation*"))
        for text in ("text", "data")
        for label in ("label", "labels", "cats")
    ),
)


def label_export(
    table: UserTable, mapping: Mapping[str, str], wanted: str = "", known: Container[str] = ()
) -> LabelExport | None:
    """Return the labels in an export of a label tool; None for any other table.

    mapping: words of the user's own, by level. wanted: the control whose values are the levels, where the user names
    it. known: ids of items, which say what field holds the id. Raises `UserError` where the control is unclear.
    """
    tool = label_tool(table.headings)
    answers = [list(tool.answers(row.cells)) for row in table.rows] if tool else []
    if tool is None or not any(answers):
        return None
    left_out: Counter[str] = Counter()
    levels: list[list[tuple[str, str, str]]] = []
    texts = defaultdict[str, list[str]](list)
    for row, given in zip(table.rows, answers, strict=True):
        levels.append([])
        for pattern in tool.suggested:
            for name in matching(row.cells, pattern):
                value = row.cells[name]
                word = name.rpartition(".")[2].rpartition("-")[2].removesuffix("s")
                left_out[word] += len(value) if isinstance(value, list | dict) else not is_blank(value)
        for name, value, who, state in given:
            state = str(state or "").casefold()
            text = "" if state in _NO_ANSWER else _level_text(value)
            left_out[state if state in _NO_ANSWER else "empty"] += not text
            if text:
                levels[-1].append((name, text, text_of(who)))
                texts[name].append(text)
    control = _control(table.name, texts, {**WORDS, **own_words(mapping)}, wanted)
    left_out["answer to another question"] = sum(len(listed) for name, listed in texts.items() if name != control)
    rows, places = [], []
    for row, given_levels in zip(table.rows, levels, strict=True):
        fields = _fields(row.cells, tool)
        ids = [text for name in _IDS for text in (text_of(fields.get(name)),) if text]
        fields["id"] = next((text for text in ids if text in known), (*ids, text_of(row.cells.get("id")))[0])
        for _, text, who in [part for part in given_levels if part[0] == control] or [("", "", "")]:
            rows.append({**fields, control: text or None, "annotator": who or "unnamed"})
            places.append(row.where)
    roles = {"id": "id", "level": control, "annotator": "annotator"}
    if {row["annotator"] for row in rows} == {"unnamed"}:
        del roles["annotator"]
        rows = [{name: cell for name, cell in row.items() if name != "annotator"} for row in rows]
    counted = ", ".join(f"{number:,} {what}" for what, number in left_out.items() if number)
    note = f"{count(len(texts[control]), 'answer')} to {shown(control)} in an export of {tool.name}"
    note += f"; left out: {counted}" if counted else ""
    cure = f"{tool.name} should have the item's id as {tool.needs}"
    return LabelExport(table_of(table.name, rows, places), roles, note, cure)


def label_tool(headings: Iterable[str]) -> LabelTool | None:
    """Return the tool whose records have these fields, if any."""
    return next((tool for tool in TOOLS if all(matching(headings, field) for field in tool.fields)), None)


def _control(name: str, texts: Mapping[str, list[str]], known: Container[str], wanted: str) -> str:
    """Return the control whose values are levels, or the one that is wanted or alone."""

    def is_level(text: str) -> bool:
        with suppress(ValueError):
            return number_in(text) in (0, 0.5, 1, 2)
        return plain_word(text) in known

    found = [control for control, listed in texts.items() if all(map(is_level, listed))] or list(texts)
    if wanted in texts or (len(found) == 1 and not wanted):
        return wanted or found[0]
    listed = ", ".join(map(shown, texts if wanted else found)) or "none"
    what = f"no answers to {shown(wanted)}" if wanted else f"{len(found)} questions whose answers may be the levels"
    raise UserError(f"{name} has {what} (there: {listed}): {name_column('level')}.")


def _level_text(value: Any) -> str:
    """Return the value of an answer as text: of a list of one, or an object with one value, what it holds."""
    if isinstance(value, str) and value[:1] == "{":
        with suppress(MalformedError):
            value = parse_json(value)
    if isinstance(value, dict):
        return _level_text(next((value[name] for name in _VALUES if name in value), None))
    with suppress(MalformedError):
        value = cell_list(value) if cell_list(value) is not None else value
    if isinstance(value, list):
        return ", ".join(filter(None, map(_level_text, value)))
    return text_of(value)


def _fields(cells: Mapping[str, Any], tool: LabelTool) -> dict[str, Any]:
    """Return the fields of a record that are the task's, with those of inner objects."""
    fields = {name: cell for name, cell in cells.items() if not any(fnmatchcase(name, own) for own in tool.own)}
    for name in _CONTAINERS:
        inner = cells.get(name)
        with suppress(MalformedError):
            inner = parse_json(inner) if isinstance(inner, str) and inner[:1] == "{" else inner
        fields |= inner if isinstance(inner, dict) else {}
    return {name: cell for name, cell in fields.items() if not isinstance(cell, dict | list)}
