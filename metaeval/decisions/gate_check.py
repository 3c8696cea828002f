"""Check a release against a gate: its unsupported share and drift, as a table, a sentence and JUnit XML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from metaeval.core.config import RunConfig
from metaeval.core.config_files import check_file
from metaeval.core.errors import UserError, count, shown
from metaeval.core.files import signature, versions
from metaeval.core.parsing import read_object
from metaeval.decisions.citation_items import CitationItems, items_of
from metaeval.decisions.gate_model import SCHEMA, Gate, check_allowed, effective_number
from metaeval.decisions.item_scores import PERCENT, data_of, item_sheet, scored
from metaeval.report.result import checked
from metaeval.report.result_tables import cell
from metaeval.report.table import UNDEFINED, Note, Table, TableRow, blocks_of, plain
from metaeval.runs.score import AlignedColumn, MetricProgress
from metaeval.stats.arrays import Floats
from metaeval.stats.prediction_powered import Sample, share, wilson
from metaeval.stats.risk_control import corrected_share, kolmogorov_smirnov_p

MOST_LISTED = 50  # largest number of flagged citations that a JUnit file lists

DRIFT = 0.01  # probability of a false alarm on drift, over all tests of a check


def read_gate(path: Path) -> Gate:
    """Read a gate file; raises `UserError` if the file is not a gate, or was changed after fitting."""
    then = "give the file that 'metaeval gate fit -o' wrote"
    fields = read_object(path, then)
    if (schema := fields.get("schema")) != SCHEMA:
        why = f"its schema is {schema!r}, and not {SCHEMA!r}"
        raise UserError(f"{path} is not a gate that this version reads ({why}): {then}, or fit it again.")
    gate = checked(Gate, fields, path)
    if gate.hash != gate.content:
        raise UserError(f"The gate {path} was changed after fitting (its hash does not match): fit it again.")
    return gate


def filled_below(column: AlignedColumn) -> Floats:
    """Return the scores with -inf for missing ones, so that an unscored citation is flagged."""
    return np.where(np.isnan(column.score), -np.inf, column.score)


def metric_fields(column: AlignedColumn) -> dict[str, str]:
    """Return, by field of the signature, what the metric's scores depend on apart from the texts."""
    left_out = {"data", "unit", "evidence", "pool", "levels", "over-sources"}
    fields = {key: str(value) for key, value in column.fields.items() if key not in left_out}
    return {**fields, "metaeval": versions("metaeval")["metaeval"]}


def drift_values(items: CitationItems, column: AlignedColumn) -> dict[str, Floats]:
    """Return, by name, the values (N,) whose distribution is compared between release and fitting set.

    These are the scores, with the lowest in place of missing ones, and the numbers of words.
    """
    return {"score": np.where(np.isnan(column.score), np.nanmin(column.score), column.score), **items.lengths}


@dataclass(frozen=True)
class Drift:
    """A comparison of one value between release and fitting set.

    Parameters
    ----------
    what : str
        The value.
    fitted, here : float
        Its median in the fitting set, and in the release.
    p : float
        p-value of a two-sample test.
    drifted : bool
        Whether the test is significant.
    """

    what: str
    fitted: float
    here: float
    p: float
    drifted: bool

    def __str__(self) -> str:
        here, fitted = (f"{median:,.0f}" if median >= 1000 else f"{median:.3g}" for median in (self.here, self.fitted))
        return f"median {here}, at fitting {fitted} (p {self.p:.2g})"


@dataclass(frozen=True)
class GateCheck:
    """The result of checking a release with a gate.

    Parameters
    ----------
    gate : Gate
        The gate.
    items : CitationItems
        What was checked.
    flagged : (float, float, float)
        Share of citations below the threshold, (value, low, high).
    unsupported : (float, float, float)
        The share corrected for the metric's errors, (value, low, high) with one-sided bounds.
    passed : bool
        Whether the lower bound is at most the gate's `max_unsupported`, which does not show that the share is (see
        `shown_within`).
    drift : tuple of Drift
        The comparisons with the fitting set.
    below : tuple of (str, float or None)
        (id, score) of the flagged items, the lowest score first (None: no score).
    unscored : int
        Number without a score.
    """

    gate: Gate = field(repr=False)
    items: CitationItems = field(repr=False)
    flagged: tuple[float, float, float]
    unsupported: tuple[float, float, float]
    passed: bool
    drift: tuple[Drift, ...]
    below: tuple[tuple[str, float | None], ...] = field(repr=False)
    unscored: int

    @property
    def signature(self) -> str:
        """The signature, which holds everything on which the outcome depends."""
        fields = {"gate": self.gate.hash[:12], "max-unsupported": self.gate.max_unsupported}
        return signature({"data": self.items.signed, **fields, **versions("metaeval", "numpy", "scipy")})

    @property
    def shown_within(self) -> bool:
        """Whether the upper bound is at most `max_unsupported`; a check that passes without this is undecided."""
        return self.unsupported[2] <= self.gate.max_unsupported

    @property
    def drifted(self) -> bool:
        """Whether any value differs significantly from the fitting set."""
        return any(drift.drifted for drift in self.drift)


