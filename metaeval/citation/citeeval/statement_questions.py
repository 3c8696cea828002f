"""Baselines that a chat model judges, one question about one statement at a time: LQAC and AttrScore.

LQAC (LongBench-Cite, arXiv 2409.02897): is a statement supported, is each of its citations relevant. Where the
released code asks for a rating in ten tokens, up to five times and later at random, each question is asked once here,
and a malformed reply stays missing. AttrScore (Yue et al. 2023, arXiv 2305.06311): a label for each citation, from a
chat model without examples or from a metric with three classes. The wording of all questions is this project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from metaeval.citation.citeeval.baselines import Open, Triple, between, known, mean, response_triple, supposed, triple
from metaeval.citation.citeeval.judge import PROMPTS, shown, shown_passage
from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.citeeval.values import Otherwise, Scenario
from metaeval.citation.model import Answer as Response
from metaeval.citation.model import Pair, Passage
from metaeval.citation.table import premise
from metaeval.llm.exchange import (
    Answer,
    ChatRequest,
    Prompt,
    State,
    read_answer,
    read_object,
    read_prompt,
    response_format,
)
from metaeval.scoring.contract import ThreeWay

Make = Callable[[str, dict[str, Any]], ChatRequest]
"""The request with this message, for a reply of this form."""


@dataclass(frozen=True)
class Kind:
    """A kind of question. name: of its prompt's file, and of the form. field: of the reply, with one of `choices`.

    places: what its prompt must have a place for.
    """

    name: str
    field: str
    choices: tuple[str, ...]
    places: tuple[str, ...] = ("query", "statement", "passages")

    @property
    def form(self) -> dict[str, Any]:
        """The `response_format` that is asked for: an object of the thinking and, after it, the choice."""
        choice = {"type": "string", "enum": list(self.choices)}
        return response_format(self.name, **{"thinking": {"type": "string"}, self.field: choice})

    def prompt(self) -> Prompt:
        """The project's own wording."""
        return read_prompt(PROMPTS / f"{self.name}.txt", self.places)

    def read(self, text: str) -> str | None:
        """The choice in a reply; None for a malformed one."""
        body = read_object(text, self.form)
        return None if body is None else str(body[self.field])


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question with its request. response, statement, citation: positions from 0; None: not about one citation."""

    kind: Kind
    response: int
    statement: int
    citation: int | None
    request: ChatRequest


def citable(statement: Statement, response: Response) -> list[tuple[int, Passage]]:
    """The citations, by place from 0, of passages that hold text or a title, each with its passage."""
    cited = [(place, n) for place, n in enumerate(statement.citations) if 1 <= n <= len(response.passages)]
    found = [(place, response.passages[n - 1]) for place, n in cited]
    return [(place, passage) for place, passage in found if passage.text.strip() or passage.title.strip()]


SUPPORT: Mapping[str, float] = {"full": 1.0, "partial": 0.5, "none": 0.0}
"""What the passages of a cited statement give it, and the recall that it has for that."""

RECALL = Kind("lqac_recall", "support", tuple(SUPPORT))
NEED = Kind("lqac_need", "needs_citation", ("yes", "no"), ("query", "answer", "statement"))
PRECISION = Kind("lqac_precision", "relevance", ("relevant", "irrelevant"))
KINDS = (RECALL, NEED, PRECISION)

_Choices = Mapping[tuple[str, int, int, int | None], tuple[str | None, State]]
"""By kind, response, statement and citation: the choice (None: missing), and the outcome of the question."""

Aggregation = Literal["statements", "response"]
"""How a response is made of its statements: as CiteEval does, or as LongCite does."""


@dataclass(frozen=True)
class LqacStatement:
    """What the model said of a statement, and its values.

    said: "full", "partial" or "none" of a cited statement, "needs a citation" or "needs none" of another; None where
    it is missing. relevance: 1 or 0 of each citation, in order. states: what became of the questions asked.
    """

    values: Triple
    recall: Open
    relevance: tuple[Open, ...]
    said: str | None
    states: Counter[State] = field(default_factory=Counter)

    @property
    def relevant(self) -> tuple[bool | None, ...]:
        """Whether each citation is relevant, in order; None: missing."""
        return tuple(None if one.value is None else one.value == 1.0 for one in self.relevance)


def lqac_inquiries(responses: Sequence[Response], splits: Sequence[Split], make: Make) -> list[Inquiry]:
    """The questions of LQAC, one a request; those about a response stand together, in the order of its statements.

    A cited statement: how far its passages together support it, and whether each is relevant. Another: whether it
    needs a citation. Not asked: of citations without a passage or with an empty one, and of responses that say that
    they found no answer. Raises ValueError if the lengths differ.
    """
    prompts = {kind.name: kind.prompt() for kind in KINDS}
    asked: list[Inquiry] = []
    for number, (response, split) in enumerate(zip(responses, splits, strict=True)):
        if split.no_answer:
            continue
        text = "\n".join(one.text for one in split.statements)
        for place, one in enumerate(split.statements):
            for kind, citation, passages in _of_cited(one, response) if one.citations else [(NEED, None, ())]:
                texts = {"query": shown(response.question), "answer": shown(text), "statement": shown(one.text)}
                texts["passages"] = "\n".join(map(shown_passage, passages))
                asked.append(Inquiry(kind, number, place, citation, make(prompts[kind.name].fill(**texts), kind.form)))
    return asked


def lqac(
    responses: Sequence[Response], splits: Sequence[Split], answers: Sequence[tuple[Inquiry, Answer]]
) -> list[list[LqacStatement]]:
    """LQAC of each statement of each response. answers: of each question of `lqac_inquiries`.

    Recall: 1, 0.5 or 0 for full, partial or no support; 1 for a statement without citations that needs none, else 0.
    Precision: the share of its citations that are relevant, 0 without one. A citation that gives nothing to read
    supports nothing and is irrelevant.
    """
    choices: _Choices = {
        (one.kind.name, one.response, one.statement, one.citation): read_answer(answer, one.kind.read)
        for one, answer in answers
    }
    found = [
        [_statement(number, place, one, response, split, choices) for place, one in enumerate(split.statements)]
        for number, (response, split) in enumerate(zip(responses, splits, strict=True))
    ]
    # Support and the need of a citation are different words, and each system has its own.
    kinds = [
        [(response.system, bool(one.citations)) for one in split.statements]
        for response, split in zip(responses, splits, strict=True)
    ]
    recall = supposed([[one.recall for one in own] for own in found], kinds)
    relevance = iter(
        supposed(
            [one.relevance for own in found for one in own],
            [
                [kind] * len(one.relevance)
                for own, of in zip(found, kinds, strict=True)
                for one, kind in zip(own, of, strict=True)
            ],
        )
    )
    return [
        [_valued(one, known_recall, next(relevance)) for one, known_recall in zip(own, recalls, strict=True)]
        for own, recalls in zip(found, recall, strict=True)
    ]


def lqac_response(
    statements: Sequence[LqacStatement],
    cited: Sequence[bool],
    scenario: Scenario = "full",
    aggregation: Aggregation = "statements",
) -> Triple:
    """Precision, recall and F1 of a response; cited: which of its statements have citations.

    "statements", as CiteEval: each the mean of the statements' own. "response", as LongCite: recall the mean over
    statements, precision the mean over all citations of the response (0 without one), F1 from these two.
    In the scenario "cited", statements without citations are left out, and a response of nothing else is 0.
    Raises ValueError if the lengths differ.
    """
    if aggregation == "statements" or not statements:
        return response_triple([one.values for one in statements], cited, scenario)
    used = [one for one, has in zip(statements, cited, strict=True) if has or scenario == "full"]
    if not used:
        return triple(known(0.0), known(0.0))
    relevant = [one for own in used for one in own.relevance]
    return triple(mean(relevant) if relevant else known(0.0), mean([one.recall for one in used]))


def _of_cited(statement: Statement, response: Response) -> list[tuple[Kind, int | None, Sequence[Passage]]]:
    """The questions about a cited statement: kind, place of the citation, passages that are shown."""
    cited = citable(statement, response)
    together = [(RECALL, None, [passage for _, passage in cited])] if cited else []
    return [*together, *((PRECISION, place, [passage]) for place, passage in cited)]


def _statement(
    number: int, place: int, statement: Statement, response: Response, split: Split, choices: _Choices
) -> LqacStatement:
    key = (number, place)
    if not statement.citations:
        # A response that says that it found no answer has nothing to cite; it is not asked about.
        said, state = choices[NEED.name, *key, None] if not split.no_answer else ("no", None)
        recall = {"yes": known(0.0), "no": known(1.0), None: between(0.0, 1.0)}[said]
        words = {"yes": "needs a citation", "no": "needs none", None: None}[said]
        return LqacStatement({}, recall, (), words, _counted([state]))
    said, state = choices.get((RECALL.name, *key, None), ("none", None))
    recall = between(0.0, 1.0) if said is None else known(SUPPORT[said])
    heard = [choices.get((PRECISION.name, *key, own), ("irrelevant", None)) for own in range(len(statement.citations))]
    relevance = [between(0.0, 1.0) if word is None else known(float(word == "relevant")) for word, _ in heard]
    states = _counted([state, *(own for _, own in heard)])
    return LqacStatement({}, recall, tuple(relevance), said, states)


def _valued(one: LqacStatement, recall: Open, relevance: Sequence[Open]) -> LqacStatement:
    precision = mean(relevance) if relevance else known(0.0)
    return replace(one, values=triple(precision, recall), recall=recall, relevance=tuple(relevance))


def _counted(states: Iterable[State | None]) -> Counter[State]:
    """What became of the questions that were asked; None: none was."""
    return Counter(state for state in states if state is not None)


Mode = Literal["strict", "relaxed"]
MODES: tuple[Mode, ...] = ("strict", "relaxed")

LABEL = Kind("attrscore", "label", ("Attributable", "Contradictory", "Extrapolatory"))

NO_PASSAGE = "No passage"
"""In place of a label: the citation gives nothing to read, and is worth 0."""

UNREAD = "?"
"""In place of a label: the judge replied, but with none of the three."""

_Where = tuple[int, int, int]
"""Response, statement and citation, by their places from 0."""

_WORTH: Mapping[str, float] = {"Attributable": 1.0, "Contradictory": 0.0, NO_PASSAGE: 0.0}

Ways = Callable[[Sequence[Pair]], Sequence[str | None]]
"""(reference, claim) pairs to labels, None where there is none."""


@dataclass(frozen=True)
class AttrStatement:
    """The labels of a statement's citations, in order; None: missing. states: what became of the questions asked."""

    labels: tuple[str | None, ...]
    states: Counter[State] = field(default_factory=Counter)

    def value(self, mode: Mode = "strict", otherwise: Otherwise = "missing") -> Open:
        """Its AttrScore."""
        return attrscore(self.labels, mode, otherwise)


