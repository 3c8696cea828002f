"""The pipeline `agreement`: automatic verdicts on sentences and on citations, held against human labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from metaeval.citation.alce.labels import LabelledAnswer, UnitLabels, agreement, fleiss, gather_labels, read_labels
from metaeval.citation.measures import group_codes
from metaeval.citation.model import Answer
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import (
    JudgedByMetrics,
    Judges,
    Layout,
    MakeBackends,
    Measure,
    Pipeline,
    Run,
    Splitter,
)
from metaeval.citation.pipelines.provenance import Provenance, data_of, uncertainty
from metaeval.citation.pipelines.verdicts import Backend
from metaeval.declared import Flag
from metaeval.errors import UserError
from metaeval.report.cells import cell
from metaeval.report.result import Column
from metaeval.report.table import Note, count, plain
from metaeval.runs.evaluation import resampling_of

_TWO = Column(key="", label="", digits=2)
_PERCENT = Column(key="", label="", scale=100, digits=1)
UNITS: Mapping[str, str] = {"sentence": "recall: is the sentence supported?", "citation": "precision: is the citation?"}


class AgreementCommand(JudgedByMetrics):
    """Options of `cite agreement`."""

    untyped = frozenset({"calibration", "splitter"})

    file: Annotated[Path, Flag("FILE", argument=True)] = Field(
        description="Labels as ALCE's human_eval_citations_completed.json."
    )
    nli: Judges = Field(default=(), description="Metric that judges the same answers. Repeatable.")
    splitter: Splitter = "auto"


def _judge(read: tuple[Run, list[LabelledAnswer]], backends: MakeBackends) -> Layout:
    """Every rater against the people, sentences above citations."""
    run, labelled = read
    made = list(backends())
    labels = gather_labels(labelled, {one.name: one.entails for one in made}, run.splitter)
    if not labels["sentence"].raters:
        raise UserError(
            f"{run.options.file} holds no automatic verdicts to hold against its labels: name a backend with --nli."
        )
    table, all_raters = TableLines(), []
    n_groups = group_codes([one.answer for one in labelled])[1]
    for unit, title in UNITS.items():
        for one in agreement(labels[unit], n_groups, resampling_of(run.config)):
            accuracy = interval_cell(one.accuracy.ends, _TWO)
            kappa = interval_cell(one.kappa.ends, _TWO, signed=(one.kappa.low or 0) < 0)
            supported = [cell(share, column=_PERCENT) for share in one.supported]
            numbers = {"units": one.units, "missing": one.missing}
            table.add(
                title,
                one.rater,
                [accuracy, kappa, *supported, *(f"{number:,}" for number in numbers.values())],
                {
                    **{"unit": unit, "rater": one.rater, **numbers},
                    **one.accuracy.named("accuracy"),
                    **one.kappa.named("kappa"),
                    **dict(zip(("human_supported", "rater_supported"), one.supported, strict=True)),
                },
            )
        if (together := fleiss(labels[unit])) is not None:
            all_raters.append((unit, f"{together:.2f}"))
    headings = ("rater", "accuracy", "kappa", "human %", "rater %", "units", "missing")
    around = _provenance(run, [one.answer for one in labelled], made, labels, all_raters)
    return Layout([around.lines("agreement", "Agreement with human labels", headings, table)])


def _provenance(
    run: Run,
    answers: Sequence[Answer],
    backends: Sequence[Backend],
    labels: Mapping[str, UnitLabels],
    all_raters: Sequence[tuple[str, str]],
) -> Provenance:
    data = data_of(run.name, "human labels", answers, labels["sentence"].human.size, labels["citation"].human.size)
    systems = {one.system for one in answers}
    cutoffs = [(plain(one.name), one.cutoff) for one in backends if one.cutoff.value is not None]
    notes = (
        Note("data", f"{count(len(answers), 'labelled answer')} of {count(len(systems), 'system')}"),
        Note("verdicts", "", tuple((name, f"supported from {own.value:g} on ({own.source})") for name, own in cutoffs)),
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
    help="""Compare verdicts with human labels of sentences and citations.

    Accuracy and kappa of the automatic verdicts in the file, and of any
    metric. Claims with human levels of support: 'metaeval thresholds --learn'.

    \b
    Examples:
      metaeval cite agreement human_eval_citations_completed.json
      metaeval cite agreement human_eval_citations_completed.json --nli autoais
      metaeval thresholds minilm-bertscore --learn -d expertqa --data ../shared/data
    """,
    options=AgreementCommand,
    measures=(
        Measure("accuracy", "accuracy", "share of the units that a rater and the people decide alike", digits=2),
        Measure("kappa", "kappa", "Cohen's kappa with the people", digits=2),
    ),
    backends="optional",
    decides="Agreement is between decisions",
    read=lambda run: (run, read_labels(run.options.file)),
    judge=_judge,
)
