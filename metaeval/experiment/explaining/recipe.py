"""The command line that makes a signature's number again, and what has to hold beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from metaeval import registry
from metaeval.citation.aliice.rewriting import RewriteOptions
from metaeval.citation.chat import ChatOptions
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.values import baseline_options
from metaeval.citation.generation.generate import GenerationOptions
from metaeval.citation.human.model import MetaOptions
from metaeval.citation.scifi.model import ScifiOptions
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.config import RunConfig
from metaeval.config_files import variants
from metaeval.corpus.dataset import Dataset
from metaeval.errors import UserError
from metaeval.experiment.explaining.explain import (
    GENERATE,
    LABELLED,
    META,
    REFIT,
    RUN,
    changed,
    command_of,
    defaults_of,
    is_here,
    prompt_setting,
    prompt_words,
    typed,
)
from metaeval.experiment.metrics import load_metric
from metaeval.experiment.prepared_run import find_dataset
from metaeval.signature import OF_RUN, metric_parts, read_choices

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
        name = fields.get("metric", "")
        parts = metric_parts(name)
        known_as = parts.get("known_as", "")
        if name.endswith("@scores"):
            made.note(f"{name.removesuffix('@scores')!r} is a file of scores with the hash {fields.get('file', '?')}.")
        made.words += ["-m", fields.get("candidates") or known_as or name.rpartition("@")[0]]
        if known_as:
            made.metric_options(known_as, parts)
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


_OPTIONS = ("profile", "units", "premise", "parser", "scenario", "rounds", "strategy")
"""Options that citation pipelines sign under the options' own names."""

_REFIT = ("profile", "options", "prompts", "asking")
_ASKED = ("asking", "facts", "rewrite")
"""Fields that say how a chat model was asked."""


def say_citations(made: Recipe, fields: Mapping[str, str]) -> None:
    """The citation pipelines, and `generate`."""
    command, pipeline = command_of(fields), fields.get("pipeline", "")
    made.words.append("FILE")
    if command == META:
        _rated(made, fields)
    else:
        kind = "questions" if command == GENERATE else "answers"
        made.note(f"FILE holds the {kind} {fields.get(kind, '(not named)')}, by name and content hash.")
    if "rounds" in fields or command == GENERATE:
        made.words += ["-o", "ANSWERS"]
    _judge(made, fields)
    asked = {name: read_choices(fields[name]) for name in _ASKED if name in fields}
    if pipeline.startswith("citeeval") or "model" in fields or any(asked.values()):
        _chat(made, fields, next((one["model"] for one in asked.values() if "model" in one), "NAME"))
    _options(made, fields)
    if fields.get("claims") == "tree":
        made.words.append("--whole")
    if "coefficients" in fields:
        made.words += ["--coefficients", "FITTED"]
        made.note(f"FITTED is the fitted.json of 'metaeval cite refit' that is {fields['coefficients']}.")
    _choices(made, fields, asked)
    if measures := [measure for one, measure in (("reader", "qa_em"), ("mauve", "mauve")) if one in fields]:
        made.words += ["--measures", ",".join(measures)]
        models = " and ".join(fields[one] for one in ("reader", "mauve") if one in fields)
        made.note(f"The models have to be {models} (--reader, --mauve-model).")
    _splitter(made, fields.get("splitter", ""), command)
    if command == META:
        for name, default in MetaOptions().rules.items():
            made.setting(name, fields.get(name, default), default)
        if "protocol" in fields and fields["protocol"] not in registry.find("pipeline", "meta").defaults["protocols"]:
            made.words += ["--set", f"protocols={fields['protocol']}"]
        made.protocol_options(fields)
    if pipeline == REFIT and (untold := [one for one in _REFIT if one not in fields]):
        made.note(f"The signature does not say: {', '.join(untold)}. The command has the defaults.")


def _rated(made: Recipe, fields: Mapping[str, str]) -> None:
    """The rated answers of a meta-evaluation, and the pipeline that is measured."""
    rated = DATA.fullmatch(fields.get("data", ""))
    if rated is None:
        answers = fields.get("answers", "(not named)")
        made.note(f"FILE holds the rated answers {answers}, by name and the hash of answers and ratings.")
    else:
        made.note(
            f"FILE is the file {rated['name']} of rated answers, whose {rated['split']} have the hash {rated['hash']}; "
            f"the row stands in {rated['split']}/{fields.get('protocol', 'correlation')}.json."
        )
    pipeline = fields.get("pipeline", "")
    if not pipeline:
        made.words += ["--pipelines", "alce", "--nli", "overlap"]  # a control is a row of any run
        made.note(f"The row of {fields.get('control', 'the control')!r} stands in a run with any pipeline.")
    elif pipeline == "scores":
        made.words += ["--scores", "SCORES"]
        made.note(f"SCORES is the file of scores {fields.get('file', '(not named)')}.")
    else:
        made.words += ["--pipelines", pipeline]
    if fields.get("splitter") == "as published":
        made.note("The statements are those that people judged: --human names the file of their judgements.")


