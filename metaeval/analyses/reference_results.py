"""The command `results reference`, which recomputes the reference results from score packs and data sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, Progress
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import unknown

if TYPE_CHECKING:
    from metaeval.runs.reference_cells import Recomputed
    from metaeval.runs.score_packs import ScorePack


class ReferenceFolders(DeclaredOptions):
    """The folders that commands about reference results read."""

    folder: Annotated[Path, Flag("FOLDER", hidden=True)] = Path("results/reference")
    """Folder of the reference results (default: results/reference)."""
    data: Annotated[Path | None, Flag("PATH", hidden=True)] = None
    """Folder that holds the published data sets (default: they are downloaded)."""
    packs: Annotated[Path | None, Flag("FOLDER", hidden=True)] = None
    """Folder of packs whose licence does not allow them to be shipped: only aggregates are written."""

    def read(self) -> list[ScorePack]:
        """Return the packs below the folder of the reference results, and those of the folder `packs`."""
        from metaeval.runs.score_packs import PACKS, read_packs

        return read_packs(self.folder / PACKS) + read_packs(self.packs)


class ReferenceOptions(ReferenceFolders):
    """Options of `results reference`."""

    sets: Annotated[tuple[str, ...], Flag("SET...", multiple=True, argument=True)] = ()
    """Data sets to recompute, as sets.yaml names them (default: all)."""


def _run(options: ReferenceOptions, progress: Progress) -> Done:
    from metaeval.runs.reference_cells import recompute
    from metaeval.runs.score_packs import reference_sets

    sets = reference_sets(options.folder)
    for name in options.sets:
        if name not in sets:
            raise unknown("data set of the reference results", name, sets)
    return reference_output(options.folder, recompute(options.folder, sets, options.read(), options.data, options.sets))


def reference_output(folder: Path, again: Recomputed, copy: Callable[[Path], object] = bool) -> Done:
    """Return the output that writes the recomputed tables and their page to `folder`. copy: called before that."""
    from metaeval.report.reference_page import PAGE, observatory
    from metaeval.report.table import Table
    from metaeval.runs.reference_cells import CELLS, write_cells

    def write(path: Path) -> None:
        from metaeval.files import write_text

        copy(path)
        write_cells(folder, again.tables)
        write_text(folder / PAGE, observatory(*again.tables), update=True)

    cells = [row for row in again.tables.cells if row["set"] in again.done and row["kind"] == "metric"]
    stale = sorted({f"{row['pack']} ({row['stale']})" for row in again.tables.cells if row["stale"]})
    metrics = len({row["metric"] for row in cells})
    sets = "data set" if len(again.done) == 1 else "data sets"
    shown = [f"{len(again.done)} {sets} recomputed: {count(len(cells), 'value')} of {metrics} metrics."]
    shown += [f"Stale, and left out of ranks: {', '.join(stale)}."] * bool(stale)
    return Done(
        shown=shown,
        value=Table(records=cells),
        outputs={folder / CELLS: write},
        written=[f"Written: {folder}/ ({CELLS}, tests.csv, {PAGE})"],
        warnings=[f"The numbers of {name} stay as they were: {reason}" for name, reason in again.kept.items()],
    )


REFERENCE = Analysis(
    name="results reference",
    summary="Recompute the reference results from packs and data.",
    about="""Every pack in FOLDER/packs is evaluated on the data that it names: values with intervals over whole groups,
and ranks and adjusted tests from the rows that all metrics of a data set have scored. A pack of other data, or of an
older version of its metric, is marked as stale and left out of ranks. Where data or packs are missing, the numbers stay
as they are, and a sentence says so.""",
    examples=["results reference --data FOLDER", "results reference qasem --data FOLDER --packs my-packs"],
    options=ReferenceOptions,
    run=_run,
)
