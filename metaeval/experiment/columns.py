"""Columns: one score per judged row, from a metric, a score file or a control."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metaeval import registry
from metaeval.config import RunConfig, metric_variant, validated, variants
from metaeval.errors import UserError, unknown
from metaeval.experiment.job import Job
from metaeval.files import sha256_file
from metaeval.report.result import Ledger
from metaeval.scoring.aggregate import aggregate
from metaeval.scoring.contract import Metric, MetricCard, PairScore, Status
from metaeval.scoring.controls import CONTROLS
from metaeval.scoring.engine import Scored, score_pairs
from metaeval.scoring.scorefile import align, read_scores
from metaeval.scoring.store import ScoreStore

FILE_PREFIX = "scores:"

MetricProgress = Callable[[str, int, int], None]
"""Called with (metric, pairs done, pairs in all)."""


@dataclass(frozen=True, eq=False)
class Column:
    """Scores aligned with the job's rows, higher is more support; NaN where `statuses` says why there is none."""

    name: str
    kind: Literal["metric", "control"]
    score: NDArray[np.float64]
    statuses: list[Status]
    fields: Mapping[str, object]
    ledger: Ledger | None = None


def load_metric(name: str, config: RunConfig) -> Metric:
    """A metric by its registered name, a variant's, or 'module:Class', with the options that the run gives it."""
    options: dict[str, object] = {}
    target = name
    known = variants("metrics")
    registered = registry.names("metric")
    if name in known and name not in registered:
        variant = metric_variant(known[name])
        target, options = variant.metric, dict(variant.options)
    elif name not in registered and ":" not in name:
        raise unknown("metric", name, [*registered, *known], "Type 'metaeval metrics list'.")
    kind = registry.find("metric", target)
    if not (isinstance(kind, type) and issubclass(kind, Metric)):
        raise UserError(f"{name!r} is not a metric: it should be a subclass of metaeval.scoring.contract.Metric.")
    options.update(config.metric_options.get(name, {}))
    return kind(validated(kind.Options, options, f"the options of metric {name!r}"))


def check_names(config: RunConfig) -> None:
    """Refuse a wrong metric or protocol name, or options for one that is not asked for, before any work is done."""
    if not config.metrics:
        raise UserError("No metric is asked for: name at least one, for example metric=overlap.")
    for name in config.metrics:
        if not name.startswith(FILE_PREFIX):
            _check_modules(name, load_metric(name, config).card)
    for owner in config.metric_options.keys() - set(config.metrics):
        raise unknown("metric in metric_options", owner, config.metrics)


def _check_modules(name: str, card: MetricCard) -> None:
    missing = [module for module in card.modules if importlib.util.find_spec(module) is None]
    if missing:
        raise UserError(
            f'Metric {name!r} needs {", ".join(missing)}, not installed here: type "pip install -c constraints.txt '
            f"'metaeval[{card.extra}]'\", or ask for other metrics (the ones without a model: overlap, rouge, bm25)."
        )


def metric_columns(job: Job, store: ScoreStore | None, progress: MetricProgress | None = None) -> Iterator[Column]:
    """One column per metric of the run, in the order asked for."""
    for name in dict.fromkeys(job.config.metrics):
        if name.startswith(FILE_PREFIX):
            yield _file_column(job, Path(name.removeprefix(FILE_PREFIX)))
        else:
            yield _metric_column(job, name, store, progress)


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


def score_metric(
    job: Job, name: str, store: ScoreStore | None, progress: MetricProgress | None = None
) -> tuple[Metric, Scored]:
    """Score the job's pairs with one metric."""
    metric = load_metric(name, job.config)
    report = (lambda done, total: progress(name, done, total)) if progress else None
    return metric, score_pairs(metric, job.texts, store, report)


def _metric_column(job: Job, name: str, store: ScoreStore | None, progress: MetricProgress | None) -> Column:
    metric, scored = score_metric(job, name, store, progress)
    per_row = _per_row(job, scored.answers, metric.card.direction)
    options = ",".join(f"{key}={value}" for key, value in scored.identity["options"].items())
    fields: dict[str, object] = {"metric": f"{name}@v{metric.card.version}" + (f"({options})" if options else "")}
    if metric.card.checkpoint:
        fields["checkpoint"] = f"{metric.card.checkpoint}@{metric.card.revision}"
    if "corpus" in scored.identity:
        fields["over-sources"] = scored.identity["corpus"][:12]
    return _column(name, per_row, fields, _ledger(job, scored.answers))


def _file_column(job: Job, path: Path) -> Column:
    file = read_scores(path)
    row_ids = [row.id for row in job.rows]
    if job.config.unit == "citation" and file.answers.keys() <= set(row_ids):
        per_row = align(file, row_ids)
    else:
        per_row = _per_row(job, align(file, [pair.pair_id for pair in job.pairs]), _direction(file.manifest))
    fields = {"metric": f"{file.metric}@scores", "file": f"sha256:{sha256_file(path)[:12]}"}
    return _column(file.metric, per_row, fields, None)


def _direction(manifest: Mapping[str, object]) -> Literal[1, -1]:
    return -1 if manifest.get("direction") == -1 else 1


def _per_row(job: Job, answers: Sequence[PairScore], direction: Literal[1, -1]) -> list[PairScore]:
    return aggregate(answers, job.rows, job.config.aggregate, direction)


def _column(name: str, per_row: Sequence[PairScore], fields: Mapping[str, object], ledger: Ledger | None) -> Column:
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
