"""Evaluation: score columns become results under protocols, with significance tests, ceilings and published values.

Perfect detectors show how well the labels fit their definition; published values are those of a data set's authors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from pydantic import Field

from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.config_files import config_file, variants
from metaeval.core.declared import Strict, validated
from metaeval.core.errors import UserError, count, unknown
from metaeval.core.files import resampled_fields, signature, versions
from metaeval.core.parsing import read_text, yaml_settings
from metaeval.report import result as results
from metaeval.report.ranking_measures import Declarations, ProtocolDeclarations
from metaeval.report.result import ANY_SUPPORT, EVIDENCE_SHARE, FULL_SUPPORT, Perfect, Unit
from metaeval.runs.frame import Frame
from metaeval.runs.prepared_run import Job, RatedSet
from metaeval.runs.score_columns import AlignedColumn
from metaeval.runs.significance import marked, significance, withheld
from metaeval.scoring.controls import CHANCE_CONTROLS, GOLD_CONTROLS, group_of
from metaeval.stats.arrays import Floats
from protocols.comparison import CHANCE_DRAWS, Tested, chance
from protocols.contract import Estimate, Judgements, Measure, Outcome, Protocol, Resampling

ProtocolSetup = tuple[Protocol, Mapping[str, str]]
"""A protocol, and the value of each of its options by name."""


EXPECTED = "what random scores are expected to have, not one draw of them"
MEAN_OF_DRAWS = f"mean of {CHANCE_DRAWS} draws of random scores; tests against it count its Monte Carlo error"

# The settings that change numbers most and that the table does not show elsewhere.
_SETTINGS = ("chunks", "sentences", "evidence", "pool", "over-chunks", "over-limit", "window", "evidence-place")


def named_protocols(config: RunConfig) -> dict[str, Protocol]:
    """Return the run's protocols by name; "all" stands for the usual ones. Raises `UserError` for a wrong name."""
    names: Sequence[str] = config.protocols
    if "all" in names:  # the base paper's protocols, and those that register themselves as usual
        every = registry.names("protocol")
        names = [name for name in every if getattr(registry.find("protocol", name), "usual", True)]
    if not names:
        raise UserError("No protocol is given: give at least one, or 'all'.")
    protocols = {name: registry.find("protocol", name, code=True) for name in names}
    for name, protocol in protocols.items():
        if not isinstance(protocol, Protocol):
            raise UserError(f"{name!r} is not a protocol: give the name of an instance of protocols.contract.Protocol.")
    return protocols


def declarations_of(protocols: Iterable[Protocol]) -> Declarations:
    """Return what the protocols declare about their measures, and which controls know the gold or are random."""
    declarations = {}
    for protocol in protocols:
        abouts = {measure.key: measure.about for measure in protocol.measures}
        chances = {measure.key: measure.chance for measure in protocol.measures if measure.chance is not None}
        abilities = {measure.key: measure.ability for measure in protocol.measures if measure.ability}
        declarations[protocol.name] = ProtocolDeclarations(protocol.headline, abouts, chances, abilities)
    return Declarations(declarations, GOLD_CONTROLS, CHANCE_CONTROLS)


def find_protocols(config: RunConfig) -> list[ProtocolSetup]:
    """Return the run's protocols with all options, given or default; raises `UserError` for a wrong name or value."""
    protocols = {protocol.name: protocol for protocol in named_protocols(config).values()}
    known = sorted({*registry.names("protocol"), *protocols})
    for owner, options in config.protocol_options.items():
        if owner not in known:
            raise unknown("protocol in protocol_options", owner, known)
        declared = (protocols.get(owner) or registry.find("protocol", owner)).options
        for key, value in options.items():
            if key not in declared:
                raise unknown(f"option of protocol {owner}", key, declared)
            if value not in (allowed := declared[key].values):
                raise UserError(f"Protocol {owner}: option {key} is {value!r}; allowed: {', '.join(allowed)}.")
    defaults = {
        name: {key: option.default for key, option in protocol.options.items()} for name, protocol in protocols.items()
    }
    return [(protocol, defaults[name] | config.protocol_options.get(name, {})) for name, protocol in protocols.items()]


