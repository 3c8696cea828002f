"""The pipeline `generate`: a chat model writes answers with citations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field

from metaeval.citation.chat_models import Chat, ChatOptions, Spent, cost_of, estimate_for, spent_on, why_unread
from metaeval.citation.data_model import Answer, fingerprint
from metaeval.citation.generation import generate as generation
from metaeval.citation.generation import stage_requests
from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.generation.question_documents import task_of
from metaeval.citation.generation.strategies import Draft
from metaeval.citation.pipelines.layout import TableLines
from metaeval.citation.pipelines.pipeline import AsksChat, FormatName, Layout, Pipeline, Run
from metaeval.citation.pipelines.provenance import data_of, data_reference, options_text, settings_text
from metaeval.citation.readers.answer_files import read_questions
from metaeval.citation.readers.answers_jsonl import lines_of, own_row
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report.table import UNDEFINED, Note, Table, blocks_of, plain
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
        default=None,
        description="How documents are read: truncated (default), summary, two-stage.",
    )
    format: FormatName = "auto"


@dataclass(frozen=True, eq=False)
class _Written:
    """Questions with their documents, and the generated answers (`results`), in order; empty before a model is asked.

    questions: one for each sample. noted: see `task_of`. spent: tokens and cost of the replies. models: model names in
    the replies.
    """

    run: Run
    options: GenerationOptions
    questions: Sequence[Answer]
    shots: Sequence[Answer]
    noted: Counter[str]
    results: Sequence[Draft] = ()
    spent: Spent = field(default_factory=Spent)
    models: Sequence[str] = ()

    @property
    def system(self) -> str:
        """The name of the answers' system: model, strategy, and the condition of the documents."""
        return "/".join(filter(None, (self.run.chat.model, self.options.strategy, self.options.condition)))

    @property
    def fields(self) -> dict[str, str]:
        """The settings that the answers depend on."""
        prompts = stage_requests.load_prompts(self.options, self.run.chat)
        names = stage_requests.prompt_names(self.options)
        settings = {name: value for name, value in self.run.chat.identity().items() if name != "model"}
        shots = {"shots": fingerprint(self.shots)[:12]} if self.shots else {}
        return {
            "model": self.run.chat.model,
            "strategy": self.options.strategy,
            "shown": options_text({**self.options.in_use, **shots}),
            "prompts": ",".join(f"{names[stage]}@{prompt.fingerprint}" for stage, prompt in prompts.items()),
            "asking": options_text(settings),
            "answered_as": ", ".join(self.models) or self.run.chat.model,
        }

    @property
    def answers(self) -> list[Answer]:
        """The answers that were generated."""
        return [result.answer for result in self.results if result.answer is not None]

    @property
    def lost(self) -> list[Draft]:
        """The results without an answer."""
        return [result for result in self.results if result.answer is None]


def _read(run: Run) -> _Written:
    command: GenerateCommand = run.options
    named = {} if command.strategy is None else {"strategy": command.strategy}
    options = GenerationOptions(**{**run.set_options["generation"], **named})
    stage_requests.load_prompts(options, run.chat)
    if options.samples > 1 and run.chat.temperature == 0:
        raise UserError(
            f"samples={options.samples} at temperature 0 are the same answer {options.samples} times: set a "
            "temperature (-s temperature=0.5)."
        )
    questions = read_questions(command.file, command.format, options.negatives is not None)
    return _Written(run, options, *task_of(questions, options))


def _estimate(read: _Written) -> str:
    """Return lines on the cost; requests of later stages depend on replies, and are estimated at their largest."""
    options, chat = read.options, read.run.chat
    stages = stage_requests.STAGES[options.strategy]
    samples = f", {options.samples} samples of each" if options.samples > 1 else ""
    number = len(read.questions) // options.samples
    lines = [f"{count(number, 'question')}{samples}, strategy {options.strategy}"]
    first = generation.first_requests(read.questions, options, chat, read.shots)
    lines.append(f"{stages[0]}: {estimate_for(first, chat)}")
    if len(stages) > 1:
        largest = generation.largest_requests(read.questions, options, chat, read.shots)
        lines.append(f"then {' and '.join(stages[1:])}, at most: {estimate_for(largest, chat)}")
    return "\n".join(lines)


