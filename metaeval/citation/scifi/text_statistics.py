"""Statistics of texts with citations: SCiFi's Table 1 and Appendix A.3, for answers or references of any data set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from metaeval.citation.data_model import Answer
from metaeval.citation.scifi.data_model import read_sentences
from metaeval.citation.scifi.fact_entailment import counter
from metaeval.corpus.languages import ends_in_word, has_marks, words_of
from metaeval.corpus.sentences import RULES, SentenceSplitter

_SIGN = re.compile(r"[^\w\s]")


def shares_of(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Return the statistics of `citation_counts`, by name; None where the denominator is 0.

    density: citations per cited sentence, as in Table 1 (density_all: of all). free: share of the citations inside.
    """
    parts = {
        "tokens": ("tokens", "samples"),
        "density": ("marks", "cited"),
        "density_all": ("marks", "sentences"),
        "several": ("several", "sentences"),
        "inside": ("inside", "marks"),
        "free": ("free", "inside"),
    }
    return {name: counts[above] / counts[below] if counts[below] else None for name, (above, below) in parts.items()}


def citation_counts(
    answers: Sequence[Answer], splitter: SentenceSplitter = RULES, tokenizer: str = "words"
) -> Counter[str]:
    """Return counts of texts (samples), tokens, sentences and citations (marks) in answers, by name.

    tokens: without citation marks. cited: sentences with a citation; several: sentences with more than one. inside:
    citations that another word of their sentence follows; free: those of them directly between two words, away from
    punctuation. tokenizer: counts the tokens of each sentence; "words" are words and punctuation marks. Raises
    `UserError` for a tokenizer that cannot be loaded.
    """

    def count(text: str) -> int:
        if tokenizer != "words":
            return counter(tokenizer)(text)
        return len(words_of(text)) + sum(not has_marks(sign) for sign in _SIGN.findall(text))

    sentences = [sentence for answer in answers for sentence in read_sentences(answer, splitter)]
    marks = [sum(len(group.marks) for group in sentence.groups) for sentence in sentences]
    inside: list[str] = []
    for sentence in sentences:
        for group in sentence.groups:
            before, behind = sentence.text[: group.at].rstrip(), sentence.text[group.at :].lstrip()
            place = "free" if ends_in_word(before) and behind[:1].isalnum() else "punctuation"
            inside += [place if any(map(str.isalnum, behind)) else "end"] * len(group.marks)
    return Counter(
        samples=len(answers),
        tokens=sum(count(sentence.text) for sentence in sentences),
        sentences=len(sentences),
        cited=sum(number > 0 for number in marks),
        several=sum(number > 1 for number in marks),
        marks=sum(marks),
        inside=sum(place != "end" for place in inside),
        free=inside.count("free"),
    )
