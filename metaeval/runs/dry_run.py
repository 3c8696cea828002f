"""Dry runs: the pairs that a run would score, their cost, and the requests that it would send."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from metaeval.config import RunConfig
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings
from metaeval.errors import UserError
from metaeval.llm.batch_files import write_batch
from metaeval.runs.evaluation import find_protocols, readable_protocols
from metaeval.runs.loaded_metrics import NOT_ASKING, plug_in
from metaeval.runs.prepared_run import Job, RatedSet
from metaeval.runs.readiness import Readiness, ReadinessState, readiness
from metaeval.runs.row_scores import expected_texts, job_as_read
from metaeval.runs.score_columns import load_run_data, named_metrics
from metaeval.runs.scored_table import pair_table
from metaeval.scoring.block_plan import make_plan
from metaeval.scoring.contract import Metric, TextPair
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
    for left in _unscored_work(config, data, tables):
        with plug_in(left.name):
            cost = left.metric.estimate(*left.texts)
        tokens = sum(len(text) for side in left.texts for text in side) // 4
        estimate = "" if cost is None else str(cost)
        yield Planned(left.name, left.state, left.pairs, left.stored, estimate, left.blocks, tokens)


def requests_of(config: RunConfig, path: Path, data: Corpus | Ratings | None, tables: bool) -> str:
    """Write the requests that a run's metrics would send into the batch file `path`; nothing is sent.

    Returns a sentence on what was written. data, tables: as of `plan`. Raises `UserError` for everything that the run
    would refuse before it scores, and where no metric sends requests.
    """
    bodies: dict[str, bytes] = {}
    asking = []
    for left in _unscored_work(config, data, tables):
        if type(left.metric).requests is not Metric.requests:
            asking.append(left.name)
            with plug_in(left.name):
                bodies.update(left.metric.requests(*left.texts))
    if not asking:
        raise UserError(NOT_ASKING.format(", ".join(config.metrics), "--requests"))
    return write_batch(path, bodies)


@dataclass(frozen=True, eq=False)
class _UnscoredWork:
    """The unscored part of one metric's work in a run.

    pairs: number of unique pairs. stored: of those with a stored score; None if unknown. texts: sources and statements
    of the other pairs. blocks: number of blocks with such a pair.
    """

    name: str
    metric: Metric
    state: Readiness
    pairs: int
    stored: int | None
    texts: tuple[list[str], list[str]]
    blocks: int


def _unscored_work(config: RunConfig, data: Corpus | Ratings | None, tables: bool) -> Iterator[_UnscoredWork]:
    """Yield each single metric's unscored work. data, tables: as of `plan`."""
    job: Job | RatedSet | None = None
    if table := pair_table(config) if tables else None:
        metrics, texts = named_metrics(config), [*table.values()]
    else:
        protocols = find_protocols(config)
        metrics, job = load_run_data(config, data)
        readable_protocols(protocols, job)
        texts = job.texts
    metrics = metrics.settled(texts)
    with _open_store(config.store_path) as store:
        for name in metrics.single:
            expected = expected_texts(job, name, metrics) if job else texts
            whole = job_as_read(job, name, metrics).texts if job else texts
            yield _unscored_work_of(name, metrics[name], expected, whole, store)


def _open_store(path: Path) -> AbstractContextManager[ScoreStore | None]:
    """Open the score store if there is one, else give None: a dry run creates none."""
    return ScoreStore(path) if path.exists() else nullcontext()


def _unscored_work_of(
    name: str, metric: Metric, expected: Sequence[TextPair], whole: Sequence[TextPair], store: ScoreStore | None
) -> _UnscoredWork:
    """Return a metric's unscored work. expected: the pairs that it would read, joined chunks included.

    whole: the pairs of the job, by whose sources a metric that depends on them is known in the store.
    """
    state = readiness(name, metric)
    unique = {pair_key(*pair): pair for pair in expected}
    with plug_in(name):
        known = state.state is not ReadinessState.DOWNLOAD
        # The identity holds the hash of the model's files: it is not known before they are here.
        answers = store.find(job_identity(metric, whole), list(unique)) if known and metric.kept and store else {}
    left = [pair for key, pair in unique.items() if key not in answers]
    texts = [source for source, _ in left], [statement for _, statement in left]
    blocks = sum(any(key not in answers for key in block.keys) for block in make_plan(unique, metric.block_tokens))
    return _UnscoredWork(name, metric, state, len(unique), len(answers) if known else None, texts, blocks)
