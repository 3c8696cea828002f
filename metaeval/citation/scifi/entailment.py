"""Citation entailment: how far what a fact cites entails it, the most over its passages and their chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.citation.model import Answer, Entails, Pair, Verdict
from metaeval.citation.premises import find_place
from metaeval.citation.scifi.assignment import assign
from metaeval.citation.scifi.chunks import Chunk, Count, chunks_of, counter
from metaeval.citation.scifi.model import AnswerFacts, Fact, FactLine, Placed, Sentence
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.values import judge_pairs, most
from metaeval.citation.sentences import RULES, SentenceSplitter


@dataclass(frozen=True, slots=True)
class _Question:
    """A fact, what it was assigned, and the premises that it is held against, (chunk, its number) each."""

    answer: Answer
    sentence: Sentence
    fact: Fact
    group: Placed | None = None
    distance: int | None = None
    premises: tuple[tuple[Chunk, int], ...] = ()


def fact_lines(
    read: Sequence[AnswerFacts],
    entails: Entails,
    options: ScifiOptions | None = None,
    soft: bool = False,
    splitter: SentenceSplitter = RULES,
) -> list[FactLine]:
    """One line for each fact, answer by answer in the order of the text; everything is asked in one call of `entails`.

    soft: a value is the backend's score, else its decision as 0 or 1. splitter: of the passages.

    Raises ValueError for a soft score outside 0 to 1.
    """
    options = options or ScifiOptions()
    chunks = _Chunks(options, counter(options.window_unit), splitter)
    questions = [_question(each, fact, options, chunks) for each in read for fact in each.facts]
    known = judge_pairs([pair for question in questions for pair in _pairs(question)], entails, soft)
    return [_line(question, known, options, soft) for question in questions]


class _Chunks:
    """The chunks of what is cited; a passage is cut once, however many facts cite it."""

    def __init__(self, options: ScifiOptions, count: Count, splitter: SentenceSplitter) -> None:
        self._options, self._count, self._splitter = options, count, splitter
        self._cut: dict[tuple[str, tuple[int, ...]], list[Chunk]] = {}

    def of(self, answer: Answer, places: Sequence[int]) -> tuple[tuple[Chunk, int], ...]:
        """The premises for a group of passages: chunks of each by itself, or of all of them as one text."""
        texts = [tuple(places)] if self._options.group == "joint" else [(place,) for place in places]
        return tuple(
            (chunk, number) for text in texts for number, chunk in enumerate(self._chunks(answer, text), start=1)
        )

    def _chunks(self, answer: Answer, places: tuple[int, ...]) -> list[Chunk]:
        key = (answer.id, places)
        if key not in self._cut:
            passages = [(place, answer.passages[place]) for place in places]
            self._cut[key] = chunks_of(passages, self._options, self._count, self._splitter)
        return self._cut[key]


def _question(each: AnswerFacts, fact: Fact, options: ScifiOptions, chunks: _Chunks) -> _Question:
    sentence = each.sentences[fact.sentence - 1]
    if fact.trouble and len(sentence.groups) > 1:
        return _Question(each.answer, sentence, fact)
    group, distance = assign(fact, sentence, options)
    if group is None:
        return _Question(each.answer, sentence, fact)
    found = [find_place(mark.number, len(each.answer.passages))[0] for mark in group.marks]
    places = list(dict.fromkeys(place for place in found if place is not None))
    return _Question(each.answer, sentence, fact, group, distance, chunks.of(each.answer, places) if places else ())


def _pairs(question: _Question) -> list[Pair]:
    return [(chunk.text, question.fact.text) for chunk, _ in question.premises]


def _line(question: _Question, known: dict[Pair, Verdict], options: ScifiOptions, soft: bool) -> FactLine:
    answer, sentence, fact, group = question.answer, question.sentence, question.fact, question.group
    place: dict[str, object] = {
        "answer": answer.id,
        "group": answer.group or answer.id,
        "system": answer.system,
        "sentence": sentence.number,
        "sentence_start": sentence.start,
        "sentence_end": sentence.end,
        "fact_number": fact.number,
        "fact": fact.text,
        "made_by": fact.made_by,
        "segment": sentence.text[fact.segment.start : fact.segment.end],
        "segment_start": fact.segment.start,
        "segment_end": fact.segment.end,
        "found": fact.segment.found,
    }
    if group is None:
        if not sentence.groups:
            return FactLine(**place, state="uncited")  # type: ignore[arg-type]
        return FactLine(**place, state="unjudged", reason=fact.trouble)  # type: ignore[arg-type]
    place |= {
        "citations": tuple(mark.number for mark in group.marks),
        "cited_at": group.at,
        "distance": question.distance,
    }
    if not question.premises:
        value = 0.0 if options.out_of_range == "fails" else None
        return FactLine(**place, state="fails", value=value)  # type: ignore[arg-type]
    verdicts = [known[pair] for pair in _pairs(question)]
    best, value, reason = most(verdicts, soft)
    chunk, number = question.premises[best] if best is not None else (None, None)
    return FactLine(
        **place,  # type: ignore[arg-type]
        passage=None if chunk is None or chunk.passage is None else chunk.passage + 1,
        chunk=number,
        value=value,
        state="judged" if value is not None else "unjudged",
        reason=reason,
        cut=any(verdict.cut for verdict in verdicts),
    )
