"""Compute CiteEval's values of statements and responses in both scenarios, and their means over responses.

The questions of baselines that the same chat model judges are asked in the same call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from metaeval.citation.chat_models import chat_request
from metaeval.citation.citation_table import find_place
from metaeval.citation.citeeval.baselines import (
    KINDS,
    AttrStatement,
    Baseline,
    Inquiry,
    LqacStatement,
    Open,
    attrscore_by_model,
    attrscore_inquiries,
    lqac,
    lqac_inquiries,
    modes_of,
)
from metaeval.citation.citeeval.citation_edits import PUBLISHED, Coefficients, Edit, edit_problems
from metaeval.citation.citeeval.judge import (
    Asking,
    JudgeMode,
    JudgeQuestion,
    ResponseJudgement,
    judge_responses,
    questions_of,
)
from metaeval.citation.citeeval.options_and_values import (
    CONTEXTS,
    PAPER,
    BaselineOptions,
    CitedScenario,
    CiteEvalOptions,
    ResponseValue,
    StatementValue,
    both,
    by_edits,
    by_rating,
    context_of,
    mean_bounds,
    response_value,
)
from metaeval.citation.citeeval.splitting import ResponseStatement, Split
from metaeval.citation.data_model import Answer as Response
from metaeval.citation.data_model import Mark
from metaeval.citation.measures import estimate, group_codes, means
from metaeval.llm.messages import Answer, Ask
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import DEFAULT, Resampling

CiteEvalMeasure = Literal["rating", "edits", "auto"]
"""IterCoE, EditDist and their mean, CiteEval-Auto."""

MEASURES: tuple[CiteEvalMeasure, ...] = ("rating", "edits", "auto")


def measures_of(mode: JudgeMode) -> tuple[CiteEvalMeasure, ...]:
    """Return the measures that a judge's mode gives: all for "edits", the rating alone for any other mode."""
    return MEASURES if mode == "edits" else ("rating",)


SCENARIOS: tuple[CitedScenario, ...] = ("full", "cited")

Cell = bool | int | float | str | None

_COLUMNS: Mapping[str, CiteEvalMeasure] = {"auto": "auto", "rating": "rating", "edit_distance": "edits"}
"""The measures, by their column in tables."""


@dataclass(frozen=True, slots=True)
class StatementValues:
    """A statement, the judge's verdicts on it, and its values.

    context: name of the context used for the values, as judged or filled in by the options; None: missing. edits,
    stars: None where the judge gave none. values: by measure.
    """

    statement: ResponseStatement
    context: str | None
    edits: tuple[Edit, ...] | None
    stars: int | None
    values: Mapping[CiteEvalMeasure, StatementValue]

    @property
    def main(self) -> CiteEvalMeasure:
        """The main measure: CiteEval-Auto, or the rating where there are no edits."""
        return "auto" if "auto" in self.values else "rating"

    @property
    def row(self) -> dict[str, Cell]:
        """The statement, the verdicts on it and its values as cells of a table, by column."""
        statement, main = self.statement, self.values[self.main]
        return {
            "statement": statement.number,
            "start": statement.start,
            "end": statement.end,
            "text": statement.text,
            "citations": " ".join(map(str, statement.citations)),
            "marks_unread": len(statement.unread),
            "context": self.context,
            "edits": None if self.edits is None else " ".join(f"{edit.name}:{edit.citation}" for edit in self.edits),
            "stars": self.stars,
            **{column: self.values[key].value for column, key in _COLUMNS.items() if key in self.values},
            "state": main.state,
            f"{self.main}_least": main.least,
            f"{self.main}_most": main.most,
        }


