"""The command `compare`: metrics held against each other, and against what should not matter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metaeval.cli import options as opt
from metaeval.cli.output_summary import say_written
from metaeval.cli.sheets import sheet_folder, show_grids, write_sheets

if TYPE_CHECKING:
    from metaeval.config import RunConfig
    from metaeval.experiment.comparing.pair_sheets import Pairs
    from metaeval.experiment.metric_scores import Panel
    from metaeval.experiment.sheet import Sheet

Metrics = Annotated[
    list[str] | None,
    typer.Argument(help="Metrics by name, or score files (.jsonl, .parquet).", metavar="METRIC"),
]
_DataSets = Annotated[
    str | None, typer.Option("--dataset", "-d", help="Data set, by name; several for --by dataset.", metavar="NAMES")
]


def compare(
    metrics: Metrics = None,
    by: Annotated[
        str | None, typer.Option(help="Parts of the data: system, length, position or dataset.", metavar="PART")
    ] = None,
    bias: Annotated[bool, typer.Option("--bias", help="Preference for length and place at one human level.")] = False,
    agreement: Annotated[bool, typer.Option("--agreement", help="How alike the metrics rank the rows.")] = False,
    complementarity: Annotated[
        bool, typer.Option("--complementarity", help="What a stack gains over the best metric alone.")
    ] = False,
    margin: Annotated[
        float, typer.Option(help="Within this, raw, two metrics count as equally good.", metavar="DIFFERENCE")
    ] = 0.02,
    full: Annotated[
        bool, typer.Option("--full", help="Print every measure and pair, of more than two metrics too.")
    ] = False,
    config: opt.Config = None,
    protocol: opt.ProtocolNames = None,
    dataset: _DataSets = None,
    split: opt.Split = None,
    data: opt.Data = None,
    unit: opt.Unit = None,
    pool: opt.Pool = None,
    results: opt.Results = None,
    store: opt.Store = None,
    budget: opt.Budget = None,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Tell metrics apart: differences, agreement, joint gain.

    Plain: every pair under every protocol, then agreement and the gain of
    stacks. --by, --bias, --agreement, --complementarity: those alone.

    \b
    Examples:
      metaeval compare overlap rouge
      metaeval compare overlap mine.jsonl -d wice --data ../shared/data
      metaeval compare overlap rouge bm25 --by length --bias -p classification
      metaeval compare overlap rouge --by dataset -d wice,factcheck_gpt
      metaeval compare FactCC DAE -d frank
    """
    given = locals()
    plain = not (by or bias or agreement or complementarity)
    panels = _panels(given, margin if plain else None)
    pairs = _pairs(panels[0], margin) if plain else []
    others = _together(panels[0]) if plain else _others(panels, by, bias, agreement, complementarity)
    sheets = [*(one.sheet for one in pairs), *others]
    folder = sheet_folder(panels[0].config.results, "compare", sheets[0])
    written = [*_write_results(pairs, folder), *write_sheets(sheets, folder)]
    if not quiet:
        whole = full or len(panels[0].columns) == 2
        show_grids([*(one.sheet.grid if whole else one.headline for one in pairs), *(one.grid for one in others)])
    say_written(sorted(written))


def run_options(given: dict[str, object], metrics: list[str] | None) -> dict[str, object]:
    """The settings of a run among a command's own options, its metrics as they were named."""
    from metaeval.experiment.metric_scores import as_metrics

    names = {"protocol": "protocols"}
    own = ("protocol", "dataset", "split", "data", "unit", "pool", "results", "store", "budget")
    settings = {names.get(key, key): given[key] for key in own if given.get(key) is not None}
    return settings | ({"metrics": as_metrics(metrics)} if metrics else {})


def configured(given: dict[str, object], settings: dict[str, object]) -> RunConfig:
    """The run that a command's options describe."""
    from metaeval.config import load_run

    config, overrides = given["config"], given["set_"]
    return load_run(
        config if isinstance(config, Path) else None, settings, overrides if isinstance(overrides, list) else []
    )


def _panels(given: dict[str, object], margin: float | None) -> list[Panel]:
    """One panel, or with --by dataset one a data set. Whatever can be refused is refused before anything is scored."""
    from metaeval.cli.progress import scoring_progress
    from metaeval.errors import UserError
    from metaeval.experiment.comparing.pair_sheets import check_comparison
    from metaeval.experiment.comparing.parts import check_division
    from metaeval.experiment.metric_scores import load_panel

    by, metrics = given["by"], given["metrics"]
    names = metrics if isinstance(metrics, list) else None
    settings = run_options(given, names)
    datasets = [name.strip() for name in str(given["dataset"] or "").split(",") if name.strip()]
    if by == "dataset" and len(set(datasets)) < 2:
        raise UserError("--by dataset takes two data sets or more: --dataset NAME,NAME.")
    if by != "dataset" and len(datasets) > 1:
        raise UserError(f"Several data sets ({', '.join(datasets)}) are for --by dataset: name one.")
    configs = [configured(given, {**settings, "dataset": name}) for name in datasets] or [configured(given, settings)]
    for config in configs:
        if isinstance(by, str):
            check_division(by, config)
        if margin is not None:
            check_comparison(config, margin)
    asked = bool(names) or isinstance(given["config"], Path)
    panels = []
    for config in configs:
        with scoring_progress(bool(given["quiet"])) as progress:
            panels.append(load_panel(config, asked, progress=progress))
    return panels


def _pairs(panel: Panel, margin: float) -> list[Pairs]:
    from metaeval.experiment.comparing.pair_sheets import compare_pairs
    from metaeval.experiment.metric_scores import protocols_of

    return [compare_pairs(panel, asked, margin) for asked in protocols_of(panel)]


def _write_results(pairs: list[Pairs], folder: Path) -> list[Path]:
    """The results that pairs come from, for `metaeval table`; the paths."""
    from metaeval.report.result import save_result

    paths = [folder / f"{one.result.protocol}.json" for one in pairs]
    for one, path in zip(pairs, paths, strict=True):
        save_result(one.result, path)
    return paths


def _together(panel: Panel) -> list[Sheet]:
    """Agreement, and the gain of stacks where there are groups enough for its folds."""
    from metaeval.errors import UserError

    sheets = _others([panel], None, False, True, False)
    try:
        return [*sheets, *_others([panel], None, False, False, True)]
    except UserError as error:
        typer.echo(f"No gain of stacks: {error}", err=True)
        return sheets


def _others(panels: list[Panel], by: str | None, bias: bool, agreement: bool, complementarity: bool) -> list[Sheet]:
    from metaeval.experiment.comparing.bias import bias_sheet
    from metaeval.experiment.comparing.metric_agreement import agreement_sheet
    from metaeval.experiment.comparing.parts import check_division
    from metaeval.experiment.comparing.stacking_gain import complementarity_sheet
    from metaeval.experiment.comparing.subgroups import by_part
    from metaeval.experiment.metric_scores import protocols_of

    sheets = by_part(panels, check_division(by, panels[0].config)) if by else []
    for panel in panels:
        # Rows that are cited, where there is a choice: those of a pool are candidates that nobody judged.
        asked = min(protocols_of(panel), key=lambda one: one[0].uses_pool)
        sheets += [bias_sheet(panel, asked)] if bias else []
        sheets += [agreement_sheet(panel, asked)] if agreement else []
        sheets += [complementarity_sheet(panel, asked)] if complementarity else []
    return sheets
