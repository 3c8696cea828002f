"""A command line as its words, and what has to hold beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from metaeval import registry
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.explaining.explain import changed, is_here, prompt_setting, prompt_words, typed
from metaeval.experiment.metrics import load_metric
from metaeval.signature import OF_RUN

DATA = re.compile(r"(?P<name>.+)/(?P<split>[^/@]+)@(?P<hash>[0-9a-f]+)")
"""How a signature names data: its name, split, and the beginning of the content's hash."""

_CHUNKS = re.compile(r"(?P<mode>sentences|whole-sentences|words)-(?P<size>\d+)")
_OPTION = re.compile(r",(?=\w+=)")


@dataclass
class Recipe:
    """A command as its words, and what has to hold beside it."""

    words: list[str]
    caveats: list[str] = field(default_factory=list)

    def note(self, caveat: str) -> None:
        """Say what has to hold."""
        self.caveats.append(caveat)

    def setting(self, key: str, value: object, default: object) -> None:
        """Say a setting that is not the default."""
        if str(value) != str(default):
            self.words += ["--set", f"{key}={value}"]

    def of_run(self, fields: Mapping[str, str], *names: str) -> None:
        """Say the settings of a run that signatures have under these names (`OF_RUN`)."""
        for name in names:
            usual: Any = attrgetter(OF_RUN[name])(RunConfig())
            self.setting(OF_RUN[name], fields.get(name, usual), usual)

    def chunks(self, text: str) -> None:
        """Say how documents are cut."""
        if found := _CHUNKS.fullmatch(text):
            standard = RunConfig().chunk
            self.setting("chunk.size", found["size"], standard.size)
            self.setting("chunk.mode", found["mode"], standard.mode)

    def metric_options(self, name: str, parts: Mapping[str, str]) -> None:
        """Say the options of a metric that are not its defaults; parts: as `metric_parts` reads them."""
        options = _OPTION.split(parts["options"]) if parts["options"] else []
        if registry.is_code("metric", name):
            self.note(
                f"{name!r} is code of somebody's own, which is not run to be explained: read it before you type it."
            )
            for setting in options:
                key, _, value = setting.partition("=")
                self.setting(f"metric_options.{name}.{key}", typed(value), name.partition(":")[2])
            return
        try:
            metric = load_metric(name, None)
        except UserError as error:
            self.note(f"Metric {name!r} cannot be made here as it was: {error}")
            return
        if str(metric.card.version) != parts["version"]:
            self.note(f"Metric {name!r} is at version {metric.card.version} here: its scores may differ.")
        standard = {key: str(value) for key, value in metric.describe_options().items()}
        for setting in options:
            key, _, value = setting.partition("=")
            if key not in standard:
                self.note(f"{setting}: what sets this is not in the signature.")
            elif value != standard[key]:
                self.words += ["--set", f"metric_options.{name}.{key}={typed(value)}"]

    def choices(self, given: Mapping[str, str], defaults: Mapping[str, str], prefix: str = "") -> None:
        """Say the choices that are not the default, each behind --set, and which prompts are not those here."""
        for name, value in changed(given, defaults).items():
            if name not in ("model", "base_url"):
                self.words += ["--set", f"{prefix}{name}={value}"]
        for name, value in given.items():
            if prompt_words(name, value) and not is_here(name, value):
                setting = prompt_setting(name)
                told = f": a file of one's own (--set {setting}=FILE), or another version's" if setting else ""
                wording = value.partition("@")[2] or value
                self.note(f"The prompt {name} has to be the wording {wording}{told}.")

    def resampling(self, fields: Mapping[str, str]) -> None:
        """Say how intervals and tests were made, where these are not the defaults."""
        interval: Any = RunConfig().interval
        resamples = fields.get("B", fields.get("resamples", interval.resamples))
        self.setting("interval.resamples", resamples, interval.resamples)
        self.of_run(fields, "seed")
        how, _, level = fields.get("interval", fields.get("level", "")).rpartition("-")
        self.setting("interval.level", level or interval.level, interval.level)
        # A stack of metrics is learnt anew in each resample, whatever the setting.
        method = "percentile" if fields.get("analysis") == "complementarity" else interval.method
        self.setting("interval.method", how.removeprefix("cluster-") or method, method)
        self.setting("interval.fewest", fields.get("fewest", f"{interval.fewest:g}"), f"{interval.fewest:g}")
        self.of_run(fields, "permutations", "alpha", "family")

    def protocol_options(self, fields: Mapping[str, str]) -> None:
        """Say the options of the protocol that are not its defaults."""
        name = fields.get("protocol", "")
        if name in registry.names("protocol"):
            for key, option in registry.find("protocol", name).options.items():
                self.setting(f"protocol_options.{name}.{key}", fields.get(key, option.default), option.default)
