"""A meta-evaluation of citation pipelines as sheets: what was measured, and agreement by system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from metaeval.citation.human.model import Valued
from metaeval.citation.measures import Interval
from metaeval.experiment.citing.meta.annotators import alphas
from metaeval.experiment.citing.meta.missing import mean_ends, open_values
from metaeval.experiment.citing.meta.notes import data_of, notes_of, settings_of, signatures_of
from metaeval.experiment.citing.meta.per_system import over_systems, systems_of, within_systems
from metaeval.experiment.citing.meta.ratings import Level
from metaeval.experiment.citing.meta.run import Meta
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import Frame, interval_cell, lines_grid
from metaeval.report.grid import Cell, Note, count, plain
from metaeval.report.result import Column

CORRELATIONS = (
    Column(key="pearson", label="Pearson"),
    Column(key="spearman", label="Spearman"),
    Column(key="kendall", label="Kendall"),
)
RANKS_DIGITS = Column(key="tau", label="tau-b", digits=2)
"""Two digits: systems have few rows."""

_MEAN = Column(key="mean", label="mean")
_ALPHA = Column(key="alpha", label="alpha")
_PEOPLE = "people"


def measures_sheet(meta: Meta) -> Sheet:
    """Of how many rated statements and responses every measure has a value, and why not of the others."""
    blocks: list[tuple[str, list[tuple[str, list[Cell]]]]] = []
    records: list[Record] = []
    for level in meta.levels:
        rows: list[tuple[str, list[Cell]]] = []
        for name, values in level.values.items():
            states = _states(values)
            number = len(level.partial[name])
            outside = sum(own.outside for own in meta.aligned.get(name, {}).values())
            ends = mean_ends(meta, level, name)
            rows.append((name, [Cell(f"{one:,}") for one in (*states.values(), number, outside)]))
            records.append(
                {
                    "level": level.unit,
                    "measure": name,
                    **states,
                    "valued_in_part": number,
                    "sentences_outside_statements": outside,
                    **dict(zip(("mean", "mean_least", "mean_most"), ends, strict=True)),
                }
            )
        blocks.append((f"{len(level.ratings.rows):,} rated {level.unit}", rows))
    reading = Note(
        "reading",
        "no value: the pipeline gives such a row none; missing: a verdict is; in part: the value, of the answer, "
        "leaves out missing verdicts; outside: sentences of a pipeline that share no character with a statement",
    )
    headings = ("value", "no value", "missing", "in part", "outside")
    return sheet_of(
        meta, "measures", "What the pipelines give a value to", records, "measure", headings, blocks, [reading]
    )


def annotators_sheet(meta: Meta) -> Sheet | None:
    """Krippendorff's alpha among the annotators; None with one."""
    found = alphas(meta)
    if not found:
        return None
    rows = [
        (name, [interval_cell((one.value, one.low, one.high), _ALPHA, signed=True), Cell(f"{number:,}")])
        for name, (one, number) in found.items()
    ]
    records: list[Record] = [
        {"what": name, "alpha": one.value, "alpha_low": one.low, "alpha_high": one.high, "statements": number}
        for name, (one, number) in found.items()
    ]
    title = "Agreement between annotators (Krippendorff's alpha)"
    return sheet_of(meta, "annotators", title, records, "of", ("alpha", "statements"), [("", rows)])


def open_sheets(meta: Meta) -> list[Sheet]:
    """Each rated response whose value lacks a verdict, and what the value could be; none where nothing is missing."""
    records: list[Record] = []
    blocks: dict[str, list[tuple[str, list[Cell]]]] = {}
    for level in meta.levels:
        for answer, measure, value, ends in open_values(meta, level):
            least, most = ends or (None, None)
            records.append({"answer": answer, "measure": measure, "value": value, "least": least, "most": most})
            cells = [interval_cell((one, None, None), _MEAN) for one in (value, least, most)]
            blocks.setdefault(plain(measure), []).append((answer, cells))
    if not records:
        return []
    title = "Responses whose value lacks a verdict, and what it could be"
    headings = ("value", "least", "most")
    return [sheet_of(meta, "could-be", title, records, "response", headings, list(blocks.items()))]


