"""ROUGE (Lin, 2004) of the statement against the source; in English equal to rouge-score to the last digit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import ClassVar, Literal

from metaeval.corpus import languages
from metaeval.scoring.backends.model_metric import calibrated, probability
from metaeval.scoring.contract import MetricCard, PairScore, Span, Status
from metrics_zoo.cover import common_subsequence
from metrics_zoo.words import WordMetric, WordOptions

_SIZES = {"rouge1": 1, "rouge2": 2}  # words that are matched together; rougeL matches a sequence


class RougeOptions(WordOptions):
    """Options of ROUGE."""

    variant: Literal["rouge1", "rouge2", "rougeL"] = "rougeL"
    """What is matched: words, pairs of words, or the longest common subsequence."""
    side: Literal["precision", "recall", "fmeasure"] = "precision"
    """Precision is the share of the statement that is found in the source."""
    stem: bool = False
    """Match stems instead of words: Porter's in English, Snowball's in other languages."""


class Rouge(WordMetric):
    """ROUGE with the source as reference and the statement as candidate; in [0, 1]."""

    card = MetricCard(
        name="rouge",
        title="ROUGE",
        family="lexical",
        summary="ROUGE-L precision of the statement against the source",
        paper="Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries (W04-1013)",
        licence="Apache-2.0",
        **probability() | calibrated(0.48),
    )
    Options = RougeOptions
    batched = False
    english: ClassVar[re.Pattern[str]] = re.compile("[a-z0-9]+")

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a statement without a word (English: a-z, 0-9) is EMPTY, an empty source gives 0."""
        words = cache(self._tokens)
        return [self._pair(words(source), words(text)) for source, text in zip(sources, statements, strict=True)]

    def _pair(self, source: list[str], statement: list[str]) -> PairScore:
        tokens = len(source) + len(statement)
        if not statement:
            return PairScore(None, Status.EMPTY, tokens)
        size = _SIZES.get(self.options.variant)
        matched = common_subsequence(source, statement) if size is None else _shared(source, statement, size)
        precision, recall = (matched / max(len(words) - (size or 1) + 1, 1) for words in (statement, source))
        fmeasure = 2 * precision * recall / (precision + recall) if matched else 0.0
        sides = {"precision": precision, "recall": recall, "fmeasure": fmeasure}
        return PairScore(sides[self.options.side], tokens=tokens)

    def _tokens(self, text: str) -> list[str]:
        """Return the words or stems of a text. Only English stems need rouge-score, whose import is slow."""
        if not self.options.stem:
            return self.words(text)
        if self.language == "en":
            return _english_stems()(text)
        return [languages.stemmer(self.language)(word) for word in self.words(text)]

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the statement's words: weight 1 if the variant matches them, with these matches, else 0."""
        texts = {"statement": statement, "source": source}
        places = {side: [place[1:] for place in self.places(text)] for side, text in texts.items()}
        words = {side: [" ".join(self._tokens(texts[side][a:b])) for a, b in places[side]] for side in texts}
        size = _SIZES.get(self.options.variant)
        both = words["statement"], words["source"]
        pairs = common_sequence(*both) if size is None else shared_grams(*both, size)
        spans = [Span("statement", *place, 0.0, number) for number, place in enumerate(places["statement"])]
        matched: dict[int, Span] = {}
        for word, match in pairs:
            spans[word] = spans[word]._replace(weight=1.0)
            matched[match] = Span("source", *places["source"][match], 1.0, word)
        return [*spans, *matched.values()]


def _shared(left: Sequence[str], right: Sequence[str], size: int) -> int:
    return (Counter(_grams(left, size)) & Counter(_grams(right, size))).total()


def _grams(words: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[step:] for step in range(size)), strict=False)


def common_sequence(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Return the index pairs (in first, in second) of a longest common subsequence, ascending."""
    shared = {*first} & {*second}
    rows, columns = ([place for place, word in enumerate(words) if word in shared] for words in (first, second))
    matches = _common([first[place] for place in rows], [second[place] for place in columns])
    return [(rows[row], columns[column]) for row, column in matches]


def _common(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, j in product(reversed(range(len(first))), reversed(range(len(second)))):
        same, apart = lengths[i + 1][j + 1] + 1, max(lengths[i + 1][j], lengths[i][j + 1])
        lengths[i][j] = same if first[i] == second[j] else apart
    i = j = 0
    places = []
    while lengths[i][j]:
        if first[i] == second[j]:
            places.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] == lengths[i][j]:
            i += 1
        else:
            j += 1
    return places


def shared_grams(left: Sequence[str], right: Sequence[str], size: int) -> list[tuple[int, int]]:
    """Return index pairs (left, right) of words in shared n-grams of `size` words; equal ones match one to one."""
    places: dict[tuple[str, ...], list[int]] = {}
    for place, gram in enumerate(_grams(right, size)):
        places.setdefault(gram, []).append(place)
    matches = []
    for place, gram in enumerate(_grams(left, size)):
        if free := places.get(gram):
            first = free.pop(0)
            matches += [(place + step, first + step) for step in range(size)]
    return matches


@cache
def _english_stems() -> Callable[[str], list[str]]:
    """Return rouge-score's tokenizer, a function from a text to its stems."""
    from rouge_score.tokenizers import DefaultTokenizer

    tokenizer = DefaultTokenizer(use_stemmer=True)
    return lambda text: [str(token) for token in tokenizer.tokenize(text)]
