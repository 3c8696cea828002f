"""What stands below the tables of an improvement: what was judged, by whom, how; and the signature."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.citation.citeeval.evaluate import bounds
from metaeval.citation.measures import group_codes
from metaeval.experiment.citing.citeeval.fields import asked_fields, changed_options
from metaeval.experiment.citing.improving.run import Bettered
from metaeval.experiment.citing.provenance import fingerprint, resampled, signed, uncertainty
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import Frame
from metaeval.report.grid import Grid, Note, count, plain
from metaeval.report.result import Data


def data_of(bettered: Bettered) -> Data:
    """The answers before any edit, for the files."""
    answers = bettered.prepared.answers
    statements = [one for split in bettered.prepared.splits for one in split.statements]
    return Data(
        name=bettered.prepared.name,
        split="citeeval",
        fingerprint=fingerprint(answers),
        statements=len(statements),
        documents=sum(len(one.passages) for one in answers),
        citations=sum(len(one.citations) for one in statements),
        groups=group_codes(answers)[1],
        levels={},
    )


def fields_of(bettered: Bettered) -> dict[str, Scalar]:
    """What the numbers depend on beside the answers."""
    prepared = bettered.prepared
    return {
        "pipeline": "citeeval",
        "profile": prepared.profile,
        "options": changed_options(prepared.profile, prepared.options),
        "scenario": prepared.scenario,
        "rounds": prepared.rounds,
        "splitter": prepared.splitter.name,
        **asked_fields(prepared.asking, bettered.models, unset=True),
    }


def frame_of(bettered: Bettered, data: Data, name: str, title: str) -> Frame:
    """What stands around a table of the run."""
    prepared, fields, interval = bettered.prepared, fields_of(bettered), bettered.prepared.config.interval
    said = f"{count(len(prepared.answers), 'answer')} of {count(len(prepared.systems), 'system')}, "
    said += f"{count(data.groups, 'group')}; {count(data.statements, 'statement')}, {count(data.citations, 'citation')}"
    kept = ("profile", "options", "scenario", "splitter")
    notes = (
        Note("data", said),
        Note("settings", ", ".join(f"{key} {plain(str(fields[key]).replace(',', ', '))}" for key in kept)),
        Note("judge", f"{plain(prepared.asking.model)}, answered as {plain(str(fields['answered_as']))}"),
        Note(
            "reading",
            "the judge that proposes the edits rates what comes of them: another metric on the written answers tells "
            f"what they are worth; at most {count(prepared.rounds, 'round')}, ended where no edit changes an answer",
        ),
        Note("could be", _could_be(bettered)),
        uncertainty(interval, data.groups, "; changes are of answers with both values"),
    )
    subtitle = f"{plain(data.name)}, CiteEval, profile {plain(prepared.profile)}, {prepared.scenario} scenario"
    footer = tuple(note for note in notes if note.text)
    return Frame((name, data.name, "CiteEval"), title, subtitle, footer, (signed(data, fields, interval),))


def _could_be(bettered: Bettered) -> str:
    """How far the last round's CiteEval-Auto of all answers is bounded, where a judgement is missing."""
    results = bettered.rounds[-1].results
    missing = sum(one.values["auto", bettered.prepared.scenario].missing for one in results)
    least, most = bounds(results, "auto", bettered.prepared.scenario)
    if not missing or least is None or most is None:
        return ""
    said = f"{count(missing, 'statement')} of the last round without a judgement"
    ends = f"from {least:.3f} to {most:.3f}"
    return f"{said}; with them, CiteEval-Auto over all answers is {ends} (the means above are of what was judged)"


def sheet_of(bettered: Bettered, data: Data, name: str, records: Sequence[Record], grid: Grid) -> Sheet:
    """A table of the run with its data and settings."""
    settings = {**fields_of(bettered), **resampled(bettered.prepared.config.interval)}
    return Sheet(name, data, settings, records, grid)
