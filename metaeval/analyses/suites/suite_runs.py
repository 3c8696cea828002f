"""Suites: one experiment over several data sets, without what cannot be run here; and their files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.analyses.readiness import ReadinessState, readiness
from metaeval.core.config import RunConfig, load_run
from metaeval.core.errors import UserError
from metaeval.core.files import write_text
from metaeval.core.parsing import read_json
from metaeval.report.result import Result
from metaeval.runs.data import Job, prepare
from metaeval.runs.evaluate import EvaluatedRun, find_protocols, named_protocols, readable_protocols, run
from metaeval.runs.job import Command, job_folder, run_folder
from metaeval.runs.metrics import FILE_PREFIX, load_metrics, named_metrics, plug_in
from metaeval.runs.score import MetricProgress, file_columns, job_as_read, score_rows
from metaeval.scoring.engine import job_identity
from metaeval.scoring.score_store import ScoreStore, pair_key
from protocols.contract import Protocol


@dataclass(frozen=True)
class Omission:
    """A metric that was not run on a data set, or a protocol that cannot compare metrics there, with the reason.

    metric, protocol: one is empty; both if the whole data set was left out.
    """

    dataset: str
    metric: str
    reason: str
    protocol: str = ""


def run_able(config: RunConfig, progress: MetricProgress | None = None) -> tuple[EvaluatedRun | None, list[Omission]]:
    """Run every metric that can be run; return the evaluation (None where no metric is left) and the omissions.

    A metric is left out when it is wrong or incomplete here, when its weights can neither be found nor fetched, and
    when it fails during the run; its scores until then are stored. A judge without a key is run where all its scores
    are stored. Raises `UserError` for what is wrong with the data or the protocols.
    """
    protocols = find_protocols(config)
    if not config.metrics:
        named_metrics(config)
    job = prepare(config)
    _, blind = readable_protocols(protocols, job)
    able, left_out = _sort_out(config, config.metrics, lambda name, store: _check(name, config, job, store))
    left_out += [Omission(config.dataset, "", reason, protocol) for protocol, reason in blind.items()]
    if able:
        try:
            return run(_only(config, able), progress), left_out
        except UserError:

            def exhaust(name: str, store: ScoreStore) -> None:
                if not name.startswith(FILE_PREFIX):
                    list(score_rows(job, load_metrics([name], config), store, progress))

            # Each metric scores alone, into the store: those that complete are run.
            able, failed = _sort_out(config, able, exhaust)
            left_out += failed
    return (run(_only(config, able), progress) if able else None), left_out


def _only(config: RunConfig, metrics: list[str]) -> RunConfig:
    """Return the run's configuration with these metrics, without the options of other metrics."""
    known = {*metrics, *(name.partition(":")[0] for name in metrics)}
    options = {name: values for name, values in config.metric_options.items() if name in known}
    return config.model_copy(update={"metrics": tuple(metrics), "metric_options": options})


def _sort_out(
    config: RunConfig, names: Sequence[str], check: Callable[[str, ScoreStore], None]
) -> tuple[list[str], list[Omission]]:
    """Return the metrics that pass `check`, and an omission with the reason for each that raises an error."""
    able, left_out = [], []
    with ScoreStore(config.store_path) as store:
        for name in dict.fromkeys(names):
            try:
                check(name, store)
                able.append(name)
            except UserError as error:
                left_out.append(Omission(config.dataset, name, str(error)))
    return able, left_out


def _check(name: str, config: RunConfig, job: Job, store: ScoreStore) -> None:
    """Raise `UserError` when this metric cannot score the job here, or this file of scores is of other pairs.

    A checkpoint that is needed is downloaded.
    """
    metrics = named_metrics(_only(config, [name]))
    for file_name, files in metrics.files.items():
        file_columns(job, file_name, files)
    for single in metrics.single:
        with plug_in(single):
            unique = {pair_key(*pair): pair for pair in job_as_read(job, single, metrics).texts}
            identity = job_identity(metrics[single], unique.values())
            state = readiness(single, metrics[single])
            if state.state is ReadinessState.KEY and len(store.find(identity, list(unique))) < len(unique):
                raise UserError(f"Metric {single!r} needs the key of a service: set the variable {state.detail}.")


@dataclass(frozen=True)
class Suite:
    """Several data sets that are run and reported together: a name, and the configuration of each run."""

    name: str
    runs: tuple[RunConfig, ...]

    def folder(self, results: Iterable[Result], command: Command) -> Path:
        """Return the folder of the job that a command makes of these results: RESULTS/SUITE-HASH."""
        signatures = [row.signature for result in results for row in result.rows]
        return job_folder(self.runs[0].results, [self.name], signatures, command, *self.runs)

    @property
    def protocols(self) -> dict[str, Protocol]:
        """The protocols of the suite's runs, by name."""
        return {protocol.name: protocol for run in self.runs for protocol in named_protocols(run).values()}


