"""Plans: groups for a difference, labels for an interval, and simulated coverage and error rates."""

from __future__ import annotations

from typing import Annotated

from metaeval.analyses.analysis import Analysis, Done, PanelOptions, Progress
from metaeval.declared import Flag
from metaeval.errors import UserError
from metaeval.setting_types import Numbers

_OF_LABELS = ("share", "items")
_OF_SIMULATION = ("value", "runs", "icc", "groups", "sizes", "levels")


class PlanOptions(PanelOptions):
    """Options of `plan`."""

    untyped = PanelOptions.untyped | {"columns", *_OF_LABELS, *_OF_SIMULATION} - {"value"}

    difference: Annotated[Numbers, Flag("NUMBERS")] = ()
    """True differences, with commas, in the table's units (2: 2 points)."""
    protocol: Annotated[str, Flag("NAME", "-p")] = ""
    """Protocol to plan for, by its headline measure."""
    measure: Annotated[str, Flag("KEY")] = ""
    """Key of the measure: overall, spearman, ndcg@5 ..."""
    half_width: Annotated[float | None, Flag("NUMBER")] = None
    """Plan labels instead: target half-width of a share's 95 % interval (0.1: 10 points)."""
    share: Annotated[float | None, Flag("NUMBER")] = None
    """Share that is expected, for --half-width (default: several)."""
    items: Annotated[int | None, Flag("NUMBER")] = None
    """Citations in the set, for --half-width (default: no limit)."""
    certify: Annotated[bool, Flag()] = False
    """Simulate how often intervals and tests hold on your data."""
    value: Annotated[Numbers, Flag("NUMBERS")] = ()
    """Certify without scores: values of metrics in the table's units, with commas."""
    runs: Annotated[int, Flag("NUMBER")] = 300
    """Samples of each simulation."""
    icc: Annotated[Numbers, Flag("NUMBERS")] = (0.3,)
    """With --value: intraclass correlations of the errors in a group, with commas."""
    groups: Annotated[int | None, Flag("NUMBER")] = None
    """With --value: groups (default: those of the data)."""
    sizes: Annotated[Numbers, Flag("NUMBERS")] = (8.0,)
    """With --value: rows of the groups, in turn."""
    levels: Annotated[Numbers, Flag("NUMBERS")] = (50.0, 50.0)
    """With --value: shares of two or three levels, the highest first."""


def _run(options: PlanOptions, progress: Progress) -> Done:
    from metaeval.analyses.comparing.sample_sizes import plan_sheet, protocol_to_plan
    from metaeval.runs.score_panel import load_panel

    if options.certify or options.value:
        options.refuse(("difference", "half_width", *_OF_LABELS), "for a plan: leave --certify and --value out")
        return _certified(options, progress)
    options.refuse(_OF_SIMULATION, "for --certify, the simulation of intervals and tests")
    if options.half_width is not None:
        return _labels(options, options.half_width)
    options.refuse(_OF_LABELS, "for --half-width")
    run = options.run()
    if not options.names_metrics or len(run.metrics) != 2:
        names = ", ".join(run.metrics) if options.names_metrics else "none"
        raise UserError(f"A plan compares exactly two metrics; given: {names}. Type two names.")
    protocol = protocol_to_plan(run, options.measure, options.difference, options.protocol)
    panel = load_panel(run, True, progress=progress)
    return Done(config=run, panels=[panel], sheets=[plan_sheet(panel, protocol, options.measure, options.difference)])


def _certified(options: PlanOptions, progress: Progress) -> Done:
    from metaeval.analyses.comparing.sample_sizes import protocol_of
    from metaeval.runs.certificates import certificate_sheet, check_certificate, designed_rows, planned_panel
    from metaeval.runs.score_panel import load_panel

    run = options.run()
    check_certificate(run, options.runs)
    protocol = protocol_of(run, options.measure, options.protocol)
    if options.groups is not None and not options.value:
        raise UserError(
            "groups is for a simulation without scores, which needs the expected value of a metric too: add --value, "
            "for example --value 75, or leave groups out."
        )
    if options.value and options.names_metrics:
        raise UserError("--value is for a plan without scores: leave out the metrics, or --value.")
    if options.value:
        rows = None if options.groups is None else designed_rows(run, options.groups, options.sizes, options.levels)
        panel = planned_panel(run, rows, protocol, options.measure, options.value, options.icc)
    else:
        panel = load_panel(run, options.names_metrics, 1, progress)
    return Done(config=run, panels=[panel], sheets=[certificate_sheet(panel, protocol, options.measure, options.runs)])


def _labels(options: PlanOptions, half_width: float) -> Done:
    """Return a table of the labels that an interval needs, for each expected share; nothing is scored or written."""
    from metaeval.analyses.comparing.sample_sizes import PLANNED, labels_needed
    from metaeval.display_text import count
    from metaeval.report.table import Table, blocks_of

    shares = PLANNED if options.share is None else (options.share,)
    rows = [{"share": share, "labels": labels_needed(half_width, share, options.items)} for share in shares]
    cells = [
        ("", f"{row['share']:g}", ["not reached" if row["labels"] is None else f"{row['labels']:,}"]) for row in rows
    ]
    of = f"of {count(options.items, 'citation')}" if options.items else "of a process without end"
    title = "Labels that an interval takes"
    grid = Table(title=title, headings=("labels",), stub="share", blocks=blocks_of(cells), records=rows)
    sentence = (
        f"For a 95 % interval of at most {100 * half_width:g} points to either side, {of}, from independent labels "
        "alone. A metric saves some of them, citations of one answer cost some: 'metaeval estimate' shows both."
    )
    return Done(config=options.run(), shown=[grid], verdict=[sentence], value=grid)


PLAN = Analysis(
    name="plan",
    summary="Plan sample sizes; simulate the coverage of intervals.",
    about="""By default: the citations that it takes to detect a difference between two metrics; the data are the pilot,
and show how much it varies over groups (default: the difference found in the mean ROC-AUC). With --half-width: the
labels that an interval of a share takes. With --certify: how often intervals hold and tests reject, with scores that
are simulated for the same rows (docs/explanation/inference.md).""",
    examples=[
        "plan overlap rouge --difference 2",
        "plan overlap rouge --measure spearman --difference 0.01,0.02",
        "plan overlap mine.jsonl -d wice",
        "plan --half-width 0.1 --set items=400",
        "plan overlap rouge --certify --set runs=1000",
        "plan --certify --value 75,90 --set groups=60 --set sizes=2,8,40",
    ],
    options=PlanOptions,
    run=_run,
)
