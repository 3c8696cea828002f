"""Systems rated by CiteEval's judge: what was asked, differences, omitted citations by length, and retrieval.

The text of CiteEval that was at hand names omission rate, length, and recall and precision of the retrieval without
their formulas; those here are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from metaeval.citation.chat_models import MONEY, tokens_and_cost
from metaeval.citation.citeeval.evaluate_responses import Rated, cells
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import CitedScenario
from metaeval.citation.data_model import Answer
from metaeval.citation.human.agreement import CorrelationName, correlations
from metaeval.citation.measures import means
from metaeval.citation.pipelines.cited import CitedTable, Measure
from metaeval.citation.pipelines.generate import amount
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell
from metaeval.core.errors import UserError, shown
from metaeval.report.result_tables import THREE, cell
from metaeval.report.table import Cell, Note, Table, plain
from metaeval.stats.arrays import ratio
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import SIGNED

AnswerColumn = Sequence[float | None]

# The field of an answer's reference that lists the sources that should be retrieved (`Passage.source`).
GOLD = "gold_sources"


def omission(rated: Rated) -> list[float | None]:
    """Return, for each answer, the share of its statements that need a citation and have none, of those that need one.

    None where no statement does, and where nothing is known of uncited ones (uncited: rated, left out). Uncited
    statements of which the judge does not say what they rest on are left out.
    """
    if rated.options.uncited in ("rated", "left out"):
        return [None] * len(rated.splits)
    n = len(rated.splits)
    omitted = np.bincount(rated.response, ~rated.cited & (rated.values[rated.main].value == 0), n)
    return cells(ratio(omitted, omitted + np.bincount(rated.response, rated.cited, n)))


def word_counts(rated: Rated) -> list[int]:
    """Return the number of words of each answer's statements, without marks.

    Reasoning that opens the response does not count, and a refusal counts as the sentence `splitting.NO_ANSWER`.
    """
    return [sum(len(statement.text.split()) for statement in split.statements) for split in rated.splits]


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
    cited: CitedTable, shared: Provenance, rated: Rated, asking: Asking, scenario: CitedScenario
) -> list[Table]:
    """Return the tables of what was asked, differences (if several systems), omission by length, and retrieval."""
    columns: dict[str, AnswerColumn] = {key: cells(rated.whole(key, scenario)[0].value) for key in rated.values}
    measures = [measure for measure in cited.definitions[0].measures if measure.key in columns]
    sheets = [_judging(cited, shared, rated, asking)]
    if len(cited.systems) > 1:
        sheets.append(_differences(cited, shared, columns, measures))
    sheets.append(_omission(cited, shared, rated))
    if any(GOLD in answer.reference for answer in rated.responses):
        sheets.append(_retrieval(cited, shared, rated, columns[rated.main]))
    return sheets


def _judging(cited: CitedTable, shared: Provenance, rated: Rated, asking: Asking) -> Table:
    """Return the table of counts by system: outcomes of questions, unread marks, tokens and cost of the replies."""
    every: dict[str, dict[str, float | None]] = {}
    for place, system in enumerate(cited.systems):
        numbers = cited.rows(place).tolist()
        costs = [tokens_and_cost(rated.replies[n], asking)[MONEY] for n in numbers]
        every[system] = {
            **rated.counts(numbers),
            **tokens_and_cost(chain(*(rated.replies[n] for n in numbers)), asking),
            # Prices or counts of tokens can be unknown.
            MONEY: None if None in costs else sum(cost for cost in costs if cost is not None),
        }
    # Counts that are 0 for every system are left out; the cost of the replies comes last.
    table, names = TableLines(), {name for row in every.values() for name, value in row.items() if value != 0}
    took = list(tokens_and_cost([], asking))
    columns = [*sorted(names.difference(took)), *(name for name in took if name in names)]
    for system, row in every.items():
        records = [{"system": system, "count": name, "value": value} for name, value in row.items()]
        table.add("", system, [amount(name, row.get(name, 0)) for name in columns], *records)
    paid = Note("money", "what the replies cost when they were asked for; kept ones cost nothing again")
    return shared.lines("judging", "What was asked, and what came of it", ["system", *columns], table, [paid])


def _differences(
    cited: CitedTable, shared: Provenance, columns: Mapping[str, AnswerColumn], measures: Sequence[Measure]
) -> Table:
    table = TableLines()
    for (i, first), (j, second) in combinations(enumerate(cited.systems), 2):
        of = [means(columns[measure.key]) for measure in measures]
        gaps = [cited.difference((mean, cited.rows(i)), (mean, cited.rows(j)), SIGNED) for mean in of]
        records = [
            {"first": first, "second": second, "measure": measure.key, **gap.record("difference")}
            for measure, gap in zip(measures, gaps, strict=True)
        ]
        printed = [interval_cell(gap, measure.column) for measure, gap in zip(measures, gaps, strict=True)]
        table.add("", f"{plain(first)} less {plain(second)}", printed, *records)
    headings = ["systems", *(measure.label for measure in measures)]
    title = "Differences between systems, on the same resampled groups"
    return shared.lines("citeeval-differences", title, headings, table)


def _omission(cited: CitedTable, shared: Provenance, rated: Rated) -> Table:
    rates, words, table = omission(rated), [float(words) for words in word_counts(rated)], TableLines()
    every = {system: cited.rows(place) for place, system in enumerate(cited.systems)}
    if len(every) > 1:
        every["all"] = np.arange(len(rates))
    for system, rows in every.items():
        mean, numbers = cited.interval_over(means(rates), rows), rows.tolist()
        agreed, known = _correlated(cited, words, rates, numbers)
        size = sum(words[n] for n in numbers) / len(numbers)
        printed: list[Cell | str] = [interval_cell(mean, THREE), f"{size:,.1f}"]
        printed += [interval_cell(agreed[name], THREE) for name in ("pearson", "spearman")]
        record = {"system": system, "words": size, "answers": known, **mean.record("omission")}
        record |= {key: value for name in agreed for key, value in agreed[name].record(name).items()}
        table.add("", system, [*printed, f"{known:,} of {len(numbers):,}"], record)
    reading = Note(
        "reading",
        "omission: share of the statements that need a citation or have one which have none; words: mean length; "
        "Pearson, Spearman: of words and omission, over answers (ours: the paper's formulas are not at hand)",
    )
    headings = ["system", "omission", "words", "Pearson", "Spearman", "answers"]
    return shared.lines("citeeval-omission", "Omitted citations and length", headings, table, [reading])


def _retrieval(cited: CitedTable, shared: Provenance, rated: Rated, quality: AnswerColumn) -> Table:
    retrieved, table = zip(*map(retrieval_quality, rated.responses), strict=True), TableLines()
    columns = dict(zip(("recall", "precision"), retrieved, strict=True))
    for place, system in enumerate(cited.systems):
        numbers = cited.rows(place).tolist()
        for name, column in columns.items():
            values = [column[n] for n in numbers if column[n] is not None]
            mean = sum(values) / len(values) if values else None
            agreed, known = _correlated(cited, column, quality, numbers)
            printed = [cell(mean), *(interval_cell(each, THREE) for each in agreed.values())]
            record = {"system": system, "retrieval": name, "mean": mean, "answers": known}
            record |= {key: value for each in agreed for key, value in agreed[each].record(each).items()}
            table.add(plain(system), name, [*printed, f"{known:,} of {len(numbers):,}"], record)
    reading = f"recall, precision: of the gold sources ({GOLD}) among the passages; with them: {rated.main}"
    headings = ["retrieval", "mean", "Pearson", "Spearman", "Kendall", "answers"]
    title = "Quality of the retrieval and of the citations"
    return shared.lines("citeeval-retrieval", title, headings, table, [Note("reading", reading)])


def _correlated(
    cited: CitedTable, first: AnswerColumn, second: AnswerColumn, numbers: Sequence[int]
) -> tuple[Mapping[CorrelationName, Estimate], int]:
    """Return the correlations of two columns over those of the answers `numbers` with both values, and their number."""
    pairs = [(n, a, b) for n in numbers if (a := first[n]) is not None and (b := second[n]) is not None]
    codes = np.unique(cited.group[[n for n, *_ in pairs]], return_inverse=True)[1] if pairs else np.empty(0)
    score, other = (np.array([pair[place] for pair in pairs], dtype=np.float64) for place in (1, 2))
    return correlations(score, other, codes.astype(np.int64), cited.resampling), len(pairs)
