"""Metrics: lists, cards, needs on this machine, and checks of their scores."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

from pydantic import ConfigDict

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, Progress
from metaeval.core.config import RunConfig
from metaeval.core.config_files import metric_variant, variants
from metaeval.core.declared import Flag, option_docs
from metaeval.core.files import canonical_json

_log = logging.getLogger("metaeval")


class OneMetricOptions(DeclaredOptions):
    """Options of a command about one metric; any further setting is an option of the metric itself."""

    model_config = ConfigDict(extra="allow")

    name: Annotated[str, Flag("NAME", argument=True)]
    """Metric, by name ('metaeval metrics list')."""

    def configured(self) -> RunConfig:
        """Return default settings of a run, with the metric's options."""
        return RunConfig(metric_options={self.name: self.model_extra or {}})


def _list(options: DeclaredOptions, progress: Progress) -> Done:
    from metaeval.analyses.readiness import registered_states, state_of
    from metaeval.report.table import Table

    states = registered_states()
    rows = [(of.name, str(of), of.card.summary if of.card else of.detail) for of in states]
    for name, path in variants("metrics").items():
        variant = metric_variant(path)
        rows.append((name, str(state_of(name, variant.metric)), f"{variant.metric}: {variant.note}"))
    return Done(value=Table(records=[dict(zip(("name", "state", "what"), row, strict=True)) for row in rows]))


LIST = Analysis(
    name="metrics list",
    summary="List the metrics, their variants, and what each needs here.",
    returns="Table: A row for each metric.",
    examples=["metrics list"],
    options=DeclaredOptions,
    run=_list,
)


def _show(options: OneMetricOptions, progress: Progress) -> Done:
    from metaeval.analyses.readiness import readiness
    from metaeval.report.notebook import Card
    from metaeval.runs.data import variant_path
    from metaeval.runs.metrics import load_metric

    name = options.name
    path = variant_path("metric", name)
    metric = load_metric(name, options.configured())
    state = readiness(name, metric)
    lines = [("variant", f"{name}: {metric_variant(path).note}")] if path else []
    lines += [("state", str(state)), *card_lines(asdict(metric.card))]
    words = option_docs(metric.Options)
    for option, value in metric.describe_options().items():
        about = f"  ({words[option]})" if option in words else ""
        lines.append(("option", f"{option} = {in_words(value)}".rstrip() + about))
    # The identity holds the hash of the model's files, which are not fetched for it.
    known = state.state in ("ready", "needs key")
    identity = canonical_json(metric.identity()) if known else "known once the model's files are here"
    return Done(value=Card([*lines, ("identity", identity)]))


def card_lines(card: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    """Return the fields of a metric's card, each with its value as text."""
    return [(key.replace("_", " "), in_words(value)) for key, value in card.items()]


def in_words(value: object) -> str:
    """Return a field's value as text; empty for None."""
    if isinstance(value, tuple):
        return ", ".join(map(in_words, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={in_words(member)}" for name, member in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


SHOW = Analysis(
    name="metrics show",
    summary="Show a metric's card, options and identity; downloads nothing.",
    about="Options of the metric are typed as --set NAME=VALUE.",
    returns="Card: A list of (label, text).",
    examples=["metrics show minilm-bertscore", "metrics show factcc:models/factcc"],
    options=OneMetricOptions,
    run=_show,
)


class MetricVerifyOptions(OneMetricOptions):
    """Options of `metrics verify`."""

    official: Annotated[bool, Flag()] = False
    """Also run the official package (bertscore, summac-zs, summac-conv)."""


def _verify(options: MetricVerifyOptions, progress: Progress) -> Done:
    from metaeval.analyses.metric_check_texts import verified_text
    from metaeval.runs.verify_metric import compare, official_command, verify

    name, config = options.name, options.configured()
    official = official_command(name, config, _log.info) if options.official else None
    verified = verify(name, config)
    compared = compare(verified, official) if official else None
    agrees = verified.agrees and (compared is None or compared.agrees)
    return Done(shown=verified_text(verified, compared), value=verified, exit_code=0 if agrees else 1)


VERIFY = Analysis(
    name="metrics verify",
    summary="Check a metric's scores on this machine.",
    about="""Thirteen pairs are scored in batches and one by one, and compared with published scores where there
are any. --official also runs the official package on the same weights; it is installed once, into an environment of its
own in the cache. Options of the metric are typed as --set NAME=VALUE. The exit code is 1 where a difference is larger
than allowed.""",
    returns="VerificationReport: The scores of both ways, and whether they agree (`agrees`).",
    examples=[
        "metrics verify minilm-bertscore",
        "metrics verify factcc:models/factcc",
        "metrics verify summac-zs --official",
    ],
    options=MetricVerifyOptions,
    run=_verify,
)
