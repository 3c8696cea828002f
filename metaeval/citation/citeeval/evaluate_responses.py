"""Compute CiteEval's values of statements and responses in both scenarios, and their means over responses.

The questions of baselines that the same chat model judges are asked in the same call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.chat_models import chat_request
from metaeval.citation.citation_table import find_place
from metaeval.citation.citeeval.baselines import (
    LABEL,
    Baseline,
    Heard,
    Inquiry,
    JudgedStatements,
    StatementRow,
    attrscore,
    attrscore_inquiries,
    labels_by_model,
    lqac,
    lqac_inquiries,
)
from metaeval.citation.citeeval.citation_edits import PUBLISHED, Coefficients, edit_problems
from metaeval.citation.citeeval.judge import (
    Asking,
    JudgeQuestion,
    ResponseJudgement,
    judge_responses,
    questions_of,
)
from metaeval.citation.citeeval.judge_replies import JudgeMode
from metaeval.citation.citeeval.options_and_values import (
    CONTEXTS,
    PAPER,
    CitedScenario,
    CiteEvalOptions,
    Units,
    by_edits,
    by_rating,
    context_of,
    highest,
    lowest,
    moments_of_ends,
    response_values,
)
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.data_model import NO_TEXT
from metaeval.citation.data_model import Answer as Response
from metaeval.citation.measures import Statistic, means
from metaeval.llm.messages import Answer, Ask
from metaeval.stats.arrays import Bools, Ints

# IterCoE, EditDist and their mean, CiteEval-Auto.
CiteEvalMeasure = Literal["rating", "edits", "auto"]

MEASURES: tuple[CiteEvalMeasure, ...] = ("rating", "edits", "auto")

_COLUMNS: Mapping[str, CiteEvalMeasure] = {"auto": "auto", "rating": "rating", "edit_distance": "edits"}

BASELINE_TOKENS = 1024  # most tokens in a reply to a baseline's question, reasoning included


@dataclass(frozen=True, eq=False)
class Rated:
    """Responses, their statements, the judge's verdicts on them, and the values that follow.

    values: of all statements, in order, by measure; a judge without edits gives the rating alone. replies: of each
    response, the reply or failure of all requests about it. baselines: what the chat model says as their judge.
    questions: numbers of the baselines' requests by response and "BASELINE questions: OUTCOME".
    """

    responses: Sequence[Response]
    splits: Sequence[Split]
    judged: Sequence[ResponseJudgement]
    values: Mapping[CiteEvalMeasure, Units]
    options: CiteEvalOptions
    replies: Sequence[Sequence[Answer]] = ()
    baselines: Mapping[Baseline, JudgedStatements] = field(default_factory=dict)
    questions: Counter[tuple[int, str]] = field(default_factory=Counter)

    @property
    def main(self) -> CiteEvalMeasure:
        """The main measure: CiteEval-Auto, or the rating where there are no edits."""
        return [*self.values][-1]

    @cached_property
    def response(self) -> Ints:
        """The index of each statement's response."""
        return np.repeat(np.arange(len(self.splits)), [len(split.statements) for split in self.splits])

    @cached_property
    def cited(self) -> Bools:
        """Whether each statement has citations."""
        return np.array([bool(each.citations) for split in self.splits for each in split.statements], dtype=np.bool_)

    def lacking(self, missing: Bools, reason: str) -> list[tuple[str, str, str, str]]:
        """Return (id of the response, place, text, reason) of the statements that are marked as `missing`."""
        statements = [each for split in self.splits for each in split.statements]
        lacking = []
        for n in np.flatnonzero(missing):
            name, each = self.responses[self.response[n]].id, statements[n]
            lacking.append((name, f"statement {each.number}", each.text, NO_TEXT if each.no_text else reason))
        return lacking

    def whole(self, measure: CiteEvalMeasure, scenario: CitedScenario = "full") -> tuple[Units, Ints, Ints]:
        """Return the values of the responses; see `response_values`."""
        values, n = self.values[measure], len(self.splits)
        return response_values(values, self.cited, self.response, n, scenario, self.options)

    def statistic(
        self, measure: CiteEvalMeasure, scenario: CitedScenario = "full", missing: Literal[0, 1] | None = None
    ) -> Statistic:
        """Return the mean over responses: of the known values, or (missing: 0, 1) the lowest or the highest possible.

        The mean of the known values can lie outside: it is over fewer responses, or over fewer of their statements.
        """
        units, *_ = self.whole(measure, scenario)
        if missing is None:
            return means([None if np.isnan(value) else value for value in units.value.tolist()])
        moments = moments_of_ends(units)
        return Statistic(moments, (lowest, highest)[missing], moments[:, 2])

    def statement_rows(self) -> list[StatementRow]:
        """Return each statement, the verdicts on it and its values as a row of a table."""
        rows: list[StatementRow] = []
        columns = {name: cells(self.values[key].value) for name, key in _COLUMNS.items() if key in self.values}
        main = self.values[self.main]
        columns |= {f"{self.main}_least": cells(main.worst), f"{self.main}_most": cells(main.best)}
        for response, split, judged in zip(self.responses, self.splits, self.judged, strict=True):
            for statement in split.statements:
                context = context_of(judged.contexts.get(statement.number), self.options)
                edits, place = judged.edits.get(statement.number), len(rows)
                is_rated = statement.citations or self.options.uncited == "rated"
                state = "missing" if main.missing[place] else "rated" if is_rated else "lacks a citation"
                unrated = "left out" if self.options.uncited == "left out" else "needs none"
                row: dict[str, str | int | float | None] = {
                    "answer": response.id,
                    "system": response.system,
                    "statement": statement.number,
                    "start": statement.start,
                    "end": statement.end,
                    "text": statement.text,
                    "citations": " ".join(map(str, statement.citations)),
                    "marks_unread": len(statement.unread),
                    "context": None if context is None else CONTEXTS[context],
                    "edits": None if edits is None else " ".join(f"{edit.name}:{edit.citation}" for edit in edits),
                    "stars": judged.stars.get(statement.number),
                    "state": unrated if np.isnan(main.worst[place]) else state,
                }
                rows.append(row | {name: column[place] for name, column in columns.items()})
        return rows

    def response_rows(self, scenario: CitedScenario) -> list[StatementRow]:
        """Return each response's values in a scenario, and counts and outcomes, as a row of a table."""
        whole = {key: self.whole(key, scenario) for key in self.values}
        columns = {name: cells(whole[key][0].value) for name, key in _COLUMNS.items() if key in whole}
        main, known, missing = whole[self.main]
        columns |= {f"{self.main}_least": cells(main.worst), f"{self.main}_most": cells(main.best)}
        columns |= {"statements_rated": known.tolist(), "statements_missing": missing.tolist()}
        return [
            {name: column[number] for name, column in columns.items()}
            | {
                "statements": len(split.statements),
                "no_answer": split.no_answer,
                "attribution": judged.attribution,
                "editing": judged.editing,
                "problems": "; ".join(f"{name} {times}" for name, times in sorted(judged.problems.items())),
            }
            for number, (split, judged) in enumerate(zip(self.splits, self.judged, strict=True))
        ]

    def counts(self, numbers: Sequence[int]) -> dict[str, int]:
        """Return counts of the responses with these indices, by name.

        They are of questions by outcome, of problems in replies, of invalid edits (see `edit_problems`), of responses
        without an answer, of statements missing a value, and of marks that cite nothing. Counts of 0 are left out.
        """
        totals, chosen = Counter[str](), {*numbers}
        for number in numbers:
            split, judged = self.splits[number], self.judged[number]
            totals.update({f"questions: {state}": count for state, count in judged.states.items()})
            for name, count in judged.problems.items():
                totals[name if name.startswith("repaired") else f"problems: {name}"] += count
            totals["responses without an answer"] += split.no_answer
            passages = self.responses[number].with_text
            for statement in split.statements:
                totals[f"statements citing {NO_TEXT}"] += statement.no_text
                unrated = statement.citations and not statement.no_text and statement.number not in judged.stars
                totals["statements given full marks unrated"] += bool(
                    unrated and self.options.missing_rating != "missing"
                )
                edits = judged.edits.get(statement.number, ()) if statement.citations else ()
                totals.update(f"edits: {problem}" for problem in edit_problems(statement.citations, edits, passages))
        lacking = self.response[self.values[self.main].missing]
        totals["statements missing a value"] = int(np.isin(lacking, numbers).sum())
        for (number, name), times in self.questions.items():
            totals[name] += times * (number in chosen)
        totals.update(f"marks: {why}" for _, _, why in self.unread_marks(numbers))
        return dict(sorted((+totals).items()))

    def unread_marks(self, numbers: Sequence[int]) -> list[tuple[str, int, str]]:
        """Return (id of the response, the mark's offset, why) of each mark that cites nothing, in order."""
        unread = []
        for number in numbers:
            response, split = self.responses[number], self.splits[number]
            # An unread mark of a statement with a passage's number is above the highest number that the options read.
            within = {mark: "out of range" for statement in split.statements for mark in statement.unread}
            for mark in sorted([*within, *split.unread], key=lambda mark: mark.start):
                problem = find_place(mark.number, len(response.passages))[1]
                unread.append((response.id, mark.start, problem or within.get(mark, "of no statement")))
        return unread


