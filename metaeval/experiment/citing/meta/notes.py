"""What stands around the tables of a meta-evaluation: whose ratings, by which rules, what is left out, how made."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.experiment.citing.meta.missing import could_be
from metaeval.experiment.citing.meta.run import Meta
from metaeval.experiment.citing.provenance import fingerprint, resampled, signed, uncertainty
from metaeval.experiment.sheet import Scalar
from metaeval.experiment.verdicts import Backend
from metaeval.files import sha256_json
from metaeval.report.grid import Note, count, plain, share
from metaeval.report.result import Data


def data_of(meta: Meta) -> Data:
    """What was judged, for the files."""
    human = meta.prepared.human
    answers = meta.prepared.answers
    ratings = [[[one.start, one.end, *one.ratings] for one in own.statements] for own in human.answers]
    return Data(
        name=meta.prepared.asked.name,
        split="people",
        fingerprint=sha256_json([fingerprint(answers), ratings]),
        statements=sum(len(own.statements) for own in human.answers),
        documents=sum(len(answer.passages) for answer in answers),
        citations=0,
        groups=len({answer.group or answer.id for answer in answers}),
        levels={},
    )


def settings_of(meta: Meta) -> Mapping[str, Scalar]:
    """What the numbers depend on beside the answers and the measures."""
    prepared = meta.prepared
    return {**prepared.options.rules, "scenario": prepared.scenario, **resampled(prepared.config.interval)}


def notes_of(meta: Meta) -> tuple[Note, ...]:
    """The footer: ratings, rules, what was left out, verdicts, truncation, resampling."""
    prepared, data = meta.prepared, data_of(meta)
    human = prepared.human
    rated = sum(rating is not None for own in human.answers for rating in own.ratings)
    said = (
        f"{count(len(human.answers), 'answer')}, {count(data.groups, 'group')}; {count(rated, 'rated statement')} of "
    )
    said += f"{data.statements:,}; {count(human.annotators, 'annotator')} each"
    if human.annotators < 2:
        said += ", so that no agreement between annotators is known"
    dropped = [f"{plain(name)} {number:,}" for name, number in human.dropped.items()]
    rules = f"a statement without a value {_none(prepared.options.none)}; "
    rules += f"a response without any {_unrated(prepared.options.unrated)}; a response's value is "
    rules += "the pipeline's own" if prepared.options.responses == "own" else "the mean over its rated statements"
    rules += "; correlations leave out rows without a value, and their bounds (§) give values to all of these: where a "
    rules += "verdict is missing, and where the pipeline gives none"
    if prepared.scenario == "cited":
        rules += "; scenario cited: statements without citations have no rating, and CiteEval gives them no value"
    verdicts = tuple((_label(use, one), _verdict(one.cutoff.value, one.cutoff.source)) for use, one in meta.backends)
    cut = tuple(
        (_label(use, one), f"{share(one.ledger.cut_pairs, one.ledger.pairs)} of pairs are longer than the metric reads")
        for use, one in meta.backends
        if one.ledger.cut_pairs
    )
    notes = (
        Note("data", said),
        Note("left out", ", ".join([*dropped, *(f"{unit}: {plain(why)}" for unit, why in meta.left_out)])),
        Note("rules", rules),
        Note("verdicts", "", verdicts),
        Note("truncation", "", cut),
        Note("could be", "", could_be(meta)),
        uncertainty(prepared.config.interval),
    )
    return tuple(note for note in notes if note.text or note.items)


def signatures_of(meta: Meta) -> tuple[str, ...]:
    """One line for each measure that pins every choice."""
    data, config = data_of(meta), meta.prepared.config
    named = config.dataset_options
    return tuple(signed(data, {**named, "column": one.name, **one.fields}, config.interval) for one in meta.measured)


def _label(use: str, backend: Backend) -> str:
    return f"{plain(backend.name)}, {use}" if use else plain(backend.name)


def _verdict(value: float | None, source: str) -> str:
    if value is None:
        return "scores as they are" + ("" if source == "as it is" else f" ({source})")
    return f"supported from {value:g} on ({source})"


def _none(rule: str) -> str:
    return "is left out" if rule == "left out" else "takes its response's, on each side by itself"


def _unrated(rule: str) -> str:
    return "is left out" if rule == "left out" else "has 1"
