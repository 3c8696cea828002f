"""The strategies: from questions with documents to texts with marks, through a chat model's replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from metaeval.citation.data_model import Answer
from metaeval.citation.generation.shown_documents import ShownDocument, fit, whole_documents
from metaeval.citation.generation.stage_requests import STAGES, SentenceStep, Setup, Stage, spoken
from metaeval.citation.marks_and_sentences import find_marks, move_leading, split, whole
from metaeval.core.errors import UserError, shown
from metaeval.llm.messages import Answer as Reply
from metaeval.llm.messages import Ask, ChatRequest, State, read_answer, text_of

# Why there is no answer: the outcome of a request, or the model chose no document for the first sentence.
Trouble = State | Literal["stopped at once"]


@dataclass
class Draft:
    """An answer in the making.

    documents: those that the model is shown first (beginnings or summaries). text: the answer so far. shown: the
    numbers of the documents that the model was shown when it wrote text. steps: the sentences of two-stage. stage,
    trouble, unread: the stage that failed, why, and the reply or failure that caused it. problems: the number of
    problems by kind, in the end with marks that cite no shown document. complete: whether text is the whole answer.
    answer: the answer with that text, in the end; None where a stage failed.
    """

    question: Answer
    documents: Sequence[ShownDocument] = ()
    text: str = ""
    shown: tuple[int, ...] = ()
    steps: list[SentenceStep] = field(default_factory=list)
    stage: Stage = "answer"
    trouble: Trouble | None = None
    unread: Reply | None = None
    problems: Counter[str] = field(default_factory=Counter)
    complete: bool = False
    answer: Answer | None = None

    @property
    def is_open(self) -> bool:
        """Whether the model is still asked for this answer."""
        return not self.complete and self.trouble is None

    def fail(self, stage: Stage, trouble: Trouble, reply: Reply | None) -> None:
        """Record why there will be no answer."""
        self.stage, self.trouble, self.unread = stage, trouble, reply

    def finish(self, system: str) -> Draft:
        """Make the answer, by a system of this name, and count what is wrong with its marks; return the draft."""
        if self.trouble is None:
            self.answer = replace(self.question, text=self.text, system=system, first=1)
            for mark in find_marks(self.text):
                if mark.number is None:
                    self.problems["marks that cannot be read"] += 1
                elif not 1 <= mark.number <= len(self.question.passages):
                    self.problems["marks that cite no document"] += 1
                elif mark.number not in self.shown:
                    self.problems["marks of documents that were not shown"] += 1
        self.problems = +self.problems
        return self


def summarise(drafts: Sequence[Draft], ask: Ask, setup: Setup) -> None:
    """Set the drafts' documents to the model's summaries; documents with an empty summary are left out.

    A draft fails if any of its summaries is missing, so that no answer is written from fewer documents.
    """
    requests = summary_requests([draft.question for draft in drafts], setup)
    summaries: list[list[ShownDocument]] = [[] for _ in drafts]
    distinct = {request.content: request for *_, request in requests}  # a document of several questions, once
    replies = dict(zip(distinct, ask(list(distinct.values())), strict=True))
    for place, document, request in requests:
        reply = replies[request.content]
        summary, state = read_answer(reply, setup.read_summary)
        draft = drafts[place]
        if summary is None:
            if draft.is_open:
                draft.fail("summary", state, reply)
        elif summary:
            summaries[place].append(ShownDocument(document.number, document.title, summary))
            draft.problems["summaries longer than asked"] += len(summary.split()) > setup.options.summary_words
        else:
            draft.problems["documents without a summary"] += 1
    for draft, documents in zip(drafts, summaries, strict=True):
        draft.documents = fit(documents, setup.options.context_words)
        if not draft.is_open:
            draft.problems.clear()


def originals(question: Answer, numbers: Sequence[int], setup: Setup) -> list[ShownDocument]:
    """Return the question's documents with these numbers, in full as far as they fit the context."""
    documents = whole_documents(question.passages, setup.options.document_text)
    return fit([document for document in documents if document.number in numbers], setup.options.context_words)


