"""Human ratings of the statements of answers, and the values of measures aligned with the same statements."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.data_model import Answer, group_of
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.errors import UserError
from metaeval.scoring.contract import PairScore, Status

Nothing = Literal["left out", "full marks"]
"""Value of a response without a statement that has a value: none, or 1 as CiteEval publishes."""

ANNOTATORS = 3
"""Number of annotators in CiteBench."""


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

    def response(self, nothing_rated: Nothing) -> float | None:
        """Return the answer's rating by `response_rating`; with "full marks", 0 for an answer that is `emptied`."""
        return 0.0 if self.emptied and nothing_rated == "full marks" else response_rating(self.ratings, nothing_rated)


@dataclass(frozen=True)
class HumanSet:
    """Rated answers. dropped: counts of what the file reader left out or the scenario "cited" masked, by reason.

    people, splits: CiteBench's judgements and statements, by answer id; empty for other data.
    """

    answers: tuple[HumanAnswer, ...]
    dropped: Counter[str] = field(default_factory=Counter)
    people: Mapping[str, Sequence[HumanStatement]] = field(default_factory=dict)
    splits: Mapping[str, Split] = field(default_factory=dict)

    @property
    def annotators(self) -> int:
        """The largest number of annotators of a statement."""
        return max((len(statement.ratings) for answer in self.answers for statement in answer.statements), default=0)


@dataclass(frozen=True)
class MetaOptions:
    """Options for comparing the values of pipelines with human ratings, and for how pipelines read answers."""

    none: Literal["left out", "response"] = "left out"
    """Value of a statement to which one side gives none: left out, or its response's (CiteEval's rule); a missing
    verdict is always left out."""
    unrated: Nothing = "left out"
    """Value of a response none of whose statements has one: left out, or full marks (people's is 0 where the scenario
    of cited statements masks ratings and leaves none)."""
    tested: Literal["headline", "all"] = "headline"
    """Measures that are tested against each other: each pipeline's headline measure, or all."""
    profile: str = "paper"
    """Profile of the pipelines, as in 'cite alce' and 'cite aliice'."""
    parser: str = "small"
    """Parser of the sentences, as in 'cite aliice'."""
    splitter: Literal["auto", "nltk", "rules"] = "auto"
    """Sentence splitter."""
    premise: Literal["joint", "chunks"] = "joint"
    """How a group's passages are read: as one text (joint), or by their best chunk (chunks)."""

    @property
    def rules(self) -> dict[str, str]:
        """The values of the options none and unrated, by name, for signatures."""
        return {"none": self.none, "unrated": self.unrated}


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
    return HumanSet(tuple(answers), +dropped, human.people, human.splits)


def rating_of(ratings: Sequence[float | None]) -> float | None:
    """Return the mean of the known ratings; None where half of the annotators or more gave none.

    Of three annotators two have to rate, as CiteEval publishes; a single annotator decides alone.
    """
    known = [rating for rating in ratings if rating is not None]
    return _mean(known) if 2 * len(known) > len(ratings) else None


def response_rating(ratings: Sequence[float | None], nothing_rated: Nothing = "left out") -> float | None:
    """Return a response's rating: the mean over its rated statements; `nothing_rated` decides where none is rated."""
    mean = _mean([rating for rating in ratings if rating is not None])
    return 1.0 if mean is None and nothing_rated == "full marks" else mean


AnswerBounds = tuple[float, float]
"""The lowest and the highest possible value of an answer that lacks verdicts."""

ValueState = Literal["valued", "no value", "missing"]
"""valued; no value: the pipeline does not score such a span; missing: a verdict is missing."""


@dataclass(frozen=True, slots=True)
class Valued:
    """A value (in [0, 1]; from a score file, any number), or why there is none (`state`).

    reason: why a verdict is missing, as its judge reported. in_part: whether the value leaves out parts without a
    verdict. ends: an answer's bounds where a verdict is missing and they are known, else None.
    """

    value: float | None
    state: ValueState = "valued"
    reason: str = ""
    in_part: bool = False
    ends: AnswerBounds | None = None

    @property
    def is_open(self) -> bool:
        """Whether a verdict is missing."""
        return self.in_part or self.state == "missing"


NO_VALUE = Valued(None, "no value")


@dataclass(frozen=True, slots=True)
class SpanValue:
    """A pipeline's value of one span; start, end: offsets in the answer."""

    start: int
    end: int
    value: Valued


@dataclass(frozen=True)
class Aligned:
    """The values of an answer's statements, in order. outside: number of spans without an overlapping statement."""

    values: tuple[Valued, ...]
    outside: int


