"""Commands about metrics: list, show."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    help="Metrics: list, show.", epilog="For example: metaeval metrics show minilm-bertscore", no_args_is_help=True
)


@app.command("list")
def list_() -> None:
    """List the metrics and their named variants.

    \b
    Example:
      metaeval metrics list
    """
    from metaeval import registry
    from metaeval.cli.listing import show_list
    from metaeval.config import metric_variant, variants

    rows = []
    for name in registry.names("metric"):
        card = registry.find("metric", name).card
        rows.append((name, card.family, card.download, card.summary))
    for name, path in variants("metrics").items():
        variant = metric_variant(path)
        rows.append((name, "variant", "", f"{variant.metric}: {variant.note}"))
    show_list(("name", "family", "download", "what"), rows)


@app.command("show")
def show(name: Annotated[str, typer.Argument(help="Metric ('metaeval metrics list').", metavar="NAME")]) -> None:
    """Show a metric's card: range, limits, checkpoint, options, identity.

    \b
    Example:
      metaeval metrics show minilm-bertscore
    """
    import dataclasses

    from metaeval.cli.listing import show_card
    from metaeval.config import RunConfig, metric_variant
    from metaeval.experiment.job import variant_path
    from metaeval.experiment.metrics import load_metric
    from metaeval.files import canonical_json

    metric, path = load_metric(name, RunConfig()), variant_path("metric", name)
    lines = [("variant", f"{name}: {metric_variant(path).note}")] if path else []
    lines += [(key.replace("_", " "), _shown(value)) for key, value in dataclasses.asdict(metric.card).items()]
    lines += [("option", f"{option} = {_shown(value)}") for option, value in metric.describe_options().items()]
    lines.append(("options", " ".join((metric.Options.__doc__ or "").split()) if metric.describe_options() else ""))
    show_card([*lines, ("identity", canonical_json(metric.identity()))])


def _shown(value: object) -> str:
    """A field in words; an empty text for what the metric does not have."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
