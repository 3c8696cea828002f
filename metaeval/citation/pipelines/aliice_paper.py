"""The pipeline `tables`: Tables 1 (scores of every system), 3 (ALiiCE beside ALCE) and 4 (people) of the ALiiCE paper.

Where a system has several samples (`Answer.sample`), cells are the mean of the samples' values and, in brackets, their
standard deviation (n - 1); else a value with its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from metaeval.citation.alce import correctness
from metaeval.citation.alce.citations import ALIICE, MAUVE_MODEL, AlceProfile, read_alce
from metaeval.citation.alce.correctness import MAUVE
from metaeval.citation.aliice.citation_lines import WITHIN, read_aliice
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.citation_table import Profile
from metaeval.citation.data_model import Answer
from metaeval.citation.human.annotator_columns import LabelTable
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import Statistic, value_of
from metaeval.citation.pipelines.agreement import as_texts
from metaeval.citation.pipelines.alce_and_aliice import MEASURES, TITLES, PremiseName
from metaeval.citation.pipelines.alce_and_aliice_steps import RECALL, CitedAnswers, judge, provenance_of
from metaeval.citation.pipelines.aliice_human_labels import answers_of, people_sheet, read_people
from metaeval.citation.pipelines.layout import IntervalEnds, TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import (
    PIPELINE,
    JudgedByMetrics,
    Layout,
    MakeBackends,
    NameList,
    Pipeline,
    RarelyGivenFiles,
    Run,
    SourcesFile,
)
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.readers.answer_files import gather
from metaeval.citation.stated_answers import StatedAnswers
from metaeval.citation.system_comparison import SystemPanel
from metaeval.config import TrustConfig
from metaeval.config_files import read_experiment
from metaeval.declared import Flag, validated
from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report.result import Column
from metaeval.report.table import Cell, ColumnGroup, Note, Record, Table, format_value, plain
from metaeval.stats.arrays import Ints

_WORDS = Column(key="", label="", digits=1)
_OVERALL: Mapping[str, tuple[tuple[str, ...], Column]] = {
    "Rec.": (("recall",), RECALL),
    "Prec.": (("precision",), RECALL),
    "F1": (("f1",), RECALL),
    "CV_CP": (("cvcp",), Column(key="", label="", digits=2)),
    "Fluency": ((MAUVE,), RECALL),
    "Correct.": (("str_em", "rougeLsum"), RECALL),
    "Length": (("length",), _WORDS),
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
    """Return the settings of a file (or included one, by name; None: defaults), overridden by `settings` not None."""
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

    untyped = frozenset(
        {"calibration", "format", "mauve_model", "premise", "sources", "splitter", "threshold", "trust_config"}
    )

    files: Annotated[tuple[str, ...], Flag("FILE", multiple=True, argument=True)] = Field(
        description="Files of answers, one per system: FILE, or DATASET=FILE,FILE."
    )
    config: Annotated[Path | None, Flag("FILE", "-c")] = Field(
        default=None, description="YAML file of settings, or aliice (included)."
    )
    trust_config: TrustConfig = False
    profile: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Definition, as for 'cite aliice'.")
    parser: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Parser, as for 'cite aliice'.")
    splitter: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Splitter: auto, nltk, rules.")
    format: Annotated[str | None, Flag("NAME", "-f")] = Field(default=None, description="Format, as for 'cite alce'.")
    sources: SourcesFile = None
    premise: PremiseName = "joint"
    human: RarelyGivenFiles = Field(
        default=(), description="Table of people's labels of the answers, for Table 4; or one for each reader."
    )
    labels: Annotated[tuple[str, ...], BeforeValidator(as_texts), Flag("NAME=COLUMNS", multiple=True, hidden=True)] = (
        Field(default=(), description="Columns of labels: utility, citation_utility, recall, precision. Repeatable.")
    )
    mauve_model: Annotated[str, Flag("MODEL")] = Field(
        default=MAUVE_MODEL, description="Model of the fluency: hub id or folder; none: no fluency."
    )

    @model_validator(mode="before")
    @classmethod
    def _with_the_file(cls, values: dict[str, Any]) -> dict[str, Any]:
        settings = {name: values.get(name) or None for name in (*PaperConfig.model_fields, "trust_config")}
        return {**values, **read_paper(values.get("config"), settings).model_dump()}

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Always empty: the result is not named after files, since every data set has a folder of its own."""
        return ()

    @property
    def read_files(self) -> tuple[Path, ...]:
        """The files of all data sets, and of people's labels."""
        return (*(path for paths in read_files(self.files).values() for path in paths), *self.human)


SampledValue = tuple[IntervalEnds, Sequence[float]]
"""A value of a system with its interval, and the values of its samples (empty for fewer than two)."""

_ReadTables = tuple[Run, dict[str, tuple[StatedAnswers, StatedAnswers]], LabelTable | None]