def align(statements: Sequence[RatedStatement], spans: Sequence[SpanValue]) -> Aligned:
    """Return the values of an answer's statements from the values of spans of its text.

    A span belongs to the statement that holds most of its characters (the first of equals); a span outside all
    statements is only counted. A statement's value is `mean_of` the values of its spans.
    """
    span_values: list[list[Valued]] = [[] for _ in statements]
    outside = 0
    for span in spans:
        shared = [min(span.end, statement.end) - max(span.start, statement.start) for statement in statements]
        most = max(shared, default=0)
        if most <= 0:
            outside += 1
        else:
            span_values[shared.index(most)].append(span.value)
    return Aligned(tuple(map(mean_of, span_values)), outside)


def mean_of(values: Sequence[Valued]) -> Valued:
    """Return the mean of the known values; the first missing one where any is missing; `NO_VALUE` if none is known."""
    lost = next((value for value in values if value.state == "missing"), None)
    if lost is not None:
        return lost
    mean = _mean([value.value for value in values if value.value is not None])
    return NO_VALUE if mean is None else Valued(mean)


def mean_in_part(values: Sequence[Valued]) -> Valued:
    """Return the mean of the known values, `in_part` if one is missing; without any, the missing one or `NO_VALUE`."""
    mean = _mean([value.value for value in values if value.value is not None])
    lost = next((value for value in values if value.state == "missing"), NO_VALUE)
    return lost if mean is None else Valued(mean, in_part=lost.state == "missing")


def filled(values: Sequence[Valued], response: Valued) -> list[Valued]:
    """Return the statements' values, with the response's value for those without one; missing values stay missing."""
    return [value if value.state != "no value" else response for value in values]


@dataclass(frozen=True, eq=False)
class AnswerValues:
    """One measure's values of some answers, by answer id.

    spans: the values of sentences; empty for a measure that does not score sentences. wholes: the values of whole
    answers; an answer without an entry has no value.
    """

    spans: Mapping[str, Sequence[SpanValue]]
    wholes: Mapping[str, Valued]


FROM_FILE = "scores:"
"""Prefix of the names of measures that are scores from a file; these scores are not rounded."""

_DIGITS = 12
"""Decimals of ratings and pipelines' values. They are means of few numbers, and equal means that were summed in another
order differ in the sixteenth decimal: without rounding, one would rank above the other."""

RatedUnit = Literal["statements", "responses"]
Alignment = Mapping[str, Mapping[str, Aligned]]
"""Aligned values by measure and answer id."""


@dataclass(frozen=True, eq=False)
class Level:
    """The rated rows of one level (statements or responses). values: one for each row, by measure."""

    unit: RatedUnit
    ratings: Ratings
    values: Mapping[str, Sequence[Valued]]

    @property
    def open(self) -> dict[str, dict[str, Valued]]:
        """The values that lack a verdict, by measure and response id; empty at the level of statements."""
        by_measure = {
            measure: {row.id: value for row, value in zip(self.ratings.rows, values, strict=True) if value.is_open}
            for measure, values in self.values.items()
        }
        return {measure: values for measure, values in by_measure.items() if values and self.unit == "responses"}

    @property
    def systems(self) -> list[str]:
        """The systems of the rows, sorted; empty where a row names none."""
        names = {row.system for row in self.ratings.rows}
        return sorted(names) if all(names) else []

    def mean_ends(self, measure: str) -> tuple[float | None, float | None, float | None]:
        """Return (mean, low, high): a measure's mean over the rows with a value, and the bounds of that over all rows.

        Missing verdicts decide between low and high, which are None for statements and where the bounds of a row are
        not known. Rows that the pipeline does not score are left out.
        """
        values = self.values[measure]
        mean = _mean([value.value for value in values if value.value is not None])
        settled = [value.value for value in values if value.value is not None and not value.is_open]
        ends = [value.ends for value in values if value.is_open]
        known = [pair for pair in ends if pair is not None]
        if self.unit == "statements" or len(known) < len(ends):
            return mean, None, None
        return mean, _mean([*settled, *(least for least, _ in known)]), _mean([*settled, *(most for _, most in known)])

    def lines(self) -> str:
        """Return ratings and scores as the text of a JSONL file, in the format of `metaeval.corpus.loaders.ratings`."""
        lines = []
        for row in self.ratings.rows:
            fields: dict[str, object] = {"id": row.id, "group": row.group, "gold": row.gold}
            fields |= {name: value for name, value in (("system", row.system), ("text", row.text)) if value}
            fields["scores"] = {metric: scores.get(row.id) for metric, scores in self.ratings.scores.items()}
            lines.append(json.dumps(fields, allow_nan=False) + "\n")
        return "".join(lines)


def score_of(value: Valued) -> PairScore:
    """Return a value as a row's score; None with a status: nothing to score, the value's reason, or absent."""
    if value.value is not None:
        return PairScore(value.value)
    if value.state == "no value":
        return PairScore(None, Status.NOTHING_TO_SCORE)
    known = value.reason in {str(status) for status in Status} and value.reason != Status.OK
    return PairScore(None, Status(value.reason) if known else Status.ABSENT)