@dataclass(frozen=True)
class Part:
    """The run of a suite on one data set: its evaluation (None where nothing could be run), and what was left out."""

    evaluated: EvaluatedRun | None
    left_out: list[Omission]

    @property
    def results(self) -> list[Result]:
        """The results of the run; empty where nothing could be run."""
        return self.evaluated.results if self.evaluated else []

    @property
    def config(self) -> RunConfig:
        """The configuration of the run, with the metrics that could be run; the defaults where nothing could be."""
        return self.evaluated.source.config if self.evaluated else RunConfig()

    @property
    def files(self) -> list[Path]:
        """The paths that the result files of the run have once they are written."""
        folder = run_folder(self.config, self.results) if self.evaluated else Path()
        return [folder / f"{result.protocol}.json" for result in self.results]


def suite_of(
    path: Path | None, settings: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], datasets: Sequence[str] = ()
) -> Suite:
    """Return the suite of the named data sets, else of the entries of a settings file, else of the default data set.

    path: the file, after which the suite is named (None: after its data sets). settings: of all runs. entries: data
    sets with settings of their own, which override those of all runs. Raises `UserError` as `load_run` does.
    """
    known = {str(entry["dataset"]): entry for entry in entries}
    chosen = [known.get(name, {"dataset": name}) for name in datasets] or entries or [{}]
    runs = tuple(load_run(None, {**settings, **entry}) for entry in chosen)
    return Suite(path.stem if path else "+".join(dict.fromkeys(run.dataset for run in runs)), runs)


def run_suite(suite: Suite, progress: MetricProgress | None = None) -> Iterator[Part]:
    """Run each data set in turn and yield its part; only the score store is written.

    The part of a data set that cannot be loaded has an omission with the reason alone.
    """
    for config in suite.runs:
        try:
            yield Part(*run_able(config, progress))
        except UserError as error:
            yield Part(None, [Omission(config.dataset, "", str(error))])


RECORD = "suite.json"


def write_record(suite: Suite, folder: Path, parts: Sequence[Part]) -> Path:
    """Write the runs of the suite, the paths of their result files, and what was left out with the reasons."""
    path = folder / RECORD
    record = {
        "name": suite.name,
        "runs": [run.model_dump(mode="json") for run in suite.runs],
        "results": [[str(file) for file in part.files] for part in parts],
        "left_out": [vars(omission) for part in parts for omission in part.left_out],
    }
    write_text(path, json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n", update=True)
    return path


def recorded_result_files(folder: Path) -> list[Path]:
    """Return the result files in a suite's record: beside its folder if there, else as recorded; empty without one."""
    with contextlib.suppress(UserError, AttributeError, KeyError, TypeError):
        files = [Path(file) for files in read_json(folder / RECORD)["results"] for file in files]
        beside = [folder.parent / file.parent.name / file.name for file in files]
        return [path if path.is_file() else file for path, file in zip(beside, files, strict=True)]
    return []


def recorded_omissions(folder: Path) -> list[Omission]:
    """Return the omissions of a suite from the record in its folder; empty without a record."""
    with contextlib.suppress(UserError, AttributeError, KeyError, TypeError):
        return [Omission(**entry) for entry in read_json(folder / RECORD)["left_out"]]
    return []


def omissions(left_out: Sequence[Omission]) -> list[tuple[str, str]]:
    """Return (what was left out, reason); a metric or protocol with one reason on several data sets is one entry."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for omission in left_out:
        reasons.setdefault((omission.metric or omission.protocol, omission.reason), []).append(omission.dataset)
    return [
        (f"{name} on {', '.join(datasets)}" if name else f"data set {', '.join(datasets)}", reason)
        for (name, reason), datasets in reasons.items()
    ]


def omission_lines(left_out: Sequence[Omission]) -> list[str]:
    """Return a line for each entry of `omissions`, and a line with the number of omissions; empty without any."""
    lines = [f"Left out: {what}: {reason}" for what, reason in omissions(left_out)]
    return [*lines, f"Warning: {len(left_out)} left out, and not in what was written."] if lines else []


def lacks_data(left_out: Sequence[Omission]) -> bool:
    """Return whether a whole data set was left out."""
    return any(not (omission.metric or omission.protocol) for omission in left_out)
