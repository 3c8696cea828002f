"""The pipeline `tables-scifi`: the tables of the SCiFi paper, with models as blocks and strategies as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, Field

from metaeval.citation.measures import Statistic, interval_by, micro, replicates, value_of
from metaeval.citation.pipelines.layout import IntervalEnds, TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import Layout, NameList, Pipeline, PipelineMeasure
from metaeval.citation.pipelines.provenance import Provenance, data_note, data_of
from metaeval.citation.pipelines.scifi import SCIFI, Assessed, ScifiCommand, make_facts, provenance_of, value_facts
from metaeval.citation.pipelines.scifi_groups import FEATURING, group_table
from metaeval.citation.scifi import answer_measures
from metaeval.citation.scifi.text_statistics import citation_counts
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError, shown, unknown
from metaeval.files import safe_name
from metaeval.report.result import Column
from metaeval.report.result_tables import cell, rank
from metaeval.report.table import Cell, Note, Rank, Record, Table, TableRow, format_value, plain
from metaeval.setting_types import as_list
from metaeval.stats.arrays import Floats, Ints, group_totals
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import COUNTS
from metaeval.stats.resampling import Draws

STRATEGIES = ("truncated", "summary", "two-stage")
"""Last parts of systems' names (MODEL/STRATEGY, as `cite generate` writes them) that are lines of a model's block."""

_COLUMNS = (
    Column(key="density", label="Density", digits=2),
    Column(key="density_sub", label="Density (sub)", digits=2),
    Column(key="entailment", label="Citation Ent.", scale=100, digits=2),
    Column(key="coverage", label="Cover.", scale=100, digits=2),
)
STATISTICS = (
    Column(key="samples", label="# Samples", digits=0),
    Column(key="tokens", label="# Tokens", digits=1),
    Column(key="density", label="Density", digits=2),
    Column(key="sentences", label="sentences", digits=0),
    Column(key="several", label="several %", scale=100, digits=1),
    Column(key="inside", label="inside %", scale=100, digits=1),
    Column(key="free", label="free %", scale=100, digits=1),
)


def statistics_reading(tokenizer: str = "words") -> Note:
    """Return the note on the statistics of texts. tokenizer: see `scifi.text_statistics.token_counter`."""
    tokens = "words and punctuation marks" if tokenizer == "words" else f"those of the tokenizer {plain(tokenizer)}"
    return Note(
        "reading",
        f"Tokens: {tokens}, a sample. Density: citations per sentence with a citation. several: sentences with more "
        "than one citation; inside: citations that a word of their sentence follows; free: those of these that stand "
        "away from punctuation (Appendix A.3)",
    )


class ScifiTablesCommand(ScifiCommand):
    """Options of `cite tables scifi`."""

    untyped = frozenset({"by", "format", "parser", "tokenizer"})
    hidden = frozenset({"base_url", "record", "replay"})

    table: Annotated[
        tuple[int, ...],
        BeforeValidator(lambda value: (value,) if isinstance(value, int) else as_list(value)),
        Flag("N", multiple=True),
    ] = Field(
        default=(),
        description="Tables to make: 1 (statistics, nothing is judged), 2 or 3 (default: 1, 2 and, with --trained, 3).",
    )
    trained: NameList = Field(
        default=(), description="Models before and after training, for Table 3: BEFORE=AFTER. Repeatable."
    )
    by: NameList = Field(
        default=(), description="Fields of the records' reference by which texts are counted (topic, views), in tables."
    )
    tokenizer: Annotated[str, Flag("NAME")] = Field(
        default="words",
        description="Tokens of Table 1: words (and punctuation marks), or those of a tokenizer (hub id or folder).",
    )


@dataclass(frozen=True)
class _System:
    """A system: its number in the panel, its model and its strategy."""

    number: int
    model: str
    strategy: str


def split_name(system: str) -> tuple[str, str]:
    """Return model and strategy of a system; one that names no strategy is a model with the strategy "answers"."""
    model, _, strategy = system.rpartition("/")
    return (model, strategy) if model and strategy.casefold() in STRATEGIES else (system, "answers")


def _tables(options: ScifiTablesCommand) -> tuple[int, ...]:
    if wrong := [number for number in options.table if number not in (1, 2, 3)]:
        raise unknown("table", str(wrong[0]), ("1", "2", "3"))
    if 3 in options.table and not options.trained:
        raise UserError("Table 3 compares models before and after training: name them with --trained BEFORE=AFTER.")
    return tuple(options.table) or ((1, 2, 3) if options.trained else (1, 2))


def _systems(assessed: Assessed) -> list[_System]:
    """Return the systems, models in the order of their first answer, strategies in the paper's order."""
    panel = assessed.run.panel
    order = {answer.system: place for place, answer in reversed(list(enumerate(panel.answers)))}
    systems = [_System(number, *split_name(name)) for number, name in enumerate(panel.systems)]
    first: dict[str, int] = {}
    for system in systems:
        place = order[panel.systems[system.number]]
        first[system.model] = min(first.get(system.model, place), place)
    steps = {name: place for place, name in enumerate(STRATEGIES)}
    return sorted(systems, key=lambda each: (first[each.model], steps.get(each.strategy.casefold(), 0)))


