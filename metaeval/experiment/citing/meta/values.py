"""What citation pipelines say of answers, sentence by sentence and answer by answer, as columns to hold against people.

Every measure is named pipeline:measure:backend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from metaeval.citation.citeeval.baselines import Triple, autoais, response_triple
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.human.model import NO_VALUE, SpanValue, Valued, mean_of
from metaeval.citation.measures import Share, f1
from metaeval.citation.model import Answer
from metaeval.citation.soft import SoftLine, soften
from metaeval.citation.table import claims_of, unjudged_claim
from metaeval.config import RunConfig
from metaeval.experiment.citing.claims import Reading, judge
from metaeval.experiment.verdicts import Backend
from metaeval.report.result import Ledger

Spans = Mapping[str, Sequence[SpanValue]]
Ends = tuple[float, float]
_TRIPLE = ("recall", "precision", "f1")


@dataclass(frozen=True, eq=False)
class Measured:
    """One measure of one pipeline under one judge.

    fields: what the signature says of it. spans: its values of sentences, by answer; empty where it has none of single
    sentences. wholes: its value of each answer. partial: answers whose value leaves out what has no verdict. ends: the
    least and the most that the value of an answer could be that a verdict is missing of, where that is known. assumed:
    what the ends take for granted.
    """

    name: str
    fields: Mapping[str, object]
    spans: Spans
    wholes: Mapping[str, Valued]
    partial: frozenset[str] = field(default_factory=frozenset)
    ledger: Ledger | None = None
    ends: Mapping[str, Ends] = field(default_factory=dict)
    assumed: str = ""

    @property
    def headline(self) -> bool:
        """Whether it is the one that its pipeline is known by: F1, entailment, CiteEval-Auto, or scores of others."""
        pipeline, measure = self.name.split(":")[:2]
        return pipeline == "scores" or measure in ("f1", "entailment", "auto")


def citation_measures(pipeline: Reading, backend: Backend, config: RunConfig) -> list[Measured]:
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
    # A soft score can be anything that its metric gives.
    ends = {} if backend.soft else {answer.id: _ends(*own) for answer, *own in shares if any(one.open for one in own)}
    return [
        Measured(
            f"{pipeline.name}:{measure}:{backend.name}",
            {**pipeline.fields, "measure": measure, **backend.fields},
            spans[measure],
            wholes[measure],
            partial,
            backend.ledger,
            {name: known for name, own in ends.items() if (known := own[measure]) is not None},
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
        place = ("precision", "recall", "f1").index(measure)
        ends = {
            answer.id: (whole.least[place], whole.most[place])
            for answer, own in zip(answers, triples, strict=True)
            if own and (whole := response_triple(own)).least is not None and whole.most is not None
        }
        found.append(
            Measured(f"autoais:{measure}:{backend.name}", named, spans, wholes, ledger=backend.ledger, ends=ends),
        )
    return found


def whole_of(share: Share) -> Valued:
    """An answer's value: missing where nothing is left but what has no verdict."""
    if share.value is None:
        return Valued(None, "missing") if share.open else NO_VALUE
    return Valued(share.value)


def filled_ends(share: Share) -> Ends | None:
    """A share with every missing verdict against it, and for it; None where there is nothing to share."""
    least, most = share.filled(False).value, share.filled(True).value
    return None if least is None or most is None else (least, most)


def both(recall: Valued, precision: Valued) -> Valued:
    """F1 of two values; missing where one of them is, and no value where one has none."""
    lost = next((one for one in (recall, precision) if one.state == "missing"), None)
    if lost is not None:
        return lost
    value = f1(precision.value, recall.value)
    return NO_VALUE if value is None else Valued(value)


def _ends(recall: Share, precision: Share) -> dict[str, Ends | None]:
    """By measure; F1 grows with both of its parts."""
    one, other = filled_ends(recall), filled_ends(precision)
    found: dict[str, Ends | None] = {"recall": one, "precision": other, "f1": None}
    if one is not None and other is not None:
        least, most = f1(other[0], one[0]), f1(other[1], one[1])
        found["f1"] = None if least is None or most is None else (least, most)
    return found


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


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)