def readable_protocols(
    protocols: Iterable[ProtocolSetup], source: Job | RatedSet
) -> tuple[list[tuple[ProtocolSetup, Frame]], dict[str, str]]:
    """Return the protocols that can distinguish metrics on the data, each with the rows that it uses.

    Also return by name why others cannot. Raises `UserError` if none can.
    """
    config = source.config
    framed: list[tuple[ProtocolSetup, Frame]] = []
    left_out: dict[str, str] = {}
    for protocol, options in protocols:
        frame = source.frame(protocol)
        if protocol.uses_pool and frame.gold.min() < 0:
            left_out[protocol.name] = f"a rating of {frame.gold.min():g} cannot be a gain: gains are 0 or more."
        elif why := protocol.blind(frame.judgements(np.full(frame.gold.size, np.nan)), options):
            more = protocol.uses_pool and frame.unit == "chunk" and config.pool == "own"
            cure = " --pool bm25:20 adds candidates." if more else ""
            left_out[protocol.name] = f"{why}, so every metric has the same value there, or none.{cure}"
        else:
            framed.append(((protocol, options), frame))
    if not framed:
        reasons = " ".join(f"{name.capitalize()}: {reason}" for name, reason in left_out.items())
        raise UserError(f"No protocol can evaluate metrics on {frame.name}. {reasons}{frame.unknown_levels()}")
    return framed, left_out


