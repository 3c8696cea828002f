"""People's ratings as rated sets with every pipeline's values as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from metaeval.citation.human.model import (
    NO_VALUE,
    HumanAnswer,
    HumanSet,
    Valued,
    align,
    filled,
    response_rating,
)
from metaeval.corpus.model import Rating, Ratings
from metaeval.experiment.citing.meta.model import Alignment, Level, Measured, MetaOptions, Unit
from metaeval.experiment.columns import column_of
from metaeval.scoring.contract import PairScore, Status

_DIGITS = 12
"""Decimals of ratings and of the pipelines' values, which are means of few numbers: two that are equal on paper differ
in the sixteenth where they were added up another way, and would rank one above the other."""


def alignment(human: HumanSet, measured: Sequence[Measured]) -> Alignment:
    """Every measure's values of the rated statements, where it has values of single sentences."""
    return {
        one.name: {own.answer.id: align(own.statements, one.spans.get(own.answer.id, ())) for own in human.answers}
        for one in measured
        if one.spans
    }


def statement_level(
    name: str, human: HumanSet, measured: Sequence[Measured], aligned: Alignment, options: MetaOptions
) -> Level:
    """One row for each rated statement; its group is the answer's question."""
    rows: list[Rating] = []
    values: dict[str, list[Valued]] = {one: [] for one in aligned}
    partial: dict[str, set[str]] = {one: set() for one in aligned}
    dropped = Counter(human.dropped)
    for own in human.answers:
        whole = response_rating(own.ratings, options.unrated)
        golds = [whole if one is None and options.none == "response" else one for one in own.ratings]
        kept = [number for number, gold in enumerate(golds) if gold is not None]
        dropped["statements without a rating"] += len(golds) - len(kept)
        for number in kept:
            statement = own.statements[number]
            rows.append(_row(own, golds[number], f"#{number + 1}", statement.text))
        for one in measured:
            if one.name in aligned:
                found = aligned[one.name][own.answer.id].values
                said = _said(found, one.wholes.get(own.answer.id, NO_VALUE), options)
                values[one.name].extend(said[number] for number in kept)
                if own.answer.id in one.partial:
                    # Where these have a value of their own, `_said` leaves it.
                    taken = (number for number in kept if said[number] != found[number])
                    partial[one.name].update(f"{own.answer.id}#{number + 1}" for number in taken)
    return _level("statements", name, rows, values, partial, dropped, measured)


def response_level(
    name: str, human: HumanSet, measured: Sequence[Measured], aligned: Alignment, options: MetaOptions
) -> Level:
    """One row for each response that has a rating."""
    rows: list[Rating] = []
    values: dict[str, list[Valued]] = {
        one.name: []
        for one in measured
        if one.name in aligned or any(whole.state != "no value" for whole in one.wholes.values())
    }
    partial: dict[str, set[str]] = {one: set() for one in values}
    dropped = Counter(human.dropped)
    for own in human.answers:
        gold = response_rating(own.ratings, options.unrated)
        if gold is None:
            dropped["responses none of whose statements has a rating"] += 1
            continue
        rows.append(_row(own, gold, "", own.answer.text))
        for one in measured:
            if one.name in values:
                said, in_part = _response(own, one, aligned, options)
                values[one.name].append(said)
                if in_part:
                    partial[one.name].add(own.answer.id)
    return _level("responses", name, rows, values, partial, dropped, measured)


def _row(own: HumanAnswer, gold: float | None, place: str, text: str) -> Rating:
    answer = own.answer
    if gold is None:
        raise ValueError(f"a row of answer {answer.id} needs a rating")
    return Rating(f"{answer.id}{place}", answer.group or answer.id, round(gold, _DIGITS), answer.system, text=text)


def _said(values: Sequence[Valued], whole: Valued, options: MetaOptions) -> Sequence[Valued]:
    """A measure's values of an answer's statements, by the rule for those that have none."""
    if options.none == "left out":
        return values
    if whole.state == "missing":
        return [whole if one.state == "no value" else one for one in values]
    settled = 1.0 if whole.state == "no value" and options.unrated == "full marks" else whole.value
    return filled(values, settled)


def _response(own: HumanAnswer, one: Measured, aligned: Alignment, options: MetaOptions) -> tuple[Valued, bool]:
    """A measure's value of an answer, and whether it leaves out what has no verdict."""
    found = one.wholes.get(own.answer.id, NO_VALUE)
    in_part = own.answer.id in one.partial
    if options.responses == "rated statements" and one.name in aligned:
        values = aligned[one.name][own.answer.id].values
        rated = [value for value, rating in zip(values, own.ratings, strict=True) if rating is not None]
        known = [value.value for value in rated if value.value is not None]
        lost = next((value for value in rated if value.state == "missing"), NO_VALUE)
        found = Valued(sum(known) / len(known)) if known else lost
        in_part = lost.state == "missing"
    full = found.state == "no value" and options.unrated == "full marks"
    return (Valued(1.0), False) if full else (found, in_part and found.value is not None)


def _level(
    unit: Unit,
    name: str,
    rows: Sequence[Rating],
    values: Mapping[str, Sequence[Valued]],
    partial: Mapping[str, set[str]],
    dropped: Counter[str],
    measured: Sequence[Measured],
) -> Level:
    # Scores that were made elsewhere stay as they are.
    values = {
        name: [
            one if one.value is None or name.startswith("scores:") else replace(one, value=round(one.value, _DIGITS))
            for one in own
        ]
        for name, own in values.items()
    }
    scores = {one: {row.id: value.value for row, value in zip(rows, own, strict=True)} for one, own in values.items()}
    by_name = {one.name: one for one in measured}
    columns = [
        column_of(one, [_answer(value) for value in own], by_name[one].fields, by_name[one].ledger)
        for one, own in values.items()
    ]
    in_part = {one: frozenset(ids) for one, ids in partial.items()}
    return Level(unit, Ratings(name, tuple(rows), scores, +dropped), values, columns, in_part)


def _answer(said: Valued) -> PairScore:
    if said.value is not None:
        return PairScore(said.value)
    if said.state == "no value":
        return PairScore(None, Status.NOTHING_TO_SCORE)
    known = said.reason in {str(status) for status in Status} and said.reason != Status.OK
    return PairScore(None, Status(said.reason) if known else Status.ABSENT)
