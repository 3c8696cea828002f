"""Plans: groups for a difference, and labels for an interval."""

from __future__ import annotations

from typing import Annotated

from metaeval.analyses.analysis import Analysis, Done, PanelOptions, Progress
from metaeval.core.declared import Flag, NumberList
from metaeval.core.errors import UserError

_OF_LABELS = ("share", "items")


class PlanOptions(PanelOptions):
    """Options of `plan`."""

    untyped = PanelOptions.untyped | {"columns", *_OF_LABELS}

    difference: Annotated[NumberList, Flag("NUMBERS")] = ()
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


def _run(options: PlanOptions, progress: Progress) -> Done:
    from metaeval.analyses.comparing.sample_sizes import plan_sheet, protocol_to_plan
    from metaeval.analyses.panel import load_panel

    if options.half_width is not None:
        return _labels(options, options.half_width)
    options.refuse(_OF_LABELS, "for --half-width")
    run = options.run()
    if not options.names_metrics or len(run.metrics) != 2:
        names = ", ".join(run.metrics) if options.names_metrics else "none"
        raise UserError(f"A plan compares exactly two metrics; given: {names}. Type two names.")
    protocol = protocol_to_plan(run, options.measure, options.difference, options.protocol)
    panel = load_panel(run, True, progress=progress)
    return Done(config=run, panel=panel, sheets=[plan_sheet(panel, protocol, options.measure, options.difference)])


def _labels(options: PlanOptions, half_width: float) -> Done:
    """Return a table of the labels that an interval needs, for each expected share; nothing is scored or written."""
    from metaeval.analyses.comparing.sample_sizes import PLANNED, labels_needed
    from metaeval.core.errors import count
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
    summary="Plan sample sizes.",
    about="""By default: the citations that it takes to detect a difference between two metrics; the data are the pilot,
and show how much it varies over groups (default: the difference found in the mean ROC-AUC). With --half-width: the
labels that an interval of a share takes.""",
    returns="Sheets: The tables by name; with `half_width` one `Table`.",
    examples=[
        "plan overlap rouge --difference 2",
        "plan overlap rouge --measure spearman --difference 0.01,0.02",
        "plan overlap mine.jsonl -d wice",
        "plan --half-width 0.1 --set items=400",
    ],
    options=PlanOptions,
    run=_run,
)
