"""Two leaderboards of the same runs, by people and by a metric: coefficients of their rankings over topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, Progress
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError

if TYPE_CHECKING:
    from metaeval.corpus.leaderboards import Board
    from metaeval.report.table import Record, Table
    from metaeval.stats.arrays import Floats

LEVEL = 0.95
FEWEST = 3
"""Fewest runs that both leaderboards must have: of two runs, a coefficient is 1 or -1 whatever the values."""
LABELS = {
    "kendall": "Kendall's tau",
    "tau_ap": "tau_AP",
    "tau_ap_truth": "tau_AP, down the ranking by people",
    "spearman": "Spearman",
    "pairwise_accuracy": "pairwise accuracy",
    "soft_accuracy": "soft pairwise accuracy",
}


class LeaderboardOptions(DeclaredOptions):
    """Options of `results leaderboards`."""

    people: Annotated[Path, Flag("FILE", argument=True)]
    """Leaderboard by people: a file, or a folder with a file for each run."""
    metric: Annotated[Path, Flag("FILE", argument=True)]
    """Leaderboard by a metric, in one of the same forms."""
    measure: Annotated[str, Flag("NAME", hidden=True)] = ""
    """Measure of the leaderboard by people, if it holds several."""
    metric_measure: Annotated[str, Flag("NAME", hidden=True)] = ""
    """Measure of the leaderboard by the metric, if it holds several."""
    denominator: Annotated[int, Flag("NUMBER", hidden=True)] = 0
    """Topics that a run's sum is divided by (0: all topics of both leaderboards)."""
    resamples: Annotated[int, Flag("NUMBER", hidden=True)] = 1000
    """Resamples of topics for intervals (0: none)."""
    seed: Annotated[int, Flag("NUMBER", hidden=True)] = 0
    """Seed of the resamples."""


@dataclass(frozen=True)
class _SharedRuns:
    """The S runs that both leaderboards have, sorted by name. Tuples are (by people, by the metric).

    cells: values on N topics, (S, N) each, NaN where missing; N = 0 where a board has values of all topics alone.
    means: each run's value over the topics, (S,) each.
    """

    runs: tuple[str, ...]
    cells: tuple[Floats, Floats]
    means: tuple[Floats, Floats]


def _run(options: LeaderboardOptions, progress: Progress) -> Done:
    from metaeval.corpus.leaderboards import read_board

    if min(options.denominator, options.resamples, options.seed) < 0:
        raise UserError("denominator, resamples and seed cannot be negative: give 0 or more.")
    boards = read_board(options.people, options.measure), read_board(options.metric, options.metric_measure)
    shared = _joined(boards, options.denominator)
    left = [_alone(first, other) for first, other in (boards, boards[::-1])]
    topics = shared.cells[0].shape[1]
    left += [f"Lines for all topics of {board.name} are not used." for board in boards if topics and board.totals]
    values = _values(shared, options)
    ties = [_ties(means) for means in shared.means]
    sentences = [
        *filter(None, left),
        f"{count(len(shared.runs), 'run')} are in both; pairs tied: {ties[0]} by people, {ties[1]} by the metric.",
        f"A run's value is its sum over topics, missing ones 0, by {options.denominator or topics}; intervals are of "
        f"other topics ({topics})."
        if topics
        else "One of the files has values of all topics alone, so that there are no intervals and no soft accuracy.",
    ]
    warnings = _few(shared)
    tables = [_coefficients(values), _runs(shared)]
    return Done(shown=tables, value=tables, sentences=sentences, warnings=warnings)


def _joined(boards: tuple[Board, Board], denominator: int) -> _SharedRuns:
    import numpy as np

    from metaeval.stats.leaderboards import topic_means

    first, other = boards
    runs = tuple(sorted(first.values.keys() & other.values.keys()))
    if len(runs) < FEWEST:
        raise UserError(
            f"{first.name} and {other.name} share {count(len(runs), 'run')}; {FEWEST} are needed, named alike in both."
        )
    topics = sorted({*first.topics, *other.topics}) if all(board.topics for board in boards) else []
    cells = [
        np.array([[board.values[run].get(topic, np.nan) for topic in topics] for run in runs]).reshape(len(runs), -1)
        for board in boards
    ]
    if topics:
        means = [topic_means(side, denominator) for side in cells]
    else:
        means = [np.array([_total(board, run) for run in runs]) for board in boards]
    return _SharedRuns(runs, (cells[0], cells[1]), (means[0], means[1]))