def summary_requests(questions: Sequence[Answer], setup: Setup) -> list[tuple[int, ShownDocument, ChatRequest]]:
    """Return (index of the question, document, request) for a summary of every document that has a text.

    For a summary that is for no question, the document has number 1, so that its request is the same for all questions.
    """
    requests = []
    for place, question in enumerate(questions):
        for document in whole_documents(question.passages, setup.options.document_text):
            if document.text.strip():
                alone = replace(document, number=1) if setup.options.of_document_alone else document
                request = setup.request("summary", question, fit([alone], setup.whole.context_words))
                requests.append((place, document, request))
    return requests


def write_at_once(drafts: Sequence[Draft], ask: Ask, setup: Setup) -> None:
    """Ask for the whole answer of each draft in one request, from the documents' beginnings or summaries."""
    if setup.options.strategy == "summary":
        summarise(drafts, ask, setup)
    else:
        for draft in drafts:
            draft.documents = setup.documents(draft.question, setup.options.beginning)
    going = [draft for draft in drafts if draft.is_open]
    requests = [setup.request("answer", draft.question, draft.documents) for draft in going]
    for draft, reply in zip(going, ask(requests) if requests else [], strict=True):
        draft.shown = tuple(document.number for document in draft.documents)
        draft.text = _text(draft, "answer", reply, setup)


def write_by_sentences(drafts: Sequence[Draft], ask: Ask, setup: Setup) -> None:
    """Let the model choose documents by their summaries, write one sentence from their texts, and so on until it stops.

    Requests for a choice tell the answer so far and earlier choices, those for a sentence only the answer so far.
    Answers that `most_sentences` ends are counted as problems.
    """
    summarise(drafts, ask, setup)
    for _ in range(setup.options.most_sentences):
        choose([draft for draft in drafts if draft.is_open], ask, setup)
        write([draft for draft in drafts if draft.is_open], ask, setup)
    for draft in drafts:
        draft.problems[f"answers ended by most_sentences={setup.options.most_sentences}"] += draft.is_open


def choose(drafts: Sequence[Draft], ask: Ask, setup: Setup) -> None:
    """Ask which documents the next sentence of each draft needs, and add a step.

    If it needs none, the draft is complete, or fails if it has no sentence yet. A choice that cannot be read, or of
    documents that do not exist alone, is lost and counted: the draft is complete, or has no sentence yet and rests on
    every document.
    """
    requests = [setup.request("choice", draft.question, draft.documents, draft.steps, draft.text) for draft in drafts]
    for draft, reply in zip(drafts, ask(requests) if requests else [], strict=True):
        numbers, state = read_answer(reply, setup.read_selection)
        known = {document.number for document in draft.documents}
        chosen = tuple(number for number in numbers or () if number in known)
        draft.problems["documents chosen that do not exist"] += len(numbers or ()) - len(chosen)
        if lost := state == "unparsed" or bool(numbers and not chosen):
            chosen = () if draft.text else tuple(sorted(known))
        draft.problems["choices that name no document"] += lost
        if numbers is None and not lost:
            draft.fail("choice", state, reply)
        elif chosen:
            draft.steps.append(SentenceStep(draft.text, chosen))
        elif draft.text:
            draft.complete = True
        else:
            draft.fail("choice", "stopped at once", reply)


def write(drafts: Sequence[Draft], ask: Ask, setup: Setup) -> None:
    """Ask for the next sentence of each draft; of a longer reply only the first is taken, and the rest is counted."""
    requests = [
        setup.request(
            "sentence", draft.question, originals(draft.question, draft.steps[-1].documents, setup), (), draft.text
        )
        for draft in drafts
    ]
    for draft, reply in zip(drafts, ask(requests) if requests else [], strict=True):
        text = _text(draft, "sentence", reply, setup)
        sentence, *more = sentences_of(text) or [""]
        if draft.trouble is None and not any(map(str.isalnum, whole(sentence).without_marks().text)):
            draft.fail("sentence", "unparsed", reply)
        if draft.trouble is None:
            draft.problems["sentences cut off behind the first"] += len(more)
            step = draft.steps[-1]
            draft.steps[-1] = replace(step, sentence=sentence)
            draft.text = f"{draft.text} {sentence}".lstrip()
            draft.shown = tuple(sorted({*draft.shown, *step.documents}))


