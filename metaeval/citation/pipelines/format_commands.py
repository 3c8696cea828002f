"""The analyses `cite formats` (lists the formats of answers) and `cite convert` (writes answers as JSONL)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, EncodingSettings, Progress
from metaeval.citation.pipelines.options import FilesToRead, FormatName, SourcesFile
from metaeval.core.declared import Flag
from metaeval.core.errors import count


class FormatsOptions(DeclaredOptions):
    """Options of `cite formats`."""

    name: Annotated[str, Flag("[NAME]", argument=True)] = ""
    """Format to show with an example (default: all)."""


def _list(options: FormatsOptions, progress: Progress) -> Done:
    from metaeval.citation.readers.answer_files import FORMATS
    from metaeval.core.errors import unknown
    from metaeval.report.table import Table

    if options.name and options.name not in FORMATS:
        raise unknown("format of answers", options.name, FORMATS)
    forms = [FORMATS[options.name]] if options.name else list(FORMATS.values())
    records = [{"format": form.name, "holds": form.title, "example": form.example} for form in forms]
    lines = [line for form in forms for line in (f"{form.name}: {form.title}", f"    {form.example}")]
    return Done(shown=(), verdict=lines, value=Table(records=records))


class ConvertOptions(EncodingSettings, DeclaredOptions):
    """Options of `cite convert`."""

    files: FilesToRead = Field(description="Files of answers in any format.")
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = None
    """File to write: answers as JSON lines."""
    format: FormatName = "auto"
    sources: SourcesFile = None


def _convert(options: ConvertOptions, progress: Progress) -> Done:
    from metaeval.citation.marks_and_sentences import cleaned
    from metaeval.citation.readers.answer_files import gather
    from metaeval.citation.readers.answers_jsonl import own_lines, own_row
    from metaeval.citation.support.level_readings import FIELD
    from metaeval.core.files import write_text

    read = gather(options.files, options.format, options.sources)
    # Levels of support stand at offsets in the text as it was read.
    answers = [answer if FIELD in answer.reference else cleaned(answer) for answer in read]
    output = options.output
    return Done(
        read=options.files,
        shown=(),
        outputs={output: partial(write_text, text=own_lines(answers))} if output else {},
        written=[f"Written: {output} ({count(len(answers), 'answer')})"] if output else [],
        value=[own_row(answer) for answer in answers],
    )


LIST = Analysis(
    name="cite formats",
    summary="List the formats of answers, each with an example.",
    about="""A file's format is recognised by the fields of its first record. A record may hold a request and its reply:
{"request": ..., "response": ...}.""",
    returns="Table: A row for each format.",
    examples=["cite formats", "cite formats gemini"],
    options=FormatsOptions,
    run=_list,
)

CONVERT = Analysis(
    name="cite convert",
    summary="Write answers of any format as JSON lines.",
    about="""Citations are written into the text as marks [n]; texts of sources that the answers do not hold are read
from --sources.""",
    returns="list of dict: A mapping for each answer, as in the file.",
    examples=["cite convert replies.jsonl -o answers.jsonl", "cite convert run.jsonl --sources texts.jsonl -o a.jsonl"],
    options=ConvertOptions,
    run=_convert,
)
