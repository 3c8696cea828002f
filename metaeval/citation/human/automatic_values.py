"""The values that pipelines, or files of scores, give to the sentences and the whole of rated answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from metaeval.citation.citation_table import CitationLine, claims_of, unjudged_claim
from metaeval.citation.citeeval.baselines import Open, mean
from metaeval.citation.citeeval.evaluate_responses import CiteEvalMeasure, ResponseValues, measures_of
from metaeval.citation.citeeval.options_and_values import NEEDS_NONE, CitedScenario, ResponseValue, in_scenario
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.data_model import Answer
from metaeval.citation.human.rated_statements import (
    NO_VALUE,
    AnswerBounds,
    AnswerValues,
    SpanValue,
    Valued,
    mean_in_part,
    mean_of,
)
from metaeval.citation.measures import AnswerShare, f1
from metaeval.citation.scifi.answer_measures import entailments, lost_citing
from metaeval.citation.scifi.data_model import DEFAULTS, AnswerFacts, FactLine, ScifiOptions

_TRIPLE = ("recall", "precision", "f1")
_JUDGED: tuple[CiteEvalMeasure, ...] = ("auto", "rating", "edits")


def claim_values(
    answers: Sequence[Answer],
    lines: Sequence[CitationLine],
    recall: Sequence[AnswerShare],
    precision: Sequence[AnswerShare],
    soft: bool = False,
) -> dict[str, AnswerValues]:
    """Return the values of the measures "recall", "precision" and "f1" of claims and citations.

    lines: the citation table. recall, precision: the share of each answer. A sentence's recall is the mean over its
    claims, its precision the mean over its citations; either is missing where one of these lacks its verdict. soft: the
    verdicts are degrees of support, so that answers get no bounds. Raises ValueError if the lengths differ.
    """
    spans = _sentences(lines)
    shares = zip(answers, recall, precision, strict=True)
    triples = {answer.id: _wholes(of_recall, of_precision, soft) for answer, of_recall, of_precision in shares}
    wholes = {measure: {answer: triple[measure] for answer, triple in triples.items()} for measure in _TRIPLE}
    return {measure: AnswerValues(spans[measure], wholes[measure]) for measure in _TRIPLE}


def baseline_values(
    answers: Sequence[Answer],
    splits: Sequence[Split],
    values: Sequence[Sequence[Mapping[str, Open]]],
    measures: Sequence[str] = _TRIPLE,
) -> dict[str, AnswerValues]:
    """Return a baseline's values by measure, from its values of CiteEval's statements.

    values: for each answer and statement, by measure. A response's value is the mean over all its statements; without a
    statement it has none. Raises ValueError if the lengths differ.
    """
    spans: dict[str, dict[str, list[SpanValue]]] = {measure: {} for measure in measures}
    wholes: dict[str, dict[str, Valued]] = {measure: {} for measure in measures}
    for answer, split, statements in zip(answers, splits, values, strict=True):
        for measure in measures:
            column = [statement[measure] for statement in statements]
            spans[measure][answer.id] = [
                SpanValue(statement.start, statement.end, _valued(value.value, lost=True))
                for statement, value in zip(split.statements, column, strict=True)
            ]
            if column:
                wholes[measure][answer.id] = _answer_value(mean(column))
    return {measure: AnswerValues(spans[measure], wholes[measure]) for measure in measures}


def fact_values(
    facts: Sequence[AnswerFacts], lines: Sequence[FactLine], options: ScifiOptions = DEFAULTS
) -> AnswerValues:
    """Return SCiFi's citation entailment; a sentence's is the mean over its facts, and missing where one is missing."""
    by_sentence: dict[tuple[str, int], list[Valued]] = defaultdict(list)
    for line in lines:
        by_sentence[line.answer, line.sentence].append(_valued(line.value, line.state == "unjudged", line.reason))
    spans: dict[str, list[SpanValue]] = {}
    for each in facts:
        answer_spans = spans[each.answer.id] = []
        for sentence in each.sentences:
            value = mean_of(by_sentence[each.answer.id, sentence.number])
            if sentence.number in lost_citing(each, options):
                value = Valued(None, "missing", each.lost[sentence.number])
            answer_spans.append(SpanValue(sentence.start, sentence.end, value))
    shares = zip(facts, entailments(facts, lines, options), strict=True)
    return AnswerValues(spans, {each.answer.id: _whole(share) for each, share in shares})


def citeeval_values(results: Sequence[ResponseValues], scenario: CitedScenario) -> dict[str, AnswerValues]:
    """Return CiteEval-Auto, its rating and its edit distance in a scenario, by measure.

    A judge that makes no edits has the rating alone.
    """
    measured = measures_of(results[0].judged.mode if results else "edits")
    return {
        measure: AnswerValues(
            {result.answer: _statements(result, measure, scenario) for result in results},
            {result.answer: _answer_value(result.values[measure, scenario]) for result in results},
        )
        for measure in _JUDGED
        if measure in measured
    }


def score_file_values(scores: AnswerValues) -> AnswerValues:
    """Return a score file's values; an answer without a score of its own gets the mean over its scored sentences."""
    wholes = dict(scores.wholes)
    for answer, spans in scores.spans.items():
        wholes.setdefault(answer, mean_in_part([span.value for span in spans]))
    return AnswerValues(scores.spans, wholes)


