"""Differences between metrics, and their agreement."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from metaeval.analyses.analysis import Analysis, Done, PanelOptions, Progress
from metaeval.core.config import ProtocolSettings
from metaeval.core.declared import Flag


class CompareOptions(ProtocolSettings, PanelOptions):
    """Options of `compare`."""

    untyped = PanelOptions.untyped | {"margin"}

    by: Annotated[str, Flag("PART")] = ""
    """Subgroups: system, length, position, or a field of ratings."""
    agreement: Annotated[bool, Flag()] = False
    """Agreement of the metrics' rankings of the rows."""
    margin: Annotated[float, Flag("DIFFERENCE")] = 0.02
    """Largest raw difference at which metrics count as equally good."""


def _run(options: CompareOptions, progress: Progress) -> Done:
    from metaeval.analyses.analysis_job import write_result
    from metaeval.analyses.comparing.agreement import agreement_sheet
    from metaeval.analyses.comparing.metric_pairs import (
        check_comparison,
        compare_pairs,
        comparison_findings,
        headline_pairs,
    )
    from metaeval.analyses.comparing.subgroups import by_part, check_division
    from metaeval.analyses.panel import load_panel
    from metaeval.runs.metrics import able_defaults

    # Every pair of metrics is compared unless an analysis is requested.
    plain = not (options.by or options.agreement)
    config = able_defaults(options.run())
    if options.by:
        check_division(options.by, config)
    if plain:
        check_comparison(config, options.margin)
    panel = load_panel(config, options.names_metrics, progress=progress)
    protocols, left_out = panel.readable
    pairs = [compare_pairs(panel, protocol, options.margin) for protocol in protocols] if plain else []
    others = by_part(panel, options.by) if options.by else []
    if options.agreement or plain:
        # Cited rows are preferred: the others of a pool are candidates that nobody judged.
        others.append(agreement_sheet(panel, min(protocols, key=lambda setup: setup[0].uses_pool)))
    return Done(
        config=config,
        panel=panel,
        sheets=[*(pair.sheet for pair in pairs), *others],
        files=[partial(write_result, pair.result) for pair in pairs],
        shown=[headline_pairs(pairs)] if pairs else None,
        sentences=comparison_findings(pairs, others) if pairs else (),
        warnings=[f"Left out: {name}: {reason}" for name, reason in left_out.items()],
    )


COMPARE = Analysis(
    name="compare",
    summary="Compare metrics: significance and agreement.",
    about="""By default every pair is compared under every protocol, and the headline measures are printed. --by and
--agreement give these analyses alone.""",
    examples=[
        "compare overlap rouge",
        "compare overlap mine.jsonl -d wice",
        "compare overlap rouge bm25 --by length -p classification",
        "compare FactCC DAE -d frank",
    ],
    options=CompareOptions,
    run=_run,
    headline=True,
)
