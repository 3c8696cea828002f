"""ROUGE-Lsum of answers against one or more references, by the rouge-score package, as ALCE uses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from metaeval.citation.model import Answer
from metaeval.citation.sentences import RULES, SentenceSplitter

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
