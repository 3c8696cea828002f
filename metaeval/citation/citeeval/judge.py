"""CiteEval's judge: its prompts, one request per response (or part) and module, and the parsers of its replies.

Replies are JSON, or tags for users of an official prompt file. Source: the released code's stored inputs and outputs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from metaeval.citation.chat_models import ChatOptions, Output, chat_request
from metaeval.citation.citeeval.citation_edits import REASONS, Edit
from metaeval.citation.citeeval.options_and_values import (
    CONTEXTS,
    PAPER,
    RETRIEVAL,
    STARS,
    CiteEvalOptions,
    UncitedStatements,
)
from metaeval.citation.citeeval.splitting import ResponseStatement, Split
from metaeval.citation.data_model import Answer as Response
from metaeval.citation.data_model import Passage
from metaeval.core.errors import UserError
from metaeval.llm import messages
from metaeval.llm.messages import Answer, ChatRequest, Prompt, Reply, read_answer, read_prompt

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
_EDITING: Mapping[JudgeMode, tuple[str, dict[str, Any]]] = {
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
    entry = _ATTRIBUTION if module == "attribution" else _EDITING[mode][1]
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
        return dict(of_statements(tag, re.findall(_RELEASED.format(tag=tag), text)))

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


PLACES = ("query", "passages", "statements")

MODULES: tuple[Module, ...] = ("attribution", "editing")

PROMPTS = Path(__file__).parent / "prompts"


class Asking(ChatOptions):
    """The chat model, and the requests to CiteEval's judge; `output="text"` is for prompts that ask for tags.

    mode: what is asked for beside a rating. attribution_file, editing_file: prompts of the user's own, with {query},
    {passages} and {statements}. statements_per_request: most statements that are judged at once; a longer response is
    judged in parts (None: never). uncited: statements without citations; what statements rest on is asked for "by
    context" alone. reading: of replies in JSON, whether what takes no guess is repaired.
    """

    top_p: Annotated[float, Field(gt=0, le=1)] | None = 1.0
    max_tokens: Annotated[int, Field(ge=1)] = 4096
    output: Output = "json_schema"
    mode: JudgeMode = "edits"
    attribution_file: Path | None = None
    editing_file: Path | None = None
    statements_per_request: Annotated[int, Field(ge=1)] | None = None
    uncited: UncitedStatements = "by context"
    reading: Literal["repaired", "strict"] = "repaired"

    @property
    def says_uncited(self) -> bool:
        """Whether our own prompt has to say that statements without citations are rated too."""
        return self.uncited == "rated" and self.editing_file is None

    def rates(self, statement: ResponseStatement) -> bool:
        """Return whether the judge is to rate a statement."""
        return not statement.no_text and (bool(statement.citations) or self.uncited == "rated")


def load_prompts(asking: Asking) -> dict[Module, Prompt]:
    """Return the prompt of each module: the project's own, or that of a file which the options name.

    Raises `UserError` for a file that cannot be read or lacks a placeholder, and for output=text with the project's
    own prompts, which ask for JSON.
    """
    prompts: dict[Module, Prompt] = {}
    for module, file in zip(MODULES, (asking.attribution_file, asking.editing_file), strict=True):
        if file is None and asking.output == "text":
            raise UserError(f"The prompt of {module} asks for JSON, not for tags: give --set chat.{module}_file=FILE.")
        name = _EDITING[asking.mode][0] if module == "editing" else module
        prompts[module] = read_prompt(file or PROMPTS / f"{name}.txt", PLACES)
    return prompts


def asked_fields(
    asking: Asking, models: Sequence[str], prompts: Sequence[str] | None = None, **instead: Any
) -> dict[str, str]:
    """Return the fields of a signature: "model", "answered_as", "prompts" and "asking" (all other options).

    models: the model names in the replies. prompts: NAME@FINGERPRINT of other prompts than CiteEval's; options of
    CiteEval's questions are then left out. instead: values that are named in place of the options' own.
    """
    of_citeeval = Asking.model_fields.keys() - ChatOptions.model_fields.keys()
    left_out = {"model", "attribution_file", "editing_file", *(() if prompts is None else of_citeeval)}
    if prompts is None:
        prompts = [f"{module}@{prompt.fingerprint}" for module, prompt in load_prompts(asking).items()]
        if asking.says_uncited:
            prompts.append(f"uncited@{uncited_prompt().fingerprint}")
        if asking.statements_per_request is not None:
            prompts.append(f"part@{part_prompt().fingerprint}")
    fields = {name: value for name, value in asking.identity().items() if name not in left_out}
    return {
        "model": asking.model,
        "answered_as": ", ".join(models) or asking.model,
        "prompts": ",".join(prompts),
        "asking": ",".join(f"{name}={value}" for name, value in {**fields, **instead}.items()),
    }


def uncited_prompt() -> Prompt:
    """Return the prompt that is added to our own of editing where statements without citations are rated too."""
    return read_prompt(PROMPTS / "uncited.txt", ())


def part_prompt() -> Prompt:
    """Return the prompt that is added to a module's prompt where a response is judged in parts."""
    return read_prompt(PROMPTS / "part.txt", ("first", "last"))


