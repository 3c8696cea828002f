"""SCiFi's measures of each answer, as shares with a separate count of missing verdicts.

In all functions, `read` holds the answers with their sentences and facts, and `lines` the scored facts of all of them.
A missing value lies between 0 and 1, so `AnswerShare.filled` gives the least and the most that an answer can have. A
sentence that was not decomposed counts as one fact: an answer's bounds are right if such sentences state one fact each,
and too narrow if they state several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from metaeval.citation.citation_table import find_place
from metaeval.citation.measures import AnswerShare, sum_up
from metaeval.citation.scifi.data_model import DEFAULTS, AnswerFacts, CoverageLine, FactLine, ScifiOptions, unread_marks


def text_shares(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> dict[str, list[AnswerShare]]:
    """Return the measures that need no verdict, by name, with one share for each answer.

    density, density_sub: number of citations (marks) over sentences, and of those that another word of the sentence
    follows. uncited: share of facts whose sentences have no citation. citations_without_facts: share of citations that
    belong to no fact. not_found: share of segments that were searched for and not found; open are those that no usable
    reply named, which could not be searched for.
    """
    answers = [each.answer for each in read]
    matches = [Counter(fact.segment[2] for fact in each.facts) for each in read]
    looked_for = [each.total() - each["not asked"] - each["no reply"] for each in matches]
    return {
        "density": densities(read),
        "density_sub": densities(read, inside=True),
        "facts_per_sentence": [AnswerShare(len(each.facts), len(each.sentences) - len(each.lost)) for each in read],
        "uncited": sum_up(answers, ((line.answer, float(line.state == "uncited"), False) for line in lines)),
        "citations_without_facts": citations_without_facts(read, lines),
        "not_found": [
            AnswerShare(each["sentence"], total, each["no reply"])
            for each, total in zip(matches, looked_for, strict=True)
        ],
    }


def answer_rows(
    read: Sequence[AnswerFacts],
    entailment: Sequence[AnswerShare],
    coverage: Sequence[AnswerShare],
    options: ScifiOptions = DEFAULTS,
) -> list[dict[str, Any]]:
    """Return one row for each answer: numbers of its facts, of its reference's, and of problems."""
    return [
        {
            "facts_judged": of_facts.total,
            "facts_unjudged": of_facts.open - len(lost_citing(answer, options)),
            "reference_facts": covers.total,
            "reference_facts_unjudged": covers.open - answer.reference_lost,
            "sentences": len(answer.sentences),
            "sentences_without_facts": len(answer.lost),
            "facts": len(answer.facts),
            "problems": "; ".join(f"{name} {times}" for name, times in sorted(answer.problems.items())),
        }
        for answer, of_facts, covers in zip(read, entailment, coverage, strict=True)
    ]


def entailments(
    read: Sequence[AnswerFacts], lines: Sequence[FactLine], options: ScifiOptions = DEFAULTS
) -> list[AnswerShare]:
    """Return the citation entailment of each answer over its facts with a citation (of all, where uncited facts fail).

    Open: facts without a verdict, and one fact for each sentence whose facts are missing (`lost_citing`).
    """
    counted = ((line.answer, line.value, line.state == "unjudged") for line in lines)
    lost = [len(lost_citing(each, options)) for each in read]
    return _opened(sum_up([each.answer for each in read], counted), lost)


def coverages(read: Sequence[AnswerFacts], lines: Sequence[CoverageLine]) -> list[AnswerShare]:
    """Return how far each answer entails the facts of its reference; a total of 0 without a reference.

    Open: facts without a verdict, and one fact for each sentence of the reference whose facts are missing.
    """
    counted = ((line.answer, line.value, line.value is None) for line in lines)
    return _opened(sum_up([each.answer for each in read], counted), [each.reference_lost for each in read])


def lost_citing(each: AnswerFacts, options: ScifiOptions = DEFAULTS) -> list[int]:
    """Return the numbers of the sentences whose facts are missing and would have counted.

    These are cited sentences; all, where uncited facts fail.
    """
    return [n for n in sorted(each.lost) if options.uncited == "fails" or each.sentences[n - 1].groups]


def densities(read: Sequence[AnswerFacts], inside: bool = False) -> list[AnswerShare]:
    """Return the number of citations (marks) of each answer over its sentences.

    inside: count only citations that another word of the sentence follows.
    """
    shares = []
    for each in read:
        groups = [(group, sentence.text[group.at :]) for sentence in each.sentences for group in sentence.groups]
        hits = sum(len(group.marks) for group, behind in groups if not inside or any(map(str.isalnum, behind)))
        shares.append(AnswerShare(hits, len(each.sentences)))
    return shares


def citations_without_facts(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> list[AnswerShare]:
    """Return the share of each answer's citations that belong to no fact.

    Open: citations without a fact in sentences of which facts, or a fact's segment, are missing.
    """
    assigned: dict[tuple[str, int, int], set[int | None]] = {}
    doubtful = {(each.answer.id, number) for each in read for number in each.lost}
    for line in lines:
        if line.cited_at is not None:
            assigned.setdefault((line.answer, line.sentence, line.cited_at), set()).update(line.citations)
        elif line.state == "unjudged":
            doubtful.add((line.answer, line.sentence))
    shares = []
    for each in read:
        hits = total = missing = 0
        for sentence in each.sentences:
            key = (each.answer.id, sentence.number)
            states = [
                mark.number in assigned.get((*key, group.at), ()) for group in sentence.groups for mark in group.marks
            ]
            used, unused = states.count(True), states.count(False)
            if key in doubtful:
                missing, total = missing + unused, total + used
            else:
                hits, total = hits + unused, total + used + unused
        shares.append(AnswerShare(hits, total, missing))
    return shares


def counts(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> Counter[str]:
    """Return the numbers of cited sentences, of facts and segments by kind, and of marks not read or of no passage."""
    counted = Counter(f"facts: {line.state}" for line in lines) + Counter(f"segments: {line.match}" for line in lines)
    for each in read:
        groups = [group for sentence in each.sentences for group in sentence.groups]
        problems = (find_place(mark.number, len(each.answer.passages))[1] for group in groups for mark in group.marks)
        counted.update(f"problem: {problem}" for problem in problems if problem is not None)
        counted["sentences cited"] += sum(bool(sentence.groups) for sentence in each.sentences)
        counted["marks: not read"] += len(unread_marks(each.answer, each.sentences))
    return +counted


def _opened(shares: Sequence[AnswerShare], more: Sequence[int]) -> list[AnswerShare]:
    return [AnswerShare(share.hits, share.total, share.open + n) for share, n in zip(shares, more, strict=True)]
