"""Cut-offs of metrics: the score from which a claim counts as supported; and the metrics that judge single claims."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metaeval.core.errors import UserError, unknown
from metaeval.core.files import sha256_json
from metaeval.core.registry import with_places
from metaeval.report.table_files import load_table
from metaeval.runs.loaded_metrics import LoadedMetrics, plug_in
from metaeval.scoring.contract import Combination, Metric

SOFT = "soft"
"""What is given in place of a threshold to make no decision: scores are degrees of support."""

SHEET = "calibration"
"""Name of the table that holds calibrated thresholds."""


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The score of a metric at which, and beyond which, claims count as supported.

    value: raw; beyond it is above, or below for a metric of which lower is better. None: there is no threshold, and the
    score itself is the degree of support ("soft"). source: where the value is from, in words.
    """

    value: float | None
    source: str


def read_thresholds(text: str | None, names: Sequence[str], option: str = "--threshold") -> dict[str, float | None]:
    """Return thresholds by metric from a text: one for all (0.5, soft), or NAME=X with commas; None is soft.

    A metric without one is left out. option: that the text is from, for errors. Raises `UserError` for a name that is
    not among the metrics, and for a value that is neither a number nor `soft`.
    """
    thresholds: dict[str, float | None] = {}
    for part in (part.strip() for part in (text or "").split(",") if part.strip()):
        # A metric's name may contain a colon, but no equals sign.
        name, equals, number = part.rpartition("=")
        (name,) = [name] if name in names else with_places({"metrics": [name]})["metrics"]
        if equals and name not in names:
            raise unknown(f"backend in {option}", name, names)
        try:
            value = None if number == SOFT else float(number)
        except ValueError:
            value = math.nan
        if value is not None and not math.isfinite(value):
            raise UserError(f"{option} is {number!r}; allowed: a number, soft, or NAME=X for one metric of several.")
        thresholds |= dict.fromkeys([name] if equals else names, value)
    return thresholds


def find_cutoff(
    name: str, metric: Metric, thresholds: Mapping[str, float | None], calibrations: Sequence[Path] = ()
) -> Cutoff:
    """Return a metric's threshold from `thresholds` (None: soft), else from the first file with one, else its card.

    Raises `UserError` where there is none, and for a calibration with other options, weights or code.
    """
    if name in thresholds:
        return Cutoff(thresholds[name], "as given")
    for path in calibrations:
        if (cutoff := _calibrated(name, metric, path)) is not None:
            return cutoff
    card = metric.card
    # The threshold of a card was calibrated with default options, and is invalid with others.
    if card.threshold is not None:
        options, runtime = metric.options, set(metric.options.runtime)
        changed = options.model_dump(exclude=runtime) != type(options)().model_dump(exclude=runtime)
        if card.threshold == card.neutral or not changed:
            return Cutoff(card.threshold, card.threshold_from)
    why = "none with these options" if card.threshold is not None else "none that is known"
    raise UserError(
        f"The metric {name!r} needs a threshold, the lowest score at which a claim counts as "
        f"supported; it has {why}. Give --threshold X, or learn a threshold from human labels "
        f"(metaeval thresholds {name} --learn -d NAME) and give its file with -s calibration=FILE."
    )


def identity_of(name: str, metric: Metric) -> str:
    """Return a hash of everything that can change the metric's scores."""
    with plug_in(name):
        return sha256_json(metric.identity())[:16]


def _calibrated(name: str, metric: Metric, path: Path) -> Cutoff | None:
    sheet = load_table(path)
    if sheet.name != SHEET:
        raise UserError(
            f"{path} is a table of {sheet.name!r}, not of thresholds: give a file that 'metaeval thresholds --learn' "
            "wrote."
        )
    for record in sheet.records:
        if record.get("metric") != name:
            continue
        if not metric.kept or record.get("identity") != identity_of(name, metric):
            raise UserError(
                f"{path}: {name!r} was calibrated with other options, weights or code than it has here, or its code "
                "declares no identity (metaeval.metric): learn its threshold again, with the same --set."
            )
        value = record.get("threshold")
        if not isinstance(value, float):
            raise UserError(
                f"{path}: the threshold of {name!r} is {value!r}, which is not a number: learn it again with "
                "'metaeval thresholds --learn'."
            )
        target = sheet.settings.get("target", "full")
        return Cutoff(value, f"calibrated on {sheet.data.name}/{sheet.data.split}, {target} support")
    return None


def judge_of(name: str, metrics: LoadedMetrics) -> Metric:
    """Return the metric `name` if it can judge pairs one by one; no model is loaded or downloaded yet.

    Raises `UserError` for a file or column of scores, and a metric whose score of a pair depends on the other pairs.
    """
    if name not in metrics.by_name:
        raise UserError(f"{name} is a file or column of scores and cannot score new pairs: give a metric by its name.")
    metric = metrics.fresh(name)
    if isinstance(metric, Combination) or metric.corpus_dependent:
        raise UserError(
            f"The score that {name!r} gives a pair depends on the other pairs of the run, so it cannot judge single "
            "claims: choose a metric that scores each pair by itself (overlap, minilm-cosine, autoais ...)."
        )
    return metric
