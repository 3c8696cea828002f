"""support-minilm: two fitted heads on support-mini's cover and MiniLM's token matches.

A source is read whole, in windows of at most 150 words. Six features of a pair: the statement's tokens matched to a
window (BERTScore precision, the best window) and to a single sentence (each token by its word's share of the idf mass,
the best sentence), the cosine of the mean vectors (the best window); and of support-mini's cover the numbers missed,
the names missed, and the share of neighbouring words that stand side by side in it. Two logistic regressions give
P(some support) and P(full | some).

The heads were fitted on the labels of WiCE dev, ExpertQA rand_val and QASemConsistency dev, every statement against its
whole page (`benchmarks/support_mini/fit_minilm.py`). It is made for English.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.corpus.sentences import packed
from metaeval.scoring.backends.model_metric import calibrated, probability
from metaeval.scoring.backends.text_encoder import EncodedText
from metaeval.scoring.contract import MetricCard, PairScore, Status
from metrics_zoo.cover import WORD, FloatArray, StatementWords, sentence_places
from metrics_zoo.minilm import CARD, MiniLMMetric, MiniLMOptions
from metrics_zoo.support_mini import SHA256, Support, SupportMiniOptions, chance, load_model

if TYPE_CHECKING:
    import torch

WINDOW_WORDS = 150

FEATURES = (
    "window precision",
    "sentence precision",
    "window cosine",
    "numbers missed",
    "names missed",
    "word pairs, cover",
)

# For each head what a missing feature is filled with, means, scales and weights of the features, the bias at the end.
HEADS: FloatArray = np.array(
    [
        [
            [0.648, 0.585, 0.595, 0.0, 0.0, 0.167, 0.0],
            [0.643, 0.595, 0.587, 0.167, 0.369, 0.235, 0.0],
            [0.104, 0.126, 0.146, 0.627, 1.04, 0.216, 1.0],
            [0.217, 0.192, 0.248, -0.09, -0.122, 0.144, 1.707],
        ],
        [
            [0.66, 0.602, 0.619, 0.0, 0.0, 0.192, 0.0],
            [0.657, 0.61, 0.605, 0.143, 0.296, 0.254, 0.0],
            [0.099, 0.122, 0.139, 0.516, 0.857, 0.221, 1.0],
            [0.151, 0.096, 0.155, -0.264, -0.283, 0.029, 1.028],
        ],
    ]
)


class SourceWindow(NamedTuple):
    """A part of a source that is encoded at once, and the start and end of its sentences in it, in characters."""

    text: str
    sentences: list[tuple[int, int]]


def windows_of(source: str) -> list[SourceWindow]:
    """Return the windows of a source: whole sentences, at most 150 words each; a blank source has none."""

    def words(place: tuple[int, int]) -> int:
        return len(source[slice(*place)].split())

    return [
        SourceWindow(
            source[places[0][0] : places[-1][1]], [(start - places[0][0], end - places[0][0]) for start, end in places]
        )
        for places in packed(sentence_places(source), words, WINDOW_WORDS)
    ]


class PairFeatures(NamedTuple):
    """The six `FEATURES` of a pair (None: a statement without words), its number of tokens, and how many were cut."""

    features: tuple[float, ...] | None
    tokens: int
    cut: int


class SupportMiniLMOptions(SupportMiniOptions, MiniLMOptions):
    """Options of support-minilm."""


class SupportMiniLM(MiniLMMetric):
    """The expected support level of the statement, from word cover and MiniLM's token matches, by two fitted heads."""

    card = MetricCard(
        name="support-minilm",
        title="support-MiniLM",
        summary="fitted on MiniLM's token matches and on which names and numbers a source misses; for English",
        paper="none: this project's own",
        **CARD
        | {
            "licence": "Apache-2.0; fitted on WiCE (ODC-BY), ExpertQA (MIT) and QASemConsistency (Apache-2.0)",
            "input_limit": None,
            "truncation": "none",
            "fitted_on": (
                "wice/dev",
                *(f"expertqa/{split}" for split in ("rand_val", "domain_val", "domain_test", "all")),
                *(f"qasem/{split}" for split in ("dev", "all")),
            ),
            "level_options": ({"score": "some"}, {"score": "full"}),
        }
        | probability()
        | calibrated(0.71),
    )
    Options = SupportMiniLMOptions

    def observed(self) -> Mapping[str, Any]:
        """Return what the pairs' features depend on; all values of the option `score` share one run of the model."""
        card = self.card
        return {card.name: card.version, "weights": card.revision, "words": SHA256, "max": self.options.max_tokens}

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairFeatures]:
        """Return the features of pairs; each source is read and encoded once."""
        model = load_model()
        windows = {source: windows_of(source) for source in dict.fromkeys(sources)}
        texts = self.texts.read([*statements, *(window.text for part in windows.values() for window in part)])
        places = {text: self.texts.encoder.places(text)[1:-1] for text in texts}
        read_sources = {source: model.read_source(source) for source in windows}
        read_statements = {text: model.read_statement(text) for text in dict.fromkeys(statements)}
        return [
            self._observe(
                TokenMatcher(texts, places, windows[source]),
                statement,
                read_statements[statement],
                model.features(read_sources[source], read_statements[statement]),
            )
            for source, statement in zip(sources, statements, strict=True)
        ]

    @staticmethod
    def _observe(
        matcher: TokenMatcher, text: str, statement: StatementWords, cover: Mapping[str, float]
    ) -> PairFeatures:
        read = [matcher.texts[text], *(matcher.texts[window.text] for window in matcher.windows)]
        tokens, cut = sum(item.tokens for item in read), sum(item.cut for item in read)
        if not statement.tokens:
            return PairFeatures(None, tokens, cut)
        features = *matcher.match(text, statement), *(cover[name] for name in FEATURES[3:])
        return PairFeatures(features, tokens, cut)

    def judge(self, observations: Sequence[PairFeatures]) -> list[PairScore]:
        """Return each pair's score, as `score` names it; a statement without words is EMPTY."""
        return [
            PairScore(None, Status.EMPTY, tokens, cut)
            if features is None
            else PairScore(getattr(support_of(features), self.options.score), tokens=tokens, cut=cut)
            for features, tokens, cut in observations
        ]


