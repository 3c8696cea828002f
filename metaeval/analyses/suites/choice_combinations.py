"""The multiverse: every metric's headline value and rank under each combination of choices that a paper leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, get_args

from metaeval.core.config import RunConfig, load_run
from metaeval.core.errors import UserError, unknown
from metaeval.corpus.pair_table import Rule
from metaeval.report.multiverse import Multiverse, Outlook, by_protocol, ranks_of, specification, value_under
from metaeval.runs.data import load_corpus
from metaeval.runs.evaluate import find_protocols, named_protocols, run
from metaeval.runs.metrics import named_metrics
from protocols.contract import Protocol

TIES = "ties"
DEFAULT_AXES: Mapping[str, tuple[str, ...]] = {
    "chunk.size": ("100", "150", "250"),
    "evidence.rule": get_args(Rule),
    "evidence.threshold": ("0.3", "0.5", "0.7"),
    "unit": ("chunk", "citation"),
    "pool": ("own", "bm25:20"),
    TIES: ("expected", "worst", "best"),
}
_POOL = "pool"
_PLAIN = ("controls=false", "interval.resamples=0", "comparison.permutations=0")  # values without intervals
_RULE, _THRESHOLD = "evidence.rule", "evidence.threshold"
_IDLE: Mapping[str, tuple[str, ...]] = {
    "chunk": ("aggregate", "over_limit", "evidence.window"),
    "citation": (_RULE, _THRESHOLD, "over_limit", "evidence.window"),  # a citation has its level without evidence
    "page": (_RULE, _THRESHOLD, "evidence.window"),
    "evidence": (_RULE, "chunk.size", "chunk.mode", "aggregate", "over_limit"),
}
"""Axes that change no value, by unit; beside these, the axis `pool` has an effect with chunks only."""


def read_axes(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each axis: the defaults, replaced and extended by texts such as 'NAME=V1,V2'.

    An axis with one value is fixed. NAME is a setting of a run (chunk.size, metric_options.rouge.stem ...) or `ties`.
    Only the values of `ties` are checked here.
    """
    axes = dict(DEFAULT_AXES)
    for text in texts:
        name, equals, values = text.partition("=")
        parts = tuple(dict.fromkeys(part.strip() for part in values.split(",") if part.strip()))
        if not equals or not name.strip() or not parts:
            raise UserError(f"An axis is NAME=VALUE,VALUE, for example chunk.size=100,150; got {text!r}.")
        axes[name.strip()] = parts
    for value in axes[TIES]:
        if value not in DEFAULT_AXES[TIES]:
            raise unknown("tie policy", value, DEFAULT_AXES[TIES])
    return axes


