"""What each metric needs before it can score on this machine, and what a run would still have to score."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from metaeval.analyses.score_export import pair_table
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.config_files import TRUST, UntrustedError
from metaeval.core.errors import UserError
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings
from metaeval.llm.batch_files import write_batch
from metaeval.runs.data import Job, RatedSet
from metaeval.runs.evaluate import find_protocols, readable_protocols
from metaeval.runs.metrics import NOT_ASKING, load_metric, load_run_data, named_metrics, plug_in
from metaeval.runs.score import expected_texts, job_as_read
from metaeval.scoring.backends import minilm
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model
from metaeval.scoring.backends.model_metric import ModelMetric
from metaeval.scoring.block_plan import make_plan
from metaeval.scoring.contract import Metric, MetricCard
from metaeval.scoring.engine import job_identity
from metaeval.scoring.score_store import ScoreStore, pair_key


class ReadinessState(StrEnum):
    """The state of a metric: ready, or what it needs before it can score."""

    READY = "ready"
    PACKAGE = "needs package"
    DOWNLOAD = "needs download"
    KEY = "needs key"
    TRUST = "needs trust"
    BROKEN = "broken"


@dataclass(frozen=True)
class Readiness:
    """The state of a metric. card: None if it cannot be read. detail: what the metric needs, or why it is broken."""

    name: str
    card: MetricCard | None
    state: ReadinessState
    detail: str = ""

    def __str__(self) -> str:
        if self.state in (ReadinessState.READY, ReadinessState.BROKEN):
            return str(self.state)
        # Of a download only the size is shown; the licence is on the metric's card.
        return f"{self.state}: {self.detail.split(', ')[0] if self.state is ReadinessState.DOWNLOAD else self.detail}"


def registered_states() -> list[Readiness]:
    """Return the state of every registered metric with default options, without importing torch or downloading."""
    return [state_of(name, name) for name in registry.names("metric")]


def readiness(name: str, metric: Metric) -> Readiness:
    """Return the state of a metric; raises `UserError` if a folder that its options name is missing or incomplete."""
    card = metric.card
    if missing := card.missing:
        detail = f"extra {card.extra!r}" if card.extra else ", ".join(missing)
        return Readiness(name, card, ReadinessState.PACKAGE, detail)
    # A judge needs its API key, unless it is asked at an address of the user's with no variable of its own.
    options = metric.options
    variable = getattr(options, "api_key_env", "")
    defaults = {field: declared.default for field, declared in type(options).model_fields.items()}
    asks_default = getattr(options, "base_url", "") == defaults.get("base_url")
    if variable and (asks_default or variable != defaults["api_key_env"]) and not os.environ.get(variable, "").strip():
        return Readiness(name, card, ReadinessState.KEY, variable)
    if download := _download_of(metric):
        return Readiness(name, card, ReadinessState.DOWNLOAD, download)
    return Readiness(name, card, ReadinessState.READY)


def state_of(name: str, registered_as: str) -> Readiness:
    """Return the state of a metric or a variant of `registered_as`; an error in loading it is a state too."""
    kind: Any = None
    try:
        kind = registry.find("metric", registered_as) if registered_as in registry.names("metric") else None
        return readiness(name, load_metric(name, None))
    except UntrustedError:
        return Readiness(name, None, ReadinessState.TRUST, f"--set {TRUST}")
    except UserError as error:
        card = getattr(kind, "card", None)
        return Readiness(name, card if isinstance(card, MetricCard) else None, ReadinessState.BROKEN, str(error))


def _download_of(metric: Metric) -> str:
    """Return, as text, what the metric would download before it can score; "" for nothing."""
    card = metric.card
    if isinstance(metric, ModelMetric):
        return metric.lacking
    if card.download in ("", "none"):
        return ""
    if card.checkpoint == minilm.FILES.hub_id:
        return "" if minilm.is_here(minilm.FILES) else card.download
    try:
        if "/" in card.checkpoint:  # otherwise it is a plug-in that finds its files by itself
            find_model(Checkpoint(card.checkpoint, card.download, card.revision or "main"), fetch=False)
    except UserError:
        return card.download
    return ""


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
