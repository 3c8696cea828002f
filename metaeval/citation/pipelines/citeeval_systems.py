"""Systems rated by CiteEval's judge: paired differences, omitted citations by length, and quality of the retrieval.

The text of CiteEval that was at hand names omission rate, length, and recall and precision of the retrieval without
their formulas; those here are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from metaeval.citation.citeeval.evaluate_responses import CiteEvalMeasure, ResponseValues, measures_of
from metaeval.citation.data_model import Answer
from metaeval.citation.human.agreement import CorrelationName, correlations
from metaeval.citation.measures import interval_by, means, replicates
from metaeval.citation.pipelines.citeeval_baselines import RatedAnswers
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import PipelineMeasure
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.system_comparison import SystemPanel
from metaeval.errors import UserError, shown
from metaeval.report.result_tables import THREE, cell
from metaeval.report.table import Cell, Note, Table, plain
from metaeval.stats.arrays import Floats
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import SIGNED
from metaeval.stats.resampling import Draws

AnswerColumn = Sequence[float | None]
Measures = Mapping[CiteEvalMeasure, PipelineMeasure]

GOLD = "gold_sources"
"""The field of an answer's reference that lists the sources that should be retrieved (`Passage.source`)."""


def omission_rate(result: ResponseValues) -> float | None:
    """Return the share of statements that need a citation and have none, of those that need or have one.

    None where no statement does. Uncited statements of which the judge does not say what they rest on are left out.
    """
    cited = sum(bool(row.statement.citations) for row in result.statements)
    omitted = sum(row.values[row.main].state == "lacks a citation" for row in result.statements)
    return omitted / (cited + omitted) if cited + omitted else None


def word_count(result: ResponseValues) -> int:
    """Return the number of words of a response's statements, without marks.

    Reasoning that opens the response does not count, and a refusal counts as the sentence `splitting.NO_ANSWER`.
    """
    return sum(len(row.statement.text.split()) for row in result.statements)


def retrieval_quality(answer: Answer) -> tuple[float | None, float | None]:
    """Return (recall, precision) of an answer's passages against its gold sources.

    Both are None where none are given, recall for an empty list of them, precision without passages. Raises `UserError`
    for gold sources that are not a list of strings.
    """
    gold = answer.reference.get(GOLD)
    if gold is None:
        return None, None
    if not isinstance(gold, list) or not all(isinstance(name, str) for name in gold):
        raise UserError(f"Answer {answer.id}: {GOLD} is {shown(gold)}; allowed: a list of ids of sources.")
    sources = [passage.source for passage in answer.passages]
    recall = len({*gold} & {*sources}) / len({*gold}) if gold else None
    return recall, sum(source in gold for source in sources) / len(sources) if sources else None


def system_sheets(
    rated: RatedAnswers, provenance: Provenance, measures: Measures, notes: Sequence[Note]
) -> list[Table]:
    """Return the tables of differences (if several systems), omission by length, and retrieval (if gold sources)."""
    run, results = rated.reading.run, rated.evaluated.results
    sheets = [_omission(run.panel, results, provenance, notes)]
    if len(run.panel.systems) > 1:
        sheets.insert(0, _differences(rated, provenance, measures, notes))
    if any(GOLD in answer.reference for answer in run.answers):
        sheets.append(_retrieval(rated, provenance, notes))
    return sheets


def difference(panel: SystemPanel, column: AnswerColumn, first: int, second: int) -> Estimate:
    """Return the first system's mean of `column`, without None, less the second's, with its paired interval."""
    known = np.array([value is not None for value in column], dtype=np.bool_)
    rows = [panel.rows(system) for system in (first, second)]
    both = np.concatenate(rows)
    counts = np.bincount(panel.group[both[known[both]]], minlength=panel.n_groups)
    resampling = panel.resampling if np.count_nonzero(counts) > 1 else replace(panel.resampling, n=0)
    statistic = means(column)

    def run(draws: Draws) -> Floats:
        means_of = [replicates(statistic, numbers, panel.group, draws) for numbers in rows]
        return np.asarray(means_of[0] - means_of[1])

    return interval_by(run, counts, resampling, SIGNED)[0]


