"""Commands over several runs: tables and figures of a suite, and multiverse."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import say, say_rest, say_text, say_written, scoring_progress, show_findings, show_grids
from metaeval.errors import UserError
from metaeval.files import safe_name

if TYPE_CHECKING:
    from metaeval.experiment.suites.suite import LeftOut, Suite
    from metaeval.report.result import Result


@opt.takes("config protocols metrics datasets split data columns unit pool results store budget set full quiet")
def tables(given: opt.Given) -> None:
    """Run a suite and write its tables, as in a paper.

    There is one run for each data set. A metric that cannot run here is left
    out and named, and so is a protocol that cannot tell metrics apart on the
    data. A data set that cannot be had is left out too: the other tables are
    written, and the exit code is 1. The default is the shipped mini corpus.

    \b
    Examples:
      metaeval tables
      metaeval tables -c offline --data ../shared/data
      metaeval tables -d wice,factcheck_gpt -m overlap,rouge --data ../shared/data
      metaeval tables -c base-paper
    """
    suite = _suite(given)
    found, left_out = _run(suite, given.quiet)
    _write_tables(suite, _all_of(found, left_out), left_out, given)
    _warn(left_out)


@opt.takes("config protocols metrics datasets split data columns unit pool results store budget cost set quiet")
def figures(
    given: opt.Given,
    jobs: Annotated[
        list[str] | None,
        Argument(help="Jobs that are done, as 'results list' names them; nothing is run.", metavar="[JOB]..."),
    ] = None,
    cost: Annotated[
        bool, Option("--cost", help="Also measure each metric's speed (scores at most 200 pairs again).")
    ] = False,
    sentence: Annotated[
        str | None, Option(help="Draw this sentence's tree and its claims (ALiiCE).", metavar="TEXT")
    ] = None,
    parser: Annotated[str, Option(help="Parser for --sentence, as for 'cite aliice'.", metavar="NAME")] = "small",
) -> None:
    """Draw jobs that are done, or a suite and its tables.

    Drawn are forest plots, bars, ROC curves, scores by level, reliability;
    of citation pipelines bars of all jobs, and the trees of sentences.

    \b
    Examples:
      metaeval figures latest
      metaeval figures cite/alce cite/aliice
      metaeval figures -d wice -m overlap,rouge --cost --data ../shared/data
      metaeval figures --sentence "Cups are of glass [1] or plastic [2]."
    """
    from metaeval.experiment.suites.suite import read_record

    if jobs and sentence is not None:
        raise UserError(
            "--sentence draws a sentence, and jobs that are done are drawn as they are: leave out one of both."
        )
    if jobs or sentence is not None:
        asked = [written for name, written in given.options.items() if name not in ("results", "trust_config")]
        others = {"--dataset": given.datasets, "--config": given.config, "--set": given.set, "--cost": cost}
        if asked := [*asked, *(written for written, value in others.items() if value)]:
            raise UserError(
                f"{asked[0]} is for a suite that is run, and jobs that are done and sentences are drawn as they are: "
                "leave out one of both."
            )
    if sentence is not None:
        _draw_sentence(given, sentence, parser)
        return
    if jobs:
        from metaeval.experiment.job_folder import find_job
        from metaeval.experiment.suites.figures import write_job_figures

        config = given.run(metrics=())
        say_written(write_job_figures([find_job(config.results, name) for name in jobs], config))
        return
    suite = _suite(given)
    found, left_out = read_record(suite)
    if not any(found):
        found, left_out = _run(suite, given.quiet)
    _write_figures(suite, found, _all_of(found, left_out), cost)
    _warn(left_out)


def _draw_sentence(given: opt.Given, sentence: str, parser: str) -> None:
    from metaeval.experiment.citing.figures import tree_of
    from metaeval.experiment.job_folder import job_folder, write_manifests
    from metaeval.report.figures.drawing import save_figure
    from metaeval.report.figures.tree import claim_tree

    config = given.run(metrics=())
    tree = tree_of(sentence, parser)
    folder = job_folder(config.results / "figures", ["sentence"], [sentence, tree.made_by])
    written = save_figure(claim_tree(tree), folder / "tree")
    write_manifests(config, "figures", [], written, {"sentence": sentence})
    if not given.quiet:
        for number, claim in enumerate(tree.claims, start=1):
            words = " ".join(tree.tokens[place] for place in claim.places) or sentence
            say(f"claim {number} {claim.cites}: {words}")
    say_written(written)


def _suite(given: opt.Given) -> Suite:
    from metaeval.experiment.suites.suite import read_suite

    return read_suite(given.config, given.settings, given.set, given.datasets)


def _run(suite: Suite, quiet: bool) -> tuple[list[list[Result]], list[LeftOut]]:
    """Run every data set and write its results, each as soon as it is there; the results run by run."""
    from metaeval.experiment.suites.suite import run_suite, write_part, write_record

    results: list[list[Result]] = []
    files: list[list[Path]] = []
    left_out: list[LeftOut] = []
    with scoring_progress(quiet) as progress:
        for part in run_suite(suite, progress):
            written = write_part(part)
            results.append(part.results)
            files.append([path for path in written if path.suffix == ".json"])
            left_out += part.left_out
            if written and not quiet:
                say(f"Written: {written[0].parent}/")
    if any(results):
        write_record(suite, suite.folder(chain(*results)), files, left_out)
    return results, left_out


def _named(left_out: Sequence[LeftOut]) -> list[tuple[str, str]]:
    """What was left out, and why, each reason once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in left_out:
        reasons.setdefault((one.metric or one.protocol, one.reason), []).append(one.dataset)
    return [
        (f"{name} on {', '.join(datasets)}" if name else f"data set {', '.join(datasets)}", reason)
        for (name, reason), datasets in reasons.items()
    ]


