"""Evaluation of existing scores: those in score files, and those published with a rated set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metaeval import config as groups
from metaeval.analyses.analysis import Analysis, AnalysisOptions, Done, FileOrObject, Progress, TableSettings
from metaeval.analyses.run import evaluated
from metaeval.config import RunConfig
from metaeval.declared import Flag
from metaeval.errors import UserError

if TYPE_CHECKING:
    from metaeval.corpus.ratings import Ratings


class EvaluateOptions(
    groups.OutputSettings,
    groups.StatisticsSettings,
    groups.ProtocolOptionSettings,
    groups.ProtocolSettings,
    groups.ControlSettings,
    groups.PairSettings,
    groups.DataSettings,
    TableSettings,
    groups.DatasetSettings,
    AnalysisOptions,
):
    """Options of `evaluate`."""

    untyped = frozenset({"pool"})

    files: Annotated[tuple[Path, ...], Flag("SCORES", multiple=True, argument=True)] = ()
    """Score files (.parquet, .jsonl, .csv, .tsv, .xlsx)."""
    by: Annotated[str, Flag("PART")] = ""
    """A table by part instead: system, length, position, or a field of ratings."""
    data: Annotated[FileOrObject, Flag("PATH")] = None
    """Folder that holds the published files, or your file (in Python also a data frame of ratings)."""


def _run(options: EvaluateOptions, progress: Progress) -> Done:
    from metaeval.runs.prepared_run import kind_of_data
    from metaeval.runs.run import run_scores

    run, ratings = _scores(options)
    if not run.metrics and ratings is None and kind_of_data(run) == "corpus":
        table = f" Ratings and scores in one table: -d ratings --data {run.data}." if run.data else ""
        raise UserError(f"No score file is given, and {run.dataset} has no published scores: give a score file.{table}")
    if options.by:
        from metaeval.analyses.comparing.subgroups import by_part, check_division
        from metaeval.runs.score_panel import load_panel

        check_division(options.by, run)
        panel = load_panel(run, bool(run.metrics), least=1, ratings=ratings)
        return Done(config=run, panels=[panel], sheets=by_part(panel, options.by))
    return evaluated(options, run, run_scores(run, progress, ratings), "evaluate")


def _scores(options: EvaluateOptions) -> tuple[RunConfig, Ratings | None]:
    """Return the run that evaluates the score files, and the ratings of a data frame given as `data` (else None)."""
    from metaeval.runs.prepared_run import ratings_in
    from metaeval.runs.score_columns import FILE_PREFIX

    files = tuple(f"{FILE_PREFIX}{file}" for file in options.files)
    if options.data is None or isinstance(options.data, Path):
        return options.run(metrics=files), None
    if options.dataset not in ("mini", "ratings"):
        raise UserError(f"The data frame is the data set that is evaluated: leave dataset={options.dataset!r} out.")
    run = options.run(metrics=files, dataset="ratings", data=None)
    return run, ratings_in(options.data, run)


EVALUATE = Analysis(
    name="evaluate",
    summary="Evaluate files of scores against human labels.",
    about="Without a file, the scores that were published with a rated set are evaluated.",
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
