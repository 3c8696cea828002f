"""The pipeline `generate`: a chat model writes answers with citations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import Field

from metaeval.citation.chat import Chat, ChatOptions, Spent, cost_of, estimate_for, spent_on, why_unread
from metaeval.citation.generation import generate as generation
from metaeval.citation.generation.generate import Generated, GenerationOptions
from metaeval.citation.model import Answer
from metaeval.citation.pipelines.layout import TableLines
from metaeval.citation.pipelines.pipeline import AsksChat, FormatName, Layout, Pipeline, Run
from metaeval.citation.pipelines.provenance import answers_at, data_of, listed, written_out
from metaeval.citation.readers.answers import read_questions
from metaeval.citation.readers.jsonl import own_lines
from metaeval.declared import Flag
from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report.table import UNDEFINED, Note, Table, blocks_of, count, plain
from metaeval.signature import signature

MONEY = "USD for these replies"
_SHOWN = 3
_LEFT_OUT = "they are in no file of answers, and the next run asks for those that failed"

_Counts = dict[str, float | None]


class GenerateCommand(AsksChat):
    """Options of `cite generate`."""

    untyped = frozenset({"format"})

    file: Annotated[Path, Flag("FILE", argument=True)] = Field(
        description="File of questions with documents, or any file of answers."
    )
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = Field(
        default=None, description="File for the answers (JSONL)."
    )
    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model that writes the answers.")
    strategy: Annotated[str | None, Flag("NAME")] = Field(
        default=None, description="How documents are shown: truncated (default), summary or two-stage."
    )
    format: FormatName = "auto"


@dataclass(frozen=True, eq=False)
class _Written:
    """Questions with their documents, and the generated answers (`results`), in order; empty before a model is asked.

    spent: tokens and cost of the replies. models: model names in the replies.
    """

    run: Run
    options: GenerationOptions
    questions: Sequence[Answer]
    results: Sequence[Generated] = ()
    spent: Spent = field(default_factory=Spent)
    models: Sequence[str] = ()

    @property
    def system(self) -> str:
        """The name of the answers' system: model and strategy."""
        return f"{self.run.chat.model}/{self.options.strategy}"

    @property
    def fields(self) -> dict[str, str]:
        """The settings that the answers depend on."""
        prompts = generation.load_prompts(self.options)
        asking = {name: value for name, value in self.run.chat.identity().items() if name != "model"}
        return {
            "model": self.run.chat.model,
            "strategy": self.options.strategy,
            "shown": written_out(self.options.in_use),
            "prompts": ",".join(f"{name}@{prompt.fingerprint}" for name, prompt in prompts.items()),
            "asking": written_out(asking),
            "answered_as": ", ".join(self.models) or self.run.chat.model,
        }

    @property
    def answers(self) -> list[Answer]:
        """The answers that were generated."""
        return [result.answer for result in self.results if result.answer is not None]

    @property
    def lost(self) -> list[Generated]:
        """The results without an answer."""
        return [result for result in self.results if result.answer is None]


def _read(run: Run) -> _Written:
    command: GenerateCommand = run.options
    named = {} if command.strategy is None else {"strategy": command.strategy}
    options = GenerationOptions(**{**run.set_options["generation"], **named})
    generation.load_prompts(options)
    return _Written(run, options, read_questions(command.file, command.format))


def _estimate(read: _Written) -> str:
    """Return the estimated cost; requests of later stages depend on replies, and are estimated at their largest."""
    questions, options, chat = read.questions, read.options, read.run.chat
    stages = generation.STAGES[options.strategy]
    lines = [f"{len(questions):,} questions, strategy {options.strategy}"]
    lines.append(f"{stages[0]}: {estimate_for(generation.first_requests(questions, options, chat), chat)}")
    if len(stages) > 1:
        largest = generation.largest_requests(questions, options, chat)
        lines.append(f"then {stages[1]}, at most: {estimate_for(largest, chat)}")
    return "\n".join(lines)