def f1_value(recall: Valued, precision: Valued) -> Valued:
    """Return F1 of recall and precision; missing where either is missing, no value where either has none."""
    lost = next((value for value in (recall, precision) if value.state == "missing"), None)
    return lost or _valued(f1(precision.value, recall.value), lost=False)


def _triple(recall: Valued, precision: Valued) -> dict[str, Valued]:
    return {"recall": recall, "precision": precision, "f1": f1_value(recall, precision)}


def _whole(share: AnswerShare) -> Valued:
    """Return an answer's share as a value, with bounds where verdicts are missing; missing where all of them are."""
    whole = _valued(share.value, bool(share.open))
    return replace(whole, in_part=bool(share.open and share.total), ends=_bounds_of(share)) if share.open else whole


def _wholes(recall: AnswerShare, precision: AnswerShare, soft: bool) -> dict[str, Valued]:
    """Return an answer's values "recall", "precision" and "f1".

    A share all of whose verdicts are missing is missing, and so is F1. Where a share has known and missing verdicts,
    all known values are `in_part`. If any verdict is missing all three have bounds, unless `soft` (shares of degrees).
    """
    recall_ends, precision_ends, f1_ends = _bounds_of(recall), _bounds_of(precision), None
    if recall_ends and precision_ends:
        f1_ends = _bounds(*map(f1, precision_ends, recall_ends))
    ends = {"recall": recall_ends, "precision": precision_ends, "f1": f1_ends}
    in_part = any(share.open and share.total for share in (recall, precision))
    is_open = not soft and (recall.open or precision.open)
    return {
        measure: replace(value, in_part=in_part and value.value is not None, ends=ends[measure] if is_open else None)
        for measure, value in _triple(_whole(recall), _whole(precision)).items()
    }


def _bounds_of(share: AnswerShare) -> AnswerBounds | None:
    """Return the lowest and highest possible value of a share: every missing verdict negative, or positive.

    None for a share without verdicts, known or missing.
    """
    return _bounds(share.filled(False).value, share.filled(True).value)


def _answer_value(value: Open | ResponseValue) -> Valued:
    """Return an answer's value, with its lowest and highest possible value (if known) where verdicts are missing."""
    missing = value.missing > 0 if isinstance(value, ResponseValue) else value.value is None
    ends = _bounds(value.least, value.most) if missing else None
    return replace(_valued(value.value, missing), in_part=missing and value.value is not None, ends=ends)


def _bounds(least: float | None, most: float | None) -> AnswerBounds | None:
    return None if least is None or most is None else (least, most)


def _sentences(lines: Sequence[CitationLine]) -> dict[str, dict[str, list[SpanValue]]]:
    """Return the values of each sentence that holds a claim, by measure and answer id."""
    places: dict[tuple[str, int | None], tuple[int, int]] = {}
    recall: dict[tuple[str, int | None], list[Valued]] = defaultdict(list)
    precision: dict[tuple[str, int | None], list[Valued]] = defaultdict(list)
    for line in lines:
        precision[line.answer, line.sentence].append(_valued(line.precision, line.state == "unjudged", line.reason))
    for line in claims_of(lines):
        if line.sentence_start is not None and line.sentence_end is not None:
            places.setdefault((line.answer, line.sentence), (line.sentence_start, line.sentence_end))
            recall[line.answer, line.sentence].append(_valued(line.recall, unjudged_claim(line), line.reason))
    spans: dict[str, dict[str, list[SpanValue]]] = {measure: {} for measure in _TRIPLE}
    for (answer, sentence), place in places.items():
        triple = _triple(mean_of(recall[answer, sentence]), mean_of(precision[answer, sentence]))
        for measure, value in triple.items():
            spans[measure].setdefault(answer, []).append(SpanValue(*place, value))
    return spans


def _valued(value: float | None, lost: bool, reason: str = "") -> Valued:
    """Return a value with its state; None counts as missing if `lost` (with the reason), and as no value otherwise."""
    if value is not None:
        return Valued(value)
    return Valued(None, "missing", reason) if lost else NO_VALUE


def _statements(result: ResponseValues, measure: CiteEvalMeasure, scenario: CitedScenario) -> list[SpanValue]:
    # A statement that a reply skips has no judgement of its own, though the reply was read.
    reason = "unparsed" if result.judged.editing in ("read", "in part", "not asked") else result.judged.editing
    statements = [judged.statement for judged in result.statements]
    cited = [bool(statement.citations) for statement in statements]
    values = in_scenario([judged.values[measure] for judged in result.statements], cited, scenario, NEEDS_NONE)
    return [
        SpanValue(statement.start, statement.end, _valued(value.value, value.state == "missing", reason))
        for statement, value in zip(statements, values, strict=True)
    ]