def cells(values: NDArray[Any]) -> list[Any]:
    """Return values as cells of a table: None in place of NaN."""
    return [None if np.isnan(value) else value for value in values.tolist()]


def inquiries_of(
    responses: Sequence[Response], splits: Sequence[Split], asking: Asking, baselines: Collection[Baseline]
) -> list[Inquiry]:
    """Return the questions of the baselines. Raises ValueError if the lengths differ."""
    make = partial(chat_request, asking, max_tokens=BASELINE_TOKENS, repairs=asking.reading == "repaired")
    return [
        *(lqac_inquiries(responses, splits, make) if "lqac" in baselines else ()),
        *(attrscore_inquiries(responses, splits, make) if "attrscore" in baselines else ()),
    ]


def judged_baselines(
    responses: Sequence[Response],
    splits: Sequence[Split],
    heard: Heard,
    asking: Asking,
    options: CiteEvalOptions,
    baselines: Collection[Baseline],
) -> dict[Baseline, JudgedStatements]:
    """Return what the chat model says as the judge of baselines. heard: their questions with the replies."""
    judged: dict[Baseline, JudgedStatements] = {}
    if "lqac" in baselines:
        judged["lqac"] = lqac(responses, splits, [pair for pair in heard if pair[0].kind != LABEL])
    if "attrscore" in baselines:
        labels = labels_by_model([pair for pair in heard if pair[0].kind == LABEL])
        judged["attrscore"] = attrscore(responses, splits, labels, options, asking.model)
    return judged


