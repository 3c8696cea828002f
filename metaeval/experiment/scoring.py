"""Scoring a job with several metrics: those that share a model pass together, combinations after their members."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.metrics import check_modules, load_metric, plug_in
from metaeval.files import canonical_json, sha256_json
from metaeval.scoring.contract import Combination, Metric, PairScore, TwoStepMetric
from metaeval.scoring.engine import Scored, Texts, score_jointly
from metaeval.scoring.store import ScoreStore

_log = logging.getLogger("metaeval")

MetricProgress = Callable[[str, int, int], None]
"""Called with (metric, pairs done, pairs in all)."""


def check_metric(name: str, config: RunConfig) -> None:
    """Refuse a wrong name, option or value, and missing packages, of a metric and of the metrics that it combines."""
    metric = load_metric(name, config)
    check_modules(name, metric.card)
    for member in metric.members if isinstance(metric, Combination) else ():
        if isinstance(load_metric(member, config), Combination):
            raise UserError(f"{name!r} combines {member!r}, itself a combination: name the single metrics instead.")
        check_metric(member, config)


def score_metrics(
    texts: Sequence[Texts],
    names: Sequence[str],
    config: RunConfig,
    store: ScoreStore | None = None,
    progress: MetricProgress | None = None,
) -> Iterator[tuple[str, Metric, Scored]]:
    """Score (source, statement) texts with each metric, in an order of its own.

    Every metric's checkpoint is found (or fetched) before the first of them scores. A group's models are let go
    before the next group's are loaded.
    """
    combined = {name: metric for name in names if isinstance(metric := load_metric(name, config), Combination)}
    members = [member for metric in combined.values() for member in metric.members]
    found: dict[str, tuple[int, Scored]] = {}
    for group in _groups([name for name in dict.fromkeys([*names, *members]) if name not in combined], config):
        for name, metric, scored in _score_group(group, texts, config, store, progress):
            if name in members:
                found[name] = metric.card.direction, scored
            if name in names:
                yield name, metric, scored
        del metric
    for name, metric in combined.items():
        yield name, metric, _combine(name, metric, [found[member] for member in metric.members], texts)


def _score_group(
    group: Sequence[str],
    texts: Sequence[Texts],
    config: RunConfig,
    store: ScoreStore | None,
    progress: MetricProgress | None,
) -> Iterator[tuple[str, Metric, Scored]]:
    label = " + ".join(group)
    metrics = [load_metric(name, config) for name in group]
    with plug_in(label):
        scored = score_jointly(metrics, texts, store, partial(progress, label) if progress else None)
    for name, metric in zip(group, metrics, strict=True):
        if note := metric.note():
            _log.info("%s: %s", name, note)
    yield from zip(group, metrics, scored, strict=True)


def _groups(names: Sequence[str], config: RunConfig) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        metric = load_metric(name, config)
        with plug_in(name):
            identity = metric.identity()
            key = canonical_json(metric.observed() if isinstance(metric, TwoStepMetric) else {name: identity})
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def _combine(name: str, metric: Combination, parts: Sequence[tuple[int, Scored]], texts: Sequence[Texts]) -> Scored:
    # Unique pairs only: a pair that the job holds twice would weigh twice in the scale.
    first = {pair: number for number, pair in reversed(list(enumerate(texts)))}
    numbers = sorted(first.values())
    answers = [[oriented(scored.answers[number], direction) for number in numbers] for direction, scored in parts]
    with plug_in(name):
        unique = dict(zip((texts[number] for number in numbers), metric.combine(answers), strict=True))
    identity = {
        **metric.identity(),
        "members": [scored.identity for _, scored in parts],
        "corpus": sha256_json(sorted(set(texts))),
    }
    return Scored([unique[pair] for pair in texts], identity, len(unique), 0)


def oriented(answer: PairScore, direction: int) -> PairScore:
    """The answer with its score turned so that higher is more support."""
    return answer if answer.score is None else answer._replace(score=direction * answer.score)
