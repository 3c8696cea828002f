"""A suite: one experiment over several data sets, less what cannot be run here; and its files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig, load_run
from metaeval.errors import UserError
from metaeval.files import write_text
from metaeval.reading import read_json
from metaeval.report.result import Result
from metaeval.runs.answers import answer_rows, reading
from metaeval.runs.columns import FILE_PREFIX, named_metrics
from metaeval.runs.doctor import ReadinessState, readiness
from metaeval.runs.evaluation import find_protocols, named_protocols, readable_protocols
from metaeval.runs.job_folder import Command, job_folder
from metaeval.runs.metrics import MetricProgress, load_metrics, plug_in
from metaeval.runs.prepared_run import Job, prepare
from metaeval.runs.run import EvaluatedRun, run, run_folder
from metaeval.scoring.engine import job_identity
from metaeval.scoring.store import ScoreStore, pair_key
from protocols.contract import Protocol


@dataclass(frozen=True)
class LeftOut:
    """A metric that was not run on a data set, or a protocol that tells none apart there, and why in one sentence.

    Neither of both: the whole data set.
    """

    dataset: str
    metric: str
    reason: str
    protocol: str = ""


def run_able(config: RunConfig, progress: MetricProgress | None = None) -> tuple[EvaluatedRun | None, list[LeftOut]]:
    """Run with every metric that can be; what it found (None where no metric is left), and the metrics left out.

    A metric is left out when it is wrong or incomplete here, when its weights can neither be found nor fetched, and
    when it fails on the way; what it had scored by then is stored. A judge without a key is run where every answer
    that it would give is stored. Raises `UserError` for what is wrong with the data or the protocols.
    """
    protocols = find_protocols(config)
    if not config.metrics:
        named_metrics(config)
    job = prepare(config)
    blind = readable_protocols(protocols, job).left_out
    able, left_out = _sort_out(config, config.metrics, lambda name, store: _check(name, config, job, store))
    left_out += [LeftOut(config.dataset, "", reason, protocol) for protocol, reason in blind.items()]
    if able:
        try:
            return run(_only(config, able), progress), left_out
        except UserError:

            def exhaust(name: str, store: ScoreStore) -> None:
                if not name.startswith(FILE_PREFIX):
                    list(answer_rows(job, load_metrics([name], config), store, progress))

            # Each metric scores alone, into the store: those that end well are run.
            able, failed = _sort_out(config, able, exhaust)
            left_out += failed
    return (run(_only(config, able), progress) if able else None), left_out


def _only(config: RunConfig, metrics: list[str]) -> RunConfig:
    """The run with these metrics, and without the options of others."""
    known = {*metrics, *(name.partition(":")[0] for name in metrics)}
    options = {name: found for name, found in config.metric_options.items() if name in known}
    return config.model_copy(update={"metrics": tuple(metrics), "metric_options": options})


def _sort_out(
    config: RunConfig, names: Sequence[str], check: Callable[[str, ScoreStore], None]
) -> tuple[list[str], list[LeftOut]]:
    """The metrics that pass the check, and those for which it raises `UserError`."""
    able, left_out = [], []
    with ScoreStore(config.store_path) as store:
        for name in dict.fromkeys(names):
            try:
                check(name, store)
                able.append(name)
            except UserError as error:
                left_out.append(LeftOut(config.dataset, name, str(error)))
    return able, left_out


def _check(name: str, config: RunConfig, job: Job, store: ScoreStore) -> None:
    """Raise `UserError` when this metric cannot score the job here. Its checkpoint is fetched if need be."""
    metrics = named_metrics(_only(config, [name]))
    for single in metrics.single:
        with plug_in(single):
            unique = {pair_key(*pair): pair for pair in reading(job, single, metrics).texts}
            identity = job_identity(metrics[single], unique.values())
            state = readiness(single, metrics[single])
            if state.state is ReadinessState.KEY and len(store.find(identity, list(unique))) < len(unique):
                raise UserError(
                    f"Metric {single!r} asks a service for which {state.detail} holds the key, and it is not set."
                )


@dataclass(frozen=True)
class Suite:
    """A name, and one run for each data set."""

    name: str
    runs: tuple[RunConfig, ...]

    @property
    def results(self) -> Path:
        """The folder that holds the folders of its jobs."""
        return self.runs[0].results

    def folder(self, results: Iterable[Result], command: Command) -> Path:
        """Where what a command makes of these results goes: RESULTS/SUITE-HASH."""
        signatures = [row.signature for result in results for row in result.rows]
        return job_folder(self.results, [self.name], signatures, command, *self.runs)

    @property
    def protocols(self) -> dict[str, Protocol]:
        """The protocols of its runs, by their own names."""
        return {protocol.name: protocol for run in self.runs for protocol in named_protocols(run).values()}


@dataclass(frozen=True)
class Part:
    """One data set of a suite: what its run found (None where nothing could be run), and what was left out."""

    found: EvaluatedRun | None
    left_out: list[LeftOut]

    @property
    def results(self) -> list[Result]:
        """The results of its run, if there are any."""
        return self.found.results if self.found else []

    @property
    def config(self) -> RunConfig:
        """What was run: with the metrics that could be."""
        return self.found.source.config if self.found else RunConfig()

    @property
    def files(self) -> list[Path]:
        """The result files of its run, once it is written."""
        folder = run_folder(self.config, self.results) if self.found else Path()
        return [folder / f"{result.protocol}.json" for result in self.results]


def suite_of(
    path: Path | None, settings: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], datasets: Sequence[str] = ()
) -> Suite:
    """The suite of the data sets that are named, of the entries of a file, or of the shipped one.

    path: the file, after which the suite is named. settings: of all its runs. entries: data sets with settings of their
    own, which count in place of these. Raises `UserError` as `load_run` does.
    """
    known = {str(entry["dataset"]): entry for entry in entries}
    chosen = [known.get(name, {"dataset": name}) for name in datasets] or entries or [{}]
    runs = tuple(load_run(None, {**settings, **entry}) for entry in chosen)
    return Suite(path.stem if path else "+".join(dict.fromkeys(run.dataset for run in runs)), runs)


def run_suite(suite: Suite, progress: MetricProgress | None = None) -> Iterator[Part]:
    """Run each data set in turn; nothing is written but the score store.

    A data set that is not to be had is left out with its reason, as a metric is.
    """
    for config in suite.runs:
        try:
            yield Part(*run_able(config, progress))
        except UserError as error:
            yield Part(None, [LeftOut(config.dataset, "", str(error))])


RECORD = "suite.json"


def write_record(suite: Suite, folder: Path, parts: Sequence[Part]) -> Path:
    """Write what the suite ran, where each run's result files are, and what was left out and why."""
    path = folder / RECORD
    record = {
        "name": suite.name,
        "runs": [run.model_dump(mode="json") for run in suite.runs],
        "results": [[str(file) for file in part.files] for part in parts],
        "left_out": [vars(one) for part in parts for one in part.left_out],
    }
    write_text(path, json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n", update=True)
    return path


def recorded(folder: Path) -> list[Path]:
    """The result files of the runs of a suite, by the record in its folder; none where there is no such record."""
    with contextlib.suppress(UserError, AttributeError, KeyError, TypeError):
        return [Path(file) for files in read_json(folder / RECORD)["results"] for file in files]
    return []


def recorded_omissions(folder: Path) -> list[LeftOut]:
    """What a suite left out, by the record in its folder; none where there is no such record."""
    with contextlib.suppress(UserError, AttributeError, KeyError, TypeError):
        return [LeftOut(**one) for one in read_json(folder / RECORD)["left_out"]]
    return []


def omissions(left_out: Sequence[LeftOut]) -> list[tuple[str, str]]:
    """What was left out, and why, each reason once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in left_out:
        reasons.setdefault((one.metric or one.protocol, one.reason), []).append(one.dataset)
    return [
        (f"{name} on {', '.join(datasets)}" if name else f"data set {', '.join(datasets)}", reason)
        for (name, reason), datasets in reasons.items()
    ]


def omission_lines(left_out: Sequence[LeftOut]) -> list[str]:
    """What was left out, a line each, and how much it was."""
    lines = [f"Left out: {what}: {reason}" for what, reason in omissions(left_out)]
    return [*lines, f"Warning: {len(left_out)} left out, and not in what was written."] if lines else []


def lacks_data(left_out: Sequence[LeftOut]) -> bool:
    """Whether a whole data set was left out."""
    return any(not (one.metric or one.protocol) for one in left_out)
