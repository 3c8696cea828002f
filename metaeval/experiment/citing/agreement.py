"""The pipeline `agreement`: automatic verdicts on sentences and on citations, held against human labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from metaeval.citation.alce.citations import alce_lines
from metaeval.citation.alce.options import RELEASED
from metaeval.citation.measures import Interval, group_codes, interval_of
from metaeval.citation.sentences import SentenceSplitter
from metaeval.citation.table import Line
from metaeval.config import Flag, IntervalConfig
from metaeval.errors import UserError
from metaeval.experiment.citing.human_labels import Labelled, read_labels
from metaeval.experiment.citing.pipeline import (
    JudgedByMetrics,
    Layout,
    MakeBackends,
    Measure,
    Names,
    Pipeline,
    Run,
    Splitter,
)
from metaeval.experiment.citing.provenance import Provenance, data_of, uncertainty
from metaeval.experiment.sheet import Record, known
from metaeval.experiment.verdicts import Backend
from metaeval.report.citation.layout import interval_cell, lines_grid
from metaeval.report.grid import Cell, Note, count, plain
from metaeval.report.result import Column
from metaeval.stats.agreement import cohen_kappa, fleiss_kappa
from metaeval.stats.arrays import ratio
from metaeval.stats.classification import decision_counts, resampled
from metaeval.stats.resampling import bootstrap, replicate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MISSING = -1
"""Of a rater who said nothing of a unit."""

PUBLISHED = "automatic, as published"
_TWO = Column(key="", label="", digits=2)
_PERCENT = Column(key="", label="", scale=100, digits=1)
UNITS: Mapping[str, str] = {"sentence": "recall: is the sentence supported?", "citation": "precision: is the citation?"}


@dataclass(frozen=True, eq=False)
class Labels:
    """What the people and every other rater said of the same units, (n,) each: 1 support, 0 none, or MISSING.

    group: (n,) codes of the questions.
    """

    human: Ints
    group: Ints
    n_groups: int
    raters: Mapping[str, Ints]


@dataclass(frozen=True)
class Agreed:
    """One rater against the people, on the units that both judged.

    supported: the share of them that the people support, and that the rater does.
    """

    rater: str
    units: int
    missing: int
    accuracy: Interval
    kappa: Interval
    supported: tuple[float | None, float | None]


def gather_labels(
    labelled: Sequence[Labelled], backends: Sequence[Backend], splitter: SentenceSplitter
) -> dict[str, Labels]:
    """Labels by unit. Backends judge as the released ALCE code does, for its sentences are the ones that were labelled.

    Where the sentences of an answer, or the citations of a sentence, are not as many as the labels, no rater but the
    published one is taken to have judged them.
    """
    raters = {PUBLISHED: _published(labelled)} if any(one.automatic_recall for one in labelled) else {}
    answers = [one.answer for one in labelled]
    for backend in backends:
        raters[backend.name] = _aligned(labelled, alce_lines(answers, backend.entails, RELEASED, splitter))
    codes, n_groups = group_codes(answers)
    human = [(list(one.recall), [list(own) for own in one.precision]) for one in labelled]
    return {
        unit: Labels(
            human=_column(human, unit),
            group=np.repeat(codes, [len(_flat(one, unit)) for one in human]),
            n_groups=n_groups,
            raters={name: _column(said, unit) for name, said in raters.items()},
        )
        for unit in UNITS
    }


_Said = tuple[list[int], list[list[int]]]
"""Of one answer: a verdict on each sentence, and on each citation of each sentence."""


def _published(labelled: Sequence[Labelled]) -> list[_Said]:
    said: list[_Said] = []
    for one in labelled:
        recall = list(one.automatic_recall or [MISSING] * len(one.recall))
        given = one.automatic_precision or [()] * len(one.recall)
        precision = [_as_many(list(own), len(of)) for own, of in zip(given, one.precision, strict=True)]
        said.append((recall, precision))
    return said


def _aligned(labelled: Sequence[Labelled], lines: Sequence[Line]) -> list[_Said]:
    by_answer: dict[str, dict[int, list[Line]]] = {}
    for line in lines:
        if line.claim_number is not None:
            by_answer.setdefault(line.answer, {}).setdefault(line.claim_number, []).append(line)
    said: list[_Said] = []
    for one in labelled:
        own = list(by_answer.get(one.answer.id, {}).values())
        if len(own) != len(one.recall):
            own = [[] for _ in one.recall]
        recall = [_code(few[0].recall) if few else MISSING for few in own]
        precision = [
            _as_many([_code(line.precision) for line in few if line.state in ("judged", "unjudged")], len(of))
            for few, of in zip(own, one.precision, strict=True)
        ]
        said.append((recall, precision))
    return said


def _as_many(values: list[int], wanted: int) -> list[int]:
    return values if len(values) == wanted else [MISSING] * wanted


def _code(value: int | None) -> int:
    return MISSING if value is None else value


def _flat(said: _Said, unit: str) -> list[int]:
    return said[0] if unit == "sentence" else [value for own in said[1] for value in own]


def _column(said: Sequence[_Said], unit: str) -> Ints:
    return np.array([value for one in said for value in _flat(one, unit)], dtype=np.int64)


def agreement(labels: Labels, interval: IntervalConfig) -> list[Agreed]:
    """Accuracy and Cohen's kappa of every rater with the people; intervals draw questions."""
    draws = bootstrap(labels.n_groups, interval.resamples, interval.seed)
    found = []
    for name, said in labels.raters.items():
        both = said != MISSING
        human, own = labels.human[both], said[both]
        counts = decision_counts(own, human, labels.group[both], labels.n_groups, 2)
        values = [
            interval_of(replicate(resampled(counts, measure), draws), interval.level)
            for measure in (_agreed, cohen_kappa)
        ]
        shares = tuple(known(float(column.mean())) if column.size else None for column in (human, own))
        missing = int((~both).sum())
        found.append(Agreed(name, int(both.sum()), missing, values[0], values[1], (shares[0], shares[1])))
    return found


