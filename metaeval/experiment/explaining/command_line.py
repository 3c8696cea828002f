"""A command line with what has to hold beside it, and the pieces that the recipes of several commands share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from metaeval import registry
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.explaining.choices import typed
from metaeval.experiment.explaining.meanings import metric_parts
from metaeval.experiment.metrics import load_metric

_OPTION = re.compile(r",(?=\w+=)")


@dataclass
class Recipe:
    """A command as its words, and what has to hold beside it."""

    words: list[str]
    caveats: list[str] = field(default_factory=list)

    def option(self, name: str, value: str, default: str) -> None:
        """Say an option of the command that is not the default."""
        if value != default:
            self.words += [f"--{name}", value]

    def setting(self, key: str, value: object, default: object) -> None:
        """Say a setting that is not the default."""
        if str(value) != str(default):
            self.words += ["--set", f"{key}={value}"]

    def metric_options(self, name: str, parts: Mapping[str, str]) -> None:
        """Say the options of a metric that are not its defaults; parts: as `metric_parts` reads them."""
        try:
            metric = load_metric(name, RunConfig())
        except UserError as error:
            self.caveats.append(f"Metric {name!r} cannot be made here as it was: {error}")
            return
        if str(metric.card.version) != parts["version"]:
            self.caveats.append(f"Metric {name!r} is at version {metric.card.version} here: its scores may differ.")
        standard = {key: str(value) for key, value in metric.describe_options().items()}
        for setting in _OPTION.split(parts["options"]) if parts["options"] else ():
            key, _, value = setting.partition("=")
            if key not in standard:
                self.caveats.append(f"{setting}: what sets this is not in the signature.")
            elif value != standard[key]:
                self.words += ["--set", f"metric_options.{name}.{key}={typed(value)}"]

    def judge(self, fields: Mapping[str, str]) -> None:
        """Say the metric that gives verdicts, and from which score on."""
        parts = metric_parts(fields.get("backend", ""))
        if known_as := parts.get("known_as", ""):
            self.words += ["--nli", known_as]
            self.metric_options(known_as, parts)
        if "threshold" in fields:
            self.words += ["--threshold", fields["threshold"]]
            if len(fields["threshold"].lstrip("-0.").replace(".", "")) > 5:
                self.caveats.append(
                    "A signature has six digits of a threshold, and a calibrated one has more: --calibration FILE "
                    "reads what 'metaeval calibrate' wrote."
                )

    def resampling(self, fields: Mapping[str, str]) -> None:
        """Say how intervals were made, where that is not the default."""
        interval: Any = RunConfig().interval
        self.setting("interval.resamples", fields.get("B", interval.resamples), interval.resamples)
        self.setting("interval.seed", fields.get("seed", interval.seed), interval.seed)
        how, _, level = fields.get("interval", "").rpartition("-")
        self.setting("interval.level", level or interval.level, interval.level)
        self.setting("interval.method", how.removeprefix("cluster-") or interval.method, interval.method)

    def protocol_options(self, fields: Mapping[str, str]) -> None:
        """Say the options of the protocol that are not its defaults."""
        name = fields.get("protocol", "")
        if name in registry.names("protocol"):
            for key, option in registry.find("protocol", name).options.items():
                self.setting(f"protocol_options.{name}.{key}", fields.get(key, option.default), option.default)


def of_models(fields: Mapping[str, str]) -> Iterator[str]:
    """What a signature pins of a metric's model and code, and no option says."""
    if "checkpoint" in fields:
        yield (
            f"The model's files have to be those of {fields['checkpoint']}; the options model, revision and folder, "
            "which say where they lie, are not in the signature."
        )
    if "code" in fields:
        yield f"The metric's code has to be that of {fields['code']}."
    if "members" in fields:
        yield "The options of the combined metrics are in the signature as a hash only."