def _total(board: Board, run: str) -> float:
    """Return a run's value for all topics as the file gives it, else the mean over the topics with a value."""
    values = board.values[run]
    return board.totals[run] if run in board.totals else sum(values.values()) / len(values)


def _values(shared: _SharedRuns, options: LeaderboardOptions) -> list[Record]:
    from metaeval.report.table import known
    from metaeval.stats import leaderboards as stats
    from metaeval.stats.resampling import bootstrap

    topics = shared.cells[0].shape[1]
    ends: dict[str, tuple[float, float] | None] = {}
    if topics > 1 and options.resamples:
        drawn = stats.resampled(*shared.cells, bootstrap(topics, options.resamples, options.seed))
        ends = {name: stats.shifted_interval(column, LEVEL) for name, column in drawn.items()}
    values = {name: coefficient(*shared.means) for name, coefficient in stats.COEFFICIENTS.items()}
    if topics:
        values["soft_accuracy"], ends["soft_accuracy"] = stats.soft_accuracy(*shared.cells, LEVEL)
    low_high = {name: ends.get(name) or (None, None) for name in values}
    return [
        {"coefficient": name, "value": known(value), "low": low_high[name][0], "high": low_high[name][1]}
        for name, value in values.items()
    ]


def _coefficients(records: Sequence[Record]) -> Table:
    from metaeval.report.table import Table, blocks_of

    lines = [
        ("", LABELS[str(row["coefficient"])], [_number(row[name]) for name in ("value", "low", "high")])
        for row in records
    ]
    headings = ("value", "low (95 %)", "high (95 %)")
    title = "Agreement of two leaderboards"
    return Table(title=title, headings=headings, stub="coefficient", blocks=blocks_of(lines), records=records)


def _runs(shared: _SharedRuns) -> Table:
    import numpy as np

    from metaeval.report.table import Table, blocks_of

    people, metric = shared.means
    shown = [(~np.isnan(side)).sum(axis=1).tolist() for side in shared.cells]
    records: list[Record] = [
        {
            **{"run": shared.runs[at], "people": float(people[at]), "metric": float(metric[at])},
            **{"rank by people": int((people > people[at]).sum()) + 1},
            **{"rank by metric": int((metric > metric[at]).sum()) + 1},
            **{"topics by people": shown[0][at], "topics by metric": shown[1][at]},
        }
        for at in np.argsort(-people, kind="stable")
    ]
    headings = tuple(name for name in records[0] if name != "run")
    lines = [("", str(row["run"]), [_number(row[name]) for name in headings]) for row in records]
    return Table(title="Runs", headings=headings, stub="run", blocks=blocks_of(lines), records=records)


def _number(value: object) -> str:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _ties(means: Floats) -> int:
    import numpy as np

    _, counts = np.unique(means, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _alone(board: Board, other: Board) -> str:
    runs = sorted(board.values.keys() - other.values.keys())
    more = f" and {len(runs) - 8} more" if len(runs) > 8 else ""
    return f"Left out, only in {board.name}: {len(runs)} ({', '.join(runs[:8])}{more})." if runs else ""


def _few(shared: _SharedRuns) -> list[str]:
    """Return a warning that names the runs with fewer topics than a quarter of the median run's, in a list; else []."""
    import numpy as np

    counts = np.minimum(*((~np.isnan(side)).sum(axis=1) for side in shared.cells))
    few = [run for run, number in zip(shared.runs, counts, strict=True) if number < np.median(counts) / 4]
    if not few:
        return []
    return [f"Runs with values on under a quarter of the median run's topics, and 0 on the others: {', '.join(few)}."]


LEADERBOARDS = Analysis(
    name="results leaderboards",
    summary="Compare rankings of systems by people and by a metric.",
    about="""Forms: a table with columns run, topic and value; lines 'run topic measure value' (AutoJudge, ir_measures);
lines 'measure topic value' (trec_eval), a file for each run in one folder. Further options: --measure,
--metric-measure, --denominator, --resamples, --seed.""",
    examples=[
        "results leaderboards people.csv judge.csv",
        "results leaderboards people.txt runs/ --metric-measure ndcg_cut_10 --denominator 22",
    ],
    options=LeaderboardOptions,
    run=_run,
)
