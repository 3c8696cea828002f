"""What citation pipelines, or files of scores, say of answers, sentence by sentence and answer by answer.

Every measure is named pipeline:measure:backend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval.citation.chat import Chat
from metaeval.citation.citeeval.baselines import Triple, autoais, response_triple
from metaeval.citation.citeeval.evaluate import Measure, ResponseValues
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.citeeval.values import Scenario, in_scenario
from metaeval.citation.human.model import NO_VALUE, SpanValue, Valued, mean_of
from metaeval.citation.human.readers import read_given
from metaeval.citation.measures import Share, SoftLine, f1, soften
from metaeval.citation.model import Answer
from metaeval.citation.scifi.entailment import fact_lines
from metaeval.citation.scifi.model import AnswerFacts, FactLine
from metaeval.citation.scifi.shares import entailments, lost_citing
from metaeval.citation.scifi.with_model import facts_signature, read_with_model
from metaeval.citation.scifi.with_parser import read_with_parser
from metaeval.citation.table import claims_of, unjudged_claim
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.citing.citeeval_run import asked_fields, changed_options
from metaeval.experiment.citing.claims import Reading, judge
from metaeval.experiment.citing.meta.model import Ends, Measured, ToMeasure
from metaeval.experiment.citing.scifi_tables import one_fact_each
from metaeval.experiment.verdicts import Backend
from metaeval.files import sha256_file

_TRIPLE = ("recall", "precision", "f1")
_MEASURES: tuple[Measure, ...] = ("auto", "rating", "edits")


def citation_measures(pipeline: Reading, backend: Backend, config: RunConfig) -> list[Measured]:
    """Recall, precision and F1 of ALCE or ALiiCE under a backend.

    A sentence's recall is the mean over its claims, its precision that over its citations.
    """
    judged = judge(pipeline, [backend], config).judged[0]
    lines = judged.lines if not backend.soft else pipeline.lines(backend.entails)
    if backend.soft:
        scored = soften(pipeline.answers, lines, backend.entails, pipeline.untitled, pipeline.zero)
    else:
        scored = [SoftLine(line, line.recall, line.precision, line.reason) for line in lines]
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
        ends: dict[str, Ends] = {}
        for answer, own in zip(answers, triples, strict=True):
            whole = response_triple(own)
            least, most = whole[measure].least, whole[measure].most
            if least is not None and most is not None and any(one.value is None for one in whole.values()):
                ends[answer.id] = (least, most)
        found.append(
            Measured(f"autoais:{measure}:{backend.name}", named, spans, wholes, ledger=backend.ledger, ends=ends)
        )
    return found


def whole_of(share: Share) -> Valued:
    """An answer's value: missing where nothing is left but what has no verdict."""
    return _valued(share.value, bool(share.open))


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


def _valued(value: float | None, lost: bool, reason: str = "") -> Valued:
    """A value; without one it is missing where a verdict is lost, and else there is none."""
    if value is not None:
        return Valued(value)
    return Valued(None, "missing", reason) if lost else NO_VALUE


def _of_triple(triple: Triple, measure: str) -> Valued:
    return _valued(triple[measure].value, lost=True)


def read_facts(read: ToMeasure, chat: Chat | None) -> tuple[list[AnswerFacts], dict[str, object]]:
    """The facts of every answer, made by the parser or by the chat model, and what the signature says of them."""
    options, splitter = read.scifi, read.splitter
    fields: dict[str, object] = {"pipeline": "scifi", "options": options.signature, "splitter": splitter.name}
    if read.parser is not None:
        facts = read_with_parser(read.answers, options, read.parser, splitter)
        return facts, {**fields, "facts": facts_signature(options, read.parser)}
    if read.chat is None or chat is None:
        raise ValueError("facts need a parser or a chat model")
    facts = read_with_model(read.answers, options, chat.ask, read.chat, splitter)
    made = facts_signature(options, chat=read.chat)
    return facts, {**fields, "facts": made, "answered_as": ", ".join(chat.models) or read.chat.model}


