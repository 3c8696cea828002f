"""Evaluation: columns through protocols, every two tested against each other, to results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import ceil

import numpy as np

from metaeval import registry
from metaeval.config import ComparisonConfig, RunConfig
from metaeval.errors import UserError, unknown
from metaeval.experiment.columns import Column
from metaeval.experiment.perfect_detectors import perfect
from metaeval.experiment.prepared_run import Frame
from metaeval.experiment.published import Beside, published_for
from metaeval.report import result as results
from metaeval.report.reading import Reading, Readings
from metaeval.report.sheet import known
from metaeval.scoring.controls import GOLD_CONTROLS
from metaeval.signature import resampled_fields, signature, versions
from metaeval.stats.significance import benjamini_hochberg, holm, significance_clusters
from protocols.comparison import compare
from protocols.contract import Estimate, Judgements, Outcome, Protocol, Resampling

Tested = tuple[Judgements, Outcome]

Asked = tuple[Protocol, Mapping[str, str]]
"""A protocol and its options."""


def significance(
    protocol: Protocol,
    options: Mapping[str, str],
    resampling: Resampling,
    settings: ComparisonConfig,
    tested: Mapping[str, Tested],
    keys: Sequence[str],
) -> results.Significance | None:
    """Compare every two metrics (by name, with their judgements and outcomes) under the measures `keys`.

    None with fewer than two metrics, or without permutations. Where Holm's adjustment over so many pairs could not
    reach `alpha` with the smallest p that the permutations allow, more of them are made.
    """
    if len(tested) < 2 or not settings.permutations:
        return None
    pairs = list(combinations(tested, 2))
    permutations = max(settings.permutations, ceil(2 * len(pairs) / settings.alpha))
    found = {}
    for pair in pairs:
        (one, of_one), (other, of_other) = (tested[name] for name in pair)
        found[pair] = compare(protocol, (one, other), (of_one, of_other), resampling, permutations, options, keys)
    comparisons: list[results.Comparison] = []
    for key in keys:
        differences = [found[pair][key] for pair in pairs]
        p = np.array([np.nan if told.p is None else told.p for told in differences])
        comparisons += [
            results.Comparison(
                measure=key,
                one=pair[0],
                other=pair[1],
                rows=told.rows,
                difference=told.value,
                low=told.low,
                high=told.high,
                p=told.p,
                holm=known(h),
                bh=known(b),
                note=told.note,
            )
            for pair, told, h, b in zip(pairs, differences, holm(p), benjamini_hochberg(p), strict=True)
        ]
    return results.Significance(
        permutations=permutations, seed=resampling.seed, alpha=settings.alpha, comparisons=comparisons
    )


def clusters(
    found: results.Significance, values: Mapping[str, Mapping[str, results.Value]]
) -> dict[str, dict[str, int]]:
    """Significance cluster of each metric under each measure, 1 the best; values: metric -> measure -> value."""
    names = list(values)
    placed: dict[str, dict[str, int]] = {name: {} for name in names}
    for key in dict.fromkeys(one.measure for one in found.comparisons if one.p is not None):
        differ = np.zeros((len(names), len(names)), dtype=np.bool_)
        for one in found.comparisons:
            if one.measure == key and one.holm is not None and one.holm <= found.alpha:
                a, b = names.index(one.one), names.index(one.other)
                differ[a, b] = differ[b, a] = True
        given = [values[name][key].value for name in names]
        value = np.array([np.nan if one is None else one for one in given])
        for name, cluster in zip(names, significance_clusters(value, differ).tolist(), strict=True):
            if cluster:
                placed[name][key] = cluster
    return placed


# What the footer repeats of the signature: the choices that move numbers most and are not said elsewhere in the table.
_SETTINGS = ("chunks", "sentences", "evidence", "pool", "over-chunks", "over-limit", "window")


def named_protocols(config: RunConfig) -> dict[str, Protocol]:
    """The run's protocols by the names that it asks for them; `UserError` for a wrong name."""
    names: Sequence[str] = config.protocols
    if "all" in names:  # the base paper's protocols, and those that register themselves as usual
        every = registry.names("protocol")
        names = [name for name in every if getattr(registry.find("protocol", name), "usual", True)]
    if not names:
        raise UserError("No protocol is asked for: name at least one, or 'all'.")
    found = {name: registry.find("protocol", name, code=True) for name in names}
    for name, protocol in found.items():
        if not isinstance(protocol, Protocol):
            raise UserError(f"{name!r} is not a protocol: it should be an instance of protocols.contract.Protocol.")
    return found


