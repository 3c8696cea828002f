"""How many rows have each level: an analysis of one's own, in one file."""

from collections import Counter
from typing import Annotated

from metaeval.analyses.analysis import Analysis, AnalysisOptions, Done
from metaeval.core.config import DatasetSettings, DataSettings, OutputSettings
from metaeval.core.declared import Flag
from metaeval.report.table import Table, blocks_of


class LevelOptions(OutputSettings, DataSettings, DatasetSettings, AnalysisOptions):
    """Options of `levels`."""

    fewest: Annotated[int, Flag("NUMBER", "-n")] = 1
    """Fewest rows of a level that is listed."""


def run(options, progress):
    from metaeval.core.registry import find
    from metaeval.corpus.loading import load_dataset

    corpus = load_dataset(find("dataset", options.dataset), options.split, options.data)
    counts = Counter(citation.level.name.lower() for citation in corpus.citations)
    rows = [{"level": name, "rows": n} for name, n in sorted(counts.items()) if n >= options.fewest]
    lines = [("", row["level"], [str(row["rows"])]) for row in rows]
    grid = Table(title="Rows of each level", headings=("rows",), stub="level", blocks=blocks_of(lines))
    return Done(config=options.run(), shown=[grid], value=rows)


LEVELS = Analysis(
    name="levels",
    summary="Count the rows of each level.",
    returns="list of dict: Each level with its number of rows.",
    examples=["levels", "levels -d wice -n 20"],
    options=LevelOptions,
    run=run,
)
