"""The analysis `cite tables-scifi`: the tables of the SCiFi paper, with models as blocks and strategies as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import Statistic, replicates, value_of
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import CitedSheets, CitedTable
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.metric_verdicts import Judges
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.pipelines.scifi import FactOptions, estimate, fact_cutoff, fact_maker, judge_facts, make_facts
from metaeval.citation.pipelines.scifi_groups import group_table
from metaeval.citation.scifi.text_statistics import citation_counts
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError, shown, unknown
from metaeval.files import safe_name
from metaeval.report.result import Column
from metaeval.report.result_tables import cell, rank
from metaeval.report.table import Cell, Note, Rank, Record, Table, format_value, plain
from metaeval.setting_types import as_list
from metaeval.stats.arrays import Floats, Ints, group_totals
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import intervals
from metaeval.stats.resampling import Draws

STRATEGIES = ("truncated", "summary", "two-stage")
"""Last parts of systems' names (MODEL/STRATEGY, as `cite generate` writes them) that are lines of a model's block."""

_COLUMNS = (
    Column(key="density", label="Density", digits=2),
    Column(key="density_sub", label="Density (sub)", digits=2),
    Column(key="entailment_facts", label="Citation Ent.", scale=100, digits=2),
    Column(key="coverage_facts", label="Cover.", scale=100, digits=2),
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


_HEADINGS = ("Strategy", *(column.label for column in _COLUMNS))


class ScifiTablesOptions(FactOptions):
    """Options of `cite tables-scifi`."""

    untyped = frozenset({"base_url", "by", "sources"})

    table: Annotated[
        tuple[int, ...],
        BeforeValidator(lambda value: (value,) if isinstance(value, int) else as_list(value)),
        Flag("N", multiple=True),
    ] = Field(
        default=(),
        description="Tables to make: 1 (statistics, nothing is judged), 2 or 3 (default: 1, 2 and, with --trained, 3).",
    )
    trained: shared.NameList = Field(
        default=(), description="Models before and after training, for Table 3: BEFORE=AFTER. Repeatable."
    )
    by: shared.NameList = Field(
        default=(), description="Fields of the records' reference by which texts are counted (topic, views), in tables."
    )

    @property
    def tables(self) -> Sequence[int]:
        """The numbers of the tables to make; `UserError` for one that cannot be made."""
        if wrong := [number for number in self.table if number not in (1, 2, 3)]:
            raise unknown("table", str(wrong[0]), ("1", "2", "3"))
        if 3 in self.table and not self.trained:
            raise UserError("Table 3 compares models before and after training: name them with --trained BEFORE=AFTER.")
        return self.table or ((1, 2, 3) if self.trained else (1, 2))


class _System(NamedTuple):
    """A system: its number in the table, its model and its strategy."""

    number: int
    model: str
    strategy: str


def split_name(system: str) -> tuple[str, str]:
    """Return model and strategy of a system; one that names no strategy is a model with the strategy "answers"."""
    model, _, strategy = system.rpartition("/")
    return (model, strategy) if model and strategy.casefold() in STRATEGIES else (system, "answers")


def _run(options: ScifiTablesOptions, progress: Progress) -> Done:
    if len(options.nli) > 1:
        raise UserError(f"The paper's tables use one metric, and {len(options.nli)} are given as nli: give only one.")
    wanted, splitter = options.tables, find_sentence_splitter(options.splitter)
    judged = set(wanted) != {1}
    judges, maker = Judges(options, progress, needed=judged, find=fact_cutoff), fact_maker(options)
    answers = shared.answers_in(options)
    if options.dry_run:
        return shared.estimated(judges.config, estimate(options, maker, answers))
    if judged:
        cited, notes, counted = judge_facts(options, *make_facts(options, maker, answers, progress), judges)
    else:
        name, fields = shared.name_of_data(options.files), {"pipeline": "tables-scifi", "splitter": splitter.name}
        cited, notes = CitedTable("scifi", "SCiFi", name, answers, judges.config, fields, ()), ()
        counts = citation_counts(answers, splitter)
        counted = ((counts.sentences, "sentence"), (counts.marks, "citation mark"))
    around = replace(cited.provenance(*notes, counted=counted), kind="scifi-paper")
    around = replace(around, fields={**around.fields, "tokenizer": options.tokenizer})
    systems, sheets = _systems(cited), list[Table]()
    if 1 in wanted:
        sheets.append(_statistics(cited, systems, options, around))
    if 2 in wanted:
        sheets.append(_results(cited, systems, around))
    if 3 in wanted:
        sheets.append(_differences(cited, systems, options.trained, around))
    for field in options.by:
        sheets.append(replace(group_table(answers, field, splitter, around), name=f"by-{safe_name(field)}"))
    return Done(config=judges.config, sheets=sheets, value=CitedSheets(sheets))


def _systems(cited: CitedTable) -> list[_System]:
    """Return the systems, models in the order of their first answer, strategies in the paper's order."""
    systems = [_System(number, *split_name(name)) for number, name in enumerate(cited.systems)]
    first: dict[str, int] = {}
    for place, answer in enumerate(cited.answers):
        first.setdefault(split_name(answer.system)[0], place)
    steps = {name: place for place, name in enumerate(STRATEGIES)}
    return sorted(systems, key=lambda each: (first[each.model], steps.get(each.strategy.casefold(), 0)))


