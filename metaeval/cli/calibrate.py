"""The command `calibrate`: the score from which on a metric reads as "supported", learnt from human labels."""

from __future__ import annotations

from typing import Annotated

import typer

from metaeval.cli import options as opt
from metaeval.cli.output_summary import say_written
from metaeval.cli.sheets import sheet_folder, show_grids, write_sheets


@opt.takes("names", "config dataset split data unit results store budget set quiet")
def calibrate(
    given: opt.Given,
    target: Annotated[
        str, typer.Option(help="Lowest human level that counts as supported: full or partial.", metavar="LEVEL")
    ] = "full",
    objective: Annotated[
        str, typer.Option(help="What the threshold maximises: macro-f1 or balanced-accuracy.", metavar="NAME")
    ] = "macro-f1",
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation, by groups.", metavar="NUMBER")] = 5,
) -> None:
    """Learn a metric's threshold from human labels.

    From it on, a score means "supported". It is that of all rows; how well it does is told by rows whose
    fold took no part in choosing it. Unit: citation, unless --unit says chunk.

    \b
    Examples:
      metaeval calibrate minilm-cosine
      metaeval calibrate overlap rouge -d wice --split dev --data ../shared/data
      metaeval calibrate nli -d expertqa --target partial --data ../shared/data
      metaeval cite alce answers.json --nli nli --calibration FILE
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.calibrate import calibrate as learn
    from metaeval.experiment.calibration_sheet import calibration_sheet

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
