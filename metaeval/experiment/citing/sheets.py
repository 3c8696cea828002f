"""Citation results as sheets: scores, what the answers are like, and behind them the rankings of systems."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.experiment.citing.judging import Cited
from metaeval.experiment.citing.model_measures import MAUVE
from metaeval.experiment.citing.notes import data_of, frame_of, sheet_of
from metaeval.experiment.citing.quantities import Interval, Quantity
from metaeval.experiment.citing.ranking_sheets import ranking_sheets
from metaeval.experiment.sheet import Record, Sheet
from metaeval.report.citation.layout import Entry, scores_grid
from metaeval.report.result import Data

WHOLES = {MAUVE.key: MAUVE}


def citation_sheets(cited: Cited, name: str) -> list[Sheet]:
    """Every sheet of a run, in the order in which they are read. Rankings and flips need two backends and systems."""
    data = data_of(cited, name)
    return [_scores(cited, data), _texts(cited, data), *ranking_sheets(cited, data)]


def _scores(cited: Cited, data: Data) -> Sheet:
    entries, columns = [], {}
    for one in cited.judged:
        columns.update({quantity.column.key: quantity.column for quantity in one.quantities})
        entries += [
            Entry(system, one.backend.name, _values(cited, one.quantities, number))
            for number, system in enumerate(cited.systems)
        ]
    frame = frame_of(cited, data, "citation-scores", "Citation recall and precision (%)")
    return sheet_of(
        cited, data, "citation-scores", _records(entries), scores_grid(frame, list(columns.values()), entries)
    )


def _texts(cited: Cited, data: Data) -> Sheet:
    quantities = cited.pipeline.quantities
    entries = [
        Entry(system, "", {**_values(cited, quantities, number), **_wholes(cited, number)})
        for number, system in enumerate(cited.systems)
    ]
    frame = frame_of(cited, data, "answers", "The answers")
    wholes = [WHOLES[key] for key in cited.pipeline.wholes]
    grid = scores_grid(frame, [*(quantity.column for quantity in quantities), *wholes], entries)
    return sheet_of(cited, data, "answers", _records(entries), grid)


def _values(
    cited: Cited, quantities: Sequence[Quantity], system: int
) -> dict[str, tuple[float | None, float | None, float | None]]:
    return {quantity.column.key: _ends(cited.interval(quantity, system)) for quantity in quantities}


def _wholes(cited: Cited, system: int) -> dict[str, tuple[float | None, None, None]]:
    own = [answer for answer, number in zip(cited.pipeline.answers, cited.system, strict=True) if number == system]
    return {key: (of(own), None, None) for key, of in cited.pipeline.wholes.items()}


def _records(entries: Sequence[Entry]) -> list[Record]:
    return [
        {
            "system": entry.system,
            "backend": entry.backend,
            "measure": measure,
            "value": value,
            "low": low,
            "high": high,
        }
        for entry in entries
        for measure, (value, low, high) in entry.values.items()
    ]


def _ends(interval: Interval) -> tuple[float | None, float | None, float | None]:
    return interval.value, interval.low, interval.high
