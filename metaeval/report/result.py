"""The result file: one table as data, with everything that its numbers depend on.

A change of what a file holds or means gets a new schema, and files of older ones are refused: the same command makes
them anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from metaeval.core.errors import UserError
from metaeval.core.files import write_text
from metaeval.core.parsing import read_json
from metaeval.report.data_frame import frame
from metaeval.stats.estimate import Estimate
from metaeval.stats.ranking import letters, rank_intervals

SCHEMA = "metaeval-result/3"
_OLD = ("metaeval-result/", "metaeval-sheet/")  # how the schemas begin of files that the same command makes anew

Unit = Literal["chunk", "citation", "page", "evidence", "statement", "rating"]
Kind = TypeVar("Kind")
_validator: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


class _ResultModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


# The fields of a cell in a result file; `bounds` are the worst and the best value of its `Estimate`.
_IN_FILES = ("value", "low", "high", "ties", "bounds", "ceiling", "published", "note", "effective")


def _of_file(cell: Any) -> Any:
    """Return a cell of a file under the names of `Estimate`'s fields; what is wrong in it is left to pydantic."""
    if not isinstance(cell, dict):
        return cell
    # Pydantic takes the lists of strict JSON for tuples only where it parses the text itself.
    cell = {name: tuple(part) if isinstance(part, list) else part for name, part in cell.items()}
    match cell:
        case {"bounds": None | (_, _) as bounds, **rest}:
            return rest | dict(zip(("worst", "best"), bounds or (), strict=False))
    return cell


_to_file = PlainSerializer(lambda estimate: {name: getattr(estimate, name) for name in _IN_FILES})


class Column(_ResultModel):
    """One measure, and how it is printed.

    Attributes
    ----------
    key, label : str
        Its key in `Row.values`, and its heading.
    scale, digits : float, default 1.0; int, default 3
        A value is printed times `scale`, with `digits` decimals.
    """

    key: str
    label: str
    scale: float = 1.0
    digits: int = 3


class Ledger(_ResultModel):
    """How much input a metric was given, over unique pairs.

    Attributes
    ----------
    pairs, tokens, cut_pairs, cut_tokens : int
        Pairs and their tokens; pairs that were cut, and tokens cut off by the metric's input limit.
    """

    pairs: int
    tokens: int
    cut_pairs: int
    cut_tokens: int


class Row(_ResultModel):
    """One metric or control.

    Attributes
    ----------
    metric : str
        Its name.
    kind : one of "metric", "control"
        What it is.
    control : str
        The group of a control (trivial, lexical, reference, oracle), which may be a metric of the run; empty for other
        metrics.
    values : dict of str to Estimate
        By measure.
    total, scored, unscored : int
        Numbers of rows: scored + unscored + sum(excluded) = total.
    excluded : dict of str to int
        Rows that the protocol cannot use, by reason.
    statuses : dict of str to int
        The unscored rows by status.
    ledger : Ledger, optional
        None for controls and imported scores.
    not_above : dict of str to list of str
        For each measure, the controls that the metric is not significantly better than (`Significance.controls`).
    letters : dict of str to str
        By measure; they follow from `Significance` (see `placed`).
    ranks : dict of str to (int, int)
        The ends of the interval of its rank by measure, in the same way.
    warnings : list of str
        Whole sentences.
    notes : list of str
        How the row's values were computed, beyond the settings.
    same_scores : list of str
        The controls with the same score on every row.
    signature : str
        Everything that the values depend on.
    """

    metric: str
    kind: Literal["metric", "control"]
    control: str = ""
    values: dict[str, Annotated[Estimate, BeforeValidator(_of_file), _to_file]]
    total: int
    scored: int
    unscored: int
    excluded: dict[str, int] = Field(default_factory=dict)
    statuses: dict[str, int] = Field(default_factory=dict)
    ledger: Ledger | None = None
    not_above: dict[str, list[str]] = Field(default_factory=dict)
    letters: dict[str, str] = Field(default_factory=dict)
    ranks: dict[str, tuple[int, int]] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    same_scores: list[str] = Field(default_factory=list)
    signature: str

    @model_validator(mode="after")
    def _adds_up(self) -> Row:
        if self.scored + self.unscored + sum(self.excluded.values()) != self.total:
            counts = f"scored {self.scored} + unscored {self.unscored} + excluded {sum(self.excluded.values())}"
            raise ValueError(f"{self.metric}: {counts} is not total {self.total}")
        if sum(self.statuses.values()) != self.unscored:
            raise ValueError(f"{self.metric}: statuses {self.statuses} do not add up to unscored {self.unscored}")
        return self


