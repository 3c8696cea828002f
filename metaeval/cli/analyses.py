"""Commands that look at metrics more closely: compare, power, certify, decide, calibrate, check-claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import (
    close,
    finish,
    say,
    say_rest,
    say_written,
    scoring_progress,
    sheet_folder,
    show_grids,
    show_list,
    show_sentences,
    write_sheets,
)
from metaeval.config import RunConfig, validated
from metaeval.errors import UserError

MeasureKey = Annotated[str | None, Option(help="Key of the measure: overall, spearman, ndcg@5 ...", metavar="KEY")]


@opt.takes("names", "config dataset split data columns unit pool results store budget set quiet")
def power(
    given: opt.Given,
    difference: Annotated[
        str | None, Option(help="True differences, with commas, in the table's units (2: 2 points).", metavar="NUMBERS")
    ] = None,
    protocol: Annotated[
        str | None, Option("--protocol", "-p", help="Protocol to plan for, by its headline measure.", metavar="NAME")
    ] = None,
    measure: MeasureKey = None,
    interval: Annotated[
        float | None,
        Option(help="Plan labels instead: the reach of a share's interval to either side.", metavar="NUMBER"),
    ] = None,
    share: Annotated[
        float | None, Option(help="Share that is expected, for --interval (default: several).", metavar="NUMBER")
    ] = None,
    items: Annotated[
        int | None, Option(help="Citations in the set, for --interval (default: no end).", metavar="NUMBER")
    ] = None,
) -> None:
    """Plan how many citations it takes to tell two metrics apart.

    The data are the pilot: they show how much the two metrics' difference
    varies over groups. The default difference is that of the pilot, and the
    default measure the mean ROC-AUC.

    \b
    Examples:
      metaeval power overlap rouge --difference 2
      metaeval power overlap rouge -p retrieval --difference 0.02
      metaeval power overlap rouge --measure spearman --difference 0.01,0.02
      metaeval power overlap mine.jsonl -d wice --data ../shared/data
      metaeval power FactCC DAE -d frank --difference 1,2
      metaeval power --interval 0.1 --items 400
    """
    from metaeval.experiment.comparing.planning import plan_sheet, planned, read_numbers
    from metaeval.experiment.metric_scores import load_panel

    if interval is not None:
        _label_plans(interval, share, items)
        return
    differences = read_numbers("difference", difference) if difference else []
    run = given.run()
    if not given.with_metrics or len(run.metrics) != 2:
        raise UserError(f"A plan takes exactly two metrics; given: {', '.join(given.names) or 'none'}.")
    to_plan = planned(run, measure or "", differences, protocol or "")
    with scoring_progress(given.quiet) as progress:
        panel = load_panel(run, True, progress=progress)
    sheet = plan_sheet(panel, to_plan, measure or "", differences)
    finish(given, panel, "power", sheet)


@opt.takes("names", "config dataset split data columns unit pool results store budget set quiet")
def certify(
    given: opt.Given,
    protocol: Annotated[
        str | None, Option("--protocol", "-p", help="Protocol, by its headline measure.", metavar="NAME")
    ] = None,
    measure: MeasureKey = None,
    runs: Annotated[int, Option(help="Samples of each simulation.", metavar="NUMBER")] = 300,
    value: Annotated[
        str | None, Option(help="Plan without scores: values in the table's units, with commas.", metavar="NUMBERS")
    ] = None,
    alike: Annotated[str, Option(help="Plan: correlations of the errors inside a group.", metavar="NUMBERS")] = "0.3",
    groups: Annotated[int | None, Option(help="Plan: groups (default: those of the data).", metavar="NUMBER")] = None,
    sizes: Annotated[str, Option(help="Plan: rows of the groups, in turn.", metavar="NUMBERS")] = "8",
    levels: Annotated[
        str, Option(help="Plan: shares of two or three levels, the highest first.", metavar="NUMBERS")
    ] = "50,50",
) -> None:
    """Simulate how often intervals and tests hold on your data.

    Scores are drawn anew for the same rows, from a normal model of each
    metric's (docs/inference.md), and each sample's interval and test is made.

    \b
    Examples:
      metaeval certify overlap rouge
      metaeval certify mine.jsonl -d wice --data ../shared/data --runs 1000
      metaeval certify FactCC DAE -d frank -p correlation
      metaeval certify --value 75,90 --alike 0.5 -d wice --data ../shared/data
      metaeval certify --value 90 --groups 60 --sizes 2,8,40 --levels 30,70
    """
    from metaeval.experiment.certifying import certificate_sheet, check_certificate, designed_rows, planned_panel
    from metaeval.experiment.comparing.planning import protocol_of, read_numbers
    from metaeval.experiment.metric_scores import load_panel

    run = given.run()
    check_certificate(run, runs)
    asked = protocol_of(run, measure or "", protocol or "")
    if value is None and groups is not None:
        raise UserError("A plan needs the value that a metric would have: --value 75.")
    if value is not None:
        if given.with_metrics:
            raise UserError("--value is for a plan without scores: leave the metrics out.")
        rows = None if groups is None else designed_rows(run, groups, sizes, levels)
        assumed = read_numbers("value", value), read_numbers("alike", alike)
        panel = planned_panel(run, rows, asked, measure or "", *assumed)
    else:
        with scoring_progress(given.quiet) as progress:
            panel = load_panel(run, given.with_metrics, 1, progress)
    sheet = certificate_sheet(panel, asked, measure or "", runs)
    finish(given, panel, "certify", sheet)


def _label_plans(interval: float, share: float | None, items: int | None) -> None:
    """Print how many labels an interval takes."""
    from metaeval.labelling.measures import PLANNED, labels_needed
    from metaeval.report.grid import count

    plans = {one: labels_needed(interval, one, items) for one in (PLANNED if share is None else (share,))}
    rows = [(f"{one:g}", "not reached" if labels is None else f"{labels:,}") for one, labels in plans.items()]
    show_list(("share", "labels"), rows)
    of = f"of {count(items, 'citation')}" if items else "of a process without end"
    say(
        f"For a 95 % interval of at most {100 * interval:g} points to either side, {of}, from independent labels "
        "alone. A metric saves some of them, citations of one answer cost some: 'metaeval estimate' shows both."
    )


if TYPE_CHECKING:
    from metaeval.experiment.metric_scores import Panel


@opt.takes("names", "config protocols datasets split data columns unit pool results store budget set quiet")
def compare(
    given: opt.Given,
    by: Annotated[
        str | None,
        Option(
            help="Subgroups: system, length, position, a field of ratings, or dataset (name several).", metavar="PART"
        ),
    ] = None,
    bias: Annotated[bool, Option("--bias", help="Preference for length and position at one human level.")] = False,
    agreement: Annotated[bool, Option("--agreement", help="Agreement of the metrics' rankings of the rows.")] = False,
    complementarity: Annotated[
        bool, Option("--complementarity", help="Gain of a stack of metrics over the best metric.")
    ] = False,
    margin: Annotated[
        float, Option(help="Largest raw difference at which metrics count as equally good.", metavar="DIFFERENCE")
    ] = 0.02,
    full: Annotated[bool, Option("--full", help="Print every table whole, and agreement, and stacks.")] = False,
) -> None:
    """Compare metrics: differences, agreement, joint gain.

    By default every pair is compared under every protocol, and the headline
    measures are printed. --by, --bias, --agreement and --complementarity give
    these analyses alone.

    \b
    Examples:
      metaeval compare overlap rouge
      metaeval compare overlap mine.jsonl -d wice --data ../shared/data
      metaeval compare overlap rouge bm25 --by length --bias -p classification
      metaeval compare overlap rouge --by dataset -d wice,factcheck_gpt
      metaeval compare FactCC DAE -d frank
    """
    from metaeval.experiment.comparing.contrasts import compare_pairs, comparison_findings, headline_pairs
    from metaeval.experiment.comparing.further import further_sheets
    from metaeval.experiment.comparing.subgroups import across_sheets, write_forests
    from metaeval.experiment.metric_scores import left_out_of, protocols_of
    from metaeval.report.result import save_result

    plain = not (by or bias or agreement or complementarity)
    panels = _panels(given, by, margin if plain else None)
    pairs = [compare_pairs(panels[0], asked, margin) for asked in protocols_of(panels[0])] if plain else []
    others, lacking = further_sheets(panels, by, bias, agreement, complementarity)
    for sentence in lacking:
        say(sentence, err=True)
    pooled = across_sheets(panels) if by == "dataset" else []
    others += [sheet for sheet, _ in pooled]
    sheets = [*(one.sheet for one in pairs), *others]
    folder = sheet_folder(panels[0].config.results, "compare", sheets)
    written = write_sheets(sheets, folder)
    try:
        written += [path for _, found in pooled for path in write_forests(found, folder)]
    except UserError as error:  # matplotlib is not installed: all else is written
        say(f"No forest plot: {error}", err=True)
    for one in pairs:  # the results that pairs come from, for `metaeval table`
        written.append(folder / f"{one.result.protocol}.json")
        save_result(one.result, written[-1])
    if not given.quiet and (full or not pairs):
        show_grids([*(one.sheet.grid for one in pairs), *(one.grid for one in others)])
    elif not given.quiet:
        show_grids([headline_pairs(pairs)])
        show_sentences(comparison_findings(pairs, others))
    for name, reason in left_out_of(panels[0]).items():
        say(f"Left out: {name}: {reason}", err=True)
    close(panels, "compare", sheets, written)
    if not given.quiet and pairs:
        say_rest(folder, panels[0].config.results, whole=full)


def _panels(given: opt.Given, by: str | None, margin: float | None) -> list[Panel]:
    """One panel, or with --by dataset one a data set. Whatever can be refused is refused before anything is scored."""
    from metaeval.experiment.comparing.contrasts import check_comparison
    from metaeval.experiment.comparing.subgroups import check_division
    from metaeval.experiment.metric_scores import load_panel
    from metaeval.experiment.metrics import able_defaults

    datasets = given.datasets
    if by == "dataset" and len(set(datasets)) < 2:
        raise UserError("--by dataset takes two data sets or more: --dataset NAME,NAME.")
    if by != "dataset" and len(datasets) > 1:
        raise UserError(f"Several data sets ({', '.join(datasets)}) are for --by dataset: name one.")
    configs = [able_defaults(given.run(**named)) for named in ([{"dataset": name} for name in datasets] or [{}])]
    for config in configs:
        if by:
            check_division(by, config)
        if margin is not None:
            check_comparison(config, margin)
    panels = []
    for config in configs:
        with scoring_progress(given.quiet) as progress:
            panels.append(load_panel(config, given.with_metrics, progress=progress))
    return panels


@opt.takes("names", "config dataset split data columns unit results store budget set quiet")
def decide(
    given: opt.Given,
    to: Annotated[str | None, Option(help="Apply thresholds of the data to this data set.", metavar="NAME")] = None,
    to_split: Annotated[str | None, Option(help="Split of that data set.", metavar="NAME")] = None,
    to_unit: Annotated[str | None, Option(help="Unit of that data set (default: --unit).", metavar="UNIT")] = None,
) -> None:
    """Evaluate scores as decisions between the levels.

    Thresholds come from the other folds of the data (--set
    protocol_options.decision.folds=10, ...objective=balanced-accuracy).

    \b
    Examples:
      metaeval decide overlap rouge
      metaeval decide overlap mine.jsonl -d wice --data ../shared/data
      metaeval decide overlap -d wice --split dev --to wice --to-split test
      metaeval decide overlap -d wice -u citation --to expertqa
    """
    from metaeval.experiment.deciding import decided, decision_sheets, decision_table, prepare_decisions, write_pictures
    from metaeval.experiment.metric_scores import load_panel
    from metaeval.experiment.other_levels import own_level_columns, own_levels_sheet
    from metaeval.report.cells import lay_out
    from metaeval.report.result import save_result
    from metaeval.report.sheet import write_tables

    if to is None and (to_split or to_unit):
        raise UserError("--to-split and --to-unit are about another data set: name it with --to.")
    run = given.run(protocols="decision")
    other = _elsewhere(run, to, to_split, to_unit) if to else None
    with scoring_progress(given.quiet) as progress:
        panel = load_panel(run, given.with_metrics, 1, progress)
    panels = [panel]
    frame, protocol = prepare_decisions(panel)
    found = [decided(frame, column, protocol[1]) for column in panel.columns]
    result = decision_table(panel, frame, protocol)
    sheets = decision_sheets(panel, frame, protocol[1], found)
    with scoring_progress(given.quiet) as progress:
        chances = own_level_columns(panel, frame, progress)
    if chances:
        sheets.append(own_levels_sheet(panel, frame, protocol[1], chances))
    folder = sheet_folder(run.results, "decide", sheets)
    save_result(result, folder / "decision.json")
    written = [folder / "decision.json", *write_tables(result, folder / "decision")]
    if other:
        from metaeval.experiment.other_levels import carried_over

        with scoring_progress(given.quiet) as progress:
            panels.append(load_panel(other, given.with_metrics, 1, progress))
        sheets.append(carried_over(*panels))
    written += write_sheets(sheets, folder)
    if not given.quiet:
        show_grids([lay_out(result), *(sheet.grid for sheet in sheets if sheet.name != "reliability")])
    try:
        written += write_pictures(found, folder)
    except UserError as error:  # matplotlib is not installed: all else is written
        say(f"No figure: {error}", err=True)
    close(panels, "decide", sheets, written)


def _elsewhere(run: RunConfig, to: str, split: str | None, unit: str | None) -> RunConfig:
    """The same run on another data set; a data set's own options stay behind."""
    from metaeval.experiment.columns import FILE_PREFIX
    from metaeval.experiment.prepared_run import find_dataset

    if any(name.startswith(FILE_PREFIX) for name in run.metrics):
        raise UserError("A score file holds the scores of one data set: --to takes metrics by name.")
    own = {"dataset": to, "split": split, "unit": unit or run.unit, "trust_config": run.trust_config}
    options = run.dataset_options if to == run.dataset else {}
    other = validated(RunConfig, {**run.model_dump(), **own, "dataset_options": options}, "the settings of --to")
    find_dataset(to, other)  # a wrong name is told before anything is computed
    return other