def _statistics(
    cited: CitedTable, systems: Sequence[_System], options: ScifiTablesOptions, around: Provenance
) -> Table:
    """Return Table 1: how many samples, tokens and citations the answers of each system or data set have."""
    table, splitter, unit = TableLines(), find_sentence_splitter(options.splitter), options.tokenizer
    for system in systems:
        answers = [cited.answers[row] for row in cited.rows(system.number)]
        counted = citation_counts(answers, splitter, unit)
        values = {"samples": counted.samples, "sentences": counted.sentences, **counted.shares}
        name = cited.systems[system.number]
        cells = [format_value(values[column.key], column) for column in STATISTICS]
        table.add("", name, cells, *({"system": name, "measure": key, "value": v} for key, v in values.items()))
    tokens = "words and punctuation marks" if unit == "words" else f"those of the tokenizer {plain(unit)}"
    reading = (
        f"Tokens: {tokens}, a sample. Density: citations per sentence with a citation. several: sentences with more "
        "than one citation; inside: citations that a word of their sentence follows; free: those of these that stand "
        "away from punctuation (Appendix A.3)"
    )
    headings = ("Data", *(column.label for column in STATISTICS))
    return around.lines("table-1", "Statistics of the texts", headings, table, [Note("reading", reading)])


def _measures(cited: CitedTable) -> dict[str, Statistic]:
    known = {key: of for each in cited.judged for key, of in each.measured.items()}
    return {column.key: known[column.key] for column in _COLUMNS}


def _results(cited: CitedTable, systems: Sequence[_System], around: Provenance) -> Table:
    """Return Table 2 (or 6, from answers to positive documents alone): the measures of each strategy by model.

    The best of all is bold, the best of a model's strategies underlined.
    """
    values = {
        system: {key: cited.interval_over(of, cited.rows(system.number)) for key, of in _measures(cited).items()}
        for system in systems
    }
    table = TableLines()
    for system in systems:
        cells: list[Cell] = []
        for column in _COLUMNS:
            printed = interval_cell(values[system][column.key].ends, column)
            places: Mapping[Rank, Sequence[_System]] = {
                "second": [each for each in systems if each.model == system.model],
                "best": systems,
            }
            for place, peers in places.items():
                ranks = rank((values[each][column.key].value for each in peers), column)
                if ranks.get(printed.number) == "best":
                    printed = replace(printed, rank=place)
            cells.append(printed)
        table.add(plain(system.model), system.strategy, cells, *_records(system, values[system]))
    grid = around.lines("table-2", "Citations and coverage by strategy and model", _HEADINGS, table)
    legend = "Bold: best of all; underlined: best strategy of its model." if len(systems) > 1 else ""
    return replace(grid, legend=legend)


