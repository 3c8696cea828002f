"""Baselines that CiteEval is compared with: AutoAIS by a metric; LQAC and AttrScore by a chat model, which judges one
statement at a time.

A value that lacks a verdict is None with its lowest and highest possible value, and with a point estimate between the
two from comparable values.

LQAC (LongBench-Cite, arXiv 2409.02897) asks whether a statement is supported and whether each citation is relevant. The
released code asks for a rating in ten tokens, up to five times and later at random; here each question is asked once,
and a malformed reply stays missing. AttrScore (Yue et al. 2023, arXiv 2305.06311) assigns a label to each citation, by
a chat model without examples or by a metric with three classes. The wording of all questions is this project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, get_args

from metaeval.citation.citation_table import ClaimQuestion, Judgement, judge, needed, premise
from metaeval.citation.citeeval.judge import PROMPTS, shown, shown_passage
from metaeval.citation.citeeval.options_and_values import CitedScenario, Otherwise
from metaeval.citation.citeeval.splitting import ResponseStatement, Split
from metaeval.citation.data_model import Answer as Response
from metaeval.citation.data_model import Entails, NliPair, Passage
from metaeval.citation.measures import f1
from metaeval.llm.messages import Answer, ChatRequest, Prompt, State, read_answer, read_object, read_prompt, reply_form
from metaeval.scoring.contract import ThreeWay

Baseline = Literal["lqac", "attrscore"]
"""Baselines that a chat model judges; a metric judges AutoAIS."""

BASELINES: tuple[Baseline, ...] = get_args(Baseline)


@dataclass(frozen=True, slots=True)
class Open:
    """A value in [0, 1] that may be unknown: None with bounds where a verdict is missing, without bounds if undefined.

    least, most: its lowest and highest possible value, both the value if that is known. point: the value, or a point
    estimate between its bounds (see `with_point_estimates`); None without an estimate.
    """

    value: float | None
    least: float | None = None
    most: float | None = None
    point: float | None = field(default=None, compare=False)


def known(value: float) -> Open:
    """Return an `Open` for a known value, which is also its bounds and its point estimate."""
    return Open(value, value, value, value)


UNDEFINED = Open(None)
UNKNOWN = Open(None, 0.0, 1.0)


def known_or_missing(value: float | None) -> Open:
    """Return a known value, or one between 0 and 1 for None."""
    return UNKNOWN if value is None else known(value)


def between(least: float, most: float, point: float | None = None) -> Open:
    """Return an unknown value with its bounds, and the point estimate moved between these; known if they are equal."""
    if least == most:
        return known(least)
    return Open(None, least, most, None if point is None else min(max(point, least), most))


Triple = Mapping[str, Open]
"""Citation precision, recall and F1 of a statement or a response, in [0, 1], by name."""

TRIPLE = ("precision", "recall", "f1")


def triple(precision: Open, recall: Open) -> Triple:
    """Return precision, recall and their F1, each with the bounds that missing verdicts leave.

    F1 grows with precision and recall, so that its bounds are the F1 of their lower and of their upper bounds. All
    three are undefined if precision or recall is.
    """
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
    """Return AutoAIS of each statement, by response, from entailment verdicts in at most three batches.

    Recall: 1 if the cited passages together entail the statement, else 0. Precision: the mean over its citations of
    1 if recall is 1 and the citation is needed (see `citation_table.needed`), else 0. Both are 0 without a
    citation. A citation of a passage that does not exist supports nothing. Gao et al. 2023 (ALCE); aggregated as in
    CiteEval. Raises ValueError if the lengths differ.
    """
    questions = []
    for response, split in zip(responses, splits, strict=True):
        for statement in split.statements:
            cited = tuple(number - 1 for number in statement.citations if 1 <= number <= len(response.passages))
            questions.append(ClaimQuestion(statement.text, response.passages, cited))
    judged = iter(judge(questions, entails))
    return [[_triple(statement, next(judged)) for statement in split.statements] for split in splits]


def response_value(values: Sequence[Open], cited: Sequence[bool], scenario: CitedScenario = "full") -> Open:
    """Return the value of a response: the mean over all its statements, or over those with citations.

    It is unknown, with bounds, if one of them is, and undefined without statements; in the scenario "cited", a response
    without citations is 0, as CiteEval publishes. Raises ValueError if the lengths differ.
    """
    used = [value for value, has in zip(values, cited, strict=True) if has or scenario == "full"]
    if not used:
        return known(0.0) if values else UNDEFINED
    return mean(used)


def response_triple(triples: Sequence[Triple], cited: Sequence[bool], scenario: CitedScenario = "full") -> Triple:
    """Return precision, recall and F1 of a response, each the mean of its statements'; see `response_value`."""
    return {name: response_value([statement[name] for statement in triples], cited, scenario) for name in TRIPLE}


