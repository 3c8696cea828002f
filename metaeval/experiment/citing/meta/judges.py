"""The pipelines of a meta-evaluation that do not read sentences alone: SCiFi by facts, CiteEval by a chat model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.citation.chat.opening import Chat
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.evaluate import Measure, ResponseValues
from metaeval.citation.citeeval.values import Scenario, Value, in_scenario
from metaeval.citation.human.model import NO_VALUE, SpanValue, Valued, mean_of
from metaeval.citation.scifi.entailment import fact_lines
from metaeval.citation.scifi.model import AnswerFacts, FactLine
from metaeval.citation.scifi.shares import entailments, lost_citing
from metaeval.citation.scifi.with_model import facts_signature, read_with_model
from metaeval.citation.scifi.with_parser import read_with_parser
from metaeval.experiment.citing.citeeval_run import asked_fields, changed_options
from metaeval.experiment.citing.meta.settings import MetaPrepared
from metaeval.experiment.citing.meta.values import Measured, filled_ends, whole_of
from metaeval.experiment.citing.scifi_tables import one_fact_each
from metaeval.experiment.verdicts import Backend

_MEASURES: tuple[Measure, ...] = ("auto", "rating", "edits")


def read_facts(prepared: MetaPrepared, chat: Chat | None) -> tuple[list[AnswerFacts], dict[str, object]]:
    """The facts of every answer, made by the parser or by the chat model, and what the signature says of them."""
    options, splitter = prepared.scifi, prepared.splitter
    fields: dict[str, object] = {"pipeline": "scifi", "options": options.signature, "splitter": splitter.name}
    if prepared.parser is not None:
        read = read_with_parser(prepared.answers, options, prepared.parser, splitter)
        return read, {**fields, "facts": facts_signature(options, prepared.parser)}
    if prepared.chat is None or chat is None:
        raise ValueError("facts need a parser or a chat model")
    read = read_with_model(prepared.answers, options, chat.ask, prepared.chat, splitter)
    made = facts_signature(options, chat=prepared.chat)
    return read, {**fields, "facts": made, "answered_as": ", ".join(chat.models) or prepared.chat.model}


def scifi_measure(
    prepared: MetaPrepared, read: Sequence[AnswerFacts], fields: Mapping[str, object], backend: Backend
) -> Measured:
    """Citation entailment under a backend: a sentence's is the mean over its facts."""
    lines = fact_lines(read, backend.entails, prepared.scifi, backend.soft, prepared.splitter)
    shares = entailments(read, lines)
    own = {answer.id: share for answer, share in zip(prepared.answers, shares, strict=True)}
    lost = sum(len(lost_citing(each)) for each in read)
    return Measured(
        name=f"scifi:entailment:{backend.name}",
        fields={**fields, "measure": "entailment", **backend.fields},
        spans=_facts_by_sentence(read, lines),
        wholes={name: whole_of(share) for name, share in own.items()},
        partial=frozenset(name for name, share in own.items() if share.open and share.total),
        ledger=backend.ledger,
        ends={name: ends for name, share in own.items() if share.open and (ends := filled_ends(share)) is not None},
        assumed=one_fact_each(lost) if lost else "",
    )


def citeeval_measures(
    prepared: MetaPrepared, asking: Asking, results: Sequence[ResponseValues], models: Sequence[str]
) -> list[Measured]:
    """CiteEval-Auto, its rating and its edit distance, in the run's scenario."""
    fields = {
        "pipeline": "citeeval",
        "profile": "paper",
        "options": changed_options("paper", prepared.citeeval),
        "scenario": prepared.scenario,
        "splitter": "as published" if prepared.human.splits else prepared.splitter.name,
        **asked_fields(asking, models),
    }
    return [
        Measured(
            name=f"citeeval:{measure}",
            fields={**fields, "measure": measure},
            spans={result.answer: _statements(result, measure, prepared.scenario) for result in results},
            wholes={result.answer: _whole(result, measure, prepared.scenario) for result in results},
            partial=frozenset(
                result.answer
                for result in results
                if (value := result.values[measure, prepared.scenario]).missing and value.value is not None
            ),
            ends={
                result.answer: (value.least, value.most)
                for result in results
                if (value := result.values[measure, prepared.scenario]).missing
                and value.least is not None
                and value.most is not None
            },
        )
        for measure in _MEASURES
    ]


def _facts_by_sentence(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> dict[str, list[SpanValue]]:
    said: dict[tuple[str, int], list[Valued]] = {}
    for line in lines:
        said.setdefault((line.answer, line.sentence), []).append(_fact(line))
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


def _fact(line: FactLine) -> Valued:
    if line.value is not None:
        return Valued(line.value)
    return Valued(None, "missing", line.reason) if line.state == "unjudged" else NO_VALUE


def _statements(result: ResponseValues, measure: Measure, scenario: Scenario) -> list[SpanValue]:
    cited = [bool(one.statement.citations) for one in result.statements]
    values = in_scenario([one.values[measure] for one in result.statements], cited, scenario)
    return [
        SpanValue(one.statement.start, one.statement.end, _valued(value, result))
        for one, value in zip(result.statements, values, strict=True)
    ]


def _valued(value: Value, result: ResponseValues) -> Valued:
    if value.value is not None:
        return Valued(value.value)
    # A statement that a reply skips has no judgement of its own, though the reply was read.
    reason = "unparsed" if result.judged.editing in ("read", "in part", "not asked") else result.judged.editing
    return Valued(None, "missing", reason) if value.state == "missing" else NO_VALUE


def _whole(result: ResponseValues, measure: Measure, scenario: Scenario) -> Valued:
    found = result.values[measure, scenario]
    if found.value is not None:
        return Valued(found.value)
    return Valued(None, "missing") if found.missing else NO_VALUE
