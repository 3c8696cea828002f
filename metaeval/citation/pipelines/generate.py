"""The analysis `cite generate`: a chat model writes answers with citations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.analyses.analysis import Analysis, Done, FileOrObject, Progress
from metaeval.citation.chat_models import MONEY, ChatOptions, estimate_for, tokens_and_cost, why_unread
from metaeval.citation.data_model import Answer, fingerprint
from metaeval.citation.generation import generate as generation
from metaeval.citation.generation.options import GenerationOptions, Strategy, Text
from metaeval.citation.generation.question_documents import task_of
from metaeval.citation.generation.stage_requests import STAGES, load_prompts, prompt_names
from metaeval.citation.generation.strategies import Draft
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.provenance import TableLines, data_of, data_reference, options_text, settings_text
from metaeval.citation.readers.answer_files import read_questions
from metaeval.citation.readers.answers_jsonl import lines_of, own_row
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError, count
from metaeval.core.files import signature, write_text, write_texts
from metaeval.report.table import UNDEFINED, Note, Record, Table, blocks_of, plain

_SHOWN = 3
_LEFT_OUT = "they are in no file of answers, and the next run asks for those that failed"


class GenerateOptions(shared.AsksChat):
    """Options of `cite generate`; see `GenerationOptions`."""

    untyped = frozenset(
        {"format", "documents", "document_text", "negatives", "shuffle", "samples", "shots", "prompts", "summary_model"}
    )

    file: Annotated[FileOrObject, Flag("FILE", argument=True)]
    """File of questions with documents, or any file of answers."""
    model: Annotated[str | None, Flag("NAME")] = None
    """Chat model that writes the answers."""
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = None
    """File for the answers (JSONL)."""
    strategy: Annotated[Strategy, Flag("NAME")] = "truncated"
    """How documents are read: truncated, summary or two-stage."""
    format: shared.FormatName = "auto"
    documents: Annotated[int | None, Field(ge=1), Flag("N")] = None
    """Number of documents that a question has, the first of the file (default: all)."""
    document_text: Annotated[Text, Flag("NAME")] = "text"
    """Text of a document that is shown: text, or ALCE's snippet or summary."""
    negatives: Annotated[int | None, Field(ge=0), Flag("N")] = None
    """Random documents beside those that the text in the file cites; 0: only these (default: all documents)."""
    shuffle: Annotated[int | None, Flag("SEED")] = None
    """Seed by which negatives are drawn and documents shuffled (default: documents in the file's order)."""
    samples: Annotated[int, Field(ge=1), Flag("N")] = 1
    """Answers to each question, with seeds of their own."""
    shots: Annotated[Path | None, Flag("FILE")] = None
    """File of answers with marks that are shown as worked examples."""
    prompts: Annotated[Path | None, Flag("FOLDER")] = None
    """Folder of prompts in place of ours: answer.txt, summary.txt, choice.txt, sentence.txt."""
    summary_model: Annotated[str | None, Flag("NAME")] = None
    """Chat model that writes the summaries (default: --model)."""


def _run(options: GenerateOptions, progress: Progress) -> Done:
    chat = shared.chat_options(ChatOptions, options, "writes the answers")
    names = GenerationOptions.__dataclass_fields__.keys() & type(options).model_fields.keys()
    chosen = GenerationOptions(**{name: getattr(options, name) for name in names})
    load_prompts(chosen, chat)
    if options.samples > 1 and chat.temperature == 0:
        raise UserError(f"samples={options.samples} at temperature 0 are all the same: set -s chat.temperature=0.5.")
    read_from = shared.read_from(options.file)
    with shared.as_files(read_from, options.format) as (files, form):
        if len(files) != 1:
            raise UserError(f"Questions are read from one file, and {len(files)} are given: name one.")
        questions, shots, noted = task_of(read_questions(files[0], form, options.negatives is not None), chosen)
    if options.dry_run:
        stages, how = STAGES[chosen.strategy], (questions, chosen, chat, shots)
        samples = f", {chosen.samples} samples of each" if chosen.samples > 1 else ""
        lines = [f"{count(len(questions) // chosen.samples, 'question')}{samples}, strategy {chosen.strategy}"]
        lines.append(f"{stages[0]}: {estimate_for(generation.first_requests(*how), chat)}")
        if len(stages) > 1:  # requests of later stages depend on replies, and are estimated at their largest
            largest = estimate_for(generation.largest_requests(*how), chat)
            lines.append(f"then {' and '.join(stages[1:])}, at most: {largest}")
        return shared.estimated(options.run(), "\n".join(lines))
    system = "/".join(filter(None, (chat.model, chosen.strategy, chosen.condition)))
    with options.opened(chat, progress) as session:
        drafts = generation.generate(questions, session.ask, chosen, chat, system, shots)
        chat = session.settled(chat)
    lost = [draft for draft in drafts if draft.answer is None]
    if len(lost) == len(drafts):
        unread = [draft.unread for draft in drafts if draft.unread is not None]
        first, why = drafts[0], why_unread(unread, chat.max_tokens)
        held = f"No answer was generated to any of {len(drafts):,} questions, so nothing was written"
        raise UserError(f"{held}. The first is {first.trouble} at the stage {first.stage!r}. Replies: {why}.")
    prompts, named = load_prompts(chosen, chat), prompt_names(chosen)
    asking = {name: value for name, value in chat.identity().items() if name != "model"}
    fields = {
        "model": chat.model,
        "strategy": chosen.strategy,
        "shown": options_text({**chosen.in_use, **({"shots": fingerprint(shots)[:12]} if shots else {})}),
        "prompts": ",".join(f"{named[stage]}@{prompt.fingerprint}" for stage, prompt in prompts.items()),
        "asking": options_text(asking),
        "answered_as": ", ".join(session.models) or chat.model,
    }
    paid = [*session.heard, *session.superseded]
    left_out = [
        {"id": draft.question.id, "question": draft.question.question, "stage": draft.stage, "state": draft.trouble}
        for draft in lost
    ]
    rows: list[dict[str, Any]] = []
    for draft in drafts:
        if draft.answer is None:
            continue
        rows.append(own_row(draft.answer))
        if draft.steps:  # the summaries and choices by which it was written
            summaries = {document.number: document.text for document in draft.documents}
            steps = [{"documents": list(step.documents), "sentence": step.sentence} for step in draft.steps]
            rows[-1]["generation"] = {"summaries": summaries, "steps": steps}
    answers = lines_of(rows)
    notes = Counter({name: number for name, number in sorted(noted.items()) if number})
    took: dict[str, dict[str, float | None]] = {"documents": {**notes}, "what it took": tokens_and_cost(paid, chat)}
    return Done(
        config=options.run(),
        sheets=[_sheet(shared.name_of_data(read_from), system, questions, drafts, took, fields)],
        outputs={} if options.output is None else {options.output: partial(write_text, text=answers)},
        written=[] if options.output is None else [f"Written: {options.output} ({count(len(rows), 'answer')})"],
        files=[lambda folder: write_texts({folder / "left-out.jsonl": lines_of(left_out)})],
        value=[json.loads(line) for line in answers.splitlines()],
        warnings=[
            *(f"{name}: {number:,}" for name, number in notes.items()),
            *(f"No answer: question {row['id']}, {row['state']} at the stage {row['stage']}" for row in left_out),
        ],
    )


