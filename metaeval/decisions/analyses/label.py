"""A sample of citations for people to label."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from metaeval.analyses.analysis import Analysis, Done, FileOrObject, Progress
from metaeval.core.declared import Flag
from metaeval.decisions.analyses.item_options import (
    AnswersFile,
    Columns,
    ItemOptions,
    MetricName,
    PipelineName,
    SourceTextsFile,
    reading_words,
)


class LabelOptions(ItemOptions):
    """Options of `label`."""

    untyped = ItemOptions.untyped | {"seed", "form"}

    answers: AnswersFile
    """Answers with citations: JSON(L), a corpus, a job's pairs.jsonl, or a table."""
    n: Annotated[int, Flag("NUMBER", "-n")] = 60
    """Number of citations to label."""
    design: Annotated[str, Flag("NAME")] = "random"
    """Design of the sample: random, stratified (by the metric's scores) or uncertain (more of the middle)."""
    sampling_unit: Annotated[str, Flag("NAME", "-u")] = "item"
    """Sampling unit: item (a citation) or answer (all its citations)."""
    metric: MetricName = "overlap"
    """Metric of the designs that look at scores."""
    seed: Annotated[int, Flag("NUMBER")] = 0
    """Seed of the sample."""
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = None
    """File to fill in: .csv, .tsv, .xlsx, .jsonl, or .html."""
    existing_labels: Annotated[FileOrObject, Flag("FILE")] = None
    """Existing labels of a random sample, to which the new sample is added."""
    pipeline: PipelineName = ""
    """Pipeline (alce or aliice) whose questions about claims are labelled, in place of citations."""
    form: Annotated[str, Flag("NAME")] = "support"
    """What is asked: support, errors (of claims) or utility (1 to 5)."""
    columns: Columns = Field(default_factory=dict)
    sources: SourceTextsFile = None


def _run(options: LabelOptions, progress: Progress) -> Done:
    from metaeval.core.errors import UserError, unknown
    from metaeval.decisions.citation_items import items_of
    from metaeval.decisions.item_labels import labels_of
    from metaeval.decisions.label_forms import FORMS
    from metaeval.decisions.label_sampling import check_output, draw, write_questions
    from metaeval.report.table import Table

    output = options.output
    if options.form not in FORMS:
        raise unknown("form", options.form, FORMS)
    if output:
        check_output(output)
    if options.form != "support" and options.existing_labels is not None:
        leave = f"leave out --existing-labels, or --form {options.form}"
        raise UserError(f"Existing labels can only be extended in the form support: {leave}.")
    run = options.run(metrics=(options.metric,))
    items = items_of(options.answers, options.columns, options.pipeline, options.sources)
    known = None if options.existing_labels is None else labels_of(options.existing_labels, items, options.columns)
    design = options.n, options.design, options.sampling_unit, options.metric, options.seed
    sample = replace(draw(items, *design, known, run, progress), form=FORMS[options.form])
    answers = {items.rows[row].group for row in sample.rows}
    whole = f" of {len(answers):,} whole answers" if options.sampling_unit == "answer" else ""
    what = "questions" if options.pipeline else "citations"
    counts = f"{sample.rows.size:,} of {len(items.rows):,} {what}{whole} to judge"
    return Done(
        config=run,
        shown=(),
        outputs={output: lambda path: write_questions(sample, path, known)} if output else {},
        written=[f"Written: {output} ({counts})"],
        after=lambda folder: [_next(options, output)] if output else [],
        value=Table(records=sample.records),
    )


def _next(options: LabelOptions, output: Path) -> str:
    page = output.suffix.lower() == ".html"
    if options.form != "support":
        return "Next: " + ("label on it and save CSV." if page else "fill in its blank columns.")
    fill, file = ("label on it and save CSV", "SAVED.csv") if page else ("fill in its column 'level'", str(output))
    words = ["metaeval", "estimate", str(options.answers), "--labels", file]
    words += ["--metric", options.metric.removeprefix("scores:")]
    words += ["--sources", str(options.sources)] if options.sources else []
    words += [*(["--pipeline", options.pipeline] if options.pipeline else []), *reading_words(options.columns)]
    return f"Next: {fill}, then {shlex.join(words)}"


LABEL = Analysis(
    name="label",
    summary="Sample citations and write a file for people to label.",
    about="""The file has a row for each citation, with a blank level to fill in (full, partial or none) and the
probability of being drawn, which estimate reads. Scores and systems are left out, so that annotators do not see
them.""",
    returns="Table: A row for each sampled item.",
    examples=[
        "label answers.jsonl -n 60 -o to_label.xlsx",
        "label answers.jsonl -n 60 --design stratified -m overlap -o to_label.csv",
        "label answers.jsonl -n 100 --sampling-unit answer -o to_label.csv",
        "label answers.jsonl -n 60 -o to_label.html    (in a browser)",
        "label answers.jsonl -n 60 -o utility.html -s form=utility",
        "label answers.jsonl -n 40 --existing-labels labels.csv -o more.csv",
    ],
    options=LabelOptions,
    run=_run,
)
