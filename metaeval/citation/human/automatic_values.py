"""The values that pipelines, or files of scores, give to the sentences and the whole of rated answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from metaeval.citation.citation_table import CitationLine, claims_of, unjudged_claim
from metaeval.citation.citeeval.baselines import Open, mean
from metaeval.citation.citeeval.score_rules import NEEDS_NONE, CitedScenario, ResponseValue, in_scenario
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.citeeval.values import CiteEvalMeasure, ResponseValues, measures_of
from metaeval.citation.data_model import Answer
from metaeval.citation.human.ratings import (
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
    """Return recall, precision and F1 of claims and citations; recall, precision: of each answer.

    A sentence's recall is the mean over its claims, its precision the mean over its citations. soft: the lines hold
    degrees of support, whose possible values are not known where they are missing. Raises ValueError if the lengths
    differ.
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
    """Return the measures of a baseline from its values of CiteEval's statements.

    A response's value is the mean over all its statements. Raises ValueError if the lengths differ.
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
                wholes[measure][answer.id] = _open(mean(column))
    return {measure: AnswerValues(spans[measure], wholes[measure]) for measure in measures}


def fact_values(
    facts: Sequence[AnswerFacts], lines: Sequence[FactLine], options: ScifiOptions = DEFAULTS
) -> AnswerValues:
    """Return SCiFi's citation entailment; a sentence's is the mean over its facts."""
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
    """Return CiteEval-Auto, its rating and its edit distance (of a judge without edits, the rating), in a scenario."""
    measured = measures_of(results[0].judged.mode if results else "edits")
    return {
        measure: AnswerValues(
            {result.answer: _statements(result, measure, scenario) for result in results},
            {result.answer: _open(result.values[measure, scenario]) for result in results},
        )
        for measure in _JUDGED
        if measure in measured
    }


def score_file_values(scores: AnswerValues) -> AnswerValues:
    """Return the scores of a file; an answer without a score of its own gets the mean of its sentences'."""
    wholes = dict(scores.wholes)
    for answer, spans in scores.spans.items():
        wholes.setdefault(answer, mean_in_part([span.value for span in spans]))
    return AnswerValues(scores.spans, wholes)


def both(recall: Valued, precision: Valued) -> Valued:
    """Return F1 of recall and precision; missing where either is missing, no value where either has none."""
    lost = next((value for value in (recall, precision) if value.state == "missing"), None)
    return lost or _valued(f1(precision.value, recall.value), lost=False)


def _triple(recall: Valued, precision: Valued) -> dict[str, Valued]:
    return {"recall": recall, "precision": precision, "f1": both(recall, precision)}


def _whole(share: AnswerShare) -> Valued:
    """Return a share of an answer as its value; missing where all of its verdicts are missing."""
    whole = _valued(share.value, bool(share.open))
    return replace(whole, in_part=bool(share.open and share.total), ends=_filled(share)) if share.open else whole


def _wholes(recall: AnswerShare, precision: AnswerShare, soft: bool) -> dict[str, Valued]:
    """Return recall, precision and F1 of an answer; where verdicts are missing, all are partial and have bounds.

    soft: the shares are of degrees of support, whose bounds are not known.
    """
    recall_ends, precision_ends, f1_ends = _filled(recall), _filled(precision), None
    if recall_ends and precision_ends:
        f1_ends = _known(*map(f1, precision_ends, recall_ends))
    ends = {"recall": recall_ends, "precision": precision_ends, "f1": f1_ends}
    in_part = any(share.open and share.total for share in (recall, precision))
    is_open = not soft and (recall.open or precision.open)
    return {
        measure: replace(value, in_part=in_part and value.value is not None, ends=ends[measure] if is_open else None)
        for measure, value in _triple(_whole(recall), _whole(precision)).items()
    }


def _filled(share: AnswerShare) -> AnswerBounds | None:
    """Return the lowest and highest possible value of a share: every missing verdict negative, or positive.

    None for an empty share.
    """
    return _known(share.filled(False).value, share.filled(True).value)


def _open(value: Open | ResponseValue) -> Valued:
    """Return a value of an answer that may lack verdicts, with its lowest and highest possible value."""
    missing = value.missing > 0 if isinstance(value, ResponseValue) else value.value is None
    ends = _known(value.least, value.most) if missing else None
    return replace(_valued(value.value, missing), in_part=missing and value.value is not None, ends=ends)


def _known(least: float | None, most: float | None) -> AnswerBounds | None:
    return None if least is None or most is None else (least, most)


def _sentences(lines: Sequence[CitationLine]) -> dict[str, dict[str, list[SpanValue]]]:
    """Return the values of each sentence that holds a claim, by measure and answer."""
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
    """Return a value with its state; None counts as missing where a verdict is lost, and as no value otherwise."""
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
