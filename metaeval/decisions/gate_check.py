"""A gate as a file, and the check of a release against it: its unsupported share, and drift.

With what a check looks like: a table, a sentence, JUnit XML and a workflow.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from metaeval import registry
from metaeval.config import RunConfig
from metaeval.config_files import check_file
from metaeval.decisions.gate_model import SCHEMA, Gate, check_allowed, effective_number
from metaeval.decisions.items import Items, items_of
from metaeval.decisions.scores import PERCENT, data_of, item_sheet, scored
from metaeval.errors import UserError, shown
from metaeval.reading import read_object
from metaeval.report.cells import cell
from metaeval.report.result import checked
from metaeval.report.table import UNDEFINED, Note, Table, TableRow, blocks_of, plain
from metaeval.runs.columns import Column
from metaeval.runs.metrics import MetricProgress
from metaeval.signature import signature, versions
from metaeval.stats.arrays import Floats
from metaeval.stats.prediction_powered import Sample, share, wilson
from metaeval.stats.risk_control import corrected_share, two_samples

MOST_LISTED = 50
"""Flagged citations that a JUnit file names."""

DRIFT = 0.01
"""The chance at which samples of one source are said to differ, for all tests of a check together."""


def read_gate(path: Path) -> Gate:
    """Read a gate. Raises `UserError` for another file, and for one that was changed since it was fitted."""
    then = "give the file that 'metaeval gate fit -o' wrote"
    found = read_object(path, then)
    if found.get("schema") != SCHEMA:
        raise UserError(f"{path}: schema is {found.get('schema')!r}; this version reads {SCHEMA!r}: {then}.")
    gate = checked(Gate, found, path)
    if gate.hash != gate.content:
        raise UserError(f"{path} was changed since it was fitted (its hash does not fit): fit it again.")
    return gate


def cleared(column: Column) -> Floats:
    """The scores, below all others where there is none: what cannot be vouched for is flagged."""
    return np.where(np.isnan(column.score), -np.inf, column.score)


def made_of(column: Column) -> dict[str, str]:
    """What the metric's scores depend on, beside the texts."""
    left_out = {"data", "unit", "evidence", "pool", "levels", "over-sources"}
    fields = {key: str(value) for key, value in column.fields.items() if key not in left_out}
    return {**fields, "metaeval": versions("metaeval")["metaeval"]}


def looks_of(items: Items, column: Column) -> dict[str, Floats]:
    """What drift is looked for in."""
    return {"score": np.where(np.isnan(column.score), np.nanmin(column.score), column.score), **items.lengths}


@dataclass(frozen=True)
class Drift:
    """Whether a release looks like the fitting set in one respect: medians, and the p-value of a two-sample test."""

    what: str
    fitted: float
    here: float
    p: float
    drifted: bool


@dataclass(frozen=True)
class GateCheck:
    """The check of a release. flagged: share of its citations below the threshold, with an interval.

    unsupported: the share behind it, corrected for the metric's errors, (value, low, high) with one-sided bounds.
    passed: the lower bound is at most the gate's `max_unsupported`. below: the flagged items, lowest score first.
    """

    gate: Gate
    items: Items
    flagged: tuple[float, float, float]
    unsupported: tuple[float, float, float]
    passed: bool
    drift: tuple[Drift, ...]
    below: tuple[tuple[str, float | None], ...]
    unscored: int

    @property
    def signature(self) -> str:
        """What the outcome depends on."""
        fields = {"gate": self.gate.hash[:12], "max-unsupported": self.gate.max_unsupported}
        return signature({"data": self.items.signed, **fields, **versions("metaeval", "numpy", "scipy")})

    @property
    def drifted(self) -> bool:
        """Whether anything differs from the fitting set."""
        return any(one.drifted for one in self.drift)


