"""What ALCE measures of an answer beside its citations: short answers, lists, claims, ROUGE-Lsum, length.

Functions that take a text take the answer's text without its marks (`clean_answer`). Values are in [0, 1]; None where
the reference does not hold what the measure needs.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.alce.citations import clean
from metaeval.citation.alce.options import PAPER, AlceOptions
from metaeval.citation.measures import Share
from metaeval.citation.model import Answer, Entails
from metaeval.citation.sentences import RULES, SentenceSplitter, prepare

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_TOP = 5


@dataclass(frozen=True, slots=True)
class ListScores:
    """A list answer against its gold list: precision, recall, F1, and the two at a gold list of at most five."""

    predictions: int
    precision: float
    recall: float
    recall_top5: float
    f1: float
    f1_top5: float


def clean_answer(answer: Answer, options: AlceOptions = PAPER) -> str:
    """The part of the answer that the profile reads, without its marks."""
    reading = prepare(answer.text, options.lines)
    return clean(reading, answer, options).text


def normalise(text: str) -> str:
    """SQuAD's normal form: small letters, no ASCII punctuation, no article, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def short_answers(text: str, wanted: Sequence[Sequence[str]]) -> Share | None:
    """ASQA: for how many questions one of the short answers occurs in the text, both in normal form.

    `str_em` is the mean of `value` over answers, `str_hit` the share of answers whose value is 1. None without
    questions. An alias that is empty in normal form occurs in every text, as in the released code.
    """
    if not wanted:
        return None
    own = normalise(text)
    return Share(sum(any(normalise(alias) in own for alias in aliases) for aliases in wanted), len(wanted))


def short_answers_of(answer: Answer) -> list[list[str]]:
    """The short answers of an ASQA answer's questions; empty where there are none."""
    return [list(pair["short_answers"]) for pair in answer.reference.get("qa_pairs") or ()]


def list_scores(text: str, wanted: Sequence[Sequence[str]]) -> ListScores | None:
    """QAMPARI: the comma-separated items of the text against the gold answers, each a list of aliases.

    Items and aliases count as equal in normal form; items that are empty in it are left out. A gold answer is found
    once, however many items name it. None without gold answers.
    """
    if not wanted:
        return None
    items = [normalise(item) for item in text.rstrip().rstrip(".").rstrip(",").split(",")]
    items = [item for item in items if item]
    gold = [{normalise(alias) for alias in aliases} for aliases in wanted]
    known = set().union(*gold)
    precision = sum(item in known for item in items) / len(items) if items else 0.0
    found = sum(not aliases.isdisjoint(items) for aliases in gold)
    recall, top = found / len(gold), min(_TOP, found) / min(_TOP, len(gold))
    return ListScores(len(items), precision, recall, top, _harmonic(precision, recall), _harmonic(precision, top))


def claim_recalls(
    answers: Sequence[Answer], entails: Entails, options: AlceOptions = PAPER
) -> tuple[list[Share | None], list[tuple[str, str, str]]]:
    """ELI5: how many of the reference's claims each answer's text entails, all asked in one call.

    Returns the shares (None without claims; claims without a verdict are left out of the total) and, for each claim
    without a verdict, answer id, claim and reason.
    """
    asked = [(answer, claim) for answer in answers for claim in answer.reference.get("claims") or ()]
    texts = {answer.id: clean_answer(answer, options) for answer in answers}
    pairs = list(dict.fromkeys((texts[answer.id], claim) for answer, claim in asked))
    verdicts = dict(zip(pairs, entails(pairs), strict=True)) if pairs else {}
    shares: list[Share | None] = []
    open_claims: list[tuple[str, str, str]] = []
    for answer in answers:
        own = [(claim, verdicts[texts[answer.id], claim]) for claim in answer.reference.get("claims") or ()]
        judged = [verdict.entailed for _, verdict in own if verdict.entailed is not None]
        shares.append(Share(sum(judged), len(judged), len(own) - len(judged)) if own else None)
        open_claims.extend((answer.id, claim, verdict.status) for claim, verdict in own if verdict.entailed is None)
    return shares, open_claims


def length(text: str) -> int:
    """White-space words."""
    return len(text.split())


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other else 0.0


SplitOn = Literal["text as written", "small letters"]
"""Whether sentences are split before or, as in the released code, after capitals are gone."""


def references_of(answer: Answer) -> list[str]:
    """The long answers of an ASQA answer's first two annotations, else its reference answer; empty without either."""
    annotations = answer.reference.get("annotations")
    if annotations:
        return [str(annotation["long_answer"]) for annotation in annotations[:2]]
    return [str(answer.reference["answer"])] if answer.reference.get("answer") else []


def rouge_lsum(
    texts: Sequence[str],
    references: Sequence[Sequence[str]],
    splitter: SentenceSplitter = RULES,
    split_on: SplitOn = "text as written",
) -> list[float | None]:
    """F1 of each text against the best of its references, in [0, 1]; None without a reference.

    Small letters, one sentence a line, Porter stems. The splitter decides where the lines end, which moves the value;
    of text in small letters the project's rules end no line, since no sentence of theirs opens with one.
    """
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeLsum"], use_stemmer=True)

    def lines(text: str) -> str:
        return "\n".join(splitter.split(text if split_on == "text as written" else text.lower())).lower()

    def best(text: str, own: Sequence[str]) -> float | None:
        values = [float(scorer.score(lines(one), lines(text))["rougeLsum"].fmeasure) for one in own]
        return max(values, default=None)

    return [best(text, own) for text, own in zip(texts, references, strict=True)]


Values = Mapping[str, Sequence[float | None]]
"""Measure to its value for each answer, in order; None where an answer has none."""


def answer_values(
    answers: Sequence[Answer],
    options: AlceOptions = PAPER,
    splitter: SentenceSplitter = RULES,
    entails: Entails | None = None,
) -> Values:
    """The measures of correctness and length, under the released code's names, as shares in [0, 1] and counts.

    A measure that no answer has is left out; `claims_nli` needs a backend.
    """
    texts = [clean_answer(answer, options) for answer in answers]
    short = [short_answers(text, short_answers_of(answer)) for answer, text in zip(answers, texts, strict=True)]
    lists = [
        list_scores(text, answer.reference.get("answers") or ()) for answer, text in zip(answers, texts, strict=True)
    ]
    claims = claim_recalls(answers, entails, options)[0] if entails else [None] * len(answers)
    values: dict[str, list[float | None]] = {
        "length": [float(length(text)) for text in texts],
        "str_em": [own.value if own else None for own in short],
        "str_hit": [float(own.hits == own.total) if own else None for own in short],
        "rougeLsum": rouge_lsum(texts, [references_of(answer) for answer in answers], splitter, options.split_on),
        "num_preds": [float(own.predictions) if own else None for own in lists],
        "qampari_prec": [own.precision if own else None for own in lists],
        "qampari_rec": [own.recall if own else None for own in lists],
        "qampari_rec_top5": [own.recall_top5 if own else None for own in lists],
        "qampari_f1": [own.f1 if own else None for own in lists],
        "qampari_f1_top5": [own.f1_top5 if own else None for own in lists],
        "claims_nli": [own.value if own else None for own in claims],
    }
    return {name: column for name, column in values.items() if any(value is not None for value in column)}
