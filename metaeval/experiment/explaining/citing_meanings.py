"""What the fields mean that the citation commands put into signatures, and the option that changes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metaeval.experiment.citing.meta.ratings import MetaOptions
from metaeval.experiment.explaining.commands import META
from metaeval.experiment.explaining.option_words import option_words

_PIPELINES: Mapping[str, str] = {
    "alce": "ALCE: sentences are claims, and their citations are held against them",
    "aliice": "ALiiCE: each citation group gets the claim that the sentence's tree has for it",
    "scifi": "SCiFi: sentences are taken apart into facts, and each is held against its nearest citation",
    "citeeval": "CiteEval: a chat model edits and rates the citations of statements",
    "autoais": "AutoAIS of CiteEval's statements: a metric's verdicts on their citations",
    "scores": "none: the scores were made elsewhere and read from a file",
    "citeeval-refit": "CiteEval's edit distance, its coefficients fitted to people's ratings",
}
_MEASURES: Mapping[str, str] = {
    "recall": "recall: the share of claims that their citations support",
    "precision": "precision: the share of citations that are needed",
    "f1": "F1 of recall and precision",
    "entailment": "citation entailment: the mean value of facts under their citations",
    "auto": "CiteEval-Auto, of rating and edit distance",
    "rating": "the chat model's rating",
    "edits": "the edit distance, from what the chat model would change",
}
_SCENARIOS: Mapping[str, str] = {
    "full": "all statements count (else cited: those with citations)",
    "cited": "statements with citations count (else full: all)",
}
_BASELINES: Mapping[str, str] = {
    "autoais": "a baseline: AutoAIS, by the decisions of a metric",
    "lqac": "a baseline: LongCite's recall and precision, asked of the chat model",
    "attrscore": "a baseline: AttrScore's labels of citations",
}
_AGGREGATIONS: Mapping[str, str] = {
    "statements": "a response is the mean over its statements, as in CiteEval (every run gives both)",
    "response": "a response is made from all its citations, as in LongCite (every run gives both)",
}
_PROFILES: Mapping[str, str] = {
    "paper": "the paper's definitions (else released: as the published code computes)",
    "released": "as the published code computes (else paper: the paper's definitions)",
    "expanded": "the paper's, with claims that stand alone (else paper or released)",
}
_STRATEGIES: Mapping[str, str] = {
    "truncated": "the model was shown the beginning of every document (else summary or two-stage)",
    "summary": "the model was shown a summary of each document (else truncated or two-stage)",
    "two-stage": "the model chose documents, and was shown those in full (else truncated or summary)",
}
_CLAIMS: Mapping[str, str] = {
    "cut": "claims that were cut out of a sentence were written again",
    "tree": "every claim that a tree gave was written again, whole sentences as well",
}

_OF: Mapping[str, tuple[Mapping[str, str], str]] = {
    "pipeline": (_PIPELINES, "metaeval cite NAME; cite meta --pipelines"),
    "measure": (_MEASURES, ""),
    "scenario": (_SCENARIOS, "--scenario"),
    "baseline": (_BASELINES, "--nli, --baselines"),
    "aggregation": (_AGGREGATIONS, ""),
    "profile": (_PROFILES, "--profile"),
    "strategy": (_STRATEGIES, "--strategy"),
    "claims": (_CLAIMS, "--whole"),
}

_FIXED: Mapping[str, tuple[str, str]] = {
    "questions": ("the file of questions with their documents, and the hash of its content: {value}", "FILE"),
    "column": ("the column that stands for this measure, pipeline:measure:judge: {value}", ""),
    "parser": ("what parses the sentences: {value}; any other gives other claims", "--parser"),
    "units": ("what one claim is made of: {value} (sentences, or list items)", "--units"),
    "reader": ("the model that answers for QA-EM and QA-F1, and the hash of its files: {value}", "--reader"),
    "mauve": ("the model behind MAUVE, and the hash of its files: {value}", "--mauve-model"),
    "backend": ("the metric that gives the verdicts: {value}; any other could ('metaeval metrics list')", "--nli"),
    "model": ("the chat model that was asked: {value}", "--model"),
    "answered_as": ("the name that the replies came under: {value}; a server may answer by another model", "--model"),
    "rounds": ("edits were done and judged again at most {value} times", "--rounds"),
    "folds": ("coefficients are tried on groups held out, in {value} folds", ""),
    "resamples": ("{value} resamples", "interval.resamples"),
    "level": ("the level of the intervals: {value}", "interval.level"),
    "file": ("the file of scores, and the hash of its bytes: {value}", "--scores"),
    "seed": ("the resamples are drawn from seed {value}; any other moves the intervals alone", "interval.seed"),
    "otherwise": ("", "otherwise"),
}


def citing_meaning(name: str, value: str, command: str) -> tuple[str, str] | None:
    """What a field says in a signature of this command, and what sets it; None for one that is not the command's own.

    A field that holds several choices says here that it does; each of them has words of its own.
    """
    if command == META and name == "data":
        return _rated(value)
    found = _found(name, value)
    if command != META or name not in MetaOptions.__dataclass_fields__:
        return found
    text = found[0] if found else option_words(name, value)
    return text, name  # cite meta has no flag for it


def _found(name: str, value: str) -> tuple[str, str] | None:
    if name in _OF:
        known, setting = _OF[name]
        return known.get(value, value), setting
    if name in _BY_VALUE:
        return _BY_VALUE[name](value)
    if name not in _FIXED:
        return None
    text, setting = _FIXED[name]
    return text.format(value=value) or option_words(name, value), setting


def _answers(value: str) -> tuple[str, str]:
    name, _, hashed = value.rpartition("@")
    return f"the file of answers called {name}; what was read of it has the hash {hashed}", "FILE"


def _rated(value: str) -> tuple[str, str]:
    name, _, rest = value.rpartition("/")
    level, _, hashed = rest.partition("@")
    return f"the rated {level} of the file called {name}; ids, ratings and texts have the hash {hashed}", "FILE"


def _options(value: str) -> tuple[str, str]:
    if value in ("as the profile", "paper"):
        return "every option of the pipeline is as the profile has it", "--set NAME=VALUE"
    return "options of the pipeline, one by one:", ""


def _facts(value: str) -> tuple[str, str]:
    if not value.startswith("aliice claims"):
        return "the facts were made by a chat model (else by a parser); it was asked so:", ""
    made = value.replace("aliice", "ALiiCE")
    return f"the facts are {made}, with no model (else by a chat model)", "--model, --parser"


def _threshold(value: str) -> tuple[str, str]:
    if value == "soft":
        return "nothing is decided: scores from 0 to 1 are degrees of support (else a number)", "--threshold"
    return f"supported from the score {value} on (else another number, or soft)", "--threshold, --calibration"


def _premise(value: str) -> tuple[str, str]:
    if value == "joint":
        return "the passages of a citation group are read as one text (else the best of its chunks)", "--premise"
    return f"the best chunk of the passages decides, {value} (else joint: one text)", "--premise, chunk.size"


def _splitter(value: str) -> tuple[str, str]:
    if value == "as published":
        return "the statements are those that people judged, as they were published", ""
    other = "the rules" if value.startswith("nltk") else "NLTK's punkt"
    return f"what cuts texts into sentences: {value} (else {other})", "--splitter"


def _coefficients(value: str) -> tuple[str, str]:
    return f"the edit distance's, fitted to other ratings, by their hash: {value} (else published)", "--coefficients"


_BY_VALUE: Mapping[str, Callable[[str], tuple[str, str]]] = {
    "answers": _answers,
    "options": _options,
    "facts": _facts,
    "threshold": _threshold,
    "premise": _premise,
    "splitter": _splitter,
    "coefficients": _coefficients,
    "prompts": lambda value: ("what the chat model is asked, by the hashes of the wordings:", ""),
    "asking": lambda value: ("how the chat model is asked:", ""),
    "shown": lambda value: ("how much of the documents a request shows:", ""),
    "rewrite": lambda value: ("the chat model that wrote the claims again, asked so:", ""),
}

COMPOSITE = frozenset({"options", "facts", "prompts", "asking", "shown", "rewrite"})
"""Fields that hold several choices."""


def choice_setting(field: str, name: str, fields: Mapping[str, str]) -> str:
    """What sets one choice of a composite field."""
    if name == "model":
        return "--model"
    if name == "base_url":
        return "--base-url"
    if field == "rewrite":
        return f"rewrite.{name}"
    if field == "asking" and name == "max_tokens" and fields.get("baseline"):
        return "baseline_max_tokens"
    return name
