"""ALiiCE's scores of a set of answers: fine-grained recall, precision both ways, F1, CVCP, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.citation.aliice.answers import AnswerClaims, read_answers
from metaeval.citation.aliice.cvcp import answer_cvcp, pooled_cvcp
from metaeval.citation.aliice.lines import aliice_lines
from metaeval.citation.aliice.profile import PAPER, Profile
from metaeval.citation.measures import Estimate, Share, estimate, f1, group_codes, macro, micro, precisions, recalls
from metaeval.citation.model import Answer, Entails
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.sentences import RULES, SentenceSplitter
from metaeval.citation.table import Line


@dataclass(frozen=True, slots=True)
class AliiceScores:
    """Citation recall and precision of a set of answers, in [0, 1].

    recall, precision: the mean over answers of each answer's value, as published; answers without a citation group
    that counts have none and are left out. precision_marks: an answer's value is the share of its good marks.
    precision_groups: the mean over its groups of the group's share. precision is the profile's one of the two.
    recall_micro, precision_micro: over all groups, or marks, together. f1: of recall and precision.
    recall_std, precision_std: population standard deviations over answers. cvcp: mean over answers, or pooled over all
    marks, as the profile says. of_answers: (recall, precision, cvcp) of each answer, in order.
    not_parsed: sentences without a tree (released `times_not_used_aliice`). lost: citation groups that ended in no
    claim. made_by: number of claims by the rule that made them, fallbacks by their reason.
    """

    recall: Estimate
    precision: Estimate
    precision_marks: Estimate
    precision_groups: Estimate
    recall_micro: Estimate
    precision_micro: Estimate
    f1: float | None
    recall_std: float | None
    precision_std: float | None
    cvcp: float | None
    of_answers: tuple[tuple[float | None, float | None, float | None], ...]
    not_parsed: int
    lost: int
    made_by: Mapping[str, int]
    profile: str
    parser: str
    splitter: str


def judge_answers(
    answers: Sequence[Answer],
    parser: Parser,
    entails: Entails,
    profile: Profile = PAPER,
    splitter: SentenceSplitter = RULES,
) -> tuple[AliiceScores, list[Line]]:
    """Scores and citation table of the answers; the parser is called once, `entails` at most three times.

    parser: made with the profile's own `one_root`, as in `find_parser("small", profile.one_root)`.
    """
    read = read_answers(answers, parser, profile, splitter)
    lines = aliice_lines(read, entails, profile)
    return aliice_scores(read, lines, profile, parser.name, splitter.name), lines


def aliice_scores(
    read: Sequence[AnswerClaims],
    lines: Sequence[Line],
    profile: Profile = PAPER,
    parser: str = "",
    splitter: str = "",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> AliiceScores:
    """Scores from the lines of `aliice_lines`; intervals draw groups."""
    answers = [each.answer for each in read]
    recall, marks, groups = recalls(answers, lines), precisions(answers, lines), group_precisions(answers, lines)
    own = marks if profile.precision == "marks" else groups
    codes, n_codes = group_codes(answers)
    of_recall, of_marks, of_groups, recall_micro, precision_micro = (
        estimate(parts, codes, n_codes, resamples, seed, level)
        for parts in (macro(recall), macro(marks), macro(groups), micro(recall), micro(marks))
    )
    precision = of_marks if profile.precision == "marks" else of_groups
    texts = [each.texts for each in read]
    per_answer = [answer_cvcp(each) if profile.cvcp == "paper" else pooled_cvcp([each]) for each in texts]
    variations = [value for value in per_answer if value is not None]
    mean_cvcp = float(np.mean(variations)) if variations else None
    return AliiceScores(
        recall=of_recall,
        precision=precision,
        precision_marks=of_marks,
        precision_groups=of_groups,
        recall_micro=recall_micro,
        precision_micro=precision_micro,
        f1=f1(precision.value, of_recall.value),
        recall_std=_spread(recall),
        precision_std=_spread(own),
        cvcp=mean_cvcp if profile.cvcp == "paper" else pooled_cvcp(texts),
        of_answers=tuple(
            (share.value, other.value, value) for share, other, value in zip(recall, own, per_answer, strict=True)
        ),
        not_parsed=sum(each.not_parsed for each in read),
        lost=sum(len(each.lost) for each in read),
        made_by=dict(sorted(Counter(cited.claim.made_by for each in read for cited in each.claims).items())),
        profile=profile.signature,
        parser=parser,
        splitter=splitter,
    )


def group_precisions(answers: Sequence[Answer], lines: Sequence[Line]) -> list[Share]:
    """Precision of each answer as the paper has it: the mean over citation groups of their share of good marks."""
    marks: dict[tuple[str, int], list[int]] = {}
    for line in lines:
        if line.claim_number is not None and line.precision is not None:
            marks.setdefault((line.answer, line.claim_number), []).append(line.precision)
    hits = dict.fromkeys((answer.id for answer in answers), 0.0)
    total = dict.fromkeys(hits, 0)
    for (answer, _), values in marks.items():
        hits[answer] += sum(values) / len(values)
        total[answer] += 1
    return [Share(hits[answer.id], total[answer.id]) for answer in answers]


def _spread(shares: Sequence[Share]) -> float | None:
    values = [share.value for share in shares if share.value is not None]
    return float(np.std(values)) if values else None
