"""Evaluation: columns through protocols to results, tested against each other, beside what papers and theory say.

Perfect detectors say how far the labels mean what they say; published values are what the authors of a data set report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field

from metaeval import registry
from metaeval.config import RunConfig, Strict
from metaeval.config_files import config_file, variants
from metaeval.declared import validated
from metaeval.errors import UserError, unknown
from metaeval.experiment.columns import Column
from metaeval.experiment.prepared_run import Frame, Job, RatedSet
from metaeval.experiment.significance import marked, significance
from metaeval.reading import read_yaml
from metaeval.report import result as results
from metaeval.report.measures import Reading, Readings
from metaeval.report.result import ANY_SUPPORT, EVIDENCE_SHARE, FULL_SUPPORT, Perfect, Unit
from metaeval.scoring.controls import CHANCE_CONTROLS, GOLD_CONTROLS
from metaeval.signature import resampled_fields, signature, versions
from metaeval.stats.arrays import Floats
from protocols.comparison import Tested, chance
from protocols.contract import Estimate, Judgements, Measure, Outcome, Protocol, Resampling

Asked = tuple[Protocol, Mapping[str, str]]
"""A protocol and its options."""


EXPECTED = "what random scores are expected to have, not one draw of them"

# The choices that move numbers most and are not said elsewhere in the table.
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
    found = {}
    for protocol in protocols:
        abouts = {one.key: one.about for one in protocol.measures}
        chances = {one.key: one.chance for one in protocol.measures if one.chance is not None}
        abilities = {one.key: one.ability for one in protocol.measures if one.ability}
        found[protocol.name] = Reading(protocol.headline, abouts, chances, abilities)
    return Readings(found, GOLD_CONTROLS, CHANCE_CONTROLS)


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


class Readable(NamedTuple):
    """A run's protocols that distinguish metrics on the rows that they see; of each other one, why it does not."""

    framed: list[tuple[Asked, Frame]]
    left_out: dict[str, str]

    @property
    def protocols(self) -> list[Asked]:
        """The protocols without their rows."""
        return [protocol for protocol, _ in self.framed]


def readable_protocols(protocols: Iterable[Asked], source: Job | RatedSet) -> Readable:
    """Which of these protocols distinguish metrics on the data; `UserError` where none does."""
    config = source.config
    found: list[tuple[Asked, Frame]] = []
    left_out: dict[str, str] = {}
    for protocol, options in protocols:
        frame = source.frame(protocol)
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
        raise UserError(f"Nothing tells metrics apart on {frame.name}. {reasons}{frame.unknown_levels()}")
    return Readable(found, left_out)


def evaluate(
    frame: Frame,
    columns: Sequence[Column],
    protocol: Protocol,
    options: Mapping[str, str],
    config: RunConfig,
    tested: Collection[str] | None = None,
    tables: int = 1,
) -> results.Result:
    """One protocol over all columns of a frame's data, with what was published beside it.

    tested: the metrics that are tested, against each other and the controls; None for all. tables: how many the suite
    has, which `as_one_family` makes one family of. Of the run's settings only those of intervals and comparisons are
    read here.
    """
    resampling = resampling_of(config)
    unscored = frame.judgements(np.full(frame.gold.size, np.nan))
    reasons = protocol.blind_measures(unscored, [measure.key for measure in protocol.measures])
    blind = {key: why for key, why in reasons.items() if why}
    judged = {column: frame.judgements(column.score[frame.numbers]) for column in columns}
    outcomes = {
        column: _expected(protocol, judged[column], resampling, options, blind)
        if column.is_random
        else _without(blind, protocol.evaluate(judged[column], resampling, options))
        for column in columns
    }
    beside = Beside()
    if frame.as_published:
        beside = published_for(frame.name, frame.split, frame.unit, protocol.name)
    resampled = resampled_fields(resampling.level, resampling.n, resampling.seed, resampling.method, resampling.fewest)
    compared = config.comparison.model_dump()
    signed = {"protocol": protocol.name, **options, **resampled, **compared, **versions("metaeval", "numpy", "scipy")}
    rows = {column: _row(frame, column, outcomes[column], signed, beside) for column in columns}
    # Ceilings are those of the column that has most rows: unscored rows take their gold with them.
    most = max(outcomes.values(), key=lambda outcome: outcome.scored, default=None)
    keys = protocol.shown(unscored)
    shown = [measure for measure in protocol.measures if measure.key in keys]
    metrics = [column for column in columns if column.kind == "metric" and (tested is None or column.name in tested)]
    found = significance(
        *(protocol, options, resampling, config.comparison),
        {column.name: (judged[column], outcomes[column]) for column in metrics},
        [measure.key for measure in shown if measure.key not in blind],
        {column.name: _rivals(column, judged, outcomes) for column in metrics},
        tables,
    )
    in_chunks = [column.name for column in columns if column.fields.get("reads") == "chunks"]
    return results.Result(
        protocol=protocol.name,
        title=frame.summary.wording(protocol.title),
        unit=frame.unit,
        settings={
            **said_settings(frame),
            **({"read in chunks by": " + ".join(in_chunks)} if in_chunks else {}),
            **options,
        },
        data=frame.summary,
        interval=results.Interval(**config.interval.model_dump()),
        columns=[column_of(measure) for measure in shown],
        rows=marked([_with_same(row, column, columns) for column, row in rows.items()], found),
        ceilings={key: dict(kinds) for key, kinds in most.ceilings.items()} if most else {},
        perfect=perfect(frame, protocol, options, resampling, [measure.key for measure in shown]),
        significance=found,
        published=beside.source if any(row.metric in beside.values for row in rows.values()) else "",
    )


