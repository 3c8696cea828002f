"""The cautions of a run: sentences about missing data, cut inputs, few groups and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metaeval.report import sentence_templates
from metaeval.report.interval_texts import FEW_GROUPS, effective_numbers, whole_range
from metaeval.report.ranking_measures import LEVELS, listed, metrics_of
from metaeval.report.result import FULL_SUPPORT, Result
from metaeval.report.table import DEMO, grouped, place_of, plain, share, value_of
from metaeval.report.table_notes import plural, values_by_kind

# Smaller shares of cut tokens, and of chunks that are left out, are not mentioned.
_CUT, _LEFT_OUT = 0.01, 0.1


def cautions(results: Sequence[Result]) -> list[str]:
    """Return the cautions that apply to these results; of several data sets, each begins with those it is about."""
    of = grouped((place_of(result.data), result) for result in results)
    rules = (_demo, _missing_levels, _unscored, _left_out, _parts_of_evidence, _few_groups, _cut, _warnings)
    names_by_text = grouped(
        (text, name) for name, same in of.items() for rule in rules for text in dict.fromkeys(rule(same))
    )
    if len(of) == 1:
        return list(names_by_text)
    return [
        sentence_templates.LABELLED.format(label=listed(names), sentence=text) for text, names in names_by_text.items()
    ]


def _demo(results: Sequence[Result]) -> Iterable[str]:
    if results[0].data.demo:
        yield sentence_templates.DEMO_DATA.format(demo=DEMO)


def _missing_levels(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        levels = result.data.levels
        absent = [name for name in LEVELS if not levels.get(name)]
        undefined = [
            plain(column.label)
            for column in result.columns
            if not any(value_of(row, column).value is not None for row in result.rows)
        ]
        if levels and set(levels) <= set(LEVELS) and absent and undefined:
            yield sentence_templates.MISSING_LEVELS.format(levels=listed(absent, "or"), measures=listed(undefined))


def _left_out(results: Sequence[Result]) -> Iterable[str]:
    """Yield a sentence if the first result leaves out many chunks without a level, which whole citations would keep."""
    result = results[0]
    most = max(result.rows, key=lambda row: sum(row.excluded.values()), default=None)
    left = sum(most.excluded.values()) if most else 0
    if most and result.unit == "chunk" and left > _LEFT_OUT * most.total:
        yield sentence_templates.CHUNKS_LEFT_OUT.format(left=left, row=most, reasons=plain(", ".join(most.excluded)))


def _parts_of_evidence(results: Sequence[Result]) -> Iterable[str]:
    """Yield a sentence with the number of rows at level full without complete evidence, under the first protocol."""
    result, perfect = results[0], results[0].perfect
    if perfect is not None and perfect.incomplete:
        values = dict(values_by_kind(perfect.values, result.columns)).get(FULL_SUPPORT, "")
        yield sentence_templates.PARTS_OF_EVIDENCE.format(perfect=perfect, units=plural(result.unit), values=values)


def _few_groups(results: Sequence[Result]) -> Iterable[str]:
    """Yield a sentence on few effective groups, where there are any."""
    behind = (number for result in results for number in effective_numbers(result, result.columns))
    below = [number for number in behind if number < FEW_GROUPS]
    if below:
        yield sentence_templates.FEW_EFFECTIVE_GROUPS.format(groups=whole_range(below), enough=FEW_GROUPS)


def _unscored(results: Sequence[Result]) -> Iterable[str]:
    """Yield a sentence with each metric's number of missing scores, if any, under the protocol with most of them."""
    tables = grouped((row.metric, (row, plural(result.unit))) for result in results for row in metrics_of(result))
    clauses = []
    for rows in tables.values():
        row, units = max(rows, key=lambda table: table[0].unscored)
        if row.unscored:
            several = len(row.statuses) > 1
            reasons = ", ".join(
                f"{number:,} {plain(name)}" if several else plain(name) for name, number in row.statuses.items()
            )
            fields = {"metric": plain(row.metric), "total": row.scored + row.unscored, "units": units}
            clauses.append(sentence_templates.UNSCORED_ROWS.format(row=row, reasons=reasons, **fields))
    if clauses:
        yield sentence_templates.UNSCORED.format(metrics=listed(clauses))


def _cut(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        cut = [
            f"{plain(row.metric)} ({share(row.ledger.cut_tokens, row.ledger.tokens)} of tokens)"
            for row in metrics_of(result)
            if row.ledger is not None and row.ledger.cut_tokens > _CUT * row.ledger.tokens
        ]
        if cut:
            yield sentence_templates.CUT_INPUT.format(metrics_and_shares=listed(cut))


def _warnings(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        rows = metrics_of(result)
        for warning in dict.fromkeys(warning for row in rows for warning in row.warnings):
            of = [plain(row.metric) for row in rows if warning in row.warnings]
            metrics = "every metric" if len(of) == len(rows) > 1 else listed(of)
            yield sentence_templates.WARNING.format(metrics=metrics, warning=plain(warning).removesuffix("."))
