"""The analysis `cite tables-scifi`: the tables of the SCiFi paper, with models as blocks and strategies as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import Statistic
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import CitedSheets, CitedTable
from metaeval.citation.pipelines.metric_verdicts import Judges
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell, value_records
from metaeval.citation.pipelines.scifi import FactOptions, estimate, fact_maker, judge_facts
from metaeval.citation.pipelines.scifi_groups import group_table
from metaeval.citation.scifi.text_statistics import citation_counts, shares_of
from metaeval.core.declared import Flag, as_list
from metaeval.core.errors import UserError, count, shown, unknown
from metaeval.core.files import safe_name
from metaeval.report.result import Column
from metaeval.report.result_tables import cell, rank
from metaeval.report.table import Cell, Note, Rank, Record, Table, format_value, plain
from metaeval.stats.arrays import Ints
from metaeval.stats.estimate import Estimate

# Parts of systems' names (MODEL/STRATEGY or MODEL/STRATEGY/CONDITION, as `cite generate` writes them) that are, with
# the condition, lines of a model's block.
STRATEGIES = ("truncated", "summary", "two-stage")

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

    untyped = frozenset({"base_url", "by"})

    table: Annotated[
        tuple[int, ...],
        BeforeValidator(lambda value: (value,) if isinstance(value, int) else as_list(value)),
        Flag("N", multiple=True),
    ] = ()
    """Tables to make: 1 (statistics, nothing is judged), 2 or 3 (default: 1, 2 and, with --trained, 3)."""
    trained: shared.NameList = ()
    """Models before and after training, for Table 3: BEFORE=AFTER. Repeatable."""
    by: shared.NameList = ()
    """Fields of the records' reference by which texts are counted (topic, views), in tables."""

    @property
    def tables(self) -> Sequence[int]:
        """The numbers of the tables to make; `UserError` for one that cannot be made."""
        if wrong := [number for number in self.table if number not in (1, 2, 3)]:
            raise unknown("table", str(wrong[0]), ("1", "2", "3"))
        if 3 in self.table and not self.trained:
            raise UserError("Table 3 compares models before and after training: name them with --trained BEFORE=AFTER.")
        if self.trained and self.table and 3 not in self.table:
            raise UserError("--trained names the models of Table 3, which --table leaves out: add --table 3.")
        return self.table or ((1, 2, 3) if self.trained else (1, 2))


# The places of the answers by each strategy of each model.
Models = Mapping[str, Mapping[str, Ints]]


def split_name(system: str) -> tuple[str, str]:
    """Return model and strategy of a system; one that names no strategy is a model with the strategy "answers".

    What follows a strategy, such as "oracle", is a condition, and part of it: "two-stage/oracle".
    """
    for parts in (1, 2):
        model, *rest = system.rsplit("/", parts)
        if model and len(rest) == parts and rest[0].casefold() in STRATEGIES:
            return model, "/".join(rest)
    return system, "answers"


def _run(options: ScifiTablesOptions, progress: Progress) -> Done:
    if len(options.nli) > 1:
        raise UserError(f"The paper's tables use one metric, and {len(options.nli)} are given as nli: give only one.")
    wanted, splitter = options.tables, find_sentence_splitter(options.splitter)
    judged = set(wanted) != {1}
    judges, maker = Judges(options, progress, needed=judged, find=options.find), fact_maker(options)
    answers = shared.answers_in(options, judged=judged)
    # Wrong names are refused before anything is judged.
    pairs = _pairs(options.trained, list(dict.fromkeys(split_name(answer.system)[0] for answer in answers)))
    if options.dry_run:
        text = estimate(answers, options.rules, maker, splitter, options.replay)
        return shared.estimated(judges.config, text)
    if judged:
        cited, notes, counted = judge_facts(options, maker, answers, judges, progress)
    else:
        fields = {"pipeline": "tables-scifi", "splitter": splitter.name, "tokenizer": options.tokenizer}
        cited = CitedTable("scifi", "SCiFi", shared.name_of_data(options.files), answers, judges.config, fields, ())
        counts = citation_counts(answers, splitter)
        notes, counted = (), ((counts["sentences"], "sentence"), (counts["marks"], "citation mark"))
    around = replace(cited.provenance(*notes, counted=counted), kind="scifi-paper")
    # Models are in the order of their first answers, strategies in the paper's order.
    models: dict[str, dict[str, Ints]] = {split_name(answer.system)[0]: {} for answer in cited.answers}
    steps = {name: place for place, name in enumerate(STRATEGIES)}
    systems = [(*split_name(name), cited.rows(number)) for number, name in enumerate(cited.systems)]
    for model, strategy, rows in sorted(systems, key=lambda each: steps.get(each[1].casefold().partition("/")[0], 0)):
        models[model][strategy] = rows
    sheets: list[Table] = []
    if 1 in wanted:
        sheets.append(_statistics(cited, models, options, around))
    if 2 in wanted:
        sheets.append(_results(cited, models, around))
    if 3 in wanted:
        sheets.append(_differences(cited, models, pairs, around))
    for field in options.by:
        sheets.append(replace(group_table(answers, field, splitter, around), name=f"by-{safe_name(field)}"))
    return Done(config=judges.config, sheets=sheets, value=CitedSheets(sheets))


