"""What an answer should cover: the facts that its reference comes with, or the sentences to make them from."""

from __future__ import annotations

from metaeval.citation.model import Answer
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.sentences import has_letter, read_sentences
from metaeval.citation.sentences import RULES, SentenceSplitter


def given_facts(answer: Answer) -> tuple[str, ...] | None:
    """The reference's own `claims`, as they are; None where there are none."""
    claims = answer.reference.get("claims")
    if not isinstance(claims, list | tuple) or not all(isinstance(claim, str) for claim in claims):
        return None
    return tuple(claim for claim in claims if has_letter(claim)) or None


def reference_sentences(
    answer: Answer, options: ScifiOptions | None = None, splitter: SentenceSplitter = RULES
) -> tuple[str, ...] | None:
    """The sentences of the reference's `answer`, without marks; None where there is no such text."""
    text = answer.reference.get("answer")
    if not isinstance(text, str) or not text.strip():
        return None
    read = read_sentences(Answer(answer.id, text, (), first=answer.first), options, splitter)
    return tuple(sentence.text for sentence in read if has_letter(sentence.text)) or None
