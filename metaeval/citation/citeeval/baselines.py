"""Baselines that CiteEval is compared with: AutoAIS by a metric; LQAC and AttrScore by a chat model, which judges one
statement at a time.

Values are columns over all statements of all responses, in order (`Units`): the value of a statement that lacks a
verdict lies between its worst and its best, and is an estimate from comparable values, or NaN.

LQAC (LongBench-Cite, arXiv 2409.02897) asks whether a statement is supported and whether each citation is relevant. The
released code asks for a rating in ten tokens, up to five times and later at random; here each question is asked once,
and a malformed reply stays missing, as does a passage without a text, which LongBench-Cite gives 0. AttrScore (Yue et
al. 2023, arXiv 2305.06311) assigns a label to each citation, by a chat model without examples or by a metric with three
classes. The wording of all questions is this project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from metaeval.citation.citation_table import ClaimQuestion, judge, needed, premise
from metaeval.citation.citeeval.judge import PROMPTS, shown, shown_passage
from metaeval.citation.citeeval.options_and_values import PAPER, CitedScenario, CiteEvalOptions, Units
from metaeval.citation.citeeval.splitting import ResponseStatement, Split
from metaeval.citation.data_model import Answer as Response
from metaeval.citation.data_model import Entails, NliPair, Passage
from metaeval.llm.messages import Answer, ChatRequest, Prompt, State, read_answer, read_object, read_prompt, reply_form
from metaeval.stats.arrays import Bools, Floats, Ints, ratio

# Baselines that a chat model judges; a metric judges AutoAIS.
Baseline = Literal["lqac", "attrscore"]

BASELINES: tuple[Baseline, ...] = get_args(Baseline)

StatementRow = Mapping[str, str | int | float | None]

MeasuredUnits = Mapping[str, Units]


def units(worst: Floats, best: Floats) -> Units:
    """Return values that are known where their ends meet, and NaN elsewhere."""
    return Units(np.where(worst == best, worst, np.nan), worst, best)


def triple(precision: Units, recall: Units) -> MeasuredUnits:
    """Return recall, precision and their F1; F1 grows with both, so that its ends are the F1 of their ends."""
    columns = [np.where(p + r == 0, 0.0, ratio(2 * p * r, p + r)) for p, r in zip(precision, recall, strict=True)]
    value, worst, best = columns
    return {"recall": recall, "precision": precision, "f1": Units(np.where(worst == best, worst, value), worst, best)}


def estimated(values: Units, kind: Ints) -> Units:
    """Return values with estimates of missing ones: the mean of the known ones of their kind, between their ends."""
    known = ~np.isnan(values.value)
    sums = np.bincount(kind, np.where(known, values.value, 0.0)), np.bincount(kind, known)
    of_kind = np.clip(ratio(*sums)[kind], values.worst, values.best) if kind.size else values.value
    return values._replace(value=np.where(known, values.value, of_kind))


def kinds_of(responses: Sequence[Response], splits: Sequence[Split]) -> Ints:
    """Return the kind of each statement: cited or uncited, and of which system; their questions differ."""
    codes: dict[tuple[str, bool], int] = {}
    kinds = [
        codes.setdefault((response.system, bool(statement.citations)), len(codes))
        for response, split in zip(responses, splits, strict=True)
        for statement in split.statements
    ]
    return np.array(kinds, dtype=np.int64)


def response_means(values: Units, cited: Bools, response: Ints, n: int, scenario: CitedScenario = "full") -> Units:
    """Return the values of n responses: the mean over all their statements, or over those with citations.

    values, cited, response: of each statement its value, whether it has citations, and its response. A response without
    statements has no value; in the scenario "cited", one without citations is 0, as CiteEval publishes.
    """
    used = cited | (scenario == "full")
    of = response[used]
    counts = np.bincount(of, minlength=n)
    masked = (np.bincount(response, minlength=n) > 0) & (counts == 0)
    value, worst, best = (np.where(masked, 0.0, ratio(np.bincount(of, column[used], n), counts)) for column in values)
    # Rounding can move a mean of estimates out of its ends.
    return Units(np.where(worst == best, worst, np.clip(value, worst, best)), worst, best)


def autoais(responses: Sequence[Response], splits: Sequence[Split], entails: Entails) -> MeasuredUnits:
    """Return AutoAIS of each statement, from entailment verdicts in at most three batches.

    Recall: 1 if the cited passages together entail the statement, else 0. Precision: the mean over its citations of
    1 if recall is 1 and the citation is needed (see `citation_table.needed`), else 0. Both are 0 without a
    citation. A citation of a passage that does not exist supports nothing. Gao et al. 2023 (ALCE); aggregated as in
    CiteEval. Raises ValueError if the lengths differ.
    """
    questions, cited = [], []
    for response, split in zip(responses, splits, strict=True):
        for statement in split.statements:
            passages = tuple(number - 1 for number in statement.citations if 1 <= number <= len(response.passages))
            questions.append(ClaimQuestion(statement.text, response.passages, passages))
            cited.append(len(statement.citations))
    ends = []  # of precision and of recall
    for (joint, alone, rest), n in zip(judge(questions, entails), cited, strict=True):
        entailed = joint is not None and joint.entailed
        if entailed is None:
            ends.append((0.0, len(alone) / n, 0.0, 1.0))
        elif not entailed:
            ends.append((0.0, 0.0, 0.0, 0.0))
        elif len(alone) == 1:
            ends.append((1 / n, 1 / n, 1.0, 1.0))
        else:
            hits = list(map(needed, alone, rest))
            ends.append((sum(hit is True for hit in hits) / n, sum(hit is not False for hit in hits) / n, 1.0, 1.0))
    columns = np.array(ends, dtype=np.float64).reshape(-1, 4).T
    return triple(units(*columns[:2]), units(*columns[2:]))


# Returns the chat request with a message (str) and the `response_format` of its reply.
MakeRequest = Callable[[str, dict[str, Any]], ChatRequest]


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

    def read(self, text: str, repairs: Counter[str] | None = None) -> str | None:
        """Return the choice in a reply; None for a malformed reply. repairs: as in `read_object`."""
        body = read_object(text, self.form, repairs=repairs)
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

    def read(self, answer: Answer) -> tuple[str | None, State | Literal["repaired"]]:
        """Return the choice in the reply, and the outcome of the request."""
        repairs: Counter[str] = Counter()
        choice, state = read_answer(answer, partial(self.kind.read, repairs=repairs if self.request.repairs else None))
        return choice, "repaired" if choice is not None and repairs.total() else state


Heard = Sequence[tuple[Inquiry, Answer]]


@dataclass(frozen=True, eq=False)
class JudgedStatements:
    """What a judge of a baseline says of all statements.

    values: their values by measure. words: texts of their rows, such as labels. labels: AttrScore's, of each citation.
    """

    values: MeasuredUnits
    words: Sequence[StatementRow]
    labels: Counter[str | None]


def citable(statement: ResponseStatement, response: Response) -> list[tuple[int, Passage]]:
    """Return (index in the statement's citations, passage) of each citation whose passage has a text."""
    passages = response.with_text
    return [(place, passages[number]) for place, number in enumerate(statement.citations) if number in passages]


# Recall of a cited statement, by how far its passages together support it.
SUPPORT: Mapping[str, float] = {"full": 1.0, "partial": 0.5, "none": 0.0}

RECALL = QuestionKind("lqac_recall", "support", tuple(SUPPORT))
NEED = QuestionKind("lqac_need", "needs_citation", ("yes", "no"), ("query", "answer", "statement"))
PRECISION = QuestionKind("lqac_precision", "relevance", ("relevant", "irrelevant"))
KINDS = (RECALL, NEED, PRECISION)


def lqac_inquiries(responses: Sequence[Response], splits: Sequence[Split], make: MakeRequest) -> list[Inquiry]:
    """Return the questions of LQAC, one per request, by response and in the order of its statements.

    About a cited statement: how far its passages together support it,
    and whether each is relevant. About an uncited one: whether it needs a citation. No questions are about citations
    without a passage or with one that has no text, and about responses that say that they found no answer. Raises
    ValueError if the lengths differ.
    """
    prompts = {kind.name: kind.prompt() for kind in KINDS}
    inquiries: list[Inquiry] = []
    for number, (response, split) in enumerate(zip(responses, splits, strict=True)):
        text = "\n".join(statement.text for statement in split.statements)
        for place, statement in enumerate(() if split.no_answer else split.statements):
            questions: list[tuple[QuestionKind, int | None, list[Passage]]] = [(NEED, None, [])]
            if statement.citations:
                cited = citable(statement, response)
                questions = [(RECALL, None, [passage for _, passage in cited])] if cited else []
                questions += [(PRECISION, citation, [passage]) for citation, passage in cited]
            texts = {"query": shown(response.question), "answer": shown(text), "statement": shown(statement.text)}
            for kind, citation, passages in questions:
                content = prompts[kind.name].fill(**texts, passages="\n".join(map(shown_passage, passages)))
                inquiries.append(Inquiry(kind, number, place, citation, make(content, kind.form)))
    return inquiries


def lqac(responses: Sequence[Response], splits: Sequence[Split], heard: Heard) -> JudgedStatements:
    """Return LQAC of each statement. heard: its questions with their replies.

    Recall: 1, 0.5 or 0 for full, partial or no support; without citations, 1 if the statement needs none, else 0.
    Precision: the share of its citations that are relevant, 0 without citations. A citation whose passage does not
    exist supports nothing and is irrelevant; one whose passage has no text is not judged, and neither is recall, unless
    the other passages support the statement fully. A response that says that it found no answer needs none.
    """
    choices = {
        (inquiry.kind, inquiry.response, inquiry.statement, inquiry.citation): inquiry.read(answer)[0]
        for inquiry, answer in heard
    }
    worth: dict[str | None, float] = {"yes": 0.0, "no": 1.0, "relevant": 1.0, "irrelevant": 0.0, None: np.nan}
    worth.update(SUPPORT.items())
    recalls: list[float] = []
    relevance: list[float] = []
    of: list[int] = []  # the statement of each citation
    words: list[StatementRow] = []
    for number, (response, split) in enumerate(zip(responses, splits, strict=True)):
        for place, statement in enumerate(split.statements):
            if statement.citations:
                word = choices.get((RECALL, number, place, None), "none")
                verdict = word = None if statement.no_text and word != "full" else word
            else:
                word = choices.get((NEED, number, place, None), "no")
                verdict = {"yes": "needs a citation", "no": "needs none", None: None}[word]
            relevant = [
                worth[choices.get((PRECISION, number, place, citation), None if blank else "irrelevant")]
                for citation, blank in enumerate(response.cites_blank([cited]) for cited in statement.citations)
            ]
            recalls.append(worth[word])
            relevance += relevant
            of += [len(words)] * len(relevant)
            shown_relevance = " ".join("?" if np.isnan(value) else str(int(value)) for value in relevant)
            words.append({"lqac_said": verdict, "lqac_relevant": shown_relevance})
    kinds, places = kinds_of(responses, splits), np.array(of, dtype=np.int64)
    recall = estimated(_known_or_missing(recalls), kinds)
    relevant_units = estimated(_known_or_missing(relevance), kinds[places])
    return JudgedStatements(triple(_mean_of_citations(relevant_units, places, len(words)), recall), words, Counter())


def _known_or_missing(values: Sequence[float]) -> Units:
    """Return values as units; NaN is a missing verdict, between 0 and 1."""
    value = np.array(values, dtype=np.float64)
    return Units(value, np.nan_to_num(value, nan=0.0), np.nan_to_num(value, nan=1.0))


def _mean_of_citations(citations: Units, of: Ints, n: int) -> Units:
    """Return the mean over the citations of each of n statements (of: the statement of each); 0 without a citation."""
    counts = np.bincount(of, minlength=n)
    value, worst, best = (np.where(counts == 0, 0.0, ratio(np.bincount(of, column, n), counts)) for column in citations)
    return Units(np.where(worst == best, worst, value), worst, best)


MODES = ("strict", "relaxed")

LABEL = QuestionKind("attrscore", "label", ("Attributable", "Contradictory", "Extrapolatory"))

NO_PASSAGE = "No passage"  # in place of a label: the citation's passage does not exist, and its value is 0

UNREAD = "?"  # in place of a label: the judge's reply holds none of the three

Where = tuple[int, int, int]  # indices of response, statement and citation


def attrscore(
    responses: Sequence[Response],
    splits: Sequence[Split],
    labels: Mapping[Where, str | None],
    options: CiteEvalOptions = PAPER,
    judge_name: str = "",
) -> JudgedStatements:
    """Return AttrScore of each statement: the mean value of its citations' labels, and 0 without a citation.

    Attributable has the value 1, Contradictory 0, Extrapolatory 0 (strict) or 0.5 (relaxed). `UNREAD` is missing, or
    has the value 1 with otherwise="attributable". None, a label that was never received, is missing with either, and
    so is that of a passage without text.
    """
    worth: dict[str | None, float] = {"Attributable": 1.0, "Contradictory": 0.0, NO_PASSAGE: 0.0, None: np.nan}
    other = 1.0 if options.otherwise == "attributable" else np.nan
    labelled: list[list[str | None]] = [
        [
            labels.get((number, place, citation), None if 1 <= cited <= len(response.passages) else NO_PASSAGE)
            for citation, cited in enumerate(statement.citations)
        ]
        for number, (response, split) in enumerate(zip(responses, splits, strict=True))
        for place, statement in enumerate(split.statements)
    ]
    every = [label for row in labelled for label in row]
    of = np.repeat(np.arange(len(labelled)), [len(row) for row in labelled])
    kinds = kinds_of(responses, splits)
    values = {}
    for mode, extrapolatory in zip(MODES, (0.0, 0.5), strict=True):
        worth["Extrapolatory"] = extrapolatory
        known = _known_or_missing([worth.get(label, other) for label in every])
        values[mode] = estimated(_mean_of_citations(known, of, len(labelled)), kinds)
    column = f"attrscore_labels_{judge_name}"
    words: list[StatementRow] = [{column: "; ".join(label or "?" for label in row)} for row in labelled]
    return JudgedStatements(values, words, Counter(every))


def attrscore_inquiries(responses: Sequence[Response], splits: Sequence[Split], make: MakeRequest) -> list[Inquiry]:
    """Return the questions of AttrScore, one for each citation of a passage with a text."""
    prompt = LABEL.prompt()
    inquiries: list[Inquiry] = []
    for where, response, statement, passage in _cited_passages(responses, splits):
        query, text = shown(response.question), shown(statement.text)
        content = prompt.fill(query=query, statement=text, passages=shown_passage(passage))
        inquiries.append(Inquiry(LABEL, *where, make(content, LABEL.form)))
    return inquiries


def labels_by_model(heard: Heard) -> dict[Where, str | None]:
    """Return AttrScore's labels by a chat model. heard: its questions with their replies."""
    labels: dict[Where, str | None] = {}
    for inquiry, answer in heard:
        label, state = inquiry.read(answer)
        labels[inquiry.response, inquiry.statement, inquiry.citation or 0] = UNREAD if state == "unparsed" else label
    return labels


def labels_by_metric(
    responses: Sequence[Response], splits: Sequence[Split], label: Callable[[Sequence[NliPair]], Sequence[str | None]]
) -> dict[Where, str | None]:
    """Return AttrScore's labels by a metric; a passage is read below its title.

    label: maps (passage as a premise, statement) pairs to labels, None for a missing one; called once, with all
    distinct pairs. Raises ValueError if the lengths differ.
    """
    cited = _cited_passages(responses, splits)
    pairs = {where: (premise([passage]), statement.text) for where, _, statement, passage in cited}
    unique = list(dict.fromkeys(pairs.values()))
    labels = dict(zip(unique, label(unique), strict=True)) if unique else {}
    return {where: labels[pair] for where, pair in pairs.items()}


def _cited_passages(
    responses: Sequence[Response], splits: Sequence[Split]
) -> Iterator[tuple[Where, Response, ResponseStatement, Passage]]:
    """Yield (indices, response, statement, passage) of each citation whose passage has a text."""
    for number, (response, split) in enumerate(zip(responses, splits, strict=True)):
        for place, statement in enumerate(split.statements):
            for citation, passage in citable(statement, response):
                yield (number, place, citation), response, statement, passage
