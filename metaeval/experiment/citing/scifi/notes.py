"""What stands below SCiFi's tables: what was judged, who made the facts, what is missing, and the signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.citation.premises import find_place
from metaeval.citation.scifi.shares import against_parser, counts
from metaeval.citation.scifi.with_model import facts_signature
from metaeval.experiment.citing.provenance import fingerprint, resampled, signed, truncation, uncertainty
from metaeval.experiment.citing.scifi.missing import bounds, lost_sentences, missing_values, problems_of_facts
from metaeval.experiment.citing.scifi.run import Assessed, Scored
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import Frame
from metaeval.report.grid import Grid, Note, count, plain
from metaeval.report.result import Data

_COUNTED = ("sentences cited", "facts: ", "segments: ", "marks: ", "problem: ")
"""Beginnings of the counts that no other note tells."""


def data_of(assessed: Assessed) -> Data:
    """What was judged, for the files: statements are facts, documents are passages."""
    return Data(
        name=assessed.prepared.asked.name,
        split="scifi",
        fingerprint=fingerprint(assessed.answers),
        statements=sum(len(own.facts) for own in assessed.read),
        documents=sum(len(answer.passages) for answer in assessed.answers),
        citations=sum(len(group.marks) for own in assessed.read for one in own.sentences for group in one.groups),
        groups=assessed.draws.n_groups,
        levels={},
    )


def fields_of(assessed: Assessed) -> dict[str, Scalar]:
    """What the numbers depend on beside the answers and the backend: every option in force, and who made the facts."""
    prepared = assessed.prepared
    made = facts_signature(prepared.options, prepared.parser, prepared.chat)
    answered = {"answered_as": ", ".join(assessed.models)} if assessed.models else {}
    return {
        "pipeline": "scifi",
        "options": prepared.options.signature,
        "splitter": prepared.splitter.name,
        "facts": made,
        **answered,
    }


def frame_of(assessed: Assessed, data: Data, name: str, title: str, notes: Sequence[Note] = ()) -> Frame:
    """What stands around a table of the run."""
    who = "a parser" if assessed.prepared.chat is None else assessed.prepared.chat.model
    subtitle = f"{plain(data.name)}, SCiFi, facts by {plain(who)}"
    footer = (*notes, *notes_of(assessed, data))
    return Frame((name, data.name, "SCiFi"), title, subtitle, footer, _signatures(assessed, data))


def sheet_of(assessed: Assessed, data: Data, name: str, records: Sequence[Record], grid: Grid) -> Sheet:
    """A table of the run with its data and settings."""
    settings = {**fields_of(assessed), **resampled(assessed.prepared.config.interval)}
    return Sheet(name, data, settings, records, grid)


def notes_of(assessed: Assessed, data: Data) -> tuple[Note, ...]:
    """The footer: data, settings, facts, backends, what is missing by reason, problems, marks, resampling."""
    prepared, read, fields = assessed.prepared, assessed.read, fields_of(assessed)
    said = f"{count(len(read), 'answer')} of {count(len(assessed.systems), 'system')}, {count(data.groups, 'group')}; "
    said += f"{count(sum(len(own.sentences) for own in read), 'sentence')}, {count(data.statements, 'fact')}, "
    said += count(data.citations, "citation mark")
    answered = f", answered as {plain(str(fields['answered_as']))}" if assessed.models else ""
    incomplete = [one for one in assessed.scored if missing_values(one)]
    open_ends = [(one, bounds(assessed, one)) for one in assessed.scored]
    notes = (
        Note("data", said),
        Note("settings", plain(f"{prepared.options.signature}, splitter={prepared.splitter.name}".replace(",", ", "))),
        Note("facts", plain(str(fields["facts"])) + answered),
        Note("verdicts", "", tuple((plain(one.backend.name), _values(one)) for one in assessed.scored)),
        truncation(one.backend for one in assessed.scored),
        Note("not judged", "", tuple((plain(one.backend.name), missing_values(one)) for one in incomplete)),
        Note("could be", "", tuple((plain(one.backend.name), said) for one, said in open_ends if said)),
        Note("without facts", lost_sentences(assessed)),
        Note("assignment", _assignment(assessed)),
        Note("problems", problems_of_facts(assessed)),
        Note("counts", _counts(assessed)),
        uncertainty(prepared.config.interval, data.groups),
    )
    return tuple(note for note in notes if note.text or note.items)


def _signatures(assessed: Assessed, data: Data) -> tuple[str, ...]:
    """One line for each backend that pins every choice."""
    fields, interval = fields_of(assessed), assessed.prepared.config.interval
    return tuple(signed(data, {**fields, **_judge(one)}, interval) for one in assessed.scored)


def _judge(one: Scored) -> Mapping[str, object]:
    """What the signature says of a backend; premises are SCiFi's own chunks, and stand among the options."""
    return {name: value for name, value in one.backend.fields.items() if name != "premise"}


def _values(one: Scored) -> str:
    cutoff, asked = one.backend.cutoff, count(one.backend.ledger.pairs, "pair")
    if cutoff.value is None:
        return f"a fact's value is the score itself, from 0 to 1; {asked}"
    return f"a fact's value is 1 from {cutoff.value:g} on ({cutoff.source}), else 0; {asked}"


def _assignment(assessed: Assessed) -> str:
    """How often the distance and the parser say different things; nothing where only one of them speaks."""
    other, of = against_parser(assessed.read, assessed.scored[0].facts)
    if not of or assessed.prepared.options.own_group:
        return ""
    return (
        f"by distance {other:,} of {count(of, 'fact')} in sentences of several groups get another citation than the "
        "parser's own (own_group=true keeps the parser's)"
    )


def _counts(assessed: Assessed) -> str:
    """What became of facts, and marks that cite no passage or are not read, with the first of these."""
    counted = counts(assessed.read, assessed.scored[0].facts)
    said = [f"{plain(name)} {number:,}" for name, number in counted.items() if name.startswith(_COUNTED)]
    wrong = (
        f"{plain(own.answer.id)}, offset {mark.start}"
        for own in assessed.read
        for sentence in own.sentences
        for group in sentence.groups
        for mark in group.marks
        if find_place(mark.number, len(own.answer.passages))[1]
    )
    first = next(wrong, "")
    return ", ".join(said) + (f" (first: {first})" if first else "")
