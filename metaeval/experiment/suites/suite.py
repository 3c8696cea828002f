"""A suite: one experiment over several data sets, less what cannot be run here; and its files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig, load_run
from metaeval.config_files import check_file, read_experiment
from metaeval.errors import UserError
from metaeval.experiment.columns import FILE_PREFIX, answer_rows, check_names, reading
from metaeval.experiment.doctor import State, readiness
from metaeval.experiment.evaluation import find_protocols, named_protocols, readable_protocols
from metaeval.experiment.job_folder import job_folder
from metaeval.experiment.metrics import MetricProgress, load_metric, plug_in
from metaeval.experiment.prepared_run import Job, prepare
from metaeval.experiment.run import Evaluated, run, write_run
from metaeval.files import safe_name, write_text
from metaeval.reading import read_json
from metaeval.report.result import Result, load_result
from metaeval.scoring.contract import Combination
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


def run_able(config: RunConfig, progress: MetricProgress | None = None) -> tuple[Evaluated | None, list[LeftOut]]:
    """Run with every metric that can be; what it found (None where no metric is left), and the metrics left out.

    A metric is left out when it is wrong or incomplete here, when its weights can neither be found nor fetched, and
    when it fails on the way; what it had scored by then is stored. A judge without a key is run where every answer
    that it would give is stored. Raises `UserError` for what is wrong with the data or the protocols.
    """
    find_protocols(config)
    if not config.metrics:
        check_names(config)
    job = prepare(config)
    _, blind = readable_protocols(config, job.frame)
    able, left_out = _sort_out(config, config.metrics, lambda name, store: _check(name, config, job, store))
    left_out += [LeftOut(config.dataset, "", reason, protocol) for protocol, reason in blind.items()]
    if able:
        try:
            return run(_only(config, able), progress), left_out
        except UserError:

            def exhaust(name: str, store: ScoreStore) -> None:
                if not name.startswith(FILE_PREFIX):
                    list(answer_rows(job, [name], store, progress))

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
    check_names(_only(config, [name]))
    if name.startswith(FILE_PREFIX):
        return
    metric = load_metric(name, config)
    if isinstance(metric, Combination):
        for member in metric.members:
            _check(member, config, job, store)
        return
    with plug_in(name):
        unique = {pair_key(*pair): pair for pair in reading(job, metric).texts}
        identity = job_identity(metric, unique.values())
        state = readiness(name, metric)
        if state.state is State.KEY and len(store.find(identity, list(unique))) < len(unique):
            raise UserError(
                f"Metric {name!r} asks a service for which {state.detail} holds the key, and it is not set."
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

    def folder(self, results: Iterable[Result]) -> Path:
        """Where its tables and figures of these results go."""
        return job_folder(self.results, [self.name], [row.signature for result in results for row in result.rows])

    @property
    def protocols(self) -> dict[str, Protocol]:
        """The protocols of its runs, by their own names."""
        return {protocol.name: protocol for run in self.runs for protocol in named_protocols(run).values()}


@dataclass(frozen=True)
class Part:
    """One data set of a suite: its run, what it found (None where nothing could be run), and what was left out."""

    config: RunConfig
    found: Evaluated | None
    left_out: list[LeftOut]

    @property
    def results(self) -> list[Result]:
        """The results of its run, if there are any."""
        return self.found.results if self.found else []


def read_suite(
    path: Path | None, settings: Mapping[str, Any], overrides: Sequence[str] = (), datasets: Sequence[str] = ()
) -> Suite:
    """Read a suite: a run's YAML file (or the name of a shipped one) with `datasets` in place of `dataset`.

    Each entry of `datasets` is a name, or a mapping with `dataset` and settings of its own (split, unit, options ...).
    `datasets` given here take the place of the file's; one that the file has keeps the settings that it has there.
    Without a file, a suite of the data sets given, or of the shipped one. Raises `UserError` as `load_run` does.
    """
    given = {key: value for key, value in settings.items() if value is not None}
    values = read_experiment(path, given) if path else {}
    listed = _entries(values.pop("datasets", None), path)
    if listed and "dataset" in values:
        raise UserError(f"{path}: it names both 'dataset' and 'datasets'; keep one of them.")
    for entry in () if given.get("trust_config") else listed:
        check_file(path, {key: value for key, value in entry.items() if key not in given})
    known = {str(entry["dataset"]): entry for entry in listed}
    chosen = [known.get(name, {"dataset": name}) for name in datasets] or listed or [{}]
    runs = tuple(load_run(None, {**values, **entry, **given}, overrides) for entry in chosen)
    name = path.stem if path else "+".join(dict.fromkeys(run.dataset for run in runs))
    return Suite(name, runs)


def run_suite(suite: Suite, progress: MetricProgress | None = None) -> Iterator[Part]:
    """Run each data set in turn; nothing is written but the score store.

    A data set that is not to be had is left out with its reason, as a metric is.
    """
    for config in suite.runs:
        try:
            found, left_out = run_able(config, progress)
        except UserError as error:
            found, left_out = None, [LeftOut(config.dataset, "", str(error))]
        yield Part(config, found, left_out)


def _entries(listed: Any, path: Path | None) -> list[dict[str, Any]]:
    """What is said of each data set, under the names of a run's settings."""
    if listed is None:
        return []
    if not isinstance(listed, list) or not listed:
        raise UserError(f"{path}: 'datasets' should be a list of names, or of mappings with 'dataset' in each.")
    entries = [{"dataset": item} if isinstance(item, str) else item for item in listed]
    for item in entries:
        if not isinstance(item, dict) or not isinstance(item.get("dataset"), str):
            raise UserError(
                f"{path}: a data set of 'datasets' is {item!r}; it should be a name, or a mapping with 'dataset'."
            )
    return [{"dataset_options" if key == "options" else str(key): item[key] for key in item} for item in entries]


RECORD = "suite.json"


def write_part(part: Part) -> list[Path]:
    """Write one data set's results as a run of its own does; the paths."""
    return write_run(part.config, part.found) if part.found else []


def write_record(suite: Suite, folder: Path, results: Sequence[Sequence[Path]], left_out: Sequence[LeftOut]) -> Path:
    """Write what the suite ran, where each run's result files are, and what was left out and why."""
    path = folder / RECORD
    record = {
        **_settings(suite),
        "results": [[str(file) for file in files] for files in results],
        "left_out": [vars(one) for one in left_out],
    }
    write_text(path, json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    return path


def read_record(suite: Suite) -> tuple[list[list[Result]], list[LeftOut]]:
    """Each run's results, as the last command wrote them for this very suite, and what it left out; else empty."""
    records = [path for path in suite.results.glob(f"{safe_name(suite.name)}-*/{RECORD}") if path.is_file()]
    for path in sorted(records, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        with contextlib.suppress(UserError, AttributeError, KeyError, TypeError):
            record = read_json(path)
            if {key: record.get(key) for key in ("name", "runs")} == _settings(suite):
                results = [[load_result(Path(file)) for file in files] for files in record["results"]]
                return results, [LeftOut(**one) for one in record["left_out"]]
    return [], []


def recorded(folder: Path) -> list[Path]:
    """The result files of the runs of a suite, by the record in its folder; none where there is no such record."""
    with contextlib.suppress(UserError, AttributeError, KeyError, TypeError):
        return [Path(file) for files in read_json(folder / RECORD)["results"] for file in files]
    return []


def _settings(suite: Suite) -> dict[str, Any]:
    return {"name": suite.name, "runs": [run.model_dump(mode="json") for run in suite.runs]}
