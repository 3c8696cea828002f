"""Parts of the data: by generating system, by statement length, by a chunk's place, by data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from metaeval.config import RunConfig
from metaeval.errors import UserError, unknown
from metaeval.experiment.frame import Frame
from metaeval.experiment.metric_scores import Panel, frame_of
from metaeval.experiment.rated import RatedSet
from protocols.contract import Protocol

Division = Literal["system", "dataset", "length", "position"]
DIVISIONS: tuple[str, ...] = get_args(Division)

_THIRDS = ("first third", "middle third", "last third")
_WHOLE = "the document's only chunk"
_ALL = "all"

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Part:
    """A subgroup: its name, the panel that it comes from, and which of a frame's rows (n,) are in it."""

    name: str
    panel: Panel
    frame: Frame
    rows: Bools


def check_division(by: str, config: RunConfig) -> Division:
    """The division by its name; `UserError` for another, and for one that the run's unit does not have."""
    if by == "position" and config.unit != "chunk":
        raise UserError(
            f"A place in a document is a chunk's: --by position needs unit=chunk (unit is {config.unit!r})."
        )
    for known in get_args(Division):
        if by == known:
            found: Division = known
            return found
    raise unknown("division", by, DIVISIONS)


def parts_of(panels: Sequence[Panel], protocol: Protocol, by: Division) -> list[Part]:
    """The parts of the rows that a protocol sees, all of them together first; `UserError` where there is no such part.

    panels: one, or with by="dataset" one a data set.
    """
    if by == "dataset":
        frames = [(panel, frame_of(panel, protocol)) for panel in panels]
        return [
            Part(_named(frame, frames), panel, frame, np.ones(frame.gold.size, dtype=np.bool_))
            for panel, frame in frames
        ]
    (panel,) = panels
    frame = frame_of(panel, protocol)
    names = {"system": _systems, "length": _lengths, "position": _places}[by](panel, frame)
    labels = np.array(names)
    order = dict.fromkeys(sorted(names) if by == "system" else [*_bins(frame, panel), *_THIRDS, _WHOLE])
    present = [name for name in order if (labels == name).any()]
    whole = Part(_ALL, panel, frame, np.ones(labels.size, dtype=np.bool_))
    return [whole, *(Part(name, panel, frame, labels == name) for name in present)]


def _named(frame: Frame, frames: Sequence[tuple[Panel, Frame]]) -> str:
    several = sum(other.name == frame.name for _, other in frames) > 1
    return f"{frame.name} {frame.split}" if several else frame.name


def _systems(panel: Panel, frame: Frame) -> list[str]:
    if frame.system is None:
        raise UserError(f"{frame.name} does not say which system wrote which statement: choose another --by.")
    source = panel.source
    if isinstance(source, RatedSet):
        return [source.ratings.rows[number].system for number in frame.numbers]
    return [source.corpus.statements[source.rows[number].statement_id].system for number in frame.numbers]


def statement_words(panel: Panel, frame: Frame) -> NDArray[np.int64]:
    """Words in each row's statement, or rated text; (n,). `UserError` where the texts are not in the data."""
    source = panel.source
    if isinstance(source, RatedSet):
        texts = [source.ratings.rows[number].text for number in frame.numbers]
    else:
        texts = [source.rows[number].statement for number in frame.numbers]
    if not all(texts):
        raise UserError(f"{frame.name} does not hold every text that was rated, so lengths are not known.")
    return np.array([len(text.split()) for text in texts], dtype=np.int64)


def _quartiles(panel: Panel, frame: Frame) -> list[int]:
    """The most words of the first three quarters of the distinct statements (of the texts, where they are rated)."""
    words = statement_words(panel, frame)
    source = panel.source
    if not isinstance(source, RatedSet):
        firsts = {source.rows[number].statement_id: place for place, number in enumerate(frame.numbers)}
        words = words[list(firsts.values())]
    return sorted({int(end) for end in np.quantile(words, (0.25, 0.5, 0.75), method="inverted_cdf")})


def _bins(frame: Frame, panel: Panel) -> list[str]:
    source = panel.source
    if isinstance(source, RatedSet) and not all(row.text for row in source.ratings.rows):
        return []
    ends = _quartiles(panel, frame)
    low = [end + 1 for end in ends]
    inner = [f"{a} to {b} words" if a < b else f"{b} words" for a, b in zip(low[:-1], ends[1:], strict=True)]
    return [f"up to {ends[0]} words", *inner, f"over {ends[-1]} words"]


def _lengths(panel: Panel, frame: Frame) -> list[str]:
    bins = _bins(frame, panel)
    place = np.searchsorted(_quartiles(panel, frame), statement_words(panel, frame))
    return [bins[number] for number in place]


def _places(panel: Panel, frame: Frame) -> list[str]:
    """The third of its document that a chunk's middle lies in."""
    source = panel.source
    if isinstance(source, RatedSet):
        raise UserError(f"A place in a document is a chunk's, and {frame.name} rates whole texts.")
    chunks: dict[str, int] = {}
    for pair in source.pairs:
        chunks[pair.document_id] = max(chunks.get(pair.document_id, 0), pair.chunk + 1)
    names = []
    for number in frame.numbers:
        pair = source.pairs[source.rows[number].members[0]]
        of = chunks[pair.document_id]
        names.append(_WHOLE if of == 1 else _THIRDS[(2 * pair.chunk + 1) * 3 // (2 * of)])
    return names
