"""Results as a notebook shows them: a short text, a table as HTML, a data frame, a figure; and progress as bars."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.core.errors import Shown, UserError
from metaeval.report import html_report
from metaeval.report.cautions import cautions
from metaeval.report.data_frame import frame, rows_html
from metaeval.report.findings import findings
from metaeval.report.first_table import first_tables
from metaeval.report.ranking_measures import Declarations, strips
from metaeval.report.result import Result, records
from metaeval.report.result_tables import lay_out
from metaeval.report.table import Table
from metaeval.report.terminal import text_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 80


class Card(list[tuple[str, str]]):
    """Labelled texts, such as a metric's licence.

    Parameters
    ----------
    lines : iterable of (str, str)
        Label and text; those without a text are left out.
    """

    def __init__(self, lines: Iterable[tuple[str, str]]) -> None:
        super().__init__((label, text) for label, text in lines if text)

    def __repr__(self) -> str:
        return "\n".join(f"{label}: {Shown(text)}" for label, text in self)

    def _repr_html_(self) -> str:
        return rows_html([{"": label, " ": text} for label, text in self])


class NotebookText(str):
    """A text that a notebook shows as it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class WrittenOnce:
    """Mixin of values that can write the files of the job that they are from, once it is wanted."""

    _job: Callable[[], Path | None] | None = None

    def of_job(self, write: Callable[[], Path | None]) -> None:
        """Keep the function that writes the job, and returns its folder or None, for the method `write`."""
        self._job = cache(write)

    def write(self) -> Path:
        """Write the files that the command writes, once.

        Returns
        -------
        Path
            Their folder, as `metaeval.view` takes it.

        Raises
        ------
        UserError
            For a value that no analysis returned.
        """
        if (folder := self._job and self._job()) is None:
            raise UserError("These results belong to no job, so that there are no files to write: use to_frame().")
        return folder


class Results(list[Result], WrittenOnce):
    """The results of a run, one for each protocol (and data set): a list that shows its findings.

    A notebook shows the headline table with the findings; `print` gives the same as text. Each item is a `Result`,
    whose table `metaeval.results.show(results[0])` prints.

    Parameters
    ----------
    results : iterable of Result
        The items.
    declarations : Declarations
        The protocols' declarations, by which tables and findings are made.
    left_out : sequence of str
        Sentences that say which protocols have no result, and why.
    """

    def __init__(self, results: Iterable[Result], declarations: Declarations, left_out: Sequence[str] = ()) -> None:
        super().__init__(results)
        self.left_out = list(left_out)
        self._declarations = declarations

    @property
    def findings(self) -> list[str]:
        """Return the findings of the run, their limits and what was left out, as sentences."""
        return [*findings(self, self._declarations), *cautions(self), *self.left_out]

    def to_frame(self) -> Any:
        """Return a data frame with a row for each metric, control and measure, as the CSV files have it.

        Returns
        -------
        pandas.DataFrame
        """
        return frame(record for result in self for record in records(result))

    def plot(self) -> Figure:
        """Draw each metric's headline values with their intervals, beside the best control.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        UserError
            Where matplotlib is not installed.
        """
        from metaeval.report.figures.forest import forest

        return forest(strips(self, self._declarations), self._declarations)

    def __repr__(self) -> str:
        return "\n".join([*(text_of(each, _WIDTH) for each in first_tables(self, self._declarations)), *self.findings])

    def _repr_html_(self) -> str:
        sentences = "".join(f"<li>{escape(Shown(text))}</li>" for text in self.findings)
        tables = "".join(map(html_report.table_of, first_tables(self, self._declarations)))
        return f"<div>{tables}\n<ol>{sentences}</ol></div>"


Result.as_html = lambda result: f"<div>{html_report.table_of(lay_out(result))}</div>"


class Sheets(dict[str, Table], WrittenOnce):
    """The tables of an analysis by name, with their records; a notebook shows them all.

    Parameters
    ----------
    sheets : sequence of Table
        The tables.
    """

    def __init__(self, sheets: Sequence[Table]) -> None:
        super().__init__({sheet.name: sheet for sheet in sheets})

    def to_frame(self, name: str = "") -> Any:
        """Return the records of a table as a data frame.

        Parameters
        ----------
        name : str
            The table ("": the first).

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        UserError
            For an unknown name.
        """
        if not self or (name and name not in self):
            raise UserError(f"No table is called {name!r}; the tables are {', '.join(self) or 'none'}.")
        return frame(self[name or next(iter(self))].records)

    def plot(self, name: str = "") -> Figure:
        """Draw the values of a table with their intervals.

        Parameters
        ----------
        name : str
            The table ("": the first that has intervals).

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        UserError
            For an unknown name, without intervals, and where matplotlib is not installed.
        """
        from metaeval.report.figures.forest import has_intervals, records_forest

        if name and name not in self:
            raise UserError(f"No table is called {name!r}; the tables are {', '.join(self) or 'none'}.")
        drawn = [self[name]] if name else [sheet for sheet in self.values() if has_intervals(sheet.records)]
        if not drawn or not has_intervals(drawn[0].records):
            where = name or "these tables"
            raise UserError(f"No interval to draw (columns low and high) in {where}: to_frame() has the numbers.")
        return records_forest(drawn[0].records, f"{drawn[0].name}: {drawn[0].data.name}")

    def __repr__(self) -> str:
        return "\n".join(text_of(sheet, _WIDTH).partition("\n signature")[0] for sheet in self.values())

    def _repr_html_(self) -> str:
        return "".join(f"<div>{html_report.table_of(sheet)}</div>" for sheet in self.values())


@contextlib.contextmanager
def notebook_progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a progress callback for notebooks: (metric, pairs done, pairs in all); None elsewhere or without tqdm."""
    shell = sys.modules.get("IPython")  # which is not imported for this
    if shell is None or type(shell.get_ipython()).__name__ != "ZMQInteractiveShell":
        yield None
        return
    try:
        library: Any = importlib.import_module("tqdm.auto")
    except ImportError:
        yield None
        return
    bars: dict[str, Any] = {}

    def report(metric: str, done: int, total: int) -> None:
        if metric not in bars:
            bars[metric] = library.tqdm(desc=metric, total=total, unit="pair", initial=done)
        bars[metric].total = total
        bars[metric].update(done - bars[metric].n)

    try:
        yield report
    finally:
        for bar in bars.values():
            bar.close()