def _say_left_out(left_out: Sequence[LeftOut]) -> None:
    for what, reason in _named(left_out):
        say(f"Left out: {what}: {reason}", err=True)


def _all_of(found: Sequence[Sequence[Result]], left_out: Sequence[LeftOut]) -> list[Result]:
    """The results of every run; `UserError` where there is none."""
    if not any(found):
        _say_left_out(left_out)
        raise UserError("Nothing could be run; the lines above say why.")
    return [result for results in found for result in results]


def _warn(left_out: Sequence[LeftOut]) -> None:
    """At the end, where it is read: the tables themselves are of what was run. Without a data set, exit code 1."""
    if left_out:
        _say_left_out(left_out)
        say(f"Warning: {len(left_out)} left out, and not in what was written.", err=True)
    if any(not (one.metric or one.protocol) for one in left_out):
        raise typer.Exit(1)


def _write_tables(suite: Suite, results: Sequence[Result], left_out: Sequence[LeftOut], given: opt.Given) -> None:
    from metaeval.experiment.evaluation import readings_of
    from metaeval.experiment.job_folder import close_job
    from metaeval.experiment.run import write_report
    from metaeval.experiment.suites.suite import RECORD
    from metaeval.report.paper import Table, write_paper

    numbered = {
        name: Table(protocol.table_number, protocol.table_measures)
        for name, protocol in suite.protocols.items()
        if protocol.table_number
    }
    folder = suite.folder(results)
    written = write_paper(results, folder, _named(left_out), numbered)
    written.append(write_report(results, suite.protocols, folder, suite.name, bars=True))
    if given.full and not given.quiet:
        for path in written:
            if path.suffix == ".txt":
                say_text(path.read_text(encoding="utf-8"))
    elif not given.quiet:
        show_findings(results, readings_of(suite.protocols.values()))
    record = folder / RECORD
    close_job(suite.runs[0], "tables", folder, [result.data for result in results], [*written, record])
    say_written(written)
    if not given.quiet:
        say_rest(folder, suite.results, whole=given.full)


def _write_figures(suite: Suite, found: Sequence[Sequence[Result]], results: Sequence[Result], timed: bool) -> None:
    """Write the figures. found: the results run by run; timed: their metrics are timed too."""
    from metaeval.experiment.job_folder import PAIRS, close_job
    from metaeval.experiment.run import metric_looks, run_folder
    from metaeval.experiment.suites.cost import measure, write_cost_quality, write_costs
    from metaeval.experiment.suites.figures import figures_of, score_figures
    from metaeval.report.figures.drawing import save_figure

    folder = suite.folder(results)
    drawn = figures_of(results, suite.protocols)
    for run, own in zip(suite.runs, found, strict=True):
        if own and (run_folder(run, own) / PAIRS).is_file():
            drawn |= score_figures(run_folder(run, own), run, metric_looks(results))
    written = [path for stem, figure in drawn.items() for path in save_figure(figure, folder / stem)]
    for run, own in zip(suite.runs if timed else (), found if timed else (), strict=True):
        ran = {row.metric for result in own for row in result.rows if row.kind == "metric"}
        costs = list(measure(run.model_copy(update={"metrics": tuple(m for m in run.metrics if m in ran)})))
        path = write_costs(costs, folder / f"cost-{safe_name(run.dataset)}-{run.unit}.csv")
        written += [path, *write_cost_quality(costs, own, suite.protocols, folder)]
    close_job(suite.runs[0], "figures", folder, [result.data for result in results], written)
    say_written(written)


@opt.takes("config protocols metrics dataset split data columns results store set quiet")
def multiverse(
    given: opt.Given,
    axes: Annotated[
        list[str] | None,
        Option("--axes", "-a", help="Choice with its values: chunk.size=100,150. Repeatable.", metavar="AXIS"),
    ] = None,
    measure: Annotated[
        str | None, Option(help="Key of the measure to rank by: fs_ps, spearman, ndcg@5 ...", metavar="KEY")
    ] = None,
) -> None:
    """Rank the metrics under every combination of open choices.

    The choices are chunk size, evidence rule, unit, pool and tie policy; there
    are no intervals. An axis that is given replaces its default values, and one
    value fixes it. Any setting of a run can be an axis.

    \b
    Examples:
      metaeval multiverse -m overlap,rouge,bm25
      metaeval multiverse -d wice -m overlap,bm25 --data ../shared/data --axes chunk.size=100,150,250
      metaeval multiverse -d wice -a chunk.size=150 -a unit=chunk -a pool=own --measure fs_ps
      metaeval multiverse -m overlap,rouge -a pool=own -a evidence.rule=complete -a aggregate=max,mean
    """
    from metaeval.experiment.job_folder import close_job, job_folder
    from metaeval.experiment.metrics import able_defaults
    from metaeval.experiment.suites.multiverse import explore, read_axes, write_rank_stability
    from metaeval.report.multiverse import as_json, grids, write_multiverse

    def tick(done: int, total: int) -> None:
        say(f"{done} of {total} combinations", err=True)

    chosen, grid = able_defaults(given.run()), read_axes(axes or [])
    with scoring_progress(True):
        found = explore(chosen, grid, None if given.quiet else tick, measure or "")
    folder = job_folder(chosen.results / "multiverse", [found.dataset, found.split], [as_json(found)])
    written = write_multiverse(found, folder)
    if not given.quiet:
        show_grids(grids(found))
    try:
        written += write_rank_stability(found, folder)
    except UserError as error:  # matplotlib is not installed: all else is written
        say(f"No figure: {error}", err=True)
    close_job(chosen, "multiverse", folder, [], written)
    say_written(written)
