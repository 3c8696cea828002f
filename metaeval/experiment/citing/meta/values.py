"""What citation pipelines say of answers, sentence by sentence and answer by answer, as columns to hold against people.

Every measure is named pipeline:measure:backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metaeval.citation.citeeval.baselines import Triple, autoais, response_triple
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.human.align import NO_VALUE, SpanValue, Valued, mean_of
from metaeval.citation.human.scores import read_given
from metaeval.citation.measures import Share, f1
from metaeval.citation.model import Answer
from metaeval.citation.table import claims_of, unjudged_claim
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.citing.judging import judge
from metaeval.experiment.citing.pipelines import Pipeline
from metaeval.experiment.citing.soft import SoftLine, soften
from metaeval.experiment.verdicts import Backend
from metaeval.files import sha256_file
from metaeval.report.result import Ledger

Spans = Mapping[str, Sequence[SpanValue]]
_TRIPLE = ("recall", "precision", "f1")


@dataclass(frozen=True, eq=False)
class Measured:
    """One measure of one pipeline under one judge.

    fields: what the signature says of it. spans: its values of sentences, by answer; empty where it has none of single
    sentences. wholes: its value of each answer. partial: answers whose value leaves out what has no verdict.
    """

    name: str
    fields: Mapping[str, object]
    spans: Spans
    wholes: Mapping[str, Valued]
    partial: frozenset[str] = field(default_factory=frozenset)
    ledger: Ledger | None = None


def citation_measures(pipeline: Pipeline, backend: Backend, config: RunConfig) -> list[Measured]:
    """Recall, precision and F1 of ALCE or ALiiCE under a backend.

    A sentence's recall is the mean over its claims, its precision that over its citations.
    """
    judged = judge(pipeline, [backend], config).judged[0]
    lines = judged.lines if not backend.soft else pipeline.lines(backend.entails)
    if backend.soft:
        scored = soften(pipeline.answers, lines, backend.entails, pipeline.untitled, pipeline.zero)
    else:
        scored = [SoftLine(line, _number(line.recall), _number(line.precision), line.reason) for line in lines]
    spans = _sentences(scored, backend.soft)
    shares = list(zip(pipeline.answers, judged.recall, judged.precision, strict=True))
    wholes = {
        "recall": {answer.id: whole_of(recall) for answer, recall, _ in shares},
        "precision": {answer.id: whole_of(precision) for answer, _, precision in shares},
    }
    wholes["f1"] = {name: both(wholes["recall"][name], wholes["precision"][name]) for name in wholes["recall"]}
    partial = frozenset(answer.id for answer, *own in shares if any(share.open and share.total for share in own))
    return [
        Measured(
            f"{pipeline.name}:{measure}:{backend.name}",
            {**pipeline.fields, "measure": measure, **backend.fields},
            spans[measure],
            wholes[measure],
            partial,
            backend.ledger,
        )
        for measure in _TRIPLE
    ]


def autoais_measures(
    answers: Sequence[Answer], splits: Sequence[Split], fields: Mapping[str, object], backend: Backend
) -> list[Measured]:
    """AutoAIS of CiteEval's statements under a backend. fields: what the signature says of the statements."""
    triples = autoais(answers, splits, backend.entails)
    found = []
    for measure in _TRIPLE:
        spans = {
            answer.id: [
                SpanValue(one.start, one.end, _of_triple(triple, measure))
                for one, triple in zip(split.statements, own, strict=True)
            ]
            for answer, split, own in zip(answers, splits, triples, strict=True)
        }
        wholes = {
            answer.id: _of_triple(response_triple(own), measure) if own else NO_VALUE
            for answer, own in zip(answers, triples, strict=True)
        }
        named = {"pipeline": "autoais", **fields, "measure": measure, **backend.fields}
        found.append(
            Measured(f"autoais:{measure}:{backend.name}", named, spans, wholes, ledger=backend.ledger),
        )
    return found


def read_measures(files: Sequence[Path], answers: Sequence[Answer]) -> list[Measured]:
    """Scores that were made elsewhere; an answer without one of its own has the mean of its sentences'.

    Raises `UserError` as `read_given` does, and for two files that name the same measure.
    """
    by_id = {answer.id: answer for answer in answers}
    found: dict[str, Measured] = {}
    for path in files:
        for measure, scores in read_given(path, by_id).items():
            name = f"scores:{measure}"
            if name in found:
                raise UserError(f"Two files of scores name a measure {measure!r}: give it another name in one of them.")
            means = {answer: _mean_of_known([one.said for one in own]) for answer, own in scores.spans.items()}
            pinned = f"{path.name}@sha256:{sha256_file(path)[:12]}"
            fields = {"pipeline": "scores", "measure": measure, "file": pinned}
            found[name] = Measured(name, fields, scores.spans, {**means, **scores.wholes})
    return list(found.values())


def whole_of(share: Share) -> Valued:
    """An answer's value: missing where nothing is left but what has no verdict."""
    if share.value is None:
        return Valued(None, "missing") if share.open else NO_VALUE
    return Valued(share.value)


def both(recall: Valued, precision: Valued) -> Valued:
    """F1 of two values; missing where one of them is, and no value where one has none."""
    lost = next((one for one in (recall, precision) if one.state == "missing"), None)
    if lost is not None:
        return lost
    value = f1(precision.value, recall.value)
    return NO_VALUE if value is None else Valued(value)


def _sentences(lines: Sequence[SoftLine], soft: bool) -> dict[str, dict[str, list[SpanValue]]]:
    """The values of each sentence that holds a claim, by measure and answer."""
    by_line = {id(one.line): one for one in lines}
    places: dict[tuple[str, int], tuple[int, int]] = {}
    recall: dict[tuple[str, int], list[Valued]] = {}
    precision: dict[tuple[str, int], list[Valued]] = {}
    for line in claims_of([one.line for one in lines]):
        if line.sentence is not None and line.sentence_start is not None and line.sentence_end is not None:
            key = line.answer, line.sentence
            places.setdefault(key, (line.sentence_start, line.sentence_end))
            one = by_line[id(line)]
            lost = bool(one.reason) if soft else unjudged_claim(line)
            recall.setdefault(key, []).append(_valued(one.recall, lost, one.reason))
    for one in lines:
        if one.line.sentence is not None:
            lost = bool(one.reason) if soft else one.line.state == "unjudged"
            own = _valued(one.precision, lost, one.reason)
            precision.setdefault((one.line.answer, one.line.sentence), []).append(own)
    found: dict[str, dict[str, list[SpanValue]]] = {measure: {} for measure in _TRIPLE}
    for (answer, sentence), place in places.items():
        values = mean_of(recall[answer, sentence]), mean_of(precision.get((answer, sentence), ()))
        for measure, value in zip(_TRIPLE, (*values, both(*values)), strict=True):
            found[measure].setdefault(answer, []).append(SpanValue(*place, value))
    return found


def _valued(value: float | None, lost: bool, reason: str) -> Valued:
    if value is not None:
        return Valued(value)
    return Valued(None, "missing", reason) if lost else NO_VALUE


def _of_triple(triple: Triple, measure: str) -> Valued:
    value: float | None = getattr(triple, measure)
    return Valued(None, "missing") if value is None else Valued(value)


def _mean_of_known(values: Iterable[Valued]) -> Valued:
    known = [one for one in values if one.state != "missing"]
    return mean_of(known) if known else Valued(None, "missing", "absent")


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)