def explore(
    config: RunConfig,
    axes: Mapping[str, Sequence[str]],
    tick: Callable[[int, int], None] | None = None,
    measure: str = "",
) -> Multiverse:
    """Return the metrics' values under every distinct combination of choices, without intervals; scores are stored.

    tick: called before each combination, with (combinations done, all of them). measure: the key of the measure
    that metrics are ranked by, under the protocols that have it; "": each protocol's own.

    A combination that the data do not allow (chunks without marked evidence) is skipped. Raises `UserError` for a
    wrong axis or value before anything is scored, and when no combination can be run.
    """
    find_protocols(config)
    protocols = named_protocols(config)
    if measure:
        keys = {name: [declared.key for declared in protocol.measures] for name, protocol in protocols.items()}
        protocols = {name: protocol for name, protocol in protocols.items() if measure in keys[name]}
        if not protocols:
            raise unknown("measure", measure, sorted({key for of in keys.values() for key in of}))
    for choices in _combinations(axes):
        _configured(config, choices, protocols)
    named_metrics(config)
    corpus, name, split = load_corpus(config)
    sets = [evidence_set for citation in corpus.citations for evidence_set in citation.evidence]
    # The threshold has no effect where all evidence is given as sentence indices.
    idle = {_RULE: not sets, _THRESHOLD: not any(evidence_set.texts for evidence_set in sets)}
    current = {_RULE: config.evidence.rule, _THRESHOLD: str(config.evidence.threshold)}
    held = {axis: current[axis] for axis in axes if idle.get(axis)}
    axes = {**axes, **{axis: (value,) for axis, value in held.items()}}
    multiverse = Multiverse(name, split, held, [], [], corpus.demo)
    plan = list(_combinations(axes))
    for number, choices in enumerate(plan):
        if tick:
            tick(number, len(plan))
        chosen = _configured(config, choices, protocols)
        # Pools beyond the first affect only the protocols that use pools.
        first_pool = _POOL not in axes or choices[_POOL] == axes[_POOL][0]
        wanted = {name: protocol for name, protocol in protocols.items() if protocol.uses_pool or first_pool}
        if not wanted:
            continue
        try:
            ran = run(chosen.model_copy(update={"protocols": tuple(wanted)}), data=corpus)
        except UserError as error:
            multiverse.skipped.append((choices, str(error)))
            continue
        multiverse.skipped.extend(({"protocol": name, **choices}, reason) for name, reason in ran.left_out.items())
        evaluated = [protocol for protocol in wanted.values() if protocol.name not in ran.left_out]
        for protocol, result in zip(evaluated, ran.results, strict=True):
            by = measure or protocol.ranked_by([column.key for column in result.columns])
            idle_here = {*_IDLE.get(choices.get("unit", "chunk"), ()), *(() if protocol.uses_pool else (_POOL,))}
            shown = {axis: value for axis, value in choices.items() if axis not in idle_here}
            for policy in axes[TIES] if protocol.tie_orders else ("",):
                values = {row.metric: value_under(row.values.get(by), policy) for row in result.rows}
                whole = {**shown, TIES: policy} if policy else shown
                for metric, rank in ranks_of(values).items():
                    multiverse.outlooks.append(Outlook(result.protocol, by, whole, metric, values[metric], rank))
    if not multiverse.outlooks:
        why = multiverse.skipped[0][1] if multiverse.skipped else "none"
        raise UserError(f"No combination of choices can be run: {why}")
    return multiverse


def write_rank_stability(multiverse: Multiverse, folder: Path) -> list[Path]:
    """Draw, per protocol, each metric's ranks over the choices that rank all metrics, if any; return the paths."""
    from metaeval.report.figures.drawing import save_figure
    from metaeval.report.figures.rank_stability import rank_stability

    written: list[Path] = []
    for protocol, outlooks in by_protocol(multiverse.outlooks):
        metrics = list(dict.fromkeys(outlook.metric for outlook in outlooks))
        known = {(specification(each), each.metric): each.rank for each in outlooks if each.rank is not None}
        whole = [
            key
            for key in dict.fromkeys(specification(outlook) for outlook in outlooks)
            if all((key, metric) in known for metric in metrics)
        ]
        if whole:
            ranks = {metric: [float(known[key, metric]) for key in whole] for metric in metrics}
            figure = rank_stability(ranks, f"{multiverse.dataset}, {multiverse.split}: {outlooks[0].measure}")
            written += save_figure(figure, folder / f"rank-stability-{protocol}")
    return written


def _combinations(axes: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Yield the combinations of values without the axis `ties`, one of those that differ only in axes of `_IDLE`."""
    names = [name for name in axes if name != TIES]
    for values in product(*(axes[name] for name in names)):
        choices = dict(zip(names, values, strict=True))
        unit = choices.get("unit", "chunk")
        if unit != "chunk" and choices.get(_POOL, "own") != "own":
            continue  # a pool adds chunks that nobody cites
        if all(choices[name] == axes[name][0] for name in _IDLE.get(unit, ()) if name in axes):
            yield choices


def _configured(config: RunConfig, choices: Mapping[str, str], protocols: Mapping[str, Protocol]) -> RunConfig:
    """Return the run's configuration with these choices and default ties, without controls, intervals and tests."""
    values: dict[str, Any] = config.model_dump(mode="python", exclude={"controls", "interval", "comparison"})
    values["trust_config"] = config.trust_config  # dumps leave it out
    overrides = [f"{name}={value}" for name, value in choices.items()]
    fixed = [
        f"protocol_options.{protocol.name}.{TIES}={protocol.options[TIES].default}"
        for protocol in protocols.values()
        if protocol.tie_orders and TIES in protocol.options
    ]
    return load_run(None, values, [*overrides, *_PLAIN, *fixed])