def alignment(human: HumanSet, measures: Mapping[str, AnswerValues]) -> Alignment:
    """Return the values of each measure that scores sentences (others are left out), aligned with the statements."""
    return {
        name: {rated.answer.id: align(rated.statements, spans.get(rated.answer.id, ())) for rated in human.answers}
        for name, spans in ((name, measure.spans) for name, measure in measures.items())
        if spans
    }


def rated_levels(
    name: str, human: HumanSet, measures: Mapping[str, AnswerValues], options: MetaOptions
) -> tuple[Alignment, list[Level], list[tuple[str, str]]]:
    """Return aligned values, the usable levels (statements first), and (level, reason) for each level left out.

    name: of the data. A level needs ratings and, if there are measures, values. Raises `UserError` if none is usable.
    """
    aligned = alignment(human, measures)
    levels: list[Level] = []
    left_out: list[tuple[str, str]] = []
    for unit, level_of in (("statements", statement_level), ("responses", response_level)):
        try:
            level = level_of(name, human, measures, aligned, options)
        except UserError as error:
            left_out.append((unit, str(error)))
            continue
        if level.values or not measures:
            levels.append(level)
        else:
            left_out.append((unit, "no measure has values of single sentences."))
    if not levels:
        raise UserError(left_out[0][1])
    return aligned, levels, left_out


def statement_level(
    name: str, human: HumanSet, measures: Mapping[str, AnswerValues], aligned: Alignment, options: MetaOptions
) -> Level:
    """Return the level of statements, with a row for each that has a rating. name: the data. aligned: by `alignment`.

    With the option `none=response`, a statement without a rating has that of its response.
    """
    rows: list[Rating] = []
    values: dict[str, list[Valued]] = {measure: [] for measure in aligned}
    dropped = Counter(human.dropped)
    for rated in human.answers:
        whole = rated.response(options.unrated)
        golds = [whole if rating is None and options.none == "response" else rating for rating in rated.ratings]
        kept = [(number, gold) for number, gold in enumerate(golds) if gold is not None]
        dropped["statements without a rating"] += len(golds) - len(kept)
        rows += [_row(rated, gold, f"#{number + 1}", rated.statements[number].text) for number, gold in kept]
        for measure, places in aligned.items():
            statement_values: Sequence[Valued] = places[rated.answer.id].values
            if options.none == "response":
                response = measures[measure].wholes.get(rated.answer.id, NO_VALUE)
                statement_values = filled(statement_values, _full(response, options))
            values[measure].extend(statement_values[number] for number, _ in kept)
    return _level("statements", name, rows, values, dropped)


def response_level(
    name: str, human: HumanSet, measures: Mapping[str, AnswerValues], aligned: Alignment, options: MetaOptions
) -> Level:
    """Return the level of responses, with a row for each that has a rating (`HumanAnswer.response`). name: the data."""
    rows: list[Rating] = []
    values: dict[str, list[Valued]] = {
        measure: []
        for measure, scored in measures.items()
        if measure in aligned or any(whole.state != "no value" for whole in scored.wholes.values())
    }
    dropped = Counter(human.dropped)
    for rated in human.answers:
        gold = rated.response(options.unrated)
        if gold is None:
            dropped["responses none of whose statements has a rating"] += 1
            continue
        rows.append(_row(rated, gold, "", rated.answer.text))
        for measure, column in values.items():
            column.append(_full(measures[measure].wholes.get(rated.answer.id, NO_VALUE), options))
    return _level("responses", name, rows, values, dropped)


def _row(rated: HumanAnswer, gold: float, place: str, text: str) -> Rating:
    answer = rated.answer
    return Rating(f"{answer.id}{place}", group_of(answer), round(gold, _DIGITS), answer.system, text=text)


def _full(whole: Valued, options: MetaOptions) -> Valued:
    """Return the value of an answer; with `unrated=full marks`, 1 for an answer that the pipeline does not score."""
    return Valued(1.0) if whole.state == "no value" and options.unrated == "full marks" else whole


def _level(
    unit: RatedUnit, name: str, rows: Sequence[Rating], values: Mapping[str, Sequence[Valued]], dropped: Counter[str]
) -> Level:
    kept = {key: column if key.startswith(FROM_FILE) else [*map(_rounded, column)] for key, column in values.items()}
    ids = [row.id for row in rows]
    scores = {key: dict(zip(ids, (value.value for value in column), strict=True)) for key, column in kept.items()}
    return Level(unit, Ratings(name, tuple(rows), scores, +dropped), kept)


def _rounded(value: Valued) -> Valued:
    return value if value.value is None else replace(value, value=round(value.value, _DIGITS))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