def support_of(features: Sequence[float]) -> Support:
    """Return both heads' probabilities for a pair's six `FEATURES`; `coverage` is empty."""
    some, full = (chance(features, head) for head in HEADS)
    return Support(some, full, {})


class TokenMatcher(NamedTuple):
    """Matches statements with the windows of a source. texts: encoded texts (a mean vector, then one for each token);
    places: start and end of each of their tokens in the text, in characters.
    """

    texts: Mapping[str, EncodedText]
    places: Mapping[str, list[tuple[int, int]]]
    windows: Sequence[SourceWindow]

    def match(self, text: str, statement: StatementWords) -> tuple[float, float, float]:
        """Return best window's precision, best sentence's idf-weighted precision, best window's cosine; or zeros."""
        if not self.windows:
            return 0.0, 0.0, 0.0
        import torch

        states = self.texts[text].states
        tokens = _tokens(states)
        weights = torch.tensor(_weights(text, self.places[text], statement), dtype=torch.float64)
        precision, sentence, cosine = [], [], []
        for window in self.windows:
            other = self.texts[window.text].states
            cosine.append(float(states[0].double() @ other[0].double()))
            cosines = tokens @ _tokens(other).T
            starts = [start for start, _ in self.places[window.text]]
            best = []
            for start, end in window.sentences:
                first, last = np.searchsorted(starts, [start, end]).tolist()
                if first < last:
                    best.append(cosines[:, first:last].amax(dim=1).double())
            if best:
                by_sentence = torch.stack(best)
                sentence.append(float((by_sentence @ weights).max()))
                precision.append(float(by_sentence.amax(dim=0).mean()))
        return max(precision, default=0.0), max(sentence, default=0.0), max(cosine)


def _tokens(states: torch.Tensor) -> torch.Tensor:
    """Return the vectors of a text's tokens, without the mean vector and the two special tokens."""
    return states[2:-1]


def _weights(text: str, places: Sequence[tuple[int, int]], statement: StatementWords) -> list[float]:
    """Return each token's share of the statement's total idf; a word's share is divided equally among its tokens.

    Words that are not to be covered, mostly function words, have weight 0.
    """
    share = dict(zip(statement.words, statement.weights.tolist(), strict=True))
    weights = [0.0] * len(places)
    starts = [start for start, _ in places]
    for word in WORD.finditer(text):
        first, last = np.searchsorted(starts, word.span()).tolist()
        for number in range(first, last):
            weights[number] = share.get(word.group().lower(), 0.0) / (last - first)
    total = sum(weights)
    return [weight / total for weight in weights] if total else [1 / max(1, len(places))] * len(places)
