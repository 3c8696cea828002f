"""Commands about metrics: list, show."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Metrics: what there is, and what each one is exactly.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the metrics and their named variants.

    \b
    Example:
      metaeval metrics list
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from metaeval import registry
    from metaeval.config import metric_variant, variants

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("name", "family", "download", "what"):
        table.add_column(heading)
    for name in registry.names("metric"):
        card = registry.find("metric", name).card
        table.add_row(*map(Text, (name, card.family, card.download, card.summary)))
    for name, path in variants("metrics").items():
        variant = metric_variant(path)
        table.add_row(*map(Text, (name, "variant", "", f"{variant.metric}: {variant.note}")))
    Console().print(table)


@app.command("show")
def show(name: Annotated[str, typer.Argument(help="Metric ('metaeval metrics list').", metavar="NAME")]) -> None:
    """Show a metric's card: range, direction, limits, checkpoint, licence, options, and its identity in the store.

    \b
    Example:
      metaeval metrics show minilm-bertscore
    """
    import dataclasses

    from metaeval.config import RunConfig
    from metaeval.experiment.columns import load_metric
    from metaeval.files import canonical_json

    metric = load_metric(name, RunConfig())
    for field, value in dataclasses.asdict(metric.card).items():
        shown = "-" if value in (None, "") else value
        typer.echo(f"{field:<17} {shown}")
    for option, value in metric.describe_options().items():
        typer.echo(f"option            {option} = {value}")
    if metric.Options.__doc__:
        typer.echo(f"                  {' '.join(metric.Options.__doc__.split())}")
    typer.echo(f"identity          {canonical_json(metric.identity())}")
