"""One baseline as a table: systems by each judge or way, what is missing, and what the numbers could be with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from metaeval.citation.citeeval.baselines import Open
from metaeval.citation.measures import Estimate, estimate, group_codes, means
from metaeval.experiment.citing.citeeval.frame import frame_of, judge_note, shared_fields, sheet_of
from metaeval.experiment.citing.citeeval.run import Rated
from metaeval.experiment.citing.provenance import truncation
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import Entry, scores_grid
from metaeval.report.grid import Cell, Grid, Note, count, numeral, plain
from metaeval.report.result import Column, Data

_TITLES = {"autoais": "AutoAIS", "lqac": "LQAC", "attrscore": "AttrScore"}
_FULL = {
    "autoais": "all statements count",
    "lqac": "all statements count; one without citations has precision 0, and recall 1 if it needs none",
    "attrscore": "all statements count, and one without citations is 0",
}
_CITED = "statements without citations are left out; an answer of nothing else is 0, as of CiteEval's own values"
_UNCITED = "a statement without citations is 0 in both, and "
_REQUIRED = " where one of its statements needs a citation (none_cited=if required), and here always"


_COULD_BE = (
    "the means over all answers, were every missing word against them, or for them; the means above are over the "
    "answers of which no word is missing, and can lie outside"
)


@dataclass(frozen=True)
class Scored:
    """A baseline by one judge, or in one way. values: of each answer, by the key of a column. fields: its signature's.

    said: who judged, and how, for the footer.
    """

    name: str
    values: Mapping[str, Sequence[Open]]
    fields: Mapping[str, object]
    said: str


@dataclass(frozen=True)
class _Value:
    """A system's mean, and the least and the most that it could be over all of its answers."""

    mean: Estimate
    least: float | None
    most: float | None


def baseline_sheet(
    rated: Rated, data: Data, name: str, stub: str, scored: Sequence[Scored], columns: Sequence[Column]
) -> Sheet:
    """The sheet of a baseline. stub: what tells its blocks apart, as a field of the records."""
    entries: list[Entry] = []
    answers: list[str] = []
    records: list[Record] = []
    open_: list[tuple[str, str]] = []
    for one in scored:
        for system, numbers in rated.systems.items():
            of_system = {column: _value(rated, one.values[column.key], numbers) for column in columns}
            ends = {column.key: (own.mean.value, own.mean.low, own.mean.high) for column, own in of_system.items()}
            entries.append(Entry(system, one.name, ends))
            known = sorted({own.mean.answers for own in of_system.values()})
            answers.append(f"{' to '.join(f'{one:,}' for one in (known[0], *known[1:][-1:]))} of {len(numbers):,}")
            if said := _could_be(of_system, len(numbers)):
                open_.append((plain(f"{system}, {one.name}"), said))
            records += [
                {
                    **{"system": system, stub: one.name, "measure": column.key},
                    **{**asdict(own.mean), "least": own.least, "most": own.most},
                }
                for column, own in of_system.items()
            ]
    shared: dict[str, Scalar] = {**shared_fields(rated), "baseline": name}
    judged = [judge_note(rated, str(scored[0].fields["prompts"]))] if "prompts" in scored[0].fields else []
    notes = [
        *judged,
        Note("judged", "", tuple((plain(one.name), one.said) for one in scored)),
        _truncation(rated, name),
        Note("could be", _COULD_BE, tuple(open_)),
        Note("reading", _reading(rated, name)),
    ]
    frame = frame_of(
        rated,
        data,
        name,
        f"{_TITLES[name]} of the same statements (%)",
        [note for note in notes if note.items or note.label in ("judge", "reading")],
        [{**shared, **one.fields} for one in scored],
    )
    grid = scores_grid(frame, columns, entries, kept={column.key for column in columns})
    return sheet_of(rated, data, name, records, _with_answers(grid, answers), shared)


def _with_answers(grid: Grid, answers: Sequence[str]) -> Grid:
    """The grid with one more column: how many answers have a value, of each line."""
    said = iter(answers)
    blocks = [
        replace(block, lines=tuple(replace(line, cells=(*line.cells, Cell(next(said)))) for line in block.lines))
        for block in grid.blocks
    ]
    return replace(grid, headings=(*grid.headings, "answers"), blocks=tuple(blocks))


def _reading(rated: Rated, name: str) -> str:
    full = rated.scenario == "full"
    refusals = sum(result.no_answer for result in rated.results)
    cited = _CITED + (_REQUIRED if rated.options.none_cited == "if required" else "")
    said = _FULL[name] if full else cited
    if name == "autoais":
        said = f"not ALCE's: {_UNCITED if full else ''}a response is the mean over its statements; {said}"
    if not refusals:
        return said
    without = "a statement without citations" + (", which needs none" if name == "lqac" else "")
    return f"{said}; no answer was found in {count(refusals, 'answer')}: read as {without}"


def _truncation(rated: Rated, name: str) -> Note:
    """What metrics did not read. A metric that labels gives its classes without a word on what it cut."""
    if name == "autoais":
        return truncation(backend for backend, _ in rated.baselines)
    said = "pairs of more than {limit:,} tokens may be cut; a metric that gives classes does not say how many were"
    judges = rated.attrscore if name == "attrscore" else ()
    items = [(plain(one.name), said.format(limit=one.limit)) for one in judges if one.limit is not None]
    return Note("truncation", "", tuple(items))


def _value(rated: Rated, values: Sequence[Open], numbers: Sequence[int]) -> _Value:
    """The mean of some answers' values, the missing ones left out; its bounds are means over all of them."""
    interval = rated.config.interval
    own = [values[number] for number in numbers]
    group, n_groups = group_codes([rated.answers[number] for number in numbers])
    parts = means([one.value for one in own])
    least, most = (
        [end for end in ends if end is not None] for ends in zip(*((o.least, o.most) for o in own), strict=True)
    )
    return _Value(
        estimate(parts, group, n_groups, interval.resamples, interval.seed, interval.level),
        sum(least) / len(least) if least else None,
        sum(most) / len(most) if most else None,
    )


def _could_be(values: Mapping[Column, _Value], answers: int) -> str:
    """What the values of a system could be; empty where nothing is missing."""
    missing = {column: own for column, own in values.items() if own.least != own.most}
    if not missing:
        return ""
    ends = [f"{key.label} {numeral(own.least, key)} to {numeral(own.most, key)}" for key, own in missing.items()]
    left_out = max(own.mean.undefined for own in missing.values())
    return f"{', '.join(ends)} (up to {left_out:,} of {count(answers, 'answer')} left out above)"
