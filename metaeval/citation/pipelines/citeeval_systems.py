"""Systems rated by CiteEval's judge: what was asked, differences, omitted citations by length, and retrieval.

The text of CiteEval that was at hand names omission rate, length, and recall and precision of the retrieval without
their formulas. Those here are ours, but for one: the released script for annotations correlates the number of
statements with the share of cited ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from metaeval.citation.chat_models import MONEY, tokens_and_cost
from metaeval.citation.citeeval.evaluate_responses import Rated, cells
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import CitedScenario
from metaeval.citation.data_model import Answer
from metaeval.citation.human.agreement import CorrelationName, both_levels, comparable, correlations
from metaeval.citation.measures import AnswerShare, Statistic, means, micro
from metaeval.citation.pipelines.cited import CitedTable, Measure
from metaeval.citation.pipelines.generate import amount
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell
from metaeval.core.errors import UserError, shown
from metaeval.report.result_tables import THREE, cell
from metaeval.report.table import Cell, Note, Table, plain
from metaeval.stats.arrays import Floats, Ints, ratio
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import COUNTS, SIGNED

AnswerColumn = Sequence[float | None]

# The field of an answer's reference that lists the sources that should be retrieved (`Passage.source`).
GOLD = "gold_sources"

# Queries of CiteBench's test sets, by which the released code weights its means of data sets (the published files of
# outputs, and the ids in them, are named MODEL_DATASET_RETRIEVER_10_psgs; "oracle" is a run of its own).
SIZES = {"asqa": 632, "eli5": 684, "msmarco": 684, "lfrqa": 1000}
_OF_DATA_SET = re.compile(rf"(.+?)_({'|'.join(SIZES)})(?:_(oracle)?[^_]*(_[0-9]{{1,4}}_psgs)?)?(?:_|$)")


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
    """Return the tables of what was asked, differences (if several systems), omission by length, and retrieval.

    In the profile "released" the system values of the released code come first.
    """
    columns: dict[str, AnswerColumn] = {key: cells(rated.whole(key, scenario)[0].value) for key in rated.values}
    measures = [measure for measure in cited.definitions[0].measures if measure.key in columns]
    sheets = [_released(cited, shared, rated, scenario)] if cited.fields["profile"] == "released" else []
    sheets.append(_judging(cited, shared, rated, asking))
    if len(cited.systems) > 1:
        sheets.append(_differences(cited, shared, columns, measures))
    sheets.append(_omission(cited, shared, rated))
    if any(GOLD in answer.reference for answer in rated.responses):
        sheets.append(_retrieval(cited, shared, rated, columns[rated.main]))
    return sheets


def _released(cited: CitedTable, shared: Provenance, rated: Rated, scenario: CitedScenario) -> Table:
    """Return the table of what the released code prints of each system, and of models over data sets."""
    n, main, of = len(rated.splits), rated.values[rated.main], rated.response
    statements, responses = both_levels(main.value, rated.cited, of, n, scenario)
    kept, whole = comparable(main.value, main.missing, rated.cited, of, n, scenario)
    sizes = np.bincount(of, minlength=n)
    sums = zip(np.bincount(of, np.where(kept, statements, 0.0), n), np.bincount(of, kept, n), strict=True)
    columns = {
        "statements": micro([AnswerShare(float(total), int(number)) for total, number in sums]),
        "responses": means(cells(np.where(whole, responses, np.nan))),
        "length": means(cells(sizes), COUNTS),
        "cited": means(cells(np.bincount(of, rated.cited, n) / np.maximum(sizes, 1))),
    }
    table, models = TableLines(), dict[str, dict[str, list[int]]]()
    for number, response in enumerate(rated.responses):
        named = _OF_DATA_SET.match(response.system) or _OF_DATA_SET.match(response.id)
        if named:
            model = named[1] if named.string == response.system else response.system
            if condition := f"{named[3] or ''}{named[4] or ''}".removesuffix("_10_psgs").strip("_"):
                model += f", {condition}"  # passages of another number or origin are another condition
            models.setdefault(model, {}).setdefault(named[2], []).append(number)

    def add(name: str, statistics: Mapping[str, Statistic], rows: Ints, data_sets: str = "") -> None:
        estimates = dict.fromkeys(columns, Estimate(None))
        estimates |= {key: cited.interval_over(each, rows) for key, each in statistics.items()}
        printed = [interval_cell(each, THREE) for each in estimates.values()]
        record = {key: value for key, each in estimates.items() for key, value in each.record(key).items()}
        table.add("", plain(name), printed, {"system": name, "data_sets": data_sets, **record})

    for place, system in enumerate(cited.systems):
        add(system, columns, cited.rows(place))
    for model, parts in models.items():
        if len(parts) > 1:
            weighted = {key: _by_data_set(columns[key], parts) for key in ("statements", "responses")}
            names = ", ".join(sorted(parts))
            add(f"{model} ({names})", weighted, np.array(sorted(chain(*parts.values()))), names)
    held = ", ".join(f"{name} {size:,}" for name, size in SIZES.items())
    reading = (
        "statements: the mean over the statements of all responses, each without a value with that of its response; "
        "responses: the mean over responses, in whose place the released script prints that over statements again; "
        "length: statements of a response; share cited: of a response's statements, on average; of several data "
        f"sets of one model: the means by data set, weighted by the queries of CiteBench's test sets ({held})"
    )
    headings = ["system", "statements", "responses", "length", "share cited"]
    title = "System values of the released code"
    return shared.lines("citeeval-released", title, headings, table, [Note("reading", reading)])


def _by_data_set(of: Statistic, parts: Mapping[str, Sequence[int]]) -> Statistic:
    """Return the mean of a statistic's values of data sets, weighted by `SIZES`. parts: the answers of each.

    A resample without answers of a data set is the mean of the others.
    """
    weights = np.array([SIZES[name] for name in parts], dtype=np.float64)
    moments = np.zeros((len(parts), *of.moments.shape))
    for place, numbers in enumerate(parts.values()):
        moments[place, numbers] = of.moments[numbers]

    def value(sums: Floats) -> Floats:
        values = np.stack([of.of(each) for each in np.split(sums, len(parts))])
        return ratio(weights @ np.nan_to_num(values), weights @ ~np.isnan(values))

    return Statistic(np.concatenate(moments, axis=1), value, of.counts, of.ends)


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
    lengths = [float(len(split.statements)) for split in rated.splits]
    shares = cells(ratio(np.bincount(rated.response, rated.cited, len(lengths)), np.array(lengths)))
    every = {system: cited.rows(place) for place, system in enumerate(cited.systems)}
    if len(every) > 1:
        every["all"] = np.arange(len(rates))
    for system, rows in every.items():
        mean, numbers = cited.interval_over(means(rates), rows), rows.tolist()
        agreed, known = _correlated(cited, words, rates, numbers)
        size = sum(words[n] for n in numbers) / len(numbers)
        printed: list[Cell | str] = [interval_cell(mean, THREE), f"{size:,.1f}"]
        released = _correlated(cited, lengths, shares, numbers)[0]["pearson"]
        printed += [interval_cell(each, THREE) for each in (agreed["pearson"], agreed["spearman"], released)]
        record = {"system": system, "words": size, "answers": known, **mean.record("omission")}
        record |= released.record("length_cited")
        record |= {key: value for name in agreed for key, value in agreed[name].record(name).items()}
        table.add("", system, [*printed, f"{known:,} of {len(numbers):,}"], record)
    reading = Note(
        "reading",
        "omission: share of the statements that need a citation or have one which have none; words: mean length; "
        "Pearson, Spearman: of words and omission, over answers (ours: the paper has no formula here); released: "
        "Pearson of the number of statements and the share of them that cite, as the released script prints it",
    )
    headings = ["system", "omission", "words", "Pearson", "Spearman", "released", "answers"]
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
