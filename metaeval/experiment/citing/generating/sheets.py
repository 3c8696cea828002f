"""Generated answers as a sheet: how many came, what they are like, which marks cite nothing, what they took."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version

from metaeval.citation.marks import find_marks
from metaeval.citation.measures import group_codes
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.sentences import without_marks
from metaeval.experiment.citing.generating.run import Written
from metaeval.experiment.citing.provenance import fingerprint
from metaeval.experiment.sheet import Record, Sheet
from metaeval.report.citation.layout import Frame, lines_grid
from metaeval.report.grid import UNDEFINED, Cell, Note, count, one_line, plain
from metaeval.report.result import Data
from metaeval.signature import signature

_MONEY = "USD for these replies"
_SHOWN = 3

_Counts = dict[str, float | None]


def generation_sheet(written: Written) -> Sheet:
    """The one sheet of a run."""
    prepared, questions = written.prepared, written.prepared.questions
    blocks = {
        "answers": _answers(written),
        "marks": _marks(written),
        "on the way": _problems(written),
        "what it took": _taken(written),
    }
    data = Data(
        name=prepared.name,
        split=prepared.options.strategy,
        fingerprint=fingerprint(questions),
        statements=len(written.answers),
        documents=sum(len(one.passages) for one in questions),
        citations=int(blocks["marks"]["marks"] or 0),
        groups=group_codes(questions)[1],
        levels={},
    )
    fields = {**prepared.fields, "answered_as": ", ".join(written.models) or prepared.chat.model}
    made = {"questions": f"{data.name}@{data.fingerprint[:12]}", **fields, "metaeval": version("metaeval")}
    frame = Frame(
        ("generation", data.name, prepared.options.strategy),
        "Answers that were generated",
        f"{plain(data.name)}, system {plain(prepared.system)}",
        _notes(written, data, fields),
        (one_line(signature(made)),),
    )
    records: list[Record] = [
        {"system": prepared.system, "block": title, "count": name, "value": value}
        for title, counts in blocks.items()
        for name, value in counts.items()
    ]
    rows = [(title, [(name, [_cell(name, value)]) for name, value in own.items()]) for title, own in blocks.items()]
    shown = [(title, lines) for title, lines in rows if lines]
    return Sheet("generation", data, fields, records, lines_grid(frame, "count", ["number"], shown))


def _answers(written: Written) -> _Counts:
    answers, lost = written.answers, [one for one in written.results if one.answer is None]
    words = [len(without_marks(one.text, ScifiOptions()).split()) for one in answers]
    causes = Counter(f"left out: {one.stage} {one.trouble}" for one in lost)
    return {
        "questions": len(written.results),
        "answers": len(answers),
        **dict(sorted(causes.items())),
        "words per answer": sum(words) / len(words),
        "documents shown per answer": sum(len(one.shown) for one in written.results if one.answer) / len(answers),
        "answers from no document": sum(not one.shown for one in written.results if one.answer is not None),
    }


def _marks(written: Written) -> _Counts:
    """Marks of all answers, as the pipelines read them."""
    found = [[mark for mark in find_marks(one.text) if mark.number is not None] for one in written.answers]
    total = sum(map(len, found))
    problems = _counted(written)
    return {
        "marks": total,
        "marks per answer": total / len(found),
        "answers without a mark": sum(not own for own in found),
        **{name: times for name, times in sorted(problems.items()) if name.startswith("marks ")},
    }


def _problems(written: Written) -> _Counts:
    return {name: times for name, times in sorted(_counted(written).items()) if not name.startswith("marks ")}


def _taken(written: Written) -> _Counts:
    return {
        "tokens in": written.spent.tokens_in,
        "tokens out": written.spent.tokens_out,
        "replies without a count of tokens": written.spent.uncounted,
        _MONEY: written.money,
    }


def _counted(written: Written) -> Counter[str]:
    return sum((one.problems or Counter() for one in written.results), Counter[str]())


def _notes(written: Written, data: Data, fields: dict[str, str]) -> tuple[Note, ...]:
    lost = [one for one in written.results if one.answer is None]
    some = ", ".join(f"{plain(one.question.id)} ({one.stage} {one.trouble})" for one in lost[:_SHOWN])
    more = f", and {len(lost) - _SHOWN:,} more" if len(lost) > _SHOWN else ""
    notes = (
        Note("data", f"{count(len(written.results), 'question')}, {count(data.documents, 'document')}"),
        Note("settings", ", ".join(f"{name} {_spaced(value)}" for name, value in fields.items())),
        Note("left out", f"{some}{more}; they are in no file of answers, and the next run asks for those that failed")
        if lost
        else Note("left out", ""),
        Note("prompts", "the strategies are named by SCiFi's paper; the wording is ours"),
    )
    return tuple(note for note in notes if note.text)


def _spaced(value: str) -> str:
    """A list of settings as lines can be broken at: behind its commas."""
    return plain(value.replace(",", ", "))


def _cell(name: str, value: float | None) -> Cell:
    if value is None:
        return Cell(UNDEFINED)
    if name == _MONEY:
        return Cell(f"{value:.4f}")
    return Cell(f"{value:,.1f}" if isinstance(value, float) else f"{value:,}")
