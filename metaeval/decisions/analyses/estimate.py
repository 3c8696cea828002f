"""Citation quality from a metric's scores of all citations and people's labels of some."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.core.declared import Flag
from metaeval.decisions.analyses.item_options import (
    AnswersFile,
    AssumeSample,
    Columns,
    ItemOptions,
    LabelsFile,
    MetricName,
    PipelineName,
    SourceTextsFile,
)


class EstimateOptions(ItemOptions):
    """Options of `estimate`."""

    untyped = ItemOptions.untyped | {"assume_sample"}

    answers: AnswersFile
    """Answers with citations: JSON(L), a corpus, a job's pairs.jsonl, or a table."""
    labels: LabelsFile = None
    """People's labels of some items: .csv, .tsv, .xlsx or .jsonl (in Python also levels by id)."""
    metric: MetricName = "overlap"
    """Metric, score file, or column of the answers' file."""
    other: Annotated[AnswersFile, Flag("[OTHER]", argument=True)] = None
    """Answers of another system: differences too."""
    estimand: Annotated[Literal["set", "process"], Flag("NAME")] = "set"
    """What the shares are of: set (these answers) or process (what makes such answers)."""
    pipeline: PipelineName = ""
    """Pipeline (alce or aliice) whose recall and precision are estimated, from labels of what it asks."""
    columns: Columns = Field(default_factory=dict)
    sources: SourceTextsFile = None
    assume_sample: AssumeSample = False


def _run(options: EstimateOptions, progress: Progress) -> Done:
    from metaeval.decisions.citation_items import items_of
    from metaeval.decisions.estimate import estimate, estimate_sheet

    run = options.run(metrics=(options.metric,))
    answers, other = options.answers, options.other
    if options.sources:
        read = partial(items_of, mapping=options.columns, pipeline=options.pipeline, sources=options.sources)
        answers, other = read(answers), None if other is None else read(other)
    how = options.estimand, options.columns, options.assume_sample, run, progress, options.pipeline
    estimates = estimate(answers, options.labels, options.metric, other, *how)
    return Done(config=run, sheets=[estimate_sheet(estimates)], value=estimates)


ESTIMATE = Analysis(
    name="estimate",
    summary="Estimate citation quality from a metric and a few labels.",
    about="""The metric scores every citation, people label some, and the intervals include the metric's errors
(prediction-powered inference). Beside each share stand that of the labels alone, and that of the metric alone.""",
    returns="Estimates: `estimates[MEASURE]` is the estimate of a measure, `records` are all.",
    examples=[
        "estimate answers.jsonl --labels labels.csv --metric minilm-bertscore",
        "estimate answers.jsonl -l labels.xlsx --map level=Verdict --estimand process",
        "estimate a.jsonl b.jsonl -l labels.csv -m overlap",
        "estimate answers.jsonl -l labels.csv --pipeline aliice",
        "estimate results/latest/pairs.jsonl -l labels.csv -m overlap",
    ],
    options=EstimateOptions,
    run=_run,
)