def readings_of(protocols: Iterable[Protocol]) -> Readings:
    """How findings read the results of these protocols, from what the protocols declare."""
    return Readings({one.name: _reading(one) for one in protocols}, GOLD_CONTROLS)


def _reading(protocol: Protocol) -> Reading:
    measures = protocol.measures
    return Reading(
        protocol.headline,
        {one.key: one.about for one in measures},
        {one.key: one.chance for one in measures if one.chance is not None},
        {one.key: one.ability for one in measures if one.ability},
    )


def find_protocols(config: RunConfig) -> list[Asked]:
    """The run's protocols with their options; `UserError` for a wrong name, option or value."""
    found: list[Asked] = []
    for protocol in named_protocols(config).values():
        options = config.protocol_options.get(protocol.name, {})
        for key, value in options.items():
            if key not in protocol.options:
                raise unknown(f"option of protocol {protocol.name}", key, protocol.options)
            if value not in (allowed := protocol.options[key].values):
                raise UserError(f"Protocol {protocol.name}: {key} is {value!r}; allowed: {', '.join(allowed)}.")
        found.append((protocol, {key: options.get(key, option.default) for key, option in protocol.options.items()}))
    known = sorted({*registry.names("protocol"), *(protocol.name for protocol, _ in found)})
    for owner in config.protocol_options.keys() - set(known):
        raise unknown("protocol in protocol_options", owner, known)
    return found


def readable_protocols(
    config: RunConfig, frame_of: Callable[[Protocol], Frame]
) -> tuple[list[tuple[Asked, Frame]], dict[str, str]]:
    """The run's protocols that tell metrics apart on the rows that they see; of each other one, why it does not.

    Raises `UserError` where none does.
    """
    found: list[tuple[Asked, Frame]] = []
    left_out: dict[str, str] = {}
    for protocol, options in find_protocols(config):
        frame = frame_of(protocol)
        if protocol.uses_pool and frame.gold.min() < 0:
            left_out[protocol.name] = f"a rating of {frame.gold.min():g} is no gain: gains are 0 or more."
        elif why := protocol.blind(frame.judgements(np.full(frame.gold.size, np.nan))):
            more = protocol.uses_pool and frame.unit == "chunk" and config.pool == "own"
            cure = " --pool bm25:20 adds candidates." if more else ""
            left_out[protocol.name] = f"{why}, so every metric has the same value there, or none.{cure}"
        else:
            found.append(((protocol, options), frame))
    if not found:
        reasons = " ".join(f"{name.capitalize()}: {reason}" for name, reason in left_out.items())
        unknown_levels = sum(frame.excluded.values()) if frame.unit == "chunk" else 0
        cure = f" {unknown_levels:,} chunks have no known level: try --unit citation." if unknown_levels else ""
        raise UserError(f"Nothing tells metrics apart on {frame.name}. {reasons}{cure}")
    return found, left_out