def _judge(made: Recipe, fields: Mapping[str, str]) -> None:
    """The metric that gives verdicts, and from which score on; or the baseline that is asked for."""
    parts, baseline = metric_parts(fields.get("backend", "")), fields.get("baseline", "")
    known_as = parts.get("known_as", "")
    if baseline not in ("", "autoais"):
        made.words += ["--baselines", f"{baseline}:{known_as}" if parts else baseline]
    elif parts:
        made.words += ["--nli", known_as]
    if parts:
        made.metric_options(known_as, parts)
    if baseline and parts:
        made.note("The chat model is asked for CiteEval's own values alone: this number is without it.")
    threshold = fields.get("threshold", "")
    # Scores from 0 to 1 are values of facts as they are: soft is what SCiFi does without being told.
    if threshold and not (threshold == "soft" and fields.get("pipeline") == "scifi"):
        made.words += ["--threshold", threshold]
        if len(threshold.lstrip("-0.").replace(".", "")) > 5:
            made.note(
                "A signature has six digits of a threshold, and a calibrated one has more: --calibration FILE "
                "reads what 'metaeval calibrate' wrote."
            )


def _chat(made: Recipe, fields: Mapping[str, str], asked: str) -> None:
    """The chat model; asked: its name where the signature has it in no field of its own."""
    model = fields.get("model", asked)
    made.words += ["--model", model]
    if address := read_choices(fields.get("rewrite", "")).get("base_url"):  # of earlier versions
        made.words += ["--base-url", address]
    else:
        made.note(
            "The server's address (--base-url) is not in the signature; replies that --record kept need none: --replay "
            f"REPLIES for --model {model}."
        )
    answered = fields.get("answered_as", model)
    if answered != model:
        made.note(f"The replies came under the name {answered}, as the server calls the model.")


def _options(made: Recipe, fields: Mapping[str, str]) -> None:
    """The pipeline's own options; `cite meta` takes those of the pipelines that it runs behind --set."""
    usual = defaults_of(GenerationOptions())
    for pipeline in reversed(registry.names("pipeline")):  # the default of the first that has the option counts
        options = registry.find("pipeline", pipeline).options.model_fields
        usual |= {name: str(option.default) for name, option in options.items()}
    given = {name: fields[name] for name in _OPTIONS if name in fields}
    if ", parser " in fields.get("facts", ""):
        given["parser"] = fields["facts"].rpartition(", parser ")[2]
    for name, value in given.items():
        said = value.partition("/")[0].removesuffix(" items") if name != "parser" else value.split(" ")[0]
        said = "chunks" if name == "premise" and value != "joint" else said
        if said not in ("", usual[name]):
            flag = command_of(fields) != META or name not in MetaOptions.__dataclass_fields__
            made.words += [f"--{name}", said] if flag else ["--set", f"{name}={said}"]
        if name == "premise":
            made.chunks(value.rpartition(" ")[2])


def _choices(made: Recipe, fields: Mapping[str, str], asked: Mapping[str, Mapping[str, str]]) -> None:
    """The fields that hold several choices."""
    options, scifi = read_choices(fields.get("options", "")), fields.get("pipeline") == "scifi"
    if scifi:
        if command_of(fields) == META and options.get("facts") == "model":
            made.words += ["--set", "facts=model"]
        made.choices({name: value for name, value in options.items() if name != "facts"}, defaults_of(ScifiOptions()))
    else:  # what a profile of CiteEval has is not named
        made.words += [word for name, value in options.items() for word in ("--set", f"{name}={typed(value)}")]
    made.choices(read_choices(fields.get("shown", "")), defaults_of(GenerationOptions()))
    made.choices(asked.get("facts", {}), defaults_of(ChatOptions()))
    made.choices(asked.get("rewrite", {}), defaults_of(RewriteOptions()), prefix="rewrite.")
    given = dict(asked.get("asking", {}))
    own = ChatOptions() if "questions" in fields else Asking(model="")
    limit = {"baseline_max_tokens": str(baseline_options().baseline_max_tokens)}
    if "baseline" in fields and "max_tokens" in given:
        given["baseline_max_tokens"] = given.pop("max_tokens")
    made.choices(given | read_choices(fields.get("prompts", "")), defaults_of(own) | limit)
    if "otherwise" in fields:
        made.setting("otherwise", fields["otherwise"], baseline_options(fields.get("profile", "paper")).otherwise)


def _splitter(made: Recipe, name: str, command: str) -> None:
    """The splitter, where another one would be taken here."""
    if name in ("", "as published", find_sentence_splitter("auto").name):
        return
    wish = "nltk" if name.startswith("nltk") else "rules"
    made.words += ["--set", f"splitter={wish}"] if command == META else ["--splitter", wish]
    if wish == "nltk" or find_sentence_splitter("rules").name != name:
        made.note(f"The splitter has to be {name}.")
