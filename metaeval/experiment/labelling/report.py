"""What estimates, and the fit and the check of a gate, look like: tables, sentences, JUnit XML and a workflow."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from importlib import resources
from operator import itemgetter
from string import Template
from xml.sax.saxutils import escape, quoteattr

from metaeval import registry
from metaeval.errors import shown
from metaeval.experiment.labelling.estimate import Estimate, Estimates
from metaeval.experiment.labelling.gate import Checked, Gate
from metaeval.experiment.labelling.gate_fit import Candidate, Fitted
from metaeval.experiment.labelling.scores import data_of
from metaeval.labelling.measures import LABELS
from metaeval.report import result as results
from metaeval.report.cells import THREE, cell
from metaeval.report.grid import UNDEFINED, Block, Cell, Line, Note, plain
from metaeval.report.sheet import Record, Sheet, sheet_of
from metaeval.signature import versions
from metaeval.stats.risk_control import Tested

_PERCENT = results.Column(key="", label="", scale=100, digits=1)
MOST_LISTED = 50
"""Flagged citations that a JUnit file names."""


_sheet = partial(sheet_of, unit="citation", settings={"unit": "citation"})

HEADINGS = ("estimate", "labels alone", "metric alone (biased)", "labels saved")


def estimate_sheet(found: Estimates) -> Sheet:
    """The table of the estimates: a block a file, and one of the differences."""
    systems = list(dict.fromkeys(one.system for one in found.found))
    blocks = [
        Block(
            plain(system) if len(systems) > 1 else "",
            tuple(_line(one) for one in found.found if one.system == system),
        )
        for system in systems
    ]
    if found.differences:
        lines = tuple(_line(one, signed=True) for one in found.differences)
        blocks.append(Block(plain(f"difference: {found.differences[0].system}"), lines))
    first = found.found[0]
    return _sheet(
        "estimate",
        "Citation quality (%)",
        found.data,
        ("share of citations", HEADINGS, blocks),
        found.records,
        [Note(*note) for note in found.notes],
        found.signatures,
        settings=found.settings,
        subtitle=f"{plain(found.data.name)}, {first.labels:,} labels, {plain(first.metric)}",
    )


def _line(one: Estimate, signed: bool = False) -> Line:
    return Line(
        LABELS[one.measure],
        (
            cell(one.value, one.low, one.high, _PERCENT, signed=signed),
            cell(*one.alone, _PERCENT, signed=signed),
            Cell(UNDEFINED) if one.metric_only is None else cell(one.metric_only, column=_PERCENT),
            Cell(f"{one.saved:.0f}"),
        ),
    )


def fit_sentences(found: Fitted) -> list[str]:
    """What a fit found, in sentences: what the promise needs, and the gate or what would tell."""
    lines = [_needs(found)]
    if found.gate:
        gate = found.gate
        seen = f"{100 * gate.missed:.1f} % of these labels"
        lines.append(
            f"{plain(gate.metric)} keeps it: a citation with a score below {gate.threshold:.4g} is flagged. At most "
            f"{100 * gate.bound:.1f} % of the unsupported are missed{average(gate)} ({seen}); "
            f"{100 * gate.flagged:.0f} % of the supported are flagged too, and {100 * gate.precision:.0f} % of what is "
            "flagged is unsupported."
        )
        return lines
    wanted = f"about {found.wanted:,} more labels would tell" if found.wanted else _hopeless(found)
    lines.append(f"Not good enough with these labels: {wanted}.")
    return lines


def _needs(found: Fitted) -> str:
    most = f"{100 * found.terms.max_missed:g} %"
    if found.terms.promise == "mean":
        return (
            f"The promise on the mean (of an answer's unsupported citations at most {most} missed, on average over "
            f"answers and over labels) needs {found.needed} answers with an unsupported label, and no miss; there are "
            f"{found.there:,}."
        )
    labels = f"{found.there:,} unsupported labels"
    if found.effective < 0.95 * found.there:
        labels += f", which tell as much as {found.effective:.0f} independent ones"
    many = len(found.candidates)
    tests = f", shared by {many} metrics" if many > 1 else ""
    return (
        f"The promise (at most {most} of unsupported citations missed, with confidence "
        f"{100 * (1 - found.terms.alpha):g} %{tests}) needs {found.needed} unsupported labels without a single miss; "
        f"there are {labels}."
    )


def average(gate: Gate) -> str:
    """The words that a promise on the mean takes."""
    return " on average" if gate.promise == "mean" else ""


def _hopeless(found: Fitted) -> str:
    known = [(one.best.missed, one.best.flagged, one.metric) for one in found.candidates if one.best]
    if not known:
        return f"every threshold flags more than {100 * found.terms.max_flagged:g} % of the supported"
    missed, flagged, metric = min(known, key=itemgetter(0))
    missed, flagged = 100 * missed, 100 * flagged
    return (
        f"no number of labels will help these metrics; {plain(metric)} misses least, {missed:.0f} % of the "
        f"unsupported where it flags {flagged:.0f} % of the supported: try another metric"
    )


def fit_sheet(found: Fitted) -> Sheet:
    """A line a metric: its last threshold that keeps the promise, else the one that misses least."""
    lines, records = [], []
    for one in found.candidates:
        at = one.chosen if one.passes else (one.best or one.chosen)
        chosen = bool(found.gate and found.gate.metric == one.metric)
        verdict = "gate" if chosen else "keeps it" if one.passes else "not told" if one.more else "no"
        lines.append(Line(plain(one.metric), (*_cells(at), cell(one.precision, column=_PERCENT), Cell(verdict))))
        records.append(_record(one, at, verdict))
    return _sheet(
        "gate-fit",
        "Gate for unsupported citations (%)",
        data_of(found.items),
        (
            "metric",
            ("threshold", "missed", "at most", "recall", "supported flagged", "precision", "promise"),
            [Block("", tuple(lines))],
        ),
        records,
        [Note(*note) for note in found.notes]
        + [
            Note("recall", "of unsupported citations: those that are flagged; precision: of flagged, the unsupported"),
            Note(
                "promise",
                "gate: taken, the first named that keeps it; keeps it: would do too, if named first; no: not with any "
                "number of labels; not told: more labels would tell",
            ),
        ],
        found.signatures,
    )


def _cells(at: Tested | None) -> list[Cell]:
    if at is None:
        return [Cell(UNDEFINED)] * 5
    return [
        cell(at.threshold, column=THREE),
        *(cell(value, column=_PERCENT) for value in (at.missed, at.bound, 1 - at.missed, at.flagged)),
    ]


def _record(one: Candidate, at: Tested | None, verdict: str) -> Record:
    numbers = (at.threshold, at.missed, at.bound, at.flagged, at.labels) if at else (None,) * 5
    names = ("threshold", "missed", "bound", "supported_flagged", "effective_labels")
    found = {
        name: value if value is None or abs(value) < 1e300 else None for name, value in zip(names, numbers, strict=True)
    }
    return {"metric": one.metric, **found, "precision": one.precision, "promise": verdict, "more_labels": one.more}


def verdict(found: Checked, fail_on_drift: bool = False) -> str:
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


def check_sheet(found: Checked) -> Sheet:
    """Flagged and unsupported shares, and drift."""
    gate = found.gate
    value, low, high = found.unsupported
    value_ = None if value != value else value
    lines = [
        Line("flagged", (cell(*found.flagged, _PERCENT), Cell(UNDEFINED))),
        Line("unsupported (corrected)", (cell(value_, low, high, _PERCENT), Cell(f"{100 * gate.max_unsupported:g}"))),
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
    notes += (
        [Note("unscored", f"{found.unscored:,} citations have no score, and are flagged")] if found.unscored else []
    )
    notes += [
        Note(
            "drift" if one.drifted else "no drift",
            f"{one.what}: median {one.here:.3g}, at fitting {one.fitted:.3g} (p {one.p:.2g})",
        )
        for one in found.drift
    ]
    return _sheet(
        "gate-check",
        "Release against the gate (%)",
        data_of(found.items),
        ("share of citations", ("here", "allowed"), [Block("", tuple(lines))]),
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


def junit(found: Checked, fail_on_drift: bool = False) -> str:
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


def workflow(gate: Gate, answers: str, gate_file: str, further: Sequence[str] = ()) -> str:
    """A GitHub workflow that checks a release: YAML. further: words that the command takes besides the two files."""
    base = gate.metric.partition(":")[0]
    extras = [registry.find("metric", base).card.extra if base in registry.names("metric") else ""]
    extras += [extra for extra in ("xlsx", "parquet") if answers.endswith(f".{extra}")]
    named = ",".join(filter(None, extras))
    package = f"metaeval[{named}]" if named else "metaeval"
    return Template(resources.files(__package__).joinpath("workflow.yml").read_text(encoding="utf-8")).substitute(
        package=shlex.quote(f"{package}=={versions('metaeval')['metaeval']}"),
        check=shlex.join(["metaeval", "gate", "check", answers, gate_file, *further]),
    )


def _clean(text: str) -> str:
    """Text that XML can hold."""
    return "".join(one if one.isprintable() else " " for one in plain(text))
