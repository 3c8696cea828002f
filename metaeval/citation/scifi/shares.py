"""SCiFi's quantities of each answer, as shares whose missing verdicts are kept apart.

A missing value lies between 0 and 1, so `Share.filled` gives the least and the most that an answer can have. How many
facts a sentence has that was not decomposed is not known: it is taken as one, so that an answer's ends are right where
such sentences state one fact each, and too narrow where they state several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from metaeval.citation.measures import AnswerShare, Statistic, macro, micro, sum_up
from metaeval.citation.model import Answer, Entails, answer_cells
from metaeval.citation.scifi.entailment import coverage_lines, fact_lines
from metaeval.citation.scifi.model import (
    DEFAULTS,
    LEFT_OUT,
    AnswerFacts,
    CoverageLine,
    FactLine,
    ScifiOptions,
    unread_marks,
)
from metaeval.citation.table import find_place
from metaeval.corpus.sentences import RULES, SentenceSplitter


@dataclass(frozen=True, eq=False)
class Scored:
    """Facts valued by one backend. facts, references: the lines. entailment, coverage: of each answer.

    statistics: citation entailment and coverage over facts and over answers, the average that the options name first.
    """

    facts: Sequence[FactLine]
    references: Sequence[CoverageLine]
    entailment: Sequence[AnswerShare]
    coverage: Sequence[AnswerShare]
    statistics: dict[str, Statistic]


def score_facts(
    read: Sequence[AnswerFacts], entails: Entails, options: ScifiOptions, soft: bool, splitter: SentenceSplitter = RULES
) -> Scored:
    """Value the facts of the answers and of their references. Raises ValueError for a soft score outside 0 to 1."""
    lines = fact_lines(read, entails, options, soft, splitter)
    references = coverage_lines(read, entails, options, soft)
    shares = {"entailment": entailments(read, lines), "coverage": coverages(read, references)}
    means = {"facts": micro, "answers": macro}
    statistics = {
        f"{measure}_{average}": means[average](own) for measure, own in shares.items() for average in averages(options)
    }
    return Scored(lines, references, shares["entailment"], shares["coverage"], statistics)


def averages(options: ScifiOptions) -> tuple[str, str]:
    """The two averages, the headline first."""
    return ("facts", "answers") if options.average == "facts" else ("answers", "facts")


def text_shares(
    read: Sequence[AnswerFacts], lines: Sequence[FactLine], options: ScifiOptions
) -> dict[str, list[AnswerShare]]:
    """What the answers are like, of each answer; no verdict is needed."""
    return {
        "density": densities(read, options),
        "density_sub": densities(read, options, inside=True),
        "facts_per_sentence": [AnswerShare(len(own.facts), len(own.sentences) - len(own.lost)) for own in read],
        "uncited": uncited([own.answer for own in read], lines),
        "citations_without_facts": citations_without_facts(read, lines, options),
        "not_found": unmapped(read),
    }


def fact_row(line: FactLine) -> dict[str, Any]:
    """A fact as one row; the numbers that it was assigned stand with spaces between, an unparsable one as ?."""
    cited = " ".join("?" if number is None else str(number) for number in line.citations)
    return {**asdict(line), "citations": cited}


def answer_rows(read: Sequence[AnswerFacts], scored: Scored, options: ScifiOptions) -> list[dict[str, Any]]:
    """One row per answer: its citation entailment and coverage, what they are over, and what needs no verdict."""
    texts = text_shares(read, scored.facts, options)
    return [
        {
            **answer_cells(own.answer),
            "entailment": entailment.value,
            "facts_judged": entailment.total,
            "facts_unjudged": entailment.open - len(lost_citing(own)),
            "coverage": coverage.value,
            "reference_facts": coverage.total,
            "reference_facts_unjudged": coverage.open - (own.reference.sentences_lost if own.reference else 0),
            "sentences": len(own.sentences),
            "sentences_without_facts": len(own.lost),
            "facts": len(own.facts),
            **{key: shares[number].value for key, shares in texts.items()},
            "problems": "; ".join(f"{name} {times}" for name, times in sorted(own.problems.items())),
        }
        for number, (own, entailment, coverage) in enumerate(zip(read, scored.entailment, scored.coverage, strict=True))
    ]


def entailments(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> list[AnswerShare]:
    """Citation entailment of each answer over its facts that cite; those of uncited sentences take no part.

    Open: facts without a verdict, and one fact for each cited sentence whose facts are missing.
    """
    counted = ((one.answer, one.value, one.state == "unjudged") for one in lines)
    return _opened(sum_up([each.answer for each in read], counted), [len(lost_citing(each)) for each in read])


def coverages(read: Sequence[AnswerFacts], lines: Sequence[CoverageLine]) -> list[AnswerShare]:
    """How far each answer entails the facts of its reference; open as in `entailments`, of its own sentences."""
    counted = ((one.answer, one.value, one.value is None) for one in lines)
    lost = [each.reference.sentences_lost if each.reference is not None else 0 for each in read]
    return _opened(sum_up([each.answer for each in read], counted), lost)


def lost_citing(each: AnswerFacts) -> list[int]:
    """The numbers of an answer's sentences that cite and whose facts are missing."""
    return [number for number in sorted(each.lost) if each.sentences[number - 1].groups]