def _agreed(counts: Floats) -> Floats:
    """Share of the units that two raters decide alike, from counts (..., 2, 2), be they all of one kind."""
    return ratio(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1)))


def fleiss(labels: Labels) -> float | None:
    """Fleiss' kappa of the people's label and all raters on the units that all judged; None with fewer than three."""
    columns = np.stack([labels.human, *labels.raters.values()])
    if columns.shape[0] < 3:
        return None
    whole = columns[:, (columns != MISSING).all(axis=0)]
    support = whole.sum(axis=0).astype(np.float64)
    return known(fleiss_kappa(np.stack([columns.shape[0] - support, support], axis=1)))


class AgreementCommand(JudgedByMetrics):
    """Options of `cite agreement`."""

    file: Annotated[Path, Flag("FILE", argument=True)] = Field(
        description="Labels as ALCE's human_eval_citations_completed.json."
    )
    nli: Names = Field(default=(), description="Metric that judges the same answers. Repeatable.")
    splitter: Splitter = "auto"


@dataclass(frozen=True, eq=False)
class _Rated:
    """The labelled answers with the labels of every rater, by unit."""

    run: Run
    labelled: Sequence[Labelled]
    backends: Sequence[Backend]
    labels: Mapping[str, Labels]


def _read(run: Run) -> tuple[Run, list[Labelled]]:
    return run, read_labels(run.options.file)


def _judge(read: tuple[Run, list[Labelled]], backends: MakeBackends) -> _Rated:
    run, labelled = read
    made = list(backends())
    labels = gather_labels(labelled, made, run.splitter)
    if not labels["sentence"].raters:
        raise UserError(
            f"{run.options.file} holds no automatic verdicts to hold against its labels: name a backend with --nli."
        )
    return _Rated(run, labelled, made, labels)


def _lay_out(rated: _Rated) -> Layout:
    """Every rater against the people, sentences above citations."""
    blocks: list[tuple[str, list[tuple[str, list[Cell]]]]] = []
    records: list[Record] = []
    all_raters = []
    for unit, title in UNITS.items():
        found = agreement(rated.labels[unit], rated.run.config.interval)
        blocks.append((title, [(one.rater, _cells(one)) for one in found]))
        records += [_record(unit, one) for one in found]
        if (together := fleiss(rated.labels[unit])) is not None:
            all_raters.append((unit, f"{together:.2f}"))
    headings = ("accuracy", "kappa", "human %", "rater %", "units", "missing")
    sheet = _provenance(rated, all_raters).sheet(
        "agreement", "Agreement with human labels", records, lambda frame: lines_grid(frame, "rater", headings, blocks)
    )
    return Layout([sheet])


def _provenance(rated: _Rated, all_raters: Sequence[tuple[str, str]]) -> Provenance:
    run, labels = rated.run, rated.labels
    answers = [one.answer for one in rated.labelled]
    data = data_of(run.name, "human labels", answers, labels["sentence"].human.size, labels["citation"].human.size)
    systems = {one.system for one in answers}
    cutoffs = [(plain(one.name), one.cutoff) for one in rated.backends if one.cutoff.value is not None]
    notes = (
        Note("data", f"{count(len(answers), 'labelled answer')} of {count(len(systems), 'system')}"),
        Note("verdicts", "", tuple((name, f"supported from {own.value:g} on ({own.source})") for name, own in cutoffs)),
        Note("Fleiss' kappa", "of the people and all raters together" if all_raters else "", tuple(all_raters)),
        Note("reading", "kappa: Cohen's, with the people; missing: units that the rater did not judge"),
        uncertainty(run.config.interval, data.groups),
    )
    fields = {"splitter": run.splitter.name}
    return Provenance(data, "", plain(run.name), fields, run.config.interval, judges=(), after=notes)


def _cells(one: Agreed) -> list[Cell]:
    signed = (one.kappa.low or 0) < 0
    values = [interval_cell(one.accuracy.ends, _TWO), interval_cell(one.kappa.ends, _TWO, signed)]
    shares = [interval_cell((share, None, None), _PERCENT) for share in one.supported]
    return [*values, *shares, Cell(f"{one.units:,}"), Cell(f"{one.missing:,}")]


def _record(unit: str, one: Agreed) -> Record:
    return {
        "unit": unit,
        "rater": one.rater,
        "units": one.units,
        "missing": one.missing,
        **one.accuracy.named("accuracy"),
        **one.kappa.named("kappa"),
        "human_supported": one.supported[0],
        "rater_supported": one.supported[1],
    }


AGREEMENT = Pipeline(
    name="agreement",
    title="Agreement",
    paper="Gao et al. 2023 (ALCE, arXiv 2305.14627), human evaluation",
    help="""Hold verdicts against human labels of sentences and citations.

    Accuracy and kappa of the automatic verdicts in the file, and of any
    metric. Claims with human levels of support: 'metaeval calibrate'.

    \b
    Examples:
      metaeval cite agreement human_eval_citations_completed.json
      metaeval cite agreement human_eval_citations_completed.json --nli autoais
      metaeval calibrate minilm-bertscore -d expertqa --data ../shared/data
    """,
    options=AgreementCommand,
    measures=(
        Measure("accuracy", "accuracy", "share of the units that a rater and the people decide alike", digits=2),
        Measure("kappa", "kappa", "Cohen's kappa with the people", digits=2),
    ),
    backends="optional",
    decides="Agreement is between decisions",
    read=_read,
    judge=_judge,
    lay_out=_lay_out,
)