def request_for(
    module: Module,
    response: Response,
    statements: Sequence[ResponseStatement],
    part: Sequence[ResponseStatement],
    prompt: Prompt,
    asking: Asking,
) -> ChatRequest:
    """Return the request of a module for a response; it tells the statements' citations only for editing.

    statements: all of the response, which are shown. part: those to judge. Passages without a text are not shown, and
    neither are the citations of a statement that cites one: they are not judged.
    """
    numbers = {statement.number for statement in part} if len(part) < len(statements) else set()
    shown_statements = []
    for statement in statements:
        citations = () if statement.no_text else statement.citations
        cited = f' cites="{" ".join(map(str, citations))}"' if module == "editing" else ""
        tag = f'statement id="{statement.number}"{cited}' + (' judge="yes"' if statement.number in numbers else "")
        shown_statements.append(f"<{tag}>{shown(statement.text)}</statement>")
    content = prompt.fill(
        query=shown(response.question),
        passages="\n".join(shown_passage(passage, number) for number, passage in response.with_text.items()),
        statements="\n".join(shown_statements),
    )
    if module == "editing" and asking.says_uncited:
        content += f"\n\n{uncited_prompt().fill()}"
    if numbers:
        content += f"\n\n{part_prompt().fill(first=str(min(numbers)), last=str(max(numbers)))}"
    return chat_request(asking, content, reply_schema(module, asking.mode))


def shown(text: str) -> str:
    """Return a text with the characters <, > and & escaped, so that it cannot close a tag of the prompt."""
    return escape(text, quote=False)


def shown_passage(passage: Passage, number: int | None = None) -> str:
    """Return a passage in tags, with its title if it has one, and with the number if one is given."""
    title = f"<title>{shown(passage.title)}</title>" if passage.title else ""
    identifier = "" if number is None else f' id="{number}"'
    return f"<passage{identifier}>{title}<text>{shown(passage.text)}</text></passage>"


QuestionState = Literal["read", "not asked", "unparsed", "failed", "too long", "in part"]


@dataclass(frozen=True)
class ResponseJudgement:
    """A judge's verdicts on a response. contexts, edits, stars: by a statement's number, absent where missing.

    attribution, editing: outcomes of the two questions: read (perhaps not completely), unparsed (malformed reply),
    failed (no reply), too long (refused), or in part (the response was judged in parts, and only some of the replies
    were read). problems: those of the replies (see `ParsedReply`), and as "not
    judged" the number of statements that a reply should have judged and did not. states: numbers of requests by
    outcome, and "not asked" for a question that needs no request.
    """

    attribution: QuestionState
    editing: QuestionState
    contexts: Mapping[int, int]
    edits: Mapping[int, tuple[Edit, ...]]
    stars: Mapping[int, int]
    problems: Counter[str]
    states: Counter[QuestionState] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """A request of a module about the statements of a part of a response. response: index of the response."""

    response: int
    module: Module
    part: Sequence[ResponseStatement]
    request: ChatRequest


