"""The pipeline `agreement`: compare people's labels of the same things, by pairs of readers and of all together."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from metaeval.citation.human.annotator_columns import (
    MISSING,
    LabelTable,
    joint_agreement,
    label_columns,
    pair_agreement,
    pairs_of,
    read_label_sets,
)
from metaeval.citation.pipelines import pipeline
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import Pipeline, PipelineMeasure, Run
from metaeval.citation.pipelines.provenance import Provenance, uncertainty
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.files import sha256_json
from metaeval.report.result import Data
from metaeval.report.table import Note, plain
from metaeval.runs.evaluation import resampling_of
from metaeval.stats.estimate import Estimate

_MEASURES = (
    PipelineMeasure("equal", "equal", "share of the units that both labelled with equal labels", digits=2),
    PipelineMeasure("kappa", "kappa", "Cohen's kappa on the units that both labelled", digits=2),
    PipelineMeasure("fleiss", "Fleiss", "Fleiss' kappa on the units that all labelled", digits=2),
    PipelineMeasure("alpha", "alpha", "Krippendorff's alpha, nominal", digits=2),
    PipelineMeasure("alpha_interval", "alpha (interval)", "Krippendorff's alpha of labels that are numbers", digits=2),
)


def as_texts(value: Any) -> Any:
    """Return a single text as a tuple of one; any other value unchanged."""
    return (value,) if isinstance(value, str) else value


class AgreementCommand(pipeline.PipelineOptions):
    """Options of `cite agreement`."""

    files: pipeline.FilesToRead = Field(
        description="Tables of labels: one, or one for each reader, joined by their ids."
    )
    labels: Annotated[tuple[str, ...], BeforeValidator(as_texts), Flag("NAME=COLUMNS", multiple=True)] = Field(
        default=(), description="Columns of labels of the same thing, as NAME=COLUMN,COLUMN. Repeatable."
    )
    against: Annotated[str | None, Flag("COLUMN", hidden=True)] = Field(
        default=None, description="The column (or file) with which each reader's labels are compared."
    )


def _read(run: Run) -> tuple[Run, LabelTable]:
    files: tuple[Path, ...] = run.options.files
    if not run.options.labels:
        raise UserError("Labels are compared by columns: name these with --labels NAME=COLUMN,COLUMN.")
    table = read_label_sets(files, label_columns(run.options.labels, len(files)))
    readers = dict.fromkeys(reader for labels in table.sets for reader in labels.readers)
    if run.options.against not in (None, *readers):
        raise UserError(f"--against {run.options.against} names no column of labels: give one of {', '.join(readers)}.")
    return run, table


def _lay_out(read: tuple[Run, LabelTable]) -> pipeline.Layout:
    run, table = read
    lines, drawn, against = TableLines(), resampling_of(run.config), run.options.against
    for labels in table.sets:
        pairs = pairs_of(labels, against)
        agree = partial(pair_agreement, labels.codes, len(labels.categories), table.group, table.n_groups, drawn)
        people = labels.of_readers([reader for reader in labels.readers if reader != against])
        together = {**agree(pairs), **joint_agreement(table, people, np.arange(len(table.group)), drawn)}
        rows = [(" and ".join(labels.readers[at] for at in pair), list(pair), agree([pair])) for pair in pairs]
        for name, places, values in [*rows, ("all", list(range(len(labels.readers))), together)]:
            units = int((labels.codes[:, places] != MISSING).all(axis=1).sum())
            record: dict[str, Any] = {"labels": labels.name, "readers": name, "units": units}
            cells = []
            for measure in _MEASURES:
                value = values.get(measure.key, Estimate(None))
                cells.append(interval_cell(value.ends, measure.column))
                record |= value.record(measure.key)
            lines.add(plain(labels.name), plain(name), [*cells, f"{units:,}"], record)
    headings = ("readers", *(each.label for each in _MEASURES), "units")
    reading = "equal, kappa: on the units that both labelled (all: mean of the pairs); Fleiss: on those that all did"
    around = _provenance(run, table)
    return pipeline.Layout(
        [around.lines("agreement", "Agreement of readers", headings, lines, [Note("reading", reading)])]
    )


def _provenance(run: Run, table: LabelTable) -> Provenance:
    content = [[each.name, list(each.readers), list(each.categories), each.codes.tolist()] for each in table.sets]
    units = len(table.systems)
    data = Data(
        name=run.name,
        split="labels",
        fingerprint=sha256_json([content, list(table.systems), table.group.tolist()]),
        statements=units,
        documents=0,
        citations=0,
        groups=table.n_groups,
        levels={},
    )
    left = f"; {count(table.left_out, 'row')} of units that not all tables have left out" if table.left_out else ""
    notes = (
        Note("data", f"{count(units, 'unit')}, {count(table.n_groups, 'group')}{left}"),
        uncertainty(run.config.interval, table.n_groups),
    )
    return Provenance(data, "", plain(run.name), {}, run.config.interval, judges=(), after=notes)


AGREEMENT = Pipeline(
    name="agreement",
    title="Agreement",
    paper="Cohen 1960, Fleiss 1971, Krippendorff 2019",
    help="""Compare people's labels of the same things.

    Columns of labels in a table, or in one table for each reader, are compared
    by Cohen's kappa (scikit-learn's), Fleiss' kappa and Krippendorff's alpha.

    \b
    Examples:
      metaeval cite agreement labels.csv --labels utility=ann1,ann2,ann3 --labels recall=r1,r2,r3,aliice \
        --against aliice
      metaeval cite agreement anna.csv ben.csv --labels error=error_type
    """,
    options=AgreementCommand,
    measures=_MEASURES,
    read=_read,
    lay_out=_lay_out,
)
