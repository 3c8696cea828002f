"""Thresholds of scores: decisions between the levels, and the threshold of a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from metaeval.analyses.analysis import Analysis, Done, PanelOptions, Progress
from metaeval.config import RunConfig
from metaeval.declared import Flag, validated
from metaeval.errors import UserError


class ThresholdsOptions(PanelOptions):
    """Options of `thresholds`."""

    untyped = PanelOptions.untyped | {"columns", "to_split", "to_unit", "objective", "folds"}

    to: Annotated[str | Mapping[str, Any], Flag("NAME")] = ""
    """Apply thresholds of the data to this data set (in Python also a mapping of its settings)."""
    to_split: Annotated[str | None, Flag("NAME")] = None
    """Split of that data set."""
    to_unit: Annotated[str | None, Flag("UNIT")] = None
    """Unit of that data set (default: that of the data)."""
    learn: Annotated[bool, Flag()] = False
    """Learn the threshold from which each metric says "supported", for 'cite --calibration'."""
    target: Annotated[str, Flag("LEVEL")] = "full"
    """With --learn: lowest human level that counts as supported, full or partial."""
    objective: Annotated[str, Flag("NAME")] = "macro-f1"
    """With --learn: objective of the threshold, macro-f1 or balanced-accuracy."""
    folds: Annotated[int, Flag("NUMBER")] = 5
    """With --learn: number of folds of the cross-validation over groups."""


def _run(options: ThresholdsOptions, progress: Progress) -> Done:
    if options.learn:
        options.refuse(("to", "to_split", "to_unit"), "for decisions between the levels: leave --learn out")
        return _learnt(options, progress)
    options.refuse(("target", "objective", "folds"), "for --learn: add --learn, or leave it out")
    return _decided(options, progress)


def _learnt(options: ThresholdsOptions, progress: Progress) -> Done:
    """Learn the threshold of each metric's verdicts from all scored rows, and evaluate it by cross-validation."""
    from metaeval.analyses.verdict_thresholds import calibrate, calibration_sheet

    target, objective, folds = options.target, options.objective, options.folds
    run = options.run(**({} if "unit" in options.model_fields_set else {"unit": "citation"}))
    panel, thresholds = calibrate(run, target, objective, folds, progress)
    names = " ".join(f"--nli {threshold.metric}" for threshold in thresholds)
    return Done(
        config=run,
        panels=[panel],
        sheets=[calibration_sheet(panel, thresholds, target, objective, folds)],
        after=lambda folder: [f"Next: metaeval cite alce FILE {names} --calibration {folder / 'calibration.json'}"],
    )


def _decided(options: ThresholdsOptions, progress: Progress) -> Done:
    """Evaluate scores as decisions between the levels, with cross-validated thresholds."""
    from metaeval.analyses.analysis_job import write_result
    from metaeval.analyses.cross_validated_decisions import (
        cross_validated_decisions,
        decision_sheets,
        decision_table,
        prepare_decisions,
        write_pictures,
    )
    from metaeval.analyses.decisions_without_fitting import level_probabilities, native_decisions_sheet, transfer_sheet
    from metaeval.report.notebook import Sheets
    from metaeval.report.result_tables import lay_out
    from metaeval.runs.score_panel import load_panel

    if not options.to:
        options.refuse(("to_split", "to_unit"), "about another data set: name that data set with --to")
    run = options.run(protocols=("decision",))
    other = _on_other_data(run, options) if options.to else None
    panels = [load_panel(run, options.names_metrics, 1, progress)]
    frame, protocol = prepare_decisions(panels[0])
    settings = protocol[1]
    decisions = [cross_validated_decisions(frame, column, settings) for column in panels[0].columns]
    result = decision_table(panels[0], frame, protocol)
    sheets = decision_sheets(panels[0], frame, settings, decisions)
    if chances := level_probabilities(panels[0], frame, progress):
        sheets.append(native_decisions_sheet(panels[0], frame, settings, chances))
    if other:
        panels.append(load_panel(other, options.names_metrics, 1, progress))
        sheets.append(transfer_sheet(*panels))
    return Done(
        config=run,
        panels=panels,
        sheets=sheets,
        files=[partial(write_result, result), partial(write_pictures, decisions)],
        shown=[lay_out(result), *(sheet for sheet in sheets if sheet.name != "reliability")],
        value=Sheets([lay_out(result), *sheets]),
    )


def _on_other_data(run: RunConfig, options: ThresholdsOptions) -> RunConfig:
    """Return the run's configuration on the data set of --to, without the options of the first data set."""
    from metaeval.runs.prepared_run import find_dataset
    from metaeval.runs.score_columns import FILE_PREFIX

    if any(name.startswith(FILE_PREFIX) for name in run.metrics):
        raise UserError(
            "--to needs metrics that score the second data set, and a score file does not: type metaeval thresholds "
            "METRIC --to NAME, with names of metrics."
        )
    named_settings = {"dataset": options.to} if isinstance(options.to, str) else {"dataset": run.dataset, **options.to}
    there = {
        "split": options.to_split,
        "unit": options.to_unit or run.unit,
        "trust_config": run.trust_config,
        "dataset_options": run.dataset_options if named_settings["dataset"] == run.dataset else {},
    }
    other = validated(RunConfig, {**run.model_dump(), **there, **named_settings}, "the settings of --to")
    find_dataset(other.dataset, other)  # a wrong name is refused before anything is computed
    return other


THRESHOLDS = Analysis(
    name="thresholds",
    summary="Evaluate decisions between support levels; learn thresholds.",
    about="""By default scores decide between the levels, with thresholds from the other folds of the data (--set
protocol_options.decision.folds=10, ...objective=balanced-accuracy). With --learn: the threshold from which a
metric says "supported" is learnt from all rows, and evaluated by cross-validation over groups; the unit is citation,
unless --unit says chunk.""",
    examples=[
        "thresholds overlap rouge",
        "thresholds overlap -d wice -u citation --to expertqa",
        "thresholds overlap -d wice --split dev --to wice --set to_split=test",
        "thresholds nli --learn -d expertqa --target partial",
        "cite alce answers.json --nli nli --calibration FILE",
    ],
    options=ThresholdsOptions,
    run=_run,
)
