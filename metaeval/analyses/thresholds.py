"""Thresholds of scores: decisions between the levels, and the threshold of a verdict."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from metaeval.analyses.analysis import Analysis, Done, PanelOptions, Progress
from metaeval.core import registry
from metaeval.core.declared import Flag


class ThresholdsOptions(PanelOptions):
    """Options of `thresholds`."""

    untyped = PanelOptions.untyped | {"columns", "objective", "folds"}

    learn: Annotated[bool, Flag()] = False
    """Learn the threshold from which each metric says "supported", for 'cite -s calibration=FILE'."""
    target: Annotated[str, Flag("LEVEL")] = "full"
    """With --learn: lowest human level that counts as supported, full or partial."""
    objective: Annotated[str, Flag("NAME")] = "macro-f1"
    """With --learn: objective of the threshold, macro-f1 or balanced-accuracy."""
    folds: Annotated[int, Flag("NUMBER")] = 5
    """With --learn: number of folds of the cross-validation over groups."""


def _run(options: ThresholdsOptions, progress: Progress) -> Done:
    from metaeval.analyses.analysis_job import write_result
    from metaeval.analyses.cross_validated_decisions import (
        cross_validated_decisions,
        decision_sheets,
        decision_table,
        prepare_decisions,
        write_pictures,
    )
    from metaeval.analyses.panel import load_panel
    from metaeval.report.notebook import Sheets
    from metaeval.report.result_tables import lay_out

    if options.learn:
        return _learnt(options, progress)
    options.refuse(("target", "objective", "folds"), "for --learn: add --learn, or leave it out")
    run = options.run(protocols=("decision",))
    panel = load_panel(run, options.names_metrics, 1, progress, check=prepare_decisions)
    frame, protocol = prepare_decisions(run, panel.source)
    settings = protocol[1]
    decisions = [cross_validated_decisions(frame, column, settings) for column in panel.columns]
    result = decision_table(panel, frame, protocol)
    sheets = decision_sheets(panel, frame, settings, decisions)
    return Done(
        config=run,
        panel=panel,
        sheets=sheets,
        files=[partial(write_result, result), partial(write_pictures, decisions)],
        shown=[lay_out(result), *(sheet for sheet in sheets if sheet.name != "reliability")],
        value=Sheets([lay_out(result), *sheets]),
    )


def _learnt(options: ThresholdsOptions, progress: Progress) -> Done:
    """Learn the threshold of each metric's verdicts from all scored rows, and evaluate it by cross-validation."""
    from metaeval.analyses.verdict_thresholds import calibrate, calibration_sheet
    from metaeval.runs.data import kind_of_data

    target, objective, folds = options.target, options.objective, options.folds
    cited = kind_of_data(options.run()) == "corpus" and "unit" not in options.model_fields_set
    run = options.run(**({"unit": "citation"} if cited else {}))
    panel, thresholds = calibrate(run, target, objective, folds, progress)
    names = " ".join(f"--nli {registry.retyped(threshold.metric, run.metric_options)}" for threshold in thresholds)
    return Done(
        config=run,
        panel=panel,
        sheets=[calibration_sheet(panel, thresholds, target, objective, folds)],
        after=lambda folder: [f"Next: metaeval cite alce FILE {names} -s calibration={folder / 'calibration.json'}"],
    )


THRESHOLDS = Analysis(
    name="thresholds",
    summary="Evaluate decisions between support levels; learn thresholds.",
    about="""By default scores decide between the levels, with thresholds from the other folds of the data (--set
protocol_options.decision.folds=10, ...objective=balanced-accuracy). With --learn: the threshold from which a
metric says "supported" is learnt from all rows, and evaluated by cross-validation over groups; the unit is citation,
unless --unit says chunk.""",
    examples=[
        "thresholds overlap rouge",
        "thresholds nli --learn -d expertqa --target partial",
        "cite alce answers.json --nli nli -s calibration=FILE",
    ],
    options=ThresholdsOptions,
    run=_run,
)
