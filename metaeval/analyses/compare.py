"""Differences between metrics, their agreement, and their joint gain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from metaeval.analyses.analysis import Analysis, Done, Progress, RowOptions
from metaeval.config import ProtocolSettings, RunConfig
from metaeval.declared import Flag
from metaeval.errors import UserError
from metaeval.setting_types import Names


class CompareOptions(ProtocolSettings, RowOptions):
    """Options of `compare`."""

    untyped = RowOptions.untyped | {"margin"}

    by: Annotated[str, Flag("PART")] = ""
    """Subgroups: system, length, position, a field of ratings, or dataset (name several)."""
    bias: Annotated[bool, Flag()] = False
    """Dependence of the score on length and position, given the label."""
    agreement: Annotated[bool, Flag()] = False
    """Agreement of the metrics' rankings of the rows."""
    complementarity: Annotated[bool, Flag()] = False
    """Gain of a stack of metrics over the best metric."""
    margin: Annotated[float, Flag("DIFFERENCE")] = 0.02
    """Largest raw difference at which metrics count as equally good."""
    dataset: Annotated[Names, Flag("NAMES", "-d")] = ("mini",)
    """Data set, by name ('metaeval data list'); with --by dataset several, with commas."""


def _run(options: CompareOptions, progress: Progress) -> Done:
    from metaeval.analyses.analysis_job import write_result
    from metaeval.analyses.comparing.bias_and_agreement import further_sheets
    from metaeval.analyses.comparing.metric_pairs import compare_pairs, comparison_findings, headline_pairs
    from metaeval.analyses.comparing.subgroups import across_sheets, write_forests
    from metaeval.runs.score_panel import load_panel

    plain = not (options.by or options.bias or options.agreement or options.complementarity)
    panels = [load_panel(config, options.names_metrics, progress=progress) for config in _runs(options, plain)]
    first = panels[0]
    pairs = [compare_pairs(first, protocol, options.margin) for protocol in first.readable.protocols] if plain else []
    others, lacking = further_sheets(
        panels, options.by or None, options.bias, options.agreement, options.complementarity
    )
    pooled = across_sheets(panels) if options.by == "dataset" else []
    others += [sheet for sheet, _ in pooled]
    return Done(
        config=first.config,
        panels=panels,
        sheets=[*(pair.sheet for pair in pairs), *others],
        files=[
            *(partial(write_forests, forests) for _, forests in pooled),
            *(partial(write_result, pair.result) for pair in pairs),
        ],
        shown=[headline_pairs(pairs)] if pairs else None,
        sentences=comparison_findings(pairs, others) if pairs else (),
        warnings=[*lacking, *(f"Left out: {name}: {reason}" for name, reason in first.readable.left_out.items())],
    )


def _runs(options: CompareOptions, plain: bool) -> Sequence[RunConfig]:
    """Return the configuration of the run on each data set, checked before anything is scored.

    plain: no further analysis is requested, so that every pair of metrics is compared.
    """
    from metaeval.analyses.comparing.metric_pairs import check_comparison
    from metaeval.analyses.comparing.subgroups import check_division
    from metaeval.runs.loaded_metrics import able_defaults

    datasets = options.dataset
    if options.by == "dataset" and len(set(datasets)) < 2:
        raise UserError("--by dataset needs two data sets or more: give --dataset NAME,NAME.")
    if options.by != "dataset" and len(datasets) > 1:
        raise UserError(f"Several data sets ({', '.join(datasets)}) need --by dataset: add it, or give one data set.")
    configs = [able_defaults(options.run(dataset=name)) for name in datasets]
    for config in configs:
        if options.by:
            check_division(options.by, config)
        if plain:
            check_comparison(config, options.margin)
    return configs


COMPARE = Analysis(
    name="compare",
    summary="Compare metrics: significance, agreement, gain of combining.",
    about="""By default every pair is compared under every protocol, and the headline measures are printed. --by,
--bias, --agreement and --complementarity give these analyses alone.""",
    examples=[
        "compare overlap rouge",
        "compare overlap mine.jsonl -d wice",
        "compare overlap rouge bm25 --by length --bias -p classification",
        "compare overlap rouge --by dataset -d wice,factcheck_gpt",
        "compare FactCC DAE -d frank",
    ],
    options=CompareOptions,
    run=_run,
    headline=True,
)
