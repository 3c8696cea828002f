"""CiteEval as sheets: scores of systems with bounds, what could not be judged and what it cost; baselines beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from metaeval.citation.citeeval.evaluate import Measure, Unread, bounds, counts, estimates, unread_marks
from metaeval.experiment.citing.citeeval.baseline_sheets import baseline_sheets
from metaeval.experiment.citing.citeeval.frame import data_of, frame_of, judge_note, own_fields, sheet_of
from metaeval.experiment.citing.citeeval.run import Rated
from metaeval.experiment.sheet import Record, Sheet
from metaeval.report.citation.layout import interval_cell, lines_grid
from metaeval.report.grid import UNDEFINED, Cell, Note, numeral, plain
from metaeval.report.result import Column, Data

COLUMNS: Mapping[Measure, Column] = {
    "auto": Column(key="auto", label="CiteEval-Auto"),
    "rating": Column(key="rating", label="rating"),
    "edits": Column(key="edits", label="edit distance"),
}
"""The measures in the order of the tables."""

_BOUNDS = "least to most"
_IN, _OUT, _UNCOUNTED = "tokens in", "tokens out", "replies without a count of tokens"
_MONEY = "USD for these replies"
_TOOK = (_IN, _OUT, _UNCOUNTED, _MONEY)
_EXAMPLES = 3


def citeeval_sheets(rated: Rated) -> list[Sheet]:
    """Every sheet of a run, in the order in which they are read."""
    data = data_of(rated)
    return [_scores(rated, data), _judging(rated, data), *baseline_sheets(rated, data)]


def _scores(rated: Rated, data: Data) -> Sheet:
    interval = rated.config.interval
    records: list[Record] = []
    found, ranges = [], []
    for system, numbers in rated.systems.items():
        answers, results = [rated.answers[n] for n in numbers], [rated.results[n] for n in numbers]
        values = estimates(answers, results, rated.scenario, interval.resamples, interval.seed, interval.level)
        cells, ends = [], []
        for measure, column in COLUMNS.items():
            value, (least, most) = values[measure], bounds(results, measure, rated.scenario)
            cells.append(interval_cell((value.value, value.low, value.high), column))
            known = least is not None and most is not None
            ends.append(Cell(f"{numeral(least, column)} to {numeral(most, column)}" if known else UNDEFINED))
            records.append({"system": system, "measure": measure, **asdict(value), "least": least, "most": most})
        found.append((system, [*cells, Cell(f"{values['auto'].answers:,} of {len(answers):,}")]))
        ranges.append((system, [*ends, Cell("")]))
    headings = [*(column.label for column in COLUMNS.values()), "answers"]
    blocks = [("", found), (_BOUNDS, ranges)] if _incomplete(rated) else [("", found)]
    title = "CiteEval: citations as a chat model rates and edits them, from 0 to 1"
    frame = frame_of(rated, data, "citeeval", title, _notes(rated))
    return sheet_of(rated, data, "citeeval", records, lines_grid(frame, "system", headings, blocks))


def _incomplete(rated: Rated) -> bool:
    """Whether a judgement is missing that could move a mean."""
    return any(result.values[measure, rated.scenario].missing for result in rated.results for measure in COLUMNS)


def _judging(rated: Rated, data: Data) -> Sheet:
    """What became of the questions, what is wrong inside the replies, and what they took."""
    every: dict[str, dict[str, float | None]] = {}
    records: list[Record] = []
    for system, numbers in rated.systems.items():
        results, spent = [rated.results[n] for n in numbers], [rated.spent[n] for n in numbers]
        every[system] = {
            **counts(results),
            **{f"marks: {why}": times for why, times in sorted(Counter(m.why for m in unread_marks(results)).items())},
            **_baseline_questions(rated, numbers),
            _IN: sum(one.tokens_in for one in spent),
            _OUT: sum(one.tokens_out for one in spent),
            _UNCOUNTED: sum(one.uncounted for one in spent),
            _MONEY: rated.money(spent),
        }
        records += [{"system": system, "count": name, "value": value} for name, value in every[system].items()]
    shown = _differing(every)
    rows = [(system, [_amount(name, found.get(name, 0)) for name in shown]) for system, found in every.items()]
    paid = Note("money", "what the replies cost when they were asked for; kept ones cost nothing again")
    frame = frame_of(rated, data, "judging", "What was asked, and what came of it", [paid, *_notes(rated)])
    return sheet_of(rated, data, "judging", records, lines_grid(frame, "system", shown, [("", rows)]))


def _differing(every: Mapping[str, Mapping[str, float | None]]) -> list[str]:
    """The counts that are not 0 of every system; what the replies took comes last."""
    names = {name for found in every.values() for name, value in found.items() if value != 0}
    return [*sorted(names.difference(_TOOK)), *(name for name in _TOOK if name in names)]


def _notes(rated: Rated) -> list[Note]:
    weight = rated.options.weight
    reading = (
        f"CiteEval-Auto: {weight:g} of the rating and {1 - weight:g} of the edit distance, statement by statement; "
        "answers: those with a CiteEval-Auto, of all"
    )
    if _incomplete(rated):
        reading += f"; {_BOUNDS}: the mean over all answers, were no judgement missing (the mean above is of what was "
        reading += "judged, and can lie outside)"
    notes = [
        judge_note(rated, str(own_fields(rated)["prompts"])),
        Note("reading", reading),
        Note("marks", _marks(unread_marks(rated.results))),
    ]
    return [note for note in notes if note.text]


def _marks(marks: Sequence[Unread]) -> str:
    """The marks that cite nothing, by why, and the first of them."""
    wrong = ", ".join(f"{why} {times:,}" for why, times in sorted(Counter(mark.why for mark in marks).items()))
    first = "; ".join(f"{plain(mark.answer)}, offset {mark.start}" for mark in marks[:_EXAMPLES])
    return f"cite nothing: {wrong} (first: {first})" if marks else ""


def _baseline_questions(rated: Rated, numbers: Sequence[int]) -> dict[str, int]:
    """What became of the questions that the baselines asked about some answers, by baseline and state."""
    found: Counter[str] = Counter()
    for number in numbers:
        for statement in rated.lqac[number] if rated.lqac is not None else ():
            found.update({f"lqac questions: {state}": times for state, times in statement.states.items()})
        for judge in rated.attrscore:
            for labels in judge.statements[number]:
                found.update({f"attrscore questions: {state}": times for state, times in labels.states.items()})
    return dict(sorted(found.items()))


def _amount(name: str, value: float | None) -> Cell:
    return Cell(UNDEFINED if value is None else f"{value:.4f}" if name == _MONEY else f"{value:,}")
