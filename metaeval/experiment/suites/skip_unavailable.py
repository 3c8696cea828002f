"""What can be run here: a run without the metrics that lack a package, a key, their weights, or fail on the way."""

from __future__ import annotations

from dataclasses import dataclass

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.columns import FILE_PREFIX, check_names
from metaeval.experiment.evaluation import find_protocols
from metaeval.experiment.metrics import load_metric, plug_in
from metaeval.experiment.prepared_run import Job, prepare
from metaeval.experiment.readiness import State, readiness
from metaeval.experiment.run import run
from metaeval.experiment.scoring import MetricProgress, score_metrics
from metaeval.report.result import Result
from metaeval.scoring.contract import Combination
from metaeval.scoring.engine import job_identity
from metaeval.scoring.store import ScoreStore, pair_key


@dataclass(frozen=True)
class LeftOut:
    """A metric that was not run on a data set, and why in one sentence; an empty `metric` is the whole data set."""

    dataset: str
    metric: str
    reason: str


def run_able(config: RunConfig, progress: MetricProgress | None = None) -> tuple[list[Result], list[LeftOut]]:
    """Run with every metric that can be; results (none where no metric is left), and the metrics left out.

    A metric is left out when it is wrong or incomplete here, when its weights can neither be found nor fetched, and
    when it fails on the way; what it had scored by then is stored. A judge without a key is run where every answer
    that it would give is stored. Raises `UserError` for what is wrong with the data or the protocols.
    """
    find_protocols(config)
    if not config.metrics:
        check_names(config)
    job = prepare(config)
    able, left_out = _sort_out(config, job)
    if able:
        try:
            return run(_only(config, able), progress), left_out
        except UserError:
            able, failed = _try_each(config, job, able, progress)
            left_out += failed
    return (run(_only(config, able), progress) if able else []), left_out


def _only(config: RunConfig, metrics: list[str]) -> RunConfig:
    """The run with these metrics, and without the options of others."""
    known = {*metrics, *(name.partition(":")[0] for name in metrics)}
    options = {name: found for name, found in config.metric_options.items() if name in known}
    return config.model_copy(update={"metrics": tuple(metrics), "metric_options": options})


def _sort_out(config: RunConfig, job: Job) -> tuple[list[str], list[LeftOut]]:
    able, left_out = [], []
    with ScoreStore(config.store_path) as store:
        for name in dict.fromkeys(config.metrics):
            try:
                _check(name, config, job, store)
                able.append(name)
            except UserError as error:
                left_out.append(LeftOut(config.dataset, name, str(error)))
    return able, left_out


def _check(name: str, config: RunConfig, job: Job, store: ScoreStore) -> None:
    """Raise `UserError` when this metric cannot score the job here. Its checkpoint is fetched if need be."""
    check_names(_only(config, [name]))
    if name.startswith(FILE_PREFIX):
        return
    metric = load_metric(name, config)
    if isinstance(metric, Combination):
        for member in metric.members:
            _check(member, config, job, store)
        return
    with plug_in(name):
        unique = {pair_key(*pair): pair for pair in job.texts}
        identity = job_identity(metric, unique.values())
        state = readiness(name, metric)
        if state.state is State.KEY and len(store.find(identity, list(unique))) < len(unique):
            raise UserError(
                f"Metric {name!r} asks a service for which {state.detail} holds the key, and it is not set."
            )


def _try_each(
    config: RunConfig, job: Job, names: list[str], progress: MetricProgress | None
) -> tuple[list[str], list[LeftOut]]:
    """Score with each metric alone, into the store: those that end well, and those that do not."""
    able, failed = [], []
    with ScoreStore(config.store_path) as store:
        for name in names:
            try:
                _exhaust(name, config, job, store, progress)
                able.append(name)
            except UserError as error:
                failed.append(LeftOut(config.dataset, name, str(error)))
    return able, failed


def _exhaust(name: str, config: RunConfig, job: Job, store: ScoreStore, progress: MetricProgress | None) -> None:
    if not name.startswith(FILE_PREFIX):
        for _ in score_metrics(job.texts, [name], config, store, progress):
            pass
