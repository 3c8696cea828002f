"""The stages in which a chat model is asked for an answer: their prompts, their requests, and how replies are read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from metaeval.citation.chat_models import ChatOptions, chat_request
from metaeval.citation.data_model import Answer
from metaeval.citation.generation.options import GenerationOptions, Strategy
from metaeval.citation.generation.shown_documents import ShownDocument, fit, in_json, in_plain_text, whole_documents
from metaeval.core.errors import UserError
from metaeval.llm.messages import ChatRequest, Prompt, quoted, read_object, read_prompt, reply_form

Stage = Literal["summary", "answer", "choice", "sentence"]

# The stages of each strategy, in order; two-stage repeats "choice" and "sentence" for every sentence.
STAGES: Mapping[Strategy, tuple[Stage, ...]] = {
    "truncated": ("answer",),
    "summary": ("summary", "answer"),
    "two-stage": ("summary", "choice", "sentence"),
}

# Folder of the project's own prompts, a file for each stage; overview.txt asks for a summary for no question.
PROMPTS = Path(__file__).parent / "prompts"

_PLACES: Mapping[Stage, tuple[str, ...]] = {
    "summary": (),
    "answer": ("question", "documents"),
    "choice": ("question", "documents", "steps", "written"),
    "sentence": ("question", "documents", "written"),
}
_SHOWN: Mapping[str, str] = {
    "truncated": "of a long one you see the beginning",
    "summary": "of each you see a summary of what it says about the question",
}
_SUMMARY = reply_form("summary", summary={"type": "string"})
_SELECTION = reply_form("selection", documents={"type": "array", "items": {"type": "integer"}})
_FORMS: Mapping[Stage, dict[str, Any]] = {"summary": _SUMMARY, "choice": _SELECTION}

# The parts of the project's prompts that speak of JSON, and what stands there instead.
_AS_JSON = re.compile(r"(?:, (?:both|all))?,? as JSON|, one a line")
_JSON_REPLY = re.compile(r"Reply with one JSON object .*")
_TEXT_REPLIES: Mapping[Stage, str] = {
    "summary": "Reply with the summary and nothing else; where it is empty, reply with [NONE].",
    "choice": "Reply with their numbers and nothing else, such as [2][5]; where the list is empty, with [STOP].",
}
_NO_NUMBERS = re.compile(r"\[?(?:NONE|STOP)\]?\.?")
_NUMBERS = re.compile(r"\d{1,9}")
_AROUND_NUMBERS = re.compile(r"documents?|and|[\s\[\](),;:.]", re.IGNORECASE)
_THINKING = re.compile(r"\s*<(think|thinking)>.*?</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SentenceStep:
    """One sentence of an answer that is written sentence by sentence, and the numbers of the documents chosen for it.

    written: the answer before it. sentence: empty as long as it is not written.
    """

    written: str
    documents: tuple[int, ...]
    sentence: str = ""


def prompt_names(options: GenerationOptions) -> dict[Stage, str]:
    """Return the name of the prompt of each stage of the strategy: the stage's, or overview (see `PROMPTS`)."""
    stages = STAGES[options.strategy]
    return {stage: "overview" if stage == "summary" and options.of_document_alone else stage for stage in stages}


def load_prompts(options: GenerationOptions, chat: ChatOptions) -> dict[Stage, Prompt]:
    """Return the prompt of each stage of the strategy: that of the user's folder if it holds one, or the project's.

    The project's prompts speak of JSON, or of plain text if chat.output is "text". Raises `UserError` for a folder
    without a prompt, and for a file that lacks a placeholder.
    """
    prompts: dict[Stage, Prompt] = {}
    folder = options.prompts
    if folder is not None and not any((folder / f"{stage}.txt").is_file() for stage in STAGES[options.strategy]):
        named = " or ".join(f"{stage}.txt" for stage in STAGES[options.strategy])
        raise UserError(f"prompts={folder} holds no {named}: name a folder with a prompt of your own.")
    for stage, name in prompt_names(options).items():
        file = (folder or PROMPTS) / f"{stage}.txt"
        is_own = folder is not None and file.is_file()
        prompt = read_prompt(file if is_own else PROMPTS / f"{name}.txt", _PLACES[stage])
        if stage == "summary" and not {"document", "text"} & {*re.findall(r"\{([a-z]+)\}", prompt.text)}:
            raise UserError(f"{file}: the prompt lacks {{document}}: write {{document}} or {{text}} where it belongs.")
        if not is_own and chat.output == "text":
            prompt = Prompt(_JSON_REPLY.sub(_TEXT_REPLIES.get(stage, ""), _AS_JSON.sub("", prompt.text)))
        prompts[stage] = prompt
    return prompts