def _records(system: _System, values: Mapping[str, Estimate]) -> list[Record]:
    named = {"model": system.model, "strategy": system.strategy}
    return [
        {**named, "measure": key.removesuffix("_facts"), "value": known.value, "low": known.low, "high": known.high}
        for key, known in values.items()
    ]


def _differences(cited: CitedTable, systems: Sequence[_System], trained: Sequence[str], around: Provenance) -> Table:
    """Return Table 3: measures after training less those before, on the questions that both answered."""
    table = TableLines()
    left_out: list[str] = []
    for pair in trained:
        before, after = _pair(pair, systems)
        later = {each.strategy: each for each in after}
        common = [(each, later[each.strategy]) for each in before if each.strategy in later]
        if not common:
            raise UserError(f"--trained {shown(pair)}: no strategy in common: give answers by the same strategy.")
        for first, second in common:
            of_both = [cited.rows(each.number) for each in (first, second)]
            asked = np.intersect1d(cited.group[of_both[0]], cited.group[of_both[1]])
            if not asked.size:
                raise UserError(
                    f"--trained {shown(pair)}: no question in common: give both models' answers to the same questions."
                )
            kept = [rows[np.isin(cited.group[rows], asked)] for rows in of_both]
            if lost := sum(rows.size for rows in of_both) - sum(rows.size for rows in kept):
                lines = f"{count(lost, 'answer')} to questions that only one of the two answered"
                left_out.append(f"{pair} ({first.strategy}): {lines}")
            found = {key: _difference(cited, of, kept) for key, of in _measures(cited).items()}
            cells = [cell(*found[column.key].ends, column, signed=True) for column in _COLUMNS]
            named = _System(second.number, f"{before[0].model} to {after[0].model}", first.strategy)
            table.add(plain(named.model), first.strategy, cells, *_records(named, found))
    reading = "after training less before it; intervals are paired: they resample questions with both answers"
    notes = [Note("reading", reading), Note("left out", "; ".join(map(plain, left_out)))]
    return around.lines("table-3", "Differences after training", _HEADINGS, table, notes)


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


def _difference(cited: CitedTable, statistic: Statistic, rows: Sequence[Ints]) -> Estimate:
    """Return a statistic of the second rows less that of the first, with its interval; None if either is undefined."""
    if any(value_of(statistic, each) is None for each in rows):
        return Estimate(None)

    def run(draws: Draws) -> Floats:
        before, after = (replicates(statistic, each, cited.group, draws) for each in rows)
        return after - before

    counts = sum(group_totals(statistic.counts[each], cited.group[each], cited.n_groups) for each in rows)
    alone = np.unique(cited.group[rows[0]]).size < 2
    resampling = replace(cited.resampling, n=0) if alone else cited.resampling
    return intervals(run, np.asarray(counts).astype(np.int64), resampling)[0]


TABLES_SCIFI = Analysis(
    name="cite tables-scifi",
    summary="Make Tables 1, 2, 3 and 6 of the SCiFi paper from answers.",
    about="""Models are blocks and strategies lines, after the systems' names MODEL/STRATEGY, as 'cite generate' writes
them. Table 1 has statistics of any data set, and alone (--table 1) judges nothing. Table 6 is Table 2 on answers to
positive documents alone. Table 4 and the values of Figure 2 count texts by a field of their records: -s by=topic, -s
by=views. Source: Cao and Wang 2024 (arXiv 2406.06125).""",
    examples=[
        "cite tables-scifi truncated.jsonl summary.jsonl --nli overlap",
        "cite tables-scifi before.jsonl after.jsonl --trained llama=llama-lora",
        "cite tables-scifi scifi.jsonl hagrid.jsonl --table 1",
        "cite tables-scifi scifi.jsonl --table 1 -s by=topic",
    ],
    options=ScifiTablesOptions,
    run=_run,
    folder="cite/tables-scifi",
    again=shared.with_kept_replies,
    figures=shared.draw,
)