def questions_of(responses: Sequence[Response], splits: Sequence[Split], asking: Asking) -> Iterator[JudgeQuestion]:
    """Yield the questions, response by response, and of each those of attribution before those of editing.

    There are none about a response without statements, or whose passages all lack a text, or that says that it found no
    answer (unless uncited statements are rated). Editing is asked for parts with a statement to rate. Raises ValueError
    if the lengths differ.
    """
    prompts = load_prompts(asking)
    for index, (response, split) in enumerate(zip(responses, splits, strict=True)):
        seen = [each for each in split.statements if each.citations or asking.uncited != "left out"]
        size = asking.statements_per_request or max(len(seen), 1)
        parts = [seen[start : start + size] for start in range(0, len(seen), size)]
        unseen = bool(response.passages) and not response.with_text
        silent = split.no_answer and asking.uncited != "rated"
        for module in () if silent or unseen else MODULES:
            for part in parts:
                if asking.uncited == "by context" if module == "attribution" else any(map(asking.rates, part)):
                    request = request_for(module, response, seen, part, prompts[module], asking)
                    yield JudgeQuestion(index, module, part, request)


def judge_responses(
    splits: Sequence[Split],
    answers: Sequence[tuple[JudgeQuestion, Answer]],
    asking: Asking,
    options: CiteEvalOptions = PAPER,
) -> list[ResponseJudgement]:
    """Return the judge's verdicts on each response. answers: each question of `questions_of` with its reply.

    A reply that was refused, cut short, or is malformed is "unparsed" as a whole (cut tags are read as released with
    that option); a statement outside the question's part is a problem, "no such statement".
    """
    heard: list[list[tuple[JudgeQuestion, QuestionState, ParsedReply]]] = [[] for _ in splits]
    for question, answer in answers:
        judged = [each for each in question.part if question.module == "attribution" or not each.no_text]
        about = question.module, {statement.number for statement in judged}
        if asking.output == "text":
            as_released = options.tags == "released"
            read = partial(read_released if as_released else read_tags, module=about[0], numbers=about[1])
            if as_released and isinstance(answer, Reply):  # it does not look at how a reply ended
                answer = replace(answer, finish_reason="", refusal="")
        else:
            strict = asking.reading == "strict"
            read = partial(read_json, module=about[0], numbers=about[1], mode=asking.mode, strict=strict)
        reply, state = read_answer(answer, read)
        heard[question.response].append((question, state, reply or ParsedReply()))
    return [_judged(split, replies, asking) for split, replies in zip(splits, heard, strict=True)]


def _judged(
    split: Split, replies: Sequence[tuple[JudgeQuestion, QuestionState, ParsedReply]], asking: Asking
) -> ResponseJudgement:
    contexts: dict[int, int] = {}
    edits: dict[int, tuple[Edit, ...]] = {}
    stars: dict[int, int] = {}
    problems: Counter[str] = Counter()
    ended: dict[Module, list[QuestionState]] = {module: [] for module in MODULES}
    for question, state, reply in replies:
        # Parts have no statement in common.
        contexts |= reply.contexts
        edits |= reply.edits
        stars |= reply.stars
        problems += reply.problems
        ended[question.module].append(state)
        if state == "read":
            is_attribution = question.module == "attribution"
            expected = {statement.number for statement in question.part if is_attribution or asking.rates(statement)}
            rated = reply.edits.keys() & reply.stars.keys() if asking.mode == "edits" else reply.stars.keys()
            judged = reply.contexts.keys() if is_attribution else rated
            problems["not judged"] += len(expected - judged)
    states = {module: outcomes or ["not asked"] for module, outcomes in ended.items()}
    # The outcome of a question from those of its parts: "in part" if only some were read, else the first.
    attribution, editing = (
        "in part" if "read" in outcomes and len(set(outcomes)) > 1 else outcomes[0] for outcomes in states.values()
    )
    return ResponseJudgement(
        attribution=attribution,
        editing=editing,
        # The statement that no answer was found rests on the response.
        contexts={1: 3} if split.no_answer else contexts,
        edits=edits if asking.mode == "edits" else {},
        stars=stars,
        problems=+problems,
        states=Counter(chain.from_iterable(states.values())),
    )