class Setup:
    """The options and prompts of a strategy, from which requests are made, and the worked examples (shots).

    options: with the share of the context that is left beside the worked examples. whole: the same with all of the
    context. examples: by stage, the messages of worked examples, each with the wanted reply; empty before
    `add_examples`. read_summary, read_selection: parse a reply; None for one of another form. Where chat.output is
    "text", prompts show questions and documents as plain text, and replies are read as such; else all is JSON.
    """

    def __init__(self, options: GenerationOptions, chat: ChatOptions, shots: Sequence[Answer] = ()) -> None:
        # Each question in a request has an equal share of the context.
        context = options.context_words // (1 + len(shots))
        self.options, self.whole, self.shots, self._chat = replace(options, context_words=context), options, shots, chat
        self._prompts = load_prompts(options, chat)
        self._plain = chat.output == "text"
        self.read_summary, self.read_selection = read_summary, read_selection
        if self._plain:
            self.read_summary = lambda text: summary_in_text(self.spoken("summary", text))
            self.read_selection = lambda text: selection_in_text(self.spoken("choice", text))
        self.examples: Mapping[Stage, Sequence[str]] = {}

    def request(self, stage: Stage, question: Answer, *shown: Any) -> ChatRequest:
        """Return the request of a stage for a question, behind the stage's worked examples.

        shown: the further arguments of `content`. The question's sample sets the seed, except for summaries: each
        sample after the first (0) has a seed of its own.
        """
        content = self.content(stage, question.question, *shown)
        if examples := self.examples.get(stage):
            content = "\n\n\n".join([*examples, _cued(content)])
        sample = 0 if stage == "summary" else question.sample or 0
        changes: dict[str, Any] = {"seed": (self._chat.seed or 0) + sample} if sample else {}
        if stage == "summary" and self.options.summary_model:
            changes["model"] = self.options.summary_model
        chat = self._chat.model_copy(update=changes) if changes else self._chat
        return replace(chat_request(chat, content, _FORMS.get(stage)), sample=sample)

    def example(self, reply: str, *shown: Any) -> str:
        """Return a worked example as text: the message of `content` with the arguments `shown`, then its reply."""
        return f"{_cued(self.content(*shown))} {reply}"

    def content(
        self,
        stage: Stage,
        question: str,
        documents: Sequence[ShownDocument],
        steps: Sequence[SentenceStep] = (),
        written: str = "",
    ) -> str:
        """Return the message of a stage, without worked examples; a summary takes one document.

        steps: earlier choices, for the stage choice. written: the answer so far, for choice and sentence.
        """
        shown = in_plain_text(documents) if self._plain else in_json(documents)
        so_far, chosen = step_labels(self._prompts[stage].text)
        choices = [
            f"{so_far} {step.written or '(none)'}\n{chosen} {bracketed(step.documents)}"
            if self._plain
            else quoted({"answer": step.written, "documents": list(step.documents)})
            for step in steps
        ]
        texts = {
            "question": question if self._plain else quoted(question),
            "documents": shown or "(none)",
            "words": str(self.options.answer_words),
            "shown": _SHOWN.get(self.options.strategy, ""),
            "steps": "\n".join(choices) or "(none)",
            "written": (written or "(none)") if self._plain else quoted(written),
        }
        if stage == "summary":
            (document,) = documents
            texts |= {"document": shown, "title": document.title, "text": document.text}
            texts["words"] = str(self.options.summary_words)
        return self._prompts[stage].fill(**texts)

    def documents(self, question: Answer, words: int | None = None) -> tuple[ShownDocument, ...]:
        """Return the question's documents, each cut to `words` (None: no limit), all to the options' context."""
        documents = whole_documents(question.passages, self.options.document_text)
        return tuple(fit(documents, self.options.context_words, words))

    def spoken(self, stage: Stage, text: str) -> str:
        """Return a reply's text without a block of thinking, and without the label of the prompt or stage before it."""
        label = cue(self._prompts[stage].text) or "Reply:"
        labels = rf"\A[\s*_#]*+(?:{re.escape(label[:-1])}|{stage})[*_]*+:(?:\*\*|__)?+\s*+"
        return re.sub(labels, "", spoken(text)[0], flags=re.IGNORECASE)

    def numbers(self, documents: Sequence[int]) -> str:
        """Return the reply that selects documents by these numbers; without numbers, the one that ends an answer."""
        return (bracketed(documents) or "[STOP]") if self._plain else quoted({"documents": list(documents)})


def cue(prompt: str) -> str:
    """Return the label, with its colon, that a prompt or a part of it ends with ("Next Sentence:"), else ""."""
    last = prompt.rstrip().rpartition("\n")[2].rpartition("}")[2].strip()
    return last if last.endswith(":") else ""


def step_labels(prompt: str) -> tuple[str, str]:
    """Return the labels of the answer so far and of the documents in a prompt for a choice; ours if it ends in none."""
    if chosen := cue(prompt):
        return cue(prompt.partition("{written}")[0]) or "Answer:", chosen
    return "Answer:", "Documents:"


def _cued(text: str) -> str:
    """Return a prompt that ends with a colon, before its reply: unchanged if it does so already."""
    return text if text.endswith(":") else f"{text}\n\nReply:"


def bracketed(numbers: Sequence[int]) -> str:
    """Return numbers as marks: [1][2]."""
    return "".join(f"[{number}]" for number in numbers)


def spoken(text: str) -> tuple[str, bool]:
    """Return (a reply's text, stripped, without a block of thinking before it; whether there was such a block)."""
    match = _THINKING.match(text)
    return text[match.end() if match else 0 :].strip(), match is not None


def read_summary(text: str) -> str | None:
    """Return the summary in a reply in JSON, which can be empty; None for a reply of another form."""
    body = read_object(text, _SUMMARY)
    return body["summary"].strip() if body else None


def read_selection(text: str) -> list[int] | None:
    """Return the distinct numbers of documents in a reply in JSON, sorted; None for a reply of another form."""
    body = read_object(text, _SELECTION)
    return sorted(set(body["documents"])) if body else None


def summary_in_text(text: str) -> str | None:
    """Return a reply in plain text as a summary, empty for [NONE]; None for one without words."""
    summary, _ = spoken(text)
    return "" if summary == "[NONE]" else summary or None


def selection_in_text(text: str) -> list[int] | None:
    """Return the distinct numbers in a plain reply such as [2][5], sorted, empty for [STOP] or [NONE]; else None."""
    reply, _ = spoken(text)
    if _NO_NUMBERS.fullmatch(reply):
        return []
    numbers = {int(number) for number in _NUMBERS.findall(reply)}
    is_list = not _AROUND_NUMBERS.sub("", _NUMBERS.sub("", reply))
    return sorted(numbers) if numbers and is_list else None
