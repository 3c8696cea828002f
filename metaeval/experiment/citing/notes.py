"""What stands below citation tables: what was judged, by whom, what was not, and the signatures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from metaeval.citation.model import Answer
from metaeval.citation.table import Line, counts, unjudged
from metaeval.experiment.citing.judging import RECALL, Cited, Judged, bounds_of
from metaeval.experiment.citing.provenance import resampled, signed, truncation, uncertainty
from metaeval.experiment.sheet import Record, Sheet
from metaeval.files import sha256_json
from metaeval.report.citation.layout import Frame
from metaeval.report.grid import Grid, Note
from metaeval.report.number_format import count, numeral, plain
from metaeval.report.result import Data

_PIPELINES: Mapping[str, str] = {"alce": "ALCE", "aliice": "ALiiCE"}
_EXAMPLES = 3
_SHOWN = 60


def data_of(cited: Cited, name: str) -> Data:
    """What was judged, for the files: statements are claims, documents are passages."""
    answers = cited.pipeline.answers
    counted = counts(cited.judged[0].lines)
    return Data(
        name=name,
        split=cited.pipeline.name,
        fingerprint=fingerprint(answers),
        statements=counted["claims"],
        documents=sum(len(answer.passages) for answer in answers),
        citations=counted["marks"],
        groups=cited.draws.n_groups,
        levels={},
    )


def fingerprint(answers: Sequence[Answer]) -> str:
    """A hash of everything that is read of the answers."""
    return sha256_json(
        [
            [one.id, one.group, one.system, one.question, one.text, one.first, dict(one.reference)]
            + [[passage.title, passage.text] for passage in one.passages]
            for one in answers
        ]
    )


def frame_of(cited: Cited, data: Data, name: str, title: str, notes: Sequence[Note] = ()) -> Frame:
    """What stands around a table of the run."""
    kind = _PIPELINES[cited.pipeline.name]
    subtitle = f"{plain(data.name)}, {kind}, profile {plain(str(cited.pipeline.fields['profile']))}"
    footer = (*notes, *notes_of(cited, data))
    return Frame((name, data.name, kind), title, subtitle, footer, signatures_of(cited, data))


def sheet_of(cited: Cited, data: Data, name: str, records: Sequence[Record], grid: Grid) -> Sheet:
    """A table of the run with its data and settings."""
    settings = {key: str(value) for key, value in cited.pipeline.fields.items()}
    return Sheet(name, data, {**settings, **resampled(cited.config.interval)}, records, grid)


def notes_of(cited: Cited, data: Data) -> tuple[Note, ...]:
    """The footer: data, settings, backends, what they did not read or could not judge, problems, resampling."""
    systems = count(len(cited.systems), "system")
    said = f"{count(len(cited.pipeline.answers), 'answer')} of {systems}, {count(data.groups, 'group')}; "
    said += f"{count(data.statements, 'claim')}, {count(data.citations, 'citation mark')}"
    settings = ", ".join(f"{key} {plain(str(value))}" for key, value in cited.pipeline.fields.items())
    notes = (
        Note("data", said),
        Note("settings", settings),
        Note("verdicts", "", tuple((plain(one.backend.name), _verdicts(one)) for one in cited.judged)),
        truncation(one.backend for one in cited.judged),
        Note("not judged", "", tuple((plain(one.backend.name), _open(one)) for one in cited.judged if _open(one))),
        Note(
            "could be", "", tuple((plain(one.backend.name), _bounds(cited, one)) for one in cited.judged if _open(one))
        ),
        Note("marks", _marks(cited.judged[0].lines)),
        uncertainty(cited.config.interval, data.groups),
    )
    return tuple(note for note in notes if note.text or note.items)


def signatures_of(cited: Cited, data: Data) -> tuple[str, ...]:
    """One line for each backend that pins every choice."""
    fields, interval = cited.pipeline.fields, cited.config.interval
    return tuple(signed(data, {**fields, **one.backend.fields}, interval) for one in cited.judged)


def _bounds(cited: Cited, one: Judged) -> str:
    """What recall and precision of each system could be, were all missing verdicts against it, or for it."""
    said = []
    for number, system in enumerate(cited.systems):
        ends = [
            f"{key} {numeral(worst, RECALL)} to {numeral(best, RECALL)}"
            for key, (worst, best) in bounds_of(cited, one, number).items()
        ]
        if ends:
            said.append(f"{plain(system)} {', '.join(ends)}" if len(cited.systems) > 1 else ", ".join(ends))
    return "; ".join(said)


def _verdicts(one: Judged) -> str:
    cutoff = one.backend.cutoff
    asked = count(one.backend.ledger.pairs, "pair")
    if cutoff.value is None:
        return f"soft: recall is the mean score of claims, precision that of single citations; {asked}"
    return f"supported from {cutoff.value:g} on ({cutoff.source}); {asked}"


def _open(one: Judged) -> str:
    """The lines without a verdict by reason, and the first of them."""
    lines = unjudged(one.lines)
    reasons = Counter(line.reason for line in lines)
    if not lines:
        return ""
    said = ", ".join(f"{reason} {number:,}" for reason, number in sorted(reasons.items()))
    examples = "; ".join(f"{line.answer}, sentence {line.sentence}: {_short(line.claim)}" for line in lines[:_EXAMPLES])
    return f"{said} (of {len(one.lines):,} lines); first: {examples}"


def _marks(lines: Sequence[Line]) -> str:
    """Marks that take no part as they stand, by what became of them and by what is wrong with them."""
    counted = counts(lines)
    kinds = [(key.removeprefix("marks: "), value) for key, value in counted.items() if key.startswith("marks: ")]
    wrong = [(key.removeprefix("problem: "), value) for key, value in counted.items() if key.startswith("problem: ")]
    said = ", ".join(f"{plain(key)} {value:,}" for key, value in kinds if key not in ("judged", "unjudged"))
    problems = ", ".join(f"{plain(key)} {value:,}" for key, value in wrong)
    first = next((line for line in lines if line.problem), None)
    if first is not None:
        problems += f" (first: {first.answer}, offset {first.start})"
    uncited = counted["claims uncited"]
    parts = [f"uncited {uncited:,} of {count(counted['claims'], 'claim')}" if uncited else "", said]
    return "; ".join(part for part in [*parts, f"problems: {problems}" if problems else ""] if part)


def _short(text: str) -> str:
    flat = plain(text)
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"