def evaluate(
    frame: Frame,
    columns: Sequence[AlignedColumn],
    protocol: Protocol,
    options: Mapping[str, str],
    config: RunConfig,
    tested: Collection[str] | None = None,
    tables: int = 1,
) -> results.Result:
    """Evaluate columns on the rows of a frame under one protocol; values that a paper published are added.

    A protocol that compares systems' means leaves out the control `system`, and controls with one score. tested: names
    of the metrics that are compared with each other and with controls; None for all. tables: number of tables over
    which the family "suite" adjusts p. Of the run only the settings of intervals and comparisons are used.
    """
    resampling = resampling_of(config)
    if protocol.of_systems:
        left_out = [c for c in columns if c.is_system or (c.kind == "control" and not np.ptp(c.score[frame.numbers]))]
        columns = [column for column in columns if column not in left_out]
    unscored = frame.judgements(np.broadcast_to(np.nan, frame.gold.size))
    reasons = protocol.blind_measures(unscored, [measure.key for measure in protocol.measures])
    blind = {key: why for key, why in reasons.items() if why}
    judged = {column: frame.judgements(column.score[frame.numbers]) for column in columns}
    outcomes: dict[AlignedColumn, Outcome] = {}
    for column, rows in judged.items():
        if column.is_random:  # expected values in place of the drawn ones, where they are known
            drawn = protocol.evaluate(rows, replace(resampling, n=0), options)
            defined = [key for key, of in drawn.estimates.items() if of.value is not None and key not in blind]
            means = chance(protocol, rows, options, defined)
            # Expected values have no interval; the draw's interval is computed only where it may give a warning.
            if drawn.excluded or not np.ptp(rows.group):
                drawn = protocol.evaluate(rows, resampling, options)
            outcome = _with_undefined(blind, drawn)
            expected = {
                key: Estimate(mean, note=MEAN_OF_DRAWS if sampled else EXPECTED)
                for key, (mean, sampled) in means.items()
                if key in outcome.estimates
            }
            outcomes[column] = replace(outcome, estimates={**outcome.estimates, **expected})
            continue
        undefined = {**blind}
        if column.is_system:
            # Of the system alone: measures that are undefined where all texts of a system have one score.
            code = rows.score if rows.system is None else rows.system.astype(np.float64)
            alone = protocol.evaluate(rows.with_score(code), Resampling(n=0), options).estimates
            undefined |= {key: estimate.note for key, estimate in alone.items() if estimate.value is None}
        outcomes[column] = _with_undefined(undefined, protocol.evaluate(rows, resampling, options))
    paper = published_for(frame.name, frame.split, frame.unit, protocol.name)
    # Options of rated data may be those of the publication, whose counts tell.
    alike = paper and (frame.as_published or (frame.unit == "rating" and paper.levels == dict(frame.judged)))
    published = paper.tables[protocol.name].values if paper and alike else {}
    printed = paper if any(column.name in published for column in columns if column.kind == "metric") else None
    resampled = resampled_fields(resampling.level, resampling.n, resampling.seed, resampling.fewest)
    resampled["by"] = config.interval.cluster.replace(",", "+")
    compared = config.comparison.model_dump()
    signed = {"protocol": protocol.name, **options, **resampled, **compared, **versions("metaeval", "numpy", "scipy")}
    table_rows = [_row(frame, column, outcomes[column], signed, published, columns) for column in columns]
    # Ceilings are those of the column with the most rows, for unscored rows are excluded together with their gold.
    most = max(outcomes.values(), key=lambda outcome: outcome.scored, default=None)
    keys = protocol.shown(unscored, options)
    shown = [measure for measure in protocol.measures if measure.key in keys]
    metrics = [column for column in columns if column.kind == "metric" and (tested is None or column.name in tested)]
    if protocol.card and metrics:
        judges = {column.name: frame.with_unlabelled(column.score, column.unrated, column.cost) for column in metrics}
        cards = protocol.card(judges, resampling, options)
        more = [{"values": {**cards.get(row.metric, {}), **row.values}} for row in table_rows]
        table_rows = [row.model_copy(update=values) for row, values in zip(table_rows, more, strict=True)]
    tests = significance(
        protocol,
        options,
        resampling,
        config.comparison,
        {column.name: (judged[column], outcomes[column]) for column in metrics},
        [measure.key for measure in shown if measure.key not in blind],
        {column.name: _compared_controls(column, judged, outcomes) for column in metrics},
        tables,
    )
    tests = withheld(tests, table_rows) if tests else None
    in_chunks = [column.name for column in columns if column.fields.get("reads") == "chunks"]
    read_in_chunks = {"read in chunks by": " + ".join(in_chunks)} if in_chunks else {}
    return results.Result(
        protocol=protocol.name,
        title=frame.summary.wording(protocol.title),
        unit=frame.unit,
        settings={**footer_settings(frame), **read_in_chunks, **options},
        data=frame.summary,
        interval=_interval(config, [outcomes[column] for column in metrics], keys),
        columns=[column_of(measure) for measure in shown],
        rows=marked(table_rows, tests),
        ceilings={key: dict(kinds) for key, kinds in most.ceilings.items()} if most else {},
        perfect=perfect(frame, protocol, options, resampling, [measure.key for measure in shown]),
        significance=tests,
        published=printed.source if printed else "",
        published_elsewhere=printed.differences(frame) if printed else "",
    )


def _interval(config: RunConfig, outcomes: Sequence[Outcome], keys: Sequence[str]) -> results.Interval:
    """Return the intervals' settings, with the range of effective numbers if systems are sampled too."""
    interval = results.Interval(**config.interval.model_dump())
    if config.interval.cluster == "group":
        return interval
    influences = [influence for outcome in outcomes for key in keys if (influence := outcome.influence.get(key))]
    numbers = [[clustering.effective_groups for clustering in influence.clusterings] for influence in influences]
    ranges = {
        name: (influences[0].clusterings[place].groups, min(each), max(each))
        for place, (name, each) in enumerate(zip(("group", "system"), zip(*numbers, strict=True), strict=False))
    }
    return interval.model_copy(update={"effective": ranges})


def footer_settings(frame: Frame) -> dict[str, str]:
    """Return those of the frame's signature fields that a table's footer repeats (`_SETTINGS`), as text."""
    return {key: str(frame.fields[key]) for key in _SETTINGS if key in frame.fields}


