"""What stands below SCiFi's tables: what was judged, who made the facts, what is missing, and the signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from metaeval.citation.premises import find_place
from metaeval.citation.scifi.shares import counts
from metaeval.citation.scifi.signature import facts_signature
from metaeval.experiment.citing.notes import fingerprint
from metaeval.experiment.citing.scifi.missing import bounds, lost_sentences, missing_values, problems_of_facts
from metaeval.experiment.citing.scifi.run import Assessed, Scored
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import Frame
from metaeval.report.grid import Grid, Note
from metaeval.report.numerals import count, one_line, plain, share
from metaeval.report.result import Data
from metaeval.signature import signature

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
    if prepared.chat is not None:
        # A file of replies does not say where they came from, and a replay shows what the run showed.
        made = made.replace(f"base_url={prepared.chat.base_url}, ", "")
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
    interval = assessed.prepared.config.interval
    resampled = {"resamples": interval.resamples, "seed": interval.seed, "level": interval.level}
    return Sheet(name, data, {**fields_of(assessed), **resampled}, records, grid)


def notes_of(assessed: Assessed, data: Data) -> tuple[Note, ...]:
    """The footer: data, settings, facts, backends, what is missing by reason, problems, marks, resampling."""
    prepared, read, fields = assessed.prepared, assessed.read, fields_of(assessed)
    interval = prepared.config.interval
    said = f"{count(len(read), 'answer')} of {count(len(assessed.systems), 'system')}, {count(data.groups, 'group')}; "
    said += f"{count(sum(len(own.sentences) for own in read), 'sentence')}, {count(data.statements, 'fact')}, "
    said += count(data.citations, "citation mark")
    answered = f", answered as {plain(str(fields['answered_as']))}" if assessed.models else ""
    drawn = f"{100 * interval.level:g} % percentile intervals, {count(interval.resamples, 'resample')}"
    incomplete = [one for one in assessed.scored if missing_values(one)]
    notes = (
        Note("data", said),
        Note("settings", plain(f"{prepared.options.signature}, splitter={prepared.splitter.name}".replace(",", ", "))),
        Note("facts", plain(str(fields["facts"])) + answered),
        Note("verdicts", "", tuple((plain(one.backend.name), _values(one)) for one in assessed.scored)),
        Note("truncation", "", tuple((plain(one.backend.name), _cut(one)) for one in assessed.scored if _cut(one))),
        Note("not judged", "", tuple((plain(one.backend.name), missing_values(one)) for one in incomplete)),
        Note("could be", "", tuple((plain(one.backend.name), bounds(assessed, one)) for one in incomplete)),
        Note("without facts", lost_sentences(assessed)),
        Note("problems", problems_of_facts(assessed)),
        Note("counts", _counts(assessed)),
        Note("uncertainty", f"{drawn} of {count(data.groups, 'group')}, seed {interval.seed}"),
    )
    return tuple(note for note in notes if note.text or note.items)


def _signatures(assessed: Assessed, data: Data) -> tuple[str, ...]:
    """One line for each backend that pins every choice."""
    interval = assessed.prepared.config.interval
    made = {
        "interval": f"cluster-percentile-{interval.level}",
        "by": "group",
        "B": interval.resamples,
        "seed": interval.seed,
        **{package: version(package) for package in ("metaeval", "numpy")},
    }
    named = {"answers": f"{data.name}@{data.fingerprint[:12]}", **fields_of(assessed)}
    return tuple(one_line(signature({**named, **_judge(one), **made})) for one in assessed.scored)


def _judge(one: Scored) -> Mapping[str, object]:
    """What the signature says of a backend; premises are SCiFi's own chunks, and stand among the options."""
    return {name: value for name, value in one.backend.fields.items() if name != "premise"}


def _values(one: Scored) -> str:
    cutoff, asked = one.backend.cutoff, count(one.backend.ledger.pairs, "pair")
    if cutoff.value is None:
        return f"a fact's value is the score itself, from 0 to 1; {asked}"
    return f"a fact's value is 1 from {cutoff.value:g} on ({cutoff.source}), else 0; {asked}"


def _cut(one: Scored) -> str:
    ledger = one.backend.ledger
    if not ledger.cut_pairs:
        return ""
    return (
        f"{share(ledger.cut_pairs, ledger.pairs)} of pairs are longer than the metric reads; "
        f"{share(ledger.cut_tokens, ledger.tokens)} of tokens cut"
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
