"""QA-EM and QA-F1 (ASQA): a reader answers each sub-question from the model's answer, scored by SQuAD's rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metaeval.citation.alce.correctness import clean_answer, normalise, short_answers_of
from metaeval.citation.alce.options import PAPER, AlceOptions
from metaeval.citation.model import Answer

MODEL = "gaotianyu1350/roberta-large-squad"
"""The reader of the published scores."""

Reader = Callable[[Sequence[tuple[str, str]]], Sequence[str]]
"""Pairs of question and context to short answers, in order; an empty answer says that the context holds none."""


@dataclass(frozen=True, slots=True)
class ReaderScores:
    """Of one answer, over its sub-questions: exact match and token F1 with the best short answer; hit: all match."""

    exact: float
    f1: float
    hit: bool


def exact_match(wanted: str, given: str) -> bool:
    """Whether the two are the same in SQuAD's normal form."""
    return normalise(wanted) == normalise(given)


def token_f1(wanted: str, given: str) -> float:
    """F1 of the words of the two in normal form, repeats counted; without words on a side, 1 if neither has any."""
    gold, own = normalise(wanted).split(), normalise(given).split()
    if not gold or not own:
        return float(gold == own)
    common = sum((Counter(gold) & Counter(own)).values())
    return 2 * common / (len(gold) + len(own))


def reader_scores(wanted: Sequence[Sequence[str]], given: Sequence[str]) -> ReaderScores | None:
    """Scores of one answer from the reader's answer to each sub-question; None without sub-questions.

    Raises ValueError if the lengths differ, or a sub-question has no short answer.
    """
    if not wanted:
        return None
    pairs = list(zip(wanted, given, strict=True))
    if any(not aliases for aliases in wanted):
        raise ValueError("every sub-question needs at least one short answer")
    exact = [max(exact_match(alias, answer) for alias in aliases) for aliases, answer in pairs]
    f1 = [max(token_f1(alias, answer) for alias in aliases) for aliases, answer in pairs]
    return ReaderScores(sum(exact) / len(exact), sum(f1) / len(f1), all(exact))


def score_with_reader(
    texts: Sequence[str], questions: Sequence[Sequence[str]], wanted: Sequence[Sequence[Sequence[str]]], reader: Reader
) -> list[ReaderScores | None]:
    """Scores of all answers, their sub-questions read in one call; an empty text is read as a space, as released."""
    rows = list(zip(texts, questions, strict=True))
    given = iter(reader([(question, text or " ") for text, own in rows for question in own]))
    answers = [[next(given) for _ in own] for _, own in rows]
    return [reader_scores(own, few) for own, few in zip(wanted, answers, strict=True)]


def reader_values(
    answers: Sequence[Answer], reader: Reader, options: AlceOptions = PAPER
) -> dict[str, list[float | None]]:
    """`qa_em`, `qa_f1` and `qa_hit` of each answer, from its text without marks; None without sub-questions."""
    texts = [clean_answer(answer, options) for answer in answers]
    questions = [[str(pair["question"]) for pair in answer.reference.get("qa_pairs") or ()] for answer in answers]
    found = score_with_reader(texts, questions, [short_answers_of(answer) for answer in answers], reader)
    return {
        "qa_em": [one.exact if one else None for one in found],
        "qa_f1": [one.f1 if one else None for one in found],
        "qa_hit": [float(one.hit) if one else None for one in found],
    }
