"""SCiFi's measures of each answer, as shares with a separate count of missing verdicts.

In all functions, `read` holds the answers with their sentences and facts, and `lines` the scored facts of all of them.
A missing value lies between 0 and 1, so `AnswerShare.filled` gives the least and the most that an answer can have. A
sentence that was not decomposed counts as one fact: an answer's bounds are right if such sentences state one fact each,
and too narrow if they state several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from metaeval.citation.citation_table import find_place
from metaeval.citation.data_model import Answer, Entails, answer_cells
from metaeval.citation.measures import AnswerShare, Statistic, macro, micro, sum_up
from metaeval.citation.scifi.data_model import (
    DEFAULTS,
    AnswerFacts,
    CoverageLine,
    FactLine,
    ScifiOptions,
    unread_marks,
)
from metaeval.citation.scifi.fact_entailment import coverage_lines, fact_lines
from metaeval.corpus.sentences import RULES, SentenceSplitter


@dataclass(frozen=True, eq=False)
class ScoredFacts:
    """Facts scored by one backend. facts, references: a line for each fact of the answers, and of their references.

    entailment, coverage: one share for each answer. statistics: entailment_facts, entailment_answers (a mean over facts
    or over answers), and so for coverage.
    """

    facts: Sequence[FactLine]
    references: Sequence[CoverageLine]
    entailment: Sequence[AnswerShare]
    coverage: Sequence[AnswerShare]
    statistics: dict[str, Statistic]


def score_facts(
    read: Sequence[AnswerFacts], entails: Entails, options: ScifiOptions, soft: bool, splitter: SentenceSplitter = RULES
) -> ScoredFacts:
    """Score the facts of the answers and of their references. Raises ValueError for a `soft` score outside 0 to 1."""
    lines = fact_lines(read, entails, options, soft, splitter)
    references = coverage_lines(read, entails, soft)
    shares = {"entailment": entailments(read, lines, options), "coverage": coverages(read, references)}
    statistics = {
        f"{measure}_{over}": average(answer_shares)
        for measure, answer_shares in shares.items()
        for over, average in (("facts", micro), ("answers", macro))
    }
    return ScoredFacts(lines, references, shares["entailment"], shares["coverage"], statistics)


def text_shares(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> dict[str, list[AnswerShare]]:
    """Return the measures that need no verdict, by name, with one share for each answer."""
    return {
        "density": densities(read),
        "density_sub": densities(read, inside=True),
        "facts_per_sentence": [
            AnswerShare(len(answer.facts), len(answer.sentences) - len(answer.lost)) for answer in read
        ],
        "uncited": uncited([answer.answer for answer in read], lines),
        "citations_without_facts": citations_without_facts(read, lines),
        "not_found": unmapped(read),
    }


def fact_row(line: FactLine) -> dict[str, Any]:
    """Return a fact as one row of cells; the numbers of its citations are joined by spaces, with ? if unparsable."""
    cited = " ".join("?" if number is None else str(number) for number in line.citations)
    row = {"found" if field == "match" else field: value for field, value in asdict(line).items()}
    return {**row, "citations": cited}


def answer_rows(read: Sequence[AnswerFacts], scored: ScoredFacts, options: ScifiOptions) -> list[dict[str, Any]]:
    """Return one row for each answer: citation entailment, coverage, their numbers of facts, and `text_shares`."""
    texts = text_shares(read, scored.facts)
    return [
        {
            **answer_cells(answer.answer),
            "entailment": entailment.value,
            "facts_judged": entailment.total,
            "facts_unjudged": entailment.open - len(lost_citing(answer, options)),
            "coverage": coverage.value,
            "reference_facts": coverage.total,
            "reference_facts_unjudged": coverage.open - answer.reference_lost,
            "sentences": len(answer.sentences),
            "sentences_without_facts": len(answer.lost),
            "facts": len(answer.facts),
            **{key: shares[number].value for key, shares in texts.items()},
            "problems": "; ".join(f"{name} {times}" for name, times in sorted(answer.problems.items())),
        }
        for number, (answer, entailment, coverage) in enumerate(
            zip(read, scored.entailment, scored.coverage, strict=True)
        )
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


def uncited(answers: Sequence[Answer], lines: Sequence[FactLine]) -> list[AnswerShare]:
    """Return, for each answer, the share of its facts whose sentences have no citation."""
    return sum_up(answers, ((line.answer, float(line.state == "uncited"), False) for line in lines))


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


def unmapped(read: Sequence[AnswerFacts]) -> list[AnswerShare]:
    """Return, for each answer, the share of segments that were searched for and not found.

    Open: segments that no usable reply named, which could not be searched for.
    """
    shares = []
    for each in read:
        matches = Counter(fact.segment.match for fact in each.facts)
        looked_for = matches.total() - matches["not asked"] - matches["no reply"]
        shares.append(AnswerShare(matches["sentence"], looked_for, matches["no reply"]))
    return shares


def citations_without_facts(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> list[AnswerShare]:
    """Return the share of each answer's citations that belong to no fact.

    Open: citations without a fact in sentences of which facts, or a fact's segment, are missing.
    """
    assigned: set[tuple[str, int, int]] = set()
    doubtful = {(each.answer.id, number) for each in read for number in each.lost}
    for line in lines:
        if line.cited_at is not None:
            assigned.add((line.answer, line.sentence, line.cited_at))
        elif line.state == "unjudged":
            doubtful.add((line.answer, line.sentence))
    shares = []
    for each in read:
        hits = total = missing = 0
        for sentence in each.sentences:
            key = (each.answer.id, sentence.number)
            used = sum(len(group.marks) for group in sentence.groups if (*key, group.at) in assigned)
            unused = sum(len(group.marks) for group in sentence.groups) - used
            if key in doubtful:
                missing, total = missing + unused, total + used
            else:
                hits, total = hits + unused, total + used + unused
        shares.append(AnswerShare(hits, total, missing))
    return shares


def counts(read: Sequence[AnswerFacts], lines: Sequence[FactLine]) -> dict[str, int]:
    """Return the numbers of sentences, facts and marks, in all and by kind; kinds that do not occur are left out.

    `facts` is the sum over the states of facts ("facts: judged"), and over how their segments were found ("segments:
    verbatim"); `marks` includes marks that are not read.
    """
    missed = [mark for each in read for mark in unread_marks(each.answer, each.sentences)]
    in_groups = [
        (mark.number, len(each.answer.passages))
        for each in read
        for sentence in each.sentences
        for group in sentence.groups
        for mark in group.marks
    ]
    problems = Counter[str](problem for _, problem in (find_place(*mark) for mark in in_groups) if problem is not None)
    numbers = {
        "sentences": sum(len(each.sentences) for each in read),
        "sentences cited": sum(bool(sentence.groups) for each in read for sentence in each.sentences),
        "facts": len(lines),
        **_named("facts", Counter(line.state for line in lines)),
        **_named("segments", Counter(line.match for line in lines)),
        "marks": len(in_groups) + len(missed),
        "marks: not read": len(missed),
        **_named("problem", problems),
    }
    always = ("sentences", "facts", "marks")
    return {name: number for name, number in numbers.items() if number or name in always}


def _named(what: str, numbers: Counter[str]) -> dict[str, int]:
    return {f"{what}: {kind}": numbers[kind] for kind in sorted(numbers)}


def _opened(shares: Sequence[AnswerShare], more: Sequence[int]) -> list[AnswerShare]:
    return [
        AnswerShare(share.hits, share.total, share.open + number) for share, number in zip(shares, more, strict=True)
    ]