def _statistics(cited: CitedTable, models: Models, options: ScifiTablesOptions, around: Provenance) -> Table:
    """Return Table 1: how many samples, tokens and citations the answers of each system or data set have.

    The data sets, which are the files, have lines of their own where they are not the systems.
    """
    table, splitter, unit = TableLines(), find_sentence_splitter(options.splitter), options.tokenizer
    by_system = [[cited.answers[row] for row in rows] for parts in models.values() for rows in parts.values()]
    lines = [("system", answers[0].system, answers) for answers in by_system]
    by_file: dict[str, list[Answer]] = {}
    several = sum(isinstance(file, Path) for file in options.files) > 1  # then ids begin with their names
    for answer in cited.answers:
        name = answer.id.partition("/")[0] if several else shared.name_of_data(options.files)
        by_file.setdefault(name, []).append(answer)
    if has_sets := any(answers not in by_system for answers in by_file.values()):
        lines = [*(("data set", *each) for each in by_file.items()), *lines]
    for kind, name, answers in lines:
        counted = citation_counts(answers, splitter, unit)
        values = {"samples": counted["samples"], "sentences": counted["sentences"], **shares_of(counted)}
        cells = [format_value(values[column.key], column) for column in STATISTICS]
        records = ({"of": kind, "system": name, "measure": key, "value": value} for key, value in values.items())
        table.add(f"{kind}s" if has_sets else "", plain(name), cells, *records)
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


def _results(cited: CitedTable, models: Models, around: Provenance) -> Table:
    """Return Table 2 (or 6, from answers to positive documents alone): the measures of each strategy by model.

    The best of all is bold, the best of a model's strategies underlined.
    """
    values = {
        model: [{key: cited.interval_over(of, rows) for key, of in _measures(cited).items()} for rows in parts.values()]
        for model, parts in models.items()
    }
    every, table = [estimates for of_model in values.values() for estimates in of_model], TableLines()
    for model, of_model in values.items():
        for strategy, estimates in zip(models[model], of_model, strict=True):
            cells: list[Cell] = []
            for column in _COLUMNS:
                printed = interval_cell(estimates[column.key], column)
                places: Mapping[Rank, Sequence[Mapping[str, Estimate]]] = {"second": of_model, "best": every}
                for place, peers in places.items():
                    ranks = rank((each[column.key].value for each in peers), column)
                    if ranks.get(printed.number) == "best":
                        printed = replace(printed, rank=place)
                cells.append(printed)
            table.add(plain(model), strategy, cells, *_records(model, strategy, estimates))
    grid = around.lines("table-2", "Citations and coverage by strategy and model", _HEADINGS, table)
    legend = "Bold: best of all; underlined: best strategy of its model." if len(every) > 1 else ""
    return replace(grid, legend=legend)


def _records(model: str, strategy: str, values: Mapping[str, Estimate]) -> list[Record]:
    printed = {key.removesuffix("_facts"): known for key, known in values.items()}
    return value_records(printed, model=model, strategy=strategy)


def _pairs(trained: Sequence[str], models: Sequence[str]) -> dict[str, list[str]]:
    """Return the two models of each BEFORE=AFTER; `UserError` for another form, and for a model without answers."""
    pairs = {pair: [name.strip() for name in pair.split("=")] for pair in trained}
    for pair, names in pairs.items():
        if len(names) != 2 or not all(names):
            raise UserError(f"--trained {shown(pair)}: write BEFORE=AFTER, two models whose answers are given.")
        if gone := [name for name in names if name not in models]:
            raise unknown("model in --trained", gone[0], models)
    return pairs


def _differences(cited: CitedTable, models: Models, pairs: Mapping[str, Sequence[str]], around: Provenance) -> Table:
    """Return Table 3: measures after training less those before, on the questions that both answered."""
    table = TableLines()
    left_out: list[str] = []
    for pair, names in pairs.items():
        before, after = (models[name] for name in names)
        if not before.keys() & after.keys():
            raise UserError(f"--trained {shown(pair)}: no strategy in common: give answers by the same strategy.")
        for strategy in (name for name in before if name in after):
            of_both = [before[strategy], after[strategy]]
            common = np.intersect1d(cited.group[of_both[0]], cited.group[of_both[1]])
            if not common.size:
                raise UserError(f"--trained {shown(pair)}: no question in common: give answers to the same questions.")
            kept = [rows[np.isin(cited.group[rows], common)] for rows in of_both]
            if lost := sum(rows.size for rows in of_both) - sum(rows.size for rows in kept):
                lines = f"{count(lost, 'answer')} to questions that only one of the two answered"
                left_out.append(f"{pair} ({strategy}): {lines}")
            measured = _measures(cited).items()
            differences = {key: cited.difference((of, kept[1]), (of, kept[0])) for key, of in measured}
            cells = [cell(*differences[column.key].ends, column, signed=True) for column in _COLUMNS]
            named = " to ".join(names)
            table.add(plain(named), strategy, cells, *_records(named, strategy, differences))
    reading = "after training less before it; intervals are paired: they resample questions with both answers"
    notes = [Note("reading", reading), Note("left out", "; ".join(map(plain, left_out)))]
    return around.lines("table-3", "Differences after training", _HEADINGS, table, notes)


TABLES_SCIFI = Analysis(
    name="cite tables-scifi",
    summary="Make Tables 1, 2, 3 and 6 of the SCiFi paper from answers.",
    about="""Models are blocks and strategies lines, after the systems' names MODEL/STRATEGY, as 'cite generate' writes
them. Table 1 has statistics of any data set, and alone (--table 1) judges nothing. Table 6 is Table 2 on answers to
positive documents alone (MODEL/STRATEGY/oracle). Table 4 and the values of Figure 2 count texts by a field of their
records: -s by=topic, -s by=views. Source: Cao and Wang 2024 (arXiv 2406.06125).""",
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
