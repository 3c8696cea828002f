"""CiteEval's judge: its prompts, one request per response (or part) and module, and its verdicts on responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from metaeval.citation.chat_models import ChatOptions, Output, chat_request
from metaeval.citation.citeeval.citation_edits import Edit
from metaeval.citation.citeeval.judge_replies import (
    EDITING,
    JudgeMode,
    Module,
    ParsedReply,
    read_json,
    read_released,
    read_tags,
    reply_schema,
)
from metaeval.citation.citeeval.options_and_values import (
    PAPER,
    CiteEvalOptions,
    UncitedStatements,
)
from metaeval.citation.citeeval.splitting import ResponseStatement, Split
from metaeval.citation.data_model import Answer as Response
from metaeval.citation.data_model import Passage
from metaeval.core.errors import UserError
from metaeval.llm.messages import Answer, ChatRequest, Prompt, Reply, read_answer, read_prompt

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
        name = EDITING[asking.mode][0] if module == "editing" else module
        prompts[module] = read_prompt(file or PROMPTS / f"{name}.txt", PLACES)
    return prompts


def asked_fields(
    asking: Asking, models: Sequence[str], prompts: Sequence[str] | None = None, **instead: Any
) -> dict[str, str]:
    """Return the fields of a signature: "model", "answered_as", "prompts" and "asking" (all other options).

    models: the model names in the replies. prompts: NAME@FINGERPRINT of other prompts than CiteEval's; options of
    CiteEval's questions alone are then left out. instead: values that are named in place of the options' own.
    """
    of_citeeval = Asking.model_fields.keys() - ChatOptions.model_fields.keys() - {"reading"}
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
    return chat_request(asking, content, reply_schema(module, asking.mode), repairs=asking.reading == "repaired")


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
            strict = not question.request.repairs
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
