"""The recipe: the command line that makes a signature's number again, and what the signature cannot tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from metaeval import registry
from metaeval.config import RunConfig, variants
from metaeval.errors import UserError
from metaeval.experiment.explaining.meanings import CHUNKS, DATA, SCORE_FILE, metric_parts
from metaeval.experiment.job import find_dataset
from metaeval.experiment.metrics import load_metric

_OPTION = re.compile(r",(?=\w+=)")
_NO_METRIC = "overlap"  # a run needs a metric, and a control is a row of any run


@dataclass
class Recipe:
    """A command as its words, and what has to hold beside it."""

    words: list[str]
    caveats: list[str] = field(default_factory=list)

    def setting(self, key: str, value: object, default: object) -> None:
        """Say a setting that is not the default."""
        if str(value) != str(default):
            self.words += ["--set", f"{key}={value}"]


def recipe(fields: Mapping[str, str]) -> Recipe:
    """The command for these fields: only what differs from the defaults is said."""
    if "pipeline" in fields:
        return citation_recipe(fields)
    made = Recipe(["metaeval", "run"])
    _scores(made, fields)
    _data(made, fields)
    _rows(made, fields)
    _protocol(made, fields)
    return made


def citation_recipe(fields: Mapping[str, str]) -> Recipe:
    """The command for a citation pipeline's number."""
    made = Recipe(["metaeval", "cite", "rewrite" if "rewrite" in fields else fields["pipeline"], "FILE"])
    made.caveats.append(f"FILE holds the answers {fields.get('answers', '(not named)')}, by name and content hash.")
    backend = metric_parts(fields.get("backend", "")).get("known_as", "")
    if backend:
        made.words += ["--nli", backend]
        _options(made, backend, metric_parts(fields["backend"]))
    for option, default in (("threshold", ""), ("profile", "paper"), ("units", "sentences")):
        if fields.get(option, default) != default:
            made.words += [f"--{option}", fields[option].removesuffix(" items")]
    if fields.get("premise", "joint") != "joint":
        made.words += ["--premise", "chunks"]
    if "parser" in fields and not fields["parser"].startswith("small"):
        made.words += ["--parser", fields["parser"].split(" ")[0]]
    made.setting("interval.resamples", fields.get("B", "1000"), 1000)
    made.setting("interval.seed", fields.get("seed", "0"), 0)
    made.caveats.extend(_of_models(fields))
    return made


def _scores(made: Recipe, fields: Mapping[str, str]) -> None:
    name = fields.get("metric", "")
    if name.endswith(SCORE_FILE) or fields.get("unit") == "rating":
        made.words = ["metaeval", "evaluate"]
        if "file" in fields:
            made.words.append("FILE")
            made.caveats.append(
                f"FILE is the score file of {name.removesuffix(SCORE_FILE)!r} with the hash {fields['file']}."
            )
        return
    parts = metric_parts(name)
    known_as = parts.get("known_as", "")
    made.words += ["-m", known_as or _NO_METRIC]
    if "control" in fields:
        made.caveats.append(
            f"The control's row, {fields['control']!r}, stands in the table, CSV and JSON of a run with any metric."
        )
    elif not known_as:
        made.caveats.append(f"The metric cannot be read from {name!r}.")
    else:
        _options(made, known_as, parts)
    made.caveats.extend(_of_models(fields))


def _options(made: Recipe, name: str, parts: Mapping[str, str]) -> None:
    try:
        metric = load_metric(name, RunConfig())
    except UserError as error:
        made.caveats.append(f"Metric {name!r} cannot be made here as it was: {error}")
        return
    if str(metric.card.version) != parts["version"]:
        made.caveats.append(f"Metric {name!r} is at version {metric.card.version} here: its scores may differ.")
    standard = {key: str(value) for key, value in metric.describe_options().items()}
    for setting in _OPTION.split(parts["options"]) if parts["options"] else ():
        key, _, value = setting.partition("=")
        if key in standard:
            made.setting(f"metric_options.{name}.{key}", value, standard[key])
        else:
            made.caveats.append(f"{setting}: what sets this is not in the signature.")


def _of_models(fields: Mapping[str, str]) -> Iterator[str]:
    if "checkpoint" in fields:
        yield (
            f"The model's files have to be those of {fields['checkpoint']}; the options model, revision and folder, "
            "which say where they lie, are not in the signature."
        )
    if "code" in fields:
        yield f"The metric's code has to be that of {fields['code']}."
    if "members" in fields:
        yield "The options of the combined metrics are in the signature as a hash only."


def _data(made: Recipe, fields: Mapping[str, str]) -> None:
    match = DATA.fullmatch(fields.get("data", ""))
    if match is None:
        made.caveats.append("The data set cannot be read from the signature.")
        return
    name, split = match["name"], match["split"]
    if name not in {*registry.names("dataset"), *variants("datasets")}:
        made.words += ["-d", "jsonl", "--data", "CORPUS"]
        made.caveats.append(
            f"CORPUS is a corpus file that calls itself {name!r} and whose content has the hash {match['hash']}; "
            "'metaeval data list' does not have it."
        )
        return
    dataset, of_variant, _ = find_dataset(name)
    if name != RunConfig().dataset:
        made.words += ["-d", name]
    if split in dataset.files and split != (of_variant or dataset.default_split):
        made.words += ["--split", split]
    if dataset.files.get(split):
        made.caveats.append("The published files are fetched, or read from a folder: --data FOLDER.")
    # A rated set signs its options by their names; elsewhere a field of an option's name is another thing (unit).
    signed = dataset.options.keys() & fields.keys() if fields.get("unit") == "rating" else set()
    for key in sorted(signed):
        made.setting(f"dataset_options.{key}", fields[key], dataset.options[key].default)
    if dataset.options.keys() - signed:
        made.caveats.append("Options of the data set are not in the signature; the hash of what was read is.")


def _rows(made: Recipe, fields: Mapping[str, str]) -> None:
    standard = RunConfig()
    for name, flag, default in (("unit", "-u", standard.unit), ("pool", "--pool", standard.pool)):
        if fields.get(name, default) not in (default, "rating"):
            made.words += [flag, fields[name]]
    if chunks := CHUNKS.fullmatch(fields.get("chunks", "")):
        made.setting("chunk.size", chunks["size"], standard.chunk.size)
        made.setting("chunk.mode", chunks["mode"], standard.chunk.mode)
    threshold = fields.get("evidence", "").removeprefix("jaccard-")
    made.setting("evidence_threshold", threshold or standard.evidence_threshold, standard.evidence_threshold)
    made.setting("aggregate", fields.get("over-chunks", standard.aggregate), standard.aggregate)


def _protocol(made: Recipe, fields: Mapping[str, str]) -> None:
    interval: Any = RunConfig().interval
    name = fields.get("protocol", "")
    if name in registry.names("protocol"):
        made.words += ["-p", name]
        for key, allowed in registry.find("protocol", name).options.items():
            made.setting(f"protocol_options.{name}.{key}", fields.get(key, allowed[0]), allowed[0])
    made.setting("interval.resamples", fields.get("B", interval.resamples), interval.resamples)
    made.setting("interval.seed", fields.get("seed", interval.seed), interval.seed)
    how, _, level = fields.get("interval", "").rpartition("-")
    made.setting("interval.level", level or interval.level, interval.level)
    method = how.removeprefix("cluster-")
    made.setting("interval.method", method or "percentile", getattr(interval, "method", "percentile"))
