"""Ranks of metrics under every combination of open choices, and checks of published numbers under these choices."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from metaeval.analyses.analysis import Analysis, Done, FileOrObject, Progress, ScoredOptions
from metaeval.config import DatasetSettings, ProtocolSettings
from metaeval.declared import Flag
from metaeval.errors import UserError
from metaeval.setting_types import Texts


class MultiverseOptions(ProtocolSettings, ScoredOptions, DatasetSettings):
    """Options of `multiverse`."""

    untyped = frozenset({"unit", "pool", "budget", "executor"})

    axes: Annotated[Texts, Flag("AXIS", "-a", multiple=True)] = ()
    """Choice with its values: chunk.size=100,150. Repeatable."""
    measure: Annotated[str, Flag("KEY")] = ""
    """Key of the measure to rank by: fs_ps, spearman, ndcg@5 ..."""
    claim: Annotated[str, Flag("CLAIM")] = ""
    """Published number that the score file should give, checked instead: "0.71 AUC on WiCE"."""
    scores: Annotated[FileOrObject, Flag("[SCORES]", argument=True)] = None
    """With --claim: scores by pair or citation id, a file (in Python also a mapping)."""


def _run(options: MultiverseOptions, progress: Progress) -> Done:
    from metaeval.analyses.suites.choice_combinations import explore, read_axes, write_rank_stability
    from metaeval.report.multiverse import as_json, multiverse_tables, write_multiverse
    from metaeval.runs.loaded_metrics import able_defaults

    if options.claim:
        return _claimed(options)
    options.refuse(("scores",), "for --claim 'NUMBER MEASURE on DATA SET': add it, or leave the scores out")
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


def _claimed(options: MultiverseOptions) -> Done:
    """Compute the claimed number from the given scores, under every choice that the claim leaves open."""
    from metaeval.analyses.check_claim import check_claim, claim_sentence, claim_sheet
    from metaeval.analyses.claim_text import read_claim

    read_claim(options.claim)  # of two metrics it needs no file of scores, but another command
    options.refuse(("axes", "measure", "metrics", "protocols", "dataset"), "set by the claim: leave it out")
    if options.scores is None:
        raise UserError("--claim needs a file of scores: type metaeval multiverse SCORES --claim '0.71 AUC on WiCE'.")
    run = options.run(metrics=())
    checked = check_claim(options.scores, options.claim, run)
    sheet = claim_sheet(checked)
    return Done(
        config=run,
        sheets=[sheet],
        shown=[replace(sheet, footer=sheet.footer[:-1])] if sheet.lines else [],  # the last is the verdict
        verdict=[claim_sentence(checked)],
        value=checked,
        exit_code=0 if checked.giving else 1,
    )


MULTIVERSE = Analysis(
    name="multiverse",
    summary="Rank the metrics under every combination of analysis choices.",
    about="""The choices are chunk size, evidence rule, unit, pool and tie policy; there are no intervals. An axis that
is given replaces its default values, and one value fixes it. Any setting of a run can be an axis. With --claim: split,
unit, chunks, binarisation, ties, subset, missing scores and direction are tried; the choices that give the number are
named, how many were tried, and whether the protocol's own is one of them. The exit code is 1 where none gives it.""",
    examples=[
        "multiverse -m overlap,rouge,bm25",
        "multiverse -d wice -m overlap,bm25 --axes chunk.size=100,150,250",
        "multiverse -d wice -a chunk.size=150 -a unit=chunk -a pool=own --measure fs_ps",
        "multiverse -m overlap,rouge -a pool=own -a evidence.rule=complete -a aggregate=max,mean",
        'multiverse scores.csv --claim "0.71 AUC on WiCE"',
    ],
    options=MultiverseOptions,
    run=_run,
)
