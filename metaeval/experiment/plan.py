"""A dry run: what a run would still have to score, fetch and pay for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metaeval.config import RunConfig
from metaeval.corpus.model import Corpus
from metaeval.experiment.columns import FILE_PREFIX, check_names
from metaeval.experiment.evaluation import find_protocols
from metaeval.experiment.metrics import load_metric, plug_in
from metaeval.experiment.prepared_run import prepare
from metaeval.experiment.readiness import Readiness, State, readiness
from metaeval.scoring.contract import Combination
from metaeval.scoring.engine import job_identity
from metaeval.scoring.store import ScoreStore, pair_key


@dataclass(frozen=True)
class Planned:
    """One metric's part of a run: its state, the job's unique pairs, how many are stored, and what the rest costs.

    stored is None where it cannot be told (the checkpoint is not here); estimate is empty where it is only time.
    """

    name: str
    state: Readiness
    pairs: int
    stored: int | None
    estimate: str


def plan(config: RunConfig, corpus: Corpus | None = None) -> Iterator[Planned]:
    """What each metric of a run would still have to do; nothing is scored, fetched or asked.

    Raises `UserError` for everything that the run itself would refuse before it scores.
    """
    find_protocols(config)
    check_names(config)
    texts = prepare(config, corpus).texts
    unique = {pair_key(*pair): pair for pair in texts}
    names = [name for name in dict.fromkeys(config.metrics) if not name.startswith(FILE_PREFIX)]
    members = [
        member for name in names if isinstance(one := load_metric(name, config), Combination) for member in one.members
    ]
    with ScoreStore(config.store_path) as store:
        for name in dict.fromkeys([*names, *members]):
            metric = load_metric(name, config)
            if isinstance(metric, Combination):
                continue
            state = readiness(name, metric)
            with plug_in(name):
                known = state.state is not State.DOWNLOAD
                answers = store.find(job_identity(metric, unique.values()), list(unique)) if known else {}
                left = [pair for key, pair in unique.items() if key not in answers]
                cost = metric.estimate([source for source, _ in left], [statement for _, statement in left])
            yield Planned(name, state, len(unique), len(answers) if known else None, "" if cost is None else str(cost))
