"""Agreement with human labels as a sheet: every rater against the people, sentences above citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.config import RunConfig
from metaeval.experiment.citing.agreement import UNITS, Agreed, Labels, agreement, fleiss
from metaeval.experiment.citing.human_labels import Labelled
from metaeval.experiment.citing.notes import fingerprint
from metaeval.experiment.sheet import Record, Sheet
from metaeval.experiment.verdicts import Backend
from metaeval.report.citation.layout import Frame, interval_cell, lines_grid
from metaeval.report.grid import Cell, Note
from metaeval.report.number_format import count, plain
from metaeval.report.result import Column, Data

_TWO = Column(key="", label="", digits=2)
_PERCENT = Column(key="", label="", scale=100, digits=1)


def agreement_sheet(
    labelled: Sequence[Labelled],
    labels: Mapping[str, Labels],
    backends: Sequence[Backend],
    config: RunConfig,
    name: str,
    splitter: str,
) -> Sheet:
    """Every rater against the people, sentences above citations."""
    blocks, records, all_raters = [], [], []
    for unit, title in UNITS.items():
        rows: list[tuple[str, list[Cell]]] = []
        for one in agreement(labels[unit], config):
            ends = [(each.value, each.low, each.high) for each in (one.accuracy, one.kappa)]
            signed = (one.kappa.low or 0) < 0
            cells = [interval_cell(ends[0], _TWO), interval_cell(ends[1], _TWO, signed)]
            shares = [interval_cell((share, None, None), _PERCENT) for share in one.supported]
            rows.append((one.rater, [*cells, *shares, Cell(f"{one.units:,}"), Cell(f"{one.missing:,}")]))
            records.append(_record(unit, one))
        if (together := fleiss(labels[unit])) is not None:
            all_raters.append((unit, f"{together:.2f}"))
        blocks.append((title, rows))
    interval = config.interval
    systems = sorted({one.answer.system for one in labelled})
    notes = [
        Note("data", f"{count(len(labelled), 'labelled answer')} of {count(len(systems), 'system')}"),
        Note(
            "verdicts",
            "",
            tuple(
                (plain(one.name), f"supported from {one.cutoff.value:g} on ({one.cutoff.source})")
                for one in backends
                if one.cutoff.value is not None
            ),
        ),
        Note("Fleiss' kappa", "of the people and all raters together" if all_raters else "", tuple(all_raters)),
        Note("reading", "kappa: Cohen's, with the people; missing: units that the rater did not judge"),
        Note(
            "uncertainty",
            f"{100 * interval.level:g} % percentile intervals, {count(interval.resamples, 'resample')} of "
            f"{count(labels['sentence'].n_groups, 'group')}, seed {interval.seed}",
        ),
    ]
    frame = Frame(
        ("agreement", name), "Agreement with human labels", plain(name), tuple(n for n in notes if n.text or n.items)
    )
    headings = ("accuracy", "kappa", "human %", "rater %", "units", "missing")
    data = Data(
        name=name,
        split="human labels",
        fingerprint=fingerprint([one.answer for one in labelled]),
        statements=labels["sentence"].human.size,
        documents=sum(len(one.answer.passages) for one in labelled),
        citations=labels["citation"].human.size,
        groups=labels["sentence"].n_groups,
        levels={},
    )
    settings: Record = {
        "splitter": splitter,
        "resamples": interval.resamples,
        "seed": interval.seed,
        "level": interval.level,
    }
    return Sheet("agreement", data, settings, records, lines_grid(frame, "rater", headings, blocks))


def _record(unit: str, one: Agreed) -> Record:
    return {
        "unit": unit,
        "rater": one.rater,
        "units": one.units,
        "missing": one.missing,
        "accuracy": one.accuracy.value,
        "accuracy_low": one.accuracy.low,
        "accuracy_high": one.accuracy.high,
        "kappa": one.kappa.value,
        "kappa_low": one.kappa.low,
        "kappa_high": one.kappa.high,
        "human_supported": one.supported[0],
        "rater_supported": one.supported[1],
    }
