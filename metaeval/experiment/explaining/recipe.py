"""The command line that makes a signature's number again, and what has to hold beside it."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval import registry
from metaeval.config import RunConfig
from metaeval.config_files import variants
from metaeval.corpus.dataset import Dataset
from metaeval.errors import UserError
from metaeval.experiment.explaining.citation_recipe import say_citations
from metaeval.experiment.explaining.command_words import DATA, Recipe
from metaeval.experiment.explaining.explain import LABELLED, RUN, command_of
from metaeval.experiment.prepared_run import find_dataset
from metaeval.signature import metric_parts

_ANNOTATORS = "annotators"
"""The analysis that is an option of `evaluate`."""

_DECIDE = "decide"
_ELSEWHERE = {
    "analysis": "compare",
    "by-part": "compare --by",
    "samples": "certify",
    "thresholds-from": "decide --to",
    "target": "calibrate",
}
"""Fields of other commands on scores, by the command."""

_PINNED = {
    "checkpoint": "The model's files have to be those of {}; the options model, revision and folder, which say where "
    "they lie, are not in the signature.",
    "code": "The metric's code has to be that of {}.",
    "members": "The options of the combined metrics are in the signature as a hash only.",
}
"""What a signature pins of a metric's model and code, and no option says."""


def recipe(fields: Mapping[str, str]) -> Recipe:
    """The command for these fields: only what differs from the defaults is said, but for the limits of a gate."""
    command = command_of(fields)
    made = Recipe(["metaeval", *command.split()])
    if command in LABELLED.values():
        _labelled(made, fields)
    elif command == RUN:
        _of_scores(made, fields)
    else:
        say_citations(made, fields)
        made.resampling(fields)
    for name, said in _PINNED.items():
        if name in fields:
            made.note(said.format(fields[name]))
    return made


def _of_scores(made: Recipe, fields: Mapping[str, str]) -> None:
    """Commands on scores: `run`, `evaluate` and `decide`; of each other one, that it makes the number."""
    other = _elsewhere(fields)
    decided = other == _DECIDE
    _scores(made, fields, decided)
    _data(made, fields)
    _rows(made, fields)
    if fields.get("protocol") in registry.names("protocol"):
        made.words += [] if decided else ["-p", fields["protocol"]]
        made.protocol_options(fields)
    made.resampling(fields)
    if fields.get("analysis") == _ANNOTATORS:
        made.words.append("--annotators")
    elif other and not decided:
        made.note(f"'metaeval {other}' makes the number, from the same scores and options.")


def _elsewhere(fields: Mapping[str, str]) -> str:
    """The command that makes the number where it is none of a run's; empty where it is one.

    All rows of a run say how metrics were compared. Sheets of `power` hold the level of its test alone, and those of
    `decide` nothing of a test.
    """
    if command := next((command for name, command in _ELSEWHERE.items() if name in fields), ""):
        return command
    if "protocol" not in fields or "permutations" in fields:
        return ""
    return "power" if "alpha" in fields else _DECIDE if fields["protocol"] == "decision" else ""


def _scores(made: Recipe, fields: Mapping[str, str], decided: bool) -> None:
    """The command and the metric. decided: the command is `decide`, which takes metrics and score files alike."""
    name = fields.get("metric", "")
    if name.endswith("@scores") or fields.get("unit") == "rating":
        made.words = ["metaeval", _DECIDE if decided else "evaluate"]
        if "file" in fields:
            made.words.append("FILE")
            made.note(f"FILE is the score file of {name.removesuffix('@scores')!r} with the hash {fields['file']}.")
        if "score-column" in fields:
            made.words += ["--map", f"score={fields['score-column']}"]
        return
    parts = metric_parts(name)
    known_as = parts.get("known_as", "")
    # A run needs a metric, and a control is a row of any run.
    made.words = ["metaeval", *([_DECIDE] if decided else [RUN, "-m"]), known_as or "overlap"]
    if "control" in fields:
        made.note(f"The control's row, {fields['control']!r}, stands in the table, CSV and JSON of any run.")
    elif not known_as:
        made.note(f"The metric cannot be read from {name!r}.")
    else:
        made.metric_options(known_as, parts)