def within_sheet(meta: Meta, level: Level) -> Sheet | None:
    """Correlations with people within each system; None with fewer than two."""
    if len(systems_of(level)) < 2:
        return None
    blocks: dict[str, list[tuple[str, list[Cell]]]] = {}
    records: list[Record] = []
    for one in within_systems(level, meta.prepared.config):
        cells: list[Cell] = []
        record: dict[str, Scalar] = {
            "system": one.system,
            "measure": one.measure,
            "rows": one.rows,
            "of": one.total,
        }
        for column in CORRELATIONS:
            own = one.found[column.key]
            cells.append(interval_cell((own.value, own.low, own.high), RANKS_DIGITS, signed=True))
            record |= {column.key: own.value, f"{column.key}_low": own.low, f"{column.key}_high": own.high}
        title = f"{plain(one.system)}, {one.total:,} {level.unit}"
        blocks.setdefault(title, []).append((one.measure, cells))
        records.append(record)
    headings = [column.label for column in CORRELATIONS]
    title = f"Agreement with people within each system, over {level.unit}"
    return sheet_of(meta, "within-systems", title, records, "measure", headings, list(blocks.items()))


def systems_sheet(meta: Meta, level: Level) -> Sheet | None:
    """Mean rating and mean values of the systems, and how far their rankings agree; None with fewer than two."""
    systems = systems_of(level)
    if len(systems) < 2:
        return None
    people, found = over_systems(level, meta.prepared.config)
    rows = [(one.measure, [*_means(one.means), _tau_cell(one.tau)]) for one in found]
    records: list[Record] = [
        {"measure": _PEOPLE, **dict(zip(systems, people, strict=True)), "tau": None, "tau_low": None, "tau_high": None}
    ]
    for one in found:
        tau = one.tau
        ends = {"tau": tau.value, "tau_low": tau.low, "tau_high": tau.high} if tau else {}
        records.append({"measure": one.measure, **dict(zip(systems, one.means, strict=True)), **ends})
    pairs = len(systems) * (len(systems) - 1) // 2
    reading = Note(
        "reading",
        f"means over {level.unit}; tau-b: Kendall's, of a measure's means with people's over the same {level.unit}; "
        f"{count(len(systems), 'system')} make {count(pairs, 'pair')}, and no p-value is made of so few",
    )
    headings = (*map(plain, systems), RANKS_DIGITS.label)
    blocks = [("", [(_PEOPLE, [*_means(people), Cell("")])]), ("measures", rows)]
    title = "Systems as people and as measures rate them"
    return sheet_of(meta, "systems", title, records, "mean of", headings, blocks, [reading])


def sheet_of(
    meta: Meta,
    name: str,
    title: str,
    records: Sequence[Record],
    stub: str,
    headings: Sequence[str],
    blocks: Sequence[tuple[str, Sequence[tuple[str, Sequence[Cell]]]]],
    notes: Sequence[Note] = (),
) -> Sheet:
    """A table of the run with what stands around it."""
    data = data_of(meta)
    subtitle = f"{plain(data.name)}, citation pipelines against people"
    frame = Frame((name, data.name, "meta"), title, subtitle, (*notes, *notes_of(meta)), signatures_of(meta))
    return Sheet(name, data, settings_of(meta), records, lines_grid(frame, stub, headings, blocks))


def _states(values: Sequence[Valued]) -> dict[str, int]:
    states = Counter(one.state for one in values)
    return {"valued": states["valued"], "no_value": states["no value"], "missing": states["missing"]}


def _means(values: Sequence[float | None]) -> list[Cell]:
    return [interval_cell((value, None, None), _MEAN) for value in values]


def _tau_cell(tau: Interval | None) -> Cell:
    return interval_cell(None if tau is None else (tau.value, tau.low, tau.high), RANKS_DIGITS, signed=True)
