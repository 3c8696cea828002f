"""What limits the findings of a run, in sentences: what is missing, cut, few or warned of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metaeval.report.measures import LEVELS, listed, metrics_of, sentence
from metaeval.report.notes import FEW_GROUPS, certificate_text, effective, plural, values_by_kind, whole_range
from metaeval.report.result import FULL_SUPPORT, Result, Row
from metaeval.report.table import DEMO, count, grouped, place_of, plain, share, value_of

# From these shares on it is said that a metric's tokens are cut, and that chunks are left out.
_CUT, _LEFT_OUT = 0.01, 0.1


def cautions(results: Sequence[Result]) -> list[str]:
    """What limits these findings: levels that are missing or say more than is there, few groups, missing scores, inputs
    that are cut, warnings, and how often intervals and tests were seen to hold.
    """
    of = grouped((place_of(result.data), result) for result in results)
    rules = (_demo, _missing_levels, _left_out, _parts_of_evidence, _few_groups, _unscored, _cut, _warned, _certified)
    names_by_text = grouped(
        (text, name) for name, same in of.items() for rule in rules for text in dict.fromkeys(rule(same))
    )
    return [f"{listed(names)}: {text}" if len(of) > 1 else sentence(text) for text, names in names_by_text.items()]


def _demo(results: Sequence[Result]) -> Iterable[str]:
    if results[0].data.demo:
        yield f"demo data: {DEMO}."


def _missing_levels(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        levels = result.data.levels
        if levels and set(levels) <= set(LEVELS):
            absent = [name for name in LEVELS if not levels.get(name)]
            undefined = [
                plain(column.label)
                for column in result.columns
                if not any(value_of(row, column).value is not None for row in result.rows)
            ]
            if absent and undefined:
                yield f"no pair is {listed(absent, 'or')}, so {listed(undefined)} cannot be computed."


def _left_out(results: Sequence[Result]) -> Iterable[str]:
    """Chunks whose level is not known, where judging whole citations would keep them."""
    for result in results[:1]:
        most = max(result.rows, key=lambda row: sum(row.excluded.values()), default=None)
        left = sum(most.excluded.values()) if most else 0
        if most and result.unit == "chunk" and left > _LEFT_OUT * most.total:
            why = plain(", ".join(most.excluded))
            yield f"{left:,} of {most.total:,} chunks are left out ({why}); -u citation judges whole citations."


def _parts_of_evidence(results: Sequence[Result]) -> Iterable[str]:
    """Rows at level full that hold no full support, once for the protocol whose table comes first."""
    for result in results[:1]:
        perfect = result.perfect
        if perfect is not None and perfect.incomplete:
            values = dict(values_by_kind(perfect.values, result.columns)).get(FULL_SUPPORT, "")
            yield (
                f"{perfect.incomplete:,} of the {perfect.full:,} {plural(result.unit)} at level full hold only a part "
                f"of an evidence set, so a perfect detector of {FULL_SUPPORT} scores {values} "
                "(--set evidence.rule=complete calls them partial)."
            )


def _few_groups(results: Sequence[Result]) -> Iterable[str]:
    """Of intervals from a standard error, the effective groups; of percentile intervals, the groups."""
    below = [number for result in results for number in effective(result, result.columns) if number < FEW_GROUPS]
    if below:
        rest = f"values rest on {whole_range(below)} effective groups"
        yield f"{rest}; below {FEW_GROUPS}, intervals may hold the true value less often than they say."
    resampled = [result for result in results if not result.interval.studentised]
    few = [result.data.groups for result in resampled if result.interval.resamples and result.data.groups < FEW_GROUPS]
    if few:
        yield f"{count(min(few), 'group')}; below {FEW_GROUPS}, resampled intervals tend to be too narrow."


def _certified(results: Sequence[Result]) -> Iterable[str]:
    """What a simulation found of the first table that has one."""
    certified = next((result for result in results if result.certificate), None)
    if certified:
        yield f"{certificate_text(certified, short=True)}."


def _unscored(results: Sequence[Result]) -> Iterable[str]:
    """A metric's missing scores, from the protocol that misses most."""
    most: dict[str, tuple[Row, Result]] = {}
    for result in results:
        for row in metrics_of(result):
            if row.unscored > (most[row.metric][0].unscored if row.metric in most else 0):
                most[row.metric] = row, result
    clauses = []
    for name, (row, result) in most.items():
        why = ", ".join(f"{number:,} {plain(status)}" for status, number in row.statuses.items())
        whole = f"{row.scored + row.unscored:,} {plural(result.unit)}"
        clauses.append(f"{plain(name)} has no score for {row.unscored:,} of {whole} ({why})")
    if clauses:
        yield f"{listed(clauses)}."


def _cut(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        cut = [
            f"{plain(row.metric)} ({share(row.ledger.cut_tokens, row.ledger.tokens)} of tokens)"
            for row in metrics_of(result)
            if row.ledger is not None and row.ledger.cut_tokens > _CUT * row.ledger.tokens
        ]
        if cut:
            yield f"the input is cut for {listed(cut)}."


def _warned(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        rows = metrics_of(result)
        for warning in dict.fromkeys(warning for row in rows for warning in row.warnings):
            of = [plain(row.metric) for row in rows if warning in row.warnings]
            yield plain(warning) if len(of) == len(rows) else f"{listed(of)}: {plain(warning)}"