def _with_undefined(blind: Mapping[str, str], outcome: Outcome) -> Outcome:
    """Return the outcome with the measures of `blind` undefined; the reason that it has for each becomes its note."""
    constant = [key for key, estimate in outcome.estimates.items() if key in blind and estimate.value is not None]
    undefined = {key: Estimate(None, note=blind[key]) for key in constant}
    influence = {**outcome.influence, **dict.fromkeys(constant)}
    return replace(outcome, estimates={**outcome.estimates, **undefined}, influence=influence)


def _compared_controls(
    column: AlignedColumn, judged: Mapping[AlignedColumn, Judgements], outcomes: Mapping[AlignedColumn, Outcome]
) -> dict[str, Tested | None]:
    """Return the judgements and outcome of each control that a metric is compared with, by the control's name.

    None stands for the expected value of random scores. Metrics that are controls count; oracle controls, and controls
    with the metric's own scores, do not. judged, outcomes: of all columns.
    """
    return {
        other.name: None if other.is_random else (rows, outcomes[other])
        for other, rows in judged.items()
        if (other.kind == "control" or other.is_control)
        and other.name not in GOLD_CONTROLS
        and not _same_scores(other, column)
    }


def _same_scores(column: AlignedColumn, other: AlignedColumn) -> bool:
    return np.array_equal(column.score, other.score, equal_nan=True)


def column_of(measure: Measure) -> results.Column:
    """Return the table column of a measure."""
    return results.Column(key=measure.key, label=measure.label, scale=measure.scale, digits=measure.digits)


def _row(
    frame: Frame,
    column: AlignedColumn,
    outcome: Outcome,
    signed: Mapping[str, object],
    published: Mapping[str, Mapping[str, float]],
    columns: Sequence[AlignedColumn],
) -> results.Row:
    statuses = Counter(str(column.statuses[frame.numbers[row]]) for row in outcome.unscored_rows)
    values = published.get(column.name, {}) if column.kind == "metric" else {}
    controls = [other for other in columns if other.kind == "control" and column.kind == "metric"]
    return results.Row(
        metric=column.name,
        kind=column.kind,
        control=group_of(column.name) if column.kind == "control" or column.is_control else "",
        values={key: replace(estimate, published=values.get(key)) for key, estimate in outcome.estimates.items()},
        total=outcome.total + sum(frame.excluded.values()),
        scored=outcome.scored,
        unscored=outcome.unscored,
        excluded={**outcome.excluded, **frame.excluded},
        statuses=dict(sorted(statuses.items())),
        ledger=column.ledger,
        warnings=[*(frame.warnings if column.kind == "metric" else ()), *column.warnings, *outcome.warnings],
        notes=list(outcome.notes),
        same_scores=[other.name for other in controls if _same_scores(column, other)],
        signature=signature({**frame.fields, **column.fields, **signed}),
    )


def resampling_of(config: RunConfig) -> Resampling:
    """Return the resampling of a run's intervals."""
    interval = config.interval
    return Resampling(interval.resamples, interval.seed, interval.level, interval.fewest)


DETECTORS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    FULL_SUPPORT: lambda gold, held: ((gold == 2) & (held == 1)).astype(np.float64),
    ANY_SUPPORT: lambda gold, held: (gold > 0).astype(np.float64),
    EVIDENCE_SHARE: lambda gold, held: np.where(gold > 0, held, 0.0),
}
"""The scores of each perfect detector, from the levels (n,) and the shares of an evidence set in the rows (n,).

A row has full support where it holds a whole evidence set of a citation with full support.
"""


