"""CiteEval from responses to numbers: each statement, each response in both scenarios, and their means.

The baselines that the same chat model judges are asked together with it, and read apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from metaeval.citation.citeeval.baselines import (
    AttrStatement,
    Baseline,
    Inquiry,
    LqacStatement,
    attrscore_by_model,
    attrscore_inquiries,
    lqac,
    lqac_inquiries,
)
from metaeval.citation.citeeval.editing import PUBLISHED, Coefficients, Edit, edit_problems
from metaeval.citation.citeeval.judge import Asking, Judged, Question, judge_responses, questions_of
from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.citeeval.values import (
    CONTEXTS,
    PAPER,
    BaselineOptions,
    CiteEvalOptions,
    ResponseValue,
    Scenario,
    Value,
    both,
    by_edits,
    by_rating,
    context_of,
    mean_bounds,
    response_value,
)
from metaeval.citation.measures import Estimate, estimate, group_codes, means
from metaeval.citation.model import Answer as Response
from metaeval.citation.model import Mark
from metaeval.citation.table import find_place
from metaeval.llm.exchange import Answer, Ask
from metaeval.stats.intervals import DEFAULT, Resampling

Measure = Literal["rating", "edits", "auto"]
"""IterCoE, EditDist and their mean, CiteEval-Auto."""

MEASURES: tuple[Measure, ...] = ("rating", "edits", "auto")
SCENARIOS: tuple[Scenario, ...] = ("full", "cited")

Cell = bool | int | float | str | None

_COLUMNS: Mapping[str, Measure] = {"auto": "auto", "rating": "rating", "edit_distance": "edits"}
"""The measures by their columns in tables."""


@dataclass(frozen=True, slots=True)
class StatementValues:
    """A statement, what the judge said of it, and its values.

    context: in words, as the values were made with it; None: missing. edits, stars: None where the judge gave none.
    """

    statement: Statement
    context: str | None
    edits: tuple[Edit, ...] | None
    stars: int | None
    values: Mapping[Measure, Value]

    @property
    def row(self) -> dict[str, Cell]:
        """The same as cells of a table, by column."""
        one, auto = self.statement, self.values["auto"]
        return {
            "statement": one.number,
            "start": one.start,
            "end": one.end,
            "text": one.text,
            "citations": " ".join(map(str, one.citations)),
            "marks_unread": len(one.unread),
            "context": self.context,
            "edits": None if self.edits is None else " ".join(f"{edit.name}:{edit.citation}" for edit in self.edits),
            "stars": self.stars,
            **{column: self.values[measure].value for column, measure in _COLUMNS.items()},
            "state": auto.state,
            "auto_least": auto.least,
            "auto_most": auto.most,
        }


@dataclass(frozen=True, slots=True)
class ResponseValues:
    """A response: its statements, its value by measure and scenario, and what became of the two questions about it.

    unread: its marks that belong to no statement.
    """

    answer: str
    statements: tuple[StatementValues, ...]
    values: Mapping[tuple[Measure, Scenario], ResponseValue]
    judged: Judged
    no_answer: bool
    passages: int
    unread: tuple[Mark, ...] = ()

    def row(self, scenario: Scenario) -> dict[str, Cell]:
        """The same as cells of a table, by column."""
        auto, judged = self.values["auto", scenario], self.judged
        return {
            **{column: self.values[measure, scenario].value for column, measure in _COLUMNS.items()},
            "auto_least": auto.least,
            "auto_most": auto.most,
            "statements": len(self.statements),
            "statements_rated": auto.rated,
            "statements_missing": auto.missing,
            "no_answer": self.no_answer,
            "attribution": judged.attribution,
            "editing": judged.editing,
            "problems": "; ".join(f"{name} {times}" for name, times in sorted(judged.problems.items())),
        }


@dataclass(frozen=True)
class Evaluated:
    """Values by CiteEval and by each baseline that was asked for (None: it was not), response by response.

    replies: what came of all requests about each response, in the order of asking.
    """

    results: Sequence[ResponseValues]
    lqac: Sequence[Sequence[LqacStatement]] | None
    attrscore: Sequence[Sequence[AttrStatement]] | None
    replies: Sequence[Sequence[Answer]]


def questions(
    responses: Sequence[Response],
    splits: Sequence[Split],
    asking: Asking,
    baselines: Collection[Baseline] = (),
    options: BaselineOptions | None = None,
) -> list[Question | Inquiry]:
    """What CiteEval and then the baselines ask about the responses. Raises ValueError if the lengths differ."""
    make = partial(asking.request, max_tokens=(options or BaselineOptions()).baseline_max_tokens)
    return [
        *questions_of(responses, splits, asking),
        *(lqac_inquiries(responses, splits, make) if "lqac" in baselines else ()),
        *(attrscore_inquiries(responses, splits, make) if "attrscore" in baselines else ()),
    ]


def evaluate(
    responses: Sequence[Response],
    splits: Sequence[Split],
    ask: Ask,
    asking: Asking,
    options: CiteEvalOptions = PAPER,
    baselines: Collection[Baseline] = (),
    baseline_options: BaselineOptions | None = None,
    coefficients: Coefficients = PUBLISHED,
) -> Evaluated:
    """Ask all questions in one call of `ask`, and rate the responses. splits: their statements.

    With a `ChatSession` every reply is kept as it comes: a run that was cut off goes on where it was, a request that
    failed is asked again, and nothing that was answered is.
    """
    asked = questions(responses, splits, asking, baselines, baseline_options)
    heard = list(zip(asked, ask([one.request for one in asked]), strict=True))
    replies: list[list[Answer]] = [[] for _ in splits]
    for one, answer in heard:
        replies[one.response].append(answer)
    judged = judge_responses(splits, [(one, own) for one, own in heard if isinstance(one, Question)], asking, options)
    inquiries = [(one, own) for one, own in heard if isinstance(one, Inquiry)]
    return Evaluated(
        results=[values_of(*one, options, coefficients) for one in zip(responses, splits, judged, strict=True)],
        lqac=lqac(responses, splits, inquiries) if "lqac" in baselines else None,
        attrscore=attrscore_by_model(splits, inquiries) if "attrscore" in baselines else None,
        replies=replies,
    )


def values_of(
    answer: Response,
    split: Split,
    judged: Judged,
    options: CiteEvalOptions = PAPER,
    coefficients: Coefficients = PUBLISHED,
) -> ResponseValues:
    """The values of one response, from what the judge said of it."""
    statements = tuple(_statement(answer, one, judged, options, coefficients) for one in split.statements)
    cited = [bool(one.citations) for one in split.statements]
    values = {
        (measure, scenario): response_value([one.values[measure] for one in statements], cited, scenario, options)
        for measure in MEASURES
        for scenario in SCENARIOS
    }
    return ResponseValues(answer.id, statements, values, judged, split.no_answer, len(answer.passages), split.unread)


def estimates(
    answers: Sequence[Response],
    results: Sequence[ResponseValues],
    scenario: Scenario = "full",
    resampling: Resampling = DEFAULT,
) -> dict[Measure, Estimate]:
    """The mean of each measure over the responses that have it, the others counted; intervals draw groups."""
    group, n_groups = group_codes(answers)
    return {
        measure: estimate(means([one.values[measure, scenario].value for one in results]), group, n_groups, resampling)
        for measure in MEASURES
    }


def bounds(
    results: Sequence[ResponseValues], measure: Measure, scenario: Scenario = "full"
) -> tuple[float | None, float | None]:
    """The least and the most that the mean over responses could be, were nothing missing; None: undefined.

    The mean of what was judged can lie outside: it is over other responses, or over fewer of their statements.
    """
    values = [one.values[measure, scenario] for one in results]
    return mean_bounds([(value.least, value.most) for value in values if value.least is not None])


def counts(results: Sequence[ResponseValues]) -> dict[str, int]:
    """Counts over all responses: questions by outcome, and problems inside the replies.

    The problems of edits (see `edit_problems`) are among them; for marks that cite nothing see `unread_marks`.
    """
    found: Counter[str] = Counter()
    for result in results:
        found.update({f"questions: {state}": count for state, count in result.judged.states.items()})
        found.update({f"problems: {name}": count for name, count in result.judged.problems.items()})
        found["responses without an answer"] += result.no_answer
        for one in result.statements:
            passages = range(1, result.passages + 1)
            if one.statement.citations and one.edits is not None:
                found.update(
                    f"edits: {problem}" for problem in edit_problems(one.statement.citations, one.edits, passages)
                )
            found["statements missing a value"] += one.values["auto"].state == "missing"
    return dict(sorted((+found).items()))


def _statement(
    answer: Response, statement: Statement, judged: Judged, options: CiteEvalOptions, coefficients: Coefficients
) -> StatementValues:
    context = context_of(judged.contexts.get(statement.number), options)
    edits, stars = judged.edits.get(statement.number), judged.stars.get(statement.number)
    rating = by_rating(statement.citations, context, stars, options)
    distance = by_edits(statement.citations, context, edits, options, len(answer.passages), coefficients)
    return StatementValues(
        statement,
        None if context is None else CONTEXTS[context],
        edits,
        stars,
        {"rating": rating, "edits": distance, "auto": both(rating, distance, options.weight)},
    )


Why = Literal["out of range", "zero", "unparsable", "of no statement"]
"""The last: it stands where no statement is, before all of them or in a response that says that it found no answer."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A mark that cites nothing: the response's id, the mark's offset in it, and why."""

    answer: str
    start: int
    why: Why


def unread_marks(results: Sequence[ResponseValues]) -> list[Unread]:
    """Every such mark, in the order of the responses and of their texts."""
    found = []
    for result in results:
        # A number that a passage has, and that a statement does not cite, is above the highest that the options read.
        within = [
            (mark, _problem(mark, result) or "out of range")
            for one in result.statements
            for mark in one.statement.unread
        ]
        outside = [(mark, _problem(mark, result) or "of no statement") for mark in result.unread]
        own = sorted([*within, *outside], key=lambda one: one[0].start)
        found += [Unread(result.answer, mark.start, why) for mark, why in own]
    return found


def _problem(mark: Mark, result: ResponseValues) -> Why | None:
    return find_place(mark.number, result.passages)[1]
