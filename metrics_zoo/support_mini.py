"""support-mini: how much of a statement a few sentences of the source cover, by word vectors and two fitted heads.

Each content word of the statement is matched to the source's words by static vectors; a number matches only itself. A
greedy set cover picks the sentences that together cover most of the statement's idf mass, and features of that cover go
into two logistic regressions: P(some support), and P(full | some), that the support is full given that there is some.
`judge` returns both, with the share of each word that is covered; `uncovered_words` names the words that the source
does not cover.

The vectors are the word-piece table of all-MiniLM-L6-v2 (Apache-2.0), reduced to 96 dimensions and to bytes. The heads
were fitted on the 349 claims of WiCE dev (annotations ODC-BY), each against its whole page; idf was counted over the
texts of WiCE dev, FaithDial and Citation-Integrity (MIT). The file of parameters holds single words of theirs, and no
other text. It is made for English; words of other languages match by their spelling at best.

A source is read whole, however long. Scores have the same bytes on any number of threads and in any batch or order:
vectors lie on a grid on which float64 adds and multiplies them without rounding.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metaeval.core.errors import UserError
from metaeval.corpus.languages import fold, unfolded
from metaeval.scoring.backends.model_metric import calibrated, probability
from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore, Span, Status
from metrics_zoo.cover import (
    FEATURES,
    WORD,
    Cover,
    FloatArray,
    SourceWords,
    StatementWords,
    cover_of,
    features_of,
    lower_words,
    sentence_places,
)
from metrics_zoo.overlap import FUNCTION_WORDS

FILE = Path(__file__).with_name("support_mini.npz")
SHA256 = "42e19bae2e8dfc15555b2ce62c818161d1689d51ade632a2a06d07e04acb641d"

_WORD_PART = re.compile(r"[^\W_]+|_")
_CLAUSE_END = re.compile(r"[,;:()]|\band\b|\bwhich\b|\bwho\b|\bwhile\b|\bbut\b|\bthat\b|\bas\b")

# What follows is part of the fit: with other values the heads would have to be fitted again.
_RAREST = 8.0  # idf of a word that was never counted, and the largest
_UNLIKE, _ALIKE = 0.35, 0.85  # cosines up to which nothing, and from which all of a word is covered
_SAME = 0.999  # cosine of a word with itself, with slack

_UNKNOWN = "[UNK]"

_GRID = 2.0**24
"""Components are multiples of 1 / grid: float32 holds them, and float64 each sum of products of two unit vectors."""


class Support(NamedTuple):
    """The support of a statement by a source.

    some: P(some support). full_given_some: P(full support | some support). coverage: the share of each content word of
    the statement (lower-cased, in order) that the source covers, in [0, 1].
    """

    some: float
    full_given_some: float
    coverage: dict[str, float]

    @property
    def expected(self) -> float:
        """Return the expected level, where no support is 0, partial 1/2 and full 1."""
        return self.some * (1 + self.full_given_some) / 2

    @property
    def full(self) -> float:
        """Return P(full support)."""
        return self.some * self.full_given_some

    def uncovered(self, below: float = 0.5) -> list[str]:
        """Return the content words of which less than `below` is covered, in the statement's order."""
        return [word for word, share in self.coverage.items() if share < below]