def attrscore(labels: Sequence[str | None], mode: Mode = "strict", otherwise: Otherwise = "missing") -> Open:
    """AttrScore of a statement from the labels of its citations: their mean worth, and 0 without a citation.

    Attributable is worth 1, Contradictory 0, Extrapolatory 0 (strict) or 0.5 (relaxed). None, a label that never came,
    leaves the value missing whatever `otherwise` says.
    """
    return mean([_worth(label, mode, otherwise) for label in labels]) if labels else known(0.0)


def attrscore_inquiries(responses: Sequence[Response], splits: Sequence[Split], make: Make) -> list[Inquiry]:
    """The questions of AttrScore, one for each citation of a passage that holds text.

    Raises ValueError if the lengths differ.
    """
    prompt = LABEL.prompt()
    asked: list[Inquiry] = []
    for where, response, one, passage in _cited_passages(responses, splits):
        texts = {"query": shown(response.question), "statement": shown(one.text), "passages": shown_passage(passage)}
        asked.append(Inquiry(LABEL, *where, make(prompt.fill(**texts), LABEL.form)))
    return asked


def attrscore_by_model(splits: Sequence[Split], answers: Sequence[tuple[Inquiry, Answer]]) -> list[list[AttrStatement]]:
    """The labels that a chat model gives. answers: of each question of `attrscore_inquiries`."""
    heard: dict[_Where, tuple[str | None, State | None]] = {}
    for one, answer in answers:
        if one.kind == LABEL:
            said, state = read_answer(answer, LABEL.read)
            heard[one.response, one.statement, one.citation or 0] = UNREAD if state == "unparsed" else said, state
    return _labelled(splits, heard)


