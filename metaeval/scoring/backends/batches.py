"""Batches of near-equal length: what is padded costs as much as what is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

Item = TypeVar("Item")
Answer = TypeVar("Answer")

WASTE = 0.01
"""The share of a batch that may be padding."""


@dataclass
class Work:
    """The work of a model so far: texts or pairs passed, their tokens without padding, and with padding."""

    passes: int = 0
    useful: int = 0
    padded: int = 0


def length_batches(lengths: Sequence[int], budget: int, waste: float = WASTE) -> Iterator[list[int]]:
    """Cut items into batches, longest first, as their numbers.

    A batch ends before its longest length times its size passes `budget` tokens, and before more than `waste` of it
    would be padding.
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


def run_batches(
    items: Sequence[Item],
    length: Callable[[Item], int],
    forward: Callable[[list[Item]], Sequence[Answer]],
    budget: int,
    device: str,
    work: Work | None = None,
) -> list[Answer]:
    """Pass all items through `forward`, batch by batch, side by side on the CPU's cores; answers in order.

    Within a batch items come longest first; items of one length in the order given.
    """
    lengths = [length(item) for item in items]
    batches = list(length_batches(lengths, budget, WASTE if device == "cpu" else 4 * WASTE))
    found: dict[int, Answer] = {}
    with one_thread(), ThreadPoolExecutor(workers(device)) as pool:
        answers = pool.map(lambda batch: forward([items[number] for number in batch]), batches)
        for batch, answer in zip(batches, answers, strict=True):
            found.update(zip(batch, answer, strict=True))
    if work is not None:
        work.passes += len(items)
        work.useful += sum(lengths)
        work.padded += sum(lengths[batch[0]] * len(batch) for batch in batches)
    return [found[number] for number in range(len(items))]


def pad(rows: Sequence[Sequence[int]], value: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids padded on the right with `value`, and the attention mask; both (rows, longest), int64."""
    import torch

    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], dtype=torch.long)
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows], dtype=torch.long)
    return ids.to(device), mask.to(device)


def workers(device: str) -> int:
    """The number of batches that run in parallel: the cores that this process may use, or one on an accelerator."""
    if device != "cpu":
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Let each torch operation use one thread, and give the setting back afterwards.

    Batches run side by side instead. Threads inside an operation wait for each other at every step, which on a busy
    machine takes longer than one thread alone; whole batches side by side lose nothing. Nor can the number of cores
    then change a score.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