def evaluate(
    frame: Frame,
    columns: Sequence[Column],
    protocol: Protocol,
    options: Mapping[str, str],
    config: RunConfig,
    tested: Collection[str] | None = None,
) -> results.Result:
    """One protocol over all columns of a frame's data, with what was published beside it.

    tested: the metrics that are tested against each other; None for all. Of the run's settings only those of intervals
    and comparisons are read here.
    """
    resampling = resampling_of(config)
    unscored = frame.judgements(np.full(frame.gold.size, np.nan))
    blind = {measure.key: why for measure in protocol.measures if (why := measure.blind(unscored))}
    judged = {column: frame.judgements(column.score[frame.numbers]) for column in columns}
    outcomes = {column: _without(blind, protocol.evaluate(judged[column], resampling, options)) for column in columns}
    beside = Beside()
    if frame.as_published:
        beside = published_for(frame.name, frame.split, frame.unit, protocol.name)
    resampled = resampled_fields(resampling.level, resampling.n, resampling.seed, resampling.method, resampling.fewest)
    compared = {"permutations": config.comparison.permutations, "alpha": config.comparison.alpha}
    signed = {"protocol": protocol.name, **options, **resampled, **compared, **versions("metaeval", "numpy", "scipy")}
    rows = {column: _row(frame, column, outcomes[column], signed, beside) for column in columns}
    # Ceilings are those of the column that has most rows: unscored rows take their gold with them.
    most = max(outcomes.values(), key=lambda outcome: outcome.scored, default=None)
    keys = protocol.shown(unscored)
    shown = [measure for measure in protocol.measures if measure.key in keys]
    metrics = [column for column in columns if column.kind == "metric" and (tested is None or column.name in tested)]
    found = significance(
        protocol,
        options,
        resampling,
        config.comparison,
        {column.name: (judged[column], outcomes[column]) for column in metrics},
        [measure.key for measure in shown if measure.normal],
    )
    placed = clusters(found, {column.name: rows[column].values for column in metrics}) if found else {}
    in_chunks = [column.name for column in columns if column.fields.get("reads") == "chunks"]
    said = {key: str(frame.fields[key]) for key in _SETTINGS if key in frame.fields}
    return results.Result(
        protocol=protocol.name,
        title=protocol.title,
        unit=frame.unit,
        settings={**said, **({"read in chunks by": " + ".join(in_chunks)} if in_chunks else {}), **options},
        data=frame.summary,
        interval=results.Interval(**config.interval.model_dump()),
        columns=[results.Column(key=m.key, label=m.label, scale=m.scale, digits=m.digits) for m in shown],
        rows=[_flag(column, rows, placed.get(column.name, {})) for column in columns],
        ceilings={key: dict(kinds) for key, kinds in most.ceilings.items()} if most else {},
        perfect=perfect(frame, protocol, options, resampling, [measure.key for measure in shown]),
        significance=found,
        published=beside.source if any(row.metric in beside.values for row in rows.values()) else "",
    )


def _without(blind: Mapping[str, str], outcome: Outcome) -> Outcome:
    """The outcome, undefined under measures that give every metric one value; blind: key to reason."""
    constant = [key for key, estimate in outcome.estimates.items() if key in blind and estimate.value is not None]
    undefined = {key: Estimate(None, note=blind[key]) for key in constant}
    return replace(outcome, estimates={**outcome.estimates, **undefined})


def _row(frame: Frame, column: Column, outcome: Outcome, signed: Mapping[str, object], beside: Beside) -> results.Row:
    statuses = Counter(str(column.statuses[frame.numbers[row]]) for row in outcome.unscored_rows)
    published = beside.values.get(column.name, {}) if column.kind == "metric" else {}
    return results.Row(
        metric=column.name,
        kind=column.kind,
        values={
            key: results.Value(**vars(estimate), published=published.get(key))
            for key, estimate in outcome.estimates.items()
        },
        total=outcome.total + sum(frame.excluded.values()),
        scored=outcome.scored,
        unscored=outcome.unscored,
        excluded={**outcome.excluded, **frame.excluded},
        statuses=dict(sorted(statuses.items())),
        ledger=column.ledger,
        warnings=[*column.warnings, *outcome.warnings],
        signature=signature({**frame.fields, **column.fields, **signed}),
    )


def resampling_of(config: RunConfig) -> Resampling:
    """How a run's intervals are made."""
    interval = config.interval
    return Resampling(interval.resamples, interval.seed, interval.level, interval.method, interval.fewest)


def _flag(column: Column, rows: Mapping[Column, results.Row], placed: Mapping[str, int]) -> results.Row:
    """A metric's clusters, and for each measure the controls that it does not clearly beat: its interval is not above.

    Left out are the controls that see the gold, and one that is the metric itself (`overlap` is a control too).
    """
    row = rows[column]
    if column.kind == "control":
        return row
    controls = [
        other_row
        for other, other_row in rows.items()
        if other.kind == "control"
        and other.name not in GOLD_CONTROLS
        and not np.array_equal(other.score, column.score, equal_nan=True)
    ]
    not_above = {
        key: names
        for key, value in row.values.items()
        if (names := [other.metric for other in controls if _reaches(other.values[key], value)])
    }
    return row.model_copy(update={"not_above": not_above, "clusters": dict(placed)})


def _reaches(control: results.Value, value: results.Value) -> bool:
    # Without both intervals nothing is said.
    return value.low is not None and control.high is not None and control.high >= value.low
