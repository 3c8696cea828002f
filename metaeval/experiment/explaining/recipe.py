"""The recipe: the command line that makes a signature's number again, and what the signature cannot tell."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval import registry
from metaeval.config import RunConfig, variants
from metaeval.experiment.explaining.citing_recipe import citing_recipe
from metaeval.experiment.explaining.command_line import Recipe, of_models
from metaeval.experiment.explaining.commands import RUN, command_of
from metaeval.experiment.explaining.meanings import CHUNKS, DATA, SCORE_FILE, metric_parts
from metaeval.experiment.prepared_run import find_dataset

_NO_METRIC = "overlap"  # a run needs a metric, and a control is a row of any run
_ELSEWHERE = {
    "analysis": "compare",
    "by-part": "compare --by",
    "calibration": "decide",
    "thresholds-from": "decide --to",
    "target": "calibrate",
}
"""Fields of other commands on scores, by the command."""


def recipe(fields: Mapping[str, str]) -> Recipe:
    """The command for these fields: only what differs from the defaults is said."""
    if command_of(fields) != RUN:
        return citing_recipe(fields)
    made = Recipe(["metaeval", "run"])
    _scores(made, fields)
    _data(made, fields)
    _rows(made, fields)
    _protocol(made, fields)
    for name, command in _ELSEWHERE.items():
        if name in fields:
            made.caveats.append(
                f"With {name} it is 'metaeval {command}' that makes the number, from the same scores and with "
                "the same options."
            )
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
        made.metric_options(known_as, parts)
    made.caveats.extend(of_models(fields))


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
    if fields.get("protocol") in registry.names("protocol"):
        made.words += ["-p", fields["protocol"]]
        made.protocol_options(fields)
    made.resampling(fields)