def _ask(read: _Written, chat: Chat) -> _Written:
    """Ask for all answers, and return them; raises `UserError` where none was generated."""
    results = generation.generate(read.questions, chat.ask, read.options, read.run.chat, read.system)
    run, spent = replace(read.run, chat=chat.settled(read.run.chat)), spent_on([*chat.heard, *chat.superseded])
    written = replace(read, run=run, results=results, spent=spent, models=chat.models)
    if not written.answers:
        first, unread = results[0], [result.unread for result in results if result.unread is not None]
        raise UserError(
            f"No answer was generated to any of {len(results):,} questions, so nothing was written. The first question "
            f"is {first.trouble} at the stage {first.stage!r}. Replies: {why_unread(unread, read.run.chat.max_tokens)}."
        )
    return written


def _lay_out(written: _Written) -> Layout:
    """Return the answers as JSON lines, the list of questions without an answer, and a table of counts."""
    run = written.run
    output: Path | None = run.options.output
    named = "answers" if output is None else output.name.split(".")[0] or output.name
    folder = run.config.results / "generate" / safe_name(named)
    lost = [
        {"id": result.question.id, "question": result.question.question, "stage": result.stage, "state": result.trouble}
        for result in written.lost
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
    strategy, fields, blocks = written.options.strategy, written.fields, generation.counts_of(written.results)
    blocks["what it took"] = taken(written.spent, written.run.chat)
    marks = int(blocks["marks"]["marks"] or 0)
    data = data_of(written.run.name, strategy, written.questions, len(written.answers), marks)
    signed = {"questions": answers_at(data), **fields, "metaeval": version("metaeval")}
    lost, title = written.lost, "Answers that were generated"
    some = ", ".join(f"{plain(result.question.id)} ({result.stage} {result.trouble})" for result in lost[:_SHOWN])
    more = f", and {len(lost) - _SHOWN:,} more" if len(lost) > _SHOWN else ""
    notes = (
        Note("data", f"{count(len(written.results), 'question')}, {count(data.documents, 'document')}"),
        # Lines of a list of settings can be broken after commas.
        Note("settings", listed({name: value.replace(",", ", ") for name, value in fields.items()})),
        Note("left out", f"{some}{more}; {_LEFT_OUT}" if lost else ""),
        Note("prompts", "the strategies are named by SCiFi's paper; the wording is ours"),
    )
    subtitle = f"{plain(data.name)}, system {plain(written.system)}"
    table = TableLines()
    for block, counts in blocks.items():
        for name, value in counts.items():
            record = {"system": written.system, "block": block, "count": name, "value": value}
            table.add(block, name, [amount(name, value)], record)
    return Table(
        key=("generation", data.name, strategy),
        title=title,
        subtitle=subtitle,
        headings=("number",),
        blocks=blocks_of(table.rows),
        footer=tuple(note for note in notes if note.text),
        signatures=(signature(signed),),
        stub="count",
        name="generation",
        data=data,
        settings=fields,
        records=table.records,
    ).noting(data.demo)


def taken(spent: Spent, chat: ChatOptions) -> _Counts:
    """Return the tokens and the cost of replies, for the table of counts."""
    return {
        "tokens in": spent.tokens_in,
        "tokens out": spent.tokens_out,
        "replies without a count of tokens": spent.uncounted,
        MONEY: cost_of(spent, chat),
    }


def amount(name: str, value: float | None) -> str:
    """Return a count, a mean or money as text. name: of the amount, which says what it is."""
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
    help="""Generate answers with citations, by a chat model.

    The strategy truncated shows the beginning of every document; summary has
    the model summarise each document first; two-stage asks which documents are
    needed, and shows those in full. Replies are stored, so that the same
    command continues an interrupted run.

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
    prompts={name: (asks, generation.PROMPTS / f"{name}.txt") for name, asks in _ASKS.items()},
    read=_read,
    estimate=_estimate,
    ask=_ask,
    lay_out=_lay_out,
)
