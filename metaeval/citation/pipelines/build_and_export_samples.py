"""The pipeline of `data build scifi` (samples from wikitext and fetched pages), and the function of `data export`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import create_model

from metaeval.analyses.analysis import Done
from metaeval.citation.chat_models import Chat, ChatOptions, chat_request, estimate_for
from metaeval.citation.pipelines.data_options import SUMMARY, DataBuildOptions, DataExportOptions
from metaeval.citation.pipelines.layout import TableLines
from metaeval.citation.pipelines.pipeline import AsksChat, Layout, Pipeline, Run
from metaeval.citation.pipelines.provenance import Provenance, data_of
from metaeval.citation.pipelines.scifi_paper import STATISTICS, statistics_reading
from metaeval.citation.readers.answer_files import gather
from metaeval.citation.scifi.facts import PROMPTS, read_line
from metaeval.citation.scifi.samples import ScifiSample, candidates, draw_densest, split
from metaeval.citation.scifi.text_statistics import citation_counts
from metaeval.citation.scifi.wikitext import read_articles, read_pages
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.llm.messages import ChatRequest, read_answer, read_prompt
from metaeval.report.table import Note, Scalar, format_value, plain

_FIELDS: Any = {
    name: (field.annotation, field)
    for name, field in DataBuildOptions.model_fields.items()
    if name in vars(DataBuildOptions)["__annotations__"] and name not in {*AsksChat.model_fields, "dry_run"}
}
_COMMAND: Any = create_model("DataBuildCommand", __base__=AsksChat, **_FIELDS)


@dataclass(frozen=True)
class _Building:
    """The samples that were drawn (no query until the model is asked). counts: of what was read and left out."""

    run: Run
    options: Any
    samples: Sequence[ScifiSample]
    counts: Counter[str]
    models: Sequence[str] = ()

    @property
    def requests(self) -> list[ChatRequest]:
        """The requests for the queries, one a sample."""
        prompt = read_prompt(self.options.query_file or PROMPTS / "query.txt", ("paragraph",))
        return [
            chat_request(
                self.run.chat,
                prompt.fill(page=each.paragraph.page, section=each.paragraph.section, paragraph=each.paragraph.text),
            )
            for each in self.samples
        ]


def _read(run: Run) -> _Building:
    options = run.options
    if options.wikitext is None or options.pages is None:
        raise UserError("A data set is built of articles and their sources: give --wikitext PATH and --pages FOLDER.")
    dense, counts = candidates(
        read_articles(options.wikitext), read_pages(options.pages), options.citations, run.splitter
    )
    samples = draw_densest(dense, options.top, options.samples, options.sample_seed)
    if not samples:
        raise UserError(
            f"None of {counts['paragraphs']:,} paragraphs has {options.citations} citations of sources with a text "
            f"({counts['citations of sources without a text']:,} of {counts['citations']:,} citations are of sources "
            "without one): add pages, or set citations lower."
        )
    return _Building(run, options, samples, counts + Counter({"paragraphs that qualify": len(dense)}))


def _estimate(building: _Building) -> str:
    return f"{count(len(building.samples), 'query')}: {estimate_for(building.requests, building.run.chat)}"


def _ask(building: _Building, chat: Chat) -> _Building:
    """Return the samples with their queries; one without a readable query is left out and counted."""
    kept, counts = [], Counter(building.counts)
    for sample, reply in zip(building.samples, chat.ask(building.requests), strict=True):
        query, state = read_answer(reply, read_line)
        if query is None:
            counts[f"samples left out: query {state}"] += 1
        else:
            kept.append(replace(sample, query=query))
    if not kept:
        total = f"{len(building.samples):,} were asked for"
        raise UserError(f"No reply could be read as a query ({total}): ask another model, or change the prompt.")
    return replace(building, samples=kept, counts=counts, models=chat.models)


def _lay_out(building: _Building) -> Layout:
    run, parts = building.run, split(building.samples, building.options.test, building.options.sample_seed)
    folder: Path = building.options.output or Path()
    files = {
        folder / f"{name}.jsonl": "".join(json.dumps(sample.row, ensure_ascii=False) + "\n" for sample in samples)
        for name, samples in parts.items()
    }
    lost = {name: n for name, n in building.counts.items() if n and (" left out: " in name or "without a text" in name)}
    table = TableLines()
    for name, samples in {**parts, "all": building.samples}.items():
        counted = citation_counts([sample.answer for sample in samples], splitter=run.splitter)
        values = {"samples": counted.samples, "sentences": counted.sentences, **counted.shares}
        cells = [format_value(values[column.key], column) for column in STATISTICS]
        table.add("", name, cells, *({"split": name, "measure": key, "value": value} for key, value in values.items()))
    return Layout(
        [_around(building).lines("samples", "Statistics of the samples", _HEADINGS, table, [statistics_reading()])],
        files=files,
        folder=run.config.results / "build" / building.options.name,
        value={name: [sample.row for sample in samples] for name, samples in parts.items()},
        warnings=[f"{name}: {number:,}" for name, number in sorted(lost.items())],
    )


_HEADINGS = ("Split", *(column.label for column in STATISTICS))


def _around(building: _Building) -> Provenance:
    answers = [sample.answer for sample in building.samples]
    citations = sum(len(each.citations) for each in building.samples)
    data = data_of(building.options.name, "build", answers, 0, citations)
    options = building.options
    prompt = read_prompt(options.query_file or PROMPTS / "query.txt", ("paragraph",))
    fields: dict[str, Scalar] = {
        "citations": options.citations,
        "top": options.top,
        "most": options.samples,
        "test": options.test,
        "seed": options.sample_seed,
        "splitter": building.run.splitter.name,
        "query": f"{building.run.chat.model}, prompt@{prompt.fingerprint}",
    }
    counts = Note("counts", "; ".join(f"{name} {number:,}" for name, number in building.counts.items() if number))
    settings = Note("settings", ", ".join(f"{name}={plain(str(value))}" for name, value in fields.items()))
    return Provenance(data, "build", plain(data.name), fields, building.run.config.interval, after=[settings, counts])


BUILD_PIPELINE = Pipeline(
    group="data",
    name="build",
    title="SCiFi's data",
    paper="Cao and Wang 2024, SCiFi (arXiv 2406.06125), Section 3 and Appendix A",
    help=SUMMARY,
    options=_COMMAND,
    chat="always",
    purpose="writes the queries",
    owners={"chat": ChatOptions},
    read=_read,
    estimate=_estimate,
    ask=_ask,
    lay_out=_lay_out,
)


def export(options: DataExportOptions) -> Done:
    """Return the training samples of `data export`, and what writes them; `UserError` if no answer makes one."""
    from metaeval.citation.generation.generate import training_messages
    from metaeval.citation.generation.options import GenerationOptions
    from metaeval.citation.generation.question_documents import cited_and_negatives, shuffled
    from metaeval.files import write_text

    answers = gather(options.files, options.format)
    usable = [answer for answer in answers if answer.question.strip() and answer.text.strip()]
    if not usable:
        raise UserError("A training sample needs a question and an answer's text: give answers that have both.")
    notes = Counter[str]()
    if options.negatives is not None:
        usable = cited_and_negatives(usable, options.negatives, options.shuffle or 0, notes)
    if options.shuffle is not None:
        usable = [shuffled(answer, options.shuffle) for answer in usable]
    prompts = {name: getattr(options, name) for name in type(options).model_fields if name.endswith("_file")}
    shown = GenerationOptions(strategy=options.strategy, **prompts)
    rows = [{"messages": messages} for messages in training_messages(usable, shown, ChatOptions(model="trained"))]
    lost = len(answers) - len(usable)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return Done(
        read=options.files,
        shown=(),
        outputs={options.output: partial(write_text, text=text)} if options.output else {},
        written=[f"Written: {options.output} ({count(len(rows), 'sample')})"] if options.output else [],
        warnings=[
            *([f"Left out without a question or a text: {count(lost, 'answer')}."] if lost else []),
            *(f"{name}: {number:,}" for name, number in notes.items()),
        ],
        value=rows,
    )
