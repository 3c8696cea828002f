"""Ranks of metrics under every combination of open choices."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from metaeval.analyses.analysis import Analysis, Done, Progress, ScoredOptions
from metaeval.core.config import DatasetSettings, ProtocolSettings
from metaeval.core.declared import Flag, TextList


class MultiverseOptions(ProtocolSettings, ScoredOptions, DatasetSettings):
    """Options of `multiverse`."""

    untyped = frozenset({"unit", "pool", "budget", "executor"})

    axes: Annotated[TextList, Flag("AXIS", "-a", multiple=True)] = ()
    """Choice with its values: chunk.size=100,150. Repeatable."""
    measure: Annotated[str, Flag("KEY")] = ""
    """Key of the measure to rank by: fs_ps, spearman, ndcg@5 ..."""


def _run(options: MultiverseOptions, progress: Progress) -> Done:
    from metaeval.analyses.suites.choice_combinations import explore, read_axes, write_rank_stability
    from metaeval.report.multiverse import as_json, multiverse_tables, write_multiverse
    from metaeval.runs.metrics import able_defaults

    run, axes = able_defaults(options.run()), read_axes(options.axes)
    tick = None if progress is None else partial(progress, "combinations")
    multiverse = explore(run, axes, tick, options.measure)
    return Done(
        config=run,
        identity=([multiverse.dataset, multiverse.split], [as_json(multiverse)]),
        files=[partial(write_multiverse, multiverse), partial(write_rank_stability, multiverse)],
        shown=multiverse_tables(multiverse),
        value=multiverse,
    )


MULTIVERSE = Analysis(
    name="multiverse",
    summary="Rank the metrics under every combination of analysis choices.",
    about="""The choices are chunk size, evidence rule, unit, pool and tie policy; there are no intervals. An axis that
is given replaces its default values, and one value fixes it. Any setting of a run can be an axis.""",
    returns="Multiverse: Its `records` are the ranks and values under each combination.",
    examples=[
        "multiverse -m overlap,rouge,bm25",
        "multiverse -d wice -m overlap,bm25 --axes chunk.size=100,150,250",
        "multiverse -d wice -a chunk.size=150 -a unit=chunk -a pool=own --measure fs_ps",
        "multiverse -m overlap,rouge -a pool=own -a evidence.rule=complete -a aggregate=max,mean",
    ],
    options=MultiverseOptions,
    run=_run,
)
