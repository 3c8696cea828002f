"""From which score of a metric on a claim is supported, and which metrics can judge single claims."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metaeval.errors import UserError, unknown
from metaeval.files import sha256_json
from metaeval.report.formats import load_table
from metaeval.runs.columns import FILE_PREFIX
from metaeval.runs.metrics import LoadedMetrics, plug_in
from metaeval.scoring.contract import Combination, Metric

SOFT = "soft"
"""The threshold that decides nothing: scores are degrees of support."""

SHEET = "calibration"
"""Name of the sheet that thresholds are read from."""


@dataclass(frozen=True, slots=True)
class Cutoff:
    """value: in the metric's own scores, supported from there on in the direction of its card; None: soft. source: who
    says so, in words.
    """

    value: float | None
    source: str


def read_thresholds(text: str | None, names: Sequence[str]) -> dict[str, float | None]:
    """Thresholds by metric from what was typed: one for all (0.5, soft), or NAME=X with commas.

    Raises `UserError` for a name that is not among the metrics, and for what is neither a number nor `soft`.
    """
    found: dict[str, float | None] = {}
    for part in (part.strip() for part in (text or "").split(",") if part.strip()):
        # A metric's name may hold an equals sign in no case, and a colon in some.
        name, equals, said = part.rpartition("=")
        if equals and name not in names:
            raise unknown("backend in --threshold", name, names)
        try:
            value = None if said == SOFT else float(said)
        except ValueError:
            value = math.nan
        if value is not None and not math.isfinite(value):
            raise UserError(f"--threshold is {said!r}; allowed: a number, soft, or NAME=X for one of several backends.")
        found |= dict.fromkeys([name] if equals else names, value)
    return found


def find_cutoff(
    name: str, metric: Metric, given: Mapping[str, float | None], calibrations: Sequence[Path] = ()
) -> Cutoff:
    """A metric's cut-off: the one given, else a calibration file's, else the one that its card declares.

    Raises `UserError` where there is none, and for a file that calibrated the metric with other options or weights.
    """
    if name in given:
        return Cutoff(given[name], "as given")
    for path in calibrations:
        if (found := _calibrated(name, metric, path)) is not None:
            return found
    card = metric.card
    # A calibrated threshold was found with the default options, and means nothing with others.
    if card.threshold is not None and (card.threshold == card.neutral or _as_default(metric)):
        return Cutoff(card.threshold, card.threshold_from)
    why = "none with these options" if card.threshold is not None else "none that is known"
    raise UserError(
        f"From which score of {name!r} on is a claim supported? It has {why}: give --threshold X, or learn one from "
        f"human labels (metaeval thresholds {name} --learn -d NAME) and give --calibration FILE."
    )


def identity_of(name: str, metric: Metric) -> str:
    """A hash of everything that can change the metric's scores."""
    with plug_in(name):
        return sha256_json(metric.identity())[:16]


def _calibrated(name: str, metric: Metric, path: Path) -> Cutoff | None:
    sheet = load_table(path)
    if sheet.name != SHEET:
        raise UserError(f"{path} is a sheet of {sheet.name!r}, not of learnt ones: type 'metaeval thresholds --learn'.")
    for record in sheet.records:
        if record.get("metric") != name:
            continue
        if record.get("identity") != identity_of(name, metric):
            raise UserError(
                f"{path}: {name!r} was calibrated with other options, weights or code than it has here: calibrate it "
                "again, with the same --set."
            )
        value = record.get("threshold")
        if not isinstance(value, float):
            raise UserError(f"{path}: the threshold of {name!r} is {value!r}, and should be a number.")
        target = sheet.settings.get("target", "full")
        return Cutoff(value, f"calibrated on {sheet.data.name}/{sheet.data.split}, {target} support")
    return None


def _as_default(metric: Metric) -> bool:
    """Whether every option that can change a score has its default value."""
    runtime = set(metric.options.runtime)
    return bool(metric.options.model_dump(exclude=runtime) == type(metric.options)().model_dump(exclude=runtime))


def refuse_files(names: Iterable[str]) -> None:
    """Refuse score files where a metric has to give verdicts."""
    for name in names:
        if name.startswith(FILE_PREFIX):
            raise UserError(
                f"{name} holds scores of pairs that were known before: verdicts need a metric, by its name."
            )


def judge_of(name: str, metrics: LoadedMetrics) -> Metric:
    """A metric that can judge pairs one by one, as it has to be prepared; no model is loaded or fetched yet.

    Raises `UserError` for a file of scores, and a metric whose score of a pair depends on the other pairs: it would
    change from wave to wave.
    """
    refuse_files([name])
    metric = metrics.fresh(name)
    if isinstance(metric, Combination) or metric.corpus_dependent:
        raise UserError(
            f"{name!r} scores a pair by the other pairs of the run too, and cannot judge single claims: name a metric "
            "that reads each pair by itself (overlap, minilm-cosine, autoais ...)."
        )
    return metric
