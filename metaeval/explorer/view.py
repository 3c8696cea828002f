"""The command `view`, which writes a web page that shows the scored pairs of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, FileOrName
from metaeval.core.config import OutputSettings
from metaeval.core.declared import Flag, MetricNames
from metaeval.core.errors import UserError
from metaeval.core.files import write_text

if TYPE_CHECKING:
    from metaeval.runs.score import MetricProgress


class ViewOptions(OutputSettings, DeclaredOptions):
    """Options of `view`."""

    jobs: Annotated[tuple[FileOrName, ...], Flag("RESULT", multiple=True, argument=True)] = ()
    """Jobs as 'results list' names them, or their folders (default: latest)."""
    output: Annotated[Path, Flag("FILE", "-o", output=True)] = Path("view.html")
    """Page to write (default: view.html)."""
    data: Annotated[Path | None, Flag("PATH", hidden=True)] = None
    """Folder that holds the published files (jsonl, ratings, answers of 'cite': your file)."""
    max_pairs: Annotated[int, Flag("N"), Field(ge=1)] = 5000
    """Most pairs of a job on the page; above it statements are sampled."""
    explain: Annotated[MetricNames, Flag("NAMES")] = ()
    """Metrics that read a model and are to explain their scores too."""
    all: Annotated[bool, Flag()] = False
    """Every job of the results folder that has pairs, side by side."""
    open: Annotated[bool, Flag()] = False
    """Open the page in the browser."""


def _run(options: ViewOptions, progress: MetricProgress | None) -> Done:
    from metaeval.explorer.page_data import View, view_page
    from metaeval.runs.job import PAIRS, done_jobs

    view = View(options.data, options.max_pairs, options.explain, options.trust_config, progress)
    jobs = options.jobs or ("latest",)
    if options.all and not options.jobs:
        folders = (job.folder for job in done_jobs(options.results))
        jobs = tuple(str(folder) for folder in folders if (folder / PAIRS).is_file())
        if not jobs:
            raise UserError(f"{options.results} has no job with pairs yet: type 'metaeval run'.")
    page, lines = view_page(jobs, options.results, options.output, view)

    def write(path: Path) -> None:
        write_text(path, page)
        if options.open:
            import webbrowser

            webbrowser.open(path.resolve().as_uri())

    size = f"{len(page.encode()) / 1e6:.1f} MB"
    written = f"Written: {options.output} ({size}). The texts are in it: share it where you may share them."
    return Done(outputs={options.output: write}, shown=lines, written=[written], value=options.output)


VIEW = Analysis(
    name="view",
    summary="Write a web page that shows the scored pairs of a run.",
    about="""It is one HTML file that needs no network; of a suite it has every run, with --all every run there is. It
shows where two metrics disagree, what the human marked, and what a metric looked at; pairs can be labelled on it. The
texts are read again from the data. A metric that reads a model explains its scores only where --explain names it.""",
    returns="Path: The page.",
    examples=["view", "view wice-test-chunk -o wice.html --open", "view latest --explain minilm-bertscore"],
    options=ViewOptions,
    run=_run,
)
