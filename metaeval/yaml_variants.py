"""Variants: YAML files that give a registered metric or data set options of its own, under the file's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from metaeval.config import Strict
from metaeval.declared import validated
from metaeval.parsing import read_yaml
from metaeval.setting_types import OptionText


class MetricVariant(Strict):
    """A metric variant, from a YAML file in configs/metrics: a registered metric with other options and a new name."""

    metric: str
    options: dict[str, Any] = Field(default_factory=dict)
    note: str = ""


class DatasetVariant(Strict):
    """A data-set variant, from a YAML file in configs/datasets: a registered data set with other split or options."""

    dataset: str
    split: str | None = None
    options: dict[str, OptionText] = Field(default_factory=dict)
    note: str = ""


def metric_variant(path: Path) -> MetricVariant:
    """Read a metric variant from a YAML file; raises `UserError` for wrong content."""
    return validated(MetricVariant, read_yaml(path), str(path))


def dataset_variant(path: Path) -> DatasetVariant:
    """Read a data-set variant from a YAML file; raises `UserError` for wrong content."""
    return validated(DatasetVariant, read_yaml(path), str(path))