def check(
    answers: Any,
    gate: Gate | Path,
    max_unsupported: float | None = None,
    mapping: Mapping[str, str] | None = None,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
) -> GateCheck:
    """Hold a release against a gate: how much of it is unsupported, as far as the gate's metric can tell.

    max_unsupported: in place of the gate's. Raises `UserError` for a share that none can be, for a gate that was
    changed, and where the metric here is not the one that the gate was fitted with.
    """
    if max_unsupported is not None:
        check_allowed(max_unsupported)
    where = "the gate" if isinstance(gate, Gate) else gate
    gate = gate if isinstance(gate, Gate) else read_gate(gate)
    # A gate is data: it may name what is registered, and neither code nor addresses.
    check_file(where, {"metrics": [gate.metric], "metric_options": gate.settings.get("metric_options", {})})
    items = items_of(answers, mapping)
    column = _scored(items, gate, config, progress)
    made = made_of(column)
    for name, was in gate.made.items():
        if name != "metaeval" and made.get(name) != was:
            raise UserError(
                f"The gate was fitted with {name} {was}, and here it is {made.get(name)}: the threshold holds for the "
                "former alone; install that version, or fit the gate again."
            )
    score = cleared(column)
    below = score < gate.threshold
    groups = items.groups
    n = below.size
    every = Sample(np.arange(n), np.ones(n), groups, np.zeros(n, dtype=np.int64))
    if np.unique(groups).size > 1:
        of = share(below.astype(np.float64), np.zeros(n), every, groups, "process")
        flagged, variance, df = (of.value, of.low, of.high), of.variance, of.df
    else:  # one answer: its citations are all there is to go by
        alone = float(below.mean())
        variance, df = alone * (1 - alone) / n, max(n - 1.0, 1.0)
        flagged = alone, *wilson(alone, variance, n, df, 0.95)
    if variance <= 0:  # all flagged, or none: half a citation counts as the other kind, as in Wilson's interval
        variance = 0.5 / n * (1 - 0.5 / n) / n
    unsupported = corrected_share(
        flagged[0],
        variance,
        (1 - gate.missed, gate.unsupported_labels),
        (gate.flagged, gate.supported_labels),
        gate.alpha,
        df,
    )
    most = gate.max_unsupported if max_unsupported is None else max_unsupported
    looks = looks_of(items, column)
    drift = []
    for name, reference in gate.reference.items():
        if name in looks:
            fitted = np.array(reference.quantiles)
            p = two_samples(fitted, reference.effective, looks[name], effective_number(looks[name], groups))
            medians = float(np.median(fitted)), float(np.median(looks[name]))
            drift.append(Drift(name, *medians, p, p < DRIFT / len(gate.reference)))
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


def _scored(items: Items, gate: Gate, config: RunConfig | None, progress: MetricProgress | None = None) -> Column:
    """The scores of the gate's metric, made as they were when it was fitted."""
    config = (config or RunConfig()).model_copy(update={"metrics": (gate.metric,)})
    (column,) = scored(items, RunConfig.model_validate({**config.model_dump(), **gate.settings}), progress)
    return column


def score_one(gate: Gate, statement: str, source: str, config: RunConfig | None = None) -> float | None:
    """The score of one citation by the gate's metric, higher is more support; None where a text is blank.

    Raises `UserError` where the metric gives no score.
    """
    if not statement.strip() or not source.strip():
        return None
    check_file("the gate", {"metrics": [gate.metric], "metric_options": gate.settings.get("metric_options", {})})
    item = {"id": "1", "statement": statement, "source": source}
    return float(_scored(items_of([item]), gate, config).score[0])


def average(gate: Gate) -> str:
    """The words that a promise on the mean takes."""
    return " on average" if gate.promise == "mean" else ""


def verdict(found: GateCheck, fail_on_drift: bool = False) -> str:
    """The outcome of a check in one sentence."""
    value, low, high = found.unsupported
    most = found.gate.max_unsupported
    share = (
        f"{100 * value:.1f} % of the citations are unsupported"
        if value == value
        else "the unsupported share is not told"
    )
    ends = f"{100 * low:.1f} to {100 * high:.1f} %, corrected for {plain(found.gate.metric)}'s errors"
    if not found.passed:
        return f"FAILED: {share} ({ends}); the gate allows {100 * most:g} %."
    if found.drifted and fail_on_drift:
        return f"FAILED: the release does not look like the fitting set; {share} ({ends})."
    return f"PASSED: not shown to be above the {100 * most:g} % that the gate allows; {share} ({ends})."


