"""Release gates: fit a gate on labels, and check a release."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from metaeval.analyses.analysis import Analysis, Done, FileOrObject, Progress
from metaeval.core.declared import Flag, MetricNames
from metaeval.core.errors import UserError
from metaeval.core.headings import CITATIONS, LABELS
from metaeval.decisions.analyses.item_options import (
    AnswersFile,
    AssumeSample,
    Columns,
    ItemOptions,
    LabelsFile,
    RareSourceTextsFile,
    TargetLevel,
    answers_with,
    reading_words,
)

if TYPE_CHECKING:
    from metaeval.core.config import RunConfig
    from metaeval.decisions.gate_fit import Fitted

NEXT = 40  # number of citations to label next where a gate needs more labels

# Metrics of which a gate is chosen by default, the cheapest first.
OFFERED = ("overlap", "support-mini", "minilm-bertscore")

ShareOption = Annotated[float, Flag("SHARE")]


class FitOptions(ItemOptions):
    """Options of `gate fit`."""

    untyped = ItemOptions.untyped | {"assume_sample"}

    answers: AnswersFile
    """Answers with citations: JSON(L), a corpus, a job's pairs.jsonl, or a table."""
    labels: LabelsFile = None
    """People's labels of some items: .csv, .tsv, .xlsx or .jsonl (in Python also levels by id)."""
    metrics: Annotated[MetricNames, Flag("NAMES", "-m")] = OFFERED
    """Metrics to score, the cheapest first (default: overlap, support-mini, minilm-bertscore until one will do)."""
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = None
    """The gate's file."""
    max_missed: ShareOption = 0.1
    """Largest share of unsupported citations that are missed: the promise."""
    max_flagged: ShareOption = 0.5
    """Largest share of supported citations that are flagged."""
    max_unsupported: ShareOption = 0.2
    """Largest unsupported share of a release."""
    alpha: ShareOption = 0.05
    """Probability with which the promise may fail."""
    target: TargetLevel = "partial"
    """Lowest human level that counts as supported: full or partial."""
    promise: Annotated[Literal["confidence", "mean"], Flag("NAME")] = "confidence"
    """Kind of promise: confidence, or mean, which holds on average and for one metric only."""
    columns: Columns = Field(default_factory=dict)
    sources: RareSourceTextsFile = None
    assume_sample: AssumeSample = False


def _fit(options: FitOptions, progress: Progress) -> Done:
    from metaeval.decisions.gate_fit import fit, fit_sentences, fit_sheet
    from metaeval.decisions.gate_model import Terms, write_gate
    from metaeval.runs.metrics import as_metrics

    metrics = as_metrics(options.metrics)
    run = options.run(metrics=tuple(metrics))
    terms = Terms(**{term.name: getattr(options, term.name) for term in fields(Terms)})
    answers = answers_with(options.sources, options.answers, options.columns)
    how = {"score_all": "metrics" in options.model_fields_set, "assume_sample": options.assume_sample}
    fitted = fit(answers, options.labels, metrics, terms, options.columns, run, progress, **how)
    gate, output = fitted.gate, options.output
    warnings: list[str] = []

    def write_in_job(folder: Path) -> Sequence[Path]:
        if gate:
            write_gate(gate, folder / "gate.json")
            return [folder / "gate.json"]
        return _write_next(fitted, metrics[0], run, folder / "label-next.csv", warnings)

    return Done(
        config=run,
        sheets=[fit_sheet(fitted)],
        files=[write_in_job],
        outputs={output: partial(write_gate, gate)} if gate and output else {},
        verdict=fit_sentences(fitted),
        warnings=warnings,
        after=partial(_after_fit, options, bool(gate)),
        value=fitted,
        exit_code=0 if gate else 1,
    )


def _after_fit(options: FitOptions, is_fitted: bool, folder: Path) -> list[str]:
    output = options.output
    if is_fitted:
        of_labels = {"gold", *LABELS} - {*CITATIONS}  # a release has none
        columns = {role: heading for role, heading in options.columns.items() if role not in of_labels}
        check = ["metaeval", "gate", "check", "FILE", str(output), *reading_words(columns)]
        return [f"Written: {output}", f"Next: {shlex.join(check)}"]
    earlier = f"; {output} still holds the gate of an earlier fit" if output and output.exists() else f" to {output}"
    sheet = folder / "label-next.csv"
    more = f"Next: fill in {sheet}, which holds your labels and up to {NEXT} citations more, and fit again with it."
    return [f"No gate was written{earlier}.", *([more] if sheet.exists() else [])]