class Data(_ResultModel):
    """The judged data.

    Attributes
    ----------
    name, split, fingerprint : str
        Name, split and content hash.
    statements, documents, citations, groups : int
        Numbers of each.
    levels : dict of str to int
        Number of rows at each level.
    dropped, evidence : dict of str to int
        What was left out, by reason; counts of how evidence was placed.
    demo : bool, default False
        The labels are made up, to show what the program does.
    """

    name: str
    split: str
    fingerprint: str
    statements: int
    documents: int
    citations: int
    groups: int
    levels: dict[str, int]
    dropped: dict[str, int] = Field(default_factory=dict)
    evidence: dict[str, int] = Field(default_factory=dict)
    demo: bool = False

    def wording(self, text: str) -> str:
        """Return a text with "human" replaced by "demo" if the data are demo data."""
        return text.replace("human", "demo") if self.demo else text

    @staticmethod
    def wording_of(data: Sequence[Data], text: str) -> str:
        """Return a text with "human" replaced by "demo", or "human or demo", where all or some data are demo data."""
        kinds = {"demo" if part.demo else "human" for part in data} or {"human"}
        return text.replace("human", " or ".join(sorted(kinds, reverse=True)))


class Interval(_ResultModel):
    """The settings of the intervals.

    Attributes
    ----------
    resamples, seed : int
        Number of resamples of whole groups (0: no intervals), and their seed.
    level : float
        Level of the intervals.
    fewest : float, default 6
        Effective groups that an interval needs.
    cluster : one of "group", "group,system", default "group"
        Whether systems are taken as sampled beside groups.
    effective : dict of str to (int, float, float)
        Where systems are sampled too, the number of groups, and of systems, with the lowest and the highest effective
        number over metrics and measures.
    """

    resamples: int
    seed: int
    level: float
    fewest: float = 6
    cluster: Literal["group", "group,system"] = "group"
    effective: dict[str, tuple[int, float, float]] = Field(default_factory=dict)


class Comparison(_ResultModel):
    """The comparison of two metrics under one measure: `one` minus `other` over the rows that both scored.

    Attributes
    ----------
    measure, one, other : str
        Key of the measure, and the two metrics.
    rows : int
        Number of rows that both scored.
    difference : float or None
        None where undefined, and `note` says why.
    low, high, p : float, optional
        The interval of the difference, and the two-sided p.
    holm : float, optional
        p adjusted over the family of `Significance`; alone None where rows without a score could reverse a significant
        difference.
    note : str
        Why something is undefined.
    """

    measure: str
    one: str
    other: str
    rows: int
    difference: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    holm: float | None = None
    note: str = ""


class Significance(_ResultModel):
    """The comparisons of the metrics: every pair under every shown measure, and the settings of the test.

    Two metrics count as different where the Holm-adjusted p is at most `alpha`; `placed` follows from that.

    Attributes
    ----------
    permutations : int
        Exchanges of two metrics' scores, under measures that the protocol resamples. Other metrics are tested with the
        cluster standard error of their difference, from which its interval is too.
    seed, alpha : int, float
        Seed of the exchanges, and level of the tests.
    comparisons : list of Comparison
        Every pair of metrics.
    controls : list of Comparison
        Every metric (`one`) minus each control (`other`) that it is compared with, tested with the cluster standard
        error of the difference; `Row.not_above` follows from it, and p is adjusted apart, by
        `metaeval.stats.significance.holm_against`.
    family, tests : one of "column", "table", "suite"; int
        The pairs of metrics that p is adjusted over, at most `tests`.
    """

    permutations: int
    seed: int
    alpha: float
    comparisons: list[Comparison]
    controls: list[Comparison] = Field(default_factory=list)
    family: Literal["column", "table", "suite"] = "column"
    tests: int = 0


# Targets of perfect detectors: whole evidence sets of full citations, evidence, and how much of a set there is.
FULL_SUPPORT, ANY_SUPPORT, EVIDENCE_SHARE = "full support", "any support", "share of evidence"


