"""Batches hold every item once, within the budget and with hardly any padding; answers come back in order."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.core.errors import UserError
from metaeval.scoring.backends import batches
from metaeval.scoring.backends.batches import WASTE, run_batches

pytest.importorskip("torch", reason="needs the extra 'models'")


lengths = st.lists(st.integers(1, 600), max_size=300)


@given(lengths, st.integers(64, 2048))
def test_answers_come_in_order_and_hardly_anything_is_padded(items, budget):
    passed = []

    def forward(batch):
        passed.append([length for _, length in batch])
        return [number * 10 for number, _ in batch]

    answers = run_batches(list(enumerate(items)), lambda item: item[1], forward, budget, "cpu")
    assert answers == [10 * number for number in range(len(items))]
    assert sorted(length for batch in passed for length in batch) == sorted(items)
    assert sum(max(batch) * len(batch) for batch in passed) <= sum(items) / (1 - WASTE) + 1e-6


def test_a_batch_that_memory_does_not_hold_is_passed_in_halves(caplog):
    import torch

    sizes = []

    def forward(batch):
        sizes.append(len(batch))
        if len(batch) > 3 or "huge" in batch:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return [item * 2 for item in batch]

    batches._say_halved.cache_clear()
    assert run_batches([*range(20)], lambda _: 1, forward, 100, "cpu") == [2 * number for number in range(20)]
    assert max(sizes) == 20
    assert sum(size <= 3 for size in sizes) == 8
    assert caplog.text.count("did not fit into memory was halved") == 1
    with pytest.raises(UserError, match=r"^One text exceeds the device's memory"):
        run_batches([1, "huge", 2], lambda _: 1, forward, 100, "cpu")


def test_batches_run_side_by_side_with_one_torch_thread_each(monkeypatch):
    import torch

    monkeypatch.setattr(batches, "workers", lambda device: 3)
    together = threading.Barrier(3, timeout=120)  # passes only if three batches are under way at once
    threads = []

    def forward(batch):
        together.wait()
        threads.append(torch.get_num_threads())
        return batch

    before = torch.get_num_threads()
    assert run_batches([5, 5, 5], lambda item: item, forward, 5, "cpu") == [5, 5, 5]
    assert threads == [1, 1, 1]
    assert torch.get_num_threads() == before