def _text(draft: Draft, stage: Stage, reply: Reply, setup: Setup) -> str:
    """Return the text of a reply as `Setup.spoken` does; if there is none, fail the draft and return ""."""
    text, state = read_answer(reply, lambda content: setup.spoken(stage, content) or None)
    if text is None:
        draft.fail(stage, state, reply)
        return ""
    whole_reply, thought = spoken(text_of(reply)[0] or "")
    draft.problems["answers behind a block of thinking"] += thought
    draft.problems["labels of the prompt, left out"] += text != whole_reply
    return text


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, verbatim; marks behind a full stop belong to the sentence that it ends."""
    sentences = move_leading(split(whole(text)), "move all")
    spans = [sentence.span() for sentence in sentences if sentence.text.strip()]
    return [text[start:end].strip() for start, end in spans]


def add_examples(ask: Ask | None, setup: Setup) -> None:
    """Set `setup.examples` from its shots, whose documents are shown as those of the questions; without shots, nothing.

    ask: sends the requests for summaries; None for an estimate, where beginnings of documents stand for summaries.
    The chosen documents of an example are those that the shot's next sentence cites. The example of a sentence is the
    last one with a mark; that of a choice is the one that ends the answer for the last shot, the one before it for the
    shot before, and so on in turn. Raises `UserError` as `ask` does, and if a summary is missing.
    """
    if not setup.shots:
        return
    drafts = [Draft(shot) for shot in setup.shots]
    for draft in drafts:
        draft.documents = setup.documents(draft.question, setup.options.beginning)
    if ask is not None and "summary" in STAGES[setup.options.strategy]:
        summarise(drafts, ask, setup)
    if failed := next((draft for draft in drafts if not draft.is_open), None):
        raise UserError(f"The example {shown(failed.question.id)} lacks a summary ({failed.trouble}): ask again.")
    # The last lesson of each stage is its example.
    stages = [
        {stage: setup.example(reply, stage, *shown) for stage, shown, reply in lessons(draft, setup, place % 2 == 0)}
        for place, draft in zip(reversed(range(len(drafts))), drafts, strict=True)
    ]
    setup.examples = {stage: [examples[stage] for examples in stages] for stage in stages[0]}


def lessons(draft: Draft, setup: Setup, ends: bool) -> Iterator[tuple[Stage, tuple[Any, ...], str]]:
    """Yield what a model would have been asked to write the text of the draft's question, and what it should reply.

    Each is (stage, the further arguments of `Setup.content`, the reply). draft: with its documents as they are shown
    first. In two-stage a sentence without a mark is part of the answer so far, and has no lesson of its own. ends:
    whether the last lesson of two-stage is to end the answer.
    """
    shot, question, text = draft.question, draft.question.question, draft.question.text
    if setup.options.strategy == "two-stage":
        steps = steps_of(text)
        for place, step in enumerate(steps):
            if step.documents:
                shown_first = (question, draft.documents, steps[:place], step.written)
                yield "choice", shown_first, setup.numbers(step.documents)
                yield "sentence", (question, originals(shot, step.documents, setup), (), step.written), step.sentence
        if ends:
            yield "choice", (question, draft.documents, steps, text), setup.numbers(())
        return
    yield "answer", (question, draft.documents), text


def steps_of(text: str) -> list[SentenceStep]:
    """Return the steps by which two-stage could have written a text: its sentences up to the last one with a mark."""
    steps, written = [], ""
    for sentence in sentences_of(text):
        steps.append(SentenceStep(written, cited(sentence), sentence))
        written = f"{written} {sentence}".lstrip()
    while steps and not steps[-1].documents:
        steps.pop()
    return steps


def cited(text: str, first: int = 1) -> tuple[int, ...]:
    """Return the distinct numbers that a text cites, sorted. first: its number of the first passage, to be 1."""
    return tuple(sorted({mark.number for mark in find_marks(text, first=first) if mark.number is not None}))
