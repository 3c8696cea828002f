"""What all tables of a pipeline run share: mostly the notes of their footers, and their settings and signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from metaeval.citation.data_model import Answer, fingerprint
from metaeval.citation.measures import group_codes
from metaeval.citation.pipelines.layout import TableLines, grid_of
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.core.config import IntervalConfig
from metaeval.core.errors import count
from metaeval.core.files import resampled_fields, signature, versions
from metaeval.report.result import Data, Interval, Ledger
from metaeval.report.table import ColumnGroup, Note, Record, Scalar, Table, blocks_of, plain, share
from metaeval.report.table_notes import few_groups, interval_text

_EXAMPLES = 3
"""Number of missing verdicts that a note names."""


@dataclass(frozen=True, eq=False)
class Provenance:
    """What all tables of a pipeline run share: data, settings, signature fields and notes.

    data: what was judged. kind: the last part of a table's key (empty: none). fields: what the numbers depend on
    beside the answers. judges: further fields of each signature. after: notes below a table's own.
    """

    data: Data
    kind: str
    subtitle: str
    fields: Mapping[str, Scalar]
    interval: IntervalConfig
    judges: Sequence[Mapping[str, object]] = ({},)
    after: Sequence[Note] = ()

    def sheet(
        self,
        name: str,
        title: str,
        records: Sequence[Record],
        grid: Table,
        notes: Sequence[Note] = (),
    ) -> Table:
        """Return a table of the run. grid: its headings and lines. notes: its own notes; empty ones are left out."""
        footer = tuple(note for note in (*notes, *self.after) if note.text or note.items)
        key = (name, self.data.name, self.kind) if self.kind else (name, self.data.name)
        drawn = self.interval
        fixed = {
            **resampled_fields(drawn.level, drawn.resamples, drawn.seed, drawn.fewest),
            **versions("metaeval", "numpy"),
        }
        answers = {"answers": data_reference(self.data), **self.fields}
        signatures = tuple(signature({**answers, **judge, **fixed}) for judge in self.judges)
        settings = {**self.fields, **drawn.drawn()}
        titled = replace(grid, key=key, title=title, subtitle=self.subtitle, footer=footer, signatures=signatures)
        return replace(titled, name=name, data=self.data, settings=settings, records=records).noting(self.data.demo)

    def lines(
        self,
        name: str,
        title: str,
        headings: Sequence[str],
        table: TableLines,
        notes: Sequence[Note] = (),
        groups: tuple[ColumnGroup, ...] = (),
    ) -> Table:
        """Return a table of named lines in titled blocks. headings: that of the names, then those of the cells."""
        stub, *others = headings
        blocks = blocks_of(table.rows) if table.rows else ()
        return self.sheet(name, title, table.records, grid_of(blocks, stub, others, groups), notes)


def data_of(name: str, split: str, answers: Sequence[Answer], statements: int, citations: int) -> Data:
    """Return the summary of what was judged; documents are passages. name: of the data. split: name of the pipeline."""
    return Data(
        name=name,
        split=split,
        fingerprint=fingerprint(answers),
        statements=statements,
        documents=sum(len(answer.passages) for answer in answers),
        citations=citations,
        groups=group_codes(answers)[1],
        levels={},
    )


def reasons_text(counts: Mapping[str, int], of: str, examples: Sequence[tuple[str, str, str]]) -> str:
    """Return, as text, how many verdicts are missing by reason, with the first `_EXAMPLES` examples.

    counts: by reason. of: text of the total that they are part of. examples: (answer, place, text) of each.
    """
    shown = [(answer, place, plain(text)) for answer, place, text in examples[:_EXAMPLES]]
    first = [f"{answer}, {place}: {text if len(text) <= 60 else f'{text[:59]}…'}" for answer, place, text in shown]
    return f"{counts_text(counts)} (of {of}); first: {'; '.join(first)}"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts as text, sorted by name: failed 1, too long 2."""
    return ", ".join(f"{plain(name)} {number:,}" for name, number in sorted(counts.items()))


def settings_text(fields: Mapping[str, object]) -> str:
    """Return settings as text for a note: profile paper, splitter rules."""
    return ", ".join(f"{name} {plain(str(value))}" for name, value in fields.items())


def options_text(options: Mapping[str, object]) -> str:
    """Return options as text for a signature: prompt=plain,tries=3."""
    return ",".join(f"{name}={value}" for name, value in options.items())


def by_backend(label: str, texts: Iterable[tuple[str, str]]) -> Note:
    """Return a note with a text for each backend, by name; backends with an empty text are left out."""
    return Note(label, "", tuple((plain(name), text) for name, text in texts if text))


def verdicts(backends: Iterable[Backend], soft: str, decided: str) -> Note:
    """Return the note on how each backend's scores become verdicts, and on how many pairs it read.

    soft: text for backends without decisions. decided: template with {} for threshold and source, for other backends.
    """

    def text(backend: Backend) -> str:
        cutoff = backend.cutoff
        how = soft if cutoff.value is None else decided.format(f"{cutoff.value:g}", cutoff.source)
        return f"{how}; {count(backend.ledger.pairs, 'pair')}"

    return by_backend("verdicts", ((backend.name, text(backend)) for backend in backends))


UNCHECKED = Note(
    "unchecked",
    "no labels by people are used here, so how often the judge errs on these answers is not known: metaeval label FILE "
    "-o SHEET, then metaeval estimate FILE --labels SHEET",
)
"""The note on verdicts that were not compared with labels of the same answers."""


def uncertainty(interval: IntervalConfig, groups: int | None = None) -> Note:
    """Return the note on how intervals are computed.

    groups: number of groups; None where it differs between values.
    """
    drawn = Interval(**interval.model_dump())
    few = "" if groups is None or not drawn.resamples else few_groups([groups], named=False)
    return Note("uncertainty", f"{interval_text(drawn, groups)}{f' ({few})' if few else ''}")


def ranking_intervals(interval: IntervalConfig) -> Note:
    """Return the note that intervals of the rankings of systems are percentile intervals."""
    drawn = f"{count(interval.resamples, 'resample')} of groups, seed {interval.seed}"
    return Note("intervals", f"rankings change in steps, so that their intervals are percentiles: {drawn}")


def data_reference(data: Data) -> str:
    """Return the data as a signature names them: NAME@FINGERPRINT."""
    return f"{data.name}@{data.fingerprint[:12]}"


def truncation(backends: Iterable[Backend]) -> Note:
    """Return the note on the pairs that each metric's input limit cuts; it has no items where nothing is cut."""

    def text(read: Ledger) -> str:
        pairs, tokens = share(read.cut_pairs, read.pairs), share(read.cut_tokens, read.tokens)
        return f"{pairs} of pairs are longer than the metric reads; {tokens} of tokens cut" if read.cut_pairs else ""

    return by_backend("truncation", ((backend.name, text(backend.ledger)) for backend in backends))