def scifi_measure(
    read: ToMeasure, facts: Sequence[AnswerFacts], fields: Mapping[str, object], backend: Backend
) -> Measured:
    """Citation entailment under a backend: a sentence's is the mean over its facts."""
    lines = fact_lines(facts, backend.entails, read.scifi, backend.soft, read.splitter)
    own = {answer.id: share for answer, share in zip(read.answers, entailments(facts, lines), strict=True)}
    lost = sum(len(lost_citing(each)) for each in facts)
    return Measured(
        name=f"scifi:entailment:{backend.name}",
        fields={**fields, "measure": "entailment", **backend.fields},
        spans=_facts_by_sentence(facts, lines),
        wholes={name: whole_of(share) for name, share in own.items()},
        partial=frozenset(name for name, share in own.items() if share.open and share.total),
        ledger=backend.ledger,
        ends={name: ends for name, share in own.items() if share.open and (ends := filled_ends(share)) is not None},
        assumed=one_fact_each(lost) if lost else "",
    )


def citeeval_measures(
    read: ToMeasure, asking: Asking, results: Sequence[ResponseValues], models: Sequence[str]
) -> list[Measured]:
    """CiteEval-Auto, its rating and its edit distance, in the run's scenario."""
    fields = {
        "pipeline": "citeeval",
        "profile": "paper",
        "options": changed_options("paper", read.citeeval),
        "scenario": read.scenario,
        "splitter": "as published" if read.human.splits else read.splitter.name,
        **asked_fields(asking, models),
    }
    found = []
    for measure in _MEASURES:
        values = {result.answer: result.values[measure, read.scenario] for result in results}
        lost = {answer: value for answer, value in values.items() if value.missing}
        found.append(
            Measured(
                name=f"citeeval:{measure}",
                fields={**fields, "measure": measure},
                spans={result.answer: _statements(result, measure, read.scenario) for result in results},
                wholes={answer: _valued(value.value, bool(value.missing)) for answer, value in values.items()},
                partial=frozenset(answer for answer, value in lost.items() if value.value is not None),
                ends={
                    answer: (value.least, value.most)
                    for answer, value in lost.items()
                    if value.least is not None and value.most is not None
                },
            )
        )
    return found


def _facts_by_sentence(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> dict[str, list[SpanValue]]:
    said: dict[tuple[str, int], list[Valued]] = {}
    for line in lines:
        said.setdefault((line.answer, line.sentence), []).append(
            _valued(line.value, line.state == "unjudged", line.reason)
        )
    return {
        own.answer.id: [
            SpanValue(
                sentence.start,
                sentence.end,
                Valued(None, "missing", own.lost[sentence.number])
                if sentence.number in own.lost and sentence.groups
                else mean_of(said.get((own.answer.id, sentence.number), ())),
            )
            for sentence in own.sentences
        ]
        for own in read
    }


def _statements(result: ResponseValues, measure: Measure, scenario: Scenario) -> list[SpanValue]:
    # A statement that a reply skips has no judgement of its own, though the reply was read.
    reason = "unparsed" if result.judged.editing in ("read", "in part", "not asked") else result.judged.editing
    cited = [bool(one.statement.citations) for one in result.statements]
    values = in_scenario([one.values[measure] for one in result.statements], cited, scenario)
    return [
        SpanValue(one.statement.start, one.statement.end, _valued(value.value, value.state == "missing", reason))
        for one, value in zip(result.statements, values, strict=True)
    ]


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
            known = {
                answer: [one.said for one in own if one.said.state != "missing"] for answer, own in scores.spans.items()
            }
            lost = Valued(None, "missing", "absent")
            means = {answer: mean_of(own) if own else lost for answer, own in known.items()}
            pinned = f"{path.name}@sha256:{sha256_file(path)[:12]}"
            fields = {"pipeline": "scores", "measure": measure, "file": pinned}
            partial = frozenset(
                answer
                for answer, own in scores.spans.items()
                if answer not in scores.wholes and {"missing", "valued"} <= {one.said.state for one in own}
            )
            found[name] = Measured(name, fields, scores.spans, {**means, **scores.wholes}, partial)
    return list(found.values())