def mean(values: Sequence[Open]) -> Open:
    """Return the mean; unknown (with bounds) if a value is unknown, undefined without values or if one is undefined."""
    least = [value.least for value in values if value.least is not None]
    most = [value.most for value in values if value.most is not None]
    if not values or len(least) < len(values) or len(most) < len(values):
        return UNDEFINED
    # The bounds of a known value equal it: if all values are known, both means are the same float.
    points = [value.point for value in values if value.point is not None]
    point = sum(points) / len(points) if len(points) == len(values) else None
    return between(sum(least) / len(least), sum(most) / len(most), point)


def with_point_estimates(values: Sequence[Sequence[Open]], kinds: Sequence[Sequence[Hashable]]) -> list[list[Open]]:
    """Return the values, unknown ones with a point estimate: the mean point of their kind, moved between their bounds.

    values: of each response, those of its statements or citations. kinds: the kind of each value, in the same layout.
    A value of a kind of which no value has a point stays without one. Raises ValueError if the lengths differ.
    """
    points: dict[Hashable, list[float]] = {}
    pairs = [list(zip(row, row_kinds, strict=True)) for row, row_kinds in zip(values, kinds, strict=True)]
    for value, kind in chain.from_iterable(pairs):
        if value.point is not None:
            points.setdefault(kind, []).append(value.point)
    means = {kind: sum(numbers) / len(numbers) for kind, numbers in points.items()}

    def with_point(value: Open, kind: Hashable) -> Open:
        if value.point is not None or value.least is None or value.most is None:
            return value
        return between(value.least, value.most, means.get(kind))

    return [[with_point(*pair) for pair in row] for row in pairs]


def _triple(statement: ResponseStatement, judgement: Judgement) -> Triple:
    if judgement.joint is None:
        return triple(known(0.0), known(0.0))
    share = len(judgement.alone) / len(statement.citations)
    if judgement.joint.entailed is None:
        return triple(between(0.0, share), UNKNOWN)
    if not judgement.joint.entailed:
        return triple(known(0.0), known(0.0))
    hits = [needed(alone, rest) for alone, rest in zip(judgement.alone, judgement.rest, strict=True)]
    hits = [True] if len(hits) == 1 else hits
    # A citation of a passage that does not exist is a miss.
    misses = [False] * (len(statement.citations) - len(hits))
    return triple(mean([known_or_missing(None if hit is None else float(hit)) for hit in [*hits, *misses]]), known(1.0))


MakeRequest = Callable[[str, dict[str, Any]], ChatRequest]
"""Returns the chat request with a message (str) and the `response_format` of its reply."""


@dataclass(frozen=True)
class QuestionKind:
    """A kind of question to the judge. name: of the file of its prompt (without .txt), and of its `response_format`.

    field: of the reply's JSON object, whose value is one of `choices`. places: placeholders that the prompt contains.
    """

    name: str
    field: str
    choices: tuple[str, ...]
    places: tuple[str, ...] = ("query", "statement", "passages")

    @property
    def form(self) -> dict[str, Any]:
        """The `response_format` of a request: an object with the model's reasoning ("thinking") before the choice."""
        choice = {"type": "string", "enum": list(self.choices)}
        return reply_form(self.name, **{"thinking": {"type": "string"}, self.field: choice})

    def prompt(self) -> Prompt:
        """Return the project's own prompt."""
        return read_prompt(PROMPTS / f"{self.name}.txt", self.places)

    def read(self, text: str) -> str | None:
        """Return the choice in a reply; None for a malformed reply."""
        body = read_object(text, self.form)
        return None if body is None else str(body[self.field])


