"""Human ratings of the statements of answers, and what pipelines say brought to the same statements."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.model import Answer, group_of
from metaeval.citation.sentences import find_marks
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.errors import UserError
from metaeval.scoring.contract import PairScore, Status

Nothing = Literal["left out", "full marks"]
"""What a response is worth of whose statements none has a value: no value, or 1 as CiteEval publishes."""


ANNOTATORS = 3
"""Of CiteBench."""


@dataclass(frozen=True, slots=True)
class HumanStatement:
    """What the annotators said of one statement; None where one said nothing.

    id: the statement's own. citations: passage numbers from 1. contexts: 1 to 4. ratings: in [0, 1]. edits: as they
    stand in the file.
    """

    id: str
    citations: tuple[int, ...]
    contexts: tuple[int | None, ...]
    ratings: tuple[float | None, ...]
    edits: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RatedStatement:
    """A stretch of an answer that people rated. start, end: offsets in the answer. text: without its marks.

    ratings: in [0, 1], one for each annotator, in the same order in every statement; None where one gave none.
    """

    start: int
    end: int
    text: str
    ratings: tuple[float | None, ...]

    @property
    def rating(self) -> float | None:
        """What the annotators said, as one rating."""
        return rating_of(self.ratings)


@dataclass(frozen=True)
class HumanAnswer:
    """An answer, and its statements in the order of the text, none over another.

    emptied: whether the scenario "cited" masked ratings and left none.
    """

    answer: Answer
    statements: tuple[RatedStatement, ...]
    emptied: bool = False

    @property
    def ratings(self) -> list[float | None]:
        """One rating for each statement."""
        return [one.rating for one in self.statements]

    def response(self, nothing_rated: Nothing) -> float | None:
        """One rating for the answer: see `response_rating`; where it would be 1, one that the mask emptied is 0."""
        return 0.0 if self.emptied and nothing_rated == "full marks" else response_rating(self.ratings, nothing_rated)


@dataclass(frozen=True)
class HumanSet:
    """Rated answers, and what was left out in reading them, by reason.

    people, splits: the judgements and the statements of CiteBench, by answer; empty for other data.
    """

    answers: tuple[HumanAnswer, ...]
    dropped: Counter[str] = field(default_factory=Counter)
    people: Mapping[str, Sequence[HumanStatement]] = field(default_factory=dict)
    splits: Mapping[str, Split] = field(default_factory=dict)

    @property
    def annotators(self) -> int:
        """The most annotators that a statement has."""
        return max((len(one.ratings) for own in self.answers for one in own.statements), default=0)


@dataclass(frozen=True)
class MetaOptions:
    """How values are held against ratings, and how pipelines read answers."""

    none: Literal["left out", "response"] = "left out"
    """Value of a statement to which one side gives none: left out, or its response's (CiteEval's rule); a missing
    verdict is always left out."""
    unrated: Nothing = "left out"
    """Value of a response none of whose statements has one: left out, or full marks (people's is 0 where the scenario
    of cited statements masks ratings and leaves none)."""
    responses: Literal["own", "rated statements"] = "own"
    """Value of a response: the pipeline's own, or the mean over the rated statements."""
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
        """The options that decide how the two sides meet, for signatures."""
        return {"none": self.none, "unrated": self.unrated, "responses": self.responses}


def cited_alone(human: HumanSet) -> HumanSet:
    """The set in CiteEval's scenario "cited": statements without a citation have no rating; those that had one count.

    What is published of CiteBench stays as it is: its own procedure masks by itself.
    """
    dropped, answers = Counter(human.dropped), []
    for own in human.answers:
        text, first = own.answer.text, own.answer.first
        kept = []
        for one in own.statements:
            cited = any(mark.number is not None for mark in find_marks(text[one.start : one.end], first=first))
            dropped["ratings that the scenario cited masks"] += not cited and one.rating is not None
            kept.append(one if cited else replace(one, ratings=()))
        emptied = any(rating is not None for rating in own.ratings) and all(one.rating is None for one in kept)
        answers.append(HumanAnswer(own.answer, tuple(kept), emptied))
    return HumanSet(tuple(answers), +dropped, human.people, human.splits)


def rating_of(ratings: Sequence[float | None]) -> float | None:
    """The mean of the ratings that are there; None where half of the annotators or more gave none.

    Of three annotators two have to rate, as CiteEval publishes; a single one decides alone.
    """
    known = [rating for rating in ratings if rating is not None]
    return sum(known) / len(known) if 2 * len(known) > len(ratings) else None


def response_rating(ratings: Sequence[float | None], nothing_rated: Nothing = "left out") -> float | None:
    """A response's rating: the mean over its statements that have one; `nothing_rated` where none has."""
    mean = _mean([rating for rating in ratings if rating is not None])
    return 1.0 if mean is None and nothing_rated == "full marks" else mean


Ends = tuple[float, float]

