"""Commands about metrics: list, show, verify, doctor, serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from metaeval.cli import metrics_doctor, metrics_serve, metrics_verify
from metaeval.cli.metrics_verify import Name, Options

if TYPE_CHECKING:
    from metaeval.scoring.contract import Metric

app = typer.Typer(
    help="Metrics: list, show, verify, doctor, serve.",
    epilog="For example: metaeval metrics show minilm-bertscore",
    no_args_is_help=True,
)


@app.command("list")
def list_() -> None:
    """List the metrics, what each still needs here, and the variants.

    \b
    Example:
      metaeval metrics list
    """
    from metaeval.cli.listing import show_list
    from metaeval.experiment.readiness import registered, variant_states

    rows = [(state.name, str(state), state.card.summary if state.card else state.detail) for state in registered()]
    rows += [(name, str(state), what) for name, what, state in variant_states()]
    show_list(("name", "state", "what"), rows)


@app.command("show")
def show(name: Name, set_: Options = None) -> None:
    """Show a metric's card, options and identity; downloads nothing.

    \b
    Examples:
      metaeval metrics show minilm-bertscore
      metaeval metrics show factcc --set folder=models/factcc
    """
    import dataclasses

    from metaeval import registry
    from metaeval.cli.listing import show_card
    from metaeval.config import metric_variant
    from metaeval.errors import UserError
    from metaeval.experiment.metrics import load_metric
    from metaeval.experiment.prepared_run import variant_path
    from metaeval.experiment.readiness import readiness, with_options

    config, path = with_options(name, set_ or []), variant_path("metric", name)
    try:
        metric = load_metric(name, config)
    except UserError as error:
        if set_ or name not in registry.names("metric"):
            raise
        # Metrics that are nothing without an argument (worker:COMMAND) still have a card.
        card = registry.find("metric", name).card
        show_card([*_card_lines(dataclasses.asdict(card)), ("needs", str(error))])
        return
    state = readiness(name, metric)
    lines = [("variant", f"{name}: {metric_variant(path).note}")] if path else []
    lines += [("state", str(state)), *_card_lines(dataclasses.asdict(metric.card))]
    lines += [("option", f"{option} = {_shown(value)}") for option, value in metric.describe_options().items()]
    lines.append(("options", " ".join((metric.Options.__doc__ or "").split()) if metric.describe_options() else ""))
    show_card([*lines, ("identity", _identity(metric, known=state.state in ("ready", "needs key")))])


def _identity(metric: Metric, known: bool) -> str:
    """The identity as JSON; it holds the hash of the model's files, which are not fetched for it."""
    from metaeval.files import canonical_json

    return canonical_json(metric.identity()) if known else "known once the model's files are here"


def _card_lines(card: dict[str, object]) -> list[tuple[str, str]]:
    return [(key.replace("_", " "), _shown(value)) for key, value in card.items()]


def _shown(value: object) -> str:
    """A field in words; an empty text for what the metric does not have."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


app.command("verify")(metrics_verify.verify)
app.command("doctor")(metrics_doctor.doctor)
app.command("serve")(metrics_serve.serve)