def check(
    answers: Any,
    gate: Gate | Path,
    max_unsupported: float | None = None,
    mapping: Mapping[str, str] | None = None,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
) -> GateCheck:
    """Check a release against a gate: estimate its unsupported share from the scores of the gate's metric.

    max_unsupported: replaces the gate's. mapping: the heading of each role. Raises `UserError` for a share out of
    range, a gate file that was changed, and a metric that differs from the one with which the gate was fitted.
    """
    if max_unsupported is not None:
        check_allowed(max_unsupported)
    where = "the gate" if isinstance(gate, Gate) else gate
    gate = gate if isinstance(gate, Gate) else read_gate(gate)
    items = items_of(answers, mapping)
    column = _scored(where, items, gate, config, progress)
    fields = metric_fields(column)
    for name, fitted_with in gate.metric_fields.items():
        if name != "metaeval" and fields.get(name) != fitted_with:
            why = f"The gate was fitted with {name} {fitted_with}, and here it is {fields.get(name)}"
            raise UserError(f"{why}: check with the same {name} (model, setting or version), or fit again.")
    score = filled_below(column)
    below = score < gate.threshold
    groups = items.groups
    n = below.size
    every = Sample(np.arange(n), np.ones(n), groups, np.zeros(n, dtype=np.int64))
    if np.unique(groups).size > 1:
        estimate = share(below.astype(np.float64), np.zeros(n), every, groups, "process")
        flagged, variance, df = (estimate.value, estimate.low, estimate.high), estimate.variance, estimate.df
    else:  # one answer: its citations count as independent
        alone = float(below.mean())
        variance, df = alone * (1 - alone) / n, max(n - 1.0, 1.0)
        flagged = alone, *wilson(alone, variance, n, df, 0.95)
    if variance <= 0:  # all are flagged, or none: half a citation counts as the other kind, as in Wilson's interval
        variance = 0.5 / n * (1 - 0.5 / n) / n
    hits, false_alarms = (1 - gate.missed, gate.unsupported_labels), (gate.flagged, gate.supported_labels)
    unsupported = corrected_share(flagged[0], variance, hits, false_alarms, gate.alpha, df)
    most = gate.max_unsupported if max_unsupported is None else max_unsupported
    values = drift_values(items, column)
    drift = []
    for name, reference in gate.reference.items():
        if name in values:
            fitted, here = np.array(reference.quantiles), values[name]
            p = kolmogorov_smirnov_p(fitted, reference.effective, here, effective_number(here, groups))
            drifted = p < DRIFT / len(gate.reference)
            drift.append(Drift(name, float(np.median(fitted)), float(np.median(here)), p, drifted))
    order = sorted(np.flatnonzero(below).tolist(), key=lambda row: (score[row], row))
    return GateCheck(
        gate=gate if max_unsupported is None else gate.model_copy(update={"max_unsupported": most}),
        items=items,
        flagged=flagged,
        unsupported=unsupported,
        passed=unsupported[1] <= most,
        drift=tuple(drift),
        below=tuple((items.rows[row].id, float(score[row]) if np.isfinite(score[row]) else None) for row in order),
        unscored=int(np.isnan(column.score).sum()),
    )


def _scored(
    where: str | Path,
    items: CitationItems,
    gate: Gate,
    config: RunConfig | None,
    progress: MetricProgress | None = None,
) -> AlignedColumn:
    """Return the scores of the items by the gate's metric and settings. where: for errors, the gate's file."""
    # A gate is data: it may name registered metrics, but neither code nor addresses.
    check_file(where, {"metrics": [gate.metric], "metric_options": gate.settings.get("metric_options", {})})
    config = (config or RunConfig()).with_metrics([gate.metric])
    (column,) = scored(items, RunConfig.model_validate({**config.model_dump(), **gate.settings}), progress)
    return column


def score_one(gate: Gate, statement: str, source: str, config: RunConfig | None = None) -> float | None:
    """Return the score of one citation by the gate's metric (higher is more support); None if either text is blank.

    Raises `UserError` where the metric gives no score.
    """
    if not statement.strip() or not source.strip():
        return None
    item = {"id": "1", "statement": statement, "source": source}
    return float(_scored("the gate", items_of([item]), gate, config).score[0])


def average(gate: Gate) -> str:
    """Return " on average", for sentences, if the gate bounds only the mean of the missed share; otherwise ""."""
    return " on average" if gate.promise == "mean" else ""