State = Literal["valued", "no value", "missing"]
"""Whether there is a value, none because the pipeline gives such a span none, or none because a verdict is missing."""


@dataclass(frozen=True, slots=True)
class Valued:
    """A value in [0, 1], or why there is none; reason: of a missing verdict, as its judge gave it.

    in_part: whether the value leaves out what has no verdict. ends: of the value of an answer that a verdict is missing
    of, the least and the most that it could be; None where that is not known.
    """

    value: float | None
    state: State = "valued"
    reason: str = ""
    in_part: bool = False
    ends: Ends | None = None

    @property
    def is_open(self) -> bool:
        """Whether a verdict is missing in it."""
        return self.in_part or self.state == "missing"


NO_VALUE = Valued(None, "no value")


@dataclass(frozen=True, slots=True)
class SpanValue:
    """What a pipeline says of one span: offsets in the answer, and the value."""

    start: int
    end: int
    said: Valued


@dataclass(frozen=True)
class Aligned:
    """The values of an answer's statements, in order. outside: spans that share no character with any of them."""

    values: tuple[Valued, ...]
    outside: int


def align(statements: Sequence[RatedStatement], spans: Sequence[SpanValue]) -> Aligned:
    """Give each span to the statement that holds most of its characters (of equals the first), and take means.

    A statement's value is the mean over its spans that have one. It is missing where one of them is, for the mean
    could then be another; it has no value where none has.
    """
    own: list[list[Valued]] = [[] for _ in statements]
    outside = 0
    for span in spans:
        shared = [min(span.end, one.end) - max(span.start, one.start) for one in statements]
        most = max(shared, default=0)
        if most <= 0:
            outside += 1
        else:
            own[shared.index(most)].append(span.said)
    return Aligned(tuple(mean_of(few) for few in own), outside)


def mean_of(values: Sequence[Valued]) -> Valued:
    """The mean of the values that are there; missing where one is missing; no value without any."""
    lost = next((one for one in values if one.state == "missing"), None)
    if lost is not None:
        return lost
    known = [one.value for one in values if one.value is not None]
    return Valued(sum(known) / len(known)) if known else NO_VALUE


def filled(values: Sequence[Valued], response: Valued) -> list[Valued]:
    """CiteEval's rule: a statement that has no value takes its response's; one that is missing stays missing."""
    return [one if one.state != "no value" else response for one in values]


@dataclass(frozen=True, eq=False)
class AnswerValues:
    """What one measure says of some answers.

    spans: its values of sentences, by answer; empty where it has none of single sentences. wholes: its value of each
    answer; an answer that is absent has none.
    """

    spans: Mapping[str, Sequence[SpanValue]]
    wholes: Mapping[str, Valued]


GIVEN = "scores:"
"""Begins the name of scores that were made elsewhere, which stay as they are."""

_DIGITS = 12
"""Decimals of ratings and of the pipelines' values, which are means of few numbers: two that are equal on paper differ
in the sixteenth where they were added up another way, and would rank one above the other."""

Unit = Literal["statements", "responses"]
Alignment = Mapping[str, Mapping[str, Aligned]]
"""By measure and answer."""


@dataclass(frozen=True, eq=False)
class Level:
    """A rated set with what each measure says of it. values: of every row, in the rows' order, by measure."""

    unit: Unit
    ratings: Ratings
    values: Mapping[str, Sequence[Valued]]

    @property
    def open(self) -> dict[str, dict[str, Valued]]:
        """By measure, the values of responses that lack a verdict, or leave one out; none of statements."""
        found = {
            measure: {row.id: one for row, one in zip(self.ratings.rows, own, strict=True) if one.is_open}
            for measure, own in self.values.items()
        }
        return {measure: own for measure, own in found.items() if own and self.unit == "responses"}

    @property
    def systems(self) -> list[str]:
        """The systems of the rows, sorted; none where some row names none."""
        names = {row.system for row in self.ratings.rows}
        return sorted(names) if all(names) else []

    def mean_ends(self, measure: str) -> tuple[float | None, float | None, float | None]:
        """A measure's mean over the rows that have a value; and its least and most over those too whose verdicts are
        missing: None at the level of statements, and where the ends of one value are not known.
        """
        values = self.values[measure]
        mean = _mean([one.value for one in values if one.value is not None])
        settled = [one.value for one in values if one.value is not None and not one.is_open]
        ends = [one.ends for one in values if one.is_open]
        known = [own for own in ends if own is not None]
        if self.unit == "statements" or len(known) < len(ends):
            return mean, None, None
        return mean, _mean([*settled, *(least for least, _ in known)]), _mean([*settled, *(most for _, most in known)])

    def lines(self) -> str:
        """The ratings as JSON lines with every measure's score, as `metaeval.corpus.loaders.ratings` reads them."""
        lines = []
        for row in self.ratings.rows:
            fields: dict[str, object] = {"id": row.id, "group": row.group, "gold": row.gold}
            fields |= {name: value for name, value in (("system", row.system), ("text", row.text)) if value}
            fields["scores"] = {metric: scores.get(row.id) for metric, scores in self.ratings.scores.items()}
            lines.append(json.dumps(fields, allow_nan=False) + "\n")
        return "".join(lines)


