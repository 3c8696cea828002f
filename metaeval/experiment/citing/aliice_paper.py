"""The pipeline `tables`: the ALiiCE paper's Table 1 (every system's scores) and Table 3 (ALiiCE beside ALCE)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from metaeval.citation.judging import WITHIN, Reading, read_claims
from metaeval.citation.readers.answers import gather
from metaeval.config import Flag, TrustConfig, validated
from metaeval.config_files import read_experiment
from metaeval.errors import UserError
from metaeval.experiment.citing.claims_tables import MEASURES, Cited, judge, provenance_of
from metaeval.experiment.citing.pipeline import JudgedByMetrics, Layout, MakeBackends, Names, Pipeline, Run
from metaeval.files import safe_name
from metaeval.report.citation.layout import OVERALL, Frame, PaperRow, overall_grid, side_by_side_grid
from metaeval.report.grid import Grid, plain
from metaeval.report.sheet import Record, Sheet

_PIPELINES = ("aliice", "alce")


class PaperConfig(BaseModel):
    """A file in configs/citation: how the paper's tables are made. nli: one metric, the judge of both pipelines."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nli: Names = ("minilm-bertscore",)
    profile: str = "paper"
    parser: str = "small"
    splitter: str = "auto"
    threshold: str | None = None
    format: str = "auto"


def read_paper(path: Path | None, given: Mapping[str, Any]) -> PaperConfig:
    """The settings of a file, or of a shipped one by its name, and over them those given that are not None."""
    typed = {key: value for key, value in given.items() if value is not None}
    values = read_experiment(path, typed, "citation") if path else {}
    values |= {key: value for key, value in typed.items() if key != "trust_config"}
    config = validated(PaperConfig, values, str(path or "the settings"))
    if len(config.nli) != 1:
        raise UserError(f"The paper's tables have one judge, and nli names {len(config.nli)}: name one metric.")
    return config


def read_files(texts: Sequence[str]) -> dict[str, list[Path]]:
    """Files by data set from NAME=FILE,FILE; a file without a name is of the data set without a name."""
    found: dict[str, list[Path]] = {}
    for text in texts:
        name, equals, files = text.partition("=")
        if not equals or Path(text).is_file():
            name, files = "", text
        found.setdefault(name, []).extend(Path(file) for file in files.split(",") if file)
    if not found:
        raise UserError("No file of answers is given: name at least one, as FILE or DATASET=FILE,FILE.")
    return found


class TablesCommand(JudgedByMetrics):
    """Options of `cite tables`; those that are not given are the file's, and the defaults of `PaperConfig`."""

    files: Annotated[tuple[str, ...], Flag("FILE", multiple=True, argument=True)] = Field(
        description="FILE, or DATASET=FILE,FILE: one file a system."
    )
    config: Annotated[Path | None, Flag("FILE", "-c")] = Field(
        default=None, description="A YAML file, or aliice (shipped)."
    )
    trust_config: TrustConfig = False
    profile: Annotated[str | None, Flag("NAME")] = Field(default=None, description="paper or released.")
    parser: Annotated[str | None, Flag("NAME")] = Field(default=None, description="As for 'cite aliice'.")
    splitter: Annotated[str | None, Flag("NAME")] = Field(default=None, description="auto, nltk or rules.")
    format: Annotated[str | None, Flag("NAME", "-f")] = Field(default=None, description="As for 'cite aliice'.")

    @model_validator(mode="before")
    @classmethod
    def _with_the_file(cls, values: dict[str, Any]) -> dict[str, Any]:
        given = {name: values.get(name) or None for name in (*PaperConfig.model_fields, "trust_config")}
        return {**values, **read_paper(values.get("config"), given).model_dump()}

    @property
    def inputs(self) -> tuple[Path, ...]:
        """None: every data set has a folder of its own."""
        return ()


_Answers = dict[str, tuple[Reading, Reading]]


def _read(run: Run) -> tuple[Run, _Answers]:
    """The answers of every data set, as ALiiCE and as ALCE read them."""
    options = run.options
    read: _Answers = {}
    for name, paths in read_files(options.files).items():
        answers = gather(paths, options.format)
        aliice, alce = (
            read_claims(pipeline, answers, options.profile, options.parser, options.splitter) for pipeline in _PIPELINES
        )
        read[name or "answers"] = aliice, alce
    return run, read


def _judge(read: tuple[Run, _Answers], backends: MakeBackends) -> Layout:
    """Table 1 and Table 3 of every data set, in its folder."""
    run, answers = read
    tables = {}
    for name, readings in answers.items():
        aliice, alce = (judge(one, backends(), run.config) for one in readings)
        folder = safe_name(name)
        tables[f"{folder}/table-1"] = _sheet(aliice, name, "table-1", overall_grid, _overall(aliice))
        tables[f"{folder}/table-3"] = _sheet(aliice, name, "table-3", side_by_side_grid, _side_by_side(aliice, alce))
    return Layout(tables)


def _overall(cited: Cited) -> list[PaperRow]:
    known = {**cited.judged[0].statistics, **cited.reading.statistics}
    shown = {key: known[key] for key in OVERALL if key in known}
    return [PaperRow(system, cited.panel.ends(shown, number)) for number, system in enumerate(cited.panel.systems)]


def _side_by_side(aliice: Cited, alce: Cited) -> list[PaperRow]:
    """Recall and precision of both pipelines on the answers with a citation within a sentence."""
    within = np.array(aliice.reading.values[WITHIN], dtype=np.float64) == 1
    rows = []
    for number, system in enumerate(aliice.panel.systems):
        own = np.flatnonzero(within & (aliice.panel.system == number))
        values = {
            f"{cited.reading.name}_{key}": cited.panel.interval_over(cited.judged[0].statistics[key], own).ends
            for cited in (aliice, alce)
            for key in ("recall", "precision")
        }
        rows.append(PaperRow(system, values, int(own.size)))
    return rows


def _sheet(
    cited: Cited, dataset: str, name: str, layout: Callable[[Frame, Sequence[PaperRow]], Grid], rows: Sequence[PaperRow]
) -> Sheet:
    where = f"{plain(dataset)}, profile {plain(str(cited.reading.fields['profile']))}"
    around = replace(provenance_of(cited, dataset), kind="aliice", subtitle=where)
    records: list[Record] = [
        {"system": row.system, "answers": row.answers, "measure": key, "value": value, "low": low, "high": high}
        for row in rows
        for key, (value, low, high) in row.values.items()
    ]
    return around.sheet(name, "", records, lambda frame: layout(frame, rows))


TABLES = Pipeline(
    name="tables",
    title="ALiiCE",
    paper="Xu et al. 2024, ALiiCE (arXiv 2406.13375), Tables 1, 3 and 4",
    help="""The ALiiCE paper's Tables 1 and 3, from your files.

    Table 1: citation quality, correctness and length of every system. Table 3:
    ALiiCE beside ALCE on the answers that cite within a sentence.

    \b
    Examples:
      metaeval cite tables answers.json
      metaeval cite tables ASQA=a.json,b.json ELI5=c.json -c aliice
      metaeval cite tables a.json b.json -c aliice --nli rouge --parser small
    """,
    options=TablesCommand,
    measures=MEASURES,
    backends="one",
    read=_read,
    judge=_judge,
)