def _lay_out(assessed: Assessed) -> Layout:
    wanted, tables = _tables(assessed.run.options), {}
    systems, around, tokenizer = _systems(assessed), _of_answers(assessed), assessed.run.options.tokenizer
    if tokenizer != "words":
        around = replace(around, fields={**around.fields, "tokenizer": tokenizer})
    if 1 in wanted:
        tables["table-1"] = _statistics(assessed, systems, around)
    if 2 in wanted:
        tables["table-2"] = _results(assessed, systems, around)
    if 3 in wanted:
        tables["table-3"] = _differences(assessed, systems, around)
    run = assessed.run
    for name in run.options.by:
        tables[f"by-{safe_name(name)}"] = group_table(run.answers, name, run.splitter, around)
    return Layout(tables)


def _of_answers(assessed: Assessed) -> Provenance:
    if assessed.scored:
        return replace(provenance_of(assessed), kind="scifi-paper")
    run = assessed.run
    marks = citation_counts(run.answers, run.splitter).marks
    data = data_of(run.name, "scifi", run.answers, 0, marks)
    fields = {"pipeline": "tables-scifi", "splitter": run.splitter.name}
    note = data_note(run.panel, data, (marks, "citation mark"))
    return Provenance(data, "scifi-paper", plain(data.name), fields, run.config.interval, after=[note])


def _statistics(assessed: Assessed, systems: Sequence[_System], around: Provenance) -> Table:
    """Return Table 1: how many samples, tokens and citations the answers of each system or data set have."""
    table, panel, run = TableLines(), assessed.run.panel, assessed.run
    for system in systems:
        answers = [panel.answers[row] for row in panel.rows(system.number)]
        counted = citation_counts(answers, run.splitter, run.options.tokenizer)
        values = {"samples": counted.samples, "sentences": counted.sentences, **counted.shares}
        name = panel.systems[system.number]
        cells = [format_value(values[column.key], column) for column in STATISTICS]
        table.add("", name, cells, *({"system": name, "measure": key, "value": v} for key, v in values.items()))
    headings = ("Data", *(column.label for column in STATISTICS))
    return around.lines(
        "table-1", "Statistics of the texts", headings, table, [statistics_reading(run.options.tokenizer)]
    )


def _measures(assessed: Assessed) -> dict[str, Statistic]:
    read, scored = assessed.read, assessed.scored[0]
    return {
        "density": micro(answer_measures.densities(read), COUNTS),
        "density_sub": micro(answer_measures.densities(read, inside=True), COUNTS),
        **{name: scored.statistics[f"{name}_facts"] for name in ("entailment", "coverage")},
    }


def _results(assessed: Assessed, systems: Sequence[_System], around: Provenance) -> Table:
    """Return Table 2 (or 6, from answers to positive documents alone): the measures of each strategy by model."""
    panel, measures = assessed.run.panel, _measures(assessed)
    values = {system: panel.ends(measures, system.number) for system in systems}
    rows: list[TableRow] = []
    for system in systems:
        cells = [_ranked(column, system, values) for column in _COLUMNS]
        rows.append((plain(system.model), system.strategy, cells))
    records = [record for system in systems for record in _records(system, values[system])]
    legend = "Bold: best of all; underlined: best strategy of its model." if len(systems) > 1 else ""
    grid = around.lines(
        "table-2", "Citations and coverage by strategy and model", _headings(), TableLines(rows, records)
    )
    return replace(grid, legend=legend)


def _headings() -> tuple[str, ...]:
    return ("Strategy", *(column.label for column in _COLUMNS))


def _ranked(column: Column, system: _System, values: Mapping[_System, Mapping[str, IntervalEnds]]) -> Cell:
    """Return the cell of a system, bold if it is the best of all, underlined if it is the best of its model's."""
    printed = interval_cell(values[system][column.key], column)
    places: Mapping[Rank, Sequence[_System]] = {
        "best": [*values],
        "second": [each for each in values if each.model == system.model],
    }
    for place, peers in places.items():
        ranks = rank((values[each][column.key][0] for each in peers), column)
        if ranks.get(printed.number) == "best":
            return replace(printed, rank=place)
    return printed


def _records(system: _System, values: Mapping[str, IntervalEnds]) -> list[Record]:
    named = {"model": system.model, "strategy": system.strategy}
    return [
        {**named, "measure": key, "value": value, "low": low, "high": high}
        for key, (value, low, high) in values.items()
    ]


