"""The judge: its prompts, one request per response (or part) and module, and the strict reading of its replies.

Replies are JSON, or tags: the form of the official prompts, needed by those who name an official prompt file. Source:
the released code's stored inputs and outputs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field

from metaeval.citation.chat import chat_request, checked_extra
from metaeval.citation.citeeval.editing import REASONS, Edit
from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.citeeval.values import CONTEXTS, PAPER, STARS, CiteEvalOptions
from metaeval.citation.model import Answer as Response
from metaeval.citation.model import Passage
from metaeval.errors import UserError
from metaeval.llm.exchange import (
    Answer,
    ChatRequest,
    Prompt,
    keeps,
    object_schema,
    read_answer,
    read_object,
    read_prompt,
    reply_form,
)

T = TypeVar("T")

Module = Literal["attribution", "editing"]
"""The two questions about a response."""

_CONTEXT_NUMBERS = {name: number for number, name in CONTEXTS.items()}


_EDIT_SCHEMA = object_schema(
    action={"type": "string", "enum": list(REASONS)},
    citation={"type": "integer"},
    reason={"type": "string", "enum": [reason for reasons in REASONS.values() for reason in reasons]},
)
_SPOKEN_OF = {"id": {"type": "integer"}, "thinking": {"type": "string"}}
_EDITED = {"edits": {"type": "array", "items": _EDIT_SCHEMA}, "rating": {"type": "integer", "enum": list(STARS)}}
_STATEMENTS: Mapping[Module, dict[str, Any]] = {
    "attribution": object_schema(**_SPOKEN_OF, context={"type": "string", "enum": list(CONTEXTS.values())}),
    "editing": object_schema(**_SPOKEN_OF, **_EDITED),
}

_THINKING = re.compile(r"<thinking>.*?</thinking>", re.DOTALL)
_BLOCK = r'<{tag}\s+sentence_id="(?P<number>\d+)"\s*>(?P<body>.*?)</{tag}>'
_EDIT = re.compile(
    r'<(?P<action>DELETE|ADD)\s+citation="(?P<citation>[^"]*)"\s*>(?P<reason>.*?)</(?P=action)>', re.DOTALL
)
_REASON = re.compile(r"\s*(?:(?:DELETE|ADD)\s+REASON\s+)?(\d+)\s*")
_LONGEST_NUMBER = 9  # digits; nothing that is numbered here has more, and Python refuses to read some longer numbers


@dataclass(frozen=True)
class Words:
    """What a judge said of statements, by their numbers: contexts (1 to 4), edits, stars (1 to 5).

    problems: counts of "out of schema" (an entry that cannot be read), "no such statement", and "said twice" (none of
    the two counts). Statements that the judge skipped are not in them.
    """

    contexts: Mapping[int, int] = field(default_factory=dict)
    edits: Mapping[int, tuple[Edit, ...]] = field(default_factory=dict)
    stars: Mapping[int, int] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)


def reply_schema(module: Module) -> dict[str, Any]:
    """The `response_format` of a chat request of a module.

    Both ask for {"statements": [one object per statement]}, in which the thinking stands before the judgement.
    """
    return reply_form(module, statements={"type": "array", "items": _STATEMENTS[module]})


def read_json(text: str, module: Module, asked: Collection[int]) -> Words | None:
    """Read a reply in JSON; None for a malformed one. asked: numbers of the statements that were asked about.

    An entry of which any part does not keep to the schema is counted and not read: half of it is not taken.
    """
    body = read_object(text, reply_schema(module), any_entries=True)
    if body is None:
        return None
    entries = [
        (one["id"], one)
        for one in body["statements"]
        if keeps(one, _STATEMENTS[module])
        and all(edit["reason"] in REASONS[edit["action"]] and edit["citation"] >= 0 for edit in one.get("edits", ()))
    ]
    problems = Counter({"out of schema": len(body["statements"]) - len(entries)})
    by = _once(entries, asked, problems)
    if module == "attribution":
        return Words({number: _CONTEXT_NUMBERS[one["context"]] for number, one in by.items()}, problems=+problems)
    edits = {
        number: tuple(
            Edit(edit["action"], REASONS[edit["action"]].index(edit["reason"]) + 1, edit["citation"])
            for edit in one["edits"]
        )
        for number, one in by.items()
    }
    return Words(edits=edits, stars={number: one["rating"] for number, one in by.items()}, problems=+problems)


def read_tags(
    text: str, module: Module, asked: Collection[int], tag: str = "attribution", stops: bool = False
) -> Words | None:
    """Read a reply in tags; None for one without any block of the right name.

    Contexts: `<attribution sentence_id="1"> 2 </attribution>`; tag: the name in place of attribution. Edits and
    ratings: `<editing sentence_id="1"> <DELETE citation="6"> DELETE REASON 1 </DELETE> </editing>` and
    `<rating sentence_id="1"> 4 </rating>`. A block of edits that is empty, or `N/A`, gives an empty tuple: other words
    may mean an edit, and are out of schema. So is a whole block with an edit that cannot be read; with stops, a reason
    that does not exist raises `UserError`.
    """
    spoken = _THINKING.sub("", text)
    problems: Counter[str] = Counter()

    def read(tag: str, value: Callable[[str], T | None]) -> dict[int, T]:
        found = [
            (_number(match["number"]), value(match["body"]))
            for match in re.finditer(_BLOCK.format(tag=tag), spoken, re.DOTALL)
        ]
        entries = [(number, one) for number, one in found if one is not None]
        problems["out of schema"] += len(found) - len(entries)
        return _once(entries, asked, problems)

    if module == "attribution":
        words = Words(contexts=read(tag, lambda body: _one_of(CONTEXTS, body)), problems=+problems)
    else:
        edits = read("editing", lambda body: _edits(body, stops))
        words = Words(edits=edits, stars=read("rating", lambda body: _one_of(STARS, body)), problems=+problems)
    return words if words.contexts or words.edits or words.stars or words.problems else None


def _once(entries: Sequence[tuple[int, T]], asked: Collection[int], problems: Counter[str]) -> dict[int, T]:
    """The entries of statements asked about that were spoken of once; the others are counted in `problems`."""
    times = Counter(number for number, _ in entries)
    problems["no such statement"] += sum(number not in asked for number, _ in entries)
    problems["said twice"] += sum(number in asked and count > 1 for number, count in times.items())
    return {number: value for number, value in entries if number in asked and times[number] == 1}


def _number(text: str) -> int:
    """The whole number that a text is; -1 for all else."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= _LONGEST_NUMBER else -1


