"""The pipeline `tables`: Table 1 (scores of every system) and Table 3 (ALiiCE beside ALCE) of the ALiiCE paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from metaeval.citation.judging import WITHIN, PipelineReading, read_claims
from metaeval.citation.pipelines.claims_tables import MEASURES, RECALL, CitedAnswers, judge, provenance_of
from metaeval.citation.pipelines.layout import IntervalEnds, TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import JudgedByMetrics, Layout, MakeBackends, NameList, Pipeline, Run
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.readers.answers import gather
from metaeval.config import TrustConfig
from metaeval.config_files import read_experiment
from metaeval.declared import Flag, validated
from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report.result import Column
from metaeval.report.table import ColumnGroup, Note, Record, Table, plain

_OVERALL: Mapping[str, tuple[tuple[str, ...], Column]] = {
    "Rec.": (("recall",), RECALL),
    "Prec.": (("precision",), RECALL),
    "F1": (("f1",), RECALL),
    "CV_CP": (("cvcp",), Column(key="", label="", digits=2)),
    "Correct.": (("str_em", "rougeLsum"), RECALL),
    "Length": (("length",), Column(key="", label="", digits=1)),
}
"""Keys and columns of the measures in Table 1, by heading."""


class PaperConfig(BaseModel):
    """A file in configs/citation: the settings of the paper's tables. nli: the one metric of both pipelines."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nli: NameList = ("minilm-bertscore",)
    profile: str = "paper"
    parser: str = "small"
    splitter: str = "auto"
    threshold: str | None = None
    format: str = "auto"


def read_paper(path: Path | None, settings: Mapping[str, Any]) -> PaperConfig:
    """Return the settings of a file (or an included one, by name), overridden by `settings` that are not None."""
    typed = {key: value for key, value in settings.items() if value is not None}
    values = read_experiment(path, typed, "citation") if path else {}
    values |= {key: value for key, value in typed.items() if key != "trust_config"}
    config = validated(PaperConfig, values, str(path or "the settings"))
    if len(config.nli) != 1:
        raise UserError(f"The paper's tables use one metric, and {len(config.nli)} are given as nli: give only one.")
    return config


def read_files(texts: Sequence[str]) -> dict[str, list[Path]]:
    """Return files by data set from NAME=FILE,FILE; files without a name belong to the data set "" (no name)."""
    paths_by_name: dict[str, list[Path]] = {}
    for text in texts:
        name, equals, files = text.partition("=")
        if not equals or Path(text).is_file():
            name, files = "", text
        paths_by_name.setdefault(name, []).extend(Path(file) for file in files.split(",") if file)
    if not paths_by_name:
        raise UserError("No file of answers is given: give at least one, as FILE or DATASET=FILE,FILE.")
    return paths_by_name


