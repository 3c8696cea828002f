"""Figures of completed jobs of any command: run, evaluate, compare, a suite or a citation pipeline.

They show results, and the single scores of a job's pair file: ROC curves, distributions by level, and reliability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metaeval.analyses.suites.suite_runs import recorded_result_files
from metaeval.core import registry
from metaeval.core.config import IntervalConfig, RunConfig
from metaeval.core.config_files import shown_settings
from metaeval.core.errors import UserError
from metaeval.core.files import safe_name
from metaeval.report.html_report import Picture, rows_description
from metaeval.report.ranking_measures import LEVELS, abilities, metrics_of, strips
from metaeval.report.result import SCHEMA, Result, load_result, read_versioned
from metaeval.report.table import plain
from metaeval.runs.evaluate import declarations_of, named_protocols
from metaeval.runs.job import NAME, PAIRS, DoneJob, completed_run, read_manifest, read_pairs, settings_of
from metaeval.runs.metrics import FILE_PREFIX, find_cutoff, load_metric
from metaeval.stats.arrays import Bools, Floats
from metaeval.stats.classification import operating_point, roc_points
from metaeval.stats.decisions import reliability
from protocols.contract import Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.report.figures.drawing import Look
    from metaeval.report.figures.score_figures import Bins, Curve, Histogram

_LEVEL_PAIRS = (("full", "none"), ("full", "partial"), ("partial", "none"))
_BINS = 20

# Every function raises `UserError`, with the command to type, when matplotlib is not installed.


def pictures_of(results: Sequence[Result], protocols: Mapping[str, Protocol]) -> dict[str, list[Picture]]:
    """Return the bars that protocols declare, as pictures by `rows_description` of the result. protocols: by name."""
    from metaeval.report.figures.bars import measure_bars
    from metaeval.report.figures.drawing import image

    pictures: dict[str, list[Picture]] = {}
    looks = metric_looks(results)
    for protocol, result in results_with_figures(results, protocols):
        ties = " Bars are expectations over the orders of tied scores." if protocol.tie_orders else ""
        drawing = image(measure_bars(result, looks), "svg").decode("utf-8")
        pictures.setdefault(rows_description(result), []).append(Picture(f"{plain(result.title)}.{ties}", drawing))
    return pictures


def metric_looks(results: Sequence[Result]) -> dict[str, Look]:
    """Return how each metric of the results is drawn in all figures."""
    from metaeval.report.figures.drawing import looks_of

    return looks_of(row.metric for result in results for row in metrics_of(result))


def results_with_figures(
    results: Sequence[Result], protocols: Mapping[str, Protocol]
) -> Iterator[tuple[Protocol, Result]]:
    """Yield the results with metrics whose protocols declare a figure, each with its protocol. protocols: by name."""
    for result in results:
        protocol = protocols.get(result.protocol)
        if protocol and protocol.figure and metrics_of(result):
            yield protocol, result


def draw_jobs(jobs: Sequence[DoneJob], trust: bool) -> dict[str, Figure]:
    """Return the figures of jobs, by file name without ending; raises `UserError` where there is nothing to draw.

    trust: whether the jobs' manifests may name code.
    """
    # A command may have figures of its own; of others the results and the pairs are drawn.
    drawers: list[Callable[..., dict[str, Figure]] | None] = []
    for job in jobs:
        name = str(read_manifest(job.folder).get("command", "")).replace(" ", ".")
        drawers.append(registry.find("analysis", name).figures if name in registry.names("analysis") else None)
    others = [job for job, draw in zip(jobs, drawers, strict=True) if draw is None]
    figures: dict[str, Figure] = {}
    for draw in dict.fromkeys(filter(None, drawers)):
        figures.update(draw([job.folder for job, drawer in zip(jobs, drawers, strict=True) if drawer is draw]))
    if others:
        figures.update(_drawn(others, trust))
    if not figures:
        raise UserError(f"{', '.join(job.name for job in jobs)}: there is nothing to draw: choose a job with results.")
    return figures


def _drawn(jobs: Sequence[DoneJob], trust: bool) -> dict[str, Figure]:
    """Return the figures of the jobs' results and scores; a metric is drawn alike in all of them."""
    files = [path for job in jobs for path in (recorded_result_files(job.folder) or sorted(job.folder.glob("*.json")))]
    results: dict[Path, list[Result]] = {}
    for path in files:
        if path.name != NAME and read_versioned(path)[1] == SCHEMA:
            results.setdefault(path.parent, []).append(load_result(path))
    every = [result for folder_results in results.values() for result in folder_results]
    if not every:
        raise UserError(f"{jobs[0].folder} holds no result file: give a job of 'metaeval run' or 'metaeval evaluate'.")
    configs = {}
    for folder in results:
        settings = shown_settings(folder / NAME, settings_of(folder), trust)
        config = completed_run(settings, str(folder / NAME), trust)
        configs[folder] = config.model_copy(update={"interval": IntervalConfig(seed=settings["interval"]["seed"])})
    protocols = {name: protocol for config in configs.values() for name, protocol in named_protocols(config).items()}
    figures = figures_of(every, protocols)
    for folder, config in configs.items():
        if (folder / PAIRS).is_file():
            figures.update(score_figures(folder, config, metric_looks(every)))
    return figures


