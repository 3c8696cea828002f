"""The pairs that a metric scores in a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import InstanceOf

from metaeval.analyses.analysis import Analysis, AnalysisOptions, Done, Progress
from metaeval.core import config as groups
from metaeval.core.declared import Flag, Names
from metaeval.core.errors import UserError, count
from metaeval.core.files import atomic_write, write_text
from metaeval.core.parsing import parquet_library
from metaeval.corpus.edits import edited_pairs, kinds_of
from metaeval.corpus.model import Corpus
from metaeval.corpus.pair_table import Pair, place_evidence

if TYPE_CHECKING:
    from metaeval.runs.data import Job


class Pairs(list[Pair]):
    """A list of pairs with a short `repr` and a method that makes a data frame.

    Parameters
    ----------
    pairs : iterable of Pair
        The pairs.
    edits : mapping of str to (str, str)
        Of a contrast set, the kind of each pair and the id of its original, by the pair's id.
    """

    def __init__(self, pairs: Iterable[Pair], edits: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> None:
        super().__init__(pairs)
        self.edits = edits

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of each pair, with kind and original where pairs are edited."""
        for pair in self:
            edit = dict(zip(("kind", "original"), self.edits.get(pair.pair_id, ()), strict=False))
            yield pair._asdict() | edit

    def to_frame(self) -> Any:
        """Return a data frame with a row for each pair; levels are numbers, 2 full, 1 partial, 0 none."""
        from metaeval.report.data_frame import frame

        return frame(self.rows())

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
    edit: Annotated[Names, Flag("KINDS")] = ()
    """Kinds of edits (or destroying, harmless, attack) of which the pairs are written, with their originals.

    A contrast set: pairs beside copies with one edit made by rule, in English, at most one for each pair and kind.
    Full pairs are edited, for instruction those of level none; whole pages, unless another unit is chosen. What is
    drawn depends on interval.seed."""


def _run(options: PairsOptions, progress: Progress) -> Done:
    from metaeval.runs.data import prepare

    if options.output and options.output.suffix not in (".jsonl", ".parquet"):
        raise UserError(f"Pairs are written as .jsonl or .parquet: give {options.output.name!r} one of these endings.")
    if options.output and options.output.suffix == ".parquet":
        parquet_library()  # refused here, before chunks are cut
    kinds = kinds_of(options.edit)
    if kinds and options.unit == "statement":
        raise UserError(
            "--edit is of pairs with one document: leave unit=statement out, or choose page, evidence, chunk."
        )
    run = options.run(**({"unit": "page"} if kinds and "unit" not in options.model_fields_set else {}))
    job = prepare(run, options.corpus)
    pairs, counts = _contrast_set(job, kinds) if kinds else (Pairs(job.pairs), [])
    if options.output is None:
        return Done(config=run, value=pairs)
    return Done(
        config=run,
        outputs={options.output: partial(write_pair_file, pairs)},
        shown=(),
        written=[*counts, f"{count(len(pairs), 'pair')} written to {options.output}"],
        value=pairs,
    )


def _contrast_set(job: Job, kinds: Sequence[str]) -> tuple[Pairs, list[str]]:
    """Return the pairs of a job that have edits, with these, and a sentence for each kind."""
    whole = job.whole_pages or job.config.unit == "evidence"
    chunking = None if whole else job.table.chunking
    citations = {citation.id: citation for citation in job.corpus.citations}

    def evidence(pair: Pair) -> Iterable[str]:
        placed = (job.corpus.documents[pair.document_id], citations[pair.citation_id], job.table.threshold, chunking)
        return place_evidence(*placed).pieces.get(pair.chunk, ())

    rows, edits, counts = edited_pairs(job.pairs, kinds, job.config.interval.seed, evidence)
    return Pairs(rows, edits), counts


def write_pair_file(pairs: Iterable[Pair], path: Path) -> None:
    """Write pairs as .jsonl or .parquet (by the path's ending), one row each; levels are words, None where unknown."""
    rows = [*(pairs if isinstance(pairs, Pairs) else Pairs(pairs)).rows()]
    for row in rows:
        row |= {key: row[key].label for key in ("level", "citation_level") if row[key] is not None}
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
    returns="Pairs: A list of pairs; `to_frame()` has a row for each.",
    examples=[
        "pairs pairs.jsonl",
        "pairs wice.parquet -d wice",
        "pairs edits.jsonl -d wice --edit year,negation,form   (a contrast set)",
        "pairs edits.jsonl -d wice --edit destroying,harmless -s interval.seed=3",
    ],
    options=PairsOptions,
    run=_run,
)