def _read(run: Run) -> _ReadTables:
    """Return the run, the (ALiiCE, ALCE) reading of each data set's answers by name, and people's labels or None."""
    options = run.options
    people = read_people(options.human, options.labels)
    profile = aliice_profile(options.profile)
    splitter = find_sentence_splitter(options.splitter)
    read = {}
    for name, paths in read_files(options.files).items():
        answers = gather(paths, options.format, options.sources)
        aliice = read_aliice(answers, profile, splitter, options.parser)
        read[name or "answers"] = aliice, read_alce(answers, read_alike(profile), splitter)
    if people and not any((answers_of(people, aliice.answers) >= 0).any() for aliice, _ in read.values()):
        raise UserError(f"No row of {options.human[0]} is of one of these answers: write their ids in its column id.")
    return run, read, people


def _measures(options: TablesCommand, answers: Sequence[Answer]) -> Sequence[str]:
    """Return the measures of the text: with MAUVE where its package, its model and references are at hand.

    Raises `UserError` for a model that was named and cannot be used.
    """
    referenced = any(answer.reference.get("answer") for answer in answers)
    if options.mauve_model == "none" or find_spec("mauve") is None or not referenced:
        return ()
    wanted = (*correctness.MEASURES, MAUVE)
    try:
        correctness.text_measures(answers[:1], wanted=(MAUVE,), mauve_model=options.mauve_model)
    except UserError:
        if "mauve_model" in options.model_fields_set:
            raise
        return ()  # the default model is not at hand
    return wanted


def read_alike(profile: Profile) -> AlceProfile:
    """Return ALCE's profile "aliice", reading the same marks and passages as a profile of ALiiCE."""
    shared = ("styles", "leading", "bound", "zero", "out_of_range", "untitled")
    return replace(ALIICE, **{name: getattr(profile, name) for name in shared})


def _judge(read: _ReadTables, backends: MakeBackends) -> Layout:
    """Return Tables 1, 3 and 4 and the values of Figure 4 of every data set, each in its own folder."""
    run, answers, people = read
    tables = {}
    for name, (by_claim, by_sentence) in answers.items():
        splitter = find_sentence_splitter(run.options.splitter)
        wanted = _measures(run.options, by_claim.answers)
        model = {"mauve_model": run.options.mauve_model}
        aliice = judge(by_claim, backends(), run.config, wanted, splitter, **model)
        alce = judge(by_sentence, backends(), run.config, ("length",), splitter)
        where = f"{plain(name)}, profile {plain(aliice.fields['profile'])}"
        around = replace(provenance_of(aliice, name), kind="aliice", subtitle=where)
        folder = safe_name(name)
        tables[f"{folder}/table-1"] = _overall(aliice, around)
        tables[f"{folder}/table-3"] = _side_by_side(aliice, alce, around)
        tables[f"{folder}/figure-4"] = _all_answers(aliice, alce, around, name if len(answers) > 1 else "")
        if people and (answers_of(people, aliice.panel.answers) >= 0).any():
            tables[f"{folder}/table-4"] = people_sheet(aliice, people, around)
    return Layout(tables)


def _records(system: str, answers: int | None, values: Mapping[str, SampledValue]) -> list[Record]:
    return [
        {"system": system, "answers": answers, "measure": key, "value": value, "low": low, "high": high}
        | {"samples": len(samples) or 1, "mean": mean(samples) if samples else None, "sd": _deviation(samples)}
        for key, ((value, low, high), samples) in values.items()
    ]


def _deviation(samples: Sequence[float]) -> float | None:
    return stdev(samples) if len(samples) > 1 else None


def _cell(measured: SampledValue | None, column: Column) -> Cell | str:
    ends, samples = measured or (None, ())
    if len(samples) < 2:
        return interval_cell(ends, column)
    return f"{format_value(mean(samples), column)} ({format_value(stdev(samples), column)})"


def _measured(panel: SystemPanel, statistic: Statistic, rows: Ints) -> SampledValue:
    return panel.interval_over(statistic, rows).ends, panel.of_samples(rows, partial(value_of, statistic))


def _of_all(panel: SystemPanel, value: Callable[[Sequence[Answer]], float | None], rows: Ints) -> SampledValue:
    """Return a measure of all answers of a system together, which has no interval."""

    def of(chosen: Ints) -> float | None:
        return value([panel.answers[row] for row in chosen])

    return (of(rows), None, None), panel.of_samples(rows, of)