def figures_of(results: Sequence[Result], protocols: Mapping[str, Protocol] | None = None) -> dict[str, Figure]:
    """Return figures of results, by file name without ending. protocols: by name; None: those that are registered."""
    from metaeval.report.figures.bars import measure_bars
    from metaeval.report.figures.forest import forest

    known = protocols or {name: registry.find("protocol", name) for name in registry.names("protocol")}
    declarations, looks = declarations_of(known.values()), metric_looks(results)
    figures: dict[str, Figure] = {}
    shown = strips(results, declarations)
    if any(headline.metrics for headline in shown):
        figures["figure-forest"] = forest(shown, declarations, looks)
    for result in results:
        if len(able := abilities(result, declarations)) > 1:
            stem = f"figure-forest-{safe_name(result.protocol)}-{_name(result)}"
            figures[stem] = forest(able, declarations, looks)
    for protocol, result in results_with_figures(results, known):
        stem = protocol.figure_name or f"figure-{safe_name(protocol.name)}"
        figures[f"{stem}-{_name(result)}"] = measure_bars(result, looks)
    return figures


def _name(result: Result) -> str:
    return safe_name("-".join((result.data.name, result.data.split, result.unit)))


@dataclass(frozen=True, eq=False)
class JudgedScores:
    """The scores of a job's n rows that have a human label.

    name: of the data. gold: (n,) levels (2 full, 1 partial, 0 none) or, where `rated`, ratings. scores: (n,) by metric;
    higher is more support, NaN for missing scores.
    """

    name: str
    rated: bool
    gold: Floats
    scores: Mapping[str, Floats]

    def levels(self) -> dict[str, Bools]:
        """Return which rows are at each level, (n,), the highest level first; ratings are divided into thirds."""
        if not self.rated:
            return {name: self.gold == level for level, name in zip((2, 1, 0), LEVELS, strict=True)}
        ends = np.quantile(self.gold, (1 / 3, 2 / 3))
        third = np.searchsorted(ends, self.gold, side="left")
        rows_by_level = {}
        for number in (2, 1, 0):
            rows = third == number
            if rows.any():
                rows_by_level[f"ratings from {self.gold[rows].min():.3g} to {self.gold[rows].max():.3g}"] = rows
        return rows_by_level


def read_judged_scores(folder: Path) -> JudgedScores:
    """Read the scores in a job's pair file, without controls and unlabelled rows; `UserError` without a pair file."""
    head, rows = read_pairs(folder / PAIRS)
    kept = [row for row in rows if row.get("cited", True) and row.get("level", row.get("rating")) is not None]
    rated = head["job"].get("unit") == "rating"
    scores = np.array([row["scores"] for row in kept], dtype=np.float64).reshape(len(kept), len(head["columns"]))
    data = str(head["job"]["data"]).partition("@")[0].replace("/", ", ")
    return JudgedScores(
        name=f"{data}, {head['job']['unit']}",
        rated=rated,
        gold=np.array([row["rating" if rated else "level"] for row in kept], dtype=np.float64),
        scores={name: scores[:, number] for number, name in enumerate(head["columns"]) if name not in head["controls"]},
    )


