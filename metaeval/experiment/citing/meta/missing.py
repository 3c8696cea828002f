"""What missing verdicts leave open in the values of responses: the least and the most that each could be."""

from __future__ import annotations

from collections.abc import Iterator

from metaeval.experiment.citing.meta.ratings import Level
from metaeval.experiment.citing.meta.run import Meta
from metaeval.experiment.citing.meta.values import Ends
from metaeval.report.grid import numeral, plain
from metaeval.report.result import Column

_MEAN = Column(key="mean", label="mean")

OpenValue = tuple[str, str, float | None, Ends | None]
"""Answer, measure, its value (None: missing), and the ends; None where they are not known."""


def open_values(meta: Meta, level: Level) -> Iterator[OpenValue]:
    """The values of rated responses that lack a verdict, or leave one out, measure by measure.

    Not known are the ends of scores that may be anything, and of means over the rated statements.
    """
    own_value, ids = meta.prepared.options.responses == "own", [row.id for row in level.ratings.rows]
    for one in meta.measured if level.unit == "responses" else ():
        values = level.values.get(one.name)
        for answer, value in zip(ids, values, strict=True) if values is not None else ():
            if value.state == "missing" or answer in level.partial[one.name]:
                yield answer, one.name, value.value, one.ends.get(answer) if own_value else None


def mean_ends(meta: Meta, level: Level, measure: str) -> tuple[float | None, float | None, float | None]:
    """A measure's mean over the rows that have a value; and its least and most over those too whose verdicts are
    missing: None at the level of statements, and where the ends of one value are not known.
    """
    said = {row.id: one for row, one in zip(level.ratings.rows, level.values[measure], strict=True)}
    mean = _mean([one.value for one in said.values() if one.value is not None])
    if level.unit == "statements":
        return mean, None, None
    open_ = {answer: ends for answer, name, _, ends in open_values(meta, level) if name == measure}
    if None in open_.values():
        return mean, None, None
    settled = [one.value for name, one in said.items() if name not in open_ and one.value is not None]
    known = [ends for ends in open_.values() if ends is not None]
    return mean, _mean([*settled, *(least for least, _ in known)]), _mean([*settled, *(most for _, most in known)])


def could_be(meta: Meta) -> tuple[tuple[str, str], ...]:
    """Of each measure that lacks verdicts: its mean over responses, and between what that mean could be."""
    said = []
    for level in (level for level in meta.levels if level.unit == "responses"):
        touched = {name: ends for _, name, _, ends in open_values(meta, level)}
        assumed = {one.name: one.assumed for one in meta.measured}
        for name in touched:
            number = sum(own == name for _, own, _, _ in open_values(meta, level))
            mean, least, most = mean_ends(meta, level, name)
            text = f"mean {numeral(mean, _MEAN)}; "
            if least is None:
                text += "how far it could move is not known"
            else:
                text += "with every missing verdict against it or for it "
                text += f"{numeral(least, _MEAN)} to {numeral(most, _MEAN)}"
                text += f", {assumed[name]}" if assumed[name] else ""
            said.append((plain(name), f"{text} ({number:,} of {len(level.ratings.rows):,} responses)"))
    return tuple(said)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
