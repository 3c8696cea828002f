"""Coverage: how far an answer says what its reference says."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.citation.model import Entails, Pair
from metaeval.citation.scifi.model import AnswerFacts, CoverageLine
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.values import judge_pairs, value_of


def coverage_lines(
    read: Sequence[AnswerFacts], entails: Entails, options: ScifiOptions | None = None, soft: bool = False
) -> list[CoverageLine]:
    """One line for each fact of each reference, in order; everything is asked in one call of `entails`.

    The whole answer without its marks is the premise, or with the option `coverage=fact` the hypothesis. An answer
    without a sentence covers nothing: its values are 0, and nothing is asked. Answers without a reference have no line.
    """
    options = options or ScifiOptions()
    pairs = [
        (each, number, fact, _pair(each, fact, options))
        for each in read
        for number, fact in enumerate(each.reference.facts if each.reference else (), start=1)
    ]
    known = judge_pairs([pair for *_, pair in pairs if pair is not None], entails, soft)
    lines: list[CoverageLine] = []
    for each, number, fact, pair in pairs:
        verdict = None if pair is None else known[pair]
        value = 0.0 if verdict is None else value_of(verdict, soft)
        lines.append(
            CoverageLine(
                answer=each.answer.id,
                group=each.answer.group or each.answer.id,
                system=each.answer.system,
                fact_number=number,
                fact=fact,
                value=value,
                reason="" if verdict is None or value is not None else verdict.status,
                cut=verdict is not None and verdict.cut,
            )
        )
    return lines


def _pair(each: AnswerFacts, fact: str, options: ScifiOptions) -> Pair | None:
    text = " ".join(sentence.text for sentence in each.sentences)
    if not text:
        return None
    return (text, fact) if options.coverage == "answer" else (fact, text)
