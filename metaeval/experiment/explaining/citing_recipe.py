"""The command lines of the citation commands and of `generate`, from what their signatures say."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metaeval.citation.aliice.rewriter import RewriteOptions
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.options import baseline_options
from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.experiment.explaining import citing_parts as say
from metaeval.experiment.explaining.choices import changed, defaults_of, read_choices, typed
from metaeval.experiment.explaining.command_line import Recipe, of_models
from metaeval.experiment.explaining.commands import GENERATE, META, command_of
from metaeval.experiment.explaining.meanings import metric_parts
from metaeval.experiment.explaining.meta_recipe import meta_words

_REFIT = ("profile", "options", "prompts", "asking")


def citing_recipe(fields: Mapping[str, str]) -> Recipe:
    """The command for these fields; what differs from the defaults is said, and what no option of it says."""
    command = command_of(fields)
    made = Recipe(["metaeval", *command.split(), "FILE"])
    if command == GENERATE:
        made.caveats.append(f"FILE holds the questions {fields['questions']}, by name and content hash.")
    elif command != META:
        made.caveats.append(f"FILE holds the answers {fields.get('answers', '(not named)')}, by name and content hash.")
    _WORDS.get(command, _cited)(made, fields)
    made.resampling(_resampling(fields))
    made.caveats.extend(of_models(fields))
    return made


def _resampling(fields: Mapping[str, str]) -> Mapping[str, str]:
    """The fields about intervals under the names that most signatures have for them."""
    names = {"resamples": "B", "level": "interval"}
    return {names.get(name, name): value for name, value in fields.items()}


def _cited(made: Recipe, fields: Mapping[str, str]) -> None:
    """ALCE and ALiiCE."""
    made.judge(fields)
    made.option("profile", fields.get("profile", "paper").partition("/")[0], "paper")
    made.option("units", fields.get("units", "sentences").removesuffix(" items"), "sentences")
    say.premise(made, fields.get("premise", ""))
    say.parser(made, fields.get("parser", ""))
    measures = [measure for field, measure in (("reader", "qa_em"), ("mauve", "mauve")) if field in fields]
    if measures:
        made.words += ["--measures", ",".join(measures)]
        models = " and ".join(fields[field] for field in ("reader", "mauve") if field in fields)
        made.caveats.append(f"The models have to be {models} (--reader, --mauve-model).")
    say.splitter(made, fields.get("splitter", ""))


def _rewritten(made: Recipe, fields: Mapping[str, str]) -> None:
    asked = read_choices(fields["rewrite"])
    say.chat_model(made, fields, asked.get("model", ""), replayed=False)
    made.option("base-url", asked.get("base_url", ""), "")
    if fields.get("claims") == "tree":
        made.words.append("--whole")
    _cited(made, fields)
    for name, value in changed(asked, defaults_of(RewriteOptions)).items():
        if name not in ("model", "base_url"):
            made.words += ["--set", f"rewrite.{name}={value}"]
    say.prompts(made, {"prompt": asked.get("prompt", "")})


def scifi_words(made: Recipe, fields: Mapping[str, str], setting: bool = False) -> None:
    """SCiFi's backend, facts and options. setting: of a command that has no flags for the last two."""
    # Scores from 0 to 1 are values of facts as they are: soft is what SCiFi does without being told.
    made.judge({name: value for name, value in fields.items() if name != "threshold" or value != "soft"})
    facts = fields.get("facts", "")
    asked = read_choices(facts)
    if asked:
        say.chat_model(made, fields, asked.get("model", ""))
        say.choices(made, asked, defaults_of(ChatOptions))
        say.prompts(made, asked)
    else:
        say.parser(made, facts.rpartition(", parser ")[2], setting)
    options = read_choices(fields.get("options", ""))
    if setting and options.get("facts") == "model":
        made.words += ["--set", "facts=model"]
    say.choices(made, options, defaults_of(ScifiOptions), but=("facts",))


def _scifi(made: Recipe, fields: Mapping[str, str]) -> None:
    scifi_words(made, fields)
    say.splitter(made, fields.get("splitter", ""))