@opt.takes("names", "config dataset split data columns unit results store budget set quiet")
def calibrate(
    given: opt.Given,
    target: opt.Target = "full",
    objective: Annotated[
        str, Option(help="Objective of the threshold: macro-f1 or balanced-accuracy.", metavar="NAME")
    ] = "macro-f1",
    folds: Annotated[int, Option(help="Number of folds of the cross-validation over groups.", metavar="NUMBER")] = 5,
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
    from metaeval.experiment.calibrate import calibrate as learn
    from metaeval.experiment.calibrate import calibration_sheet

    usual = {} if given.config or "unit" in given.settings else {"unit": "citation"}
    run = given.run(**usual)
    with scoring_progress(given.quiet) as progress:
        panel, found = learn(run, target, objective, folds, progress)
    sheet = calibration_sheet(panel, found, target, objective, folds)
    folder = finish(given, panel, "calibrate", sheet)
    if not given.quiet:
        names = " ".join(f"--nli {one.metric}" for one in found)
        say(f"Next: metaeval cite alce FILE {names} --calibration {folder / 'calibration.json'}")


@opt.takes("split data columns results set quiet")
def check_claim(
    given: opt.Given,
    scores: Annotated[Path, Argument(help="Scores by pair or citation id.", metavar="SCORES")],
    claim: Annotated[str, Argument(help="The number as it was published.", metavar="CLAIM")],
) -> None:
    """Try a published number under every choice it leaves open.

    Split, unit, chunks, binarisation, ties, subset, missing scores and
    direction: named are the choices that give the number, how many were
    tried, and whether the protocol's own is one of them. The exit code is 1
    where none gives it.

    \b
    Examples:
      metaeval check-claim scores.csv "0.71 AUC on WiCE" --data ../shared/data
      metaeval check-claim scores.jsonl "42.1 % Spearman on factcheck_gpt"
    """
    from metaeval.experiment.check_claim import check_claim as check
    from metaeval.experiment.check_claim import claim_sentence, claim_sheet
    from metaeval.experiment.job_folder import close_job, job_folder

    run = given.run(metrics=())
    tried = check(scores, claim, run)
    sheet = claim_sheet(tried)
    folder = job_folder(run.results / "check-claim", [tried.data.name], sheet.grid.signatures)
    written = write_sheets([sheet], folder)
    if not given.quiet and sheet.grid.lines:
        show_grids([sheet.grid])
    else:
        say(claim_sentence(tried))
    close_job(run, "check-claim", folder, [tried.data], written)
    say_written(written)
    if not tried.giving:
        raise typer.Exit(1)
