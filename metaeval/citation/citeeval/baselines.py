"""Baselines that CiteEval is compared with: AutoAIS by a metric; LQAC and AttrScore, of which a chat model judges one
statement at a time.

A value that a missing verdict leaves open is None, and comes with the least and the most that it can be, and with a
point between them that the values like it suggest.

LQAC (LongBench-Cite, arXiv 2409.02897): is a statement supported, is each of its citations relevant. Where the
released code asks for a rating in ten tokens, up to five times and later at random, each question is asked once here,
and a malformed reply stays missing. AttrScore (Yue et al. 2023, arXiv 2305.06311): a label for each citation, from a
chat model without examples or from a metric with three classes. The wording of all questions is this project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from metaeval.citation.citeeval.judge import PROMPTS, shown, shown_passage
from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.citeeval.values import Otherwise, Scenario
from metaeval.citation.measures import f1
from metaeval.citation.model import Answer as Response
from metaeval.citation.model import Entails, Pair, Passage
from metaeval.citation.table import Judgement, Question, judge, needed, premise
from metaeval.llm.exchange import Answer, ChatRequest, Prompt, State, read_answer, read_object, read_prompt, reply_form
from metaeval.scoring.contract import ThreeWay

Baseline = Literal["lqac", "attrscore"]
"""Those that a chat model can judge. AutoAIS is judged by a metric."""

BASELINES: tuple[Baseline, ...] = get_args(Baseline)


@dataclass(frozen=True, slots=True)
class Open:
    """A value in [0, 1], or None with its bounds: undefined if they are None as well, else missing.

    point: the value, or between its bounds what the values like it suggest (see `supposed`); None where nothing does.
    """

    value: float | None
    least: float | None = None
    most: float | None = None
    point: float | None = field(default=None, compare=False)


def known(value: float) -> Open:
    """A value that nothing is missing of."""
    return Open(value, value, value, value)


UNDEFINED = Open(None)


def between(least: float, most: float, point: float | None = None) -> Open:
    """A value of which the bounds are known, and perhaps a point; where they meet, the value is."""
    if least == most:
        return known(least)
    return Open(None, least, most, None if point is None else min(max(point, least), most))


Triple = Mapping[str, Open]
"""Citation precision, recall and F1 of a statement or a response, in [0, 1], by name."""

TRIPLE = ("precision", "recall", "f1")


def triple(precision: Open, recall: Open) -> Triple:
    """The triple of a precision and a recall. F1 rises with both, so that its bounds are those of theirs."""
    if precision.least is None or precision.most is None or recall.least is None or recall.most is None:
        return dict.fromkeys(TRIPLE, UNDEFINED)
    sure = precision.point is not None and recall.point is not None
    both = between(
        f1(precision.least, recall.least) or 0.0,
        f1(precision.most, recall.most) or 0.0,
        (f1(precision.point, recall.point) or 0.0) if sure else None,
    )
    return {"precision": precision, "recall": recall, "f1": both}


def autoais(responses: Sequence[Response], splits: Sequence[Split], entails: Entails) -> list[list[Triple]]:
    """AutoAIS of each statement of each response, from entailment verdicts that are asked for in three batches.

    Recall: 1 if the cited passages together entail the statement, else 0. Precision: the mean over its citations of
    1 if recall is 1 and the citation is needed (see `premises.needed`), else 0. Both are 0 without a
    citation. A citation of a passage that does not exist supports nothing. Gao et al. 2023 (ALCE); aggregated as
    CiteEval does.
    Raises ValueError if the lengths differ.
    """
    pairs = list(zip(responses, splits, strict=True))
    questions = [
        Question(one.text, own.passages, tuple(n - 1 for n in one.citations if 1 <= n <= len(own.passages)))
        for own, split in pairs
        for one in split.statements
    ]
    judged = iter(judge(questions, entails))
    return [[_triple(one, next(judged)) for one in split.statements] for _, split in pairs]


def response_value(values: Sequence[Open], cited: Sequence[bool], scenario: Scenario = "full") -> Open:
    """The value of a response: the mean over all its statements, or over those with citations.

    Missing if one of them is, undefined without any statement; in the scenario "cited", a response none of whose
    statements cites anything is 0, as CiteEval publishes: what it rests on no baseline knows.
    Raises ValueError if the lengths differ.
    """
    used = [one for one, has in zip(values, cited, strict=True) if has or scenario == "full"]
    if not used:
        return known(0.0) if values else UNDEFINED
    return mean(used)


def response_triple(
    triples: Sequence[Triple], cited: Sequence[bool] | None = None, scenario: Scenario = "full"
) -> Triple:
    """Precision, recall and F1 of a response: each the mean of its statements' own; see `response_value`.

    cited: which of the statements have citations; needed for the scenario "cited" alone.
    Raises ValueError if the lengths differ.
    """
    has = [True] * len(triples) if cited is None else cited
    if cited is None and scenario == "cited":
        raise ValueError("in the scenario 'cited' it must be known which statements have citations")
    return {name: response_value([one[name] for one in triples], has, scenario) for name in TRIPLE}


def mean(values: Sequence[Open]) -> Open:
    """The mean of values none of which is undefined; missing if one of them is. Undefined without any."""
    least = [one.least for one in values if one.least is not None]
    most = [one.most for one in values if one.most is not None]
    if not values or len(least) < len(values) or len(most) < len(values):
        return UNDEFINED
    # Each known value is both of its bounds, so that the same sum is divided by the same number.
    points = [one.point for one in values if one.point is not None]
    point = sum(points) / len(points) if len(points) == len(values) else None
    return between(sum(least) / len(least), sum(most) / len(most), point)


def supposed(values: Sequence[Sequence[Open]], kinds: Sequence[Sequence[Hashable]]) -> list[list[Open]]:
    """The values with a point for those without one: the mean of the points of its kind, within the value's bounds.

    values: of the statements, or citations, of each response; kinds: of each of them. Where nothing is known of a kind,
    its values stay without a point. Raises ValueError if the lengths differ.
    """
    points: dict[Hashable, list[float]] = {}
    pairs = [list(zip(own, of, strict=True)) for own, of in zip(values, kinds, strict=True)]
    for one, kind in (pair for own in pairs for pair in own):
        if one.point is not None:
            points.setdefault(kind, []).append(one.point)
    middle = {kind: sum(own) / len(own) for kind, own in points.items()}

    def with_point(one: Open, kind: Hashable) -> Open:
        if one.point is not None or one.least is None or one.most is None:
            return one
        return between(one.least, one.most, middle.get(kind))

    return [[with_point(*pair) for pair in own] for own in pairs]


def _triple(statement: Statement, judgement: Judgement) -> Triple:
    if judgement.joint is None:
        return triple(known(0.0), known(0.0))
    share = len(judgement.alone) / len(statement.citations)
    if judgement.joint.entailed is None:
        return triple(between(0.0, share), between(0.0, 1.0))
    if not judgement.joint.entailed:
        return triple(known(0.0), known(0.0))
    hits = [needed(alone, rest) for alone, rest in zip(judgement.alone, judgement.rest, strict=True)]
    hits = [True] if len(hits) == 1 else hits
    # A citation of a passage that does not exist is no hit.
    nowhere = [known(0.0)] * (len(statement.citations) - len(hits))
    return triple(
        mean([*(between(0.0, 1.0) if hit is None else known(float(hit)) for hit in hits), *nowhere]), known(1.0)
    )


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
        return reply_form(self.name, **{"thinking": {"type": "string"}, self.field: choice})

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
            cited = citable(one, response)
            about: list[tuple[Kind, int | None, list[Passage]]] = [] if one.citations else [(NEED, None, [])]
            about += [(RECALL, None, [passage for _, passage in cited])] if cited else []
            about += [(PRECISION, citation, [passage]) for citation, passage in cited]
            for kind, citation, passages in about:
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
    # Support and the need of a citation are different words, and each system has its own.
    found = [
        (_statement(number, place, one, response, split, choices), (response.system, bool(one.citations)))
        for number, (response, split) in enumerate(zip(responses, splits, strict=True))
        for place, one in enumerate(split.statements)
    ]
    (recalls,) = supposed([[one.recall for one, _ in found]], [[kind for _, kind in found]])
    relevance = supposed([one.relevance for one, _ in found], [[kind] * len(one.relevance) for one, kind in found])
    valued = (
        replace(one, values=triple(mean(own) if own else known(0.0), recall), recall=recall, relevance=tuple(own))
        for (one, _), recall, own in zip(found, recalls, relevance, strict=True)
    )
    return [[next(valued) for _ in split.statements] for split in splits]


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