def placed(rows: Sequence[Row], tests: Significance) -> list[Row]:
    """Return the rows with the letters of each metric and the (low, high) interval of its rank, by measure.

    Two metrics share a letter if and only if they are not significantly different. All ranks lie in their intervals
    with probability 1 - alpha; they are among the metrics that are no controls. Controls, and metrics without a value
    or without a test, have neither; a control that is a metric of the run has letters.
    """
    places = {key: _places(rows, key, tests) for key in dict.fromkeys(test.measure for test in tests.comparisons)}
    placed_rows = []
    for row in rows:
        of_row = {key: of[row.metric] for key, of in places.items() if row.kind == "metric" and row.metric in of}
        shown = {key: text for key, (text, _) in of_row.items() if text}
        ranks = {key: interval for key, (_, interval) in of_row.items() if interval}
        placed_rows.append(row.model_copy(update={"letters": shown, "ranks": ranks}))
    return placed_rows


def _places(rows: Sequence[Row], key: str, tests: Significance) -> dict[str, tuple[str, tuple[int, int] | None]]:
    """Return (letters, (low, high) of its rank) of each metric with a value and a test under a measure, by name.

    Pairs with a control are a family of tests of their own, so that a control among the metrics has no rank.
    """
    pairs = [test for test in tests.comparisons if test.measure == key and test.p is not None]
    tested = {name for pair in pairs for name in (pair.one, pair.other)}
    of_metrics = {row.metric: row.values.get(key) for row in rows if row.kind == "metric" and row.metric in tested}
    value_of = {name: value.value for name, value in of_metrics.items() if value and value.value is not None}
    names = list(value_of)
    better = np.zeros((len(names), len(names)), dtype=np.bool_)
    for pair in pairs:
        if {pair.one, pair.other} <= value_of.keys() and pair.holm is not None and pair.holm <= tests.alpha:
            higher, lower = (pair.one, pair.other) if (pair.difference or 0.0) > 0 else (pair.other, pair.one)
            better[names.index(higher), names.index(lower)] = True
    display = letters(np.array(list(value_of.values()), dtype=np.float64), better | better.T)
    ranked = [place for place, name in enumerate(names) if name not in {row.metric for row in rows if row.control}]
    low, high = (bound.tolist() for bound in rank_intervals(better[np.ix_(ranked, ranked)]))
    ranks = dict(zip(ranked, zip(low, high, strict=True), strict=True))
    return {name: (display[place], ranks.get(place)) for place, name in enumerate(names)}


class Perfect(_ResultModel):
    """Values of perfect detectors under the table's labels.

    Attributes
    ----------
    values : dict of str to dict
        Measure key -> what is detected -> raw value.
    full, incomplete : int
        Number of rows at level full, and of those of them that hold only a part of an evidence set.
    """

    values: dict[str, dict[str, float]]
    full: int
    incomplete: int


class Result(_ResultModel):
    """One protocol's table over one data set and unit of analysis.

    Attributes
    ----------
    schema_ : str
        Schema of the file, "schema" in it.
    protocol, title : str
        Name of the protocol, and title of the table.
    unit : one of "chunk", "citation", "page", "evidence", "statement", "rating"
        What a row of the data is.
    settings : dict of str to str
        What else the numbers depend on.
    data : Data
        What was judged.
    interval : Interval
        How intervals were made.
    columns : list of Column
        The measures of the printed table.
    rows : list of Row
        The metrics and controls.
    ceilings : dict of str to dict
        For each measure that ties in the gold hold below 1, what a perfect metric of each kind (continuous,
        three-level, binary) would reach.
    perfect : Perfect, optional
        What perfect detectors would reach, None where no row holds only a part of an evidence set.
    significance : Significance, optional
        The tests between metrics.
    published, published_elsewhere : str
        Where the `published` values come from; how their data or rule differ from these (empty: they are the same).
    """

    schema_: Literal["metaeval-result/3"] = Field(default="metaeval-result/3", alias="schema")
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)

    protocol: str
    title: str
    unit: Unit
    settings: dict[str, str]
    data: Data
    interval: Interval
    columns: list[Column]
    rows: list[Row]
    ceilings: dict[str, dict[str, float]] = Field(default_factory=dict)
    perfect: Perfect | None = None
    significance: Significance | None = None
    published: str = ""
    published_elsewhere: str = ""

    def __repr__(self) -> str:
        """Name the protocol and the data in one line; the table is `metaeval.report.result_tables.lay_out(result)`."""
        metrics = [row.metric for row in self.rows if row.kind == "metric"]
        named = ", ".join(metrics[:5]) + (f" and {len(metrics) - 5} more" if len(metrics) > 5 else "")
        controls = len(self.rows) - len(metrics)
        of = f"{self.data.name}/{self.data.split}, {self.unit}"
        return f"<Result: {self.protocol} of {of}; {named or 'no metric'}; {controls} controls>"

    __str__ = __repr__

    as_html: ClassVar[Callable[[Result], str] | None] = None
    """Lays out the table of a result for notebooks; set by `metaeval.report.notebook`, which knows the renderers."""

    def _repr_html_(self) -> str | None:
        return Result.as_html(self) if Result.as_html else None

    def to_frame(self) -> Any:
        """Return a data frame with a row for each metric, control and measure, as the CSV file has it."""
        return frame(records(self))


