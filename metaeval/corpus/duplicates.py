"""Texts that occur in several groups of a corpus, and pairs that were judged more than once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from metaeval.corpus.model import Corpus, SupportLevel
from metaeval.corpus.pair_table import Pair


class Duplicates(NamedTuple):
    """Numbers of texts that are equal but for case and white space.

    statements, chunks: distinct texts that stand in several groups. judged_twice: pairs of statement and page that
    several citations judge; conflicting: those with several levels.
    """

    statements: int
    chunks: int
    judged_twice: int
    conflicting: int


def duplicates(corpus: Corpus, pairs: Iterable[Pair]) -> Duplicates:
    """Count the duplicates of a corpus, and of the chunks that its pairs hold."""
    judged: dict[tuple[str, str], list[SupportLevel]] = defaultdict(list)
    for citation in corpus.citations:
        page = _words_of(corpus.documents[citation.document_id].text)
        if page:
            judged[_words_of(corpus.statements[citation.statement_id].text), page].append(citation.level)
    twice = [levels for levels in judged.values() if len(levels) > 1]
    return Duplicates(
        statements=_in_several_groups((statement.text, statement.group) for statement in corpus.statements.values()),
        chunks=_in_several_groups((pair.source, pair.group) for pair in pairs),
        judged_twice=len(twice),
        conflicting=sum(len(set(levels)) > 1 for levels in twice),
    )


def _in_several_groups(texts: Iterable[tuple[str, str]]) -> int:
    groups = Counter(text for text, _ in {(_words_of(text), group) for text, group in texts} if text)
    return sum(number > 1 for number in groups.values())


def _words_of(text: str) -> str:
    return " ".join(text.lower().split())
