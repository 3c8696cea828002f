"""The analysis `cite agreement`: compare people's labels of the same things, by pairs of readers and of all."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.human.annotator_columns import (
    MISSING,
    joint_agreement,
    label_columns,
    pair_agreement,
    read_label_sets,
)
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import CitedSheets
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell, uncertainty
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError, count
from metaeval.core.files import sha256_json
from metaeval.report.result import Column, Data
from metaeval.report.table import Note, plain
from metaeval.runs.evaluate import resampling_of
from metaeval.stats.estimate import Estimate

# The share of equal labels among the units that both labelled, Cohen's kappa, Fleiss' kappa, and Krippendorff's alpha,
# nominal and, of labels that are numbers, by intervals.
_TEXT = {"equal": "equal", "kappa": "kappa", "fleiss": "Fleiss", "alpha": "alpha", "alpha_interval": "alpha (interval)"}
_MEASURES = [Column(key=key, label=label, digits=2) for key, label in _TEXT.items()]


def as_texts(value: Any) -> Any:
    """Return a single text as a tuple of one; any other value unchanged."""
    return (value,) if isinstance(value, str) else value


class AgreementOptions(shared.CiteOptions):
    """Options of `cite agreement`."""

    files: Annotated[tuple[Path, ...], BeforeValidator(shared.read_from), Flag("FILE", multiple=True, argument=True)]
    """Tables of labels: one, or one for each reader, joined by their ids."""
    labels: Annotated[tuple[str, ...], BeforeValidator(as_texts), Flag("NAME=COLUMNS", multiple=True)] = ()
    """Columns of labels of the same thing, as NAME=COLUMN,COLUMN. Repeatable."""


def _run(options: AgreementOptions, progress: Progress) -> Done:
    if not options.labels:
        raise UserError("Labels are compared by columns: name these with --labels NAME=COLUMN,COLUMN.")
    table = read_label_sets(options.files, label_columns(options.labels))
    config, units, lines = options.run(), len(table.systems), TableLines()
    drawn = resampling_of(config)
    for labels in table.sets:
        pairs = list(combinations(range(len(labels.readers)), 2))
        agree = partial(pair_agreement, labels.codes, len(labels.categories), table.group, table.n_groups, drawn)
        together = {**agree(pairs), **joint_agreement(table, labels, np.arange(units), drawn)}
        rows = [(" and ".join(labels.readers[at] for at in pair), list(pair), agree([pair])) for pair in pairs]
        for name, places, values in [*rows, ("all", list(range(len(labels.readers))), together)]:
            labelled = int((labels.codes[:, places] != MISSING).all(axis=1).sum())
            known = [values.get(column.key, Estimate(None)) for column in _MEASURES]
            record: dict[str, Any] = {"labels": labels.name, "readers": name, "units": labelled}
            for column, value in zip(_MEASURES, known, strict=True):
                record |= value.record(column.key)
            cells = [interval_cell(value, column) for column, value in zip(_MEASURES, known, strict=True)]
            lines.add(plain(labels.name), plain(name), [*cells, f"{labelled:,}"], record)
    content = [[each.name, list(each.readers), list(each.categories), each.codes.tolist()] for each in table.sets]
    data = Data(
        name=shared.name_of_data(options.files),
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
        uncertainty(config.interval, table.n_groups),
    )
    reading = "equal, kappa: on the units that both labelled (all: mean of the pairs); Fleiss: on those that all did"
    sheet = Provenance(data, "", plain(data.name), {}, config.interval, judges=(), after=notes).lines(
        "agreement",
        "Agreement of readers",
        ("readers", *(column.label for column in _MEASURES), "units"),
        lines,
        [Note("reading", reading)],
    )
    return Done(config=config, sheets=[sheet], value=CitedSheets([sheet]))


AGREEMENT = Analysis(
    name="cite agreement",
    summary="Compare people's labels of the same things.",
    about="""Columns of labels in a table, or in one table for each reader, are compared by Cohen's kappa
(scikit-learn's), Fleiss' kappa and Krippendorff's alpha.""",
    examples=[
        "cite agreement labels.csv --labels utility=ann1,ann2,ann3 --labels recall=r1,r2,r3,aliice",
        "cite agreement anna.csv ben.csv --labels error=error_type",
    ],
    options=AgreementOptions,
    run=_run,
    folder="cite/agreement",
)
