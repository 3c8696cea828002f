"""`data build`, samples made of articles and their sources, and `data export`, samples for trainers."""

from __future__ import annotations

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.pipelines.data_options import SUMMARY, DataBuildOptions, DataExportOptions


def _build(options: DataBuildOptions, progress: Progress) -> Done:
    from metaeval.citation.pipelines.analyses import run_analysis
    from metaeval.citation.pipelines.scifi_data import BUILD_PIPELINE

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
    from metaeval.citation.pipelines.scifi_data import export

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
