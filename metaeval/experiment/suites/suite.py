"""A suite: one experiment over several data sets, in which what cannot be run here does not lose the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig, experiment_file, load_run, read_yaml
from metaeval.errors import UserError
from metaeval.experiment.evaluation import named_protocols
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.suites.skip_unavailable import LeftOut, run_able
from metaeval.files import safe_name
from metaeval.report.result import Result
from protocols.contract import Protocol

_OWN_NAMES = {"options": "dataset_options"}


@dataclass(frozen=True)
class Suite:
    """A name, and one run for each data set."""

    name: str
    runs: tuple[RunConfig, ...]

    @property
    def folder(self) -> Path:
        """Where its tables and figures go."""
        return self.runs[0].results / safe_name(self.name)

    @property
    def protocols(self) -> dict[str, Protocol]:
        """The protocols of its runs, by their own names."""
        return {protocol.name: protocol for run in self.runs for protocol in named_protocols(run).values()}


@dataclass(frozen=True)
class Part:
    """One data set of a suite: its run, the results (none where nothing could be run), and what was left out."""

    config: RunConfig
    results: list[Result]
    left_out: list[LeftOut]


def read_suite(
    path: Path | None, settings: Mapping[str, Any], overrides: Sequence[str] = (), datasets: Sequence[str] = ()
) -> Suite:
    """Read a suite: a run's YAML file (or the name of a shipped one) with `datasets` in place of `dataset`.

    Each entry of `datasets` is a name, or a mapping with `dataset` and settings of its own (split, unit, options ...).
    `datasets` given here take the place of the file's; one that the file has keeps the settings that it has there.
    Without a file, a suite of the data sets given, or of the shipped one. Raises `UserError` as `load_run` does.
    """
    values = read_yaml(experiment_file(path)) if path else {}
    listed = _entries(values.pop("datasets", None), path)
    if listed and "dataset" in values:
        raise UserError(f"{path}: it names both 'dataset' and 'datasets'; keep one of them.")
    known = {str(entry["dataset"]): entry for entry in listed}
    chosen = [known.get(name, {"dataset": name}) for name in datasets] or listed or [{}]
    runs = tuple(load_run(None, {**values, **entry, **_given(settings)}, overrides) for entry in chosen)
    name = path.stem if path else "+".join(dict.fromkeys(run.dataset for run in runs))
    return Suite(name, runs)


def run_suite(suite: Suite, progress: MetricProgress | None = None) -> Iterator[Part]:
    """Run each data set in turn; nothing is written but the score store.

    A data set that is not to be had is left out with its reason, as a metric is.
    """
    for config in suite.runs:
        try:
            results, left_out = run_able(config, progress)
        except UserError as error:
            results, left_out = [], [LeftOut(config.dataset, "", str(error))]
        yield Part(config, results, left_out)


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if value is not None}


def _entries(listed: Any, path: Path | None) -> list[dict[str, Any]]:
    if listed is None:
        return []
    if not isinstance(listed, list) or not listed:
        raise UserError(f"{path}: 'datasets' should be a list of names, or of mappings with 'dataset' in each.")
    return [_entry(item, path) for item in listed]


def _entry(item: Any, path: Path | None) -> dict[str, Any]:
    if isinstance(item, str):
        return {"dataset": item}
    if isinstance(item, dict) and isinstance(item.get("dataset"), str):
        return {_OWN_NAMES.get(str(key), str(key)): value for key, value in item.items()}
    raise UserError(f"{path}: a data set of 'datasets' is {item!r}; it should be a name, or a mapping with 'dataset'.")