def score_of(said: Valued) -> PairScore:
    """A value as the score of a row, or the status that says why there is none."""
    if said.value is not None:
        return PairScore(said.value)
    if said.state == "no value":
        return PairScore(None, Status.NOTHING_TO_SCORE)
    known = said.reason in {str(status) for status in Status} and said.reason != Status.OK
    return PairScore(None, Status(said.reason) if known else Status.ABSENT)


def alignment(human: HumanSet, measures: Mapping[str, AnswerValues]) -> Alignment:
    """Every measure's values of the rated statements, where it has values of single sentences."""
    return {
        name: {own.answer.id: align(own.statements, one.spans.get(own.answer.id, ())) for own in human.answers}
        for name, one in measures.items()
        if one.spans
    }


def rated_levels(
    name: str, human: HumanSet, measures: Mapping[str, AnswerValues], options: MetaOptions
) -> tuple[Alignment, list[Level], list[tuple[str, str]]]:
    """The levels that can be judged, statements first, and why another cannot; `UserError` where none can."""
    aligned = alignment(human, measures)
    levels: list[Level] = []
    left_out: list[tuple[str, str]] = []
    for unit, of in (("statements", statement_level), ("responses", response_level)):
        try:
            level = of(name, human, measures, aligned, options)
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
    """One row for each rated statement; its group is the answer's question."""
    rows: list[Rating] = []
    values: dict[str, list[Valued]] = {one: [] for one in aligned}
    dropped = Counter(human.dropped)
    for own in human.answers:
        whole = own.response(options.unrated)
        golds = [whole if one is None and options.none == "response" else one for one in own.ratings]
        kept = [(number, gold) for number, gold in enumerate(golds) if gold is not None]
        dropped["statements without a rating"] += len(golds) - len(kept)
        rows += [_row(own, gold, f"#{number + 1}", own.statements[number].text) for number, gold in kept]
        for measure, places in aligned.items():
            said: Sequence[Valued] = places[own.answer.id].values
            if options.none == "response":
                said = filled(said, _full(measures[measure].wholes.get(own.answer.id, NO_VALUE), options))
            values[measure].extend(said[number] for number, _ in kept)
    return _level("statements", name, rows, values, dropped)


def response_level(
    name: str, human: HumanSet, measures: Mapping[str, AnswerValues], aligned: Alignment, options: MetaOptions
) -> Level:
    """One row for each response that has a rating."""
    rows: list[Rating] = []
    values: dict[str, list[Valued]] = {
        measure: []
        for measure, one in measures.items()
        if measure in aligned or any(whole.state != "no value" for whole in one.wholes.values())
    }
    dropped = Counter(human.dropped)
    for own in human.answers:
        gold = own.response(options.unrated)
        if gold is None:
            dropped["responses none of whose statements has a rating"] += 1
            continue
        rows.append(_row(own, gold, "", own.answer.text))
        for measure, each in values.items():
            whole = measures[measure].wholes.get(own.answer.id, NO_VALUE)
            if options.responses == "rated statements":
                whole = _of_statements(own, aligned[measure]) if measure in aligned else replace(whole, ends=None)
            each.append(_full(whole, options))
    return _level("responses", name, rows, values, dropped)


def _row(own: HumanAnswer, gold: float, place: str, text: str) -> Rating:
    answer = own.answer
    return Rating(f"{answer.id}{place}", group_of(answer), round(gold, _DIGITS), answer.system, text=text)


def _full(whole: Valued, options: MetaOptions) -> Valued:
    """A measure's value of an answer, by the rule for one that has none."""
    return Valued(1.0) if whole.state == "no value" and options.unrated == "full marks" else whole


def _of_statements(own: HumanAnswer, aligned: Mapping[str, Aligned]) -> Valued:
    """The mean over an answer's rated statements."""
    pairs = zip(aligned[own.answer.id].values, own.ratings, strict=True)
    rated = [value for value, rating in pairs if rating is not None]
    mean = _mean([value.value for value in rated if value.value is not None])
    lost = next((value for value in rated if value.state == "missing"), NO_VALUE)
    return lost if mean is None else Valued(mean, in_part=lost.state == "missing")


def _level(
    unit: Unit, name: str, rows: Sequence[Rating], values: Mapping[str, Sequence[Valued]], dropped: Counter[str]
) -> Level:
    values = {
        measure: [
            one if one.value is None or measure.startswith(GIVEN) else replace(one, value=round(one.value, _DIGITS))
            for one in own
        ]
        for measure, own in values.items()
    }
    scores = {one: {row.id: value.value for row, value in zip(rows, own, strict=True)} for one, own in values.items()}
    return Level(unit, Ratings(name, tuple(rows), scores, +dropped), values)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
