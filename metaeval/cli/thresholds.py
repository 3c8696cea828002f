"""Commands about thresholds: decide, which turns scores into three-way decisions, and calibrate, which learns one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from metaeval.cli import options as opt
from metaeval.cli.output import say_written, sheet_folder, show_grids, write_sheets

if TYPE_CHECKING:
    from metaeval.config import RunConfig


@opt.takes("names", "config dataset split data unit results store budget set quiet")
def decide(
    given: opt.Given,
    to: Annotated[
        str | None, typer.Option(help="Apply thresholds of the data to this data set.", metavar="NAME")
    ] = None,
    to_split: Annotated[str | None, typer.Option(help="Split of that data set.", metavar="NAME")] = None,
    to_unit: Annotated[
        str | None, typer.Option(help="Unit of that data set (default: --unit).", metavar="UNIT")
    ] = None,
) -> None:
    """Evaluate scores as three-way decisions.

    Thresholds come from the other folds of the data (--set
    protocol_options.decision.folds=10, ...objective=balanced-accuracy).

    \b
    Examples:
      metaeval decide overlap rouge
      metaeval decide overlap mine.jsonl -d wice --data ../shared/data
      metaeval decide overlap -d wice --split dev --to wice --to-split test
      metaeval decide overlap -d wice -u citation --to expertqa
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.errors import UserError
    from metaeval.experiment.decisions.deciding import decided, decision_table, prepare_decisions
    from metaeval.experiment.decisions.decision_sheets import decision_sheets, write_pictures
    from metaeval.experiment.metric_scores import load_panel
    from metaeval.report.cells import lay_out
    from metaeval.report.formats import write_tables
    from metaeval.report.result import save_result

    if to is None and (to_split or to_unit):
        raise UserError("--to-split and --to-unit are about another data set: name it with --to.")
    run = given.run(protocols="decision")
    other = _elsewhere(run, to, to_split, to_unit) if to else None
    with scoring_progress(given.quiet) as progress:
        panel = load_panel(run, given.with_metrics, 1, progress)
    frame, protocol = prepare_decisions(panel)
    found = [decided(frame, column, protocol[1]) for column in panel.columns]
    result = decision_table(panel, frame, protocol)
    sheets = decision_sheets(panel, frame, protocol[1], found)
    folder = sheet_folder(run.results, "decide", sheets[0])
    save_result(result, folder / "decision.json")
    written = [folder / "decision.json", *write_tables(result, folder / "decision")]
    if other:
        from metaeval.experiment.decisions.deciding import carried_over

        with scoring_progress(given.quiet) as progress:
            sheets.append(carried_over(panel, load_panel(other, given.with_metrics, 1, progress)))
    written += write_sheets(sheets, folder)
    if not given.quiet:
        show_grids([lay_out(result), *(sheet.grid for sheet in sheets if sheet.name != "reliability")])
    try:
        written += write_pictures(found, folder)
    except UserError as error:  # matplotlib is not installed: all else is written
        typer.echo(f"No figure: {error}", err=True)
    say_written(sorted(written))


def _elsewhere(run: RunConfig, to: str, split: str | None, unit: str | None) -> RunConfig:
    """The same run on another data set; a data set's own options stay behind."""
    from metaeval.config import RunConfig, validated
    from metaeval.errors import UserError
    from metaeval.experiment.columns import FILE_PREFIX

    if any(name.startswith(FILE_PREFIX) for name in run.metrics):
        raise UserError("A score file holds the scores of one data set: --to takes metrics by name.")
    own = {"dataset": to, "split": split, "unit": unit or run.unit}
    options = run.dataset_options if to == run.dataset else {}
    return validated(RunConfig, {**run.model_dump(), **own, "dataset_options": options}, "the settings of --to")


@opt.takes("names", "config dataset split data unit results store budget set quiet")
def calibrate(
    given: opt.Given,
    target: Annotated[
        str, typer.Option(help="Lowest human level that counts as supported: full or partial.", metavar="LEVEL")
    ] = "full",
    objective: Annotated[
        str, typer.Option(help="Objective of the threshold: macro-f1 or balanced-accuracy.", metavar="NAME")
    ] = "macro-f1",
    folds: Annotated[
        int, typer.Option(help="Number of folds of the cross-validation over groups.", metavar="NUMBER")
    ] = 5,
) -> None:
    """Learn a metric's threshold from human labels.

    A score from the threshold on means "supported". The threshold is learnt from
    all rows, and evaluated by cross-validation over groups. The unit is citation,
    unless --unit says chunk.

    \b
    Examples:
      metaeval calibrate minilm-cosine
      metaeval calibrate overlap rouge -d wice --split dev --data ../shared/data
      metaeval calibrate nli -d expertqa --target partial --data ../shared/data
      metaeval cite alce answers.json --nli nli --calibration FILE
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.calibrate import calibrate as learn
    from metaeval.experiment.calibrate import calibration_sheet

    usual = {} if given.config or "unit" in given.settings else {"unit": "citation"}
    run = given.run(**usual)
    with scoring_progress(given.quiet) as progress:
        panel, found = learn(run, target, objective, folds, progress)
    sheet = calibration_sheet(panel, found, target, objective, folds)
    folder = sheet_folder(run.results, "calibrate", sheet)
    written = write_sheets([sheet], folder)
    if not given.quiet:
        show_grids([sheet.grid])
    say_written(written)
    if not given.quiet:
        names = " ".join(f"--nli {one.metric}" for one in found)
        typer.echo(f"Next: metaeval cite alce FILE {names} --calibration {folder / 'calibration.json'}")