class SupportModel:
    """The fitted parameters of support-mini, with methods that predict support."""

    def __init__(self, parameters: bytes) -> None:
        """Read the parameters from the bytes of an .npz file; raises `UserError` if they are not support-mini's."""
        try:
            with np.load(io.BytesIO(parameters), allow_pickle=False) as file:
                self._table = file["q"]
                pieces = file["pieces"].tobytes().decode().split("\n")
                counted, idf = file["idf_words"].tobytes().decode().split("\n"), file["idf"].astype(float)
                self._heads = file["heads"]
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise UserError(f"support-mini's parameters cannot be read ({error}): install metaeval again.") from error
        fits = (
            self._table.ndim == 2
            and self._table.dtype == np.int8
            and self._table.shape[0] == len(pieces)
            and idf.shape == (len(counted),)
            and self._heads.shape == (2, 4, FEATURES + 1)
            and bool(np.isfinite(idf).all() and np.isfinite(self._heads).all())
            and _UNKNOWN in pieces
        )
        if not fits:
            raise UserError("The parameters of support-mini do not fit together: install metaeval again.")
        # Rows of bytes are scaled to unit vectors.
        squares = np.square(self._table, dtype=np.int64).sum(axis=1)
        self._lengths = np.sqrt(np.maximum(squares, 1))
        self._pieces = {piece: number for number, piece in enumerate(pieces)}
        self._longest = max(map(len, pieces))
        self._idf = dict(zip(counted, idf.tolist(), strict=True))
        self._vector = lru_cache(50_000)(self._make_vector)

    def read_source(self, text: str) -> SourceWords:
        """Return the words of a source, split into sentences and looked up."""
        # A source without words is one sentence that covers nothing.
        sentences = [lower_words(text[start:end]) for start, end in sentence_places(text)] or [[]]
        numbers = {word: number for number, word in enumerate(dict.fromkeys(w for s in sentences for w in s))}
        places = [[numbers[word] for word in dict.fromkeys(sentence)] for sentence in sentences]
        filled = np.array([number for number, place in enumerate(places) if place], dtype=np.intp)
        lengths = [len(places[number]) for number in filled]
        neighbours = [frozenset(pairwise(sentence)) for sentence in sentences]
        return SourceWords(
            sentences,
            self._vectors(numbers),
            np.array([number for place in places for number in place], dtype=np.intp),
            np.cumsum([0, *lengths[:-1]], dtype=np.intp),
            filled,
            neighbours,
            frozenset().union(*neighbours),
        )

    def read_statement(self, text: str) -> StatementWords:
        """Return the words of a statement; to be covered are its content words, or else its function words.

        A statement without words counts as one unknown word.
        """
        written = WORD.findall(text)
        first: dict[str, tuple[bool, bool]] = {}  # what the first occurrence of a word looks like
        for number, word in enumerate(written):
            first.setdefault(word.lower(), (number > 0 and word[0].isupper(), any(map(str.isdigit, word))))
        words = [word for word in first if word not in FUNCTION_WORDS] or list(first) or [""]
        looks = np.array([first.get(word, (False, False)) for word in words])
        idf = np.array([min(self._idf.get(word, _RAREST), _RAREST) for word in words])
        place = {word: number for number, word in enumerate(words)}
        clauses = [[place[word] for word in lower_words(clause) if word in place] for clause in _CLAUSE_END.split(text)]
        return StatementWords(
            [word.lower() for word in written],
            words,
            idf / idf.sum(),
            self._vectors(words),
            looks[:, 0],
            looks[:, 1],
            [np.array(clause, dtype=np.intp) for clause in clauses if clause],
        )

    def judge(self, source: SourceWords, statement: StatementWords) -> Support:
        """Return the support of a statement, predicted from the sentences of the source that best cover it."""
        _, cover, features = self._match(source, statement)
        some, full = (chance(list(features.values()), head) for head in self._heads)
        return Support(some, full, dict(zip(statement.words, cover.words.tolist(), strict=True)))

    def features(self, source: SourceWords, statement: StatementWords) -> dict[str, float]:
        """Return the features of the cover by name, in the order in which the heads read them; see `features_of`."""
        return self._match(source, statement)[2]

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the content words of a statement, weighted by their coverage, and the words that cover them."""
        back_source, back_statement = unfolded(source), unfolded(statement)
        source, statement = fold(source), fold(statement)
        read, claim = self.read_source(source), self.read_statement(statement)
        shares, cover, _ = self._match(read, claim)
        places = sentence_places(source)
        numbers = {word: number for number, word in enumerate(claim.words)}
        spans = [
            Span("statement", *back_statement(*place.span()), float(cover.words[number]), number)
            for place in WORD.finditer(statement)
            if (number := numbers.get(place.group().lower())) is not None
        ]
        for number in np.flatnonzero(cover.words > 0).tolist():
            covered = float(cover.words[number])
            best = next(sentence for sentence in cover.picked if shares[number, sentence] == covered)
            words = list(WORD.finditer(source, *places[best]))
            alike = self._shares(claim, claim.vectors @ self._vectors([word.group().lower() for word in words]).T)
            spans += [
                Span("source", *back_source(*word.span()), covered, number)
                for word, share in zip(words, alike[number].tolist(), strict=True)
                if share == covered
            ]
        return spans

    def _match(self, source: SourceWords, statement: StatementWords) -> tuple[FloatArray, Cover, dict[str, float]]:
        """Return the coverage of words by sentences, (words, sentences), the cover, and its features."""
        cosines = np.zeros((len(statement.words), len(source.sentences)))
        if source.filled.size:
            by_word = statement.vectors @ source.vectors.T
            cosines[:, source.filled] = np.maximum.reduceat(by_word[:, source.places], source.starts, axis=1)
        shares = self._shares(statement, cosines)
        cover = cover_of(shares, statement.weights)
        return shares, cover, features_of(source, statement, cosines > _SAME, shares, cover)

    @staticmethod
    def _shares(statement: StatementWords, cosines: FloatArray) -> FloatArray:
        """Return the coverage, in [0, 1], of each statement word by each source unit, in the shape of `cosines`.

        cosines: (statement words, source sentences or words). A number is covered only by the same number.
        """
        shares: FloatArray = np.clip((cosines - _UNLIKE) / (_ALIKE - _UNLIKE), 0, 1)
        shares[statement.number] = cosines[statement.number] > _SAME
        return shares

    def _vectors(self, words: Iterable[str]) -> FloatArray:
        rows = [self._vector(word) for word in words]
        return np.array(rows, dtype=np.float64).reshape(len(rows), self._table.shape[1])

    def _make_vector(self, word: str) -> NDArray[np.float32]:
        """Return the unit vector, rounded to the grid, of the mean of a word's pieces."""
        numbers = self._split(word)
        total = (self._table[numbers] / self._lengths[numbers, None]).sum(axis=0)
        length = math.sqrt(np.square(total).sum()) or 1.0
        vector: NDArray[np.float32] = (np.rint(total * (_GRID / length)) / _GRID).astype(np.float32)
        return vector

    def _split(self, word: str) -> list[int]:
        """Return the ids of a word's pieces, without accents, longest match first; [UNK] for a part without a match."""
        unknown = self._pieces[_UNKNOWN]
        letters = unicodedata.normalize("NFD", word.lower())
        plain = "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")
        numbers: list[int] = []
        for part in _WORD_PART.findall(plain):
            numbers += self._split_part(part) or [unknown]
        return numbers or [unknown]

    def _split_part(self, part: str) -> list[int]:
        numbers, start = [], 0
        while start < len(part):
            for end in range(min(len(part), start + self._longest), start, -1):
                number = self._pieces.get(("##" if start else "") + part[start:end])
                if number is not None:
                    numbers.append(number)
                    start = end
                    break
            else:
                return []
        return numbers


