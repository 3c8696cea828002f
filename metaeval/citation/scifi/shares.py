"""SCiFi's quantities of each answer, as shares whose missing verdicts are kept apart.

A missing value lies between 0 and 1, so `Share.filled` gives the least and the most that an answer can have. How many
facts a sentence has that was not decomposed is not known: it is taken as one, so that an answer's ends are right where
such sentences state one fact each, and too narrow where they state several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from metaeval.citation.measures import Share, sum_up
from metaeval.citation.model import Answer
from metaeval.citation.premises import find_place
from metaeval.citation.scifi.model import LEFT_OUT, AnswerFacts, CoverageLine, FactLine, ScifiOptions
from metaeval.citation.scifi.sentences import unread_marks


def entailments(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> list[Share]:
    """Citation entailment of each answer over its facts that cite; those of uncited sentences take no part.

    Open: facts without a verdict, and one fact for each cited sentence whose facts are missing.
    """
    counted = ((one.answer, one.value, one.state == "unjudged") for one in lines)
    return _opened(sum_up([each.answer for each in read], counted), [len(lost_citing(each)) for each in read])


def coverages(read: Sequence[AnswerFacts], lines: Sequence[CoverageLine]) -> list[Share]:
    """How far each answer entails the facts of its reference; open as in `entailments`, of its own sentences."""
    counted = ((one.answer, one.value, one.value is None) for one in lines)
    lost = [each.reference.sentences_lost if each.reference is not None else 0 for each in read]
    return _opened(sum_up([each.answer for each in read], counted), lost)


def lost_citing(each: AnswerFacts) -> list[int]:
    """The numbers of an answer's sentences that cite and whose facts are missing."""
    return [number for number in sorted(each.lost) if each.sentences[number - 1].groups]


def uncited(answers: Sequence[Answer], lines: Sequence[FactLine]) -> list[Share]:
    """Facts in sentences without a citation, out of all facts."""
    return sum_up(answers, ((one.answer, float(one.state == "uncited"), False) for one in lines))


def densities(read: Sequence[AnswerFacts], options: ScifiOptions | None = None) -> list[Share]:
    """Citations of each answer over its sentences, all or those that cite; every mark is a citation."""
    return _over_sentences(read, options or ScifiOptions(), inside=False)


def sub_densities(read: Sequence[AnswerFacts], options: ScifiOptions | None = None) -> list[Share]:
    """As `densities`, of the citations inside a sentence alone: those that a further word follows there."""
    return _over_sentences(read, options or ScifiOptions(), inside=True)


def unmapped(read: Sequence[AnswerFacts]) -> list[Share]:
    """Facts whose segment was looked for and not found, out of those looked for; open: no usable reply named one."""
    shares = []
    for each in read:
        found = Counter(fact.segment.found for fact in each.facts)
        looked_for = each.problems[LEFT_OUT] + found.total() - found["not asked"] - found["no reply"]
        shares.append(Share(each.problems[LEFT_OUT] + found["sentence"], looked_for, found["no reply"]))
    return shares


def citations_without_facts(
    read: Sequence[AnswerFacts], lines: Sequence[FactLine], options: ScifiOptions | None = None
) -> list[Share]:
    """Citations of each answer that no fact was assigned, out of all.

    A fact that a parser cut out for several groups alike is held against one of them, or with the option `own_group`
    against all. Open: citations without a fact in sentences of which facts, or a fact's segment, are missing.
    """
    options = options or ScifiOptions()
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
        shares.append(Share(hits, total, missing))
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


def _opened(shares: Sequence[Share], more: Sequence[int]) -> list[Share]:
    return [Share(one.hits, one.total, one.open + number) for one, number in zip(shares, more, strict=True)]


def _over_sentences(read: Sequence[AnswerFacts], options: ScifiOptions, inside: bool) -> list[Share]:
    shares = []
    for each in read:
        own = [one for one in each.sentences if one.groups or options.density_over == "all"]
        groups = [(group, one.text[group.at :]) for one in own for group in one.groups]
        hits = sum(len(group.marks) for group, behind in groups if not inside or any(map(str.isalnum, behind)))
        shares.append(Share(hits, len(own)))
    return shares
