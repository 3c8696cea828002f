"""The figures of a job that is done, whatever command did it: run, evaluate, compare, tables or a citation pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.config import RunConfig, validated
from metaeval.config_files import check_file
from metaeval.errors import UserError
from metaeval.experiment.citing.figures import citation_figures
from metaeval.experiment.citing.shown_answers import is_cited
from metaeval.experiment.evaluation import named_protocols
from metaeval.experiment.job_folder import PAIRS, DoneJob, job_folder
from metaeval.experiment.manifest import NAME, settings_of, write_manifests
from metaeval.experiment.report_page import metric_looks
from metaeval.experiment.suites.pictures import figures_of
from metaeval.experiment.suites.score_figures import score_figures
from metaeval.experiment.suites.suite import recorded
from metaeval.report.result import SCHEMAS, Result, load_result, read_versioned

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_job_figures(jobs: Sequence[DoneJob], config: RunConfig) -> list[Path]:
    """Draw what jobs hold into a folder of RESULTS/figures; the paths. `UserError` where there is nothing to draw.

    config: says where results are, and whether the jobs' manifests may name code.
    """
    from metaeval.report.figures.drawing import save_figure

    cited = [job for job in jobs if is_cited(job.folder)]
    others = [job for job in jobs if job not in cited]
    drawn: dict[str, Figure] = {}
    if cited:
        drawn |= citation_figures([job.folder for job in cited])
    if others:
        drawn |= _figures(others, config.trust_config)
    if not drawn:
        raise UserError(f"{', '.join(job.name for job in jobs)}: there is nothing to draw.")
    names = sorted(job.name for job in jobs)
    folder = job_folder(config.results / "figures", [jobs[0].folder.name.rpartition("-")[0]], names)
    written = [path for stem, figure in drawn.items() for path in save_figure(figure, folder / stem)]
    write_manifests(config, "figures", [], written, {"jobs": names})
    return written


def _figures(jobs: Sequence[DoneJob], trust: bool) -> dict[str, Figure]:
    """Figures of results and scores, each metric with one look."""
    files = [path for job in jobs for path in (recorded(job.folder) or sorted(job.folder.glob("*.json")))]
    found: dict[Path, list[Result]] = {}
    for path in files:
        if path.name != NAME and read_versioned(path)[1] in SCHEMAS:
            found.setdefault(path.parent, []).append(load_result(path))
    every = [result for results in found.values() for result in results]
    if not every:
        raise UserError(f"{jobs[0].folder} holds no result file: 'metaeval run' and 'metaeval evaluate' write them.")
    configs = {folder: _config(folder, trust) for folder in found}
    protocols = {name: one for config in configs.values() for name, one in named_protocols(config).items()}
    drawn = figures_of(every, protocols)
    for folder, config in configs.items():
        if (folder / PAIRS).is_file():
            drawn |= score_figures(folder, config, metric_looks(every))
    return drawn


def _config(folder: Path, trust: bool) -> RunConfig:
    settings = settings_of(folder)
    if not trust:
        check_file(folder / NAME, settings)
    return validated(RunConfig, {**settings, "trust_config": trust}, str(folder / NAME))
