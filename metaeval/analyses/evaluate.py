"""Evaluation of existing scores: those in score files, and those published with a rated set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from metaeval.analyses.analysis import Analysis, Done, Progress, RatedOptions, TableSettings
from metaeval.analyses.run import evaluated
from metaeval.core import config as groups
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError


class EvaluateOptions(
    groups.OutputSettings,
    groups.StatisticsSettings,
    groups.ProtocolOptionSettings,
    groups.ProtocolSettings,
    groups.ControlSettings,
    groups.PairSettings,
    TableSettings,
    groups.DatasetSettings,
    RatedOptions,
):
    """Options of `evaluate`."""

    untyped = frozenset({"pool"})

    files: Annotated[tuple[Path, ...], Flag("SCORES", multiple=True, argument=True)] = ()
    """Score files (.parquet, .jsonl, .csv, .tsv, .xlsx)."""
    by: Annotated[str, Flag("PART")] = ""
    """A table by part instead: system, length, position, or a field of ratings."""


def _run(options: EvaluateOptions, progress: Progress) -> Done:
    from metaeval.runs.data import kind_of_data
    from metaeval.runs.evaluate import run as evaluate
    from metaeval.runs.metrics import FILE_PREFIX

    run = options.run(metrics=tuple(f"{FILE_PREFIX}{file}" for file in options.files))
    ratings = options.ratings(run)
    if not run.metrics and ratings is None and kind_of_data(run) == "corpus":
        table = f" Ratings and scores in one table: -d ratings --data {run.data}." if run.data else ""
        raise UserError(f"No score file is given, and {run.dataset} has no published scores: give a score file.{table}")
    if options.by:
        from metaeval.analyses.comparing.subgroups import by_part, check_division
        from metaeval.analyses.panel import load_panel

        check_division(options.by, run)
        panel = load_panel(run, bool(run.metrics), least=1, ratings=ratings)
        return Done(config=run, panel=panel, sheets=by_part(panel, options.by))
    return evaluated(options, run, evaluate(run, progress, ratings, published=True), "evaluate")


EVALUATE = Analysis(
    name="evaluate",
    summary="Evaluate files of scores against human labels.",
    about="Without a file, the scores that were published with a rated set are evaluated.",
    returns="Results: A result for each protocol, a list that prints table and findings; with `by` `Sheets`.",
    examples=[
        "pairs pairs.jsonl                (score these, pair_id and score)",
        "evaluate mine.jsonl",
        "evaluate mine.jsonl theirs.jsonl -d wice -p all",
        "evaluate -d frank                (published scores of 15 metrics)",
        "evaluate mine.jsonl -d ratings --data my_ratings.jsonl",
        "evaluate -d ratings --data pairs.csv -p preference --by error_type",
    ],
    options=EvaluateOptions,
    run=_run,
    headline=True,
)
