"""The base class of metrics that compare words, in the language of the texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from metaeval.corpus.languages import (
    ENGLISH,
    Language,
    fold,
    language_of_pairs,
    plain_word,
    unfolded,
    word_pattern,
    words_of,
)
from metaeval.scoring.contract import Metric, MetricOptions, TextPair


class WordOptions(MetricOptions):
    """Options of a metric that compares words."""

    language: Language = "auto"
    """Language whose words are read; auto: that of the job's texts."""


class WordMetric(Metric):
    """A metric that compares words.

    english: the pattern by which words are found in lower-cased English text. folds: whether texts that differ in
    Unicode form alone have the same words (see `languages.fold`), which official code does not see to.
    """

    Options = WordOptions
    english: ClassVar[re.Pattern[str]] = ENGLISH
    folds: ClassVar[bool] = False

    def __init__(self, options: MetricOptions | None = None) -> None:
        super().__init__(options)
        self._language = str(self.options.language).replace("auto", "en")

    @property
    def language(self) -> str:
        """The code of the language whose words are read; en until `prepare` has detected it."""
        return self._language

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, without the option `language` if it is "en": earlier versions had none."""
        identity = super().identity()
        options = {name: value for name, value in identity["options"].items() if (name, value) != ("language", "en")}
        # Scores that were stored before texts were folded are not found; thresholds of that version hold.
        return {**identity, "options": options, **({"folds": True} if self.folds else {})}

    def settled(self, pairs: Collection[TextPair]) -> Mapping[str, Any]:
        """Return {"language": that of a job's texts} if the option is auto, else {}. pairs: (source, statement)."""
        sides = [{pair[side] for pair in pairs} for side in (1, 0)]
        return {"language": language_of_pairs(*sides)} if self.options.language == "auto" else {}

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Detect the language of the texts, if the option is auto."""
        if self.options.language == "auto":
            self._language = language_of_pairs(statements, sources)

    def words(self, text: str) -> list[str]:
        """Return the words of a text in lower case."""
        return words_of(fold(text) if self.folds else text, self.language, self.english)

    def places(self, text: str) -> list[tuple[str, int, int]]:
        """Return the words of a text in lower case, each with its start and end in the text: (word, start, end)."""
        pattern = self.english if self.language == "en" else word_pattern()
        whole = str if self.language == "en" else plain_word
        read = fold(text) if self.folds else text
        back = (lambda *place: place) if read == text else unfolded(text)
        return [(whole(match.group()), *back(*match.span())) for match in pattern.finditer(lower_letters(read))]


def lower_letters(text: str) -> str:
    """Return a text in lower case with its length unchanged: a letter whose lower case has two characters stays."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(low if len(low := c.lower()) == 1 else c for c in text)
