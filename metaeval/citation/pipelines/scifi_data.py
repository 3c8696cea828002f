"""`metaeval data build scifi`, samples made of wikitext and fetched pages, and `metaeval data export`, for training."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, EncodingSettings, Progress
from metaeval.citation.chat import Chat, ChatOptions, chat_request, estimate_for
from metaeval.citation.model import Answer
from metaeval.citation.pipelines.analyses import analysis_of
from metaeval.citation.pipelines.layout import TableLines
from metaeval.citation.pipelines.pipeline import (
    AsksChat,
    FilesToRead,
    FormatName,
    Layout,
    Pipeline,
    Run,
    Splitter,
    one_of,
)
from metaeval.citation.pipelines.provenance import Provenance, data_of
from metaeval.citation.pipelines.scifi_paper import STATISTICS, STATISTICS_READING
from metaeval.citation.readers.answers import gather
from metaeval.citation.scifi.facts import PROMPTS, read_line
from metaeval.citation.scifi.samples import ScifiSample, candidates, chosen, split
from metaeval.citation.scifi.statistics import cited_texts
from metaeval.citation.scifi.wikipedia import read_articles, read_pages
from metaeval.citation.sentences import find_marks
from metaeval.declared import Flag
from metaeval.errors import UserError
from metaeval.llm.exchange import ChatRequest, read_answer, read_prompt
from metaeval.report.table import Note, Scalar, count, format_value, plain


class DataBuildOptions(AsksChat):
    """Options of `data build`."""

    untyped = frozenset({"citations", "top", "test", "sample_seed", "query_file", "splitter"})

    name: Annotated[str, Flag("NAME", argument=True), one_of("data set to build", ("scifi",))] = Field(
        description="Data set to build: scifi."
    )
    wikitext: Annotated[Path | None, Flag("PATH", required=True)] = Field(
        default=None, description="Articles: a folder of TITLE.wikitext, or an XML dump of MediaWiki."
    )
    pages: Annotated[Path | None, Flag("FOLDER", required=True)] = Field(
        default=None, description="Fetched sources: HTML or .txt, listed in pages.jsonl."
    )
    output: Annotated[Path | None, Flag("FOLDER", "-o", required=True, output=True)] = Field(
        default=None, description="Folder for train.jsonl and test.jsonl."
    )
    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model that writes the queries.")
    samples: Annotated[int, Field(gt=0), Flag("N")] = Field(
        default=10_000, description="Most paragraphs that are drawn."
    )
    citations: Annotated[int, Field(gt=0)] = Field(
        default=3, description="Fewest citations of a paragraph, of sources with a text."
    )
    top: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.25, description="Share of the most densely cited paragraphs from which samples are drawn."
    )
    test: Annotated[float, Field(ge=0, lt=1)] = Field(default=0.1, description="Share of the samples for the test.")
    sample_seed: int = Field(default=0, description="Seed of drawing and splitting samples.")
    query_file: Path | None = Field(
        default=None, description="Prompt for a query in plain text: {paragraph}, and {page} and {section} if wanted."
    )
    splitter: Splitter = "auto"


@dataclass(frozen=True)
class _Building:
    """Samples, chosen but without queries at first. counts: what was read and left out, by its words."""

    run: Run
    options: DataBuildOptions
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
    options: DataBuildOptions = run.options
    if options.wikitext is None or options.pages is None:
        raise UserError("A data set is built of articles and their sources: give --wikitext PATH and --pages FOLDER.")
    dense, counts = candidates(
        read_articles(options.wikitext), read_pages(options.pages), options.citations, run.splitter
    )
    samples = chosen(dense, options.top, options.samples, options.sample_seed)
    if not samples:
        raise UserError(
            f"None of {counts['paragraphs']:,} paragraphs has {options.citations} citations of sources with a text "
            f"({counts['citations of sources without a text']:,} of {counts['citations']:,} citations are of sources "
            "without one): add pages, or set citations lower."
        )
    return _Building(run, options, samples, counts + Counter({"paragraphs that qualify": len(dense)}))


def _estimate(building: _Building) -> str:
    return f"{len(building.samples):,} queries: {estimate_for(building.requests, building.run.chat)}"


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
        counted = cited_texts([sample.answer for sample in samples], splitter=run.splitter)
        values = {"samples": counted.samples, "sentences": counted.sentences, **counted.shares}
        cells = [format_value(values[column.key], column) for column in STATISTICS]
        table.add("", name, cells, *({"split": name, "measure": key, "value": value} for key, value in values.items()))
    return Layout(
        [_around(building).lines("samples", "Statistics of the samples", _HEADINGS, table, [STATISTICS_READING])],
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
    help="""Build samples as SCiFi's from wikitext and fetched pages.

    Paragraphs with at least three citations of sources whose text is there
    are ranked by citations per sentence; samples are drawn from the densest
    quarter, a chat model writes each one's query, and a tenth is for the
    test. Needs the extra 'wikipedia'.

    \b
    Examples:
      metaeval data build scifi --wikitext articles --pages fetched \\
        --model NAME --record queries.jsonl -o built
      metaeval cite scifi built/test.jsonl --nli overlap
    """,
    options=DataBuildOptions,
    chat="always",
    purpose="writes the queries",
    owners={"chat": ChatOptions},
    prompts={"query": ("for the query that a paragraph answers", PROMPTS / "query.txt")},
    read=_read,
    estimate=_estimate,
    ask=_ask,
    lay_out=_lay_out,
)

BUILD = analysis_of(BUILD_PIPELINE)


class DataExportOptions(EncodingSettings, DeclaredOptions):
    """Options of `data export`."""

    files: FilesToRead = Field(description="Samples, or answers in any format, to learn from.")
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = None
    """File to write: training samples as JSON lines."""
    form: Annotated[Literal["chat"], Flag("NAME")] = "chat"
    """Form of a sample: chat (messages of user and assistant)."""
    negatives: Annotated[int | None, Field(ge=0), Flag("N")] = None
    """Documents beside the cited ones, drawn at random (default: all)."""
    shuffle: Annotated[int | None, Flag("SEED")] = None
    """Shuffle documents by this seed, and renumber marks (default: neither)."""
    answer_file: Annotated[Path | None, Flag("FILE")] = None
    """A prompt of your own, as for 'cite generate'."""
    format: FormatName = "auto"


def around_cited(answer: Answer, negatives: int | None, seed: int | None) -> Answer:
    """Return an answer with its cited documents and so many others (None: all), in another order, marks renumbered.

    seed: of drawing and shuffling, which each answer's id varies; None keeps the order.
    """
    marks = [mark for mark in find_marks(answer.text, first=answer.first) if mark.number is not None]
    places = range(1, len(answer.passages) + 1)
    cited = {mark.number for mark in marks if mark.number is not None} & {*places}
    others = [place for place in places if place not in cited]
    draws = random.Random(f"{seed} {answer.id}")
    if negatives is not None and negatives < len(others):
        others = draws.sample(others, negatives)
    order = sorted([*cited, *others])
    if seed is not None:
        draws.shuffle(order)
    renumbered = {old: new for new, old in enumerate(order, start=1)}
    text, end = "", 0
    for mark in marks:
        new = renumbered.get(mark.number or 0, mark.number)
        text += answer.text[end : mark.start] + f"[{new}]"
        end = mark.end
    passages = tuple(answer.passages[place - 1] for place in order)
    return replace(answer, text=text + answer.text[end:], passages=passages, first=1)


def _export(options: DataExportOptions, progress: Progress) -> Done:
    from metaeval.citation.generation.generate import GenerationOptions, largest_requests
    from metaeval.files import write_text

    answers = gather(options.files, options.format)
    usable = [answer for answer in answers if answer.question.strip() and answer.text.strip()]
    if not usable:
        raise UserError("No answer has a question and a text to learn from: give samples with both.")
    usable = [around_cited(answer, options.negatives, options.shuffle) for answer in usable]
    shown = GenerationOptions(strategy="truncated", answer_file=options.answer_file)
    requests = largest_requests(usable, shown, ChatOptions(model="trained"))
    rows = [
        {"messages": [*request.body["messages"], {"role": "assistant", "content": answer.text}]}
        for request, answer in zip(requests, usable, strict=True)
    ]
    lost = len(answers) - len(usable)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return Done(
        read=options.files,
        shown=(),
        outputs={options.output: partial(write_text, text=text)} if options.output else {},
        verdict=[f"Written: {options.output} ({len(rows):,} samples)"] if options.output else [],
        warnings=[f"Left out without a question or a text: {count(lost, 'answer')}."] if lost else [],
        value=rows,
    )


EXPORT = Analysis(
    name="data export",
    summary="Write samples for trainers, as messages of a chat.",
    about="""The user's message is the prompt of 'cite generate' in the strategy truncated, and the assistant's the
text with its citations. Training itself is left to a trainer.""",
    examples=[
        "data export built/train.jsonl --form chat -o chat.jsonl",
        "data export built/train.jsonl --negatives 5 --shuffle 0 -o chat.jsonl",
    ],
    options=DataExportOptions,
    run=_export,
)
