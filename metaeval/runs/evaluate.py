"""Evaluation: score columns, and those of controls, become results under protocols.

Perfect detectors show how well the labels fit their definition.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, unknown
from metaeval.core.files import resampled_fields, signature, versions
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings
from metaeval.report import result as results
from metaeval.report.ranking_measures import Declarations, ProtocolDeclarations
from metaeval.report.result import ANY_SUPPORT, EVIDENCE_SHARE, FULL_SUPPORT, Perfect, Result
from metaeval.runs.data import Frame, Job, RatedSet
from metaeval.runs.metrics import check_batch, load_run_data
from metaeval.runs.published import published_for
from metaeval.runs.score import (
    AlignedColumn,
    MetricProgress,
    array_column,
    is_fitted_on,
    job_scores,
    scored_columns,
    signed_as,
)
from metaeval.runs.significance import as_one_family, marked, significance, withheld
from metaeval.scoring.contract import Metric, Status
from metaeval.scoring.controls import (
    BESIDE_A_METRIC,
    CHANCE_CONTROLS,
    CONTROLS,
    GOLD_CONTROLS,
    OVERLAP,
    REFERENCE_MODEL,
    group_of,
    rated_controls,
)
from metaeval.scoring.engine import ScoredPairs, score_pairs, settled_metric
from metaeval.stats.arrays import Floats
from protocols.comparison import CHANCE_DRAWS, Tested, chance
from protocols.contract import Estimate, Measure, Outcome, Protocol, Resampling

_log = logging.getLogger("metaeval")


@dataclass(frozen=True, eq=False)
class EvaluatedRun:
    """The results of a run, one per protocol that can distinguish metrics on the data. columns: metrics, then controls.

    protocols: all of the run, by name. left_out: why the other protocols have no result, by name.
    """

    source: Job | RatedSet
    columns: Sequence[AlignedColumn]
    results: list[Result]
    protocols: Mapping[str, Protocol]
    left_out: Mapping[str, str]


def run(
    config: RunConfig,
    progress: MetricProgress | None = None,
    data: Corpus | Ratings | None = None,
    published: bool = False,
) -> EvaluatedRun:
    """Score the data with every metric and evaluate it under every protocol; only the score store is written.

    data: replaces the run's data set. published: whether the scores that come with ratings are evaluated too. Raises
    `UserError` for wrong settings or data, before any scoring where possible.
    """
    protocols = find_protocols(config)
    metrics, source = load_run_data(config, data, published)
    check_batch(metrics)
    readable_protocols(protocols, source)
    return evaluate_columns(source, scored_columns(source, metrics, progress), protocols)


def evaluate_columns(
    source: Job | RatedSet,
    columns: Sequence[AlignedColumn],
    protocols: Sequence[ProtocolSetup] = (),
    tested: Collection[str] | None = None,
) -> EvaluatedRun:
    """Evaluate columns, and the run's controls, under every protocol that can distinguish metrics.

    protocols: those of the run, if loaded already. tested: names of metrics that are compared with each other and with
    controls; None for all. Raises `UserError` for a rated set without columns, and if no protocol distinguishes
    metrics.
    """
    config = source.config
    if isinstance(source, RatedSet) and not columns:
        hint = ", or the table a column of numbers for each metric" if config.dataset == "ratings" else ""
        raise UserError(f"{source.name} comes without published scores: give a score file with its rating ids{hint}.")
    protocols = protocols or find_protocols(config)
    whole = with_controls(source, columns) if config.controls else columns
    readable, left_out = readable_protocols(protocols, source)
    results = [evaluate(frame, whole, *protocol, config, tested, len(readable)) for protocol, frame in readable]
    if config.comparison.family == "suite":
        results = as_one_family(results)
    named = {protocol.name: protocol for protocol, _ in (*protocols, *(setup for setup, _ in readable))}
    return EvaluatedRun(source, whole, results, named, left_out)


MAX_CONTROL_PAIRS = 20_000
"""The most pairs that support-mini scores where it is only a control; they take some 20 seconds."""


def with_controls(source: Job | RatedSet, columns: Sequence[AlignedColumn]) -> list[AlignedColumn]:
    """Return the columns and one for each control; a metric that is a control is marked, and not added again."""
    if isinstance(source, RatedSet):
        marked = [*columns]
        controls = [_control_column(name, score) for name, score in rated_controls(source.ratings.columns).items()]
    else:
        metrics = {name: settled_metric(_control_metric(name), source.texts) for name in (OVERLAP, REFERENCE_MODEL)}
        signed = {signed_as(name, metric, metric.identity()): name for name, metric in metrics.items()}
        marked = [replace(column, is_control=column.fields.get("metric") in signed) for column in columns]
        scored_here = {signed[str(column.fields["metric"])] for column in marked if column.is_control}
        controls = list(trivial_columns(source, overlap=OVERLAP not in scored_here))
        if REFERENCE_MODEL not in scored_here:
            why = ""
            if is_fitted_on(_control_metric(REFERENCE_MODEL), source):
                why = f"it was fitted on {source.name} {source.split}"
            elif len(source.texts) > MAX_CONTROL_PAIRS:
                why = f"{len(source.texts):,} pairs would take minutes. Name it as a metric to have it"
            else:
                controls.append(_control_column(REFERENCE_MODEL, _metric_control(source, REFERENCE_MODEL)))
            if why:
                _log.warning("Without the control %s: %s.", REFERENCE_MODEL, why)
    taken = {column.name for column in marked}
    return [
        *marked,
        *(replace(each, name=each.name + BESIDE_A_METRIC) if each.name in taken else each for each in controls),
    ]


def trivial_columns(job: Job, overlap: bool) -> Iterator[AlignedColumn]:
    """Yield a column for each control but the reference model, and without word overlap unless `overlap`."""
    for name, control in CONTROLS.items():
        if job.config.unit == "chunk" or name != "chunk position":
            yield _control_column(name, control(job.rows))
    if overlap:
        yield _control_column(OVERLAP, _metric_control(job, OVERLAP))


def _control_column(name: str, score: NDArray[np.float64]) -> AlignedColumn:
    return replace(array_column(name, score, {"control": name}, Status.NOTHING_TO_SCORE), kind="control")


def _metric_control(job: Job, name: str) -> NDArray[np.float64]:
    scored = _control_scores(name, tuple(job.texts))
    rows = job_scores(job, scored, 1, lambda texts: _control_scores(name, tuple(texts))).rows
    return np.array([row.score for row in rows], dtype=np.float64)


@lru_cache(maxsize=4)
def _control_scores(name: str, texts: tuple[tuple[str, str], ...]) -> ScoredPairs:
    return score_pairs(settled_metric(_control_metric(name), texts), texts)


def _control_metric(name: str) -> Metric:
    """Return the metric that the control `name` is, with default options."""
    metric: Metric = registry.find("metric", name)()
    return metric


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
    defaults = {name: {key: of.default for key, of in each.options.items()} for name, each in protocols.items()}
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
        if protocol.of_edits:
            protocol = replace(protocol, measures=protocol.of_edits(frame.judgements(np.full(frame.gold.size, np.nan))))
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
    if protocol.of_edits:
        columns = [column for column in columns if column.kind == "metric"]
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
    # What each metric is compared with, by name: controls, metrics that are controls, and the expected value of random
    # scores (None); not oracle controls, and not controls with the metric's own scores.
    rivals = [column for column in columns if column.kind == "control" or column.is_control]
    controls = [column for column in rivals if column.name not in GOLD_CONTROLS]
    against: dict[str, dict[str, Tested | None]] = {
        column.name: {
            other.name: None if other.is_random else (judged[other], outcomes[other])
            for other in controls
            if not np.array_equal(other.score, column.score, equal_nan=True)
        }
        for column in metrics
    }
    tests = significance(
        protocol,
        options,
        resampling,
        config.comparison,
        {column.name: (judged[column], outcomes[column]) for column in metrics},
        [measure.key for measure in shown if measure.key not in blind],
        against,
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
        same_scores=[each.name for each in controls if np.array_equal(each.score, column.score, equal_nan=True)],
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
