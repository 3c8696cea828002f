"""Human ratings of the statements of answers, and measures' values joined with them.

UnitValues and ratings are data frames. A unit (a statement, a sentence, an answer) has a `value`, the `worst` and the
`best` that it can be, and the `reason` why a verdict is missing. Without a value and a reason, the measure does not
score it; with both, the value leaves out parts that lack a verdict; without worst and best, its range is not known.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from metaeval.citation.data_model import Answer, group_of
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.core.errors import UserError
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.scoring.contract import Status

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# What a statement without a value takes, on either side: nothing; its response's value; or this, and a response without
# any has 1, as CiteEval publishes (people's is 0 where the scenario "cited" masks all of its ratings).
Gaps = Literal["left out", "response", "full marks"]

# Number of annotators in CiteBench.
ANNOTATORS = 3


@dataclass(frozen=True, slots=True)
class HumanStatement:
    """The annotators' judgements of one statement of CiteBench.

    citations: numbers of the cited passages, from 1. contexts (keys of `score_rules.CONTEXTS`), ratings (in [0, 1]) and
    edits (unchecked, as in the file): one entry for each annotator, None where the annotator gave none; `edits` is
    empty where the file has none for the statement.
    """

    id: str
    citations: tuple[int, ...]
    contexts: tuple[int | None, ...]
    ratings: tuple[float | None, ...]
    edits: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RatedStatement:
    """A statement of an answer that annotators rated. start, end: offsets in the answer. text: without its marks.

    ratings: in [0, 1], one for each annotator, in the same order in every statement; None where an annotator gave none.
    Empty where nobody was asked, or where the scenario "cited" masks the ratings.
    """

    start: int
    end: int
    text: str
    ratings: tuple[float | None, ...]

    @property
    def rating(self) -> float | None:
        """The mean of the known ratings; None where half of the annotators or more gave none (see `rating_of`)."""
        return rating_of(self.ratings)

    def shared(self, start: int, end: int) -> int:
        """Return how many characters of the text from `start` to `end` the statement holds; below 1 for none."""
        return min(end, self.end) - max(start, self.start)


@dataclass(frozen=True)
class HumanAnswer:
    """An answer with its statements, which do not overlap and are in the order of the text.

    emptied: whether the scenario "cited" masked all ratings of an answer that had some.
    """

    answer: Answer
    statements: tuple[RatedStatement, ...]
    emptied: bool = False

    @property
    def ratings(self) -> list[float | None]:
        """One rating for each statement."""
        return [statement.rating for statement in self.statements]

    def response(self, gaps: Gaps = "left out") -> float | None:
        """Return the mean over the rated statements; without any, None or 1 (0 if `emptied`), as `gaps` says."""
        known = [rating for rating in self.ratings if rating is not None]
        return sum(known) / len(known) if known else float(not self.emptied) if gaps == "full marks" else None


@dataclass(frozen=True)
class HumanSet:
    """Rated answers. dropped: counts of what the file reader left out or the scenario "cited" masked, by reason.

    people: CiteBench's judgements, by answer id; empty for other data.
    """

    answers: tuple[HumanAnswer, ...]
    dropped: Counter[str] = field(default_factory=Counter)
    people: Mapping[str, Sequence[HumanStatement]] = field(default_factory=dict)

    @property
    def annotators(self) -> int:
        """The largest number of annotators of a statement."""
        return max((len(statement.ratings) for answer in self.answers for statement in answer.statements), default=0)

    @property
    def frame(self) -> DataFrame:
        """The statements, one a row: answer, number (from 1), start, end, text, rating (NaN: none)."""
        from pandas import DataFrame

        rows = [
            (rated.answer.id, number, each.start, each.end, each.text, each.rating)
            for rated in self.answers
            for number, each in enumerate(rated.statements, start=1)
        ]
        frame = DataFrame(rows, columns=["answer", "number", "start", "end", "text", "rating"])
        return frame.astype({"rating": "float64"})


def cited_alone(human: HumanSet) -> HumanSet:
    """Return the set in CiteEval's scenario "cited": statements without a readable mark lose their ratings.

    `dropped` counts the statements that had a rating. CiteBench's judgements stay: its own procedure masks them.
    """
    dropped, answers = Counter(human.dropped), []
    for rated in human.answers:
        text, first = rated.answer.text, rated.answer.first
        kept = []
        for statement in rated.statements:
            marks = find_marks(text[statement.start : statement.end], first=first)
            cited = any(mark.number is not None for mark in marks)
            dropped["ratings that the scenario cited masks"] += not cited and statement.rating is not None
            kept.append(statement if cited else replace(statement, ratings=()))
        has_rating = any(rating is not None for rating in rated.ratings)
        emptied = has_rating and all(statement.rating is None for statement in kept)
        answers.append(HumanAnswer(rated.answer, tuple(kept), emptied))
    return HumanSet(tuple(answers), +dropped, human.people)


def rating_of(ratings: Sequence[float | None]) -> float | None:
    """Return the mean of the known ratings; None where half of the annotators or more gave none.

    Of three annotators two have to rate, as CiteEval publishes; a single annotator decides alone.
    """
    known = [rating for rating in ratings if rating is not None]
    return sum(known) / len(known) if 2 * len(known) > len(ratings) else None


class UnitValues(NamedTuple):
    """A measure's values of sentences (columns answer, start, end, value, reason) and of answers.

    answers: columns value, worst, best, reason; the index is the answers' ids. An answer without a row has no value.
    """

    sentences: DataFrame
    answers: DataFrame


SENTENCES = ("answer", "start", "end", "value", "reason")
ANSWERS = ("answer", "value", "worst", "best", "reason")


def units(rows: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> DataFrame:
    """Return rows of units as a frame of these columns; None is NaN in columns of numbers."""
    from pandas import DataFrame

    frame = DataFrame(list(rows), columns=list(columns))
    numbers = frame.columns.intersection(["value", "worst", "best"])
    return frame.astype(dict.fromkeys(numbers, "float64") | {"reason": "object"})


def means(frame: DataFrame, by: Sequence[str], in_part: bool = False) -> DataFrame:
    """Return value and reason of each group of units: the mean of the known values, and the first reason.

    by: the columns that name the group. A group that lacks a verdict has no value, unless values `in_part` are wanted.
    """
    pooled = frame.groupby(list(by), sort=False)[["value", "reason"]].agg({"value": "mean", "reason": "first"})
    return pooled if in_part else pooled.assign(value=pooled["value"].where(pooled["reason"].isna()))


def align(statements: DataFrame, spans: DataFrame) -> tuple[DataFrame, int]:
    """Return value and reason of each statement from those of spans, and the number of spans outside all statements.

    statements, spans: with columns answer, start, end. A span belongs to the statement that holds most of its
    characters, the first of equals. A statement's value is that of `means` over its spans.
    """
    spans, places = spans.reset_index(drop=True), statements[["answer", "start", "end"]]
    pairs = spans.rename_axis("span").reset_index()
    pairs = pairs.merge(places.rename_axis("statement").reset_index(), on="answer", suffixes=("", "_of"))
    shared = pairs[["end", "end_of"]].min(axis=1) - pairs[["start", "start_of"]].max(axis=1)
    held = pairs.assign(shared=shared)[shared > 0].sort_values("shared", ascending=False, kind="stable")
    held = held.drop_duplicates("span").sort_values("span")
    return means(held, ["statement"]).reindex(statements.index), len(spans) - len(held)


# Prefix of the names of measures that are scores from a file; these scores are not rounded.
FROM_FILE = "scores:"

# Decimals of ratings and pipelines' values. They are means of few numbers, and equal means that were summed in another
# order differ in the sixteenth decimal: without rounding, one would rank above the other.
DIGITS = 12

RatedUnit = Literal["statements", "responses"]


@dataclass(frozen=True, eq=False)
class Level:
    """The rated rows of one level. values: by measure, a frame with columns value, worst, best, reason of the rows."""

    unit: RatedUnit
    ratings: Ratings
    values: Mapping[str, DataFrame]

    @property
    def systems(self) -> list[str]:
        """The systems of the rows, sorted; empty where a row names none."""
        names = {row.system for row in self.ratings.rows}
        return sorted(names) if all(names) else []

    def mean_ends(self, measure: str) -> tuple[float, float, float]:
        """Return (mean, low, high): a measure's mean over the rows with a value, and the bounds of that over all rows.

        Missing verdicts decide between low and high, which are NaN for statements and where the bounds of a row are
        not known. Rows that the pipeline does not score are left out.
        """
        rows, is_open = self.values[measure], self.values[measure]["reason"].notna()
        known = self.unit == "responses" and rows.loc[is_open, ["worst", "best"]].notna().all(axis=None)
        ends = [rows[end].where(is_open, rows["value"]).mean() if known else np.nan for end in ("worst", "best")]
        return (float(rows["value"].mean()), *map(float, ends))  # type: ignore[return-value]

    def statuses(self, measure: str) -> list[Status]:
        """Return why each row has no score: nothing to score, the reason of its missing verdict, or absent."""
        rows = self.values[measure]
        reasons = rows["reason"].fillna(Status.NOTHING_TO_SCORE).where(rows["value"].isna(), Status.OK)
        return [Status(reason) if reason in {*Status} else Status.ABSENT for reason in reasons]

    def lines(self) -> str:
        """Return ratings and scores as the text of a JSONL file, in the format of `metaeval.corpus.loaders.ratings`."""
        lines = []
        for number, row in enumerate(self.ratings.rows):
            fields: dict[str, object] = {"id": row.id, "group": row.group, "gold": row.gold}
            fields |= {name: value for name, value in (("system", row.system), ("text", row.text)) if value}
            fields["scores"] = {name: known(rows["value"][number]) for name, rows in self.values.items()}
            lines.append(json.dumps(fields, allow_nan=False) + "\n")
        return "".join(lines)


# What `align` returns of each measure that scores sentences.
Aligned = Mapping[str, "tuple[DataFrame, int]"]


def rated_levels(
    name: str, human: HumanSet, measures: Mapping[str, UnitValues], gaps: Gaps
) -> tuple[Aligned, list[Level], list[tuple[str, str]]]:
    """Return aligned values, the usable levels (statements first), and (level, reason) for each level left out.

    name: of the data. A level needs ratings and, if there are measures, values. Raises `UserError` if none is usable.
    """
    statements = human.frame
    aligned = {key: align(statements, each.sentences) for key, each in measures.items() if len(each.sentences)}
    levels: list[Level] = []
    left_out: list[tuple[str, str]] = []
    for unit in get_args(RatedUnit):
        try:
            if unit == "statements" and measures and not aligned:
                raise UserError("no measure has values of single sentences.")
            levels.append(rated_level(unit, name, human, measures, aligned, gaps))
        except UserError as error:
            left_out.append((unit, str(error)))
    if not levels:
        raise UserError(left_out[0][1])
    return aligned, levels, left_out


def rated_level(
    unit: RatedUnit, name: str, human: HumanSet, measures: Mapping[str, UnitValues], aligned: Aligned, gaps: Gaps
) -> Level:
    """Return a level, with a row for each statement or response that has a rating, or takes one (`gaps`)."""
    from pandas import Series

    by_id = {rated.answer.id: rated.answer for rated in human.answers}
    gold = Series({rated.answer.id: rated.response(gaps) for rated in human.answers}, dtype="float64")
    columns = {key: each.answers.reindex(gold.index) for key, each in measures.items()}
    if gaps == "full marks":
        for each in columns.values():
            each.loc[~_scored(each), ["value", "worst", "best"]] = 1.0
    if unit == "responses":
        rows = gold.rename_axis("id").reset_index(name="rating")
        rows = rows.assign(answer=rows["id"], text=rows["id"].map({key: each.text for key, each in by_id.items()}))
        columns = {
            key: each.reset_index(drop=True)
            for key, each in columns.items()
            if key in aligned or _scored(measures[key].answers).any()
        }
    else:
        rows, wholes = human.frame, columns
        rows["id"] = rows["answer"] + "#" + rows["number"].astype(str)
        columns = {key: each for key, (each, _) in aligned.items()}
        if gaps != "left out":
            rows["rating"] = rows["rating"].fillna(rows["answer"].map(gold))
            taken = {key: wholes[key].reindex(rows["answer"]).set_axis(rows.index) for key in columns}
            columns = {key: each.where(_scored(each), taken[key][each.columns]) for key, each in columns.items()}
    kept = rows["rating"].notna()
    lacks = "statements without a rating" if unit == "statements" else "responses none of whose statements has a rating"
    dropped = Counter(human.dropped) + Counter({lacks: int((~kept).sum())})
    ratings = [
        Rating(row.id, group_of(by_id[row.answer]), round(row.rating, DIGITS), by_id[row.answer].system, text=row.text)
        for row in rows[kept].itertuples()
    ]
    values = {}
    for key, each in columns.items():
        values[key] = each[kept].reset_index().reindex(columns=ANSWERS[1:])
        if not key.startswith(FROM_FILE):
            values[key]["value"] = values[key]["value"].round(DIGITS)
    return Level(unit, Ratings(name, tuple(ratings), {}, dropped), values)


def known(value: float) -> float | None:
    """Return a number, None where it is missing (NaN)."""
    return None if np.isnan(value) else float(value)


def _scored(frame: DataFrame) -> Series[bool]:
    """Return which units the measure scores: those with a value, or whose verdict is missing."""
    return frame["value"].notna() | frame["reason"].notna()