def check_sheet(found: GateCheck) -> Table:
    """Flagged and unsupported shares, and drift."""
    gate = found.gate
    value, low, high = found.unsupported
    value_ = None if value != value else value
    lines: list[TableRow] = [
        ("", "flagged", (cell(*found.flagged, PERCENT), UNDEFINED)),
        ("", "unsupported (corrected)", (cell(value_, low, high, PERCENT), f"{100 * gate.max_unsupported:g}")),
    ]
    notes = [
        Note(
            "flagged",
            f"score of {plain(gate.metric)} below {gate.threshold:.4g}: "
            f"{len(found.below):,} of {len(found.items.rows):,} citations",
        ),
        Note(
            "unsupported",
            f"one-sided bounds at {100 * (1 - gate.alpha):g} % each; the gate misses at most {100 * gate.bound:.1f} % "
            f"of them{average(gate)}",
        ),
        Note("fitted", f"{gate.date}, {gate.labelled:,} labels, gate {gate.hash[:12]}"),
    ]
    if found.unscored:
        notes.append(Note("unscored", f"{found.unscored:,} citations have no score, and are flagged"))
    notes += [
        Note(
            "drift" if one.drifted else "no drift",
            f"{one.what}: median {one.here:.3g}, at fitting {one.fitted:.3g} (p {one.p:.2g})",
        )
        for one in found.drift
    ]
    return item_sheet(
        "gate-check",
        "Release against the gate (%)",
        data_of(found.items),
        ("share of citations", ("here", "allowed"), blocks_of(lines)),
        [
            {
                **{"metric": gate.metric, "threshold": gate.threshold, "gate": gate.hash},
                **dict(zip(("flagged", "flagged_low", "flagged_high"), found.flagged, strict=True)),
                **{"unsupported": value_, "unsupported_low": low, "unsupported_high": high},
                **{"max_unsupported": gate.max_unsupported, "passed": found.passed, "drifted": found.drifted},
                **{"citations": len(found.items.rows), "unscored": found.unscored},
            }
        ],
        notes,
        (found.signature,),
    )


def junit(found: GateCheck, fail_on_drift: bool = False) -> str:
    """JUnit XML: one test of the unsupported share, one of each kind of drift; flagged citations in the output."""
    tests = []
    failures = 0

    def case(name: str, failed: bool, said: str) -> None:
        nonlocal failures
        failures += failed
        inner = f"<failure message={quoteattr(said)}/>" if failed else f"<system-out>{escape(said)}</system-out>"
        tests.append(f'  <testcase classname="metaeval.gate" name={quoteattr(name)}>{inner}</testcase>')

    case("unsupported share", not found.passed, _clean(verdict(found)))
    for one in found.drift:
        said = f"median {one.here:.3g}, at fitting {one.fitted:.3g} (p {one.p:.2g})"
        case(f"drift: {one.what}", one.drifted and fail_on_drift, _clean(f"{'drift: ' if one.drifted else ''}{said}"))
    listed = [
        f"{shown(own)} {'no score' if score is None else f'{score:.4g}'}" for own, score in found.below[:MOST_LISTED]
    ]
    left = len(found.below) - len(listed)
    listed += [f"and {left:,} more"] if left > 0 else []
    out = escape(_clean("Flagged: " + "; ".join(listed) if listed else "Nothing is flagged."))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="metaeval gate" tests="{len(tests)}" failures="{failures}" errors="0">\n'
        + "\n".join(tests)
        + f"\n  <system-out>{out}</system-out>\n</testsuite>\n"
    )


def workflow(gate: Gate, answers: str, gate_file: str, install: str, further: Sequence[str] = ()) -> str:
    """A GitHub workflow that checks a release: YAML. further: words that the command takes besides the two files.

    install: where metaeval is installed from, an address that pip takes or a path in the repository. `UserError` for a
    bare name, which a package index would look up: anybody could publish something under it.
    """
    if "/" not in install:
        raise UserError(
            f"--install is {install!r}, and no package index has metaeval: give an address that you trust "
            "(git+https://HOST/OWNER/metaeval@COMMIT), or a path in your repository (./metaeval)."
        )
    base = gate.metric.partition(":")[0]
    extras = [registry.find("metric", base).card.extra if base in registry.names("metric") else ""]
    extras += [extra for extra in ("xlsx", "parquet") if answers.endswith(f".{extra}")]
    named = ",".join(filter(None, extras))
    brackets = f"[{named}]" if named else ""
    package = f"metaeval{brackets} @ {install}" if "://" in install else f"{install}{brackets}"
    return Template(resources.files(__package__).joinpath("workflow.yml").read_text(encoding="utf-8")).substitute(
        package=shlex.quote(package), check=shlex.join(["metaeval", "gate", "check", answers, gate_file, *further])
    )


def _clean(text: str) -> str:
    """Text that XML can hold."""
    return "".join(one if one.isprintable() else " " for one in plain(text))
