"""The cautions of a run: sentences about missing data, cut inputs, few groups and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metaeval.report.ranking_measures import LEVELS, listed, metrics_of
from metaeval.report.result import FULL_SUPPORT, Result
from metaeval.report.table import DEMO, grouped, place_of, plain, share, value_of
from metaeval.report.table_notes import effective_numbers, few_groups, plural, values_by_kind

# Smaller shares of cut tokens, and of chunks that are left out, are not mentioned.
_CUT, _LEFT_OUT = 0.01, 0.1


def cautions(results: Sequence[Result]) -> list[str]:
    """Return the cautions that apply to these results; of several data sets, each begins with those it is about."""
    of = grouped((place_of(result.data), result) for result in results)
    names_by_text = grouped((text, name) for name, same in of.items() for text in dict.fromkeys(_of_set(same)))
    if len(of) == 1:
        return list(names_by_text)
    return [f"{listed(names)}: {text}" for text, names in names_by_text.items()]


def _of_set(results: Sequence[Result]) -> Iterable[str]:
    first = results[0]
    if first.data.demo:
        yield f"Demo data: {DEMO}."
    for result in results:
        levels = result.data.levels
        absent = [name for name in LEVELS if not levels.get(name)]
        empty = (c for c in result.columns if all(value_of(row, c).value is None for row in result.rows))
        undefined = [plain(column.label) for column in empty]
        if levels and set(levels) <= set(LEVELS) and absent and undefined:
            yield f"No pair is {listed(absent, 'or')}, so {listed(undefined)} cannot be computed."
    most = max(first.rows, key=lambda row: sum(row.excluded.values()), default=None)
    if most and first.unit == "chunk" and (left := sum(most.excluded.values())) > _LEFT_OUT * most.total:
        reasons = plain(", ".join(most.excluded))
        yield f"{left:,} of {most.total:,} chunks are left out ({reasons}); -u citation judges whole citations."
    if (perfect := first.perfect) is not None and perfect.incomplete:
        values = dict(values_by_kind(perfect.values, first.columns)).get(FULL_SUPPORT, "")
        part = f"{perfect.incomplete:,} of the {perfect.full:,} {plural(first.unit)} at level full"
        why = "(--set evidence.rule=complete calls them partial)"
        yield f"{part} hold only a part of an evidence set: a perfect detector of full support scores {values} {why}."
    if few := few_groups([number for result in results for number in effective_numbers(result)]):
        yield f"Values rest on {few}."
    for result in results:
        cut = [
            f"{plain(row.metric)} ({share(row.ledger.cut_tokens, row.ledger.tokens)} of tokens)"
            for row in metrics_of(result)
            if row.ledger is not None and row.ledger.cut_tokens > _CUT * row.ledger.tokens
        ]
        if cut:
            yield f"The input is cut for {listed(cut)}."
    for result in results:
        rows = metrics_of(result)
        for warning, names in grouped((text, plain(row.metric)) for row in rows for text in row.warnings).items():
            of = "every metric" if len(names) == len(rows) > 1 else listed(names)
            yield f"Warning of {of}: {plain(warning).removesuffix('.')}."
