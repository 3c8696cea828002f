"""The analyses `data show`, `data build` (samples from articles and their sources) and `data export` (for trainers)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from metaeval.analyses import data_sets
from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.pipelines.data_options import SUMMARY, DataBuildOptions, DataExportOptions, DataShowOptions
from metaeval.errors import UserError


def _show(options: DataShowOptions, progress: Progress) -> Done:
    from metaeval.citation.human.benchmark_statistics import bench_statistics, read_benchmark
    from metaeval.report.table import Table

    path = Path(options.name)
    if path.suffix == ".citeeval":
        return Done(value=Table(records=bench_statistics(read_benchmark(path, options.human))))
    if options.human is not None:
        raise UserError(f"--human is for CiteBench's .citeeval files, and {options.name} is another: leave it out.")
    return data_sets.show_card(options, progress)


SHOW = replace(
    data_sets.SHOW,
    summary="Show a data set's card, or count a .citeeval file.",
    about="""The card: origin, licence, files, options. Of CiteBench's file of responses: the queries, responses,
statements and citations of each system; with --human also the ratings and the annotators.""",
    examples=["data show wice", "data show metric_eval.citeeval --human human.json"],
    options=DataShowOptions,
    run=_show,
)


def _build(options: DataBuildOptions, progress: Progress) -> Done:
    from metaeval.citation.pipelines.build_and_export_samples import BUILD_PIPELINE
    from metaeval.citation.pipelines.pipeline_analyses import run_analysis

    return run_analysis(BUILD_PIPELINE, options, progress)


BUILD = Analysis(
    name="data build",
    summary=SUMMARY,
    about="""Paragraphs with at least three citations of sources whose text is there are ranked by citations per
sentence; samples are drawn from the densest quarter, a chat model writes each one's query, and a tenth is for the test.
Needs the extra 'wikipedia'.""",
    examples=[
        "data build scifi --wikitext articles --pages fetched --model NAME --record queries.jsonl -o built",
        "cite scifi built/test.jsonl --nli overlap",
    ],
    options=DataBuildOptions,
    run=_build,
)


def _export(options: DataExportOptions, progress: Progress) -> Done:
    from metaeval.citation.pipelines.build_and_export_samples import export

    return export(options)


EXPORT = Analysis(
    name="data export",
    summary="Write samples for trainers, as messages of a chat.",
    about="""The user's message is a prompt of 'cite generate', and the assistant's what should be replied: the text
with its citations, or what --strategy asks for on the way (two-stage: documents, then a sentence, until the end).
Training itself is left to a trainer.""",
    examples=[
        "data export built/train.jsonl --form chat -o chat.jsonl",
        "data export built/train.jsonl --negatives 5 --shuffle 0 -o chat.jsonl",
        "data export built/train.jsonl --strategy two-stage -o chat.jsonl",
    ],
    options=DataExportOptions,
    run=_export,
)