def verdict(outcome: GateCheck, fail_on_drift: bool = False) -> str:
    """Return the outcome of a check in one sentence. fail_on_drift: whether drift is a reason to fail."""
    value, low, high = outcome.unsupported
    allowed = f"the {100 * outcome.gate.max_unsupported:g} % that the gate allows"
    share = f"estimated {100 * value:.1f} % unsupported" if value == value else "the unsupported share is unknown"
    share += f" ({100 * low:.1f} to {100 * high:.1f} %, corrected for {plain(outcome.gate.metric)}'s errors)"
    if outcome.items.fingerprint == outcome.gate.items:
        share += "; these are the very citations that the gate was fitted on, and no new release"
    if not outcome.passed:
        return f"FAILED: shown to exceed {allowed}: {share}."
    if outcome.drifted and fail_on_drift:
        return f"FAILED: the release does not look like the fitting set; {share}."
    if outcome.shown_within:
        return f"PASSED: shown not to exceed {allowed}: {share}."
    return f"UNDECIDED, which is not a failure: not shown to exceed {allowed}, nor to stay within it: {share}."


def check_sheet(outcome: GateCheck) -> Table:
    """Return the table of a check: the flagged and the unsupported share of the release, with notes on drift."""
    gate = outcome.gate
    value, low, high = outcome.unsupported
    known = None if value != value else value
    shown_is = "within" if outcome.shown_within else "undecided" if outcome.passed else "more"
    lines: list[TableRow] = [
        ("", "flagged", (cell(*outcome.flagged, PERCENT), UNDEFINED, UNDEFINED)),
        ("", "unsupported (corrected)", (cell(known, low, high, PERCENT), f"{100 * gate.max_unsupported:g}", shown_is)),
    ]
    flagged = f"{len(outcome.below):,} of {len(outcome.items.rows):,} citations"
    missed = f"the gate misses at most {100 * gate.bound:.1f} % of them{average(gate)}"
    notes = [
        Note("flagged", f"score of {plain(gate.metric)} below {gate.threshold:.4g}: {flagged}"),
        Note("unsupported", f"one-sided bounds at {100 * (1 - gate.alpha):g} % each; {missed}"),
        Note("fitted", f"{gate.date}, {count(gate.labelled, 'label')}, gate {gate.hash[:12]}"),
    ]
    if outcome.unscored:
        notes.append(Note("unscored", f"{count(outcome.unscored, 'citation')} without a score, flagged"))
    notes += [Note("drift" if drift.drifted else "no drift", f"{drift.what}: {drift}") for drift in outcome.drift]
    return item_sheet(
        "gate-check",
        "Release against the gate (%)",
        data_of(outcome.items),
        ("share of citations", ("here", "allowed", "shown"), blocks_of(lines)),
        [
            {
                **{"metric": gate.metric, "threshold": gate.threshold, "gate": gate.hash},
                **dict(zip(("flagged", "flagged_low", "flagged_high"), outcome.flagged, strict=True)),
                **{"unsupported": known, "unsupported_low": low, "unsupported_high": high},
                **{"max_unsupported": gate.max_unsupported, "passed": outcome.passed, "drifted": outcome.drifted},
                "shown_within": outcome.shown_within,
                **{"citations": len(outcome.items.rows), "unscored": outcome.unscored},
            }
        ],
        notes,
        (outcome.signature,),
    )


def junit(outcome: GateCheck, fail_on_drift: bool) -> str:
    """Return JUnit XML: a test of the unsupported share, one for each drift value, and the flagged citations.

    fail_on_drift: whether the tests of drift can fail.
    """
    tests = [("unsupported share", not outcome.passed, verdict(outcome))]
    for drift in outcome.drift:
        message = f"{'drift: ' if drift.drifted else ''}{drift}"
        tests.append((f"drift: {drift.what}", drift.drifted and fail_on_drift, message))
    counts = {"tests": str(len(tests)), "failures": str(sum(failed for _, failed, _ in tests)), "errors": "0"}
    suite = ElementTree.Element("testsuite", {"name": "metaeval gate", **counts})
    for name, failed, message in tests:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "metaeval.gate", "name": _clean(name)})
        if failed:
            ElementTree.SubElement(case, "failure", {"message": _clean(message)})
        else:
            ElementTree.SubElement(case, "system-out").text = _clean(message)
    first = outcome.below[:MOST_LISTED]
    listed = [f"{shown(name)} {'no score' if score is None else f'{score:.4g}'}" for name, score in first]
    left = len(outcome.below) - len(listed)
    listed += [f"and {left:,} more"] if left > 0 else []
    flagged = "Flagged: " + "; ".join(listed) if listed else "Nothing is flagged."
    ElementTree.SubElement(suite, "system-out").text = _clean(flagged)
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def _clean(text: str) -> str:
    """Return the text with blanks in place of characters that XML cannot hold."""
    return "".join(letter if letter.isprintable() else " " for letter in plain(text))