def _ask(read: _Written, chat: Chat) -> _Written:
    """Ask for all answers, and return them; raises `UserError` where none was generated."""
    results = generation.generate(read.questions, chat.ask, read.options, read.run.chat, read.system, read.shots)
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
    answers = lines_of(_row(result) for result in written.results if result.answer is not None)
    files = {folder / "left-out.jsonl": "".join(json.dumps(row) + "\n" for row in lost)}
    return Layout(
        [_sheet(written)],
        files=files if output is None else {output: answers, **files},
        folder=folder,
        value=[json.loads(line) for line in answers.splitlines()],
        warnings=[
            *(f"{name}: {number:,}" for name, number in sorted(written.noted.items()) if number),
            *(f"No answer: question {row['id']}, {row['state']} at the stage {row['stage']}" for row in lost),
        ],
    )


def _row(result: Draft) -> dict[str, Any]:
    """Return an answer as a row of JSONL, with the summaries and choices by which it was written."""
    row = own_row(cast(Answer, result.answer))
    if result.steps:
        summaries = {document.number: document.text for document in result.documents}
        steps = [{"documents": list(step.documents), "sentence": step.sentence} for step in result.steps]
        row["generation"] = {"summaries": summaries, "steps": steps}
    return row


def _sheet(written: _Written) -> Table:
    strategy, fields, blocks = written.options.strategy, written.fields, generation.counts_of(written.results)
    blocks["documents"] = {name: number for name, number in sorted(written.noted.items()) if number}
    blocks["what it took"] = tokens_and_cost(written.spent, written.run.chat)
    marks = int(blocks["marks"]["marks"] or 0)
    data = data_of(written.run.name, strategy, written.questions, len(written.answers), marks)
    signed = {"questions": data_reference(data), **fields, "metaeval": version("metaeval")}
    lost, title, number = written.lost, "Answers that were generated", len(written.results) // written.options.samples
    some = ", ".join(f"{plain(result.question.id)} ({result.stage} {result.trouble})" for result in lost[:_SHOWN])
    more = f", and {len(lost) - _SHOWN:,} more" if len(lost) > _SHOWN else ""
    notes = (
        Note(
            "data",
            f"{count(number, 'question')}, {count(data.documents, 'document')}",
        ),
        # Lines of a list of settings can be broken after commas.
        Note("settings", settings_text({name: value.replace(",", ", ") for name, value in fields.items()})),
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


def tokens_and_cost(spent: Spent, chat: ChatOptions) -> _Counts:
    """Return the tokens and the cost of replies by the names of the table of counts; None for an unknown cost."""
    return {
        "tokens in": spent.tokens_in,
        "tokens out": spent.tokens_out,
        "replies without a count of tokens": spent.uncounted,
        MONEY: cost_of(spent, chat),
    }


def amount(name: str, value: float | None) -> str:
    """Return a count, a mean or a cost as text. name: of the amount; that of a cost is `MONEY`."""
    if value is None:
        return UNDEFINED
    return f"{value:.4f}" if name == MONEY else f"{value:,.{1 if isinstance(value, float) else 0}f}"


GENERATE = Pipeline(
    name="generate",
    title="Generation",
    paper="Cao and Wang 2024, SCiFi (arXiv 2406.06125), whose strategies these are",
    help="""Generate answers with citations, by a chat model.

    The strategy truncated shows the beginning of every document; summary has
    the model summarise each document first; two-stage has it choose documents
    by their summaries and write one sentence from their texts, until it stops.
    Replies are stored, so that the same command continues an interrupted run.

    \b
    Examples:
      metaeval cite generate questions.jsonl --model NAME -o answers.jsonl
      metaeval cite generate scifi.jsonl --model NAME --strategy two-stage \\
        --dry-run -o answers.jsonl -s negatives=5 -s shuffle=1 -s price_in=0.5 -s price_out=1.5
      metaeval cite generate asqa.json --model NAME -o answers.jsonl \\
        -s documents=5 -s document_text=summary -s samples=3 -s temperature=0.5
      metaeval cite alce answers.jsonl
    """,
    options=GenerateCommand,
    chat="always",
    purpose="writes the answers",
    prefix="chat.",
    owners={"generation": GenerationOptions, "chat": ChatOptions},
    read=_read,
    estimate=_estimate,
    ask=_ask,
    lay_out=_lay_out,
)
