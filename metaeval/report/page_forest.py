"""The forest plot of a page, as SVG text: made after every run, in no time and without matplotlib."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

from metaeval.report.figures.drawing import FAINT, INK, looks_of
from metaeval.report.figures.forest import panel_of
from metaeval.report.grid import plain
from metaeval.report.measures import Headline, Readings, headlines, metrics_of, named_in
from metaeval.report.result import Result

_WIDTH, _LINE, _HEAD, _AXIS = 360, 20, 44, 30
_LONGEST = 30
"""Characters of a name that are shown."""
_ASKED = 5
"""Ticks of an axis, about."""


def page_forest(results: Sequence[Result], readings: Readings) -> str:
    """A panel for each result's headline measure, a line for each metric, as in `metaeval figures`; "" without a value.

    Lines are the results' intervals, the dashed line is the best control, the dotted one what a score that knows
    nothing reaches, where that is known beforehand.
    """
    shown = [one for one in headlines(results, readings) if one.metrics]
    looks = looks_of(row.metric for result in results for row in metrics_of(result))
    colours = {name: look.colour for name, look in looks.items()}
    names = 12 + 7 * min(_LONGEST, max((len(name) for name in colours), default=0))
    drawn, top = [], 0
    for one in shown:
        drawn.append(f'<g transform="translate(0 {top})">{"".join(_panel(one, shown, readings, colours, names))}</g>')
        top += _HEAD + _LINE * len(one.metrics) + _AXIS
    size = f'width="{names + _WIDTH}" height="{top}" viewBox="0 0 {names + _WIDTH} {top}"'
    style = f'font-family="sans-serif" font-size="12" fill="{INK}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{"".join(drawn)}</svg>' if drawn else ""


def _panel(
    one: Headline, every: Sequence[Headline], readings: Readings, colours: dict[str, str], names: int
) -> Iterator[str]:
    panel = panel_of(one, readings)
    values = [value for line in panel.lines for value in (line.value, *(line.ends or ()))]
    lines = (panel.control[1] if panel.control else None, panel.chance)
    ticks = _ticks([*values, *(value for value in lines if value is not None)])

    def x(value: float) -> str:
        share = (value - ticks[0]) / (ticks[-1] - ticks[0])
        return f"{names + 10 + share * (_WIDTH - 30):.1f}"

    def upright(value: float, stroke: str, dashes: str) -> str:
        return f'<path d="M{x(value)} {_HEAD - 4}V{foot}" stroke="{stroke}" stroke-dasharray="{dashes}"/>'

    foot = _HEAD + _LINE * len(panel.lines)
    unit = ", %" if one.column.scale == 100 else ""
    yield f'<text x="{names}" y="14" font-weight="bold">{_text(named_in(one, every) + unit)}</text>'
    if panel.control:
        name, value = panel.control
        yield f'<text x="{names}" y="30" font-size="11">{_text("best control (dashed): " + name, 48)}</text>'
        yield upright(value, INK, "4 2")
    if panel.chance is not None:
        yield upright(panel.chance, FAINT, "1 2")
    yield f'<path d="M{x(ticks[0])} {foot}H{x(ticks[-1])}" stroke="{INK}"/>'
    digits = max(
        0, -math.floor(math.log10(1.5 * (ticks[1] - ticks[0])))
    )  # ticks are 1, 2 or 5 times a power of ten apart
    for tick in ticks:
        yield f'<text x="{x(tick)}" y="{foot + 15}" text-anchor="middle" font-size="11">{tick:.{digits}f}</text>'
    for number, line in enumerate(panel.lines):
        y, colour = _HEAD + _LINE * number + _LINE // 2, colours[line.metric]
        yield f'<text x="{names - 4}" y="{y + 4}" text-anchor="end">{_text(line.metric, _LONGEST)}</text>'
        if line.ends:
            low, high = map(x, line.ends)
            yield f'<path d="M{low} {y}H{high}" stroke="{colour}" stroke-width="2.5"/>'
        yield f'<circle cx="{x(line.value)}" cy="{y}" r="4.5" fill="{colour}"/>'


def _ticks(values: Sequence[float]) -> list[float]:
    """About `_ASKED` round numbers, the first below and the last above all values."""
    low, high = min(values), max(values)
    rough = max((high - low) / _ASKED, 1e-6 * max(abs(high), 1.0))
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * round_number for round_number in (1, 2, 5, 10) if power * round_number >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _text(name: str, width: int = 60) -> str:
    shown = plain(name)
    return html.escape(shown if len(shown) <= width else f"{shown[: width - 1]}…")
