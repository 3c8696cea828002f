"""Figures of completed jobs, of results, and of the tree by which ALiiCE splits a sentence into claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, InstanceOf

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, FileOrName, Progress
from metaeval.core import registry
from metaeval.core.config import OutputSettings
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError
from metaeval.report.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.runs.job import DoneJob


def _flat(jobs: Any) -> Any:
    listed = jobs if isinstance(jobs, list | tuple) else [jobs]
    return [single for job in listed for single in (job if isinstance(job, list) else [job])]


class FiguresOptions(OutputSettings, DeclaredOptions):
    """Options of `results figures`."""

    jobs: Annotated[
        tuple[InstanceOf[Result] | FileOrName, ...],
        BeforeValidator(_flat),
        Flag("[JOB]...", multiple=True, argument=True),
    ] = ("latest",)
    """Jobs as 'results list' names them; a suite is one (default: latest; in Python also results)."""
    sentence: Annotated[str | None, Flag("TEXT")] = None
    """Draw the tree of this sentence and its claims instead (ALiiCE)."""
    parser: Annotated[str, Flag("NAME")] = "small"
    """Parser for --sentence, as for 'cite aliice'."""


def _run(options: FiguresOptions, progress: Progress) -> Done:
    if options.sentence is not None:
        if "jobs" in options.model_fields_set:
            raise UserError("--sentence draws the tree of a sentence instead of jobs: leave out --sentence, or JOB.")
        analyses = (registry.find("analysis", name) for name in registry.names("analysis") if name.startswith("cite."))
        draw = next(analysis.tree for analysis in analyses if analysis.tree)
        tree, made_by, lines = draw(options.sentence, options.parser)
        job = partial(_write, options, "sentence", [options.sentence, made_by], {"tree": tree})
        return Done(shown=lines, value={"tree": tree}, job=job)
    options.refuse(("parser",), "for --sentence")
    results = [job for job in options.jobs if isinstance(job, Result)]
    names = [job for job in options.jobs if not isinstance(job, Result)]
    if not results:
        return _of_jobs(options, [_find(options.results, name) for name in names or ["latest"]])
    if names:
        raise UserError("Result objects cannot be drawn together with jobs: leave out jobs.")
    from metaeval.analyses.suites.job_figures import figures_of

    return Done(value=figures_of(results))


def _find(results: Path, name: str) -> DoneJob:
    """Return the job of this name; raises `UserError` with the command to type for a suite that was not run."""
    from metaeval.core.config_files import variants
    from metaeval.runs.job import find_job

    try:
        return find_job(results, name)
    except UserError as error:
        if name in variants("experiments") or Path(name).suffix in (".yaml", ".yml"):
            raise UserError(f"{results} has no job of it: type 'metaeval run --suite -c {name}'.") from error
        raise


def _of_jobs(options: FiguresOptions, jobs: list[DoneJob]) -> Done:
    from metaeval.analyses.suites.job_figures import draw_jobs
    from metaeval.analyses.suites.suite_runs import lacks_data, omission_lines, recorded_omissions

    drawn = draw_jobs(jobs, options.trust_config)
    left_out = [omission for job in jobs for omission in recorded_omissions(job.folder)]
    named = options.model_copy(update={"jobs": tuple(sorted(job.name for job in jobs))})
    return Done(
        job=partial(_write, named, jobs[0].folder.name.rpartition("-")[0], list(map(str, named.jobs)), drawn),
        rerun_with=named,
        shown=[],
        warnings=omission_lines(left_out),
        value=drawn,
        exit_code=int(lacks_data(left_out)),
    )


def _write(
    options: FiguresOptions, name: str, identity: Sequence[str], drawn: Mapping[str, Figure], recipe: Mapping[str, Any]
) -> tuple[Path, str]:
    """Write figures without making this job the latest; return their folder, and a text about its contents."""
    from metaeval.report.figures.drawing import save_figure
    from metaeval.runs.job import Command, job_folder, write_manifests

    command = Command(FIGURES.name, options.own)
    folder = job_folder(options.results / "figures", [name], identity, command)
    written = [path for stem, figure in drawn.items() for path in save_figure(figure, folder / stem)]
    write_manifests(options.run(metrics=()), command, [], written, recipe)
    kinds = ", ".join(sorted({path.suffix.removeprefix(".") for path in written}))
    return folder, f"{', '.join(dict.fromkeys(path.stem for path in written))}: {kinds}"


FIGURES = Analysis(
    name="results figures",
    summary="Draw completed jobs: forest plots, bars, ROC curves, trees.",
    about="""Results have forest plots, bars, ROC curves, scores by level and reliability; citation pipelines have bars
of all jobs, and the trees of sentences. Nothing is run: 'metaeval run --suite' runs a suite.""",
    returns="dict of str to Figure: Figures of matplotlib by file name.",
    examples=[
        "results figures latest",
        "results figures cite/alce cite/aliice",
        "results figures offline    (the suite that run --suite -c offline ran)",
        'results figures --sentence "Cups are of glass [1] or plastic [2]."',
    ],
    options=FiguresOptions,
    run=_run,
)