def perfect(
    frame: Frame, protocol: Protocol, options: Mapping[str, str], resampling: Resampling, keys: Sequence[str]
) -> Perfect | None:
    """Return the values of the perfect detectors (`DETECTORS`) under the measures `keys`, without undefined ones.

    None where no row holds only a part of an evidence set, as with citations, rated texts, documents of one chunk, and
    data without evidence. There are no intervals.
    """
    if frame.held is None:
        return None
    values: dict[str, dict[str, float]] = {}
    for name, detector in DETECTORS.items():
        judged = frame.judgements(detector(frame.gold, frame.held))
        estimates = protocol.evaluate(judged, replace(resampling, n=0), options).estimates
        for key in keys:
            if (value := estimates[key].value) is not None:
                values.setdefault(key, {})[name] = value
    full = frame.gold == 2
    return Perfect(values=values, full=int(full.sum()), incomplete=int((full & (frame.held < 1)).sum()))


class PublishedTable(Strict):
    """A published table. values: the printed value by metric, then by measure: `scale` times the raw value."""

    values: dict[str, dict[str, float]]
    source: str = ""
    scale: float = Field(default=1.0, gt=0)


class PublishedPaper(Strict):
    """The values that one paper reports on one data set in one unit; split None stands for every split.

    There is one YAML file per paper in configs/published::

        dataset: frank          the data set's name
        split: all              optional: the split of the values
        unit: rating            chunk, citation or rating
        source: where the values are from
        levels: {full: 10}      optional: counts of the judged pairs; a run with other counts is reported to differ
        rule: {chunks: ...}     optional: fields of the signature that the values hold for
        tables:
          correlation:          a protocol
            source: Table 3     optional, added to the source
            scale: 100          optional: factor of the printed values
            values:
              BLEU: {partial_pearson: 0.10}      metric, and its value by measure
    """

    dataset: str
    unit: Unit
    source: str
    tables: dict[str, PublishedTable]
    split: str | None = None
    levels: dict[str, int] = Field(default_factory=dict)
    rule: dict[str, str] = Field(default_factory=dict)

    def differences(self, frame: Frame) -> str:
        """Return how the rows of a run (`frame`) or its rule differ from the paper's, as text; "" where they do not."""
        parts = []
        if self.levels and dict(frame.judged) != self.levels:
            here, there = sum(frame.judged.values()), sum(self.levels.values())
            counts = f"{count(there, 'pair')}" if here != there else f"{count(there, 'pair')} at other levels"
            parts.append(f"{counts}, here {here:,} of {frame.split}")
        rule = {key: str(frame.fields.get(key, "")) for key in self.rule}
        parts += [f"{key} {self.rule[key]}, here {value}" for key, value in rule.items() if value != self.rule[key]]
        return "; ".join(parts)


def published_for(dataset: str, split: str, unit: Unit, protocol: str) -> PublishedPaper | None:
    """Return the paper that published values for this data, unit and protocol, with them alone; None where none did.

    They are raw. Of several papers the first in the order of `published_files` is taken. Raises `UserError` for an
    invalid file.
    """
    for path in published_files():
        paper = read_published(path)
        if (paper.dataset, paper.unit) == (dataset, unit) and paper.split in (None, split) and protocol in paper.tables:
            table = paper.tables[protocol]
            values = {metric: {key: v / table.scale for key, v in row.items()} for metric, row in table.values.items()}
            source = ", ".join(filter(None, (paper.source, table.source)))
            counts = " / ".join(f"{name} {count:,}" for name, count in paper.levels.items())
            named = f"{source} (on {counts})" if counts else source
            return paper.model_copy(update={"source": named, "tables": {protocol: PublishedTable(values=values)}})
    return None


def published_files() -> list[Path]:
    """Return the YAML files of published values, shipped and the user's; `UserError` where two share a name."""
    return [path for name in variants("published") if (path := config_file("published", name))]


def read_published(path: Path) -> PublishedPaper:
    """Read one file of published values; raises `UserError` that names a wrong setting."""
    return _published_paper(read_text(path), str(path))


@lru_cache(maxsize=64)
def _published_paper(text: str, place: str) -> PublishedPaper:
    # Every protocol of a run looks through the same files, and to parse them takes longer than to evaluate a small set.
    return validated(PublishedPaper, yaml_settings(text, place), place)