@dataclass(frozen=True, slots=True)
class ResponseValues:
    """A response: its statements, its values by measure and scenario, and the judge's verdicts.

    answer: id of the response. passages: number of its passages. unread: marks that belong to no statement.
    """

    answer: str
    statements: tuple[StatementValues, ...]
    values: Mapping[tuple[CiteEvalMeasure, CitedScenario], ResponseValue]
    judged: ResponseJudgement
    no_answer: bool
    passages: int
    unread: tuple[Mark, ...] = ()

    def row(self, scenario: CitedScenario) -> dict[str, Cell]:
        """Return the values in a scenario, and counts and outcomes, as cells of a table, by column."""
        measures, judged = measures_of(self.judged.mode), self.judged
        main = self.values[measures[-1], scenario]
        return {
            **{column: self.values[key, scenario].value for column, key in _COLUMNS.items() if key in measures},
            f"{measures[-1]}_least": main.least,
            f"{measures[-1]}_most": main.most,
            "statements": len(self.statements),
            "statements_rated": main.rated,
            "statements_missing": main.missing,
            "no_answer": self.no_answer,
            "attribution": judged.attribution,
            "editing": judged.editing,
            "problems": "; ".join(f"{name} {times}" for name, times in sorted(judged.problems.items())),
        }


@dataclass(frozen=True)
class CiteEvalResults:
    """Values of each response by CiteEval, and of each statement by response by each baseline (None: not requested).

    replies: of each response, the reply or failure of all requests about it, in the order of the requests.
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
) -> list[JudgeQuestion | Inquiry]:
    """Return the questions to CiteEval's judge, and then those of the baselines.

    splits: the statements of each response. options: of the baselines (None: the defaults). Raises ValueError if the
    lengths differ.
    """
    return [
        *questions_of(responses, splits, asking),
        *inquiries_of(responses, splits, asking, baselines, options),
    ]


def ask_baselines(
    responses: Sequence[Response],
    splits: Sequence[Split],
    ask: Ask,
    asking: Asking,
    baselines: Collection[Baseline],
    options: BaselineOptions,
) -> dict[str, list[list[Mapping[str, Open]]]]:
    """Ask the questions of the baselines alone, and return by baseline, for each response, its statements' values.

    A statement's values are "precision", "recall" and "f1" of LQAC, "strict" and "relaxed" of AttrScore.
    """
    inquiries = inquiries_of(responses, splits, asking, baselines, options)
    answers = [*zip(inquiries, ask([inquiry.request for inquiry in inquiries]), strict=True)]
    values: dict[str, list[list[Mapping[str, Open]]]] = {}
    if "lqac" in baselines:
        of_lqac = [pair for pair in answers if pair[0].kind in KINDS]
        values["lqac"] = [[statement.values for statement in row] for row in lqac(responses, splits, of_lqac)]
    if "attrscore" in baselines:
        judged = attrscore_by_model(splits, answers)
        values["attrscore"] = [[modes_of(statement.labels, options.otherwise) for statement in row] for row in judged]
    return values


def inquiries_of(
    responses: Sequence[Response],
    splits: Sequence[Split],
    asking: Asking,
    baselines: Collection[Baseline] = (),
    options: BaselineOptions | None = None,
) -> list[Inquiry]:
    """Return the questions of the baselines. options: None: the defaults. Raises ValueError if the lengths differ."""
    make = partial(chat_request, asking, max_tokens=(options or BaselineOptions()).baseline_max_tokens)
    return [
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
) -> CiteEvalResults:
    """Ask all questions in one call of `ask`, and return CiteEval's and the baselines' values of the responses.

    splits: the statements of each response. asking: options of the judge's requests. If `ask` is that of a
    `ChatSession`, an interrupted run continues where it stopped, and asks again only the requests that failed.
    """
    all_questions = questions(responses, splits, asking, baselines, baseline_options)
    replies: list[list[Answer]] = [[] for _ in splits]
    of_judge: list[tuple[JudgeQuestion, Answer]] = []
    inquiries: list[tuple[Inquiry, Answer]] = []
    for question, answer in zip(all_questions, ask([question.request for question in all_questions]), strict=True):
        replies[question.response].append(answer)
        if isinstance(question, Inquiry):
            inquiries.append((question, answer))
        else:
            of_judge.append((question, answer))
    judged = judge_responses(splits, of_judge, asking, options)
    return CiteEvalResults(
        results=[values_of(*parts, options, coefficients) for parts in zip(responses, splits, judged, strict=True)],
        lqac=lqac(responses, splits, inquiries) if "lqac" in baselines else None,
        attrscore=attrscore_by_model(splits, inquiries) if "attrscore" in baselines else None,
        replies=replies,
    )


def values_of(
    answer: Response,
    split: Split,
    judged: ResponseJudgement,
    options: CiteEvalOptions = PAPER,
    coefficients: Coefficients = PUBLISHED,
) -> ResponseValues:
    """Return the values of one response from the judge's verdicts."""
    statements = tuple(_statement(answer, statement, judged, options, coefficients) for statement in split.statements)
    cited = [bool(statement.citations) for statement in split.statements]
    values = {
        (measure, scenario): response_value([row.values[measure] for row in statements], cited, scenario, options)
        for measure in measures_of(judged.mode)
        for scenario in SCENARIOS
    }
    return ResponseValues(answer.id, statements, values, judged, split.no_answer, len(answer.passages), split.unread)


