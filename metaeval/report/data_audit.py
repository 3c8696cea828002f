"""An audit of a data set: the meaning of its labels and their shortcut features, as tables, a page and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from metaeval.display_text import count
from metaeval.report.html_report import Picture, Section, page_of, table_of
from metaeval.report.ranking_measures import LEVELS
from metaeval.report.result import FULL_SUPPORT, Column, Data, Value
from metaeval.report.result_tables import cell
from metaeval.report.table import UNDEFINED, Note, Table, blocks_of, format_value, place_of, plain, share

SCHEMA = "metaeval-audit/1"
PAGE = "page"
PERCENT = Column(key="auc", label="ROC-AUC", scale=100, digits=1)
STATEMENT_ONLY = "statement only"


@dataclass(frozen=True)
class WholeSets:
    """Counts at one chunk size of citations with full support, and of the chunks that hold their evidence.

    size: in words, as text; PAGE for whole documents. touched: chunks with any of the evidence; whole: those with a
    whole evidence set. citations: those with marked evidence; complete: those of which a chunk holds a whole set.
    """

    size: str
    touched: int
    whole: int
    citations: int
    complete: int


@dataclass(frozen=True)
class RuleLabels:
    """The labels of chunks under one rule for evidence.

    levels: number of chunks by level. left_out: number of chunks without a known level. perfect: value of a perfect
    detector on these labels, by what it detects and then by the measure's label.
    """

    rule: str
    levels: Mapping[str, int]
    left_out: int
    perfect: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class ShortcutFeature:
    """A control that uses only part of the input, and how well it predicts the labels of one unit.

    reads: whether it reads the source. values: its ROC-AUC with an interval, by the measure's label.
    """

    unit: str
    name: str
    reads: bool
    values: Mapping[str, Value]

    def value(self, measure: str) -> Value:
        """Return the ROC-AUC under a measure; an undefined value if there is none."""
        return self.values.get(measure, Value(value=None))


@dataclass(frozen=True)
class Duplicates:
    """Texts that occur in more than one group, compared by their lower-cased words, and pairs that were judged twice.

    All fields are numbers. statements, chunks: distinct texts in several groups; statement_rows, chunk_rows: statements
    and pairs with such a text. judged_twice: pairs of statement and page, both as texts, that several citations judge;
    conflicting: those with several levels.
    """

    statements: int
    statement_rows: int
    chunks: int
    chunk_rows: int
    judged_twice: int
    conflicting: int


@dataclass(frozen=True)
class VoteAgreement:
    """Agreement where the votes of annotators are known.

    units: number of units with several votes. votes: number of these votes. unanimous: number of units whose votes are
    equal. alpha: Krippendorff's (interval distance; None: undefined).
    """

    units: int
    votes: int
    unanimous: int
    alpha: float | None


@dataclass(frozen=True)
class EvidenceSets:
    """Counts of citations with marked evidence and of their alternative sets.

    smallest: mean number of sentences in the smallest set of a citation with full support; None without any.
    """

    citations: int
    sets: int
    smallest: float | None


@dataclass(frozen=True)
class Audit:
    """The results of a data audit. chunks: how pages are cut, `sizes` aside. words: of a page: (median, maximum)."""

    data: Data
    chunks: str
    words: tuple[float, int]
    evidence: EvidenceSets
    sizes: Sequence[WholeSets]
    rules: Sequence[RuleLabels]
    giveaways: Sequence[ShortcutFeature]
    duplicates: Duplicates
    votes: VoteAgreement | None

    def __repr__(self) -> str:
        return "\n".join([f"<Audit of {self.data.name}, {self.data.split}>", *findings(self)])

    def _repr_html_(self) -> str:
        return "".join(f"<div>{table_of(grid)}</div>" for grid in grids(self))


def as_json(audit: Audit) -> str:
    """Return the audit as indented JSON; the same audit gives the same bytes."""
    data = asdict(audit)
    data["data"] = audit.data.model_dump(mode="json")
    for written, feature in zip(data["giveaways"], audit.giveaways, strict=True):
        written["values"] = {
            name: of.model_dump(include={"value", "low", "high"}) for name, of in feature.values.items()
        }
    whole = {"schema": SCHEMA, **data, "findings": list(findings(audit))}
    return json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def page(audit: Audit, pictures: Sequence[Picture] = ()) -> str:
    """Return the audit as one HTML page. pictures: the figures at its end."""
    heading = f"Audit: {plain(audit.data.name)}, {plain(audit.data.split)}"
    return page_of(heading, [Section([(grid, "") for grid in grids(audit)], pictures=pictures)])


def grids(audit: Audit, brief: bool = False) -> list[Table]:
    """Return the tables of an audit. brief: only one unit, one detector, and controls that do not read the source."""
    where = place_of(audit.data)
    tables = [_sizes(audit, where), _rules(audit, where, brief)] if audit.sizes else []
    tables.append(_shortcut_features(audit, where, brief))
    shown = audit.giveaways[0].unit if brief and audit.giveaways else ""
    notes = (*_about(audit), *(Note("finding", sentence) for sentence in findings(audit, shown)))
    return [grid.noting(audit.data.demo) for grid in (*tables[:-1], replace(tables[-1], footer=notes))]


def _sizes(audit: Audit, where: str) -> Table:
    cells = {
        "hold a whole set": [f"{size.whole:,} of {size.touched:,}" for size in audit.sizes],
        "share": [share(size.whole, size.touched) for size in audit.sizes],
    }
    return Table(
        key=("audit", "sizes"),
        title="Chunks of full citations that hold evidence, by chunk size in words",
        subtitle=where,
        headings=tuple(size.size for size in audit.sizes),
        blocks=blocks_of(("", name, row) for name, row in cells.items()),
        stub="chunks",
    )


def _rules(audit: Audit, where: str, brief: bool) -> Table:
    detectors = [FULL_SUPPORT] if brief else list(dict.fromkeys(name for rule in audit.rules for name in rule.perfect))
    rows = []
    for rule in audit.rules:
        counts = (*(rule.levels.get(level, 0) for level in LEVELS), rule.left_out)
        perfect = (format_value(rule.perfect.get(name, {}).get("FS-PS"), PERCENT) for name in detectors)
        rows.append(("", rule.rule, [*(f"{number:,}" for number in counts), *perfect]))
    return Table(
        key=("audit", "rules"),
        title="Labels of chunks under each rule for evidence",
        subtitle=f"{where}, {audit.chunks}; full / partial (FS-PS, %) of a perfect detector",
        headings=(*LEVELS, "left out", *detectors),
        blocks=blocks_of(rows),
        stub="evidence.rule",
    )


def _shortcut_features(audit: Audit, where: str, brief: bool) -> Table:
    units = list(dict.fromkeys(feature.unit for feature in audit.giveaways))[: 1 if brief else None]
    measures = list(dict.fromkeys(name for feature in audit.giveaways for name in feature.values))
    rows = []
    for control in (control for unit in units for control in audit.giveaways if control.unit == unit):
        if not (brief and control.reads):
            values = [control.value(measure) for measure in measures]
            cells = [cell(value.value, value.low, value.high, PERCENT) for value in values]
            rows.append(("" if brief else f"unit {control.unit}", control.name, cells))
    return Table(
        key=("audit", "giveaways"),
        title="Shortcut features: ROC-AUC without a metric (%)",
        subtitle=f"{where}, unit {units[0]}" if brief else where,
        headings=tuple(measures),
        blocks=blocks_of(rows),
        stub="control",
    )


def _about(audit: Audit) -> Iterator[Note]:
    data, (middle, most) = audit.data, audit.words
    levels = " / ".join(f"{level} {data.levels.get(level, 0):,}" for level in LEVELS)
    yield Note(
        "data",
        f"{count(data.citations, 'citation')} ({levels}), {count(data.groups, 'group')}; "
        f"{count(data.documents, 'page')}, words {middle:,.0f} at the median, {most:,} at most",
    )
    evidence = audit.evidence
    if evidence.citations:
        sets = f"{evidence.sets / evidence.citations:.1f} sets each"
        if evidence.smallest is not None:
            sets += f"; smallest (full): {evidence.smallest:.2f} sentences"
        yield Note("evidence", f"{count(evidence.citations, 'citation')}, {sets}")
    twins = audit.duplicates
    yield Note(
        "duplicates",
        f"{count(twins.statements, 'statement')}, {count(twins.chunks, 'chunk')} in several groups; judged twice: "
        f"{twins.judged_twice:,}" + (f", {twins.conflicting:,} at two levels" if twins.conflicting else ""),
    )
    if votes := audit.votes:
        alpha = UNDEFINED if votes.alpha is None else f"{votes.alpha:.2f}"
        agreement = f"{share(votes.unanimous, votes.units)} unanimous, Krippendorff's alpha {alpha}"
        yield Note("votes", f"{count(votes.votes, 'vote')} on {count(votes.units, 'unit')}: {agreement}")


def findings(audit: Audit, shown: str = "") -> Iterator[str]:
    """Yield what is to be known about results on the data set, in sentences, if there is anything.

    shown: the unit whose controls stand in a table: it has no sentence, and those of other units have no values. "":
    every unit has one, with values.
    """
    if not audit.sizes:
        yield "No evidence is marked: chunks of longer pages have no known level. Use --unit citation or --unit page."
    at = at_own_size(audit)
    if at and at.whole < at.touched:
        perfect = {rule.rule: rule.perfect.get(FULL_SUPPORT, {}).get("FS-PS") for rule in audit.rules}
        yield (
            f"{at.whole:,} of {at.touched:,} chunks hold a whole set: a perfect detector of {FULL_SUPPORT} has full / "
            f"partial ROC-AUC {format_value(perfect.get('touched'), PERCENT)} with evidence.rule=touched."
        )
    for unit in dict.fromkeys(feature.unit for feature in audit.giveaways if feature.unit != shown):
        informative = [
            (feature.name, _informative_measures(feature))
            for feature in audit.giveaways
            if feature.unit == unit and not feature.reads
        ]
        if names := "; ".join(name if shown else f"{name} ({measures})" for name, measures in informative if measures):
            yield f"Unit {unit} has shortcut features: {names}."


def at_own_size(audit: Audit) -> WholeSets | None:
    """Return the counts at the chunk size of the audit's other tables; None if they are not among `sizes`."""
    return next((size for size in audit.sizes if size.size == audit.chunks.rpartition("-")[2]), None)


def _informative_measures(feature: ShortcutFeature) -> str:
    """Return, as text, the measures whose interval lies above 0.5 (or below, but for "statement only"), with values."""
    # A prediction from other groups that is wrong more often than not tells nothing of these.
    lowest = 0.0 if feature.name == STATEMENT_ONLY else 0.5
    known = [(name, value, value.low, value.high) for name, value in feature.values.items()]
    informative = {
        name: format_value(value.value, PERCENT)
        for name, value, low, high in known
        if low is not None and high is not None and (low > 0.5 or high < lowest)
    }
    return ", ".join(f"{name} {value}" for name, value in informative.items())