def uncited(answers: Sequence[Answer], lines: Sequence[FactLine]) -> list[AnswerShare]:
    """Facts in sentences without a citation, out of all facts."""
    return sum_up(answers, ((one.answer, float(one.state == "uncited"), False) for one in lines))


def densities(read: Sequence[AnswerFacts], options: ScifiOptions = DEFAULTS, inside: bool = False) -> list[AnswerShare]:
    """Citations of each answer over its sentences, all or those that cite; every mark is a citation.

    inside: those inside a sentence alone, which a further word follows there.
    """
    shares = []
    for each in read:
        own = [one for one in each.sentences if one.groups or options.density_over == "all"]
        groups = [(group, one.text[group.at :]) for one in own for group in one.groups]
        hits = sum(len(group.marks) for group, behind in groups if not inside or any(map(str.isalnum, behind)))
        shares.append(AnswerShare(hits, len(own)))
    return shares


def unmapped(read: Sequence[AnswerFacts]) -> list[AnswerShare]:
    """Facts whose segment was looked for and not found, out of those looked for; open: no usable reply named one."""
    shares = []
    for each in read:
        found = Counter(fact.segment.found for fact in each.facts)
        looked_for = each.problems[LEFT_OUT] + found.total() - found["not asked"] - found["no reply"]
        shares.append(AnswerShare(each.problems[LEFT_OUT] + found["sentence"], looked_for, found["no reply"]))
    return shares


def citations_without_facts(
    read: Sequence[AnswerFacts], lines: Sequence[FactLine], options: ScifiOptions = DEFAULTS
) -> list[AnswerShare]:
    """Citations of each answer that no fact was assigned, out of all.

    A fact that a parser cut out for several groups alike is held against one of them, or with the option `own_group`
    against all. Open: citations without a fact in sentences of which facts, or a fact's segment, are missing.
    """
    assigned: dict[tuple[str, int], dict[int, int]] = {}
    doubtful = {(each.answer.id, number) for each in read for number in each.lost}
    most = 1 if options.group == "first" else None
    made = {(each.answer.id, fact.number): (each, fact) for each in read for fact in each.facts}
    for line in lines:
        if line.cited_at is not None:
            each, fact = made[line.answer, line.fact_number]
            with_fact = {line.cited_at, *(fact.own if options.own_group else ())}
            groups = each.sentences[line.sentence - 1].groups
            assigned.setdefault((line.answer, line.sentence), {}).update(
                {group.at: len(group.marks[:most]) for group in groups if group.at in with_fact}
            )
        elif line.state == "unjudged":
            doubtful.add((line.answer, line.sentence))
    shares = []
    for each in read:
        hits = total = missing = 0
        for sentence in each.sentences:
            key = (each.answer.id, sentence.number)
            marks, used = sum(len(group.marks) for group in sentence.groups), sum(assigned.get(key, {}).values())
            is_open = key in doubtful
            hits += 0 if is_open else marks - used
            missing += marks - used if is_open else 0
            total += used if is_open else marks
        shares.append(AnswerShare(hits, total, missing))
    return shares


def against_parser(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> tuple[int, int]:
    """Of a parser's facts in sentences of several groups: how many were assigned another group than the one that they
    were cut out for; and how many such facts there are.
    """
    at = {(line.answer, line.fact_number): line.cited_at for line in lines}
    several = [
        (fact, at[each.answer.id, fact.number])
        for each in read
        for fact in each.facts
        if fact.own and len(each.sentences[fact.sentence - 1].groups) > 1
    ]
    return sum(place not in fact.own for fact, place in several), len(several)


def counts(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> dict[str, int]:
    """What there is of sentences, facts and marks, by what became of it; kinds that do not occur are left out.

    `facts` is the sum over the states of facts, and over how their segments were found; `marks` has those in groups
    and those not read.
    """
    lost = Counter(reason for each in read for reason in each.lost.values())
    missed = [mark for each in read for mark in unread_marks(each.answer, each.sentences)]
    in_groups = [
        (mark.number, len(each.answer.passages))
        for each in read
        for sentence in each.sentences
        for group in sentence.groups
        for mark in group.marks
    ]
    problems = Counter[str](problem for _, problem in (find_place(*one) for one in in_groups) if problem is not None)
    numbers = {
        "sentences": sum(len(each.sentences) for each in read),
        "sentences cited": sum(bool(sentence.groups) for each in read for sentence in each.sentences),
        **_named("sentences lost", lost),
        "reference sentences lost": sum(each.reference.sentences_lost for each in read if each.reference),
        "facts": len(lines),
        **_named("facts", Counter(line.state for line in lines)),
        **_named("segments", Counter(line.found for line in lines)),
        "premises cut": sum(line.cut for line in lines),
        "marks": len(in_groups) + len(missed),
        "marks: not read": len(missed),
        **_named("problem", problems),
    }
    always = ("sentences", "facts", "marks")
    return {name: number for name, number in numbers.items() if number or name in always}


def _named(what: str, numbers: Counter[str]) -> dict[str, int]:
    return {f"{what}: {kind}": numbers[kind] for kind in sorted(numbers)}


def _opened(shares: Sequence[AnswerShare], more: Sequence[int]) -> list[AnswerShare]:
    return [AnswerShare(one.hits, one.total, one.open + number) for one, number in zip(shares, more, strict=True)]
