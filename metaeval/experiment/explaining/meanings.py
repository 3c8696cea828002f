"""What each field of a signature means, in a plain sentence, and the setting that changes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from metaeval import registry
from metaeval.experiment.explaining.citing_meanings import citing_meaning
from metaeval.experiment.explaining.commands import RUN


@dataclass(frozen=True)
class Meaning:
    """A field's meaning for one value, and the setting of a run that changes it (empty: no setting does)."""

    text: str
    setting: str = ""


DATA = re.compile(r"(?P<name>.+)/(?P<split>[^/@]+)@(?P<hash>[0-9a-f]+)")
METRIC = re.compile(r"(?P<known_as>.+?)(?:=(?P<base>[\w.-]+))?@v(?P<version>\d+)(?:\((?P<options>.*)\))?")
CHUNKS = re.compile(r"(?P<mode>sentences|whole-sentences|words)-(?P<size>\d+)")
SCORE_FILE = "@scores"
PUBLISHED = "@published"

_MODES = {
    "sentences": "whole sentences packed in order; a longer sentence is cut",
    "whole-sentences": "whole sentences packed in order; a longer sentence is a chunk of its own",
    "words": "fixed windows, wherever sentences end",
}
_UNITS = {
    "chunk": "one row for each statement and chunk of a document that it cites",
    "citation": "one row for each statement and cited document; its score is made from the document's chunks",
    "rating": "one row for each text that people rated",
}
_OVER = {"max": "the best over its document's chunks", "mean": "the mean over its document's chunks"}
_CUT = {"longest": "the longer of the two texts is cut", "both": "both texts are cut"}


def meaning(name: str, value: str, command: str = RUN, protocol: str = "") -> Meaning | None:
    """What a field of this name and value says in a signature of this command; None for one that is not known here.

    protocol: the signature's, whose options come first; those of other protocols come last.
    """
    own = citing_meaning(name, value, command) if command != RUN else None
    if own is not None:
        return Meaning(*own)
    if name == "protocol":
        known = value in registry.names("protocol")
        return Meaning((known and registry.find("protocol", value).about) or value, "protocols")
    if (said := _option(name, value, [protocol])) is not None:
        return said
    found = _BY_VALUE.get(name)
    if found is not None:
        return found(value)
    if name in _FIXED:
        text, setting = _FIXED[name]
        return Meaning(text.format(value=value), setting)
    return _option(name, value, registry.names("protocol"))


def _option(name: str, value: str, protocols: Sequence[str]) -> Meaning | None:
    """What a value of an option means, in the words of the first of these protocols that has the option."""
    for owner in protocols:
        options = registry.find("protocol", owner).options if owner in registry.names("protocol") else {}
        if name in options:
            return Meaning(options[name].values.get(value) or value, f"protocol_options.{owner}.{name}")
    return None


def metric_parts(value: str) -> Mapping[str, str]:
    """A metric field's parts: known_as, base, version, options; empty where it is a score file's or unreadable.

    `base` is the registered metric behind a variant's name, and the name itself where there is no variant.
    """
    match = None if value.endswith((SCORE_FILE, PUBLISHED)) else METRIC.fullmatch(value)
    if match is None:
        return {}
    parts = match.groupdict(default="")
    return {**parts, "base": parts["base"] or parts["known_as"]}


def _data(value: str) -> Meaning:
    match = DATA.fullmatch(value)
    if match is None:
        return Meaning(f"the data: {value}", "dataset, split, data, dataset_options")
    return Meaning(
        f"split {match['split']!r} of {match['name']}; the content that was read has the hash {match['hash']}",
        "dataset, split, data, dataset_options",
    )


def _chunks(value: str) -> Meaning:
    match, setting = CHUNKS.fullmatch(value), "chunk.size, chunk.mode"
    if match is None:
        return Meaning(f"documents are cut into chunks by the rule {value}", setting)
    return Meaning(f"chunks of at most {int(match['size']):,} words: {_MODES[match['mode']]}", setting)


def _sentences(value: str) -> Meaning:
    kinds = {"published": "the split that the data set publishes"}
    said = " and ".join(kinds.get(part, f"the splitter {part}") for part in value.split("+"))
    return Meaning(f"the sentences that chunks are packed from: {said}")


def _evidence(value: str) -> Meaning:
    return Meaning(
        "evidence given as text goes to the document sentence of highest Jaccard similarity of word sets, at least "
        f"{value.removeprefix('jaccard-')}; evidence given as sentence indices needs no rule",
        "evidence_threshold",
    )