def _one_of(allowed: Container[int], body: str) -> int | None:
    number = _number(body)
    return number if number in allowed else None


def _edits(body: str, stops: bool) -> tuple[Edit, ...] | None:
    edits = [_edit_in_tags(match, stops) for match in _EDIT.finditer(body)]
    readable = [edit for edit in edits if edit is not None]
    rest = _EDIT.sub("", body).strip()
    if len(readable) < len(edits) or ("<" in rest if edits else rest not in ("", "N/A")):
        return None
    return tuple(readable)


def _edit_in_tags(match: re.Match[str], stops: bool) -> Edit | None:
    reason = _REASON.fullmatch(match["reason"])
    citation, number = _number(match["citation"]), -1 if reason is None else _number(reason[1])
    if reason is None or citation < 0:
        return None
    if number not in (1, 2, 3):
        if stops:
            raise UserError(
                f"An edit has the reason {reason[1]}, at which the released code stops; set stops=false to count it."
            )
        return None
    return Edit("delete" if match["action"] == "DELETE" else "add", number, citation)


PLACES = ("query", "passages", "statements")
"""What a prompt must have a place for."""

MODULES: tuple[Module, ...] = ("attribution", "editing")

PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True, kw_only=True)
class Asking:
    """What is asked of which model; each field can change an answer."""

    model: str
    """Chat model that is asked."""
    temperature: float | None = 0.0
    """Sampling temperature (none: the server's own)."""
    top_p: float | None = 1.0
    """Nucleus sampling (none: the server's own)."""
    seed: int | None = None
    """Seed that is sent with each request (none: no seed)."""
    max_tokens: int = 4096
    """Most tokens in a reply, reasoning included; a reply that reaches it is unparsed."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name under which the limit is sent; some models refuse max_tokens."""
    output: Literal["json_schema", "json", "tags"] = "json_schema"
    """Form of the reply: json_schema (for a server with structured output), json (the prompt alone asks for JSON),
    or tags (as the official prompts)."""
    attribution_file: Path | None = None
    """A prompt of your own that asks what each statement rests on, with {query}, {passages} and {statements}."""
    editing_file: Path | None = None
    """A prompt of your own that asks for edits and ratings, with {query}, {passages} and {statements}."""
    attribution_tag: str = "attribution"
    """Tag around a statement's context, where replies are in tags."""
    contexts: Literal["always", "where needed", "never"] = "always"
    """When it is asked what a statement rests on: always, where needed (not where each statement has a citation),
    or never (edits alone)."""
    role: Literal["user", "system"] = "user"
    """Role of the one message that is sent."""
    extra: Annotated[dict[str, Any], AfterValidator(checked_extra)] = field(default_factory=dict)
    """Further fields of the request's body."""
    ask_again: Literal["unparsed"] | None = None
    """Replies that are asked for once more: unparsed (those out of form; the first is kept, and both count), or
    none."""
    statements_per_request: Annotated[int, Field(ge=1)] | None = None
    """Most statements that are judged at once; a longer response is judged in parts (none: never)."""

    def request(self, content: str, form: dict[str, Any], max_tokens: int | None = None) -> ChatRequest:
        """The request with this message; form: a `response_format`, sent where the output is held to a schema.

        max_tokens: in place of the option's.
        """
        return chat_request(self, content, form, max_tokens or self.max_tokens)


