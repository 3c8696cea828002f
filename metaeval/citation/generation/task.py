"""The task of a run: which documents each question has, in which order, how often it is asked, and worked examples."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.generation.strategies import cited
from metaeval.citation.model import Answer, Passage
from metaeval.citation.readers.answers import read_answers
from metaeval.errors import UserError, shown

_IRRELEVANT = "irrelevant"
"""The word by which ALCE's code (`get_shorter_text`) finds snippets and summaries of no use."""


@dataclass(frozen=True)
class GenerationTask:
    """The questions as they are asked, one for each sample, with their documents, and the worked examples.

    notes: counts of what the documents lack, by their words.
    """

    questions: Sequence[Answer]
    shots: Sequence[Answer] = ()
    notes: Counter[str] = field(default_factory=Counter)


def task_of(questions: Sequence[Answer], options: GenerationOptions) -> GenerationTask:
    """Return the task of a run. Raises `UserError` where the questions lack what the options ask for."""
    shots = [] if options.shots is None else read_shots(options.shots, questions)
    notes = Counter[str]()
    if options.document_text != "text":
        questions = _shortened(questions, options, notes)
        shots = _shortened(shots, options, Counter()) if shots else shots
    elif options.documents is not None:
        _check_number(questions, options.documents)
    if options.documents is not None:
        questions = [replace(question, passages=question.passages[: options.documents]) for question in questions]
    if options.oracle or options.negatives is not None:
        questions = _around_cited(questions, options, notes)
    if options.shuffle is not None:
        questions = [_reordered(question, options.shuffle) for question in questions]
    return GenerationTask(list(_samples(questions, options.samples)), shots, notes)


def read_shots(path: Path, questions: Sequence[Answer]) -> list[Answer]:
    """Return the worked examples of a file of answers.

    Raises `UserError` for an example without a question or a mark, and for one that is also a question of the run.
    """
    shots, ids = read_answers(path), {question.question.strip(): question.id for question in questions}
    for shot in shots:
        where = f"{path}: the worked example {shown(shot.id)}"
        if not shot.question.strip():
            raise UserError(f"{where} has no question; give it a field 'question'.")
        numbers = cited(shot.text)
        if shot.first != 1 or not numbers or not 1 <= numbers[0] <= numbers[-1] <= len(shot.passages):
            raise UserError(f"{where} should cite its documents by numbers from 1 to {len(shot.passages)}.")
        if shot.question.strip() in ids:
            raise UserError(
                f"{where} is also a question of this run ({shown(ids[shot.question.strip()])}): leave it out of one "
                "of the two files."
            )
    return shots


def _check_number(questions: Sequence[Answer], documents: int) -> None:
    short = [question for question in questions if len(question.passages) < documents]
    if short:
        raise UserError(
            f"documents={documents} asks for more documents than there are: {len(short):,} of {len(questions):,} "
            f"questions have fewer, {shown(short[0].id)} has {len(short[0].passages)}."
        )


def _shortened(questions: Sequence[Answer], options: GenerationOptions, notes: Counter[str]) -> list[Answer]:
    """Return the questions with the documents that have the short text, as ALCE's code takes them.

    Texts that call a document irrelevant are passed over, and a list ends where the field does; a question without any
    keeps its first document, of which the text is shown.
    """
    name, most = options.document_text, options.documents
    if not any(getattr(passage, name) for question in questions for passage in question.passages):
        raise UserError(
            f"No document has the field for document_text={name}: give a file such as ALCE's, whose documents have the "
            "fields 'summary' and 'extraction' (or 'snippet'), or show the text."
        )
    kept = []
    for question in questions:
        held = [passage for passage in question.passages if getattr(passage, name)]
        passages = tuple(passage for passage in held if _IRRELEVANT not in getattr(passage, name).lower())
        notes[f"documents with an irrelevant {name}, passed over"] += len(held) - len(passages)
        notes[f"documents without a {name}, left out"] += len(question.passages) - len(held)
        notes["questions with fewer documents than asked for"] += most is not None and len(passages) < most
        notes[f"questions without a {name}, whose first document is shown"] += not passages
        kept.append(replace(question, passages=passages or question.passages[:1]))
    return kept


def _around_cited(questions: Sequence[Answer], options: GenerationOptions, notes: Counter[str]) -> list[Answer]:
    """Return the questions with the documents that their texts cite, and random others."""
    kept = []
    for question in questions:
        numbers = cited(question.text, question.first)
        positive = {number for number in numbers if 1 <= number <= len(question.passages)}
        if not positive:
            raise UserError(
                f"Question {shown(question.id)} has no text that cites a document, which oracle and negatives need: "
                "give SCiFi's samples, or answers with marks."
            )
        draw = random.Random(f"{options.shuffle or 0} negatives {question.id}")
        uncited = [number for number in range(1, len(question.passages) + 1) if number not in positive]
        drawn = {*draw.sample(uncited, min(options.negatives or 0, len(uncited)))}
        passages = [p for number, p in enumerate(question.passages, start=1) if number in positive | drawn]
        if missing := (options.negatives or 0) - len(drawn):
            others = _of_others(question, questions)
            if len(others) < missing:
                raise UserError(
                    f"negatives={options.negatives} asks for more documents than there are: {shown(question.id)} has "
                    f"{len(drawn)} uncited ones, and other questions have {len(others)}."
                )
            passages += draw.sample(others, missing)
            notes["negatives from other questions"] += missing
        kept.append(replace(question, passages=tuple(passages)))
    return kept


def _of_others(question: Answer, questions: Iterable[Answer]) -> list[Passage]:
    """Return the distinct documents with a text that only other questions have."""
    texts = {passage.text for passage in question.passages}
    others = {passage.text: passage for other in questions for passage in other.passages if passage.text.strip()}
    return [passage for text, passage in others.items() if text not in texts]


def _reordered(question: Answer, seed: int) -> Answer:
    passages = list(question.passages)
    random.Random(f"{seed} order {question.id}").shuffle(passages)
    return replace(question, passages=tuple(passages))


def _samples(questions: Sequence[Answer], samples: int) -> Iterable[Answer]:
    for question in questions:
        if samples == 1:
            yield question
        else:
            yield from (question.in_sample(sample) for sample in range(samples))
