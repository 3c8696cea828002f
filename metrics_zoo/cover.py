"""The cover of a statement: the few sentences of a source that hold most of its words; and features of covers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\S+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_NEGATIONS = frozenset(
    """not no never none nor neither without cannot n nothing nobody hardly rarely fails failed lack lacks denied
    false""".split()
)

# What follows is part of every fit: with other values heads would have to be fitted again.
FEATURES = 36
_SENTENCE_WORDS = 60  # a longer sentence is cut into pieces of so many words
_PICKED = 5  # most sentences of the cover
_COVERED_WORDS = 300  # words of the cover that are compared in order

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
FlagArray = NDArray[np.bool_]


class SourceWords(NamedTuple):
    """The words of a source.

    sentences: the words of each sentence, lower-cased. vectors: of the distinct words, (words, dimensions). places: the
    row of `vectors` for each word, sentence after sentence. filled: numbers of the sentences that have words; starts:
    index in `places` at which each of them begins. neighbours: for each sentence, its pairs of adjacent words;
    all_neighbours: the pairs of all sentences.
    """

    sentences: list[list[str]]
    vectors: FloatArray
    places: IndexArray
    starts: IndexArray
    filled: IndexArray
    neighbours: list[frozenset[tuple[str, str]]]
    all_neighbours: frozenset[tuple[str, str]]


class StatementWords(NamedTuple):
    """The words of a statement.

    tokens: all its words, lower-cased. words: the distinct words to be covered; weights: their shares of the total idf;
    vectors: (words, dimensions). named, number: masks of the words that look like a name, and that hold a digit.
    clauses: for each clause with such words, their indices in `words`.
    """

    tokens: list[str]
    words: list[str]
    weights: FloatArray
    vectors: FloatArray
    named: FlagArray
    number: FlagArray
    clauses: list[IndexArray]


class Cover(NamedTuple):
    """The sentences of a source that cover a statement's words.

    picked: their numbers, in the order of selection. curve: the covered share of the total idf after 1, 2, ... 5
    sentences (the last value repeated if fewer are picked). words: coverage of each word, in [0, 1].
    """

    picked: list[int]
    curve: list[float]
    words: FloatArray


def sentence_places(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence that is not blank; after every 60 words, a longer one is split."""
    ends = [*_SENTENCE_END.finditer(text)]
    sentences: list[tuple[int, int]] = []
    starts = [0, *(end.end() for end in ends)]
    for start, end in zip(starts, [*(end.start() for end in ends), len(text)], strict=True):
        places = [word.span() for word in _TOKEN.finditer(text, start, end)]
        pieces = [places[at : at + _SENTENCE_WORDS] for at in range(0, len(places), _SENTENCE_WORDS)]
        sentences += [(piece[0][0], piece[-1][1]) for piece in pieces]
    return sentences


def cover_of(shares: FloatArray, weights: FloatArray) -> Cover:
    """Return one to five sentences that cover a statement, selected greedily by covered idf.

    shares: how far a sentence covers a word, (words, sentences). weights: the words' shares of the total idf.
    """
    picked: list[int] = []
    covered, curve = np.zeros(len(weights)), [0.0]
    for _ in range(_PICKED):
        masses = (np.maximum(shares, covered[:, None]) * weights[:, None]).sum(axis=0)
        best = int(masses.argmax())
        if picked and masses[best] - curve[-1] < 1e-6:
            break
        picked.append(best)
        curve.append(float(masses[best]))
        covered = np.maximum(covered, shares[:, best])
    return Cover(picked, [*curve[1:], *[curve[-1]] * (_PICKED - len(picked))], covered)


