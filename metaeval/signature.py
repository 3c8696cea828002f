"""The signature: one line that pins every choice behind a number. Same signature, same digits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version

_METRIC = re.compile(r"(?P<known_as>.+?)(?:=(?P<base>[\w.-]+))?@v(?P<version>\d+)(?:\((?P<options>.*)\))?")
_CHOICE = re.compile(r"(?P<name>\w+)[=@](?P<value>.*)", re.DOTALL)
_NEXT = re.compile(r",\s*(?=\w+[=@])")

COMPOSITE: Mapping[str, str] = {
    "options": "options of the pipeline; as the profile: none is changed",
    "facts": "what makes the facts: ALiiCE's claims with a parser, or a chat model that is asked so",
    "prompts": "what the chat model is asked, by the hashes of the prompts",
    "asking": "how the chat model is asked",
    "shown": "how much of the documents a request shows",
    "rewrite": "the chat model that rewrites claims, and how it is asked",
}
"""Fields that hold several choices (name=value,name=value), with what they say."""

OF_RUN: Mapping[str, str] = {
    "unit": "unit",
    "chunks": "chunk.size chunk.mode",
    "evidence": "evidence.rule evidence.threshold",
    "pool": "pool",
    "over-chunks": "aggregate",
    "over-limit": "over_limit",
    "cited": "cited",
    "window": "evidence.window",
    "evidence-place": "evidence.place",
    "control": "controls",
    "alpha": "comparison.alpha",
    "test": "comparison.test",
    "permutations": "comparison.permutations",
    "family": "comparison.family",
    "interval": "interval.method interval.level",
    "fewest": "interval.fewest",
    "B": "interval.resamples",
    "resamples": "interval.resamples",
    "level": "interval.level",
    "seed": "interval.seed",
}
"""Fields that state settings of a run, with the names of these settings."""

FACTS: Mapping[str, tuple[str, str]] = {
    "data": ("data set, split, and the hash of the content that was read", "dataset, split, data, dataset_options"),
    "sentences": ("sentence splitter of the chunks; published: the split that the data set publishes", ""),
    "metric": (
        "metric (a variant's name=the metric behind it), version of its code, and options; @scores: read from a file, "
        "@published: published with the data",
        "metrics, metric_options",
    ),
    "truncation": ("text that is cut beyond the input limit: the longest of the two, or both", "(the metric's)"),
    "levels": ("number that each human label stands for", ""),
    "file": ("the file of scores, and the SHA-256 of its content", "metrics=scores:FILE; cite meta --scores"),
    "score-column": ("column of the file that holds the scores", "--map score=COLUMN"),
    "scores": ("SHA-256 of the scores that were published with the data", ""),
    "thresholds-from": ("data from which the thresholds were learnt", "metaeval thresholds --to"),
    "target": (
        "lowest level at which a citation counts as supporting",
        "metaeval thresholds --learn --target; gate fit --target",
    ),
    "calibration": ("regression that turns scores into probabilities, fitted on other folds", ""),
    "labels": ("SHA-256 of people's labels and of how their items were drawn", "--labels"),
    "design": ("what was drawn as one: item, or whole answer", ""),
    "estimand": ("what shares are of: this set of answers, or the process that makes such answers", "--estimand"),
    "candidates": ("metrics of a gate, in the order in which they are tried", "metaeval gate fit --metrics"),
    "promise": ("what a gate promises: a confidence, or a mean", "metaeval gate fit --promise"),
    "max-missed": ("most unsupported citations that a gate may miss", "metaeval gate fit --max-missed"),
    "max-flagged": ("most supported citations that a gate may flag", "metaeval gate fit --max-flagged"),
    "max-unsupported": ("most unsupported citations that a release may have", "metaeval gate --max-unsupported"),
    "may-fail": ("chance at which a gate's promise may fail", "metaeval gate fit --alpha"),
    "gate": ("the gate, by its hash", "metaeval gate check FILE GATE"),
    "analysis": ("what is looked at, beyond the protocols", "metaeval compare; evaluate --annotators"),
    "by-part": ("parts that the rows are divided into", "metaeval compare --by"),
    "samples": ("samples of the simulation", "metaeval plan --certify --set runs"),
    "planned": (
        "value and correlation inside a group of a metric without scores",
        "metaeval plan --value, --set icc",
    ),
    "partitions": ("partitions into folds, over which values are averaged", ""),
    "gain-resamples": ("resamples of the gain's interval, everything learnt anew in each", ""),
    "gold": ("rating that is the gold", "dataset_options.gold"),
    "subset": ("part of the texts", "dataset_options.subset"),
    "checkpoint": ("the model, and the hash of the files that were read", "metric_options"),
    "dtype": ("number type that the model computes in", "metric_options (dtype)"),
    "template": ("how statement and source become one input", ""),
    "splitter": ("sentence splitter", ""),
    "alce": ("the profile of the ALCE columns, and the options that differ from it", "alce's options, with --set"),
    "code": ("where the metric's own code is, and its hash; or identity:, and what it declares", ""),
    "worker": ("program that scored, and the version that it reports", "metrics=worker:COMMAND"),
    "files": ("files that the worker's command names, with their hashes", ""),
    "members": ("hash of the identities of the combined metrics", "metrics=ensemble:A+B"),
    "reads": ("what the metric read of a page: pages, or chunks where it has an input limit", "over_limit"),
    "over-sources": ("hash of the job's other sources, on which the score also depends", ""),
    "by": ("what is sampled: groups of rows, and systems or annotators", "interval.cluster, interval.annotators"),
    "metaeval": ("version of metaeval", ""),
    "numpy": ("version of NumPy", ""),
    "scipy": ("version of SciPy", ""),
    # Of citation pipelines.
    "answers": ("file of answers, by name and the hash of what was read", "FILE"),
    "questions": ("file of questions with their documents, by name and content hash", "FILE"),
    "pipeline": ("citation pipeline", "metaeval cite NAME; cite meta --pipelines"),
    "measure": ("measure of the pipeline", ""),
    "column": ("column of this measure, pipeline:measure:judge", ""),
    "backend": ("metric that gives the verdicts", "--nli"),
    "baseline": ("baseline on the same statements", "--nli, --baselines"),
    "aggregation": (
        "value of a response: the mean over its statements (as in CiteEval), or made from all its citations (as in "
        "LongCite); every run gives both",
        "",
    ),
    "answered_as": ("name that the replies came under; a server may answer by another model", "--model"),
    "claims": ("claims that are rewritten: those cut out of a sentence, or all of the tree's", "whole"),
    "mauve": ("model behind MAUVE, and the hash of its files", "mauve_model"),
    "folds": ("folds of groups on which coefficients are tried", ""),
}
"""Fields that state no setting of a run: what each says, and the option of a command that sets it ("": none)."""


def signature(fields: Mapping[str, object]) -> str:
    """Return fields as name:value, in their order, joined by bars; bars and line breaks in a value become slashes."""
    return "|".join(f"{name}:{_clean(value)}" for name, value in fields.items())


def resampled_fields(
    level: float, resamples: int, seed: int, method: str = "percentile", fewest: float = 6
) -> dict[str, object]:
    """Return the signature fields of cluster intervals. fewest: effective groups that an interval of method t needs."""
    least = {"fewest": f"{fewest:g}"} if method == "t" else {}
    return {"interval": f"cluster-{method}-{level}", **least, "by": "group", "B": resamples, "seed": seed}


def interval_parts(value: str) -> tuple[str, str]:
    """Return (method, level) of an `interval` field, cluster-METHOD-LEVEL; method is "" if it holds only the level."""
    method, _, level = value.rpartition("-")
    return method.removeprefix("cluster-"), level


def versions(*packages: str) -> dict[str, str]:
    """Return the installed version of each package, by package, as signature fields."""
    return {package: version(package) for package in packages}


def parse(text: str) -> dict[str, str]:
    """Return the fields of a signature, in order; the inverse of `signature`, with cleaned values.

    A value may hold colons, a name may not. Raises ValueError, in one sentence, for text that is not a signature.
    """
    fields: dict[str, str] = {}
    for part in text.strip().split("|"):
        name, colon, value = part.partition(":")
        name = name.strip()
        if not name or not colon:
            raise ValueError(f"a signature is name:value fields with bars between them, and {part!r} is not one")
        if name in fields:
            raise ValueError(f"a signature has each field once, and {name!r} stands in it twice")
        fields[name] = _clean(value)
    return fields


def differences(first: Mapping[str, str], other: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Return the fields whose values differ, with both values; None for a field that only one of the two has."""
    names = dict.fromkeys([*first, *other])
    return {name: (first.get(name), other.get(name)) for name in names if first.get(name) != other.get(name)}


def _clean(value: object) -> str:
    return " ".join(str(value).replace("|", "/").split())


def metric_parts(value: str) -> Mapping[str, str]:
    """Return the parts of a metric field: known_as, base, version, options; empty for score files and unreadable text.

    `base` is the registered metric behind a variant's name, and the name itself where there is no variant.
    """
    match = None if value.endswith(("@scores", "@published")) else _METRIC.fullmatch(value)
    if match is None:
        return {}
    parts = match.groupdict(default="")
    return {**parts, "base": parts["base"] or parts["known_as"]}


def read_choices(text: str) -> dict[str, str]:
    """Return the choices in a field by name, in order (`name=value,name=value`); empty for other text.

    Values may hold commas: a choice ends at a comma outside brackets with a further name behind it.
    """
    matches = [_CHOICE.fullmatch(part) for part in _parts(text)]
    return {match["name"]: match["value"] for match in matches if match} if all(matches) else {}


def _parts(text: str) -> Iterator[str]:
    start = 0
    for match in _NEXT.finditer(text):
        before = text[start : match.start()]
        if sum(map(before.count, "([{")) == sum(map(before.count, ")]}")):
            yield before
            start = match.end()
    yield text[start:]
