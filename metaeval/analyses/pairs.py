"""The pairs that a metric scores in a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import InstanceOf

from metaeval.analyses.analysis import Analysis, AnalysisOptions, Done, Progress
from metaeval.core import config as groups
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError, count
from metaeval.core.files import atomic_write, write_text
from metaeval.core.parsing import parquet_library
from metaeval.corpus.model import Corpus
from metaeval.corpus.pair_table import Pair


class Pairs(list[Pair]):
    """A list of pairs with a short `repr` and a method that makes a data frame."""

    def to_frame(self) -> Any:
        """Return a data frame with a row for each pair; levels are numbers, 2 full, 1 partial, 0 none."""
        from metaeval.report.data_frame import frame

        return frame(pair._asdict() for pair in self)

    def __repr__(self) -> str:
        first = f"; the first is {self[0]!r}" if self else ""
        return f"<{count(len(self), 'pair')}{first}>"


class PairsOptions(
    groups.TrustSettings,
    groups.StatisticsSettings,
    groups.ControlSettings,
    groups.PairSettings,
    groups.DataSettings,
    groups.DatasetSettings,
    AnalysisOptions,
):
    """Options of `pairs`."""

    untyped = frozenset({"columns"})

    corpus: InstanceOf[Corpus] | None = None
    """Judged data of your own, in place of a data set by name."""
    output: Annotated[Path | None, Flag("FILE", argument=True, required=True, output=True)] = None
    """File to write: .jsonl or .parquet."""


def _run(options: PairsOptions, progress: Progress) -> Done:
    from metaeval.runs.data import prepare

    if options.output and options.output.suffix not in (".jsonl", ".parquet"):
        raise UserError(f"Pairs are written as .jsonl or .parquet: give {options.output.name!r} one of these endings.")
    if options.output and options.output.suffix == ".parquet":
        parquet_library()  # refused here, before chunks are cut
    run = options.run()
    pairs = Pairs(prepare(run, options.corpus).pairs)
    if options.output is None:
        return Done(config=run, value=pairs)
    return Done(
        config=run,
        outputs={options.output: partial(write_pair_file, pairs)},
        shown=(),
        written=[f"{count(len(pairs), 'pair')} written to {options.output}"],
        value=pairs,
    )


def write_pair_file(pairs: Iterable[Pair], path: Path) -> None:
    """Write pairs as .jsonl or .parquet (by the path's ending), one row each; levels are words, None where unknown."""
    rows = []
    for pair in pairs:
        levels = {"level": pair.level, "citation_level": pair.citation_level}
        named = {key: None if level is None else level.label for key, level in levels.items()}
        rows.append({**pair._asdict(), **named})
    if path.suffix == ".parquet":
        pyarrow = parquet_library()
        with atomic_write(path) as file:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    else:
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


PAIRS = Analysis(
    name="pairs",
    summary="Write statement-source pairs to be scored by another program.",
    about="""The file has one row per pair: pair_id, statement, source, level, group and more. Score them there, write
pair_id and score to a .jsonl or .parquet file, then type: metaeval evaluate FILE""",
    examples=["pairs pairs.jsonl", "pairs wice.parquet -d wice"],
    options=PairsOptions,
    run=_run,
)
