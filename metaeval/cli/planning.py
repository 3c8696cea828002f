"""Commands that simulate: power (how many citations it takes), and certify (how often intervals and tests hold)."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from metaeval.cli import options as opt
from metaeval.cli.output import finish, say, show_list
from metaeval.cli.progress import scoring_progress
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
    from metaeval.experiment.certifying import certificate_sheet, check_certificate, planned_panel, read_design
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
        design = None if groups is None else read_design(groups, sizes, levels)
        assumed = read_numbers("value", value), read_numbers("alike", alike)
        panel = planned_panel(run, design, asked, measure or "", *assumed)
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
