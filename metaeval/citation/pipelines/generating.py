"""Answers with citations that a chat model writes: the pipeline behind `metaeval cite generate`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import Field

from metaeval.citation.chat import Chat, ChatOptions, Spent, cost_of, estimate_for, spent_on, why_unread
from metaeval.citation.generation.generate import (
    PROMPTS,
    STAGES,
    Generated,
    GenerationOptions,
    counts_of,
    first_requests,
    generate,
    largest_requests,
    load_prompts,
)
from metaeval.citation.model import Answer
from metaeval.citation.pipelines.layout import TableLines, lines_grid
from metaeval.citation.pipelines.pipeline import AsksChat, Form, Layout, Pipeline, Run
from metaeval.citation.pipelines.provenance import answers_at, data_of, listed, written_out
from metaeval.citation.readers.answers import read_questions
from metaeval.citation.readers.jsonl import own_lines
from metaeval.declared import Flag
from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report.table import UNDEFINED, Note, Table, count, plain
from metaeval.signature import signature

MONEY = "USD for these replies"
_SHOWN = 3
_LEFT_OUT = "they are in no file of answers, and the next run asks for those that failed"

_Counts = dict[str, float | None]


class GenerateCommand(AsksChat):
    """Options of `cite generate`."""

    untyped = frozenset({"format"})

    file: Annotated[Path, Flag("FILE", argument=True)] = Field(
        description="Questions with documents, or any file of answers."
    )
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = Field(
        default=None, description="File for the answers (JSONL)."
    )
    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model that writes the answers.")
    strategy: Annotated[str | None, Flag("NAME")] = Field(
        default=None, description="truncated (default), summary or two-stage."
    )
    format: Form = "auto"


@dataclass(frozen=True, eq=False)
class _Written:
    """Questions with their documents, and what came of them, in order; empty before a model is asked.

    spent: on the replies. models: the names that they came under.
    """

    run: Run
    options: GenerationOptions
    questions: Sequence[Answer]
    results: Sequence[Generated] = ()
    spent: Spent = field(default_factory=Spent)
    models: Sequence[str] = ()

    @property
    def system(self) -> str:
        """What the answers are filed under: the model and the strategy."""
        return f"{self.run.chat.model}/{self.options.strategy}"

    @property
    def fields(self) -> dict[str, str]:
        """What the answers depend on beside the questions."""
        asked = {name: value for name, value in self.run.chat.identity().items() if name != "model"}
        return {
            "model": self.run.chat.model,
            "strategy": self.options.strategy,
            "shown": written_out(self.options.in_use),
            "prompts": ",".join(f"{name}@{one.fingerprint}" for name, one in load_prompts(self.options).items()),
            "asking": written_out(asked),
            "answered_as": ", ".join(self.models) or self.run.chat.model,
        }

    @property
    def answers(self) -> list[Answer]:
        """The answers that came."""
        return [one.answer for one in self.results if one.answer is not None]

    @property
    def lost(self) -> list[Generated]:
        """The questions that have no answer."""
        return [one for one in self.results if one.answer is None]


def _read(run: Run) -> _Written:
    asked: GenerateCommand = run.options
    named = {} if asked.strategy is None else {"strategy": asked.strategy}
    options = GenerationOptions(**{**run.given["generation"], **named})
    load_prompts(options)
    return _Written(run, options, read_questions(asked.file, asked.format))


def _estimate(read: _Written) -> str:
    """What a later stage asks depends on the replies of the first: it is told as large as it is likely to get."""
    questions, options, chat = read.questions, read.options, read.run.chat
    stages = STAGES[options.strategy]
    lines = [f"{len(questions):,} questions, strategy {options.strategy}"]
    lines.append(f"{stages[0]}: {estimate_for(first_requests(questions, options, chat), chat)}")
    if len(stages) > 1:
        lines.append(f"then {stages[1]}, at most: {estimate_for(largest_requests(questions, options, chat), chat)}")
    return "\n".join(lines)


def _ask(read: _Written, chat: Chat) -> _Written:
    """Ask for all answers; `UserError` where none came at all."""
    results = generate(read.questions, chat.ask, read.options, read.run.chat, read.system)
    run, spent = replace(read.run, chat=chat.settled(read.run.chat)), spent_on([*chat.heard, *chat.superseded])
    written = replace(read, run=run, results=results, spent=spent, models=chat.models)
    if not written.answers:
        first, unread = results[0], [one.unread for one in results if one.unread is not None]
        raise UserError(
            f"None of {len(results):,} answers came: the first is {first.trouble} at the stage {first.stage!r}, and "
            f"nothing is written. For {len(results):,} questions: {why_unread(unread, read.run.chat.max_tokens)}."
        )
    return written


def _lay_out(written: _Written) -> Layout:
    """The answers as JSON lines, a list of the questions that have none, and the one table."""
    run = written.run
    output: Path | None = run.options.output
    named = "answers" if output is None else output.name.split(".")[0] or output.name
    folder = run.config.results / "generate" / safe_name(named)
    lost = [
        {"id": one.question.id, "question": one.question.question, "stage": one.stage, "state": one.trouble}
        for one in written.lost
    ]
    answers = own_lines(written.answers)
    files = {folder / "left-out.jsonl": "".join(json.dumps(row) + "\n" for row in lost)}
    return Layout(
        [_sheet(written)],
        files=files if output is None else {output: answers, **files},
        folder=folder,
        value=[json.loads(line) for line in answers.splitlines()],
        warnings=[f"No answer: question {row['id']}, {row['state']} at the stage {row['stage']}" for row in lost],
    )


def _sheet(written: _Written) -> Table:
    strategy, fields, blocks = written.options.strategy, written.fields, counts_of(written.results)
    blocks["what it took"] = taken(written.spent, written.run.chat)
    marks = int(blocks["marks"]["marks"] or 0)
    data = data_of(written.run.name, strategy, written.questions, len(written.answers), marks)
    made = {"questions": answers_at(data), **fields, "metaeval": version("metaeval")}
    lost, title = written.lost, "Answers that were generated"
    some = ", ".join(f"{plain(one.question.id)} ({one.stage} {one.trouble})" for one in lost[:_SHOWN])
    more = f", and {len(lost) - _SHOWN:,} more" if len(lost) > _SHOWN else ""
    notes = (
        Note("data", f"{count(len(written.results), 'question')}, {count(data.documents, 'document')}"),
        # A list of settings can be broken into lines behind its commas.
        Note("settings", listed({name: value.replace(",", ", ") for name, value in fields.items()})),
        Note("left out", f"{some}{more}; {_LEFT_OUT}" if lost else ""),
        Note("prompts", "the strategies are named by SCiFi's paper; the wording is ours"),
    )
    subtitle = f"{plain(data.name)}, system {plain(written.system)}"
    footer = tuple(note for note in notes if note.text)
    frame = Table(
        key=("generation", data.name, strategy),
        title=title,
        subtitle=subtitle,
        footer=footer,
        signatures=(signature(made),),
    )
    table = TableLines()
    for block, counts in blocks.items():
        for name, value in counts.items():
            record = {"system": written.system, "block": block, "count": name, "value": value}
            table.add(block, name, [amount(name, value)], record)
    made_table = lines_grid(frame, "count", ["number"], table)
    return replace(made_table, name="generation", data=data, settings=fields, records=table.records).noting(data.demo)


def taken(spent: Spent, chat: ChatOptions) -> _Counts:
    """What some replies took."""
    return {
        "tokens in": spent.tokens_in,
        "tokens out": spent.tokens_out,
        "replies without a count of tokens": spent.uncounted,
        MONEY: cost_of(spent, chat),
    }


def amount(name: str, value: float | None) -> str:
    """A count, a mean or money, as it is printed."""
    if value is None:
        return UNDEFINED
    return f"{value:.4f}" if name == MONEY else f"{value:,.{1 if isinstance(value, float) else 0}f}"


_ASKS = {
    "answer": "for the answer",
    "summary": "for the summary of one document",
    "selection": "which documents are needed",
}

GENERATE = Pipeline(
    name="generate",
    title="Generation",
    paper="Cao and Wang 2024, SCiFi (arXiv 2406.06125), whose strategies these are",
    help="""Answers with citations, written by a chat model.

    truncated shows the beginning of every document; summary has each summed
    up first; two-stage asks which are needed, and shows those in full.
    Replies are kept: the same command goes on where it was cut off.

    \b
    Examples:
      metaeval cite generate questions.jsonl --model NAME -o answers.jsonl
      metaeval cite generate scifi.jsonl --model NAME --strategy summary \\
        --dry-run -o answers.jsonl -s answer_words=100 -s price_in=0.5 -s price_out=1.5
      metaeval cite alce answers.jsonl
    """,
    options=GenerateCommand,
    chat="always",
    purpose="writes the answers",
    owners={"generation": GenerationOptions, "chat": ChatOptions},
    prompts={name: (asks, PROMPTS / f"{name}.txt") for name, asks in _ASKS.items()},
    read=_read,
    estimate=_estimate,
    ask=_ask,
    lay_out=_lay_out,
)
