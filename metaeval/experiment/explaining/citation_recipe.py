"""The command line of a citation pipeline, or of `generate`, from a signature."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval import registry
from metaeval.citation.aliice.rewriting import RewriteOptions
from metaeval.citation.chat import ChatOptions
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.values import baseline_options
from metaeval.citation.generation.generate import GenerationOptions
from metaeval.citation.human.model import MetaOptions
from metaeval.citation.scifi.model import ScifiOptions
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.experiment.explaining.command_words import DATA, Recipe
from metaeval.experiment.explaining.explain import GENERATE, META, REFIT, command_of, defaults_of, typed
from metaeval.signature import metric_parts, read_choices

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