def said_settings(frame: Frame) -> dict[str, str]:
    """What the footer of a table repeats of its signature."""
    return {key: str(frame.fields[key]) for key in _SETTINGS if key in frame.fields}


def _without(blind: Mapping[str, str], outcome: Outcome) -> Outcome:
    """The outcome, undefined under measures that give every metric one value; blind: key to reason."""
    constant = [key for key, estimate in outcome.estimates.items() if key in blind and estimate.value is not None]
    undefined = {key: Estimate(None, note=blind[key]) for key in constant}
    return replace(outcome, estimates={**outcome.estimates, **undefined})


def _expected(
    protocol: Protocol,
    judgements: Judgements,
    resampling: Resampling,
    options: Mapping[str, str],
    blind: Mapping[str, str],
) -> Outcome:
    """The outcome of random scores, with what they are expected to have in the place of what one draw has."""
    known = chance(protocol, judgements, options)
    drawn = protocol.evaluate(judgements, replace(resampling, n=0), options)
    told = all(key in known and estimate.value is not None for key, estimate in drawn.estimates.items())
    # What is known has no interval: the draw's is made only where a warning may come with it.
    if not (told and resampling.studentised and not drawn.excluded and np.ptp(judgements.group)):
        drawn = protocol.evaluate(judgements, resampling, options)
    outcome = _without(blind, drawn)
    estimates = {
        key: Estimate(known[key], note=EXPECTED) if key in known and estimate.value is not None else estimate
        for key, estimate in outcome.estimates.items()
    }
    return replace(outcome, estimates=estimates)


def _rivals(
    column: Column, judged: Mapping[Column, Judgements], outcomes: Mapping[Column, Outcome]
) -> dict[str, Tested | None]:
    """The controls that a metric is held against: not those that see the gold, nor one that is the metric itself.

    `overlap` is a control too. None stands for the expectation of random scores.
    """
    return {
        other.name: None if other.is_random else (rows, outcomes[other])
        for other, rows in judged.items()
        if other.kind == "control" and other.name not in GOLD_CONTROLS and not _same_scores(other, column)
    }


def _same_scores(column: Column, other: Column) -> bool:
    """Whether two columns have the same score on every row: columns that order all rows alike have equal areas too."""
    return np.array_equal(column.score, other.score, equal_nan=True)


def _with_same(row: results.Row, column: Column, columns: Sequence[Column]) -> results.Row:
    """The row of a metric with the controls that have its scores."""
    controls = [other for other in columns if other.kind == "control" and column.kind == "metric"]
    return row.model_copy(update={"same_scores": [other.name for other in controls if _same_scores(column, other)]})


