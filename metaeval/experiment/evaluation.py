"""Evaluation: columns through protocols, to results that are ready to be written or shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import numpy as np

from metaeval import registry
from metaeval.config import RunConfig
from metaeval.errors import UserError, unknown
from metaeval.experiment.columns import Column
from metaeval.experiment.job import Job
from metaeval.report import result as results
from metaeval.scoring.controls import GOLD_CONTROLS
from metaeval.signature import signature
from protocols.contract import Estimate, Judgements, Outcome, Protocol, Resampling

# What the footer repeats of the signature: the choices that move numbers most and are not said elsewhere in the table.
_SETTINGS = ("chunks", "sentences", "evidence", "pool", "over-chunks")

_UNKNOWN_LEVEL = "no evidence tells the chunk's level"


def find_protocols(config: RunConfig) -> list[tuple[Protocol, Mapping[str, str]]]:
    """The run's protocols with their options; `UserError` for a wrong name, option or value."""
    names = registry.names("protocol") if "all" in config.protocols else config.protocols
    if not names:
        raise UserError("No protocol is asked for: name at least one, or 'all'.")
    for owner in config.protocol_options.keys() - set(registry.names("protocol")):
        raise unknown("protocol in protocol_options", owner, registry.names("protocol"))
    found: list[tuple[Protocol, Mapping[str, str]]] = []
    for name in dict.fromkeys(names):
        protocol = registry.find("protocol", name)
        if not isinstance(protocol, Protocol):
            raise UserError(f"{name!r} is not a protocol: it should be an instance of protocols.contract.Protocol.")
        options = config.protocol_options.get(name, {})
        for key, value in options.items():
            if key not in protocol.options:
                raise unknown(f"option of protocol {name}", key, protocol.options)
            if value not in protocol.options[key]:
                raise UserError(f"Protocol {name}: {key} is {value!r}; allowed: {', '.join(protocol.options[key])}.")
        found.append((protocol, {key: options.get(key, allowed[0]) for key, allowed in protocol.options.items()}))
    return found


def evaluate(job: Job, columns: Sequence[Column], protocol: Protocol, options: Mapping[str, str]) -> results.Result:
    """One protocol over all columns of a job."""
    frame = _Frame(job, protocol)
    interval = job.config.interval
    resampling = Resampling(interval.resamples, interval.seed, interval.level)
    rows = {
        column: _row(frame, column, protocol, options, protocol.evaluate(frame.judgements(column), resampling, options))
        for column in columns
    }
    shown = [measure for measure in protocol.measures if measure.key in protocol.default]
    return results.Result(
        protocol=protocol.name,
        title=protocol.title,
        unit=job.config.unit,
        settings={**{key: str(job.fields[key]) for key in _SETTINGS if key in job.fields}, **options},
        data=_data(job, frame),
        interval=results.Interval(resamples=interval.resamples, seed=interval.seed, level=interval.level),
        columns=[results.Column(key=m.key, label=m.label, scale=m.scale, digits=m.digits) for m in shown],
        rows=[_flag(column, rows) for column in columns],
    )


class _Frame:
    """The rows that one protocol sees: cited rows, and pool rows if it uses them; unknown levels counted apart."""

    def __init__(self, job: Job, protocol: Protocol) -> None:
        self.job = job
        seen = [number for number, row in enumerate(job.rows) if row.cited or protocol.uses_pool]
        known = [number for number in seen if job.rows[number].level is not None]
        self.unknown = len(seen) - len(known)
        # In the order of ids: sums of floats then end in the same digit whatever the order of the corpus file.
        self.numbers = np.array(sorted(known, key=lambda number: job.rows[number].id), dtype=np.intp)
        self.rows = [job.rows[number] for number in self.numbers]
        if not self.rows:
            raise UserError(
                f"Data set {job.config.dataset!r} has no row of a known level with unit={job.config.unit}: "
                "its citations carry no evidence. Try unit=citation."
            )
        self.gold = np.array([float(row.level or 0) for row in self.rows])
        self.group = _codes([row.group for row in self.rows])
        self.pool = _codes([row.statement_id for row in self.rows])

    def judgements(self, column: Column) -> Judgements:
        """The column's scores beside the gold."""
        return Judgements(self.gold, column.score[self.numbers], self.group, self.pool)

    def statuses(self, column: Column, outcome: Outcome) -> dict[str, int]:
        """The outcome's unscored rows by status."""
        found = Counter(column.statuses[self.numbers[row]] for row in outcome.unscored_rows)
        return {str(status): count for status, count in sorted(found.items())}


def _codes(names: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    # Numbered in the order of the names, not of the rows: a resample draws the same groups in any row order.
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


def _row(
    frame: _Frame, column: Column, protocol: Protocol, options: Mapping[str, str], outcome: Outcome
) -> results.Row:
    excluded = dict(outcome.excluded)
    if frame.unknown:
        excluded[_UNKNOWN_LEVEL] = frame.unknown
    return results.Row(
        metric=column.name,
        kind=column.kind,
        values={key: _value(estimate) for key, estimate in outcome.estimates.items()},
        total=outcome.total + frame.unknown,
        scored=outcome.scored,
        unscored=outcome.unscored,
        excluded=excluded,
        statuses=frame.statuses(column, outcome),
        ledger=column.ledger,
        warnings=list(outcome.warnings),
        signature=signature({**frame.job.fields, **column.fields, **_protocol_fields(frame.job, protocol, options)}),
    )


def _value(estimate: Estimate) -> results.Value:
    return results.Value(
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        ties=estimate.ties,
        bounds=estimate.bounds,
        note=estimate.note,
    )


def _protocol_fields(job: Job, protocol: Protocol, options: Mapping[str, str]) -> dict[str, object]:
    interval = job.config.interval
    return {
        "protocol": protocol.name,
        **options,
        "interval": f"cluster-percentile-{interval.level}",
        "by": "group",
        "B": interval.resamples,
        "seed": interval.seed,
        "metaeval": version("metaeval"),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
    }


def _flag(column: Column, rows: Mapping[Column, results.Row]) -> results.Row:
    """Name, for each measure, the controls that the metric does not clearly beat: its interval is not above theirs.

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
    return row.model_copy(update={"not_above": not_above})


def _above(one: results.Value, other: results.Value) -> bool:
    # Without both intervals nothing is said.
    return one.low is None or other.high is None or one.low > other.high


def _data(job: Job, frame: _Frame) -> results.Data:
    levels = Counter(row.level for row in frame.rows)
    judged = [job.pairs[number] for row in frame.rows for number in row.members]
    return results.Data(
        name=job.name,
        split=job.split,
        fingerprint=job.corpus.fingerprint,
        statements=len({row.statement_id for row in frame.rows}),
        documents=len({pair.document_id for pair in judged}),
        citations=len({pair.citation_id for pair in judged if pair.cited}),
        groups=len({row.group for row in frame.rows}),
        levels={name: levels[number] for name, number in (("full", 2), ("partial", 1), ("none", 0))},
        dropped={**job.corpus.dropped, **job.table.dropped},
        evidence=dict(job.table.evidence),
    )