def score_figures(folder: Path, config: RunConfig, looks: Mapping[str, Look]) -> dict[str, Figure]:
    """Return figures of a job's scores by file name without ending; those that its rows do not allow are left out."""
    from metaeval.report.figures import score_figures as drawing

    scored = read_judged_scores(folder)
    figures: dict[str, Figure] = {}
    curves = {} if scored.rated else roc_of(scored, _thresholds(scored, config))
    kind = "rating" if scored.rated else "level"
    distributions, bins = distributions_of(scored), reliability_of(scored)
    if any(curves.values()):
        figures["roc"] = drawing.roc_curves(curves, looks, f"ROC curves: {scored.name}")
    if distributions:
        figures["scores"] = drawing.score_distributions(distributions, f"Scores by {kind}: {scored.name}")
    if bins:
        figures["reliability"] = drawing.reliability(bins, f"Scores as they are, against gold: {scored.name}")
    where = safe_name(scored.name.replace(", ", "-"))
    return {f"figure-{name}-{where}": figure for name, figure in figures.items()}


def roc_of(scored: JudgedScores, thresholds: Mapping[str, float]) -> dict[str, list[Curve]]:
    """Return ROC curves by pair of levels ("full from none"). thresholds: by metric, marked on the metric's curve."""
    from metaeval.report.figures.score_figures import Curve

    levels = scored.levels()
    curves: dict[str, list[Curve]] = {}
    for high, low in _LEVEL_PAIRS:
        pair_curves = curves.setdefault(f"{high} from {low}", [])
        for metric, score in scored.scores.items():
            rows = (levels[high] | levels[low]) & ~np.isnan(score)
            positive = levels[high][rows]
            if positive.any() and not positive.all():
                x, y = roc_points(score[rows], positive)
                at = thresholds.get(metric)
                point = None if at is None else operating_point(score[rows], positive, at)
                pair_curves.append(Curve(metric, x.tolist(), y.tolist(), point))
    return curves


def distributions_of(scored: JudgedScores) -> dict[str, list[Histogram]]:
    """Return, by metric, a histogram of its scores at each level, as shares in bins between its lowest and highest."""
    from metaeval.report.figures.score_figures import Histogram

    histograms: dict[str, list[Histogram]] = {}
    for metric, score in scored.scores.items():
        known = ~np.isnan(score)
        if not known.any():
            continue
        edges = np.histogram_bin_edges(score[known], _BINS)
        for level, level_rows in scored.levels().items():
            if (rows := level_rows & known).any():
                shares = np.histogram(score[rows], edges)[0] / np.count_nonzero(rows)
                histogram = Histogram(level, edges.tolist(), shares.tolist(), float(np.median(score[rows])))
                histograms.setdefault(metric, []).append(histogram)
    return histograms


def reliability_of(scored: JudgedScores) -> dict[str, list[Bins]]:
    """Return, by metric, reliability bins (mean outcome in bins of scores), one `Bins` for each outcome.

    Metrics with scores outside 0 to 1 are left out; with ratings outside 0 to 1 all are.
    """
    from metaeval.report.figures.score_figures import Bins

    bins: dict[str, list[Bins]] = {}
    if scored.rated and (scored.gold.min() < 0 or scored.gold.max() > 1):
        return bins
    outcomes: dict[str, Bools | Floats] = {"mean rating": scored.gold}
    if not scored.rated:
        outcomes = {"share of full": scored.gold == 2, "share of full or partial": scored.gold >= 1}
    for metric, score in scored.scores.items():
        known = ~np.isnan(score)
        if not known.any() or score[known].min() < 0 or score[known].max() > 1:
            continue
        for outcome, values in outcomes.items():
            stated, observed, rows = reliability(score[known], values[known])
            bins.setdefault(metric, []).append(Bins(outcome, stated.tolist(), observed.tolist(), rows.tolist()))
    return bins


def _thresholds(scored: JudgedScores, config: RunConfig) -> dict[str, float]:
    """Return the metrics' declared thresholds, with the sign reversed where lower scores mean more support."""
    known: dict[str, float] = {}
    for name in scored.scores:
        if name not in config.metrics or name.startswith(FILE_PREFIX):
            continue
        try:
            metric = load_metric(name, config)
            value = find_cutoff(name, metric, {}).value
        except UserError:  # the metric has no threshold, or cannot be loaded here
            continue
        if value is not None:
            known[name] = metric.card.direction * value
    return known