def chance(features: Sequence[float], head: FloatArray) -> float:
    """Return a logistic regression's probability. head: the rows fill (for NaN), mean, scale, weight; bias last."""
    terms = [
        ((fill if math.isnan(value) else value) - mean) / scale * weight
        for value, (fill, mean, scale, weight) in zip(features, head[:, :-1].T.tolist(), strict=True)
    ]
    return 1 / (1 + math.exp(-math.fsum([*terms, float(head[3, -1])])))


@cache
def load_model() -> SupportModel:
    """Load the parameters that are part of the package; raises `UserError` if the file is not the published one."""
    try:
        content = FILE.read_bytes()
    except OSError as error:
        raise UserError(f"The parameters of support-mini cannot be read ({error}): install metaeval again.") from error
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != SHA256:
        raise UserError(f"{FILE} is not the file that is shipped (SHA-256 {sha256}): install metaeval again.")
    return SupportModel(content)


def judge(source: str, statement: str) -> Support:
    """Return the support of a statement by a source; a statement without words counts as one unknown word."""
    model = load_model()
    return model.judge(model.read_source(fold(source)), model.read_statement(fold(statement)))


def uncovered_words(source: str, statement: str, below: float = 0.5) -> list[str]:
    """Return the content words of the statement of which the source covers less than `below`, lower-cased, in order.

    A word is covered by similar words of at most five sentences, those that together cover most of the statement; a
    number only by itself.
    """
    return judge(source, statement).uncovered(below)


class SupportMiniOptions(MetricOptions):
    """Options of support-mini."""

    score: Literal["expected", "some", "full", "full_given_some"] = "expected"
    """Expected level P(some) (1 + P(full | some)) / 2, P(some support), P(full support), or P(full | some)."""


class SupportMini(Metric):
    """The expected support level of the statement, predicted from how well a few source sentences cover its words.

    For English. The parameters (3 MB) are in the package.
    """

    card = MetricCard(
        name="support-mini",
        family="lexical",
        summary="fitted on how much of the statement a few sentences of the source cover, by word vectors; for English",
        paper="none: this project's own",
        version=2,  # Unicode forms of a word are one word; in version 1 they were several
        licence="Apache-2.0; fitted on WiCE (ODC-BY), counts of FaithDial and Citation-Integrity (MIT), vectors of "
        "all-MiniLM-L6-v2 (Apache-2.0)",
        revision=f"sha256:{SHA256[:16]}",
        parameters="2.9 M",
        fitted_on=("wice/dev",),
        **probability() | calibrated(0.59),
    )
    Options = SupportMiniOptions
    batched = False

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a statement without words is EMPTY, a source without words covers no word."""
        model = load_model()
        read_sources = {text: model.read_source(fold(text)) for text in dict.fromkeys(sources)}
        read_statements = {text: model.read_statement(fold(text)) for text in dict.fromkeys(statements)}
        return [
            self._pair(model, read_sources[source], read_statements[statement])
            for source, statement in zip(sources, statements, strict=True)
        ]

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the content words, weighted by their coverage, and the source's words that cover them; or []."""
        return load_model().explain(source, statement) if WORD.search(fold(statement)) else []

    def _pair(self, model: SupportModel, source: SourceWords, statement: StatementWords) -> PairScore:
        tokens = sum(map(len, source.sentences)) + len(statement.tokens)
        if not statement.tokens:
            return PairScore(None, Status.EMPTY, tokens)
        support = model.judge(source, statement)
        return PairScore(getattr(support, self.options.score), tokens=tokens)