def _pool(value: str) -> Meaning:
    more = value.removeprefix("bm25:")
    added = f", and the {more} best chunks of all other documents by BM25, as level none" if more != value else ""
    return Meaning(f"a statement's candidates for retrieval: the chunks of the documents that it cites{added}", "pool")


def _metric(value: str) -> Meaning:
    if value.endswith(SCORE_FILE):
        return Meaning(
            f"scores called {value.removesuffix(SCORE_FILE)!r}, read from a file and made elsewhere", "metrics"
        )
    if value.endswith(PUBLISHED):
        return Meaning(f"scores of {value.removesuffix(PUBLISHED)!r} that were published with the data", "dataset")
    parts = metric_parts(value)
    if not parts:
        return Meaning(f"the metric: {value}", "metrics, metric_options")
    name, base = parts["known_as"], parts["base"]
    variant = f" (a variant of {base})" if name != base else ""
    options = f", with the options {parts['options']}" if parts["options"] else ", which has no options"
    return Meaning(f"{name}{variant}, version {parts['version']} of its code{options}", "metrics, metric_options")


def _interval(value: str) -> Meaning:
    how, _, level = value.rpartition("-")
    named = {"cluster-percentile": "percentile", "cluster-bca": "BCa (bias-corrected and accelerated)"}.get(how, how)
    return Meaning(
        f"{named} interval at level {level} from a bootstrap that draws whole groups", "interval.level, interval.method"
    )


def _resamples(value: str) -> Meaning:
    return Meaning("no resamples, so no intervals" if value == "0" else f"{value} resamples", "interval.resamples")


def _chosen(known: Mapping[str, str], setting: str) -> Callable[[str], Meaning]:
    return lambda value: Meaning(known.get(value, value), setting)


_BY_VALUE: Mapping[str, Callable[[str], Meaning]] = {
    "data": _data,
    "unit": _chosen(_UNITS, "unit"),
    "chunks": _chunks,
    "sentences": _sentences,
    "evidence": _evidence,
    "pool": _pool,
    "over-chunks": lambda value: Meaning(f"a citation's score is {_OVER.get(value, value)}", "aggregate"),
    "metric": _metric,
    "truncation": lambda value: Meaning(
        f"beyond the input limit {_CUT.get(value, f'the {value} is cut')}", "(the metric's)"
    ),
    "interval": _interval,
    "B": _resamples,
}

_FIXED: Mapping[str, tuple[str, str]] = {
    "levels": ("the number that each human label stands for: {value}", ""),
    "file": ("the score file's bytes have a SHA-256 that begins so: {value}", "metrics=scores:FILE"),
    "scores": ("the scores that were published with the data have a SHA-256 that begins so: {value}", ""),
    "thresholds-from": ("the thresholds were learnt on other data: {value}", "metaeval decide --to"),
    "target": ("a citation counts as supporting from this level on: {value}", "metaeval calibrate --target"),
    "calibration": ("scores become probabilities by {value} regression on other folds", ""),
    "analysis": ("what is looked at, beyond the protocols: {value}", "metaeval compare"),
    "by-part": ("the rows are taken apart by {value}", "metaeval compare --by"),
    "partitions": ("folds are cut in {value} ways, and the values are means over them", ""),
    "gain-resamples": ("the gain's interval is from {value} resamples, everything learnt anew in each", ""),
    "alpha": ("two metrics differ where the adjusted p is at most {value}", "comparison.alpha"),
    "gold": ("the rating that is the gold: {value}", "dataset_options.gold"),
    "subset": ("only the texts of this part: {value}", "dataset_options.subset"),
    "control": ("a score that costs nothing, for comparison: {value}", "controls"),
    "checkpoint": ("the model, and the hash of the files that were read: {value}", "metric_options"),
    "dtype": ("the number type that the model computes in: {value}", "metric_options (dtype)"),
    "template": ("how statement and source become one input: {value}", ""),
    "splitter": ("what cuts texts into sentences for the metric: {value}", ""),
    "code": ("where the metric's own code stands, and its hash: {value}", ""),
    "worker": ("the program that scored, and the version that it gives itself: {value}", "metrics=worker:COMMAND"),
    "files": ("the files that the worker's command names, with their hashes: {value}", ""),
    "members": ("the hash of the identities of the metrics that are combined: {value}", "metrics=ensemble:A+B"),
    "over-sources": ("the score also depends on the job's other sources, whose hash begins with {value}", ""),
    "by": ("what a resample draws whole: each {value} of rows", ""),
    "seed": ("the resamples are drawn from seed {value}", "interval.seed"),
    "metaeval": ("version {value} of metaeval", ""),
    "numpy": ("version {value} of NumPy", ""),
    "scipy": ("version {value} of SciPy", ""),
}
