"""The command line of a meta-evaluation, for one row of its tables or one measure of its sheets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metaeval.experiment.citing.meta.ratings import MetaOptions
from metaeval.experiment.explaining import citing_parts as say
from metaeval.experiment.explaining.command_line import Recipe
from metaeval.experiment.explaining.meanings import DATA

_USUAL = ("correlation", "classification")
"""The protocols of a run that is told none."""


def meta_words(
    made: Recipe, fields: Mapping[str, str], measured: Callable[[Recipe, Mapping[str, str]], None] | None
) -> None:
    """The words of `cite meta`. measured: says what is measured, where the pipeline has options of its own."""
    _file(made, fields)
    pipeline = fields.get("pipeline", "")
    if not pipeline:
        made.words += ["--pipelines", "alce", "--nli", "overlap"]  # a control is a row of any run
        made.caveats.append(f"The row of {fields.get('control', 'the control')!r} stands in a run with any pipeline.")
    elif pipeline == "scores":
        made.words += ["--scores", "SCORES"]
        made.caveats.append(f"SCORES is the file of scores {fields.get('file', '(not named)')}.")
    else:
        made.words += ["--pipelines", pipeline]
        (measured or _by_verdicts)(made, fields)
    made.option("scenario", fields.get("scenario", "full"), "full")
    for name, default in MetaOptions().rules.items():
        made.setting(name, fields.get(name, default), default)
    say.splitter(made, fields.get("splitter", ""), setting=True)
    if fields.get("splitter") == "as published":
        made.caveats.append("The statements are those that people judged: --human names the file of their judgements.")
    if fields.get("protocol", _USUAL[0]) not in _USUAL:
        made.words += ["--set", f"protocols={fields['protocol']}"]
    made.protocol_options(fields)


def _file(made: Recipe, fields: Mapping[str, str]) -> None:
    rated = DATA.fullmatch(fields.get("data", ""))
    if rated is None:
        made.caveats.append(
            f"FILE holds the rated answers {fields.get('answers', '(not named)')}, by name and the hash of answers and "
            "ratings."
        )
        return
    table = f"{rated['split']}/{fields.get('protocol', 'correlation')}.json"
    made.caveats.append(
        f"FILE is the file {rated['name']} of rated answers, whose {rated['split']} have the hash {rated['hash']}; the "
        f"row stands in {table}."
    )


def _by_verdicts(made: Recipe, fields: Mapping[str, str]) -> None:
    """ALCE, ALiiCE and AutoAIS."""
    made.judge(fields)
    made.setting("profile", fields.get("profile", "paper").partition("/")[0], "paper")
    say.parser(made, fields.get("parser", ""), setting=True)
    say.premise(made, fields.get("premise", ""), setting=True)
