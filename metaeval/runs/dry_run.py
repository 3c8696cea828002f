"""Dry runs: the pairs that a run would score, their cost, and the requests that it would send."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings
from metaeval.llm.batch_files import write_batch
from metaeval.runs.evaluation import find_protocols, readable_protocols
from metaeval.runs.loaded_metrics import NOT_ASKING, plug_in
from metaeval.runs.prepared_run import Job, RatedSet
from metaeval.runs.readiness import Readiness, ReadinessState, readiness
from metaeval.runs.row_scores import expected_texts, job_as_read
from metaeval.runs.score_columns import load_run_data, named_metrics
from metaeval.runs.scored_table import pair_table
from metaeval.scoring.block_plan import make_plan
from metaeval.scoring.contract import Metric
from metaeval.scoring.engine import job_identity
from metaeval.scoring.score_store import ScoreStore, pair_key


@dataclass(frozen=True)
class Planned:
    """The work that a run would do for one metric.

    pairs: number of unique pairs. stored: how many of these have a stored score; None if unknown, because the
    checkpoint is not here. estimate: what the others cost; "" for metrics that only take time. blocks: number of blocks
    of the plan that lack a score. tokens: of the unscored texts, at four characters each.
    """

    name: str
    state: Readiness
    pairs: int
    stored: int | None
    estimate: str
    blocks: int
    tokens: int


def plan(config: RunConfig, data: Corpus | Ratings | None = None, tables: bool = False) -> Iterator[Planned]:
    """Yield what each metric of a run would still have to do, without scoring, downloading or requests.

    A combination is represented by its members. data: replaces the run's data set. tables: whether a table of pairs
    is scored alone. Raises `UserError` for everything that the run would refuse before it scores.
    """
    for planned, metric, texts in _unscored_work(config, data, tables):
        with plug_in(planned.name):
            cost = metric.estimate(*texts)
        yield replace(planned, estimate="" if cost is None else str(cost))


def requests_of(config: RunConfig, path: Path, data: Corpus | Ratings | None, tables: bool) -> str:
    """Write the requests that a run's metrics would send into the batch file `path`; nothing is sent.

    Returns a sentence on what was written. data, tables: as of `plan`. Raises `UserError` for everything that the run
    would refuse before it scores, and where no metric sends requests.
    """
    bodies: dict[str, bytes] = {}
    asking = []
    for planned, metric, texts in _unscored_work(config, data, tables):
        if type(metric).requests is not Metric.requests:
            asking.append(planned.name)
            with plug_in(planned.name):
                bodies.update(metric.requests(*texts))
    if not asking:
        raise UserError(NOT_ASKING.format(", ".join(config.metrics), "--requests"))
    return write_batch(path, bodies)


def _unscored_work(
    config: RunConfig, data: Corpus | Ratings | None, tables: bool
) -> Iterator[tuple[Planned, Metric, tuple[list[str], list[str]]]]:
    """Yield each single metric's work without its estimate, the metric, and sources and statements without a score.

    data, tables: as of `plan`.
    """
    job: Job | RatedSet | None = None
    if table := pair_table(config) if tables else None:
        metrics, texts = named_metrics(config), [*table.values()]
    else:
        protocols = find_protocols(config)
        metrics, job = load_run_data(config, data)
        readable_protocols(protocols, job)
        texts = job.texts
    metrics = metrics.settled(texts)
    # A dry run creates no store.
    with ScoreStore(config.store_path) if config.store_path.exists() else nullcontext() as store:
        for name in metrics.single:
            metric = metrics[name]
            state = readiness(name, metric)
            # With joined chunks; the job's own pairs are those by which a metric that depends on them is known there.
            unique = {pair_key(*pair): pair for pair in (expected_texts(job, name, metrics) if job else texts)}
            whole = job_as_read(job, name, metrics).texts if job else texts
            with plug_in(name):
                known = state.state is not ReadinessState.DOWNLOAD
                # The identity holds the hash of the model's files: it is not known before they are here.
                kept = store if known and metric.kept else None
                answers = kept.find(job_identity(metric, whole), list(unique)) if kept else {}
            left = [pair for key, pair in unique.items() if key not in answers]
            plan_of = make_plan(unique, metric.block_tokens)
            blocks = sum(any(key not in answers for key in block.keys) for block in plan_of)
            tokens = sum(len(text) for pair in left for text in pair) // 4
            planned = Planned(name, state, len(unique), len(answers) if known else None, "", blocks, tokens)
            yield planned, metric, ([source for source, _ in left], [statement for _, statement in left])
