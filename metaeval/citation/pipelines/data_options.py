"""The options of `data build`, `data export` and `data show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from metaeval.analyses.analysis import DeclaredOptions, EncodingSettings
from metaeval.analyses.data_sets import DataSetOptions
from metaeval.citation.generation.options import Strategy
from metaeval.config import BudgetSettings, ResultsSettings
from metaeval.declared import Flag

SUMMARY = "Build samples as SCiFi's from wikitext and fetched pages."


class DataShowOptions(DataSetOptions):
    """Options of `data show`."""

    name: Annotated[str, Flag("NAME", argument=True)]
    """Data set, by name ('metaeval data list'), or CiteBench's .citeeval file."""
    human: Annotated[Path | None, Flag("FILE", hidden=True)] = None
    """CiteBench's human judgements of a .citeeval file."""


class DataBuildOptions(BudgetSettings, ResultsSettings, DeclaredOptions):
    """Options of `data build`; further settings by name are the chat model's."""

    model_config = ConfigDict(extra="allow")

    untyped = frozenset(
        {"citations", "top", "test", "sample_seed", "query_file", "splitter", "requests", "batch", "ask_again"}
    )

    name: Annotated[Literal["scifi"], Flag("NAME", argument=True)]
    """Data set to build: scifi."""
    wikitext: Annotated[Path | None, Flag("PATH", required=True)] = None
    """Articles: a folder of TITLE.wikitext, or an XML dump of MediaWiki."""
    pages: Annotated[Path | None, Flag("FOLDER", required=True)] = None
    """Fetched sources: HTML or .txt, listed in pages.jsonl."""
    output: Annotated[Path | None, Flag("FOLDER", "-o", required=True, output=True)] = None
    """Folder for train.jsonl and test.jsonl."""
    samples: Annotated[int, Field(gt=0), Flag("N", hidden=True)] = 10_000
    """Most paragraphs that are drawn."""
    model: Annotated[str | None, Flag("NAME")] = None
    """Chat model that writes the queries."""
    base_url: Annotated[str | None, Flag("URL", hidden=True)] = None
    """Address of the model's server (default: OpenAI's)."""
    record: Annotated[Path | None, Flag("FILE", output=True, hidden=True)] = None
    """File to save the model's replies to, for --replay."""
    replay: Annotated[Path | None, Flag("FILE", hidden=True)] = None
    """Saved replies to use instead of asking the model."""
    dry_run: Annotated[bool, Flag()] = False
    """Estimate only: nothing is asked or paid for."""
    requests: Annotated[Path | None, Flag("FILE", output=True)] = None
    """Write the requests as a batch; nothing is sent."""
    batch: Annotated[Path | None, Flag("FILE", name="replies")] = None
    """Output of such a batch, with the replies."""
    ask_again: Annotated[Literal["unparsed"] | None, Flag("unparsed")] = None
    """Ask once more where a reply cannot be parsed."""
    citations: Annotated[int, Field(gt=0), Flag("N")] = 3
    """Fewest citations of a paragraph, of sources with a text."""
    top: Annotated[float, Field(gt=0, le=1), Flag("X")] = 0.25
    """Share of the most densely cited paragraphs from which samples are drawn."""
    test: Annotated[float, Field(ge=0, lt=1), Flag("X")] = 0.1
    """Share of the samples for the test."""
    sample_seed: Annotated[int, Flag("SEED")] = 0
    """Seed of drawing and splitting samples."""
    query_file: Annotated[Path | None, Flag("FILE")] = None
    """Prompt for a query in plain text, with {paragraph}, and {page} and {section} if wanted."""
    splitter: Annotated[str, Flag("NAME")] = "auto"
    """Sentence splitter: auto, nltk or rules."""


class DataExportOptions(EncodingSettings, DeclaredOptions):
    """Options of `data export`."""

    files: Annotated[tuple[Path, ...], Flag("FILE", multiple=True, argument=True)]
    """Samples, or answers in any format, to write as training samples."""
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = None
    """File to write: training samples as JSON lines."""
    form: Annotated[Literal["chat"], Flag("NAME")] = "chat"
    """Form of a sample: chat (messages of user and assistant)."""
    negatives: Annotated[int | None, Field(ge=0), Flag("N")] = None
    """Documents beside the cited ones, drawn at random (default: all)."""
    shuffle: Annotated[int | None, Flag("SEED", hidden=True)] = None
    """Shuffle documents by this seed, and renumber marks (default: neither)."""
    strategy: Annotated[Strategy, Flag("NAME", hidden=True)] = "truncated"
    """Strategy whose requests are taught: truncated, summary, two-stage or select-then-write. Summaries are those of
    the passages' field summary."""
    answer_file: Annotated[Path | None, Flag("FILE", hidden=True)] = None
    """A prompt of your own, as for 'cite generate'."""
    selection_file: Annotated[Path | None, Flag("FILE", hidden=True)] = None
    """A prompt of your own for selections."""
    choice_file: Annotated[Path | None, Flag("FILE", hidden=True)] = None
    """A prompt of your own for choices before a sentence."""
    sentence_file: Annotated[Path | None, Flag("FILE", hidden=True)] = None
    """A prompt of your own for the next sentence."""
    format: Annotated[str, Flag("NAME", "-f", hidden=True)] = "auto"
    """Format of the files: a name that 'metaeval cite formats' lists, or auto (by their content)."""