def load_prompts(asking: Asking) -> dict[Module, Prompt]:
    """The prompt of each module: the project's own, or the file that was named.

    Raises `UserError` when a file cannot be read or lacks a place, and when tags are awaited of the project's own
    prompts, which ask for JSON.
    """
    prompts: dict[Module, Prompt] = {}
    for module, file in zip(MODULES, (asking.attribution_file, asking.editing_file), strict=True):
        if file is None and asking.output == "tags":
            raise UserError(
                f"The prompt of {module} asks for JSON, not for tags: name a prompt file that asks for tags in "
                f"{module}_file, or set output=json."
            )
        prompts[module] = read_prompt(file or PROMPTS / f"{module}.txt", PLACES)
    return prompts


def asked_fields(
    asking: Asking, models: Sequence[str], prompts: Sequence[str] | None = None, *, unset: bool = False, **instead: Any
) -> dict[str, str]:
    """Who was asked, who answered, by which prompts and how; models: the names that the replies came under.

    prompts: NAME@FINGERPRINT of others than CiteEval's own; what only CiteEval's questions depend on is then left out.
    unset: that responses are not judged in parts is said too. instead: options in the place of those of asking.
    """
    own = {name: value for name, value in asdict(asking).items() if name != "model" and not name.endswith("_file")}
    if prompts is not None:
        of_citeeval = ("attribution_tag", "contexts", "statements_per_request")
        own = {name: value for name, value in own.items() if name not in of_citeeval}
    else:
        prompts = [f"{module}@{prompt.fingerprint}" for module, prompt in load_prompts(asking).items()]
        if asking.statements_per_request is not None:
            prompts.append(f"part@{part_prompt().fingerprint}")
        elif not unset:
            del own["statements_per_request"]
    if asking.ask_again is None:
        del own["ask_again"]
    return {
        "model": asking.model,
        "answered_as": ", ".join(models) or asking.model,
        "prompts": ",".join(prompts),
        "asking": ",".join(f"{name}={value}" for name, value in {**own, **instead}.items()),
    }


def parts(statements: Sequence[Statement], asking: Asking) -> list[Sequence[Statement]]:
    """The statements as they are judged together: all of them, or runs of at most `statements_per_request`."""
    size = asking.statements_per_request or max(len(statements), 1)
    return [statements[start : start + size] for start in range(0, len(statements), size)]


def part_prompt() -> Prompt:
    """What is added below the prompt where a response is judged in parts."""
    return read_prompt(PROMPTS / "part.txt", ("first", "last"))


def request_for(
    module: Module,
    response: Response,
    statements: Sequence[Statement],
    prompt: Prompt,
    asking: Asking,
    part: Sequence[Statement] | None = None,
) -> ChatRequest:
    """The request of a module for a response; the statements' citations are shown for editing alone.

    part: those of the statements that are to be judged; None, or all of them: every one.
    """
    own = {one.number for one in part} if part is not None and len(part) < len(statements) else set()
    shown_statements = []
    for one in statements:
        cited = f' cites="{" ".join(map(str, one.citations))}"' if module == "editing" else ""
        judged = ' judge="yes"' if one.number in own else ""
        shown_statements.append(f'<statement id="{one.number}"{cited}{judged}>{shown(one.text)}</statement>')
    content = prompt.fill(
        query=shown(response.question),
        passages="\n".join(shown_passage(one, number) for number, one in enumerate(response.passages, start=1)),
        statements="\n".join(shown_statements),
    )
    if own:
        content += f"\n\n{part_prompt().fill(first=str(min(own)), last=str(max(own)))}"
    return asking.request(content, reply_schema(module))


def shown(text: str) -> str:
    """A text that cannot close the tag around it, nor open another."""
    return escape(text, quote=False)


