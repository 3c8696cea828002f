"""CiteEval's baselines in a run: which are wanted, and those that metrics judge.

AutoAIS is judged by a metric's decisions, LQAC by the chat model, AttrScore by the chat model or by a metric that
gives probabilities of three classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metaeval.citation.citeeval.baselines import BASELINES, Baseline, Triple, autoais
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.citeeval.statement_questions import LABEL, AttrStatement, attrscore_by_metric
from metaeval.citation.model import Answer, Pair
from metaeval.config import RunConfig
from metaeval.errors import UserError, unknown
from metaeval.experiment.citing.run import backends_of, find_cutoffs
from metaeval.experiment.cutoffs import Cutoff
from metaeval.experiment.metrics import plug_in
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.verdicts import Backend, load_judge
from metaeval.scoring.contract import ThreeWay
from metaeval.scoring.store import ScoreStore

_PAIRS = 1024  # pairs between two words on how far it is


@dataclass(frozen=True)
class Wanted:
    """The baselines of a run: those that the chat model judges, and the metrics that give AttrScore's labels."""

    by_model: tuple[Baseline, ...] = ()
    labellers: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Labelled:
    """AttrScore by one judge. name: the metric, or the chat model. fields: what the signature says of it.

    limit: tokens of a pair beyond which a metric may cut it; None: it cuts nothing, or a chat model judged.
    """

    name: str
    statements: Sequence[Sequence[AttrStatement]]
    fields: Mapping[str, object] = field(default_factory=dict)
    limit: int | None = None


def wanted(names: Sequence[str], config: RunConfig) -> Wanted:
    """The baselines by name: lqac and attrscore by the chat model, attrscore:METRIC by a metric.

    Raises `UserError` for an unknown name, and for a metric that cannot be loaded or gives no three classes.
    """
    by_model: dict[Baseline, None] = {}
    labellers: dict[str, None] = {}
    for name in names:
        known: dict[str, Baseline] = {one: one for one in BASELINES}
        base, colon, metric = name.partition(":")
        if name in known:
            by_model[known[name]] = None
        elif base == "attrscore" and colon:
            labellers[_labeller(metric, config)] = None
        else:
            raise unknown("baseline", name, [*BASELINES, "attrscore:METRIC"])
    return Wanted(tuple(by_model), tuple(labellers))


def decisive_cutoffs(
    names: Sequence[str], config: RunConfig, threshold: str | None, calibrations: Sequence[Path]
) -> Mapping[str, Cutoff]:
    """The cut-off of each metric for AutoAIS. Raises `UserError` as `find_cutoffs` does, and for a soft one."""
    cutoffs = find_cutoffs(names, config, threshold, calibrations) if names else {}
    if soft := [name for name, cutoff in cutoffs.items() if cutoff.value is None]:
        raise UserError(f"AutoAIS is made of decisions, and {soft[0]!r} is asked for soft scores: give a threshold.")
    return cutoffs


def judged_by_metrics(
    answers: Sequence[Answer],
    splits: Sequence[Split],
    cutoffs: Mapping[str, Cutoff],
    config: RunConfig,
    progress: MetricProgress | None = None,
) -> list[tuple[Backend, list[list[Triple]]]]:
    """AutoAIS of every statement of every answer, under each metric."""
    if not cutoffs:
        return []
    with ScoreStore(config.store_path) as store:
        backends = backends_of(cutoffs, config, store, "joint", progress)
        return [(backend, autoais(answers, splits, backend.entails)) for backend in backends]


def labelled_by_metrics(
    answers: Sequence[Answer],
    splits: Sequence[Split],
    names: Sequence[str],
    config: RunConfig,
    progress: MetricProgress | None = None,
) -> Iterator[Labelled]:
    """AttrScore with each metric's labels: the likeliest of its three classes, a citation at a time."""
    for name in names:
        metric = load_judge(name, config)

        def label(pairs: Sequence[Pair], name: str = name) -> list[str | None]:
            with plug_in(name):
                return _labels(name, pairs, config, progress)

        with plug_in(name):
            options = ",".join(f"{key}={value}" for key, value in metric.identity()["options"].items())
            made = f"{name}@v{metric.card.version}" + (f"({options})" if options else "")
            fields = {"backend": made, **metric.provenance()}
            limit = metric.identity()["options"].get("max_tokens") or metric.card.input_limit
        yield Labelled(name, attrscore_by_metric(answers, splits, label), fields, limit)


def _labeller(name: str, config: RunConfig) -> str:
    if not load_judge(name, config).card.three_way:
        raise UserError(
            f"AttrScore needs three classes, and {name!r} gives one score: name a metric with three (attrscore, nli), "
            "or leave the labels to the chat model (--baselines attrscore)."
        )
    return name


def _labels(name: str, pairs: Sequence[Pair], config: RunConfig, progress: MetricProgress | None) -> list[str | None]:
    metric = load_judge(name, config)
    metric.prepare(*([*dict.fromkeys(texts)] for texts in zip(*pairs, strict=True)))
    found: list[str | None] = []
    for start in range(0, len(pairs), _PAIRS):
        sources, claims = zip(*pairs[start : start + _PAIRS], strict=True)
        found += [_likeliest(ways) for ways in metric.entail(sources, claims)]
        if progress:
            progress(name, len(found), len(pairs))
    return found


def _likeliest(ways: ThreeWay | None) -> str | None:
    """The label of the most probable class; of equal ones, the first in the order of support."""
    if ways is None:
        return None
    attributable, contradictory, extrapolatory = LABEL.choices
    labels = (attributable, extrapolatory, contradictory)  # as the three classes stand: support, neither, against
    return labels[max(range(3), key=lambda place: ways[place])]
