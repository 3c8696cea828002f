"""CiteEval as sheets: scores of systems with bounds, what could not be judged and what it cost, and AutoAIS beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version

from metaeval.citation.citeeval.asking import load_prompts
from metaeval.citation.citeeval.baselines import response_triple
from metaeval.citation.citeeval.evaluate import Measure, bounds, counts, estimates
from metaeval.citation.citeeval.options import PROFILES
from metaeval.citation.measures import estimate, group_codes, means
from metaeval.experiment.citing.citeeval import Rated
from metaeval.experiment.citing.judging import F1, PRECISION, RECALL
from metaeval.experiment.citing.notes import fingerprint
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import Entry, Frame, interval_cell, lines_grid, scores_grid
from metaeval.report.grid import Cell, Grid, Note
from metaeval.report.numerals import UNDEFINED, count, numeral, one_line, plain
from metaeval.report.result import Column, Data
from metaeval.signature import signature

COLUMNS: Mapping[Measure, Column] = {
    "auto": Column(key="auto", label="CiteEval-Auto"),
    "rating": Column(key="rating", label="rating"),
    "edits": Column(key="edits", label="edit distance"),
}
"""The measures in the order of the tables."""

_BOUNDS = "least to most"
_MONEY = "USD for these replies"


def citeeval_sheets(rated: Rated) -> list[Sheet]:
    """Every sheet of a run, in the order in which they are read."""
    data = _data(rated)
    return [_scores(rated, data), _judging(rated, data), *([_autoais(rated, data)] if rated.baselines else [])]


def _scores(rated: Rated, data: Data) -> Sheet:
    interval = rated.config.interval
    records: list[Record] = []
    found, ranges = [], []
    for system, numbers in rated.systems.items():
        answers, results = [rated.answers[n] for n in numbers], [rated.results[n] for n in numbers]
        values = estimates(answers, results, rated.scenario, interval.resamples, interval.seed, interval.level)
        cells, ends = [], []
        for measure, column in COLUMNS.items():
            value, (least, most) = values[measure], bounds(results, measure, rated.scenario)
            cells.append(interval_cell((value.value, value.low, value.high), column))
            known = least is not None and most is not None
            ends.append(Cell(f"{numeral(least, column)} to {numeral(most, column)}" if known else UNDEFINED))
            records.append({"system": system, "measure": measure, **asdict(value), "least": least, "most": most})
        found.append((system, [*cells, Cell(f"{values['auto'].answers:,} of {len(answers):,}")]))
        ranges.append((system, [*ends, Cell("")]))
    headings = [*(column.label for column in COLUMNS.values()), "answers"]
    frame = _frame(rated, data, "citeeval", "CiteEval: citations as a chat model rates and edits them")
    return _sheet(
        rated, data, "citeeval", records, lines_grid(frame, "system", headings, [("", found), (_BOUNDS, ranges)])
    )


def _judging(rated: Rated, data: Data) -> Sheet:
    """What became of the questions, what is wrong inside the replies, and what they took."""
    blocks, records = [], []
    for system, numbers in rated.systems.items():
        results, spent = [rated.results[n] for n in numbers], [rated.spent[n] for n in numbers]
        found: dict[str, float | None] = {
            **counts(results),
            "tokens in": sum(one.tokens_in for one in spent),
            "tokens out": sum(one.tokens_out for one in spent),
            "replies without a count of tokens": sum(one.uncounted for one in spent),
            _MONEY: rated.money(spent),
        }
        blocks.append((plain(system), [(name, [_amount(name, value)]) for name, value in found.items()]))
        records += [{"system": system, "count": name, "value": value} for name, value in found.items()]
    paid = Note("money", "what the replies cost when they were asked for; kept ones cost nothing again")
    frame = _frame(rated, data, "judging", "What was asked, and what came of it", [paid])
    return _sheet(rated, data, "judging", records, lines_grid(frame, "count", ["number"], blocks))


def _amount(name: str, value: float | None) -> Cell:
    return Cell(UNDEFINED if value is None else f"{value:.4f}" if name == _MONEY else f"{value:,}")


def _autoais(rated: Rated, data: Data) -> Sheet:
    interval = rated.config.interval
    entries, records = [], []
    for backend, triples in rated.baselines:
        own = [response_triple(few) for few in triples]
        for system, numbers in rated.systems.items():
            group, n_groups = group_codes([rated.answers[n] for n in numbers])
            columns = {
                RECALL.key: [own[n].recall for n in numbers],
                PRECISION.key: [own[n].precision for n in numbers],
                F1.key: [own[n].f1 for n in numbers],
            }
            how = interval.resamples, interval.seed, interval.level
            found = {key: estimate(means(values), group, n_groups, *how) for key, values in columns.items()}
            ends = {key: (one.value, one.low, one.high) for key, one in found.items()}
            entries.append(Entry(system, backend.name, ends))
            records += [
                {"system": system, "backend": backend.name, "measure": key, **asdict(one)} for key, one in found.items()
            ]
    backends = [backend.fields for backend, _ in rated.baselines]
    said = [
        (plain(one.name), f"supported from {one.cutoff.value} on ({one.cutoff.source})") for one, _ in rated.baselines
    ]
    notes = [Note("verdicts", "", tuple(said))]
    frame = _frame(rated, data, "autoais", "AutoAIS of the same statements", notes, backends)
    return _sheet(rated, data, "autoais", records, scores_grid(frame, [RECALL, PRECISION, F1], entries))


def _data(rated: Rated) -> Data:
    statements = [one.statement for result in rated.results for one in result.statements]
    return Data(
        name=rated.name,
        split="citeeval",
        fingerprint=fingerprint(rated.answers),
        statements=len(statements),
        documents=sum(len(answer.passages) for answer in rated.answers),
        citations=sum(len(one.citations) for one in statements),
        groups=group_codes(rated.answers)[1],
        levels={},
    )


def _fields(rated: Rated) -> dict[str, Scalar]:
    """What the numbers depend on beside the answers; options of the profile only where they were changed."""
    preset, own = asdict(PROFILES[rated.profile]), asdict(rated.options)
    changed = [f"{name}={value}" for name, value in own.items() if value != preset[name]]
    asking = {name: value for name, value in asdict(rated.asking).items() if not name.endswith("_file")}
    prompts = [f"{module}@{prompt.fingerprint}" for module, prompt in load_prompts(rated.asking).items()]
    return {
        "pipeline": "citeeval",
        "profile": rated.profile,
        "options": ",".join(changed) or "as the profile",
        "scenario": rated.scenario,
        "splitter": rated.splitter,
        "model": rated.asking.model,
        "answered_as": rated.answered_as,
        "prompts": ",".join(prompts),
        "asking": ",".join(f"{name}={value}" for name, value in asking.items() if name != "model"),
    }


def _frame(
    rated: Rated,
    data: Data,
    name: str,
    title: str,
    notes: Sequence[Note] = (),
    backends: Sequence[Mapping[str, object]] = ({},),
) -> Frame:
    """What stands around a table; a signature for each of the backends' fields."""
    fields, interval, weight = _fields(rated), rated.config.interval, rated.options.weight
    said = f"{count(len(rated.answers), 'answer')} of {count(len(rated.systems), 'system')}, "
    said += f"{count(data.groups, 'group')}; {count(data.statements, 'statement')}, {count(data.citations, 'citation')}"
    kept = ("profile", "options", "scenario", "splitter")
    footer = (
        *notes,
        Note("data", said),
        Note("settings", ", ".join(f"{key} {plain(str(fields[key]))}" for key in kept)),
        Note("judge", f"{plain(rated.asking.model)}, answered as {plain(rated.answered_as)}; {fields['prompts']}"),
        Note(
            "reading",
            f"CiteEval-Auto: {weight:g} of the rating and {1 - weight:g} of the edit distance, statement by statement; "
            "answers: those with a CiteEval-Auto, of all; least to most: the mean, were no judgement missing",
        ),
        Note(
            "uncertainty",
            f"{100 * interval.level:g} % percentile intervals, {count(interval.resamples, 'resample')} of "
            f"{count(data.groups, 'group')}, seed {interval.seed}",
        ),
    )
    subtitle = f"{plain(data.name)}, CiteEval, profile {plain(rated.profile)}, {rated.scenario} scenario"
    signatures = tuple(_signature(rated, data, {**fields, **own}) for own in backends)
    return Frame((name, data.name, "CiteEval"), title, subtitle, footer, signatures)


def _signature(rated: Rated, data: Data, fields: Mapping[str, object]) -> str:
    interval = rated.config.interval
    made = {
        "answers": f"{data.name}@{data.fingerprint[:12]}",
        **fields,
        "interval": f"cluster-percentile-{interval.level}",
        "by": "group",
        "B": interval.resamples,
        "seed": interval.seed,
        **{package: version(package) for package in ("metaeval", "numpy")},
    }
    return one_line(signature(made))


def _sheet(rated: Rated, data: Data, name: str, records: Sequence[Record], grid: Grid) -> Sheet:
    interval = rated.config.interval
    resampled = {"resamples": interval.resamples, "seed": interval.seed, "level": interval.level}
    return Sheet(name, data, {**_fields(rated), **resampled}, records, grid)