def shown_passage(passage: Passage, number: int | None = None) -> str:
    """A passage in its own tags, on one line, under its number where it has one."""
    title = f"<title>{shown(passage.title)}</title>" if passage.title else ""
    identifier = "" if number is None else f' id="{number}"'
    return f"<passage{identifier}>{title}<text>{shown(passage.text)}</text></passage>"


State = Literal["read", "not asked", "unparsed", "failed", "too long", "in part"]
"""Outcome of a question: read, perhaps not wholly; not asked; malformed reply; no reply; refused as too long.

In part: the response was judged in parts, and not all of them were read.
"""


@dataclass(frozen=True)
class Judged:
    """What the judge said of a response. contexts, edits, stars: by a statement's number; what is absent is missing.

    attribution, editing: what became of the two questions. problems: what was wrong inside replies that were read,
    "not judged" for the statements that they leave without a judgement, whatever the reason. states: how many requests
    ended how, and "not asked" for a question that none was needed for.
    """

    attribution: State
    editing: State
    contexts: Mapping[int, int]
    edits: Mapping[int, tuple[Edit, ...]]
    stars: Mapping[int, int]
    problems: Counter[str]
    states: Counter[State] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Question:
    """A request of a module about the statements of a part of a response. response: its place, from 0."""

    response: int
    module: Module
    part: Sequence[Statement]
    request: ChatRequest


def questions_of(responses: Sequence[Response], splits: Sequence[Split], asking: Asking) -> Iterator[Question]:
    """The questions about the responses; those about one response stand together.

    A response that says that it found no answer is not asked about, nor is one without statements; citations are
    edited only where there are some, in the response or in its part. Raises ValueError if the lengths differ.
    """
    prompts = load_prompts(asking)
    for index, (response, split) in enumerate(zip(responses, splits, strict=True)):
        for module in () if split.no_answer else MODULES:
            for part in parts(split.statements, asking):
                if _needed(module, part, asking):
                    request = request_for(module, response, split.statements, prompts[module], asking, part)
                    yield Question(index, module, part, request)


def judge_responses(
    splits: Sequence[Split],
    answers: Sequence[tuple[Question, Answer]],
    asking: Asking,
    options: CiteEvalOptions = PAPER,
) -> list[Judged]:
    """What the judge says of each response. answers: of each question of `questions_of`.

    A reply that was refused, cut short, or is malformed is "unparsed" as a whole.
    """
    heard: list[list[tuple[Question, State, Words]]] = [[] for _ in splits]
    for one, answer in answers:
        words, state = read_answer(answer, partial(_read, question=one, asking=asking, options=options))
        heard[one.response].append((one, state, words or Words()))
    return [_judged(split, own) for split, own in zip(splits, heard, strict=True)]


def _needed(module: Module, part: Sequence[Statement], asking: Asking) -> bool:
    if module == "editing":
        return any(one.citations for one in part)
    if asking.contexts == "where needed":
        return not all(one.citations for one in part)
    return asking.contexts == "always"


def _read(text: str, question: Question, asking: Asking, options: CiteEvalOptions) -> Words | None:
    """The words about the statements of the question's part; to speak of one outside it is to speak of none."""
    own = {one.number for one in question.part}
    if asking.output == "tags":
        return read_tags(text, question.module, own, asking.attribution_tag, options.stops)
    return read_json(text, question.module, own)


def _judged(split: Split, heard: Sequence[tuple[Question, State, Words]]) -> Judged:
    problems: Counter[str] = Counter()
    for one, state, words in heard:
        problems += words.problems
        if state == "read":
            asked = {own.number for own in one.part if one.module == "attribution" or own.citations}
            said = words.contexts.keys() if one.module == "attribution" else words.edits.keys() & words.stars.keys()
            problems["not judged"] += len(asked - said)
    ended: dict[Module, list[State]] = {
        module: [state for one, state, _ in heard if one.module == module] or ["not asked"] for module in MODULES
    }
    # Parts have no statement in common.
    judged = Judged(
        attribution=_together(ended["attribution"]),
        editing=_together(ended["editing"]),
        contexts={number: said for _, _, words in heard for number, said in words.contexts.items()},
        edits={number: said for _, _, words in heard for number, said in words.edits.items()},
        stars={number: said for _, _, words in heard for number, said in words.stars.items()},
        problems=+problems,
        states=Counter(state for states in ended.values() for state in states),
    )
    # A statement that says that there is no answer rests on the response.
    return replace(judged, contexts={1: 3}) if split.no_answer else judged


def _together(states: Sequence[State]) -> State:
    """What became of a question whose parts ended so; of parts none of which was read, the first stands for all."""
    return "in part" if "read" in states and len(set(states)) > 1 else states[0]
