"""Reruns of completed jobs from the recipes in their manifests."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, Progress
from metaeval.core import registry
from metaeval.core.config import OutputSettings
from metaeval.core.config_files import check_file
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError


class RerunOptions(OutputSettings, DeclaredOptions):
    """Options of `results rerun`."""

    job: Annotated[str, Flag("JOB", argument=True)] = "latest"
    """Job as 'results list' names it, the beginning of its name, its hash, or latest."""


def _run(options: RerunOptions, progress: Progress) -> Done:
    from metaeval.analyses.analysis_job import RECIPE, changed_files, write_job
    from metaeval.core.files import sha256_file
    from metaeval.report.notebook import Sheets
    from metaeval.runs.job import NAME, find_job, lost_objects, read_manifest, settings_of, written_files

    job = find_job(options.results, options.job)
    noted = read_manifest(job.folder)
    recipe = noted.get(RECIPE)
    settings_of(job.folder)  # refuses a job of another schema, whose settings can be others
    if lost := lost_objects(noted):
        raise UserError(f"{job.name} cannot be rerun, because {lost}.")
    if not isinstance(recipe, dict):
        raise UserError(f"{job.name} cannot be rerun, because its command line was not recorded.")
    analysis = registry.find("analysis", str(recipe["analysis"]).replace(" ", "."))
    recipe_options = analysis.again(recipe["options"])
    if not options.trust_config:
        for settings in (recipe_options, *recipe_options.get("datasets", ())):
            check_file(job.folder / NAME, settings)
    if changed := changed_files(recipe):
        raise UserError(f"{job.name} cannot be run again: {changed[0]} is missing or has changed: restore it.")
    trust = {"trust_config": options.trust_config or None} if "trust_config" in analysis.options.model_fields else {}
    before = {path.relative_to(job.folder).as_posix(): sha256_file(path) for path in written_files(job.folder)}
    nothing = [f"{name}=null" for name, value in recipe_options.items() if value is None]
    again = analysis.options_of({**recipe_options, "results": options.results, **trust}, nothing)
    done = analysis.complete(again, progress, partial(write_job, analysis, again))
    written = write_job(analysis, again, done, recipe)
    if written.folder is None or written.folder.resolve() != job.folder.resolve():
        to = f"{written.folder or 'no folder'} ('metaeval results show' prints what made each)"
        raise UserError(f"{job.name} was run again, but its results went to {to}: code, packages or defaults changed.")
    after = {name: sha256_file(job.folder / name) for name in before if (job.folder / name).is_file()}
    unlike = sorted(name for name, known in before.items() if after.get(name) != known)
    same = f"{len(before) - len(unlike)} of {len(before)} files are the same bytes"
    summary = f"{same}; different: {', '.join(unlike)}" if unlike else same
    return Done(
        config=done.config,
        shown=[],
        verdict=[f"{job.name} was run again: {summary}."],
        value=Sheets(done.sheets) if done.value is None else done.value,
        exit_code=int(bool(unlike)),
    )


RERUN = Analysis(
    name="results rerun",
    summary="Run a job again from its manifest, and compare the files.",
    about="""The manifest is the recipe: the analysis, its options as they were given, and the hashes of the files that
were read. Scores come from the store. The exit code is 1 where a file differs.""",
    returns="object: What the function of the job's analysis returns.",
    examples=["results rerun latest", "results rerun 5b1641e1"],
    options=RerunOptions,
    run=_run,
)
