"""The pipeline `agreement`: compare automatic verdicts on sentences and citations with human labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from metaeval.citation.alce.human_labels import (
    LabelledAnswer,
    UnitLabels,
    agreement,
    fleiss,
    gather_labels,
    read_labels,
)
from metaeval.citation.data_model import Answer
from metaeval.citation.human.annotator_columns import LabelTable, read_label_sets
from metaeval.citation.measures import group_codes
from metaeval.citation.pipelines import pipeline
from metaeval.citation.pipelines.label_agreement_tables import label_columns, label_sheets
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import JudgedByMetrics, Pipeline, Run
from metaeval.citation.pipelines.provenance import Provenance, data_of, uncertainty
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.report.result import Column
from metaeval.report.result_tables import cell
from metaeval.report.table import Note, plain
from metaeval.runs.evaluation import resampling_of

_TWO = Column(key="", label="", digits=2)
_PERCENT = Column(key="", label="", scale=100, digits=1)
UNITS: Mapping[str, str] = {"sentence": "recall: is the sentence supported?", "citation": "precision: is the citation?"}


def as_texts(value: Any) -> Any:
    """Return a single text as a tuple of one; any other value unchanged."""
    return (value,) if isinstance(value, str) else value


class AgreementCommand(JudgedByMetrics):
    """Options of `cite agreement`."""

    untyped = frozenset({"calibration", "splitter"})

    file: Annotated[Path, Flag("FILE", argument=True)] = Field(
        description="Human labels, in the format of ALCE's human_eval_citations_completed.json; with --labels a table."
    )
    labels: Annotated[tuple[str, ...], BeforeValidator(as_texts), Flag("NAME=COLUMNS", multiple=True)] = Field(
        default=(), description="Columns of labels of the same thing, as NAME=COLUMN,COLUMN. Repeatable."
    )
    other: pipeline.Files = Field(
        default=(), description="With --labels: the tables of further readers, joined by their ids. Repeatable."
    )
    against: Annotated[str | None, Flag("COLUMN", hidden=True)] = Field(
        default=None, description="With --labels: the column (or file) with which each reader's labels are compared."
    )
    nli: pipeline.Judges = Field(default=(), description="Metrics to compare with the labels. Repeatable.")
    splitter: pipeline.Splitter = "auto"

    @property
    def read_files(self) -> tuple[Path, ...]:
        """The files that are read: that of the labels, and with --labels the tables of further annotators."""
        return (self.file, *self.other)


def _read(run: Run) -> tuple[Run, list[LabelledAnswer] | LabelTable]:
    options: AgreementCommand = run.options
    if options.labels:
        if options.judges:
            raise UserError("Columns of labels are compared with each other: leave --nli out, or --labels.")
        return run, read_label_sets(options.read_files, label_columns(options.labels, len(options.read_files)))
    if options.other or options.against:
        raise UserError("--other and --against are for columns of labels: name these with --labels NAME=COLUMN,COLUMN.")
    return run, read_labels(options.file)


def _judge(read: tuple[Run, list[LabelledAnswer] | LabelTable], backends: pipeline.MakeBackends) -> pipeline.Layout:
    run, labels = read
    if isinstance(labels, LabelTable):
        return pipeline.Layout(label_sheets(run, labels))
    return _compare(run, labels, backends)


def _compare(run: Run, labelled: Sequence[LabelledAnswer], backends: pipeline.MakeBackends) -> pipeline.Layout:
    """Return the table that compares every rater (automatic verdicts in the file, metrics) with the human labels."""
    judges = list(backends())
    labels = gather_labels(labelled, {judge.name: judge.entails for judge in judges}, run.splitter)
    if not labels["sentence"].raters:
        raise UserError(f"{run.options.file} holds human labels, but no automatic verdicts: name a metric with --nli.")
    table, all_raters = TableLines(), []
    n_groups = group_codes([row.answer for row in labelled])[1]
    for unit, title in UNITS.items():
        for rater in agreement(labels[unit], n_groups, resampling_of(run.config)):
            accuracy = interval_cell(rater.accuracy.ends, _TWO)
            kappa = interval_cell(rater.kappa.ends, _TWO, signed=(rater.kappa.low or 0) < 0)
            supported = [cell(share, column=_PERCENT) for share in rater.supported]
            numbers = {"units": rater.units, "missing": rater.missing}
            table.add(
                title,
                rater.rater,
                [accuracy, kappa, *supported, *(f"{number:,}" for number in numbers.values())],
                {
                    **{"unit": unit, "rater": rater.rater, **numbers},
                    **rater.accuracy.named("accuracy"),
                    **rater.kappa.named("kappa"),
                    **dict(zip(("human_supported", "rater_supported"), rater.supported, strict=True)),
                },
            )
        if (together := fleiss(labels[unit])) is not None:
            all_raters.append((unit, f"{together:.2f}"))
    headings = ("rater", "accuracy", "kappa", "human %", "rater %", "units", "missing")
    around = _provenance(run, [row.answer for row in labelled], judges, labels, all_raters)
    return pipeline.Layout([around.lines("agreement", "Agreement with human labels", headings, table)])


def _provenance(
    run: Run,
    answers: Sequence[Answer],
    backends: Sequence[Backend],
    labels: Mapping[str, UnitLabels],
    all_raters: Sequence[tuple[str, str]],
) -> Provenance:
    data = data_of(run.name, "human labels", answers, labels["sentence"].human.size, labels["citation"].human.size)
    systems = {answer.system for answer in answers}
    cutoffs = [(plain(backend.name), backend.cutoff) for backend in backends if backend.cutoff.value is not None]
    notes = (
        Note("data", f"{count(len(answers), 'labelled answer')} of {count(len(systems), 'system')}"),
        Note(
            "verdicts",
            "",
            tuple((name, f"supported from {cutoff.value:g} on ({cutoff.source})") for name, cutoff in cutoffs),
        ),
        Note("Fleiss' kappa", "of the people and all raters together" if all_raters else "", tuple(all_raters)),
        Note("reading", "kappa: Cohen's, with the people; missing: units that the rater did not judge"),
        uncertainty(run.config.interval, data.groups),
    )
    fields = {"splitter": run.splitter.name}
    return Provenance(data, "", plain(run.name), fields, run.config.interval, judges=(), after=notes)


AGREEMENT = Pipeline(
    name="agreement",
    title="Agreement",
    paper="Gao et al. 2023 (ALCE, arXiv 2305.14627), human evaluation",
    help="""Compare automatic verdicts with human labels.

    Reports accuracy and Cohen's kappa, for sentences and for citations, of the
    automatic verdicts in the file and of any metric. With --labels it compares any columns of labels in tables, by
    Cohen's, Fleiss' and Krippendorff's coefficients, and shows them by system. To choose a threshold from human levels
    of support, use 'metaeval thresholds --learn'.

    \b
    Examples:
      metaeval cite agreement human_eval_citations_completed.json
      metaeval cite agreement human_eval_citations_completed.json --nli autoais
      metaeval cite agreement labels.csv --labels utility=ann1,ann2,ann3 --labels recall=r1,r2,r3,aliice \
        --against aliice
      metaeval cite agreement anna.csv --other ben.csv --labels error=error_type
      metaeval thresholds minilm-bertscore --learn -d expertqa
    """,
    options=AgreementCommand,
    measures=(
        pipeline.PipelineMeasure("accuracy", "accuracy", "share of units where rater and people agree", digits=2),
        pipeline.PipelineMeasure("kappa", "kappa", "Cohen's kappa with the people", digits=2),
    ),
    backends="optional",
    decides="Agreement needs decisions",
    read=_read,
    judge=_judge,
)