def _data(made: Recipe, fields: Mapping[str, str]) -> None:
    match = DATA.fullmatch(fields.get("data", ""))
    if match is None:
        made.note("The data set cannot be read from the signature.")
        return
    name, split = match["name"], match["split"]
    if name not in {*registry.names("dataset"), *variants("datasets")}:
        rated = fields.get("unit") == "rating"
        kind, file, what = ("ratings", "RATINGS", "file of ratings") if rated else ("jsonl", "CORPUS", "corpus file")
        made.words += ["-d", kind, "--data", file]
        made.note(
            f"{file} is a {what} that calls itself {name!r} and whose content has the hash {match['hash']}; "
            "'metaeval data list' does not have it."
        )
        if rated:
            _rated_options(made, fields, find_dataset(kind)[0])
        return
    try:
        dataset, of_variant, _ = find_dataset(name)
    except UserError as error:
        made.note(f"Data set {name!r} cannot be read about here: {error}")
        return
    if name != RunConfig().dataset:
        made.words += ["-d", name]
    if split in dataset.files and split != (of_variant or dataset.default_split):
        made.words += ["--split", split]
    if dataset.files.get(split):
        made.note("The published files are fetched, or read from a folder: --data FOLDER.")
    # A rated set signs its options by their names; elsewhere a field of an option's name is another thing (unit).
    signed = _rated_options(made, fields, dataset) if fields.get("unit") == "rating" else set()
    if dataset.options.keys() - signed:
        made.note("Options of the data set are not in the signature; the hash of what was read is.")


def _rated_options(made: Recipe, fields: Mapping[str, str], dataset: Dataset) -> set[str]:
    """Repeat the options of a rated set that the signature holds; their names."""
    signed = dataset.options.keys() & fields.keys()
    if fields.get("analysis") == _ANNOTATORS:
        signed -= {"votes"}  # the hash of the votes that were read, and not the name of their column
    for key in sorted(signed):
        made.setting(f"dataset_options.{key}", fields[key], dataset.options[key].default)
    return signed


def _rows(made: Recipe, fields: Mapping[str, str]) -> None:
    standard = RunConfig()
    for name, flag in (("unit", "-u"), ("pool", "--pool")):
        if fields.get(name, getattr(standard, name)) not in (getattr(standard, name), "rating"):
            made.words += [flag, fields[name]]
    made.chunks(fields.get("chunks", ""))
    if evidence := fields.get("evidence", ""):
        # Signatures of earlier versions name no rule: there was one.
        rule, _, threshold = evidence.rpartition("jaccard-")
        made.setting("evidence.rule", rule.strip(",") or "touched", standard.evidence.rule)
        made.setting("evidence.threshold", threshold, standard.evidence.threshold)
    made.of_run(fields, "over-chunks", "window", "over-limit")


def _labelled(made: Recipe, fields: Mapping[str, str]) -> None:
    """Estimates, gates and claims: what people labelled, or published."""
    if "claim" in fields:
        made.words += ["SCORES", fields["claim"]]
        made.note(f"SCORES are those whose variants have the hash {fields.get('scores', '(not named)')}.")
        return
    made.words.append("FILE")
    made.note(f"FILE holds the citations {fields.get('data', '(not named)')}, by name and content hash.")
    if "gate" in fields:
        made.words.append("GATE")
        made.note(f"GATE is the gate.json whose hash begins with {fields['gate']}.")
    else:
        made.words += ["--labels", "LABELS"]
        made.note(f"LABELS are those with the hash {fields.get('labels', '(not named)')}; FILE may hold them itself.")
        _labelled_metric(made, fields)
        made.chunks(fields.get("chunks", ""))
        made.of_run(fields, "over-chunks")
    for name in ("max-missed", "max-flagged", "target", "promise", "may-fail", "max-unsupported", "pipeline"):
        if name in fields:
            made.words += ["--alpha" if name == "may-fail" else f"--{name}", fields[name]]
    if "candidates" in fields:
        made.words += ["-o", "GATE"]
    if fields.get("estimand", "set") != "set":
        made.words += ["--estimand", fields["estimand"]]
    if level := fields.get("interval", "").removeprefix("ppi-wilson-"):
        made.setting("interval.level", level, RunConfig().interval.level)


def _labelled_metric(made: Recipe, fields: Mapping[str, str]) -> None:
    name = fields.get("metric", "")
    parts = metric_parts(name)
    known_as = parts.get("known_as", "")
    if name.endswith("@scores"):
        made.note(f"{name.removesuffix('@scores')!r} is a file of scores with the hash {fields.get('file', '?')}.")
    made.words += ["-m", fields.get("candidates") or known_as or name.rpartition("@")[0]]
    if known_as:
        made.metric_options(known_as, parts)
