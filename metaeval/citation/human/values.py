"""What pipelines, or files of scores, say of rated answers, sentence by sentence and answer by answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from metaeval.citation.citeeval.baselines import Open, Triple, response_triple
from metaeval.citation.citeeval.evaluate import Measure, ResponseValues
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.citeeval.values import ResponseValue, Scenario, in_scenario
from metaeval.citation.human.model import NO_VALUE, AnswerValues, Ends, SpanValue, Valued, mean_of
from metaeval.citation.human.readers import Given
from metaeval.citation.measures import Share, f1
from metaeval.citation.model import Answer
from metaeval.citation.scifi.model import AnswerFacts, FactLine
from metaeval.citation.scifi.shares import entailments
from metaeval.citation.table import Line, claims_of, unjudged_claim

_TRIPLE = ("recall", "precision", "f1")
_JUDGED: tuple[Measure, ...] = ("auto", "rating", "edits")


def claim_values(
    answers: Sequence[Answer],
    lines: Sequence[Line],
    recall: Sequence[Share],
    precision: Sequence[Share],
    soft: bool = False,
) -> dict[str, AnswerValues]:
    """Recall, precision and F1 of claims and citations; recall, precision: of each answer.

    A sentence's recall is the mean over its claims, its precision that over its citations. soft: the lines have
    degrees of support, and what a missing one could be is not known. Raises ValueError if the lengths differ.
    """
    spans = _sentences(lines)
    shares = zip(answers, recall, precision, strict=True)
    wholes = {answer.id: _wholes(one, other, soft) for answer, one, other in shares}
    return {
        measure: AnswerValues(spans[measure], {name: own[measure] for name, own in wholes.items()})
        for measure in _TRIPLE
    }


def triple_values(
    answers: Sequence[Answer], splits: Sequence[Split], triples: Sequence[Sequence[Triple]]
) -> dict[str, AnswerValues]:
    """Recall, precision and F1 from the triples of CiteEval's statements. Raises ValueError if the lengths differ."""
    every = list(zip(answers, splits, triples, strict=True))
    return {
        measure: AnswerValues(
            {
                answer.id: [
                    SpanValue(one.start, one.end, _valued(triple[measure].value, lost=True))
                    for one, triple in zip(split.statements, own, strict=True)
                ]
                for answer, split, own in every
            },
            {answer.id: _open(response_triple(own)[measure]) for answer, _, own in every if own},
        )
        for measure in _TRIPLE
    }


