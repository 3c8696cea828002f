"""Published values: what papers report on a data set, to stand beside what is computed here."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import Field

from metaeval.core.config_files import config_file, variants
from metaeval.core.declared import Strict, validated
from metaeval.core.errors import count
from metaeval.core.parsing import read_text, yaml_settings
from metaeval.report.result import Unit
from metaeval.runs.data import Frame


class PublishedTable(Strict):
    """A published table. values: the printed value by metric, then by measure: `scale` times the raw value."""

    values: dict[str, dict[str, float]]
    source: str = ""
    scale: float = Field(default=1.0, gt=0)


class PublishedPaper(Strict):
    """The values that one paper reports on one data set in one unit; split None stands for every split.

    There is one YAML file per paper in configs/published::

        dataset: frank          the data set's name
        split: all              optional: the split of the values
        unit: rating            chunk, citation or rating
        source: where the values are from
        levels: {full: 10}      optional: counts of the judged pairs; a run with other counts is reported to differ
        rule: {chunks: ...}     optional: fields of the signature that the values hold for
        tables:
          correlation:          a protocol
            source: Table 3     optional, added to the source
            scale: 100          optional: factor of the printed values
            values:
              BLEU: {partial_pearson: 0.10}      metric, and its value by measure
    """

    dataset: str
    unit: Unit
    source: str
    tables: dict[str, PublishedTable]
    split: str | None = None
    levels: dict[str, int] = Field(default_factory=dict)
    rule: dict[str, str] = Field(default_factory=dict)

    def differences(self, frame: Frame) -> str:
        """Return how the rows of a run (`frame`) or its rule differ from the paper's, as text; "" where they do not."""
        parts = []
        if self.levels and dict(frame.judged) != self.levels:
            here, there = sum(frame.judged.values()), sum(self.levels.values())
            counts = f"{count(there, 'pair')}" if here != there else f"{count(there, 'pair')} at other levels"
            parts.append(f"{counts}, here {here:,} of {frame.split}")
        rule = {key: str(frame.fields.get(key, "")) for key in self.rule}
        parts += [f"{key} {self.rule[key]}, here {value}" for key, value in rule.items() if value != self.rule[key]]
        return "; ".join(parts)


def published_for(dataset: str, split: str, unit: Unit, protocol: str) -> PublishedPaper | None:
    """Return the paper that published values for this data, unit and protocol, with them alone; None where none did.

    They are raw. Of several papers the first in the order of `published_files` is taken. Raises `UserError` for an
    invalid file that names the data.
    """
    for path in published_files():
        if dataset not in read_text(path):  # parsing every file takes longer than evaluating a small set
            continue
        paper = read_published(path)
        if (paper.dataset, paper.unit) == (dataset, unit) and paper.split in (None, split) and protocol in paper.tables:
            table = paper.tables[protocol]
            values = {metric: {key: v / table.scale for key, v in row.items()} for metric, row in table.values.items()}
            source = ", ".join(filter(None, (paper.source, table.source)))
            counts = " / ".join(f"{name} {count:,}" for name, count in paper.levels.items())
            named = f"{source} (on {counts})" if counts else source
            return paper.model_copy(update={"source": named, "tables": {protocol: PublishedTable(values=values)}})
    return None


def published_files() -> list[Path]:
    """Return the YAML files of published values, shipped and the user's; `UserError` where two share a name."""
    return [path for name in variants("published") if (path := config_file("published", name))]


def read_published(path: Path) -> PublishedPaper:
    """Read one file of published values; raises `UserError` that names a wrong setting."""
    return _published_paper(read_text(path), str(path))


@lru_cache(maxsize=64)
def _published_paper(text: str, place: str) -> PublishedPaper:
    # Every protocol of a run looks through the same files.
    return validated(PublishedPaper, yaml_settings(text, place), place)