def _write_next(fitted: Fitted, metric: str, run: RunConfig, path: Path, warnings: list[str]) -> Sequence[Path]:
    """Write to `path` the existing labels and then the citations to label next, if more labels would help.

    Return [path], or an empty list where more labels would not help or cannot be drawn. An existing file is kept.
    metric: whose scores the sample is drawn by. warnings: a list to which a sentence is added where the draw fails.
    """
    from metaeval.decisions.label_sampling import draw, write_questions

    if not fitted.wanted or fitted.left < max(2, fitted.wanted[0]):
        return []
    try:
        sample = draw(fitted.items, min(NEXT, fitted.left), "uncertain", "item", metric, 0, fitted.labels, run)
    except UserError as error:
        warnings.append(f"No citations to label next: {error}")
        return []
    if not path.exists():  # it may be half filled in
        write_questions(sample, path, fitted.labels)
    return [path]


GATE_FIT = Analysis(
    name="gate fit",
    summary="Choose the cheapest metric and threshold within error limits.",
    about="""The promise: of unsupported citations at most --max-missed are not flagged, with confidence 1 - alpha, the
choice of metric and threshold included. Without a metric that keeps it the exit code is 1, and the citations to label
next are drawn.""",
    returns="Fitted: Its `gate` is what `check_gate` takes, None where no metric keeps the promise.",
    examples=[
        "gate fit answers.jsonl --labels labels.xlsx --max-missed 0.1 -o gate.json",
        "gate fit answers.jsonl -l labels.csv -m overlap --max-unsupported 0.15 -o gate.json",
    ],
    options=FitOptions,
    run=_fit,
    folder="gate",
)


class CheckOptions(ItemOptions):
    """Options of `gate check`."""

    answers: AnswersFile
    """Answers with citations: JSON(L), a corpus, a job's pairs.jsonl, or a table."""
    gate: Annotated[FileOrObject, Flag("GATE", argument=True)]
    """Fitted gate: its file (in Python also the gate)."""
    max_unsupported: Annotated[float | None, Flag("SHARE")] = None
    """Largest unsupported share, in place of the gate's."""
    fail_on_drift: Annotated[bool, Flag()] = False
    """Fail where the release differs from the fitting set."""
    junit: Annotated[Path | None, Flag("FILE", output=True)] = None
    """JUnit XML file to write."""
    markdown: Annotated[Path | None, Flag("FILE", output=True)] = None
    """Markdown file to write, for a pull request."""
    columns: Columns = Field(default_factory=dict)
    sources: RareSourceTextsFile = None


def _check(options: CheckOptions, progress: Progress) -> Done:
    from metaeval.core.files import write_text
    from metaeval.decisions import gate_check as gates
    from metaeval.decisions.gate_model import Gate
    from metaeval.report.markdown import page_of

    if not isinstance(options.gate, Gate | Path):
        what = type(options.gate).__name__
        raise UserError(f"{what!r} is not a gate: give the .gate of what fit_gate returned, or a gate's file.")
    gate = gates.read_gate(options.gate) if isinstance(options.gate, Path) else options.gate
    run = options.run(metrics=(gate.metric,))
    answers = answers_with(options.sources, options.answers, options.columns)
    checked = gates.check(answers, gate, options.max_unsupported, options.columns, run, progress)
    sheet, verdict = gates.check_sheet(checked), gates.verdict(checked, options.fail_on_drift)
    outputs = {}
    if options.junit:
        outputs[options.junit] = lambda path: write_text(path, gates.junit(checked, options.fail_on_drift))
    if options.markdown:
        outputs[options.markdown] = lambda path: write_text(path, f"{verdict}\n\n{page_of(sheet)}")
    return Done(
        config=run,
        sheets=[sheet],
        outputs=outputs,
        verdict=[verdict],
        warnings=[f"Drift: {drift.what}: {drift}." for drift in checked.drift if drift.drifted],
        value=checked,
        exit_code=int(not checked.passed or (checked.drifted and options.fail_on_drift)),
    )


GATE_CHECK = Analysis(
    name="gate check",
    summary="Check a release: estimate its share of unsupported citations.",
    about="""The share is corrected for the metric's errors. The exit code is 1 where its lower bound is above what the
gate allows, and 2 for bad input.""",
    returns="GateCheck: `passed` says whether the lower bound of the share is at most what the gate allows.",
    examples=[
        "gate check release.jsonl gate.json",
        "gate check release.jsonl gate.json --junit gate.xml --markdown pr.md",
    ],
    options=CheckOptions,
    run=_check,
)