def attrscore_by_metric(
    responses: Sequence[Response], splits: Sequence[Split], label: Ways
) -> list[list[AttrStatement]]:
    """The labels that a metric gives, all asked for in one batch; a passage is read with its title above it.

    Raises ValueError if the lengths differ.
    """
    pairs = {where: (premise([passage]), one.text) for where, _, one, passage in _cited_passages(responses, splits)}
    unique = list(dict.fromkeys(pairs.values()))
    found = dict(zip(unique, label(unique), strict=True)) if unique else {}
    return _labelled(splits, {where: (found[pair], None) for where, pair in pairs.items()})


def likeliest(ways: ThreeWay | None) -> str | None:
    """AttrScore's label for the most probable of a metric's classes (support, neither, against); of equal the first."""
    attributable, contradictory, extrapolatory = LABEL.choices
    labels = (attributable, extrapolatory, contradictory)
    return None if ways is None else labels[max(range(3), key=lambda place: ways[place])]


def _cited_passages(
    responses: Sequence[Response], splits: Sequence[Split]
) -> Iterator[tuple[_Where, Response, Statement, Passage]]:
    """Each citation of a passage that holds text: where it stands, its response, statement and passage."""
    for number, (response, split) in enumerate(zip(responses, splits, strict=True)):
        for place, one in enumerate(split.statements):
            for citation, passage in citable(one, response):
                yield (number, place, citation), response, one, passage


def _labelled(
    splits: Sequence[Split], heard: Mapping[_Where, tuple[str | None, State | None]]
) -> list[list[AttrStatement]]:
    """Every statement with the labels of its citations; heard: label, and what became of the question, where asked."""

    def of(number: int, place: int, one: Statement) -> AttrStatement:
        own = [heard.get((number, place, citation), (NO_PASSAGE, None)) for citation in range(len(one.citations))]
        return AttrStatement(tuple(label for label, _ in own), _counted(state for _, state in own))

    return [
        [of(number, place, one) for place, one in enumerate(split.statements)] for number, split in enumerate(splits)
    ]


def _worth(label: str | None, mode: Mode, otherwise: Otherwise) -> Open:
    if label == "Extrapolatory":
        return known(0.5 if mode == "relaxed" else 0.0)
    # A label that never came: not even the released code makes a number of that.
    worth = None if label is None else _WORTH.get(label, 1.0 if otherwise == "attributable" else None)
    return between(0.0, 1.0) if worth is None else known(worth)