def _overall(cited: CitedAnswers, around: Provenance) -> Table:
    """Return Table 1: citation quality, CVCP, correctness and length of every system."""
    known = {**cited.judged[0].statistics, **cited.statistics}
    table, length = TableLines(), cited.statistics["length"].alone
    columns = {name: of for name, of in _OVERALL.items() if name != "Fluency" or cited.mauve}
    shown = {key: known[key] for keys, _ in columns.values() for key in keys if key in known}
    for number, system in enumerate(cited.panel.systems):
        rows = cited.panel.rows(number)
        values = {key: _measured(cited.panel, statistic, rows) for key, statistic in shown.items()}
        if cited.mauve:
            values[MAUVE] = _of_all(cited.panel, cited.mauve, rows)
        cells = []
        for keys, column in columns.values():
            # The first of the two measures of correctness that the answers have.
            defined = [values[key] for key in keys if key in values and values[key][0][0] is not None]
            cells.append(_cell(next(iter(defined), None), column))
        words = [value for row in rows.tolist() if (value := length[row]) is not None]
        values["length_sd"] = (_deviation(words), None, None), ()
        cells.append(_cell(values["length_sd"], _WORDS))
        table.add("", system, cells, *_records(system, None, values))
    reading = (
        "as Table 1 of the ALiiCE paper. Values have intervals; mean (standard deviation) where a system has several "
        "samples. Correct.: EM recall, or ROUGE-Lsum where there are no short answers. SD: standard deviation of "
        "the length over answers (n - 1). Fluency: MAUVE"
    )
    lacking = (
        "" if "Fluency" in columns else ", which needs the package mauve-text with its model, and reference answers"
    )
    notes = [Note("reading", reading + lacking)]
    return around.lines("table-1", "Citation quality, correctness and length", ("Model", *columns, "SD"), table, notes)


def _side_by_side(aliice: CitedAnswers, alce: CitedAnswers, around: Provenance) -> Table:
    """Return Table 3: recall and precision of both pipelines on answers with a citation within a sentence."""
    within = np.array(aliice.statistics[WITHIN].alone, dtype=np.float64) == 1
    table = TableLines()
    for number, system in enumerate(aliice.panel.systems):
        rows = np.flatnonzero(within & (aliice.panel.system == number))
        values = {f"{name}_{key}": value for (name, key), value in _both(aliice, alce, rows).items()}
        cells = [_cell(measured, RECALL) for measured in values.values()]
        table.add("", system, [*cells, f"{rows.size:,}"], *_records(system, int(rows.size), values))
    reading = Note(
        "reading",
        "as Tables 3, 4 and 6 of the ALiiCE paper: answers with a citation between the words of a sentence. ALCE: its "
        "profile aliice, in which only sentences with citations count, and all lines and marks are read",
    )
    title = "Answers that cite within a sentence: recall and precision (%)"
    return _beside(around, alce).lines("table-3", title, _HEADINGS, table, [reading], _GROUPS)


_HEADINGS = ("Model", "Rec.", "Prec.", "Rec.", "Prec.", "answers")
_GROUPS = (ColumnGroup("ALiiCE", 2), ColumnGroup("ALCE", 2), ColumnGroup("", 1))


def _both(aliice: CitedAnswers, alce: CitedAnswers, rows: Ints) -> dict[tuple[str, str], SampledValue]:
    """Return recall and precision of both pipelines over some answers, by (pipeline, measure)."""
    return {
        (cited.stated.name, key): _measured(cited.panel, cited.judged[0].statistics[key], rows)
        for cited in (aliice, alce)
        for key in ("recall", "precision")
    }


def _beside(around: Provenance, alce: CitedAnswers) -> Provenance:
    """Return ALiiCE's provenance with ALCE's profile among its fields."""
    return replace(around, fields={**around.fields, "alce": alce.fields["profile"]})


def _all_answers(aliice: CitedAnswers, alce: CitedAnswers, around: Provenance, data: str) -> Table:
    """Return the values of Figure 4: recall and precision of both pipelines on all answers.

    data: name of the data set, which stands before that of the system in the figure; "" where there is only one.
    """
    table = TableLines()
    for number, system in enumerate(aliice.panel.systems):
        rows = aliice.panel.rows(number)
        values = _both(aliice, alce, rows)
        records = [
            {**record, "line": f"{data}: {system}" if data else system, PIPELINE: TITLES[name]}
            for (name, key), value in values.items()
            for record in _records(system, int(rows.size), {key: value})
        ]
        table.add("", system, [*(_cell(value, RECALL) for value in values.values()), f"{rows.size:,}"], *records)
    reading = Note("reading", "as Figure 4 of the ALiiCE paper: all answers; ALCE by its profile aliice")
    title = "All answers: recall and precision (%)"
    return _beside(around, alce).lines("figure-4", title, _HEADINGS, table, [reading], _GROUPS)


TABLES = Pipeline(
    name="tables",
    title="ALiiCE",
    paper="Xu et al. 2024, ALiiCE (arXiv 2406.13375), Tables 1, 3 and 4",
    help="""Make Tables 1, 3 and 4 of the ALiiCE paper from your files.

    Table 1 has citation quality, correctness and length of every system.
    Table 3 compares ALiiCE with ALCE on answers that cite within a sentence.
    Table 4 has people's labels of these, from --human FILE and --labels
    NAME=COLUMN,COLUMN (utility, citation_utility, recall, precision).
    Those of the SCiFi paper are 'metaeval cite tables scifi'.

    \b
    Examples:
      metaeval cite tables answers.json
      metaeval cite tables ASQA=a.json,b.json ELI5=c.json -c aliice
      metaeval cite tables a.json b.json -c aliice --nli rouge --parser small
    """,
    options=TablesCommand,
    measures=MEASURES,
    drawn=("line", PIPELINE),
    backends="one",
    read=_read,
    judge=_judge,
)
