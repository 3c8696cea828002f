"""Evaluation: columns through protocols, to results that are ready to be written or shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from metaeval import registry
from metaeval.config import RunConfig
from metaeval.errors import UserError, unknown
from metaeval.experiment.columns import Column
from metaeval.experiment.frame import Frame
from metaeval.experiment.published import Beside, published_for
from metaeval.experiment.significance import clusters, significance
from metaeval.report import result as results
from metaeval.scoring.controls import GOLD_CONTROLS
from metaeval.signature import signature
from protocols.contract import Estimate, Judgements, Outcome, Protocol, Resampling

# What the footer repeats of the signature: the choices that move numbers most and are not said elsewhere in the table.
_SETTINGS = ("chunks", "sentences", "evidence", "pool", "over-chunks")


def named_protocols(config: RunConfig) -> dict[str, Protocol]:
    """The run's protocols by the names that it asks for them; `UserError` for a wrong name."""
    names = _usual() if "all" in config.protocols else config.protocols
    if not names:
        raise UserError("No protocol is asked for: name at least one, or 'all'.")
    found = {name: registry.find("protocol", name) for name in names}
    for name, protocol in found.items():
        if not isinstance(protocol, Protocol):
            raise UserError(f"{name!r} is not a protocol: it should be an instance of protocols.contract.Protocol.")
    return found


def find_protocols(config: RunConfig) -> list[tuple[Protocol, Mapping[str, str]]]:
    """The run's protocols with their options; `UserError` for a wrong name, option or value."""
    found: list[tuple[Protocol, Mapping[str, str]]] = []
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


def _usual() -> list[str]:
    """What "all" asks for: the base paper's protocols, and those that register themselves as usual."""
    return [name for name in registry.names("protocol") if getattr(registry.find("protocol", name), "usual", True)]


def evaluate(
    frame: Frame, columns: Sequence[Column], protocol: Protocol, options: Mapping[str, str], config: RunConfig
) -> results.Result:
    """One protocol over all columns of a frame's data, with what was published beside it.

    Of the run's settings only those of intervals and comparisons are read here.
    """
    resampling = _resampling(config)
    judged = {column: _judgements(frame, column.score[frame.numbers]) for column in columns}
    outcomes = {column: protocol.evaluate(judged[column], resampling, options) for column in columns}
    beside = _beside(frame, protocol)
    signed = {"protocol": protocol.name, **options, **_resampling_fields(resampling)}
    rows = {column: _row(frame, column, outcomes[column], signed, beside) for column in columns}
    keys = protocol.shown(_judgements(frame, np.full(frame.gold.size, np.nan)))
    shown = [measure for measure in protocol.measures if measure.key in keys]
    metrics = [column for column in columns if column.kind == "metric"]
    found = significance(
        protocol,
        options,
        resampling,
        config.comparison,
        {column.name: (judged[column], outcomes[column]) for column in metrics},
        [measure.key for measure in shown if measure.normal],
    )
    placed = clusters(found, {column.name: rows[column].values for column in metrics}) if found else {}
    return results.Result(
        protocol=protocol.name,
        title=protocol.title,
        unit=frame.unit,
        settings={**{key: str(frame.fields[key]) for key in _SETTINGS if key in frame.fields}, **options},
        data=frame.summary,
        interval=results.Interval(
            resamples=resampling.n, seed=resampling.seed, level=resampling.level, method=resampling.method
        ),
        columns=[results.Column(key=m.key, label=m.label, scale=m.scale, digits=m.digits) for m in shown],
        rows=[_flag(column, rows, placed.get(column.name, {})) for column in columns],
        ceilings=_ceilings(outcomes.values()),
        significance=found,
        published=beside.source if any(row.metric in beside.values for row in rows.values()) else "",
    )


def _ceilings(outcomes: Iterable[Outcome]) -> dict[str, dict[str, float]]:
    """Of the column that has most rows: unscored rows take their gold with them."""
    most = max(outcomes, key=lambda outcome: outcome.scored, default=None)
    return {key: dict(kinds) for key, kinds in most.ceilings.items()} if most else {}


def _judgements(frame: Frame, score: NDArray[np.float64]) -> Judgements:
    return Judgements(frame.gold, score, frame.group, frame.pool, frame.system, levels=frame.unit != "rating")


def _beside(frame: Frame, protocol: Protocol) -> Beside:
    return published_for(frame.name, frame.split, frame.unit, protocol.name) if frame.as_published else Beside()


def _row(frame: Frame, column: Column, outcome: Outcome, signed: Mapping[str, object], beside: Beside) -> results.Row:
    statuses = Counter(str(column.statuses[frame.numbers[row]]) for row in outcome.unscored_rows)
    published = beside.values.get(column.name, {}) if column.kind == "metric" else {}
    return results.Row(
        metric=column.name,
        kind=column.kind,
        values={key: _value(estimate, published.get(key)) for key, estimate in outcome.estimates.items()},
        total=outcome.total + sum(frame.excluded.values()),
        scored=outcome.scored,
        unscored=outcome.unscored,
        excluded={**outcome.excluded, **frame.excluded},
        statuses=dict(sorted(statuses.items())),
        ledger=column.ledger,
        warnings=list(outcome.warnings),
        signature=signature({**frame.fields, **column.fields, **signed}),
    )


def _value(estimate: Estimate, published: float | None) -> results.Value:
    return results.Value(
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        ties=estimate.ties,
        bounds=estimate.bounds,
        ceiling=estimate.ceiling,
        published=published,
        note=estimate.note,
    )


def _resampling(config: RunConfig) -> Resampling:
    interval = config.interval
    return Resampling(interval.resamples, interval.seed, interval.level, interval.method)


def _resampling_fields(resampling: Resampling) -> dict[str, object]:
    return {
        "interval": f"cluster-{resampling.method}-{resampling.level}",
        "by": "group",
        "B": resampling.n,
        "seed": resampling.seed,
        "metaeval": version("metaeval"),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
    }


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
        if (names := [other.metric for other in controls if not _above(value, other.values[key])])
    }
    return row.model_copy(update={"not_above": not_above, "clusters": dict(placed)})


def _above(one: results.Value, other: results.Value) -> bool:
    # Without both intervals nothing is said.
    return one.low is None or other.high is None or one.low > other.high
