"""What ALCE measures of an answer beside its citations: short answers, lists, claims, ROUGE-Lsum, length.

Functions that take a text take the answer's text without its marks (`clean_answer`). Values are in [0, 1]; None where
the reference does not hold what the measure needs.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Literal

from metaeval.citation.alce.citations import clean
from metaeval.citation.alce.options import PAPER, AlceOptions
from metaeval.citation.measures import Share, f1
from metaeval.citation.model import Answer, Entails
from metaeval.citation.premises import verdicts_on
from metaeval.citation.sentences import prepare
from metaeval.corpus.sentences import RULES, SentenceSplitter

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_TOP = 5

_LISTS = ("num_preds", "qampari_prec", "qampari_rec", "qampari_rec_top5", "qampari_f1", "qampari_f1_top5")

MEASURES = ("str_em", "str_hit", "rougeLsum", "claims_nli", *_LISTS, "length")
"""The measures under the released code's names, in the order of tables."""


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


def list_scores(text: str, wanted: Sequence[Sequence[str]]) -> dict[str, float | None]:
    """QAMPARI: the comma-separated items of the text against the gold answers, each a list of aliases.

    The number of items, precision, recall, recall at a gold list of at most five, and F1 with either recall. Items and
    aliases count as equal in normal form; items that are empty in it are left out. A gold answer is found once,
    however many items name it. Empty without gold answers.
    """
    if not wanted:
        return {}
    items = [normalise(item) for item in text.rstrip().rstrip(".").rstrip(",").split(",")]
    items = [item for item in items if item]
    gold = [{normalise(alias) for alias in aliases} for aliases in wanted]
    known = set().union(*gold)
    precision = sum(item in known for item in items) / len(items) if items else 0.0
    found = sum(not aliases.isdisjoint(items) for aliases in gold)
    recall, top = found / len(gold), min(_TOP, found) / min(_TOP, len(gold))
    values = float(len(items)), precision, recall, top, f1(precision, recall), f1(precision, top)
    return dict(zip(_LISTS, values, strict=True))


def claim_recalls(answers: Sequence[Answer], entails: Entails, options: AlceOptions = PAPER) -> list[float | None]:
    """ELI5: the share of the reference's claims that each answer's text entails, all asked in one call.

    None without claims; claims without a verdict are left out.
    """
    asked: list[list[tuple[str, str]]] = []
    for answer in answers:
        text = clean_answer(answer, options)
        asked.append([(text, claim) for claim in answer.reference.get("claims") or ()])
    verdicts = verdicts_on((pair for own in asked for pair in own), entails)
    judged = [[verdicts[pair].entailed for pair in own if verdicts[pair].entailed is not None] for own in asked]
    return [sum(map(bool, own)) / len(own) if own else None for own in judged]


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
    split_on: Literal["text as written", "small letters"] = "text as written",
) -> list[float | None]:
    """F1 of each text against the best of its references, in [0, 1]; None without a reference.

    Small letters, one sentence a line, Porter stems. The splitter decides where the lines end, which moves the value;
    of text in small letters the project's rules end no line, since no sentence of theirs opens with one. split_on:
    sentences are split before, or as in the released code after capitals are gone.
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
    answers: Sequence[Answer], options: AlceOptions = PAPER, splitter: SentenceSplitter = RULES
) -> Values:
    """The measures of correctness and length, under the released code's names, as shares in [0, 1] and counts.

    A measure that no answer has is left out, and so is the recall of claims, which needs verdicts (`claim_recalls`).
    """
    texts = [clean_answer(answer, options) for answer in answers]
    short = [short_answers(text, short_answers_of(answer)) for answer, text in zip(answers, texts, strict=True)]
    lists = [
        list_scores(text, answer.reference.get("answers") or ()) for answer, text in zip(answers, texts, strict=True)
    ]
    values: dict[str, Sequence[float | None]] = {
        "length": [float(len(text.split())) for text in texts],
        "str_em": [own.value if own else None for own in short],
        "str_hit": [float(own.hits == own.total) if own else None for own in short],
        "rougeLsum": rouge_lsum(texts, [references_of(answer) for answer in answers], splitter, options.split_on),
        **{name: [own.get(name) for own in lists] for name in _LISTS},
    }
    return {name: column for name, column in values.items() if any(value is not None for value in column)}
