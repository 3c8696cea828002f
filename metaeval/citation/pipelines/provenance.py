"""What all tables of a pipeline run share: their lines, settings and signatures, and the notes of their footers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from metaeval.citation.citation_table import CitationLine, claims_of
from metaeval.citation.data_model import Answer, fingerprint
from metaeval.citation.measures import group_codes
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.core.config import IntervalConfig
from metaeval.core.errors import count
from metaeval.core.files import resampled_fields, signature, versions
from metaeval.report.result import Column, Data, Interval, Ledger
from metaeval.report.result_tables import cell
from metaeval.report.table import (
    Cell,
    ColumnGroup,
    Note,
    Rank,
    Record,
    Scalar,
    Table,
    TableRow,
    blocks_of,
    plain,
    share,
)
from metaeval.report.table_notes import few_groups, interval_text
from metaeval.stats.estimate import Estimate


@dataclass(frozen=True, eq=False)
class TableLines:
    """Named lines of cells in titled blocks, (block, name, cells), and their records."""

    rows: list[TableRow] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def add(self, block: str, name: str, cells: Sequence[Cell | str], *records: Record) -> None:
        """Append a line to a block, and its records."""
        self.rows.append((block, name, cells))
        self.records.extend(records)


def interval_cell(known: Estimate, column: Column, ranks: Mapping[str, Rank] = MappingProxyType({})) -> Cell:
    """Return the cell of a value and its interval. ranks: rank by printed number."""
    printed = cell(*known.ends, column)
    return replace(printed, rank=ranks.get(printed.number, ""))


def value_records(values: Mapping[str, Estimate], **named: Scalar) -> list[Record]:
    """Return a record of each measure: the fields `named`, the measure, its value and its interval."""
    return [{**named, "measure": key, "value": of.value, "low": of.low, "high": of.high} for key, of in values.items()]


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

    def lines(
        self,
        name: str,
        title: str,
        headings: Sequence[str],
        table: TableLines,
        notes: Sequence[Note] = (),
        groups: tuple[ColumnGroup, ...] = (),
    ) -> Table:
        """Return a table of named lines in titled blocks, with a legend where a number has a rank.

        headings: that of the names, then those of the cells. notes: its own notes; empty ones are left out.
        """
        stub, *others = headings
        drawn, data = self.interval, self.data
        resampled = resampled_fields(drawn.level, drawn.resamples, drawn.seed, drawn.fewest)
        fixed = {**resampled, **versions("metaeval", "numpy")}
        answers = {"answers": data_reference(data), **self.fields}
        ranked = any(isinstance(cell, Cell) and cell.rank for *_, cells in table.rows for cell in cells)
        return Table(
            key=tuple(filter(None, (name, data.name, self.kind))),
            title=title,
            subtitle=self.subtitle,
            headings=tuple(others),
            blocks=blocks_of(table.rows) if table.rows else (),
            legend="Bold: highest value of the block; underlined: second highest." if ranked else "",
            footer=tuple(note for note in (*notes, *self.after) if note.text or note.items),
            signatures=tuple(signature({**answers, **judge, **fixed}) for judge in self.judges),
            stub=stub,
            groups=groups,
            name=name,
            data=data,
            settings={**self.fields, **drawn.drawn()},
            records=table.records,
        ).noting(data.demo)


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


def uncertainty(interval: IntervalConfig, groups: int | None = None) -> Note:
    """Return the note on how intervals are computed.

    groups: number of groups; None where it differs between values.
    """
    drawn = Interval(**interval.model_dump())
    few = "" if groups is None or not drawn.resamples else few_groups([groups], named=False)
    return Note("uncertainty", f"{interval_text(drawn, groups)}{f' ({few})' if few else ''}")


def data_reference(data: Data) -> str:
    """Return the data as a signature names them: NAME@FINGERPRINT."""
    return f"{data.name}@{data.fingerprint[:12]}"


def truncation(backends: Iterable[Backend]) -> Note:
    """Return the note on the pairs that each metric's input limit cuts; it has no items where nothing is cut."""

    def text(read: Ledger) -> str:
        pairs, tokens = share(read.cut_pairs, read.pairs), share(read.cut_tokens, read.tokens)
        return f"{pairs} of pairs are longer than the metric reads; {tokens} of tokens cut" if read.cut_pairs else ""

    return by_backend("truncation", ((backend.name, text(backend.ledger)) for backend in backends))


def marks_text(lines: Sequence[CitationLine]) -> str:
    """Return, as text, the number of uncited claims, and of marks not judged as written, by state and problem."""
    claims, wrong = claims_of(lines), [line for line in lines if line.problem]
    uncited = sum(line.state == "uncited" for line in claims)
    parts = [f"uncited {uncited:,} of {count(len(claims), 'claim')}"] if uncited else []
    unlike = (line.state for line in lines if line.start is not None and line.state not in ("judged", "unjudged"))
    parts.append(counts_text(Counter(unlike)))
    if wrong:
        problems = counts_text(Counter(str(line.problem) for line in wrong))
        parts.append(f"problems: {problems} (first: {wrong[0].answer}, offset {wrong[0].start})")
    return "; ".join(filter(None, parts))