def citeeval_words(made: Recipe, fields: Mapping[str, str]) -> None:
    """CiteEval's options, and what its judge is asked with, or a baseline's: its limit of a reply is another option."""
    made.words += [
        word
        for name, value in read_choices(fields.get("options", "")).items()
        for word in ("--set", f"{name}={typed(value)}")
    ]
    asked, limit = read_choices(fields.get("asking", "")), "baseline_max_tokens"
    if "baseline" in fields and "max_tokens" in asked:
        asked[limit] = asked.pop("max_tokens")
    standard = {**defaults_of(Asking(model="")), limit: defaults_of(baseline_options())[limit]}
    say.choices(made, asked, standard)
    say.prompts(made, read_choices(fields.get("prompts", "")))


def _citeeval(made: Recipe, fields: Mapping[str, str]) -> None:
    """CiteEval with one of its baselines; or the improvement of answers, which has rounds."""
    if "rounds" in fields:
        made.words += ["-o", "IMPROVED"]
    say.chat_model(made, fields)
    profile = fields.get("profile", "paper")
    made.option("profile", profile, "paper")
    made.option("scenario", fields.get("scenario", "full"), "full")
    made.option("rounds", fields.get("rounds", "1"), "1")
    if "coefficients" in fields:
        made.words += ["--coefficients", "FITTED"]
        made.caveats.append(f"FITTED is the fitted.json of 'metaeval cite refit' that is {fields['coefficients']}.")
    _baseline(made, fields)
    citeeval_words(made, fields)
    if "otherwise" in fields:
        made.setting("otherwise", fields["otherwise"], baseline_options(profile).otherwise)
    say.splitter(made, fields.get("splitter", ""))


def _baseline(made: Recipe, fields: Mapping[str, str]) -> None:
    baseline, judge = fields.get("baseline", ""), metric_parts(fields.get("backend", ""))
    if baseline == "autoais":
        made.judge(fields)
    elif baseline:
        made.words += ["--baselines", f"{baseline}:{judge['known_as']}" if judge else baseline]
        if judge:
            made.metric_options(judge["known_as"], judge)
    if judge:
        made.caveats.append("The chat model is asked for CiteEval's own values alone: this number is without it.")


def _refitted(made: Recipe, fields: Mapping[str, str]) -> None:
    say.chat_model(made, fields)
    made.option("profile", fields.get("profile", "paper"), "paper")
    citeeval_words(made, fields)
    say.splitter(made, fields.get("splitter", ""))
    if untold := [name for name in _REFIT if name not in fields]:
        made.caveats.append(f"The signature does not say: {', '.join(untold)}. The command has the defaults.")


def _generated(made: Recipe, fields: Mapping[str, str]) -> None:
    made.words += ["-o", "ANSWERS"]
    say.chat_model(made, fields)
    made.option("strategy", fields.get("strategy", "truncated"), "truncated")
    say.choices(made, read_choices(fields.get("shown", "")), defaults_of(GenerationOptions))
    say.choices(made, read_choices(fields.get("asking", "")), defaults_of(ChatOptions))
    say.prompts(made, read_choices(fields.get("prompts", "")))


def _meta(made: Recipe, fields: Mapping[str, str]) -> None:
    by_pipeline = {"scifi": _scifi_measure, "citeeval": _citeeval_measure}
    meta_words(made, fields, by_pipeline.get(fields.get("pipeline", "")))


def _scifi_measure(made: Recipe, fields: Mapping[str, str]) -> None:
    scifi_words(made, fields, setting=True)


def _citeeval_measure(made: Recipe, fields: Mapping[str, str]) -> None:
    say.chat_model(made, fields, read_choices(fields.get("asking", "")).get("model", ""))
    citeeval_words(made, fields)


_WORDS: Mapping[str, Callable[[Recipe, Mapping[str, str]], None]] = {
    "cite rewrite": _rewritten,
    "cite scifi": _scifi,
    "cite citeeval": _citeeval,
    "cite improve": _citeeval,
    "cite refit": _refitted,
    GENERATE: _generated,
    META: _meta,
}
