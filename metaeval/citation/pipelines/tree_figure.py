"""Draw a sentence's dependency tree, with the words of each claim below it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from metaeval.citation.parsers.dependency_parsers import Parse
from metaeval.core.errors import UserError
from metaeval.report.figures.drawing import COLOURS, INK, axes, literal, styled, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CHARACTER, _GAP = 0.072, 0.14  # inches: a letter at 8.5 points, and between words
_STEP, _ROW = 0.42, 0.24  # inches: between levels of the tree, and between claims


# A claim to draw: its citations as written, the index of the word that has them, and the indices of its words.
Highlighted: TypeAlias = tuple[str, int | None, tuple[int, ...]]


@styled()
def claim_tree(parse: Parse, claims: Sequence[Highlighted], made_by: str = "") -> Figure:
    """Draw the tree above the sentence, and below it a bar for each claim under its words.

    A word with citations is boxed in the colour of its claim. made_by: the parser and the rules, for the title. Raises
    `UserError` for a sentence without words.
    """
    if not parse.tokens:
        raise UserError("The sentence has no words, so there is no tree to draw: give another sentence.")
    widths = [max(_CHARACTER * len(token), 0.12) + _GAP for token in parse.tokens]
    ends = list(accumulate(widths))
    spans = [(end - width + _GAP / 2, end - _GAP / 2) for end, width in zip(ends, widths, strict=True)]
    middles = [(left + right) / 2 for left, right in spans]
    depths = [_depth(parse.heads, place) for place in range(len(parse.tokens))]
    lowest = -_STEP * (max(depths) + 1)
    names = [f"claim {number} {cites}".strip() for number, (cites, _, _) in enumerate(claims, start=1)]
    margin = _CHARACTER * max(map(len, names), default=0) + 0.15
    bottom = lowest - 0.2 - _ROW * len(claims)
    width, height = max(ends[-1] + margin, 3.3), 0.35 - bottom
    figure, plot = axes(width + 0.1, height + 0.35)
    for place, head in enumerate(parse.heads):
        if head != place:
            start, end = -_STEP * depths[head] - 0.09, -_STEP * depths[place] + 0.09
            ends_at = [middles[head], middles[place]]
            plot.plot(ends_at, [start, end], color="#888888", linewidth=0.8, zorder=1)
            # Near the child, where edges of one head are furthest apart.
            x, y = (0.25 * middles[head] + 0.75 * middles[place], 0.25 * start + 0.75 * end)
            box: dict[str, Any] = {"boxstyle": "round,pad=0.05", "facecolor": "white", "edgecolor": "none"}
            style: dict[str, Any] = {"fontsize": 6, "color": "#555555", "ha": "center", "va": "center", "zorder": 2}
            plot.text(x, y, literal(parse.labels[place]), bbox=box, **style)
    nodes = {node: number for number, (_, node, _) in enumerate(claims) if node is not None}
    for place, token in enumerate(parse.tokens):
        at = -_STEP * depths[place]
        plot.plot([middles[place]] * 2, [at - 0.09, lowest + 0.09], color="#E2E2E2", linewidth=0.6, zorder=0)
        colour = COLOURS[nodes[place] % len(COLOURS)] if place in nodes else "white"
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": colour, "linewidth": 1.6}
        (word, below) = (
            plot.text(middles[place], y, literal(token), ha="center", va="center", fontsize=8.5, zorder=3)
            for y in (at, lowest)
        )
        word.set_bbox(box)
        below.set_color(INK)
        if place in nodes:
            word.set_fontweight("bold")
    for number, ((_, _, places), name) in enumerate(zip(claims, names, strict=True)):
        at = lowest - 0.24 - _ROW * number
        colour = COLOURS[number % len(COLOURS)]
        # A bar for each run of consecutive words.
        for _, run in groupby(enumerate(sorted(places)), key=lambda numbered: numbered[1] - numbered[0]):
            words = [word for _, word in run]
            ends_at = [spans[words[0]][0], spans[words[-1]][1]]
            plot.plot(ends_at, [at, at], color=colour, linewidth=6, solid_capstyle="butt")
        plot.text(-0.1, at, literal(name), ha="right", va="center", fontsize=8, color=INK)
    plot.set(xlim=(-margin, width - margin), ylim=(bottom, 0.3))
    plot.axis("off")
    if made_by:
        plot.set_title(wrapped(made_by, int(width / 0.06)), loc="left", fontsize=7, color="#666666")
    return figure


def _depth(heads: Sequence[int], place: int) -> int:
    return 0 if heads[place] == place else 1 + _depth(heads, heads[place])