# Names of the fields of `records`.
FIELDS = (
    *("protocol", "dataset", "split", "unit", "metric", "kind", "measure"),
    *("value", "low", "high", "tie_worst", "tie_best", "bound_worst", "bound_best", "ceiling"),
    *("perfect_full", "perfect_any", "perfect_share", "published", "letters", "rank_low", "rank_high", "note"),
    *("scored", "unscored", "excluded", "total", "signature"),
)


def records(result: Result) -> Iterator[dict[str, str | float | int | None]]:
    """Yield a mapping for each metric and control under each measure, the measures of the printed table first."""
    data, shown, nothing = result.data, [column.key for column in result.columns], (None, None)
    for row in result.rows:
        for key in (*(key for key in shown if key in row.values), *sorted(set(row.values) - set(shown))):
            value, perfect = row.values[key], result.perfect.values.get(key, {}) if result.perfect else {}
            fields = (
                *(result.protocol, data.name, data.split, result.unit, row.metric, row.kind, key),
                *(*value.ends, *(value.ties or nothing), *(value.bounds or nothing)),
                *(value.ceiling, *map(perfect.get, (FULL_SUPPORT, ANY_SUPPORT, EVIDENCE_SHARE))),
                *(value.published, row.letters.get(key), *row.ranks.get(key, nothing), value.note),
                *(row.scored, row.unscored, sum(row.excluded.values()), row.total, row.signature),
            )
            yield dict(zip(FIELDS, fields, strict=True))


def save_result(result: Result, path: Path) -> None:
    """Write a result as indented JSON; the same result always gives the same bytes."""
    data = result.model_dump(mode="json", by_alias=True)
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def load_result(path: Path) -> Result:
    """Read a result file; raises `UserError` that names the field that is wrong."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: give one of its result files (.json), or type 'metaeval results show'.")
    data, version = read_versioned(path)
    if str(version).startswith("metaeval-table/"):
        raise UserError(f"{path} is a table, not a protocol's result: print it with 'metaeval results show {path}'.")
    if str(version).startswith("metaeval-gate/"):
        check = f"type 'metaeval gate check FILE {path}' to check answers with it"
        raise UserError(f"{path} is a gate and not a result: {check}, or give the results of its fit.")
    if version != SCHEMA:
        raise UserError(f"{path}: schema is {version!r}; this version reads {SCHEMA!r}: give a result file (.json).")
    return checked(Result, data, path)


def read_versioned(path: Path) -> tuple[Any, Any]:
    """Return a file's JSON and the schema that it names (None: none).

    Raises `UserError` where it is not JSON, and for a result or table of another version.
    """
    data = read_json(path, "give a .json file that metaeval wrote")
    version = data.get("schema") if isinstance(data, dict) else None
    if isinstance(version, str) and version != SCHEMA and version.startswith(_OLD):
        raise of_other_version(path, version)
    return data, version


def of_other_version(path: Path, version: object) -> UserError:
    """Return the error for a file that has the schema (None: none) of another version, with what to type."""
    named = repr(version) if version else "missing"
    return UserError(
        f"{path}: schema is {named}, and this version reads {SCHEMA!r}: type the command again that made it."
    )


def checked(kind: type[Kind], data: Any, path: Path) -> Kind:
    """Return a file's JSON (`data`) as a pydantic model or dataclass; raises `UserError` that names a wrong field."""
    try:
        # As JSON, text is not a number and true is not 1; a list is a tuple.
        return cast(Kind, _validator(kind).validate_json(json.dumps(data), strict=True))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{path}: field {where or 'file'}: {first['msg']}.") from error
