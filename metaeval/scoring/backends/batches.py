"""Batches of inputs of near-equal length, since padding costs as much as text, and running a model on them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from metaeval.core.errors import UserError

if TYPE_CHECKING:
    import torch

_log = logging.getLogger("metaeval")

Item = TypeVar("Item")
Answer = TypeVar("Answer")

WASTE = 0.01
"""The share of a batch's tokens that may be padding, on a CPU."""
CORES = 0
"""Number of cores that a cluster gives this process; 0 for all that it may use."""


def length_batches(lengths: Sequence[int], budget: int, waste: float = WASTE) -> Iterator[list[int]]:
    """Yield batches of items, as lists of their numbers, longest items first. lengths: of the items, in tokens.

    A batch ends before its longest length times its size passes `budget` tokens, and before padding would be more than
    the share `waste` of that product. An item longer than `budget` is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda number: (-lengths[number], number))
    batch: list[int] = []
    useful = 0
    for number in order:
        longest = max(lengths[batch[0]] if batch else lengths[number], 1)
        padded = longest * (len(batch) + 1)
        if batch and (padded > budget or padded - useful - lengths[number] > waste * padded):
            yield batch
            batch, useful = [], 0
        batch.append(number)
        useful += lengths[number]
    if batch:
        yield batch


def allowed_waste(device: str) -> float:
    """Return the share of a batch's tokens that may be padding; larger on a GPU, which is faster with fewer batches."""
    return WASTE if device == "cpu" else 4 * WASTE


def run_batches(
    items: Sequence[Item],
    length: Callable[[Item], int],
    forward: Callable[[list[Item]], Sequence[Answer]],
    budget: int,
    device: str,
    waste: float | None = None,
) -> list[Answer]:
    """Return what `forward` returns for the items, one result each, in order; it is called with batches of items.

    length: of an item, in tokens. budget: most tokens of a batch. waste: as in `length_batches`; None: the device's.
    Batches run in parallel on the CPU's cores; in each, items come longest first, equally long ones in their order.
    """
    lengths = [length(item) for item in items]
    batches = list(length_batches(lengths, budget, allowed_waste(device) if waste is None else waste))
    answers = side_by_side([[items[number] for number in batch] for batch in batches], forward, device)
    by_number = dict(zip(chain.from_iterable(batches), chain.from_iterable(answers), strict=True))
    return [by_number[number] for number in range(len(items))]


def side_by_side(
    batches: Iterable[list[Item]], forward: Callable[[list[Item]], Sequence[Answer]], device: str
) -> list[Sequence[Answer]]:
    """Return what `forward` returns for each batch (one result per item), in order.

    It is called in torch's inference mode, in parallel on the CPU's cores, and as `in_halves` says.
    """
    import torch

    passed = in_halves(torch.inference_mode()(forward))
    with one_thread(), ThreadPoolExecutor(workers(device)) as pool:
        return list(pool.map(passed, batches))


def in_halves(forward: Callable[[list[Item]], Sequence[Answer]]) -> Callable[[list[Item]], Sequence[Answer]]:
    """Return a function that does what `forward` does, and halves a batch that does not fit into the device's memory.

    A half gives other last digits than the whole, as any other batch does, so there is a warning. The next batch is
    passed whole again: a score may depend on its own batch, but not on earlier ones. Raises `UserError` where a
    single item does not fit.
    """
    import torch

    def passed(batch: list[Item]) -> Sequence[Answer]:
        try:
            return forward(batch)
        except torch.OutOfMemoryError as error:
            if len(batch) == 1:
                raise UserError("One text exceeds the device's memory: try dtype=bfloat16, chunk.size=100.") from error
        torch.cuda.empty_cache()
        _say_halved()
        middle = (len(batch) + 1) // 2
        return [*passed(batch[:middle]), *passed(batch[middle:])]

    return passed


@cache
def _say_halved() -> None:
    """Warn once per process that batches are halved: where memory is short, many batches do not fit."""
    _log.warning("A batch that did not fit into memory was halved, which can change last digits: lower batch_tokens.")


def pad(rows: Sequence[Sequence[int]], value: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids padded on the right with `value`, and the mask (0: padding); both (n_rows, longest), int64."""
    import torch

    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], dtype=torch.long)
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows], dtype=torch.long)
    return ids.to(device), mask.to(device)


def workers(device: str) -> int:
    """Return how many batches run in parallel: on a CPU the number of cores to use (see `CORES`), elsewhere 1."""
    if device != "cpu":
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(CORES or cores, cores)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let each torch operation use one thread in the with-block, and restore the number of threads afterwards.

    Batches run in parallel instead: threads inside an operation wait for each other at every step, which takes longer
    on a busy machine. The number of cores cannot change a score then.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
