"""Statistics of texts with citations: SCiFi's Table 1 and Appendix A.3, for answers or references of any data set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import add

from metaeval.citation.data_model import Answer
from metaeval.citation.scifi.data_model import read_sentences
from metaeval.citation.scifi.fact_entailment import counter
from metaeval.corpus.languages import ends_in_word, has_marks, words_of
from metaeval.corpus.sentences import RULES, SentenceSplitter

_SIGN = re.compile(r"[^\w\s]")


@dataclass(frozen=True, slots=True)
class CitationCounts:
    """Counts over texts with citations. samples: number of texts. tokens: without citation marks.

    cited: sentences with a citation; several: sentences with more than one. marks: citations. inside: citations that
    another word of their sentence follows; free: those of them directly between two words, away from punctuation.
    """

    samples: int = 0
    tokens: int = 0
    sentences: int = 0
    cited: int = 0
    several: int = 0
    marks: int = 0
    inside: int = 0
    free: int = 0

    def __add__(self, other: CitationCounts) -> CitationCounts:
        return CitationCounts(*map(add, astuple(self), astuple(other)))

    @property
    def shares(self) -> Mapping[str, float | None]:
        """The statistics by name; None where the denominator is 0.

        density: citations per cited sentence, as in Table 1 (density_all: of all). free: share of the citations inside.
        """
        parts = {
            "tokens": (self.tokens, self.samples),
            "density": (self.marks, self.cited),
            "density_all": (self.marks, self.sentences),
            "several": (self.several, self.sentences),
            "inside": (self.inside, self.marks),
            "free": (self.free, self.inside),
        }
        return {name: above / below if below else None for name, (above, below) in parts.items()}


def citation_counts(
    answers: Sequence[Answer], splitter: SentenceSplitter = RULES, tokenizer: str = "words"
) -> CitationCounts:
    """Return counts of tokens, sentences and citations in answers. tokenizer: counts the tokens of each sentence.

    "words" are words and punctuation marks. Raises `UserError` for a tokenizer that cannot be loaded.
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
    return CitationCounts(
        samples=len(answers),
        tokens=sum(count(sentence.text) for sentence in sentences),
        sentences=len(sentences),
        cited=sum(number > 0 for number in marks),
        several=sum(number > 1 for number in marks),
        marks=sum(marks),
        inside=sum(place != "end" for place in inside),
        free=inside.count("free"),
    )