def evaluate(
    responses: Sequence[Response],
    splits: Sequence[Split],
    ask: Ask,
    asking: Asking,
    options: CiteEvalOptions = PAPER,
    baselines: Collection[Baseline] = (),
    coefficients: Coefficients = PUBLISHED,
) -> Rated:
    """Ask all questions in one call of `ask`, and return CiteEval's and the baselines' values of the responses.

    splits: the statements of each response. asking: options of the judge's requests. If `ask` is that of a
    `ChatSession`, an interrupted run continues where it stopped, and asks again only the requests that failed.
    """
    options = replace(options, uncited=asking.uncited)
    questions = list(questions_of(responses, splits, asking))
    inquiries = inquiries_of(responses, splits, asking, baselines)
    both: list[JudgeQuestion | Inquiry] = [*questions, *inquiries]
    answers = ask([question.request for question in both])
    replies: list[list[Answer]] = [[] for _ in splits]
    for question, answer in zip(both, answers, strict=True):
        replies[question.response].append(answer)
    heard = list(zip(inquiries, answers[len(questions) :], strict=True))
    judged = judge_responses(splits, list(zip(questions, answers, strict=False)), asking, options)
    return Rated(
        responses,
        splits,
        judged,
        values_of(responses, splits, judged, asking.mode, options, coefficients),
        options,
        replies,
        judged_baselines(responses, splits, heard, asking, options, baselines),
        Counter(
            (each.response, f"{each.kind.name.partition('_')[0]} questions: {each.read(answer)[1]}")
            for each, answer in heard
        ),
    )


def values_of(
    responses: Sequence[Response],
    splits: Sequence[Split],
    judged: Sequence[ResponseJudgement],
    mode: JudgeMode = "edits",
    options: CiteEvalOptions = PAPER,
    coefficients: Coefficients = PUBLISHED,
) -> dict[CiteEvalMeasure, Units]:
    """Return the values of all statements by measure, from the judge's verdicts on each response."""
    ratings, distances = [], []
    for response, split, verdicts in zip(responses, splits, judged, strict=True):
        for statement in split.statements:
            cited, context = statement.citations, verdicts.contexts.get(statement.number)
            edits, stars = verdicts.edits.get(statement.number), verdicts.stars.get(statement.number)
            rules = PAPER if statement.no_text else options
            ratings.append(by_rating(cited, context, stars, rules))
            distances.append(by_edits(cited, context, edits, rules, response.with_text, coefficients))
    rating, edit = (Units(*np.array(rows, dtype=np.float64).reshape(-1, 3).T) for rows in (ratings, distances))
    if mode != "edits":
        return {"rating": rating}
    # CiteEval-Auto: missing if either is. A statement without citations has the same value by both.
    auto = Units(*(0.5 * a + 0.5 * b for a, b in zip(rating, edit, strict=True)))
    return {"rating": rating, "edits": edit, "auto": auto}
