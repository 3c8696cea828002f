"""A cell of the simulation: a process, what one sample of it shows, and the goals that the shares have to meet."""

from __future__ import annotations

import math
import multiprocessing
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SEED = 20261126


@dataclass(frozen=True)
class Goal:
    """A bound on the share of samples in which one quantity holds, of those that have it (where it is not NaN).

    quantity: its key in what a sample returns. least, most: bounds; a share within two Monte Carlo errors of a bound
    meets it. before: the figure on commit 137d1a0, or before the cell was added. unreachable: why the goal cannot be
    met; it is shown in place of the verdict, and is not counted as missed.
    """

    quantity: str
    least: float = -math.inf
    most: float = math.inf
    before: str = ""
    unreachable: str = ""


@dataclass(frozen=True)
class Cell:
    """One process with the goals of one promise.

    sample: generator -> quantities of one sample; NaN where the sample does not have a quantity, such as the coverage
    of an interval that is not given. samples: the largest number of samples that the cell is given (0: no limit).
    prepare: is called once before the samples, for what they share, such as the true value.
    """

    promise: str
    name: str
    sample: Callable[[np.random.Generator], Mapping[str, float]]
    goals: tuple[Goal, ...]
    samples: int = 0
    prepare: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Measured:
    """The share of a number of samples in which a goal's quantity holds, or its mean, with the Monte Carlo error."""

    cell: Cell
    goal: Goal
    share: float
    error: float
    samples: int

    @property
    def met(self) -> bool:
        """Return whether the share is within the bounds, give or take two errors. A goal without a sample is met."""
        slack = 2 * self.error
        return self.samples == 0 or self.goal.least - slack <= self.share <= self.goal.most + slack


def measured(cell: Cell, samples: int, workers: int) -> Iterator[Measured]:
    """Draw the samples of a cell and yield the share of each goal's quantity."""
    number = min(samples, cell.samples) if cell.samples else samples
    cell.prepare()
    if workers > 1:
        with multiprocessing.get_context("fork").Pool(workers, initializer=_inherit, initargs=(cell,)) as pool:
            drawn = pool.map(_inherited, range(number), chunksize=max(1, number // (20 * workers)))
    else:
        drawn = [_sample(cell, place) for place in range(number)]
    for goal in cell.goals:
        values = np.array([quantities.get(goal.quantity, math.nan) for quantities in drawn], dtype=np.float64)
        known = values[~np.isnan(values)]
        # With a hit and a miss more, where the quantity is one or the other: the error of 0 of n is not 0.
        spread = float(np.append(known, (0.0, 1.0) if np.isin(known, (0, 1)).all() else ()).std())
        error = spread / math.sqrt(known.size) if known.size else math.nan
        yield Measured(cell, goal, float(known.mean()) if known.size else math.nan, error, int(known.size))


def matching(cells: Sequence[Cell], words: Sequence[str]) -> list[Cell]:
    """Return the cells whose promise or name holds one of the words; all without words."""
    return [cell for cell in cells if not words or any(word in f"{cell.promise}: {cell.name}" for word in words)]


def _sample(cell: Cell, number: int) -> Mapping[str, float]:
    seed = [SEED, zlib.crc32(f"{cell.promise}: {cell.name}".encode()), number]
    return cell.sample(np.random.default_rng(seed))


_CELL: list[Cell] = []


def _inherit(cell: Cell) -> None:
    """Keep the cell of a forked process; closures cannot be sent to it."""
    _CELL[:] = [cell]


def _inherited(number: int) -> Mapping[str, float]:
    return _sample(_CELL[0], number)