def column_of(measure: Measure) -> results.Column:
    """The column of a measure in a table."""
    return results.Column(key=measure.key, label=measure.label, scale=measure.scale, digits=measure.digits)


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
        warnings=[*(frame.warnings if column.kind == "metric" else ()), *column.warnings, *outcome.warnings],
        notes=list(outcome.notes),
        signature=signature({**frame.fields, **column.fields, **signed}),
    )


def resampling_of(config: RunConfig) -> Resampling:
    """How a run's intervals are made."""
    interval = config.interval
    return Resampling(interval.resamples, interval.seed, interval.level, interval.method, interval.fewest)


DETECTORS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    FULL_SUPPORT: lambda gold, held: ((gold == 2) & (held == 1)).astype(np.float64),
    ANY_SUPPORT: lambda gold, held: (gold > 0).astype(np.float64),
    EVIDENCE_SHARE: lambda gold, held: np.where(gold > 0, held, 0.0),
}
"""The score of each detector, from the levels (n,) and the shares of an evidence set that the rows hold (n,).

Full support in a text is a whole evidence set of a full citation, whatever level the rule for evidence gives its parts.
"""


def perfect(
    frame: Frame, protocol: Protocol, options: Mapping[str, str], resampling: Resampling, keys: Sequence[str]
) -> Perfect | None:
    """The values of perfect detectors under the measures `keys`, without intervals; undefined ones are left out.

    None where rows are not parts of what was judged: citations, rated texts, documents of one chunk, data without
    evidence. There the labels are the annotators' own.
    """
    if frame.held is None:
        return None
    values: dict[str, dict[str, float]] = {}
    for name, detector in DETECTORS.items():
        judged = frame.judgements(detector(frame.gold, frame.held))
        found = protocol.evaluate(judged, replace(resampling, n=0), options).estimates
        for key in keys:
            if (value := found[key].value) is not None:
                values.setdefault(key, {})[name] = value
    full = frame.gold == 2
    return Perfect(values=values, full=int(full.sum()), incomplete=int((full & (frame.held < 1)).sum()))


class PublishedTable(Strict):
    """One table: for each metric, the printed value of each measure, `scale` times the raw one."""

    values: dict[str, dict[str, float]]
    source: str = ""
    scale: float = Field(default=1.0, gt=0)


class PublishedPaper(Strict):
    """What one paper reports on one data set in one unit; split None: beside every split.

    One YAML file per paper in configs/published::

        dataset: frank          the data set's name
        split: all              optional: the only split that the values are for
        unit: rating            chunk, citation or rating
        source: where the values are from
        levels: {full: 10}      optional: counts to add to the source, where the paper's rows are no split of ours
        tables:
          correlation:          a protocol
            source: Table 3     optional, added to the source
            scale: 100          optional: what the printed values were multiplied by
            values:
              BLEU: {partial_pearson: 0.10}      a metric's name in our tables, and the protocol's measures
    """

    dataset: str
    unit: Unit
    source: str
    tables: dict[str, PublishedTable]
    split: str | None = None
    levels: dict[str, int] = Field(default_factory=dict)


class Beside(Strict):
    """What to print beside a run's own values: where from, and metric to measure to value, in the run's raw units."""

    source: str = ""
    values: dict[str, dict[str, float]] = Field(default_factory=dict)


def published_for(dataset: str, split: str, unit: Unit, protocol: str) -> Beside:
    """The values published for this data and protocol; empty where there are none.

    Raises `UserError` for a file in configs/published that cannot be used.
    """
    for path in published_files():
        paper = read_published(path)
        if (paper.dataset, paper.unit) == (dataset, unit) and paper.split in (None, split) and protocol in paper.tables:
            table = paper.tables[protocol]
            values = {metric: {key: v / table.scale for key, v in row.items()} for metric, row in table.values.items()}
            source = ", ".join(filter(None, (paper.source, table.source)))
            counts = " / ".join(f"{name} {count:,}" for name, count in paper.levels.items())
            return Beside(source=f"{source} (on {counts})" if counts else source, values=values)
    return Beside()


def published_files() -> list[Path]:
    """The YAML files of published values, the user's first; `UserError` where one has the name of a shipped one."""
    return [path for name in variants("published") if (path := config_file("published", name))]


def read_published(path: Path) -> PublishedPaper:
    """Read one file; `UserError` names the setting that is wrong."""
    return validated(PublishedPaper, read_yaml(path), str(path))
