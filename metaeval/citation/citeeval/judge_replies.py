"""The replies of CiteEval's judge: the JSON that is asked for, and the parsers of JSON and of tags.

Tags are the replies to an official prompt. Source: the released code's stored inputs and outputs, and its patterns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from metaeval.citation.citeeval.citation_edits import REASONS, Edit
from metaeval.citation.citeeval.options_and_values import CONTEXTS, RETRIEVAL, STARS
from metaeval.core.errors import UserError
from metaeval.llm import messages

T = TypeVar("T")

# The two questions about a response: what each statement rests on (attribution), and how to edit and to rate its
# citations (editing).
Module = Literal["attribution", "editing"]

_CONTEXT_NUMBERS = {name: number for number, name in CONTEXTS.items()}


_EDIT_SCHEMA = messages.object_schema(
    action={"type": "string", "enum": list(REASONS)},
    citation={"type": "integer"},
    reason={"type": "string", "enum": [reason for reasons in REASONS.values() for reason in reasons]},
)
_SPOKEN_OF = {"id": {"type": "integer"}, "thinking": {"type": "string"}}
_EDITED = {"edits": {"type": "array", "items": _EDIT_SCHEMA}, "rating": {"type": "integer", "enum": list(STARS)}}
_RATING = {"rating": _EDITED["rating"]}
# What the judge gives before a rating: edits (CiteEval's IterCoE), reasoning (cot: IterCoT), or nothing (vanilla).
JudgeMode = Literal["edits", "cot", "vanilla"]

# (name of the prompt's file, JSON schema of a statement's entry in the reply) of the module "editing", by mode.
EDITING: Mapping[JudgeMode, tuple[str, dict[str, Any]]] = {
    "edits": ("editing", messages.object_schema(**_SPOKEN_OF, **_EDITED)),
    "cot": ("rating_cot", messages.object_schema(**_SPOKEN_OF, **_RATING)),
    "vanilla": ("rating_vanilla", messages.object_schema(id=_SPOKEN_OF["id"], **_RATING)),
}

_ATTRIBUTION = messages.object_schema(**_SPOKEN_OF, context={"type": "string", "enum": list(CONTEXTS.values())})

_THINKING = re.compile(r"<thinking>.*?</thinking>", re.DOTALL)
_BLOCK = r'<{tag}\s+sentence_id="(?P<number>\d+)"\s*>(?P<body>.*?)</{tag}>'
_EDIT = re.compile(r'<(?P<action>DELETE|ADD)\s+citation="(?P<citation>[^"]*)"\s*>(?P<reason>[^<]*+)</(?P=action)>')
_REASON = re.compile(r"\s*(?:(?:DELETE|ADD)\s+REASON\s+)?(\d+)\s*")
# What the released code takes for a tag: no other space, attribute or case, and an edit's closing tag can be either.
_RELEASED = r'<{tag} sentence_id="(\d++)">\s*+(\d++)\s*+</{tag}>'
_RELEASED_EDITS = re.compile(r'<editing sentence_id="(\d++)">')
_RELEASED_EDIT = re.compile(
    r'<(DELETE|ADD) citation="(\d++)">\s*+(?:DELETE|ADD)*+\s*+REASON\s*+(\d++)\s*+</(?:DELETE|ADD)>'
)
_STOPS = "where released code fails: use --profile paper"
_LONGEST_FLOAT = 308  # digits of a whole number
_LONGEST_NUMBER = 9  # digits; nothing that is numbered here has more, and Python refuses to read some longer numbers


@dataclass(frozen=True)
class ParsedReply:
    """What a judge's reply says of statements, by their number: contexts (keys of `CONTEXTS`), edits, stars (1 to 5).

    Only as released can stars be another whole number.
    problems: counts of "out of schema" (an unreadable entry), "no such statement", "said twice" (all entries of the
    statement are ignored), and of repairs by kind. Statements that the judge skipped are not counted.
    """

    contexts: Mapping[int, int] = field(default_factory=dict)
    edits: Mapping[int, tuple[Edit, ...]] = field(default_factory=dict)
    stars: Mapping[int, int] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)


def reply_schema(module: Module, mode: JudgeMode = "edits") -> dict[str, Any]:
    """Return the `response_format` of a chat request of a module (attribution or editing).

    It is {"statements": [one object per statement]}; in an object, reasoning, if any, precedes the judgement.
    """
    entry = _ATTRIBUTION if module == "attribution" else EDITING[mode][1]
    return messages.reply_form(module, statements={"type": "array", "items": entry})


def read_json(
    text: str, module: Module, numbers: Collection[int], mode: JudgeMode = "edits", strict: bool = False
) -> ParsedReply | None:
    """Return what a reply in JSON says; None for a malformed reply. numbers: of the statements that are to be judged.

    An entry that breaks the schema is counted as a problem, and ignored as a whole. What can be repaired without a
    guess (`messages.repaired`) is, and is counted as "repaired: KIND". strict: nothing is repaired.
    """
    form, problems = reply_schema(module, mode), Counter[str]()
    body = messages.read_object(text, form, any_entries=True, repairs=None if strict else problems)
    if body is None:
        return None
    schema = form["json_schema"]["schema"]["properties"]["statements"]["items"]
    entries: list[tuple[int, dict[str, Any]]] = []
    for entry in body["statements"]:
        repairs: Counter[str] = Counter()
        entry = entry if strict else messages.repaired(entry, schema, repairs)
        if messages.keeps(entry, schema) and all(
            edit["reason"] in REASONS[edit["action"]] and edit["citation"] >= 0 for edit in entry.get("edits", ())
        ):
            entries.append((entry["id"], entry))
            problems += repairs
    problems["out of schema"] += len(body["statements"]) - len(entries)
    by_number = _single_entries(entries, numbers, problems)
    if module == "attribution":
        contexts = {number: _CONTEXT_NUMBERS[entry["context"]] for number, entry in by_number.items()}
        return ParsedReply(contexts, problems=+problems)
    edits = {
        number: tuple(
            Edit(edit["action"], REASONS[edit["action"]].index(edit["reason"]) + 1, edit["citation"])
            for edit in entry["edits"]
        )
        for number, entry in by_number.items()
        if "edits" in entry
    }
    stars = {number: entry["rating"] for number, entry in by_number.items()}
    return ParsedReply(edits=edits, stars=stars, problems=+problems)


def read_tags(text: str, module: Module, numbers: Collection[int]) -> ParsedReply | None:
    """Return what a reply in tags says; None for one without any block of the right name. numbers: see `read_json`.

    Contexts: `<category sentence_id="1"> 2 </category>`, or attribution in place of category. Edits and ratings:
    `<editing sentence_id="1"> <DELETE citation="6"> DELETE REASON 1 </DELETE> </editing>` and
    `<rating sentence_id="1"> 4 </rating>`. An empty block of edits, or `N/A`, gives an empty tuple; other words may
    mean an edit, and are out of schema, as is a whole block with an unreadable edit.
    """
    ended, mark, rest = text.rpartition("</thinking>")  # in `rest` each start would be searched to the end
    spoken = _THINKING.sub("", ended + mark) + rest
    problems: Counter[str] = Counter()

    def read(value: Callable[[str], T | None], *tags: str) -> dict[int, T]:
        entries: list[tuple[int, T | None]] = []
        for tag in tags:
            # Behind the last block that is closed, each start would be searched to the end.
            closed = spoken[: spoken.rfind(f"</{tag}>") + len(tag) + 3]
            matches = re.finditer(_BLOCK.format(tag=tag), closed, re.DOTALL)
            entries += [(_number(match["number"]), value(match["body"])) for match in matches]
        readable = [(number, content) for number, content in entries if content is not None]
        problems["out of schema"] += len(entries) - len(readable)
        return _single_entries(readable, numbers, problems)

    def one_of(allowed: Container[int]) -> Callable[[str], int | None]:
        return lambda body: number if (number := _number(body)) in allowed else None

    if module == "attribution":
        reply = ParsedReply(contexts=read(one_of(CONTEXTS), "category", "attribution"), problems=+problems)
    else:
        edits, stars = read(_edits, "editing"), read(one_of(STARS), "rating")
        reply = ParsedReply(edits=edits, stars=stars, problems=+problems)
    return reply if reply != ParsedReply() else None


def read_released(text: str, module: Module, numbers: Collection[int]) -> ParsedReply | None:
    """Return what the released code reads in a reply in tags (see `read_tags`); None where it finds nothing at all.

    It takes tags wherever they stand, in reasoning too, and passes over what is not quite one. The last context and
    rating of a statement count, and all of its edits. A context beyond 4 is its first digit, else retrieval; a rating
    is any number. Raises `UserError` where that code fails: for a reason of an edit that is not 1, 2 or 3, and a rating
    that no float can hold.
    """
    of, problems = {str(number): number for number in numbers}, Counter[str]()

    def of_statements(tag: str, blocks: Sequence[tuple[str, T]]) -> list[tuple[int, T]]:
        problems["out of schema"] += text.count(f"<{tag}") - len(blocks)
        problems["no such statement"] += sum(name not in of for name, _ in blocks)
        return [(of[name], value) for name, value in blocks if name in of]

    def last(tag: str) -> dict[int, str]:
        pairs = of_statements(tag, re.findall(_RELEASED.format(tag=tag), text))
        problems["said twice"] += len(pairs) - len(dict(pairs))
        return dict(pairs)

    if module == "attribution":
        digits = {str(context): context for context in CONTEXTS}
        contexts = {number: digits.get(v, digits.get(v[0], RETRIEVAL)) for number, v in last("category").items()}
        reply = ParsedReply(contexts, problems=+problems)
    else:
        edits: dict[int, tuple[Edit, ...]] = {}
        for number, further in of_statements("editing", _released_edits(text)):
            edits[number] = edits.get(number, ()) + further
        ratings = last("rating")
        if any(len(rating) > _LONGEST_FLOAT for rating in ratings.values()):
            raise UserError(f"A rating has more than {_LONGEST_FLOAT} digits, {_STOPS}.")
        stars = {number: int(rating) for number, rating in ratings.items()}
        problems["out of range"] += sum(value not in STARS for value in stars.values())
        reply = ParsedReply(edits={n: each for n, each in edits.items() if each}, stars=stars, problems=+problems)
    return reply if reply != ParsedReply() else None


def _released_edits(text: str) -> list[tuple[str, tuple[Edit, ...]]]:
    """Return the statement and the edits of each block of edits, each up to the next closing tag, as released.

    The released code compares citations as texts: one that is written as no passage's number is (07) gets a negative
    number of its own.
    """
    blocks: list[tuple[str, tuple[Edit, ...]]] = []
    odd: dict[str, int] = {}
    end = 0
    while opened := _RELEASED_EDITS.search(text, end):
        end = text.find("</editing>", opened.end())
        if end < 0:
            break
        edits: list[Edit] = []
        for action, citation, reason in _RELEASED_EDIT.findall(text, opened.end(), end):
            if reason not in ("1", "2", "3"):
                raise UserError(f"An edit has the reason {reason[:_LONGEST_NUMBER]}, {_STOPS}.")
            number = _number(citation)
            if citation != str(number):
                number = odd.setdefault(citation, -1 - len(odd))
            edits.append(Edit("delete" if action == "DELETE" else "add", int(reason), number))
        blocks.append((opened[1], tuple(edits)))
    return blocks


def _single_entries(entries: Sequence[tuple[int, T]], numbers: Collection[int], problems: Counter[str]) -> dict[int, T]:
    """Return the entries by statement, of statements in `numbers` that occur once; add the others to `problems`."""
    times = Counter(number for number, _ in entries)
    problems["no such statement"] += sum(number not in numbers for number, _ in entries)
    problems["said twice"] += sum(number in numbers and count > 1 for number, count in times.items())
    return {number: value for number, value in entries if number in numbers and times[number] == 1}


def _number(text: str) -> int:
    """Return the whole number in a text; -1 for any other text."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= _LONGEST_NUMBER else -1


def _edits(body: str) -> tuple[Edit, ...] | None:
    """Return the edits in a block of tags; None if one of them, or what stands beside them, cannot be read."""
    edits: list[Edit] = []
    matches = list(_EDIT.finditer(body))
    rest = _EDIT.sub("", body).strip()
    if "<" in rest if matches else rest not in ("", "N/A"):
        return None
    for match in matches:
        reason, citation = _REASON.fullmatch(match["reason"]), _number(match["citation"])
        if reason is None or citation < 0 or (number := _number(reason[1])) not in (1, 2, 3):
            return None
        edits.append(Edit("delete" if match["action"] == "DELETE" else "add", number, citation))
    return tuple(edits)