def _differences(rated: RatedAnswers, provenance: Provenance, measures: Measures, notes: Sequence[Note]) -> Table:
    panel, results, table = rated.reading.run.panel, rated.evaluated.results, TableLines()
    for (i, first), (j, second) in combinations(enumerate(panel.systems), 2):
        cells, records = [], []
        for key, measure in measures.items():
            column = [result.values[key, rated.reading.scenario].value for result in results]
            gap = difference(panel, column, i, j)
            cells.append(interval_cell(gap.ends, measure.column))
            pair = {"first": first, "second": second, "measure": key}
            records.append({**pair, **gap.record("difference")})
        table.add("", f"{plain(first)} less {plain(second)}", cells, *records)
    headings = ["systems", *(measure.label for measure in measures.values())]
    title = "Differences between systems, on the same resampled groups"
    return provenance.lines("citeeval-differences", title, headings, table, notes)


def _omission(
    panel: SystemPanel, results: Sequence[ResponseValues], provenance: Provenance, notes: Sequence[Note]
) -> Table:
    rates, words = [omission_rate(result) for result in results], [float(word_count(result)) for result in results]
    table, statistic = TableLines(), means(rates)
    every = {system: panel.rows(place) for place, system in enumerate(panel.systems)}
    for system, rows in every.items() if len(every) == 1 else [*every.items(), ("all", np.arange(len(results)))]:
        mean, numbers = panel.interval_over(statistic, rows), rows.tolist()
        agreed, known = _correlated(panel, words, rates, numbers)
        size = sum(words[n] for n in numbers) / len(numbers)
        cells: list[Cell | str] = [interval_cell(mean.ends, THREE), f"{size:,.1f}"]
        cells += [interval_cell(agreed[name].ends, THREE) for name in ("pearson", "spearman")]
        record = {"system": system, "words": size, "answers": known, **mean.record("omission")}
        record |= {key: value for name in agreed for key, value in agreed[name].record(name).items()}
        table.add("", system, [*cells, f"{known:,} of {len(numbers):,}"], record)
    reading = Note(
        "reading",
        "omission: share of the statements that need a citation or have one which have none; words: mean length; "
        "Pearson, Spearman: of words and omission, over answers (ours: the paper's formulas are not at hand)",
    )
    headings = ["system", "omission", "words", "Pearson", "Spearman", "answers"]
    return provenance.lines("citeeval-omission", "Omitted citations and length", headings, table, [reading, *notes])


def _retrieval(rated: RatedAnswers, provenance: Provenance, notes: Sequence[Note]) -> Table:
    panel, answers, table = rated.reading.run.panel, rated.reading.run.answers, TableLines()
    main = measures_of(rated.reading.judge.asking.mode)[-1]
    quality = [result.values[main, rated.reading.scenario].value for result in rated.evaluated.results]
    columns = dict(zip(("recall", "precision"), zip(*map(retrieval_quality, answers), strict=True), strict=True))
    for place, system in enumerate(panel.systems):
        numbers = panel.rows(place).tolist()
        for name, column in columns.items():
            values = [column[n] for n in numbers if column[n] is not None]
            mean = sum(values) / len(values) if values else None
            agreed, known = _correlated(panel, column, quality, numbers)
            cells = [cell(mean), *(interval_cell(each.ends, THREE) for each in agreed.values())]
            record = {"system": system, "retrieval": name, "mean": mean, "answers": known}
            record |= {key: value for each in agreed for key, value in agreed[each].record(each).items()}
            table.add(plain(system), name, [*cells, f"{known:,} of {len(numbers):,}"], record)
    reading = Note("reading", f"recall, precision: of the gold sources ({GOLD}) among the passages; with them: {main}")
    headings = ["retrieval", "mean", "Pearson", "Spearman", "Kendall", "answers"]
    title = "Quality of the retrieval and of the citations"
    return provenance.lines("citeeval-retrieval", title, headings, table, [reading, *notes])


def _correlated(
    panel: SystemPanel, first: AnswerColumn, second: AnswerColumn, numbers: Sequence[int]
) -> tuple[Mapping[CorrelationName, Estimate], int]:
    """Return the correlations of two columns over those of the answers `numbers` with both values, and their number."""
    pairs = [(n, a, b) for n in numbers if (a := first[n]) is not None and (b := second[n]) is not None]
    codes = np.unique(panel.group[[n for n, *_ in pairs]], return_inverse=True)[1] if pairs else np.empty(0)
    score, other = (np.array([pair[place] for pair in pairs], dtype=np.float64) for place in (1, 2))
    return correlations(score, other, codes.astype(np.int64), panel.resampling), len(pairs)
