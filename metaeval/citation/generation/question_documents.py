"""The task of a run: which documents each question has, in which order, how often it is asked, and worked examples."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.generation.strategies import cited
from metaeval.citation.marks_and_sentences import cleaned, find_marks
from metaeval.citation.readers.answer_files import read_answers
from metaeval.core.errors import UserError, shown

_IRRELEVANT = "irrelevant"  # the word by which ALCE's code (`get_shorter_text`) finds snippets and summaries of no use


def task_of(questions: Sequence[Answer], options: GenerationOptions) -> tuple[list[Answer], list[Answer], Counter[str]]:
    """Return the questions with their documents, one for each sample, the worked examples (shots), and notes.

    The notes count, by description, how often documents of questions were left out or added. Raises `UserError` where
    questions lack what the options ask for.
    """
    shots = [] if options.shots is None else read_shots(options.shots, questions)
    notes, of_shots, number = Counter[str](), Counter[str](), options.documents
    if options.document_text != "text":
        questions = _shortened(questions, options, notes)
        shots = _shortened(shots, options, of_shots) if shots else shots
        if bare := next((shot for shot in shots if not cited(shot.text)), None):
            raise UserError(f"The worked example {shown(bare.id)} cites no document with a {options.document_text}.")
    elif number is not None and (short := [each for each in questions if len(each.passages) < number]):
        some, held = f"{len(short):,} of {len(questions):,} questions have", len(short[0].passages)
        raise UserError(f"documents={number} are more than {some} ({shown(short[0].id)}: {held}): set documents lower.")
    if number is not None:
        questions = [replace(question, passages=question.passages[:number]) for question in questions]
    if options.negatives is not None:
        questions = cited_and_negatives(questions, options.negatives, options.shuffle or 0, notes)
        shots = cited_and_negatives(shots, options.negatives, options.shuffle or 0, of_shots)
    if options.shuffle is not None:
        questions, shots = ([shuffled(each, options.shuffle) for each in answers] for answers in (questions, shots))
    if options.samples > 1:
        questions = [question.in_sample(sample) for question in questions for sample in range(options.samples)]
    return list(questions), shots, notes


def read_shots(path: Path, questions: Sequence[Answer]) -> list[Answer]:
    """Return the worked examples in a file of answers. questions: those of the run.

    Raises `UserError` for an example without a question or a mark, with a mark that cites none of its documents, or
    that numbers documents from 0, and for one that is also a question of the run.
    """
    shots, ids = list(map(cleaned, read_answers(path))), {each.question.strip(): each.id for each in questions}
    for shot in shots:
        where = f"{path}: the worked example {shown(shot.id)}"
        if not shot.question.strip():
            raise UserError(f"{where} has no question; give it a field 'question'.")
        numbers = cited(shot.text)
        if shot.first != 1 or not numbers or not 1 <= numbers[0] <= numbers[-1] <= len(shot.passages):
            raise UserError(f"{where} should cite its documents by numbers from 1 to {len(shot.passages)}.")
        if shot.question.strip() in ids:
            raise UserError(f"{where} is also question {shown(ids[shot.question.strip()])} of this run: leave one out.")
    return shots


def _shortened(questions: Sequence[Answer], options: GenerationOptions, notes: Counter[str]) -> list[Answer]:
    """Return the questions with only the documents that have the short text (snippet or summary), as in ALCE's code.

    Documents whose short text says "irrelevant" are left out too. A question that loses all of its documents keeps the
    first. notes: an output, to which counts are added. Raises `UserError` if no document has the short text.
    """
    name, most = options.document_text, options.documents
    if not any(getattr(passage, name) for question in questions for passage in question.passages):
        raise UserError(f"No document has a {name}: give a file such as ALCE's, or set document_text=text.")
    kept = []
    for question in questions:
        held = {at: text for at, each in enumerate(question.passages, start=1) if (text := getattr(each, name))}
        order = [at for at, text in held.items() if _IRRELEVANT not in text.lower()]
        notes[f"documents with an irrelevant {name}, passed over"] += len(held) - len(order)
        notes[f"documents without a {name}, left out"] += len(question.passages) - len(held)
        notes["questions with fewer documents than asked for"] += most is not None and len(order) < most
        notes[f"questions without a {name}, whose first document is shown"] += not order
        kept.append(_with_documents(question, order or [1]))
    return kept


def cited_and_negatives(answers: Sequence[Answer], negatives: int, seed: int, notes: Counter[str]) -> list[Answer]:
    """Return the answers with only the documents that their texts cite and random others, and their marks renumbered.

    negatives: number of other documents, drawn from the answer's own, and, if these are too few, from those of other
    answers. seed: of drawing. notes: an output, to which the number from other answers is added. Raises `UserError` for
    an answer that cites none of its documents, and where there are too few others.
    """
    kept = []
    for answer in answers:
        places = range(1, len(answer.passages) + 1)
        positive = {*cited(answer.text, answer.first)} & {*places}
        if not positive:
            raise UserError(f"Question {shown(answer.id)} has no text that cites its documents: negatives needs one.")
        draw = random.Random(f"{seed} negatives {answer.id}")
        uncited = [place for place in places if place not in positive]
        drawn = {*draw.sample(uncited, min(negatives, len(uncited)))}
        more: list[Passage] = []
        if missing := negatives - len(drawn):
            texts = {passage.text for passage in answer.passages}
            every = {passage.text: passage for other in answers for passage in other.passages if passage.text.strip()}
            others = [passage for text, passage in every.items() if text not in texts]
            if len(others) < missing:
                held = len(drawn) + len(others)
                raise UserError(f"negatives={negatives}: question {shown(answer.id)} finds {held}: set it lower.")
            more = draw.sample(others, missing)
            notes["negatives from other questions"] += missing
        kept.append(_with_documents(answer, sorted(positive | drawn), more))
    return kept


def shuffled(answer: Answer, seed: int) -> Answer:
    """Return an answer with its documents in a random order, and its marks renumbered. seed: combined with its id."""
    order = list(range(1, len(answer.passages) + 1))
    random.Random(f"{seed} order {answer.id}").shuffle(order)
    return _with_documents(answer, order)


def _with_documents(answer: Answer, order: Sequence[int], more: Sequence[Passage] = ()) -> Answer:
    """Return an answer with its documents in `order` (numbers from 1), then the passages `more`, and marks renumbered.

    Marks of documents that are left out go with them. All other readable marks are written as [n].
    """
    renumbered = {old: new for new, old in enumerate(order, start=1)}
    gone = {*range(1, len(answer.passages) + 1)} - renumbered.keys()
    text, end = "", 0
    for mark in find_marks(answer.text, first=answer.first):
        if mark.number is not None:
            text += answer.text[end : mark.start]
            text = text.rstrip() if mark.number in gone else f"{text}[{renumbered.get(mark.number, mark.number)}]"
            end = mark.end
    passages = (*(answer.passages[place - 1] for place in order), *more)
    return replace(answer, text=text + answer.text[end:], passages=passages, first=1)
