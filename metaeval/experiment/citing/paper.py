"""The tables of the ALiiCE paper: every system's scores (Table 1), and ALiiCE beside ALCE (Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from metaeval.config import Names, RunConfig, config_folders, load_run, read_yaml, validated
from metaeval.errors import UserError, unknown
from metaeval.experiment.citing.judging import Cited, by_key, gather, judge
from metaeval.experiment.citing.notes import data_of, notes_of, sheet_of, signatures_of
from metaeval.experiment.citing.pipelines import WITHIN, read_pipeline
from metaeval.experiment.citing.quantities import Interval, Quantity, interval_over
from metaeval.experiment.citing.run import backends_of, find_cutoffs
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.sheet import Record, Sheet
from metaeval.report.citation.layout import Frame
from metaeval.report.citation.paper import OVERALL, PaperRow, overall_grid, side_by_side_grid
from metaeval.report.grid import Grid
from metaeval.report.number_format import plain
from metaeval.scoring.store import ScoreStore


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
    values: dict[str, Any] = {}
    if path is not None:
        known = {file.stem: file for folder in config_folders("citation") for file in sorted(folder.glob("*.yaml"))}
        if not path.is_file() and str(path) not in known:
            raise unknown("citation experiment", str(path), known, "Or give the path of a YAML file that exists.")
        values = read_yaml(path if path.is_file() else known[str(path)])
    values |= {key: value for key, value in given.items() if value is not None}
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


def paper_tables(
    config: PaperConfig,
    files: Mapping[str, Sequence[Path]],
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    progress: MetricProgress | None = None,
) -> tuple[RunConfig, list[tuple[str, list[Sheet]]]]:
    """Table 1 and Table 3 of every data set, by its name; nothing is written but the score store.

    Raises `UserError` as a citation run does.
    """
    run = load_run(None, {**settings, "metrics": config.nli}, overrides)
    cutoffs = find_cutoffs(config.nli, run, config.threshold)
    found: list[tuple[str, list[Sheet]]] = []
    with ScoreStore(run.store_path) as store:
        for name, paths in files.items():
            answers = gather(paths, config.format)
            aliice, alce = (
                judge(
                    read_pipeline(pipeline, answers, config.profile, config.parser, config.splitter),
                    backends_of(cutoffs, run, store, "joint", progress),
                    run,
                )
                for pipeline in ("aliice", "alce")
            )
            named = name or "answers"
            sheets = [
                _sheet(aliice, named, "table-1", overall_grid, _overall(aliice)),
                _sheet(aliice, named, "table-3", side_by_side_grid, _side_by_side(aliice, alce)),
            ]
            found.append((named, sheets))
    return run, found


def _overall(cited: Cited) -> list[PaperRow]:
    quantities = by_key([*cited.judged[0].quantities, *cited.pipeline.quantities])
    shown = [key for key in OVERALL if key in quantities]
    return [
        PaperRow(system, {key: _ends(cited.interval(quantities[key], number)) for key in shown})
        for number, system in enumerate(cited.systems)
    ]


def _side_by_side(aliice: Cited, alce: Cited) -> list[PaperRow]:
    """Recall and precision of both pipelines on the answers with a citation within a sentence."""
    within = np.array(aliice.pipeline.values[WITHIN], dtype=np.float64) == 1
    rows = []
    for number, system in enumerate(aliice.systems):
        own = np.flatnonzero(within & (aliice.system == number))
        values = {
            f"{cited.pipeline.name}_{key}": _ends(_on(cited, by_key(cited.judged[0].quantities)[key], own))
            for cited in (aliice, alce)
            for key in ("recall", "precision")
        }
        rows.append(PaperRow(system, values, int(own.size)))
    return rows


def _on(cited: Cited, quantity: Quantity, rows: np.ndarray[Any, np.dtype[np.intp]]) -> Interval:
    return interval_over(quantity, rows, cited.group, cited.draws, cited.config.interval.level)


def _ends(interval: Interval) -> tuple[float | None, float | None, float | None]:
    return interval.value, interval.low, interval.high


def _sheet(
    cited: Cited, dataset: str, name: str, layout: Callable[[Frame, Sequence[PaperRow]], Grid], rows: Sequence[PaperRow]
) -> Sheet:
    data = data_of(cited, dataset)
    where = f"{plain(dataset)}, profile {plain(str(cited.pipeline.fields['profile']))}"
    frame = Frame((name, dataset, "aliice"), "", where, notes_of(cited, data), signatures_of(cited, data))
    records: list[Record] = [
        {"system": row.system, "answers": row.answers, "measure": key, "value": value, "low": low, "high": high}
        for row in rows
        for key, (value, low, high) in row.values.items()
    ]
    return sheet_of(cited, data, name, records, layout(frame, rows))