def features_of(
    source: SourceWords, statement: StatementWords, exact: FlagArray, shares: FloatArray, cover: Cover
) -> dict[str, float]:
    """Return the 36 features of a cover by name, in the order of the heads' columns.

    A mean over words of a kind (names, numbers, others) or over clauses is NaN where the statement has none.

    exact: whether a sentence contains a word. shares: how far a sentence covers a word, in [0, 1]. Both have the shape
    (words, sentences).
    """
    weights, covered, curve = statement.weights, cover.words, cover.curve
    anywhere: FlagArray = exact.max(axis=1)
    in_cover: FlagArray = exact[:, cover.picked].max(axis=1)
    three = shares.copy()  # a sentence and its two neighbours
    np.maximum(three[:, 1:], shares[:, :-1], out=three[:, 1:])
    np.maximum(three[:, :-1], shares[:, 1:], out=three[:, :-1])
    missing = np.sort(weights * (1 - covered))
    number = statement.number
    name = statement.named & ~number
    other = ~statement.named & ~number
    clauses = [float((weights[words] * covered[words]).sum() / weights[words].sum()) for words in statement.clauses]
    pairs = frozenset(pairwise(statement.tokens))
    pairs_in_cover = {pair for sentence in cover.picked for pair in pairs & source.neighbours[sentence]}
    text = [word for sentence in sorted(cover.picked) for word in source.sentences[sentence]]
    in_order = common_subsequence(statement.tokens, text[:_COVERED_WORDS])
    denied = any(not _NEGATIONS.isdisjoint(source.sentences[sentence]) for sentence in cover.picked[:2])
    return {
        **{f"mass of {count} sentences": mass for count, mass in enumerate(curve, 1)},
        "mass of 3 neighbours": (weights[:, None] * three).sum(axis=0).max(),
        "gain by the second": curve[1] - curve[0],
        "gain by all": curve[-1] - curve[0],
        "mass of the source": (weights * shares.max(axis=1)).sum(),
        "exact, source": _mean(anywhere),
        "exact mass, source": (weights * anywhere).sum(),
        "exact, cover": _mean(in_cover),
        "exact mass, cover": (weights * in_cover).sum(),
        "missing mass of a word": missing[-1],
        "missing mass of two words": missing[-2:].sum(),
        "words missed": (covered < 0.3).sum(),
        "share of words missed": _mean(covered < 0.3),
        **{f"quantile {share}": _quantile(covered, share) for share in (0, 0.1, 0.25, 0.5)},
        "names": _mean(covered[name]),
        "names, exact": _mean(anywhere[name]),
        "numbers": _mean(covered[number]),
        "others": _mean(covered[other]),
        "others, exact": _mean(anywhere[other]),
        "names missed": (covered[name] < 0.5).sum(),
        "numbers missed": (covered[number] < 0.5).sum(),
        "others missed": (covered[other] < 0.5).sum(),
        "worst clause": min(clauses, default=math.nan),
        "clauses": math.fsum(clauses) / len(clauses) if clauses else math.nan,
        "clauses missed": sum(mass < 0.5 for mass in clauses) if clauses else math.nan,
        "word pairs, cover": len(pairs_in_cover) / max(1, len(pairs)),
        "word pairs, source": len(pairs & source.all_neighbours) / max(1, len(pairs)),
        "words in order": in_order / max(1, len(statement.tokens)),
        "negation differs": denied == _NEGATIONS.isdisjoint(statement.tokens),
    }


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, by bit operations (Hyyro 2004).

    A zero bit of `row` marks a word of `first` at which the subsequence with the words of `second` so far grows.
    """
    places: dict[str, int] = {}
    for number, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << number
    whole = row = (1 << len(first)) - 1
    for word in second:
        if met := row & places.get(word, 0):
            row = (row + met | row - met) & whole
    return len(first) - row.bit_count()


def _quantile(values: FloatArray, share: float) -> float:
    """Return the quantile at `share` (0 to 1) by linear interpolation; np.quantile differs in the last digits."""
    ordered, place = np.sort(values), share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (place - below))


def _mean(values: FloatArray | FlagArray) -> float:
    return float(values.sum()) / values.size if values.size else math.nan


def lower_words(text: str) -> list[str]:
    """Return the words of a text (runs of letters, digits and underscores), lower-cased, in order."""
    return [word.lower() for word in WORD.findall(text)]
