"""Commands of the main job: run, pairs, score, evaluate, table; and what is worth doing next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import finish, say, say_rest, say_text, scoring_progress, show_findings
from metaeval.errors import UserError, unknown

if TYPE_CHECKING:
    from metaeval.config import RunConfig
    from metaeval.experiment.metrics import MetricProgress
    from metaeval.experiment.run import Evaluated
    from metaeval.report.measures import Readings
    from metaeval.report.result import Result


@opt.takes(
    "config protocols metrics dataset split data columns unit pool results store budget requests batch dry_run rehash "
    "set full quiet"
)
def run(given: opt.Given) -> None:
    """Score the data, evaluate the scores, write the tables.

    Printed are the headline values and what they mean. The folder that is
    written holds the rest.

    \b
    Examples:
      metaeval run
      metaeval run -p classification -m minilm-bertscore -d wice --data ../shared/data
      metaeval run -d factcheck_gpt -u citation -m overlap,minilm-cosine -p retrieval
      metaeval run -m overlap --set interval.resamples=10000 --set chunk.size=100
      metaeval run -m my_module:MyMetric        (a class in my_module.py, here)
      metaeval run -m llm-discrete --dry-run    (what it would ask and cost)
    """
    from metaeval.experiment.dry_run import requests_of
    from metaeval.experiment.metrics import able_defaults

    chosen = able_defaults(given.run())
    if given.requests is not None:
        say(requests_of(chosen, given.requests))
        return
    if not given.dry_run:
        _run(chosen, given)
        return
    _show_plan(chosen)


def _show_plan(config: RunConfig, tables: bool = False) -> None:
    from metaeval.experiment.dry_run import plan

    for part in plan(config, tables=tables):
        stored = "stored: not known before the download" if part.stored is None else f"{part.stored:,} stored"
        left = part.pairs - (part.stored or 0)
        say(f"{part.name}: {part.pairs:,} pairs, {stored}, {left:,} to score ({part.state})")
        if part.estimate:
            say(f"  {part.estimate}")
        elif part.blocks and not config.executor.alone:
            say(f"  {part.blocks:,} blocks (the most workers that have work), about {part.tokens:,} tokens")
        if part.time:
            say(f"  time: {part.time}")
    say("Nothing was scored, fetched or paid for.")


@opt.takes("config protocols dataset split data columns unit pool results set full quiet")
def evaluate(
    given: opt.Given,
    files: Annotated[
        list[str] | None, Argument(help="Score files (.parquet, .jsonl, .csv, .tsv, .xlsx).", metavar="[SCORES]...")
    ] = None,
    by: Annotated[
        str | None,
        Option(help="A table by part instead: system, length, position, or a field of ratings.", metavar="PART"),
    ] = None,
    annotators: Annotated[
        bool, Option("--annotators", help="Values against each annotator instead, and what their votes leave open.")
    ] = False,
) -> None:
    """Evaluate score files: no model, no store.

    \b
    Examples:
      metaeval pairs pairs.jsonl                (score these, pair_id and score)
      metaeval evaluate mine.jsonl
      metaeval evaluate mine.jsonl theirs.jsonl -d wice --data ../shared/data -p all
      metaeval evaluate -d frank                (published scores of 15 metrics)
      metaeval evaluate mine.jsonl -d ratings --data my_ratings.jsonl
      metaeval evaluate -d ratings --data pairs.csv -p preference --by error_type
    """
    from metaeval.experiment.columns import FILE_PREFIX
    from metaeval.experiment.prepared_run import find_dataset
    from metaeval.experiment.run import run_scores

    chosen = given.run(metrics=[f"{FILE_PREFIX}{file}" for file in files or ()], metric_options={})
    if not files and find_dataset(chosen.dataset, chosen)[0].kind == "corpus":
        own = f" Ratings and scores in one table: -d ratings --data {chosen.data}." if chosen.data else ""
        said = f"none is given, and {chosen.dataset} has no published scores.{own}"
        raise typer.BadParameter(said, param_hint="SCORES")
    if by or annotators:
        _sheets(chosen, given, by, annotators)
    else:
        _run(chosen, given, run_scores)


def _sheets(config: RunConfig, given: opt.Given, by: str | None, annotators: bool) -> None:
    from metaeval.experiment.annotators import annotator_sheets
    from metaeval.experiment.comparing.subgroups import by_part, check_division
    from metaeval.experiment.metric_scores import load_panel

    if by:
        check_division(by, config)
    panel = load_panel(config, bool(config.metrics), least=1)
    sheets = [*(by_part([panel], by) if by else []), *(annotator_sheets(panel) if annotators else [])]
    finish(given, panel, "evaluate", *sheets)


@opt.takes("config metrics dataset split data columns unit pool store budget requests batch dry_run rehash set quiet")
def score(
    given: opt.Given,
    out: Annotated[Path, Option("--out", "-o", help="Folder for the score files.", metavar="FOLDER")] = Path("results"),
    format: Annotated[str, Option(help="Format of the score files: jsonl or parquet.", metavar="FORMAT")] = "jsonl",
    shard: Annotated[
        str | None,
        Option(help="Score every N-th block alone, from block I on, into parts for 'metaeval shards'.", metavar="I/N"),
    ] = None,
) -> None:
    """Score the data and write one score file per metric.

    \b
    A shard's task that gets SIGTERM finishes the block in hand if there is time
    (Slurm's --signal), and ends with exit code 75; started again it goes on.

    \b
    Examples:
      metaeval score -m overlap,minilm-cosine -d wice --data ../shared/data --out scores/wice
      metaeval score -m rouge --format parquet
      metaeval score -m rouge --shard 0/8 -o shards    (one of eight tasks)
      metaeval score -m rouge -d ratings --data pairs.parquet    (of any size)
      metaeval evaluate results/rouge.jsonl     (the same tables, from the file)
    """
    from metaeval.experiment.dry_run import requests_of
    from metaeval.experiment.metrics import able_defaults
    from metaeval.experiment.run import export_scores
    from metaeval.experiment.sharding import export_shard
    from metaeval.scoring.executors.notice import EXIT_CODE, EndedError
    from metaeval.scoring.shards import read_shard

    if format not in ("jsonl", "parquet"):
        raise unknown("format", format, ("jsonl", "parquet"))
    task = None if shard is None else read_shard(shard)
    run_config = able_defaults(given.run())
    if given.requests is not None:
        say(requests_of(run_config, given.requests, tables=True))
        return
    if given.dry_run:
        if task is not None:
            raise UserError("--dry-run tells of the whole job: leave --shard out.")
        _show_plan(run_config, tables=True)
        return
    with scoring_progress(given.quiet) as progress:
        lines = (
            export_scores(run_config, out, format, progress)
            if task is None
            else export_shard(run_config, task, out, progress)
        )
        try:
            for line in lines:
                say(line)
        except EndedError:
            say("metaeval: ended as asked. Finished blocks are written; the same command goes on from there.", err=True)
            raise typer.Exit(EXIT_CODE) from None


@opt.takes("config dataset split data unit pool set")
def pairs(
    given: opt.Given, out: Annotated[Path, Argument(help="File to write: .jsonl or .parquet.", metavar="FILE")]
) -> None:
    """Write the pairs for a metric that runs elsewhere.

    \b
    One row per pair: pair_id, statement, source, level, group and more. Score
    them there, write pair_id and score to a .jsonl or .parquet file, then type:
    metaeval evaluate FILE

    \b
    Examples:
      metaeval pairs pairs.jsonl
      metaeval pairs wice.parquet -d wice --data ../shared/data
    """
    from metaeval.experiment.run import export_pairs

    count = export_pairs(given.run(), out)
    say(f"{count:,} pairs written to {out}")


@opt.takes("results")
def table(
    given: opt.Given,
    of: Annotated[str, Argument(help="Result file (results/.../*.json), or a job: latest ...", metavar="RESULT|JOB")],
    format: Annotated[str, Option("--format", "-f", help="Format: terminal, markdown, latex or csv.")] = "terminal",
    controls: Annotated[bool, Option("--controls", help="LaTeX: with the controls too.")] = False,
) -> None:
    """Print a result file, or each result of a job, as a table.

    \b
    Examples:
      metaeval table latest
      metaeval table results/latest/classification.json
      metaeval table results/latest/retrieval.json --format latex > retrieval.tex
    """
    from metaeval.experiment.explaining.job_files import results_of
    from metaeval.report.sheet import check_format, table_text

    check_format(format)
    found = results_of(of, given.run().results)
    if format == "terminal":
        _show(found)
    else:
        say_text("\n".join(table_text(result, format, controls) for result in found), end="")


def _run(
    config: RunConfig,
    given: opt.Given,
    evaluation: Callable[[RunConfig, MetricProgress | None], Evaluated] | None = None,
) -> None:
    from metaeval.experiment.evaluation import named_protocols, readings_of
    from metaeval.experiment.run import are_decided, write_run
    from metaeval.experiment.run import run as run_all

    with scoring_progress(given.quiet) as progress:
        found = (evaluation or run_all)(config, progress)
    readings = readings_of(named_protocols(config).values())
    try:
        written = write_run(config, found, "evaluate" if evaluation else "run")
    finally:
        # Shown even when they cannot be written; written even when the reader of the table leaves (| head).
        if given.full and not given.quiet:
            _show(found.results)
        elif not given.quiet:
            show_findings(found.results, readings)
    for protocol, reason in found.left_out.items():
        say(f"Left out: {protocol} on {found.results[0].data.name}: {reason}", err=True)
    names = ", ".join(result.protocol for result in found.results)
    folder = written[0].parent
    rows = "" if found.source is None else "; pairs.jsonl"
    say(f"Written: {folder}/ (report.html; {names}: json, txt, md, tex, csv{rows})")
    if not given.quiet:
        rated = any(result.unit == "rating" for result in found.results)
        say_rest(folder, config.results, whole=given.full, pairs=found.source is not None)
        decided = rated and are_decided(found)
        if found.source and (step := next_step(given, config, found.results, readings, decided)):
            say(f"Next: {step}")


def _show(results: list[Result]) -> None:
    from rich.console import Console

    from metaeval.report.cells import lay_out
    from metaeval.report.terminal import show_grid

    console = Console()
    for number, result in enumerate(results):
        if number:
            console.rule()
        show_grid(lay_out(result), console)


_KEPT = ("dataset", "split", "data", "columns", "unit", "pool", "results", "store")
"""Settings of the run that the next command repeats."""


def next_step(
    given: opt.Given, config: RunConfig, results: Sequence[Result], readings: Readings, decided: bool = False
) -> str:
    """A command and what it tells; "" where the results suggest none. results: of one data set.

    decided: all scores are levels, so that they are verdicts, which have measures of their own.

    A single metric needs another to be compared with. Of metrics that are not told apart one may ask how many citations
    it would take; and of one that leads alone, from which score on it says "supported".
    """
    from metaeval.experiment.columns import FILE_PREFIX
    from metaeval.report.findings import top
    from metaeval.report.measures import headlines

    shown = headlines(results, readings)
    rated = any(result.unit == "rating" for result in results)
    if not shown or not shown[0].metrics:
        return ""
    first = shown[0]
    rows = [row.metric for row in first.result.rows if row.kind == "metric"]
    known = [name.removeprefix(FILE_PREFIX) for name in config.metrics]
    typed = dict(zip(rows, known, strict=True)) if len(rows) == len(known) else {}
    leading = [typed.get(name, name) for name in top(first)]
    if decided and all(result.protocol != "verdicts" for result in results):
        command, tells = ["evaluate", *known, "-p", "verdicts"], "how often these verdicts are right, as they stand"
    elif len(rows) == 1:
        other = "bm25" if rows == ["overlap"] else "overlap"
        command, tells = ["compare", leading[0], other], "whether it differs from another metric"
        if rated:
            return ""
    elif len(leading) > 1 and first.result.protocol == "systems":
        # More rows do not tell them apart: `power` plans for groups, and refuses correlations of a few systems.
        command, tells = ["compare", *leading[:2]], "by how much they may differ"
    elif len(leading) > 1 and first.result.data.groups < 2:
        return ""  # a plan is drawn from groups
    elif len(leading) > 1:
        command, tells = ["power", *leading[:2]], "how many rows it takes to tell the two apart"
    elif rated:
        others = [name for name in rows if typed.get(name, name) != leading[0]]
        command, tells = ["compare", leading[0], typed.get(others[0], others[0])], "by how much they differ"
    else:
        command, tells = ["calibrate", leading[0]], "the score from which on it says supported"
    one = given.settings.get("protocols") is not None and len({result.protocol for result in results}) == 1
    if one and command[0] in ("compare", "power"):
        command += ["-p", first.result.protocol]  # else they would speak of another measure than the table
    # What was typed about the data, and how they are read.
    command += ["-c", str(given.config)] if given.config else []
    command += [word for name in _KEPT for word in given.typed(name, short=True)]
    command += [word for one in given.set if one.startswith("dataset_options.") for word in ("--set", one)]
    return f"metaeval {shlex.join(command)}   ({tells})"
