"""Columns: one score per judged row, from a metric, a score file or a control."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metaeval.config import RunConfig
from metaeval.errors import UserError, unknown
from metaeval.experiment.metrics import load_metric
from metaeval.experiment.prepared_run import Job
from metaeval.experiment.scoring import MetricProgress, check_metric, oriented, score_metrics
from metaeval.files import sha256_file, sha256_json
from metaeval.report.result import Ledger
from metaeval.scoring.contract import Metric, PairScore, Status
from metaeval.scoring.controls import CONTROLS
from metaeval.scoring.engine import Scored, aggregate, score_pairs
from metaeval.scoring.scorefile import ScoreFile, align, manifest_path, read_scores
from metaeval.scoring.store import ScoreStore

FILE_PREFIX = "scores:"


@dataclass(frozen=True, eq=False)
class Column:
    """Scores aligned with the job's rows, higher is more support; NaN where `statuses` says why there is none."""

    name: str
    kind: Literal["metric", "control"]
    score: NDArray[np.float64]
    statuses: list[Status]
    fields: Mapping[str, object]
    ledger: Ledger | None = None


def check_names(config: RunConfig) -> None:
    """Refuse a wrong metric, a missing score file, or options for no metric of the run, before any work is done."""
    if not config.metrics:
        raise UserError("No metric is asked for: name at least one, for example --metric overlap.")
    for name in config.metrics:
        if name.startswith(FILE_PREFIX):
            read_scores(score_path(name))
        else:
            check_metric(name, config)
    known = {*config.metrics, *(name.partition(":")[0] for name in config.metrics)}
    for owner in sorted(config.metric_options.keys() - known):
        raise unknown("metric in metric_options", owner, config.metrics, "Options belong to a metric of the same run.")


def scored_columns(job: Job, progress: MetricProgress | None = None) -> list[Column]:
    """`metric_columns` with the run's score store, which is opened only where a metric is to be scored."""
    with ExitStack() as stack:
        needs_store = any(not name.startswith(FILE_PREFIX) for name in job.config.metrics)
        store = stack.enter_context(ScoreStore(job.config.store_path)) if needs_store else None
        return metric_columns(job, store, progress)


def metric_columns(job: Job, store: ScoreStore | None, progress: MetricProgress | None = None) -> list[Column]:
    """One column per metric of the run, in the order asked for; a score file whose name is taken adds its path."""
    names = list(dict.fromkeys(job.config.metrics))
    own = [name for name in names if not name.startswith(FILE_PREFIX)]
    scored = {
        name: _metric_column(job, name, metric, result)
        for name, metric, result in score_metrics(job.texts, own, job.config, store, progress)
    }
    columns: list[Column] = []
    for name in names:
        if name in scored:
            column = scored[name]
        else:
            path = score_path(name)
            column = score_column(job, read_scores(path), f"sha256:{sha256_file(path)[:12]}")
        columns.append(named_apart(column, columns, name))
    return columns


def named_apart(column: Column, others: Sequence[Column], name: str) -> Column:
    """The column, under a name that adds the score file's path where another column has its own."""
    taken = column.name in {other.name for other in others}
    return replace(column, name=f"{column.name} ({score_path(name)})") if taken else column


def control_columns(job: Job) -> Iterator[Column]:
    """One column per control."""
    made = {name: control(job.rows) for name, control in CONTROLS.items()}
    overlap = load_metric("overlap", RunConfig())
    scored = score_pairs(overlap, job.texts)
    made["lexical overlap"] = _score_array(_per_row(job, scored.answers, 1))
    if job.config.unit == "citation":
        del made["chunk position"]
    for name, score in made.items():
        statuses = [Status.OK if np.isfinite(value) else Status.NOTHING_TO_SCORE for value in score]
        yield Column(name, "control", score, statuses, {"control": name})


def _metric_column(job: Job, name: str, metric: Metric, scored: Scored) -> Column:
    per_row = _per_row(job, scored.answers, metric.card.direction)
    fields: dict[str, object] = {"metric": signed_as(name, metric, scored.identity), **metric.provenance()}
    if "members" in scored.identity:
        fields["members"] = f"sha256:{sha256_json(scored.identity['members'])[:12]}"
    if "corpus" in scored.identity:
        fields["over-sources"] = scored.identity["corpus"][:12]
    return column_of(name, per_row, fields, _ledger(job, scored.answers))


def signed_as(name: str, metric: Metric, identity: Mapping[str, Any]) -> str:
    """A metric in a signature: its name (a variant's, then the metric behind it), version and options."""
    options = ",".join(f"{key}={value}" for key, value in identity["options"].items())
    known_as = name if name == metric.card.name else f"{name}={metric.card.name}"
    return f"{known_as}@v{metric.card.version}" + (f"({options})" if options else "")


def score_column(job: Job, file: ScoreFile, content: str) -> Column:
    """A column of scores made elsewhere, by pair id (or by citation id, with unit citation); `content` pins them."""
    sign = direction_of(file)
    row_ids = [row.id for row in job.rows]
    if job.config.unit == "citation" and file.answers.keys() <= set(row_ids):
        per_row = [oriented(answer, sign) for answer in align(file, row_ids)]
    else:
        per_row = _per_row(job, align(file, [pair.pair_id for pair in job.pairs]), sign)
    fields = {"metric": f"{file.metric}@scores", "file": content}
    return column_of(file.metric, per_row, fields)


def score_path(name: str) -> Path:
    """The path of a score file that is named as a metric."""
    return Path(name.removeprefix(FILE_PREFIX))


def direction_of(file: ScoreFile) -> Literal[1, -1]:
    """1 where a higher score is more support, as the manifest says; `UserError` for anything but 1 and -1."""
    given = file.manifest.get("direction", 1)
    if given not in (1, -1):
        raise UserError(
            f"{manifest_path(file.path)}: direction is {given!r}; allowed: 1 (a higher score is more support) or -1."
        )
    return 1 if given == 1 else -1


def _per_row(job: Job, answers: Sequence[PairScore], direction: Literal[1, -1]) -> list[PairScore]:
    return aggregate(answers, job.rows, job.config.aggregate, direction)


def column_of(
    name: str, per_row: Sequence[PairScore], fields: Mapping[str, object], ledger: Ledger | None = None
) -> Column:
    """A metric's column from one answer per judged row."""
    return Column(name, "metric", _score_array(per_row), [answer.status for answer in per_row], fields, ledger)


def _score_array(answers: Sequence[PairScore]) -> NDArray[np.float64]:
    return np.array([np.nan if answer.score is None else answer.score for answer in answers], dtype=np.float64)


def _ledger(job: Job, answers: Sequence[PairScore]) -> Ledger:
    unique = dict(zip(job.texts, answers, strict=True)).values()
    totals: Counter[str] = Counter()
    for answer in unique:
        totals.update(tokens=answer.tokens, cut_pairs=int(answer.cut > 0), cut_tokens=answer.cut)
    return Ledger(
        pairs=len(unique), tokens=totals["tokens"], cut_pairs=totals["cut_pairs"], cut_tokens=totals["cut_tokens"]
    )