class TablesCommand(JudgedByMetrics):
    """Options of `cite tables`; options that are not set come from the file, or from `PaperConfig`."""

    untyped = frozenset({"calibration", "format", "splitter", "threshold"})

    files: Annotated[tuple[str, ...], Flag("FILE", multiple=True, argument=True)] = Field(
        description="Files of answers, one per system: FILE, or DATASET=FILE,FILE."
    )
    config: Annotated[Path | None, Flag("FILE", "-c")] = Field(
        default=None, description="YAML file of settings, or aliice (included)."
    )
    trust_config: TrustConfig = False
    profile: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Definition: paper or released.")
    parser: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Parser, as for 'cite aliice'.")
    splitter: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Splitter: auto, nltk, rules.")
    format: Annotated[str | None, Flag("NAME", "-f")] = Field(default=None, description="Format, as for 'cite alce'.")

    @model_validator(mode="before")
    @classmethod
    def _with_the_file(cls, values: dict[str, Any]) -> dict[str, Any]:
        settings = {name: values.get(name) or None for name in (*PaperConfig.model_fields, "trust_config")}
        return {**values, **read_paper(values.get("config"), settings).model_dump()}

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Always empty, since every data set has a folder of its own."""
        return ()

    @property
    def read_files(self) -> tuple[Path, ...]:
        """The files of all data sets."""
        return tuple(path for paths in read_files(self.files).values() for path in paths)


_Answers = dict[str, tuple[PipelineReading, PipelineReading]]


def _read(run: Run) -> tuple[Run, _Answers]:
    """Read the answers of every data set, for ALiiCE and for ALCE."""
    options = run.options
    read: _Answers = {}
    for name, paths in read_files(options.files).items():
        answers = gather(paths, options.format)
        aliice, alce = (
            read_claims(pipeline, answers, options.profile, options.parser, options.splitter)
            for pipeline in ("aliice", "alce")
        )
        read[name or "answers"] = aliice, alce
    return run, read


def _judge(read: tuple[Run, _Answers], backends: MakeBackends) -> Layout:
    """Return Table 1 and Table 3 of every data set, each in its own folder."""
    run, answers = read
    tables = {}
    for name, readings in answers.items():
        aliice, alce = (judge(reading, backends(), run.config) for reading in readings)
        where = f"{plain(name)}, profile {plain(str(aliice.reading.fields['profile']))}"
        around = replace(provenance_of(aliice, name), kind="aliice", subtitle=where)
        folder = safe_name(name)
        tables[f"{folder}/table-1"] = _overall(aliice, around)
        tables[f"{folder}/table-3"] = _side_by_side(aliice, alce, around)
    return Layout(tables)


def _records(system: str, answers: int | None, values: Mapping[str, IntervalEnds]) -> list[Record]:
    return [
        {"system": system, "answers": answers, "measure": key, "value": value, "low": low, "high": high}
        for key, (value, low, high) in values.items()
    ]


def _overall(cited: CitedAnswers, around: Provenance) -> Table:
    """Return Table 1: citation quality, CVCP, correctness and length of every system."""
    known = {**cited.judged[0].statistics, **cited.reading.statistics}
    shown = {key: known[key] for keys, _ in _OVERALL.values() for key in keys if key in known}
    table = TableLines()
    for number, system in enumerate(cited.panel.systems):
        values = cited.panel.ends(shown, number)
        cells = []
        for keys, column in _OVERALL.values():
            # The first of the two measures of correctness that the answers have.
            defined = [values[key] for key in keys if key in values and values[key][0] is not None]
            cells.append(interval_cell(next(iter(defined), None), column))
        table.add("", system, cells, *_records(system, None, values))
    reading = Note(
        "reading",
        "as Table 1 of the ALiiCE paper, with intervals where it has deviations over runs, and without its column of "
        "fluency (MAUVE). Correct.: EM recall, or ROUGE-Lsum where there are no short answers",
    )
    return around.lines("table-1", "Citation quality, correctness and length", ("Model", *_OVERALL), table, [reading])


def _side_by_side(aliice: CitedAnswers, alce: CitedAnswers, around: Provenance) -> Table:
    """Return Table 3: recall and precision of both pipelines on answers with a citation within a sentence."""
    within = np.array(aliice.reading.values[WITHIN], dtype=np.float64) == 1
    table = TableLines()
    for number, system in enumerate(aliice.panel.systems):
        rows = np.flatnonzero(within & (aliice.panel.system == number))
        values = {
            f"{cited.reading.name}_{key}": cited.panel.interval_over(cited.judged[0].statistics[key], rows).ends
            for cited in (aliice, alce)
            for key in ("recall", "precision")
        }
        cells = [interval_cell(ends, RECALL) for ends in values.values()]
        table.add("", system, [*cells, f"{rows.size:,}"], *_records(system, int(rows.size), values))
    reading = Note(
        "reading", "as Tables 3 and 4 of the ALiiCE paper: answers with a citation between the words of a sentence"
    )
    headings = ("Model", "Rec.", "Prec.", "Rec.", "Prec.", "answers")
    title = "Answers that cite within a sentence: recall and precision (%)"
    groups = (ColumnGroup("ALiiCE", 2), ColumnGroup("ALCE", 2), ColumnGroup("", 1))
    return around.lines("table-3", title, headings, table, [reading], groups)


TABLES = Pipeline(
    name="tables",
    title="ALiiCE",
    paper="Xu et al. 2024, ALiiCE (arXiv 2406.13375), Tables 1, 3 and 4",
    help="""Make Tables 1 and 3 of the ALiiCE paper from your files.

    Table 1 has citation quality, correctness and length of every system.
    Table 3 compares ALiiCE with ALCE on answers that cite within a sentence.
    Those of the SCiFi paper are 'metaeval cite tables scifi'.

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
