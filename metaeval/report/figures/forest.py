"""The forest plots: metrics' values with their intervals, beside the best control and chance; differences pooled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.core.errors import UserError
from metaeval.report.figures.drawing import FAINT, INK, Look, literal, looks_of, panels, stack, styled, wrapped
from metaeval.report.ranking_measures import Declarations, Headline, best_control, metrics_of
from metaeval.report.table import place_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACROSS = 3


class ForestPanel(NamedTuple):
    """A panel of a forest plot; all numbers are on the axis's scale, per cent or raw.

    lines: of each metric, its name, its value, and the ends of its interval. control: name and value of the best
    control, if any. chance: expected value of random scores, if known.
    """

    lines: list[tuple[str, float, tuple[float, float] | None]]
    control: tuple[str, float] | None
    chance: float | None


def panel_of(headline: Headline, declarations: Declarations) -> ForestPanel:
    """Return the content of a panel for a result's headline measure, for any renderer."""
    scale = headline.column.scale
    lines = []
    for row in headline.metrics:
        value = headline.value(row)
        ends = value.interval and (value.interval[0] * scale, value.interval[1] * scale)
        lines.append((row.metric, (value.value or 0.0) * scale, ends))
    best = best_control(headline, declarations.oracles)
    chance = declarations.of(headline.result).chance.get(headline.column.key)
    control = None if best is None else (best.metric, (headline.value(best).value or 0.0) * scale)
    return ForestPanel(lines, control, None if chance is None else chance * scale)


@styled()
def forest(every: Sequence[Headline], declarations: Declarations, looks: Mapping[str, Look] | None = None) -> Figure:
    """Return a forest plot: a panel for each of these measures, a line for each metric, in the same order.

    A horizontal line is the confidence interval of a metric's value. The dashed vertical line is the best control
    (a baseline such as word overlap), the dotted one the expected value of random scores, where it is known. looks:
    colour and marker of each metric (default: by its position). Raises `UserError` without a value to draw.
    """
    shown = [headline for headline in every if headline.metrics]
    if not shown:
        raise UserError("A forest plot needs at least one metric with a value, and no metric has one.")
    names = list(dict.fromkeys(row.metric for headline in shown for row in metrics_of(headline.result)))
    looks = looks or looks_of(names)
    sets = {place_of(headline.result.data) for headline in shown}
    figure, plots = panels(len(shown), min(len(shown), _ACROSS), 7.0, 0.9 + 0.24 * len(names))
    drawn = [panel_of(headline, declarations) for headline in shown]
    for number, (plot, headline, panel) in enumerate(zip(plots, shown, drawn, strict=True)):
        if panel.chance is not None:
            plot.axvline(panel.chance, color=FAINT, linewidth=1.2, linestyle=(0, (1, 2)))
        if panel.control:
            name, best = panel.control
            plot.axvline(best, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
            plot.set_title(literal(f"best control: {name}"), fontsize=7, color=INK)
        for metric, value, ends in panel.lines:
            place, look = names.index(metric), looks[metric]
            if ends:
                plot.plot(ends, [place, place], color=look.colour, linewidth=1.6)
            (mark,) = plot.plot([value], [place], color=look.colour, marker=look.marker, markersize=5.5)
            mark.set(markeredgecolor=INK, markeredgewidth=0.4)
        stack(plot, names, shown=number % _ACROSS == 0)
        unit = ", %" if headline.column.scale == 100 else ""
        about = wrapped(declarations.of(headline.result).about.get(headline.column.key, ""), 34)
        where = f" ({literal(headline.result.data.name)})" if len(sets) > 1 else ""
        plot.set_xlabel(f"{literal(headline.column.label)}{unit}{where}\n{about}", fontsize=8)
    level = {f"{100 * headline.result.interval.level:g} %" for headline in shown}
    dashed = "; dashed: best control" if any(panel.control for panel in drawn) else ""
    dotted = "; dotted: chance" if any(panel.chance is not None for panel in drawn) else ""
    figure.supxlabel(f"lines: {', '.join(sorted(level))} intervals{dashed}{dotted}", fontsize=7.5)
    return figure


def has_intervals(records: Sequence[Mapping[str, object]]) -> bool:
    """Return whether a record has both ends of an interval, `low` and `high`, which `records_forest` draws."""
    return any(_is_interval(record) for record in records)


@styled()
def records_forest(records: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """Draw the raw values in the records of a table with their intervals, a panel for each measure.

    The value is the field before `low`; a line is named by the text fields in which lines differ. Records without an
    interval are left out, and one at least has to have it (`has_intervals`).
    """
    shown = [record for record in records if _is_interval(record)]
    fields = list(shown[0])
    value = fields[fields.index("low") - 1]
    texts = [name for name in fields if name != "note" and all(isinstance(record[name], str) for record in shown)]
    telling = [name for name in texts if len({record[name] for record in shown}) > 1] or texts[:1]
    by = "measure" if "measure" in telling[:-1] else ""
    lines: dict[str, dict[str, Mapping[str, Any]]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for record in shown:
        label = str(record[by]) if by else value
        name = " / ".join(str(record[name]) for name in telling if name != by)
        seen[label, name] += 1
        # Two lines may be called alike, as a part of the data named 'all' and all rows.
        lines.setdefault(label, {})[name if seen[label, name] == 1 else f"{name} ({seen[label, name]})"] = record
    names = list(dict.fromkeys(name for panel in lines.values() for name in panel))
    across = min(len(lines), _ACROSS)
    figure, plots = panels(len(lines), across, 2.6 + 2.2 * across, 0.9 + 0.24 * len(names))
    for number, (plot, (label, panel)) in enumerate(zip(plots, lines.items(), strict=True)):
        if value in _DIFFERENCES:
            plot.axvline(0, color=FAINT, linewidth=1.2, linestyle=(0, (1, 2)))
        for name, record in panel.items():
            place = names.index(name)
            plot.plot([record["low"], record["high"]], [place, place], color=INK, linewidth=1.6)
            plot.plot([record[value]], [place], color=INK, marker="o", markersize=5)
        stack(plot, names, number % across == 0, width=40)
        plot.set_xlabel(literal(label), fontsize=8)
    figure.suptitle(literal(title), fontsize=8.5)
    return figure


_DIFFERENCES = ("difference", "gain", "loss")


def _is_interval(record: Mapping[str, object]) -> bool:
    return record.get("low") is not None and record.get("high") is not None