def fact_values(facts: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> AnswerValues:
    """SCiFi's citation entailment: a sentence's is the mean over its facts."""
    said: dict[tuple[str, int], list[Valued]] = {}
    for line in lines:
        own = _valued(line.value, line.state == "unjudged", line.reason)
        said.setdefault((line.answer, line.sentence), []).append(own)
    spans = {
        each.answer.id: [
            SpanValue(
                sentence.start,
                sentence.end,
                Valued(None, "missing", each.lost[sentence.number])
                if sentence.number in each.lost and sentence.groups
                else mean_of(said.get((each.answer.id, sentence.number), ())),
            )
            for sentence in each.sentences
        ]
        for each in facts
    }
    shares = {each.answer.id: share for each, share in zip(facts, entailments(facts, lines), strict=True)}
    return AnswerValues(spans, {answer: _whole(share) for answer, share in shares.items()})


def citeeval_values(results: Sequence[ResponseValues], scenario: Scenario) -> dict[str, AnswerValues]:
    """CiteEval-Auto, its rating and its edit distance, in a scenario."""
    return {
        measure: AnswerValues(
            {result.answer: _statements(result, measure, scenario) for result in results},
            {result.answer: _open(result.values[measure, scenario]) for result in results},
        )
        for measure in _JUDGED
    }


def given_values(given: Given) -> AnswerValues:
    """Scores that were made elsewhere; an answer without one of its own has the mean of its sentences'."""
    wholes = dict(given.wholes)
    for answer, own in given.spans.items():
        known = [one.said for one in own if one.said.state != "missing"]
        mean = mean_of(known) if known else Valued(None, "missing", "absent")
        wholes.setdefault(answer, replace(mean, in_part=0 < len(known) < len(own)))
    return AnswerValues(given.spans, wholes)


def both(recall: Valued, precision: Valued) -> Valued:
    """F1 of two values; missing where one of them is, and no value where one has none."""
    lost = next((one for one in (recall, precision) if one.state == "missing"), None)
    return lost or _valued(f1(precision.value, recall.value), lost=False)


def _triple(recall: Valued, precision: Valued) -> dict[str, Valued]:
    return dict(zip(_TRIPLE, (recall, precision, both(recall, precision)), strict=True))


def _whole(share: Share) -> Valued:
    """An answer's value: missing where nothing is left but what has no verdict."""
    whole = _valued(share.value, bool(share.open))
    return replace(whole, in_part=bool(share.open and share.total), ends=_filled(share)) if share.open else whole


def _wholes(recall: Share, precision: Share, soft: bool) -> dict[str, Valued]:
    """An answer's values; all are in part, and could be others, where one of both is. F1 grows with both."""
    one, other = _filled(recall), _filled(precision)
    least, most = (f1(*parts) for parts in zip(other, one, strict=True)) if one and other else (None, None)
    ends = dict(zip(_TRIPLE, (one, other, _known(least, most)), strict=True))
    in_part = any(share.open and share.total for share in (recall, precision))
    is_open = not soft and (recall.open or precision.open)
    return {
        measure: replace(own, in_part=in_part and own.value is not None, ends=ends[measure] if is_open else None)
        for measure, own in _triple(_whole(recall), _whole(precision)).items()
    }


def _filled(share: Share) -> Ends | None:
    """A share with every missing verdict against it, and for it; None where there is nothing to share."""
    return _known(share.filled(False).value, share.filled(True).value)


def _open(one: Open | ResponseValue) -> Valued:
    """The value of an answer, with the least and the most that it could be."""
    missing = one.missing > 0 if isinstance(one, ResponseValue) else one.value is None
    ends = _known(one.least, one.most) if missing else None
    return replace(_valued(one.value, missing), in_part=missing and one.value is not None, ends=ends)


def _known(least: float | None, most: float | None) -> Ends | None:
    return None if least is None or most is None else (least, most)


def _sentences(lines: Sequence[Line]) -> dict[str, dict[str, list[SpanValue]]]:
    """The values of each sentence that holds a claim, by measure and answer."""
    places: dict[tuple[str, int | None], tuple[int, int]] = {}
    recall: dict[tuple[str, int | None], list[Valued]] = {}
    precision: dict[tuple[str, int | None], list[Valued]] = {}
    for line in lines:
        own = _valued(line.precision, line.state == "unjudged", line.reason)
        precision.setdefault((line.answer, line.sentence), []).append(own)
    for line in claims_of(lines):
        if line.sentence_start is not None and line.sentence_end is not None:
            places.setdefault((line.answer, line.sentence), (line.sentence_start, line.sentence_end))
            own = _valued(line.recall, unjudged_claim(line), line.reason)
            recall.setdefault((line.answer, line.sentence), []).append(own)
    found: dict[str, dict[str, list[SpanValue]]] = {measure: {} for measure in _TRIPLE}
    for (answer, sentence), place in places.items():
        triple = _triple(mean_of(recall[answer, sentence]), mean_of(precision[answer, sentence]))
        for measure, value in triple.items():
            found[measure].setdefault(answer, []).append(SpanValue(*place, value))
    return found


def _valued(value: float | None, lost: bool, reason: str = "") -> Valued:
    """A value; without one it is missing where a verdict is lost, and else there is none."""
    if value is not None:
        return Valued(value)
    return Valued(None, "missing", reason) if lost else NO_VALUE


def _statements(result: ResponseValues, measure: Measure, scenario: Scenario) -> list[SpanValue]:
    # A statement that a reply skips has no judgement of its own, though the reply was read.
    reason = "unparsed" if result.judged.editing in ("read", "in part", "not asked") else result.judged.editing
    cited = [bool(one.statement.citations) for one in result.statements]
    values = in_scenario([one.values[measure] for one in result.statements], cited, scenario)
    return [
        SpanValue(one.statement.start, one.statement.end, _valued(value.value, value.state == "missing", reason))
        for one, value in zip(result.statements, values, strict=True)
    ]
