"""What the benchmarks of pair classifiers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

from benchmarks.paired import Way
from benchmarks.workload import Texts
from metaeval.scoring.backends import model_loading
from metaeval.scoring.engine import score_pairs


def loaded(metric: Any) -> Any:
    """The metric with its model in memory: loading is nobody's speed."""
    _ = metric.model
    return metric


def scores(metric: Any, pairs: list[Texts]) -> list[float]:
    """The scores through the engine; no pair of the workload lacks one."""
    found = [answer.score for answer in score_pairs(metric, pairs).answers]
    return [float(score) for score in found if score is not None]


def torch_kernels(metric: Any) -> Any:
    """The metric with its model loaded on torch's own linear layers: the same work, other kernels."""
    with mock.patch.object(model_loading, "pack_linears", lambda model: model):
        return loaded(metric)


def timed_ways(
    make: Callable[[], Any], pairs: list[Texts], usual: Mapping[str, Callable[[], list[float]]]
) -> dict[str, Way]:
    """Ours first, then the usual ways, then ours on torch's own kernels."""
    ours, plain = loaded(make()), torch_kernels(make())
    return {"ours": lambda: scores(ours, pairs), **usual, "ours, torch's own kernels": lambda: scores(plain, pairs)}
