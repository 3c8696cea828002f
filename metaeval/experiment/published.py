"""Published values: what the authors of a data set or of the base paper report, to stand beside the run's own.

One YAML file per paper in configs/published::

    dataset: frank          the data set's name
    split: all              optional: the only split that the values are for
    unit: rating            chunk, citation or rating
    source: where the values are from
    levels: {full: 10}      optional: counts to add to the source, where the paper's rows are no split of ours
    tables:
      correlation:          a protocol
        source: Table 3     optional, added to the source
        scale: 100          optional: what the printed values were multiplied by
        values:
          BLEU: {partial_pearson: 0.10}      a metric's name in our tables, and the protocol's measures
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from metaeval.config import Strict, validated
from metaeval.config_files import config_file, variants
from metaeval.reading import read_yaml
from metaeval.report.result import Unit


class PublishedTable(Strict):
    """One table: for each metric, the printed value of each measure, `scale` times the raw one."""

    values: dict[str, dict[str, float]]
    source: str = ""
    scale: float = Field(default=1.0, gt=0)


class Published(Strict):
    """What one paper reports on one data set in one unit; split None: beside every split."""

    dataset: str
    unit: Unit
    source: str
    tables: dict[str, PublishedTable]
    split: str | None = None
    levels: dict[str, int] = Field(default_factory=dict)


class Beside(Strict):
    """What to print beside a run's own values: where from, and metric to measure to value, in the run's raw units."""

    source: str = ""
    values: dict[str, dict[str, float]] = Field(default_factory=dict)


def published_for(dataset: str, split: str, unit: Unit, protocol: str) -> Beside:
    """The values published for this data and protocol; empty where there are none.

    Raises `UserError` for a file in configs/published that cannot be used.
    """
    for path in published_files():
        paper = read_published(path)
        if (paper.dataset, paper.unit) == (dataset, unit) and paper.split in (None, split) and protocol in paper.tables:
            table = paper.tables[protocol]
            values = {metric: {key: v / table.scale for key, v in row.items()} for metric, row in table.values.items()}
            source = ", ".join(filter(None, (paper.source, table.source)))
            counts = " / ".join(f"{name} {count:,}" for name, count in paper.levels.items())
            return Beside(source=f"{source} (on {counts})" if counts else source, values=values)
    return Beside()


def published_files() -> list[Path]:
    """The YAML files of published values, the user's first; `UserError` where one has the name of a shipped one."""
    return [path for name in variants("published") if (path := config_file("published", name))]


def read_published(path: Path) -> Published:
    """Read one file; `UserError` names the setting that is wrong."""
    return validated(Published, read_yaml(path), str(path))