def estimates(
    answers: Sequence[Response],
    results: Sequence[ResponseValues],
    scenario: CitedScenario = "full",
    resampling: Resampling = DEFAULT,
) -> dict[CiteEvalMeasure, Estimate]:
    """Return the mean of each measure over the responses that have a value, with its cluster interval, by measure."""
    measures = measures_of(results[0].judged.mode if results else "edits")
    values = {key: [result.values[key, scenario].value for result in results] for key in measures}
    return {key: estimate(means(column), *group_codes(answers), resampling) for key, column in values.items()}


def bounds(
    results: Sequence[ResponseValues], measure: CiteEvalMeasure, scenario: CitedScenario = "full"
) -> tuple[float | None, float | None]:
    """Return (lowest, highest) possible mean of a measure over responses; None: undefined.

    The mean of the known values can lie outside: it is over fewer responses, or over fewer of their statements.
    """
    values = [result.values[measure, scenario] for result in results]
    return mean_bounds([(value.least, value.most) for value in values if value.least is not None])


def counts(results: Sequence[ResponseValues]) -> dict[str, int]:
    """Return, by name, the number of questions by outcome ("questions: ..."), of problems in replies ("problems: ...")
    and of invalid edits ("edits: ...", see `edit_problems`), of responses without an answer, and of statements missing
    a value. Counts of 0 are left out. `unread_marks` lists the marks that cite nothing.
    """
    totals: Counter[str] = Counter()
    for result in results:
        totals.update({f"questions: {state}": count for state, count in result.judged.states.items()})
        totals.update({f"problems: {name}": count for name, count in result.judged.problems.items()})
        totals["responses without an answer"] += result.no_answer
        for row in result.statements:
            if row.statement.citations and row.edits is not None:
                problems = edit_problems(row.statement.citations, row.edits, range(1, result.passages + 1))
                totals.update(f"edits: {problem}" for problem in problems)
            totals["statements missing a value"] += row.values[row.main].state == "missing"
    return dict(sorted((+totals).items()))


def _statement(
    answer: Response,
    statement: ResponseStatement,
    judged: ResponseJudgement,
    options: CiteEvalOptions,
    coefficients: Coefficients,
) -> StatementValues:
    context = context_of(judged.contexts.get(statement.number), options)
    edits, stars = judged.edits.get(statement.number), judged.stars.get(statement.number)
    rating = by_rating(statement.citations, context, stars, options)
    values: dict[CiteEvalMeasure, StatementValue] = {"rating": rating}
    if judged.mode == "edits":
        distance = by_edits(statement.citations, context, edits, options, len(answer.passages), coefficients)
        values |= {"edits": distance, "auto": both(rating, distance)}
    return StatementValues(statement, None if context is None else CONTEXTS[context], edits, stars, values)


Why = Literal["out of range", "zero", "unparsable", "of no statement"]
"""Why a mark cites nothing. of no statement: see `Split.unread`."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A citation mark that is not counted: the response's id, the mark's offset, and the reason."""

    answer: str
    start: int
    why: Why


def unread_marks(results: Sequence[ResponseValues]) -> list[Unread]:
    """Return the marks that cite nothing, in the order of the responses and of their texts."""
    unread = []
    for result in results:
        # An unread mark of a statement with a passage's number is above the highest number that the options read.
        within = [mark for row in result.statements for mark in row.statement.unread]
        for mark in sorted([*within, *result.unread], key=lambda mark: mark.start):
            problem = find_place(mark.number, result.passages)[1]
            why: Why = problem or ("out of range" if mark in within else "of no statement")
            unread.append(Unread(result.answer, mark.start, why))
    return unread