def _differences(assessed: Assessed, systems: Sequence[_System], around: Provenance) -> Table:
    """Return Table 3: measures after training less those before, on the questions that both answered."""
    measures, table = _measures(assessed), TableLines()
    left_out: list[str] = []
    for pair in assessed.run.options.trained:
        before, after = _pair(pair, systems)
        for strategy, (first, second) in _by_common_strategy(before, after, pair).items():
            rows = [assessed.run.panel.rows(each.number) for each in (first, second)]
            rows, lost = _on_common_groups(assessed, rows, pair)
            left_out += [
                f"{pair} ({strategy}): {count(lost, 'answer')} to questions that only one of the two answered"
            ] * (lost > 0)
            ends = {key: _difference(assessed, statistic, rows).ends for key, statistic in measures.items()}
            cells = [cell(*ends[column.key], column, signed=True) for column in _COLUMNS]
            named = _System(second.number, f"{before[0].model} to {after[0].model}", strategy)
            table.add(plain(named.model), strategy, cells, *_records(named, ends))
    notes = [
        Note(
            "reading", "after training less before it; intervals are paired: they resample questions with both answers"
        ),
        Note("left out", "; ".join(map(plain, left_out))),
    ]
    return around.lines("table-3", "Differences after training", _headings(), table, notes)


def _pair(pair: str, systems: Sequence[_System]) -> tuple[list[_System], list[_System]]:
    """Return the systems of the two models that BEFORE=AFTER names; raises `UserError` for other text or models."""
    names = pair.split("=")
    if len(names) != 2 or not all(names):
        raise UserError(f"--trained {shown(pair)}: write BEFORE=AFTER, two models whose answers are given.")
    matches = [[system for system in systems if system.model == name.strip()] for name in names]
    for name, of_model in zip(names, matches, strict=True):
        if not of_model:
            raise unknown("model in --trained", name.strip(), list(dict.fromkeys(each.model for each in systems)))
    return matches[0], matches[1]


def _by_common_strategy(
    before: Sequence[_System], after: Sequence[_System], pair: str
) -> dict[str, tuple[_System, _System]]:
    later = {each.strategy: each for each in after}
    common = {each.strategy: (each, later[each.strategy]) for each in before if each.strategy in later}
    if not common:
        raise UserError(f"--trained {shown(pair)}: no strategy in common: give answers by the same strategy.")
    return common


def _on_common_groups(assessed: Assessed, rows: Sequence[Ints], pair: str) -> tuple[list[Ints], int]:
    """Return the rows of two systems to the questions that both answered, and how many answers this leaves out."""
    group = assessed.run.panel.group
    shared = np.intersect1d(group[rows[0]], group[rows[1]])
    if not shared.size:
        raise UserError(
            f"--trained {shown(pair)}: no question in common: give both models' answers to the same questions."
        )
    kept = [each[np.isin(group[each], shared)] for each in rows]
    return kept, sum(each.size for each in rows) - sum(each.size for each in kept)


def _difference(assessed: Assessed, statistic: Statistic, rows: Sequence[Ints]) -> Estimate:
    """Return a statistic of the second rows less that of the first, with its interval; None if either is undefined."""
    panel = assessed.run.panel
    if any(value_of(statistic, each) is None for each in rows):
        return Estimate(None)

    def run(draws: Draws) -> Floats:
        before, after = (replicates(statistic, each, panel.group, draws) for each in rows)
        return after - before

    counts = sum(group_totals(statistic.counts[each], panel.group[each], panel.n_groups) for each in rows)
    alone = np.unique(panel.group[rows[0]]).size < 2
    resampling = replace(panel.resampling, n=0) if alone else panel.resampling
    return interval_by(run, np.asarray(counts).astype(np.int64), resampling)[0]


TABLES_SCIFI = Pipeline(
    name="tables-scifi",
    title="SCiFi",
    paper="Cao and Wang 2024, SCiFi (arXiv 2406.06125), Tables 1, 2, 3 and 6",
    help="""Make Tables 1, 2, 3 and 6 of the SCiFi paper from answers.

    Models are blocks and strategies lines, after the systems' names
    MODEL/STRATEGY, as 'cite generate' writes them. Table 1 has statistics of
    any data set, and alone (--table 1) judges nothing. Table 6 is Table 2 on
    answers to positive documents alone. Table 4 and the values of Figure 2
    count texts by a field of their records: -s by=topic, -s by=views.

    \b
    Examples:
      metaeval cite tables scifi truncated.jsonl summary.jsonl --nli overlap
      metaeval cite tables scifi before.jsonl after.jsonl --trained llama=llama-lora
      metaeval cite tables scifi scifi.jsonl hagrid.jsonl --table 1
      metaeval cite tables scifi scifi.jsonl --table 1 -s by=topic
    """,
    options=ScifiTablesCommand,
    measures=(
        *SCIFI.measures,
        PipelineMeasure(FEATURING, "texts with citations inside", "share of texts with a citation inside", 100, 1),
    ),
    owners=SCIFI.owners,
    backends="one",
    chat="optional",
    purpose=SCIFI.purpose,
    asks=SCIFI.asks,
    cutoff=SCIFI.cutoff,
    read=SCIFI.read,
    estimate=SCIFI.estimate,
    ask=lambda source, chat: source if _tables(source.run.options) == (1,) else make_facts(source, chat),
    judge=lambda facts, backends: value_facts(facts, backends()) if facts.read else facts,
    lay_out=_lay_out,
)