def _sheet(
    name: str,
    system: str,
    questions: Sequence[Answer],
    drafts: Sequence[Draft],
    took: Mapping[str, Mapping[str, float | None]],
    fields: Mapping[str, str],
) -> Table:
    """Return the table of counts. took: further blocks of counts."""
    counts = generation.counts_of(drafts)
    lost = [draft for draft in drafts if draft.answer is None]
    data = data_of(name, fields["strategy"], questions, len(drafts) - len(lost), int(counts["marks"]["marks"]))
    some = ", ".join(f"{plain(draft.question.id)} ({draft.stage} {draft.trouble})" for draft in lost[:_SHOWN])
    more = f", and {len(lost) - _SHOWN:,} more" if lost[_SHOWN:] else ""
    notes = (
        Note("data", f"{count(int(counts['answers']['questions']), 'question')}, {count(data.documents, 'document')}"),
        # Lines of a list of settings can be broken after commas.
        Note("settings", settings_text({name: value.replace(",", ", ") for name, value in fields.items()})),
        Note("left out", f"{some}{more}; {_LEFT_OUT}" if lost else ""),
        Note("prompts", "the strategies are named by SCiFi's paper; the wording is ours"),
    )
    table = TableLines()
    for block, values in {**counts, **took}.items():
        for counted, value in values.items():
            record: Record = {"system": system, "block": block, "count": counted, "value": value}
            table.add(block, counted, [amount(counted, value)], record)
    return Table(
        key=("generation", data.name, fields["strategy"]),
        title="Answers that were generated",
        subtitle=f"{plain(data.name)}, system {plain(system)}",
        headings=("number",),
        blocks=blocks_of(table.rows),
        footer=tuple(note for note in notes if note.text),
        signatures=(signature({"questions": data_reference(data), **fields, "metaeval": version("metaeval")}),),
        stub="count",
        name="generation",
        data=data,
        settings=fields,
        records=table.records,
    ).noting(data.demo)


def amount(name: str, value: float | None) -> str:
    """Return a count, a mean or a cost as text. name: of the amount; that of a cost is `MONEY`."""
    if value is None:
        return UNDEFINED
    return f"{value:.4f}" if name == MONEY else f"{value:,.{1 if isinstance(value, float) else 0}f}"


GENERATE = Analysis(
    name="cite generate",
    summary="Generate answers with citations, by a chat model.",
    about="""The strategy truncated shows the beginning of every document; summary has the model summarise each
document first; two-stage has it choose documents by their summaries and write one sentence from their texts, until it
stops (SCiFi, arXiv 2406.06125). Replies are stored, so that the same command continues an interrupted run.""",
    returns="list of dict: A mapping for each answer, as in the file.",
    examples=[
        "cite generate questions.jsonl --model NAME -o answers.jsonl",
        "cite generate scifi.jsonl --model NAME --strategy two-stage --dry-run -o answers.jsonl -s negatives=5 "
        "-s shuffle=1 -s chat.price_in=0.5 -s chat.price_out=1.5",
        "cite generate asqa.json --model NAME -o answers.jsonl -s documents=5 -s document_text=summary -s samples=3 "
        "-s chat.temperature=0.5",
        "cite alce answers.jsonl",
    ],
    options=GenerateOptions,
    run=_run,
    folder="cite/generate",
    again=shared.with_kept_replies,
)
