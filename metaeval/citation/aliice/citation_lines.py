"""The statements of answers from their ALiiCE claims, and their citation table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metaeval.citation.aliice.claim_options import PAPER, AliiceProfile
from metaeval.citation.aliice.claims import MARK, AnswerClaims, read_answers
from metaeval.citation.aliice.mark_positions import answer_cvcp, mark_offsets
from metaeval.citation.citation_table import CitationLine, CitedMark, CitedStatement, find_place, judged_lines
from metaeval.citation.data_model import Answer, Entails
from metaeval.citation.measures import AnswerShare, means, micro, variation
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.stated_answers import StatedAnswers
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.stats.influence import COUNTS

# Measure of an ALiiCE answer: 1 if a citation is between two words of a sentence, else 0.
WITHIN = "cites_within"

_WORD = re.compile(r"\w")


def read_aliice(
    answers: Sequence[Answer], profile: AliiceProfile = PAPER, splitter: SentenceSplitter = RULES, parser: str = "small"
) -> StatedAnswers:
    """Return the answers with their claims, ready to be judged. Raises `UserError` for an unknown parser."""
    parses = find_parser(parser, profile.one_root)
    read = read_answers(answers, parses, profile, splitter)
    cited = [[claim for claim in each.claims if claim.marks] for each in read]
    # Cited claims over the sentences that hold at least one.
    per_sentence = [AnswerShare(len(claims), len({each.sentence for each in claims})) for claims in cited]
    # Share of cited claims that are a whole sentence because its tree could not be used.
    fallen = [AnswerShare(sum(each.made_by.startswith("fallback") for each in claims), len(claims)) for claims in cited]
    if profile.cvcp == "offsets":
        cvcp = variation([mark_offsets(each.texts) for each in read])
    else:
        cvcp = means([answer_cvcp(each.texts, profile.cvcp) for each in read], COUNTS)
    statistics = {
        "cvcp": cvcp,
        WITHIN: means([float(_within(each)) for each in read]),
        "claims_per_sentence": micro(per_sentence, COUNTS),
        "fallbacks": micro(fallen),
        "sentences": means([float(len(each.sentences)) for each in read], COUNTS),
    }
    fields = {"pipeline": "aliice", "profile": profile.name, "cvcp": profile.cvcp}
    fields |= {"parser": parses.name, "splitter": splitter.name}
    return StatedAnswers("aliice", answers, stated_claims(read, profile), profile, fields, statistics)


def _within(read: AnswerClaims) -> bool:
    """Return whether any citation mark of the answer is between two words of its sentence.

    Marks that the profile moves to the sentence before (`leading`) count there.
    """
    for text in read.texts:
        places = [place.start() for place in _WORD.finditer(MARK.sub(lambda mark: " " * len(mark[0]), text))]
        if places and any(places[0] < mark.start() < places[-1] for mark in MARK.finditer(text)):
            return True
    return False


def aliice_lines(read: Sequence[AnswerClaims], entails: Entails, profile: AliiceProfile) -> list[CitationLine]:
    """Return the citation table of all answers (see `judged_lines`)."""
    stated = stated_claims(read, profile)
    return judged_lines([each.answer for each in read], stated, entails, profile.untitled, reason_on_all=True)


def stated_claims(read: Sequence[AnswerClaims], profile: AliiceProfile) -> list[list[CitedStatement]]:
    """Return the claims of each answer with their marks; by the profiles, a claim without a mark is in no share."""
    stated: list[list[CitedStatement]] = []
    for each in read:
        stated.append([])
        for number, claim in enumerate(each.claims, start=1):
            passages = len(each.answer.passages)
            places = [find_place(mark.number, passages, profile.zero, profile.bound) for mark in claim.marks]
            lost = profile.out_of_range == "left out" and any(place is None for place, _ in places)
            counts = not lost if places else profile.uncited == "fails"
            marks = tuple(
                CitedMark(mark, place, problem, "judged" if counts and place is not None else "fails")
                for mark, (place, problem) in zip(claim.marks, places, strict=True)
            )
            stated[-1].append(CitedStatement(claim, marks, number, counts, failing=0 if counts else None))
    return stated