def prompts_of(kinds: Iterable[QuestionKind]) -> list[str]:
    """Return NAME@FINGERPRINT of the prompt of each kind of question."""
    return [f"{kind.name}@{kind.prompt().fingerprint}" for kind in kinds]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question about a statement, or one of its citations (None: no single one), by indices, with its request."""

    kind: QuestionKind
    response: int
    statement: int
    citation: int | None
    request: ChatRequest


def citable(statement: ResponseStatement, response: Response) -> list[tuple[int, Passage]]:
    """Return (index in the statement's citations, passage) of each citation whose passage has a text or a title."""
    cited = [(place, n) for place, n in enumerate(statement.citations) if 1 <= n <= len(response.passages)]
    passages = [(place, response.passages[n - 1]) for place, n in cited]
    return [(place, passage) for place, passage in passages if passage.text.strip() or passage.title.strip()]


SUPPORT: Mapping[str, float] = {"full": 1.0, "partial": 0.5, "none": 0.0}
"""Recall of a cited statement, by how far its passages together support it."""

RECALL = QuestionKind("lqac_recall", "support", tuple(SUPPORT))
NEED = QuestionKind("lqac_need", "needs_citation", ("yes", "no"), ("query", "answer", "statement"))
PRECISION = QuestionKind("lqac_precision", "relevance", ("relevant", "irrelevant"))
KINDS = (RECALL, NEED, PRECISION)

_Question = tuple[str, int, int, int | None]
"""The kind, response, statement and citation of a question."""


@dataclass(frozen=True)
class LqacStatement:
    """A chat model's verdicts on a statement, and the statement's precision, recall and F1 (values).

    verdict: "full", "partial" or "none" (support) if it has citations, else "needs a citation" or "needs none"; None if
    missing. relevance: 1 or 0 for each citation, in order. states: numbers of the questions about it, by outcome.
    """

    values: Triple
    recall: Open
    relevance: tuple[Open, ...]
    verdict: str | None
    states: Counter[State] = field(default_factory=Counter)

    def with_values(self, recall: Open, relevance: Sequence[Open]) -> LqacStatement:
        """Return the statement with this recall and relevance of its citations, and with values from these."""
        precision = mean(relevance) if relevance else known(0.0)
        return replace(self, values=triple(precision, recall), recall=recall, relevance=tuple(relevance))

    @property
    def relevant(self) -> tuple[bool | None, ...]:
        """Whether each citation is relevant, in order; None: the verdict is missing."""
        return tuple(None if value.value is None else value.value == 1.0 for value in self.relevance)


def lqac_inquiries(responses: Sequence[Response], splits: Sequence[Split], make: MakeRequest) -> list[Inquiry]:
    """Return the questions of LQAC, one per request, by response and in the order of its statements.

    About a cited statement: how far its passages together support it,
    and whether each is relevant. About an uncited one: whether it needs a citation. No questions are about citations
    without a passage or with an empty one, and about responses that say that they found no answer. Raises
    ValueError if the lengths differ.
    """
    prompts = {kind.name: kind.prompt() for kind in KINDS}
    inquiries: list[Inquiry] = []
    for number, (response, split) in enumerate(zip(responses, splits, strict=True)):
        if split.no_answer:
            continue
        text = "\n".join(statement.text for statement in split.statements)
        for place, statement in enumerate(split.statements):
            texts = {"query": shown(response.question), "answer": shown(text), "statement": shown(statement.text)}
            for kind, citation, passages in _lqac_questions(statement, response):
                content = prompts[kind.name].fill(**texts, passages="\n".join(map(shown_passage, passages)))
                inquiries.append(Inquiry(kind, number, place, citation, make(content, kind.form)))
    return inquiries


def _lqac_questions(
    statement: ResponseStatement, response: Response
) -> list[tuple[QuestionKind, int | None, list[Passage]]]:
    """Return (kind, index of the citation or None, passages in the prompt) of each question about a statement."""
    if not statement.citations:
        return [(NEED, None, [])]
    cited = citable(statement, response)
    relevance = [(PRECISION, citation, [passage]) for citation, passage in cited]
    return [(RECALL, None, [passage for _, passage in cited]), *relevance] if cited else []


def lqac(
    responses: Sequence[Response], splits: Sequence[Split], answers: Sequence[tuple[Inquiry, Answer]]
) -> list[list[LqacStatement]]:
    """Return LQAC of each statement, by response. answers: each question of `lqac_inquiries` with its reply.

    Recall: 1, 0.5 or 0 for full, partial or no support; without citations, 1 if the statement needs none, else 0.
    Precision: the share of its citations that are relevant, 0 without citations. A citation whose passage does not
    exist or is empty supports nothing and is irrelevant.
    """
    choices: dict[_Question, tuple[str | None, State]] = {}
    for inquiry, answer in answers:
        key = inquiry.kind.name, inquiry.response, inquiry.statement, inquiry.citation
        choices[key] = read_answer(answer, inquiry.kind.read)
    judged: list[LqacStatement] = []
    kinds: list[tuple[str, bool]] = []
    for number, (response, split) in enumerate(zip(responses, splits, strict=True)):
        for place, statement in enumerate(split.statements):
            judged.append(_statement(number, place, statement, split.no_answer, choices))
            # Point estimates are by system, and separate for cited and uncited statements, whose questions differ.
            kinds.append((response.system, bool(statement.citations)))
    (recalls,) = with_point_estimates([[statement.recall for statement in judged]], [kinds])
    relevance_kinds = [[kind] * len(statement.relevance) for statement, kind in zip(judged, kinds, strict=True)]
    relevance = with_point_estimates([statement.relevance for statement in judged], relevance_kinds)
    valued = map(LqacStatement.with_values, judged, recalls, relevance)
    return [[next(valued) for _ in split.statements] for split in splits]


def _statement(
    number: int,
    place: int,
    statement: ResponseStatement,
    no_answer: bool,
    choices: Mapping[_Question, tuple[str | None, State]],
) -> LqacStatement:
    if not statement.citations:
        # A response that says that it found no answer needs no citation, and no question is asked about it.
        need, state = ("no", None) if no_answer else choices[NEED.name, number, place, None]
        recall = known_or_missing(None if need is None else float(need == "no"))
        verdict = {"yes": "needs a citation", "no": "needs none", None: None}[need]
        return LqacStatement({}, recall, (), verdict, _counted([state]))
    support, state = choices.get((RECALL.name, number, place, None), ("none", None))
    recall = known_or_missing(None if support is None else SUPPORT[support])
    keys = [(PRECISION.name, number, place, citation) for citation in range(len(statement.citations))]
    relevance, states = zip(*(choices.get(key, ("irrelevant", None)) for key in keys), strict=True)
    values = tuple(known_or_missing(None if word is None else float(word == "relevant")) for word in relevance)
    return LqacStatement({}, recall, values, support, _counted([state, *states]))


def _counted(states: Iterable[State | None]) -> Counter[State]:
    """Return the number of questions by outcome, without those that were not asked (None)."""
    return Counter(state for state in states if state is not None)


Mode = Literal["strict", "relaxed"]
MODES: tuple[Mode, ...] = ("strict", "relaxed")

LABEL = QuestionKind("attrscore", "label", ("Attributable", "Contradictory", "Extrapolatory"))

NO_PASSAGE = "No passage"
"""In place of a label: the citation's passage does not exist or is empty, and its value is 0."""

UNREAD = "?"
"""In place of a label: the judge's reply holds none of the three."""

_Where = tuple[int, int, int]
"""Indices of response, statement and citation."""

_LABEL_VALUES: Mapping[str, float] = {"Attributable": 1.0, "Contradictory": 0.0, NO_PASSAGE: 0.0}

LabelPairs = Callable[[Sequence[NliPair]], Sequence[str | None]]
"""Maps (passage as a premise, statement) pairs to labels; None for a missing label."""


@dataclass(frozen=True)
class AttrStatement:
    """The labels of a statement's citations, in order; None: missing. states: numbers of questions by outcome."""

    labels: tuple[str | None, ...]
    states: Counter[State] = field(default_factory=Counter)


def attrscore(labels: Sequence[str | None], mode: Mode = "strict", otherwise: Otherwise = "missing") -> Open:
    """Return AttrScore of a statement: the mean value of its citations' labels, and 0 without a citation.

    Attributable has the value 1, Contradictory 0, Extrapolatory 0 (strict) or 0.5 (relaxed). `UNREAD` is missing, or
    has the value 1 with otherwise="attributable". None, a label that was never received, is missing with either.
    """
    return mean([_label_value(label, mode, otherwise) for label in labels]) if labels else known(0.0)


def modes_of(labels: Sequence[str | None], otherwise: Otherwise = "missing") -> dict[str, Open]:
    """Return AttrScore of a statement as "strict" and as "relaxed"."""
    return {mode: attrscore(labels, mode, otherwise) for mode in MODES}


def attrscore_inquiries(responses: Sequence[Response], splits: Sequence[Split], make: MakeRequest) -> list[Inquiry]:
    """Return the questions of AttrScore, one for each citation of a passage with a text or a title."""
    prompt = LABEL.prompt()
    inquiries: list[Inquiry] = []
    for where, response, statement, passage in _cited_passages(responses, splits):
        content = prompt.fill(
            query=shown(response.question), statement=shown(statement.text), passages=shown_passage(passage)
        )
        inquiries.append(Inquiry(LABEL, *where, make(content, LABEL.form)))
    return inquiries


def attrscore_by_model(splits: Sequence[Split], answers: Sequence[tuple[Inquiry, Answer]]) -> list[list[AttrStatement]]:
    """Return AttrScore's labels by a chat model, by response. answers: each of its questions with the reply."""
    labels: dict[_Where, str | None] = {}
    states: dict[_Where, State] = {}
    for inquiry, answer in answers:
        if inquiry.kind == LABEL:
            where = inquiry.response, inquiry.statement, inquiry.citation or 0
            label, states[where] = read_answer(answer, LABEL.read)
            labels[where] = UNREAD if states[where] == "unparsed" else label
    return _labelled(splits, labels, states)


def attrscore_by_metric(
    responses: Sequence[Response], splits: Sequence[Split], label: LabelPairs
) -> list[list[AttrStatement]]:
    """Return AttrScore's labels by a metric, by response; a passage is read below its title.

    label: called once, with all distinct pairs. Raises ValueError if the lengths differ.
    """
    cited = _cited_passages(responses, splits)
    pairs = {where: (premise([passage]), statement.text) for where, _, statement, passage in cited}
    unique = list(dict.fromkeys(pairs.values()))
    labels = dict(zip(unique, label(unique), strict=True)) if unique else {}
    return _labelled(splits, {where: labels[pair] for where, pair in pairs.items()}, {})


def most_probable_label(ways: ThreeWay | None) -> str | None:
    """Return AttrScore's label of the most probable class, the first of equals. ways: (support, neither, against)."""
    attributable, contradictory, extrapolatory = LABEL.choices
    labels = (attributable, extrapolatory, contradictory)
    return None if ways is None else labels[max(range(3), key=lambda place: ways[place])]


def _cited_passages(
    responses: Sequence[Response], splits: Sequence[Split]
) -> Iterator[tuple[_Where, Response, ResponseStatement, Passage]]:
    """Yield (indices, response, statement, passage) of each citation whose passage has a text or a title."""
    for number, (response, split) in enumerate(zip(responses, splits, strict=True)):
        for place, statement in enumerate(split.statements):
            for citation, passage in citable(statement, response):
                yield (number, place, citation), response, statement, passage


def _labelled(
    splits: Sequence[Split], labels: Mapping[_Where, str | None], states: Mapping[_Where, State]
) -> list[list[AttrStatement]]:
    """Return the labels of each statement's citations (`NO_PASSAGE` where absent), and counts of their states."""

    def of(number: int, place: int, statement: ResponseStatement) -> AttrStatement:
        keys = [(number, place, citation) for citation in range(len(statement.citations))]
        counted = Counter(states[key] for key in keys if key in states)
        return AttrStatement(tuple(labels.get(key, NO_PASSAGE) for key in keys), counted)

    return [
        [of(number, place, statement) for place, statement in enumerate(split.statements)]
        for number, split in enumerate(splits)
    ]


def _label_value(label: str | None, mode: Mode, otherwise: Otherwise) -> Open:
    if label == "Extrapolatory":
        return known(0.5 if mode == "relaxed" else 0.0)
    # A label that was never received stays missing in the released code too.
    value = None if label is None else _LABEL_VALUES.get(label, 1.0 if otherwise == "attributable" else None)
    return known_or_missing(value)
