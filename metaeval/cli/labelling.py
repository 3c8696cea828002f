"""Commands from labels to a decision: label (what to judge), estimate (citation quality), gate (releases)."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import finish_alone, say, say_text, say_written, scoring_progress, show_grids
from metaeval.errors import UserError
from metaeval.own_tables import read_mapping

if TYPE_CHECKING:
    from metaeval.config import RunConfig
    from metaeval.experiment.labelling.gate_fit import Fitted

Answers = Annotated[
    Path, Argument(help="Answers with citations: JSON(L), a corpus, a job's pairs.jsonl, or a table.", metavar="FILE")
]
LabelFile = Annotated[
    Path | None,
    Option("--labels", "-l", help="People's labels of some items: .csv, .tsv, .xlsx or .jsonl.", metavar="FILE"),
]
Map = Annotated[
    list[str] | None,
    Option("--map", help="Column of a role, where its name does not say it. Repeatable.", metavar="ROLE=COLUMN"),
]

PipelineName = Annotated[
    str,
    Option(
        "--pipeline", help="alce or aliice, for its recall and precision: what it asks is labelled.", metavar="NAME"
    ),
]


def _columns(pairs: list[str] | None) -> dict[str, str]:
    from metaeval.labelling.items import ROLES
    from metaeval.labelling.labels import LABEL_ROLES

    return read_mapping(pairs or (), dict.fromkeys((*ROLES, "text", *LABEL_ROLES)))


@opt.takes("results store budget set quiet")
def estimate(
    given: opt.Given,
    answers: Answers,
    other: Annotated[
        Path | None, Argument(help="Answers of another system: differences too.", metavar="[OTHER]")
    ] = None,
    labels: LabelFile = None,
    metric: Annotated[
        str, Option("--metric", "-m", help="Metric, score file, or column of the answers' file.", metavar="NAME")
    ] = "overlap",
    estimand: Annotated[
        str, Option(help="What the shares are of: set (these answers) or process (what makes them).", metavar="NAME")
    ] = "set",
    pipeline: PipelineName = "",
    map_: Map = None,
    assume_sample: Annotated[
        bool, Option("--assume-sample", help="Do not check that the labelled items can be a sample.")
    ] = False,
) -> None:
    """Estimate citation quality from a metric and some labels.

    The metric scores every citation, people label some, and the intervals
    include the metric's errors (prediction-powered inference). Beside each
    share stand that of the labels alone, and what the metric alone would say.

    \b
    Examples:
      metaeval estimate answers.jsonl --labels labels.csv --metric minilm-bertscore
      metaeval estimate answers.jsonl -l labels.xlsx --map level=Verdict --estimand process
      metaeval estimate a.jsonl b.jsonl -l labels.csv -m overlap
      metaeval estimate answers.jsonl -l labels.csv --pipeline aliice
      metaeval estimate results/latest/pairs.jsonl -l labels.csv -m overlap
    """
    from metaeval.experiment.labelling import estimate as estimating
    from metaeval.experiment.metric_scores import as_metrics

    (named,) = as_metrics([metric])
    run = given.run(metrics=(named,))
    with scoring_progress(given.quiet) as progress:
        of = answers, labels, named, other, estimand, _columns(map_), assume_sample
        found = estimating.estimate(*of, run, progress, pipeline)
    finish_alone(given, run, "estimate", estimating.estimate_sheet(found))


@opt.takes("results store budget set quiet")
def label(
    given: opt.Given,
    answers: Answers,
    output: Annotated[
        Path, Option("--output", "-o", help="File to fill in: .csv, .tsv, .xlsx, .jsonl, or .html.", metavar="FILE")
    ],
    n: Annotated[int, Option("-n", help="Number of citations to label.", metavar="NUMBER")] = 60,
    design: Annotated[
        str,
        Option(help="random, stratified (by the metric's scores) or uncertain (more of the middle).", metavar="NAME"),
    ] = "random",
    unit: Annotated[
        str, Option("--unit", "-u", help="What is drawn as one: item (a citation) or answer (whole).", metavar="NAME")
    ] = "item",
    metric: Annotated[
        str, Option("--metric", "-m", help="Metric of the designs that look at scores.", metavar="NAME")
    ] = "overlap",
    besides: Annotated[
        Path | None, Option(help="Labels that there are already, drawn at random: adds to them.", metavar="FILE")
    ] = None,
    seed: Annotated[int, Option(help="Seed of the draw.", metavar="NUMBER")] = 0,
    pipeline: PipelineName = "",
    map_: Map = None,
) -> None:
    """Draw citations for people to label.

    The file has a row for each citation, with a blank level to fill in (full,
    partial or none) and the probability of being drawn, which estimate reads.
    Scores and systems are left out: who judges is blind to them.

    \b
    Examples:
      metaeval label answers.jsonl -n 60 -o to_label.xlsx
      metaeval label answers.jsonl -n 60 --design stratified -m overlap -o to_label.csv
      metaeval label answers.jsonl -n 100 --unit answer -o to_label.csv
      metaeval label answers.jsonl -n 60 -o to_label.html    (in a browser)
      metaeval label answers.jsonl -n 40 --besides labels.csv -o more.csv
    """
    from metaeval.experiment.labelling.label import check_output, draw, write_questions
    from metaeval.experiment.metric_scores import as_metrics
    from metaeval.labelling.items import items_of
    from metaeval.labelling.labels import labels_of

    check_output(output)
    (named,) = as_metrics([metric])
    run = given.run(metrics=(named,))
    columns = _columns(map_)
    items = items_of(answers, columns, pipeline)
    known = labels_of(besides, items, columns) if besides else None
    with scoring_progress(given.quiet) as progress:
        drawn = draw(items, n, design, unit, named, seed, known, run, progress)
    write_questions(drawn, output, known)
    whole = f" of {len({items.rows[row].group for row in drawn.rows}):,} whole answers" if unit == "answer" else ""
    what = "questions" if pipeline else "citations"
    say(f"Written: {output} ({drawn.rows.size:,} of {len(items.rows):,} {what}{whole} to judge)")
    if not given.quiet:
        page = output.suffix.lower() == ".html"
        fill, file = ("label on it and save CSV", "SAVED.csv") if page else ("fill in its column 'level'", output)
        words = ["metaeval", "estimate", str(answers), "--labels", str(file), "--metric", metric]
        words += [*(["--pipeline", pipeline] if pipeline else []), *_mapped(map_)]
        say(f"Next: {fill}, then {shlex.join(words)}")


def _mapped(mapping: Sequence[str] | None) -> list[str]:
    return [word for pair in mapping or () for word in ("--map", pair)]


gate = opt.group(
    "Release gate: fit, check, and a workflow.", "metaeval gate fit answers.jsonl --labels labels.xlsx -o gate.json"
)


@gate.command("fit")
@opt.takes("results store budget set quiet")
def gate_fit(
    given: opt.Given,
    answers: Answers,
    output: Annotated[Path, Option("--output", "-o", help="The gate's file.", metavar="FILE")],
    labels: LabelFile = None,
    metric: Annotated[
        str, Option("--metric", "-m", help="Metrics, the cheapest first, with commas.", metavar="NAMES")
    ] = "overlap,support-mini,minilm-bertscore",
    max_missed: Annotated[
        float, Option(help="Most unsupported citations that may be missed: the promise.", metavar="SHARE")
    ] = 0.1,
    max_flagged: Annotated[float, Option(help="Most supported citations that may be flagged.", metavar="SHARE")] = 0.5,
    max_unsupported: Annotated[
        float, Option(help="Most unsupported citations that a release may have.", metavar="SHARE")
    ] = 0.2,
    alpha: Annotated[float, Option(help="Chance at which the promise may fail.", metavar="SHARE")] = 0.05,
    promise: Annotated[
        str, Option(help="confidence, or mean: kept on average only (one metric).", metavar="NAME")
    ] = "confidence",
    target: opt.Target = "partial",
    map_: Map = None,
) -> None:
    """Fit a gate: the cheapest metric and threshold that keep a promise.

    The promise: of unsupported citations at most --max-missed are not flagged,
    with confidence 1 - alpha, the choice of metric and threshold included.
    Without a metric that keeps it the exit code is 1, and the citations to
    label next are drawn.

    \b
    Examples:
      metaeval gate fit answers.jsonl --labels labels.xlsx --max-missed 0.1 -o gate.json
      metaeval gate fit answers.jsonl -l labels.csv -m overlap --max-unsupported 0.15 -o gate.json
    """
    from metaeval.experiment.job_folder import close_job, job_folder
    from metaeval.experiment.labelling.gate_fit import fit, fit_sentences, fit_sheet
    from metaeval.experiment.metric_scores import as_metrics
    from metaeval.labelling.gates import Terms, write_gate
    from metaeval.report.sheet import write_sheet

    named = as_metrics([one.strip() for one in metric.split(",") if one.strip()])
    run = given.run(metrics=tuple(named))
    with scoring_progress(given.quiet) as progress:
        limits = {"max_missed": max_missed, "max_flagged": max_flagged, "max_unsupported": max_unsupported}
        terms = Terms(**limits, alpha=alpha, target=target, promise=promise)
        found = fit(answers, labels, named, terms, _columns(map_), run, progress)
    sheet = fit_sheet(found)
    folder = job_folder(run.results / "gate", [sheet.data.name], sheet.grid.signatures)
    written = write_sheet(sheet, folder)
    if found.gate:
        written.append(folder / "gate.json")
        write_gate(found.gate, written[-1])
        write_gate(found.gate, output)
    for sentence in fit_sentences(found):
        say(sentence)
    if not given.quiet:
        show_grids([sheet.grid])
    if not found.gate and found.wanted and _drawn_next(found, named[0], run, folder / "label-next.csv"):
        written.append(folder / "label-next.csv")
    close_job(run, "gate fit", folder, [sheet.data], written)
    say_written(sorted(written))
    if found.gate:
        say(f"Written: {output}")
        say(f"Next: {shlex.join(['metaeval', 'gate', 'check', 'FILE', str(output), *_mapped(map_)])}")
        return
    say(f"No gate was written{f': {output} is that of an earlier fit' if output.exists() else f' to {output}'}.")
    if written[-1].name == "label-next.csv":
        say(f"Next: fill in {written[-1]}, which holds your labels and {NEXT} citations more, and fit again with it.")
    raise typer.Exit(1)


NEXT = 40
"""Citations that are drawn where a gate takes more labels."""


def _drawn_next(found: Fitted, metric: str, run: RunConfig, path: Path) -> bool:
    """Write the citations to label next beside the labels that there are; whether there are others."""
    from metaeval.experiment.labelling.label import draw, write_questions

    left = len(found.items.rows) - len(found.labels.levels)
    if left < 2:
        return False
    try:
        drawn = draw(found.items, min(NEXT, left), "uncertain", "item", metric, 0, found.labels, run)
    except UserError as error:
        say(f"No citations to label next: {error}", err=True)
        return False
    if not path.exists():  # it may be half filled in
        write_questions(drawn, path, found.labels)
    return True


@gate.command("check")
@opt.takes("results store budget set quiet")
def gate_check(
    given: opt.Given,
    answers: Answers,
    gate_file: Annotated[Path, Argument(help="Gate that was fitted.", metavar="GATE")],
    max_unsupported: Annotated[
        float | None, Option(help="Most unsupported citations, in place of the gate's.", metavar="SHARE")
    ] = None,
    fail_on_drift: Annotated[
        bool, Option("--fail-on-drift", help="Fail where the release does not look like the fitting set.")
    ] = False,
    junit: Annotated[Path | None, Option(help="Write JUnit XML.", metavar="FILE")] = None,
    markdown: Annotated[Path | None, Option(help="Write Markdown for a pull request.", metavar="FILE")] = None,
    map_: Map = None,
) -> None:
    """Check a release: how much of it is unsupported, as far as the gate tells.

    The share is corrected for the metric's errors. The exit code is 1 where
    its lower bound is above what the gate allows, and 2 for bad input.

    \b
    Examples:
      metaeval gate check release.jsonl gate.json
      metaeval gate check release.jsonl gate.json --junit gate.xml --markdown pr.md
    """
    from metaeval.experiment.labelling import gate as gates
    from metaeval.files import write_text
    from metaeval.report.markdown import page_of

    fitted = gates.read_gate(gate_file)
    run = given.run(metrics=(fitted.metric,))
    with scoring_progress(given.quiet) as progress:
        found = gates.check(answers, fitted, max_unsupported, _columns(map_), run, progress)
    sheet, said = gates.check_sheet(found), gates.verdict(found, fail_on_drift)
    finish_alone(given, run, "gate check", sheet)
    if junit:
        write_text(junit, gates.junit(found, fail_on_drift))
    if markdown:
        write_text(markdown, f"{said}\n\n{page_of(sheet.grid)}")
    for one in found.drift if not given.quiet else ():
        if one.drifted:
            say(f"Drift: {one.what}: median {one.here:.3g}, at fitting {one.fitted:.3g} (p {one.p:.2g}).", err=True)
    say(said)
    if not found.passed or (found.drifted and fail_on_drift):
        raise typer.Exit(1)


@gate.command("action")
def gate_action(
    answers: Annotated[str, Argument(help="Release that the workflow checks.", metavar="FILE")],
    gate_file: Annotated[Path, Argument(help="Gate that was fitted.", metavar="GATE")],
    map_: Map = None,
) -> None:
    """Print a GitHub workflow that checks a release on every push.

    It installs metaeval, runs gate check, and keeps JUnit XML and the summary.

    \b
    Examples:
      metaeval gate action release.jsonl gate.json > .github/workflows/citations.yml
    """
    from metaeval.experiment.labelling.gate import read_gate, workflow

    _columns(map_)
    say_text(workflow(read_gate(gate_file), answers, gate_file.as_posix(), _mapped(map_)), end="")
