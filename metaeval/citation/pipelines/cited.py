"""The one table of judged citations: values of systems under each judge, with intervals, bounds, ranks and rows.

An analysis adds what each judge says of its answers, as statistics, and gets every table, row file and note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from metaeval.analyses.analysis import Done
from metaeval.citation import measures
from metaeval.citation.citation_table import CitationLine, claims_of, sentence_rows, unjudged
from metaeval.citation.data_model import Answer, answer_cells
from metaeval.citation.measures import Statistic
from metaeval.citation.pipelines import provenance
from metaeval.citation.pipelines.cited_rankings import ranking_sheets
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell
from metaeval.citation.readers.clean_up import left_out_text
from metaeval.core.config import RunConfig
from metaeval.core.errors import count
from metaeval.core.files import safe_name
from metaeval.corpus.sentences import language_note
from metaeval.report.data_frame import frame
from metaeval.report.notebook import Sheets
from metaeval.report.result import Column
from metaeval.report.result_tables import rank
from metaeval.report.table import Note, Record, Scalar, Table, format_value, plain, share
from metaeval.report.table_files import write_rows
from metaeval.runs.evaluate import resampling_of
from metaeval.stats.arrays import Floats, Ints, group_totals
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import Ends
from metaeval.stats.intervals import intervals
from metaeval.stats.resampling import Draws, bootstrap

TEXT = ""  # the judge of measures that need no verdict: those of the text alone

# What a missing verdict counts as: no (0), yes (1), or left out as it is (None).
Missing = Literal[0, 1] | None

# A missing verdict: (id of its answer, its place there, its text, the reason).
Lacking = tuple[str, str, str, str]


@dataclass(frozen=True)
class Measure:
    """A measure as it is printed. scale: factor of a printed value; digits: its decimals; ranks: systems are ranked."""

    key: str
    label: str
    meaning: str = ""
    scale: float = 100.0
    digits: int = 1
    ranks: bool = False

    @property
    def column(self) -> Column:
        """The column that prints the measure."""
        return Column(key=self.key, label=self.label, scale=self.scale, digits=self.digits)


@dataclass(frozen=True)
class Definition:
    """A printed table, called `name`: its title, its measures, and a note on how to read it."""

    name: str
    title: str
    measures: Sequence[Measure]
    reading: str = ""


@dataclass(frozen=True, eq=False)
class Judged:
    """What one judge says. backend: None where no metric judges.

    measured: the statistics as judged. ends: the same with each missing verdict as no, and as yes; empty where none is
    missing. whole: further values of a system, by name, from the places of its answers; they have no interval. rows:
    records by what they are of. fields: of its signature.
    """

    name: str
    backend: Backend | None
    measured: Mapping[str, Statistic]
    ends: Sequence[Mapping[str, Statistic]]
    lines: Sequence[CitationLine]
    lacking: Sequence[Lacking]
    rows: Mapping[str, Sequence[Record]]
    whole: Mapping[str, Callable[[Ints], float | None]]
    fields: Mapping[str, object]


class CitedSheets(Sheets):
    """The tables of a citation analysis by name, and what was judged: rows by what they are of and their judge."""

    def __init__(self, sheets: Sequence[Table], rows: Sequence[Table] = ()) -> None:
        super().__init__(sheets)
        self.rows = {table.name: table for table in rows}

    def to_frame(self, name: str = "", rows: str = "") -> Any:
        """Return the estimates as a data frame, or the records of a table.

        Parameters
        ----------
        name : str
            A table ("": all estimates).
        rows : str
            In its place, a table of `rows`.
        """
        if rows:
            return frame(self.rows[rows])
        return super().to_frame(name) if name else frame(self.estimates)

    @property
    def estimates(self) -> list[Record]:
        """The records of all tables that hold a measure and its value, of every system under each judge."""
        return [record for sheet in self.values() for record in sheet.records if {"measure", "value"} <= record.keys()]

    @property
    def signatures(self) -> list[str]:
        """The signatures that state every choice behind the numbers, one per judge."""
        return list(dict.fromkeys(line for sheet in self.values() for line in sheet.signatures))

    @property
    def notes(self) -> list[Note]:
        """The notes below the tables, without duplicates."""
        return list(dict.fromkeys(note for sheet in self.values() for note in sheet.footer))

    @property
    def missing(self) -> list[Note]:
        """The notes on what has no verdict or was left out, and on the bounds that this leaves."""
        return [note for note in self.notes if note.label in _ON_MISSING]


_CUT = 0.1  # least share of truncated pairs that gives a warning

_EXAMPLES = 3  # number of missing verdicts that a note names

_BOUNDED = 5  # number of systems whose bounds a note gives; the files have all

_ON_MISSING = ("not judged", "could be", "left out", "not read", "without facts")


def write_row_tables(folder: Path, rows: Iterable[Table]) -> list[Path]:
    """Write tables of rows, one file each; those of "answers:overlap" go to per-answers-overlap.jsonl."""
    named = (replace(table, name="-".join(["per", *map(safe_name, table.name.split(":", 1))])) for table in rows)
    return [write_rows(table, folder) for table in named]


@dataclass(eq=False)
class CitedTable:
    """The judged answers of one or more systems.

    Parameters
    ----------
    pipeline, title : str
        Name of the definition: as a signature has it, and as tables print it.
    name : str
        Name of the data.
    answers : sequence of Answer
        What is judged.
    config : RunConfig
        Settings of intervals, and of where results are written.
    fields : mapping
        What the numbers depend on beside the answers, for signatures and the note on settings.
    definitions : sequence of Definition
        The printed tables.
    words : (str, str)
        How scores become verdicts: of a soft judge, and of one with a threshold ({}, and {} for its source).
    unit : str
        What a line is about: claim, statement.
    profile : str
        What the subtitle says beside data and title.
    absent : sequence of Answer
        Empty answers that count, and that nobody judges.
    """

    pipeline: str
    title: str
    name: str
    answers: Sequence[Answer]
    config: RunConfig
    fields: Mapping[str, Scalar]
    definitions: Sequence[Definition]
    words: tuple[str, str] = ("", "")
    unit: str = "claim"
    profile: str = ""
    absent: Sequence[Answer] = ()
    judged: list[Judged] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.present = self.answers
        self.answers = [*self.answers, *self.absent]
        self.systems, self._system = measures.system_codes(self.answers)
        self.group, self.n_groups = measures.group_codes(self.answers)
        self.resampling = resampling_of(self.config)

    def add(
        self,
        judge: Backend | str,
        measure: Callable[[Missing], Mapping[str, Statistic]],
        lines: Sequence[CitationLine] = (),
        lacking: Sequence[Lacking] | None = None,
        rows: Mapping[str, Sequence[Record]] | None = None,
        whole: Mapping[str, Callable[[Ints], float | None]] | None = None,
        fields: Mapping[str, object] | None = None,
    ) -> None:
        """Add what a judge says.

        Parameters
        ----------
        judge : Backend or str
            The metric, or a name where none judges (`TEXT`: no judge at all).
        measure : callable
            Returns the statistics by key, with missing verdicts left out (None), as no (0) and as yes (1).
        lines : sequence of CitationLine
            The citations and their verdicts.
        lacking : sequence of Lacking, optional
            The missing verdicts, where they are not those of `lines`.
        rows : mapping, optional
            Records by what they are of; those of "answers" are further fields of each answer's own.
        whole : mapping, optional
            Further values of a system by key, computed from the places of its answers, without an interval.
        fields : mapping, optional
            Further fields of the judge's signature.
        """
        backend, name = (judge, judge.name) if isinstance(judge, Backend) else (None, judge)
        if lacking is None:
            lacking = [
                (line.answer, f"{self.unit} {line.claim_number or line.sentence}", line.claim, line.reason)
                for line in unjudged(lines)
            ]
        signed = {**(backend.fields if backend else {"backend": name}), **(fields or {})}
        ends = [measure(0), measure(1)] if lacking else []
        self.judged.append(Judged(name, backend, measure(None), ends, lines, lacking, rows or {}, whole or {}, signed))

    def rows(self, system: int) -> Ints:
        """Return the places of a system's answers. system: its place in `systems`."""
        return np.flatnonzero(self._system == system)

    def of_samples(self, rows: Ints, value: Callable[[Ints], float | None]) -> list[float]:
        """Return the value of each sample (`Answer.sample`) of the answers at `rows` that has one.

        Empty for fewer than two samples. value: computes the value of the answers at some places; None: undefined.
        """
        by_sample: dict[int | None, list[int]] = {}
        for row in rows.tolist():
            by_sample.setdefault(self.answers[row].sample, []).append(row)
        values = [value(np.array(sample)) for sample in by_sample.values()] if len(by_sample) > 1 else []
        return [known for known in values if known is not None]

    @property
    def judges(self) -> list[Judged]:
        """What was judged, without the measures of the text alone."""
        return [each for each in self.judged if each.name != TEXT]

    @cached_property
    def estimates(self) -> dict[tuple[str, str, str], Estimate]:
        """The estimate of each measure, by judge, system and key."""
        estimates = {}
        for each in self.judged:
            lacking = {answer for answer, *_ in each.lacking}
            for number, system in enumerate(self.systems):
                rows = self.rows(number)
                open_ = any(self.answers[row].id in lacking for row in rows.tolist())
                for key, statistic in each.measured.items():
                    interval = self.interval_over(statistic, rows)
                    ends = [measures.value_of(end[key], rows) for end in each.ends if key in end] if open_ else []
                    worst, best = ends or (None, None)
                    estimates[each.name, system, key] = replace(interval, worst=worst, best=best)
                estimates |= {(each.name, system, key): Estimate(of(rows)) for key, of in each.whole.items()}
        return estimates

    def interval_over(self, statistic: Statistic, rows: Ints) -> Estimate:
        """Return a statistic of the answers at these places, with its interval."""
        return measures.interval_over(statistic, rows, self.group, self.n_groups, self.resampling)

    def difference(
        self, first: tuple[Statistic, Ints], second: tuple[Statistic, Ints], ends: Ends | None = None
    ) -> Estimate:
        """Return the first statistic less the second, with its interval on the same resampled groups.

        first, second: a statistic, and the places of its answers. ends: see `intervals`. Undefined where either is.
        """
        sides = (first, second)
        counts = [group_totals(of.counts[rows], self.group[rows], self.n_groups) for of, rows in sides]

        def run(draws: Draws) -> Floats:
            of_first, of_second = (measures.replicates(of, rows, self.group, draws) for of, rows in sides)
            return of_first - of_second

        return intervals(run, np.sum(counts, axis=0).astype(np.int64), self.resampling, ends)[0]

    def replicates(self, statistic: Statistic) -> Floats:
        """Return the value of every system on the input and in each resample, (systems, 1 + R), the input first.

        Where fewer than two groups of a system have a value, its resamples all equal the value.
        """
        draws = bootstrap(self.n_groups, self.resampling.n, self.resampling.seed)
        each = (self.rows(number) for number in range(len(self.systems)))
        return np.array([measures.replicates(statistic, rows, self.group, draws) for rows in each])

    @property
    def ranked(self) -> dict[str, tuple[str, Measure]]:
        """The measures by which systems are ranked, by key, with their labels."""
        headlines = [(each, measure) for each in self.definitions for measure in each.measures if measure.ranks]
        alone = len({each.name for each, _ in headlines}) == 1
        return {
            measure.key: (measure.label if alone else f"{each.title.removesuffix(' (%)')}: {measure.label}", measure)
            for each, measure in headlines
            if any(measure.key in judged.measured for judged in self.judges)
        }

    def provenance(
        self, *notes: Note, counted: Sequence[tuple[int, str]] = (), warnings: Iterable[str] = ()
    ) -> Provenance:
        """Return what all tables share: data, signatures, and notes.

        notes: those of the pipeline. counted: numbers and nouns of what is counted in answers; the last two are of
        statements and citations (default: of the lines of the first judge). warnings: sentences of the pipeline.
        """
        lines = next((each.lines for each in self.judged if each.lines), ())
        marks = sum(line.start is not None for line in lines)
        counted = counted or ((len(claims_of(lines)), self.unit), (marks, "citation mark"))
        *_, (statements, _), (citations, _) = counted
        data = provenance.data_of(self.name, self.pipeline, self.present, statements, citations)
        backends = [each.backend for each in self.judged if each.backend is not None]
        drawn = self.config.interval
        judged = f"{count(len(self.answers), 'answer')} of {count(len(self.systems), 'system')}, "
        judged += f"{count(data.groups, 'group')}; {', '.join(count(*part) for part in counted)}"
        language = language_note(answer.text for answer in self.answers)
        shown = {name: value for name, value in self.fields.items() if name != "pipeline"}
        after = (
            self._warning(backends, warnings),
            Note("data", "; ".join(filter(None, (judged, left_out_text(self.answers), language)))),
            Note("settings", provenance.settings_text(shown)),
            provenance.verdicts(backends, *self.words),
            *notes,
            *([provenance.UNCHECKED] if backends else []),
            provenance.truncation(backends),
            provenance.by_backend("not judged", ((each.name, self._lacking(each)) for each in self.judges)),
            provenance.by_backend("could be", ((each.name, self._bounds(each)) for each in self.judges)),
            Note("marks", provenance.marks_text(lines)),
            provenance.uncertainty(drawn, data.groups),
        )
        subtitle = ", ".join(filter(None, (plain(self.name), self.title, self.profile)))
        judges = [each.fields for each in self.judges] or [{}]
        return Provenance(data, self.title, subtitle, self.fields, drawn, judges, after=after)

    def _warning(self, backends: Iterable[Backend], more: Iterable[str]) -> Note:
        """Return the note on systems without a common question or with equal answers, and on judges that truncate much.

        more: further sentences of the pipeline; empty ones are left out.
        """
        places = range(len(self.systems))
        texts = [Counter((int(self.group[row]), self.answers[row].text) for row in self.rows(at)) for at in places]
        questions = [{code for code, _ in answers} for answers in texts]
        sentences = [sentence for sentence in more if sentence]
        if len(texts) > 1 and not set.intersection(*questions):
            sentences.append(
                f"no question is answered by all {len(texts)} systems: their differences may be those of their "
                "questions (answers to one question share a group)"
            )
        for first, other in combinations(places, 2):
            if texts[first] == texts[other]:
                names = " and ".join(plain(self.systems[place]) for place in (first, other))
                sentences.append(f"{names} gave the same answers, word for word")
        for backend in backends:
            ledger = backend.ledger
            if ledger.pairs and ledger.cut_pairs >= _CUT * ledger.pairs:
                cut = f"{plain(backend.name)} truncates {share(ledger.cut_pairs, ledger.pairs)} of pairs"
                sentences.append(f"{cut}: it misses support in the part that is cut off")
        return Note("warning", "; ".join(sentences))

    def _lacking(self, each: Judged) -> str:
        """Return, as text, how many verdicts are missing by reason, of how many, and the first of them."""
        if not each.lacking:
            return ""
        reasons = provenance.counts_text(Counter(reason for *_, reason in each.lacking))
        rows = [f"{len(records):,} {kind}" for kind, records in each.rows.items() if kind != "answers"]
        of = count(len(each.lines), "line") if each.lines else ", ".join(rows) or count(len(self.present), "answer")
        shown = [(answer, place, plain(text)) for answer, place, text, _ in each.lacking[:_EXAMPLES]]
        first = [f"{answer}, {place}: {text if len(text) <= 60 else f'{text[:59]}…'}" for answer, place, text in shown]
        return f"{reasons} (of {of}); first: {'; '.join(first)}"

    def _bounds(self, each: Judged) -> str:
        """Return, as text, the measures of systems that lack verdicts, with these as no and as yes."""
        texts = []
        for system in self.systems:
            ranges = []
            for key, (label, measure) in self.ranked.items():
                known = self.estimates.get((each.name, system, key))
                if known is not None and known.worst != known.best and key in each.measured:
                    ends = (format_value(end, measure.column) for end in (known.worst, known.best))
                    ranges.append(f"{label} {' to '.join(ends)}")
            if ranges:
                texts.append(" ".join([plain(system)] * (len(self.systems) > 1) + [", ".join(ranges)]))
        left = len(texts) - _BOUNDED
        more = f"; of {count(left, 'more system')} see worst and best in the files" if left > 0 else ""
        return "; ".join(texts[:_BOUNDED]) + more

    def scores(self, definition: Definition, shared: Provenance) -> Table:
        """Return the table of a definition: its measures of every system, in blocks by judge.

        A single system has one block, with a line per judge. Measures without a value are left out.
        """
        estimates = self.estimates
        keys = {measure.key for measure in definition.measures}
        judges = [each.name for each in self.judged if keys & (each.measured.keys() | each.whole.keys())]
        lines = [(judge, system) for judge in judges for system in self.systems]
        of = {(*line, each.key): Estimate(None) for line in lines for each in definition.measures} | estimates
        shown = [each for each in definition.measures if any(of[*line, each.key].value is not None for line in lines)]
        by_judge = len(self.systems) == 1 and judges != [TEXT]
        table = TableLines()
        for judge in [None] if by_judge else judges:
            of_block = [line for line in lines if judge in (None, line[0])]
            columns = []
            for measure in shown:
                column = [of[*line, measure.key] for line in of_block]
                ranks = rank([each.value for each in column], measure.column) if measure.ranks and not by_judge else {}
                columns.append([interval_cell(each, measure.column, ranks) for each in column])
            for line, *cells in zip(of_block, *columns, strict=True):
                table.add(plain(judge or ""), line[0] if by_judge else line[1], cells)
        table.records.extend(
            {"system": system, "backend": judge, "measure": measure.key, "value": known.value}
            | {"low": known.low, "high": known.high, "worst": known.worst, "best": known.best}
            for judge, system in lines
            for measure in definition.measures
            if (known := estimates.get((judge, system, measure.key)))
        )
        headings = ["backend" if by_judge else "system", *(measure.label for measure in shown)]
        return shared.lines(definition.name, definition.title, headings, table, [Note("reading", definition.reading)])

    def row_tables(self) -> list[Table]:
        """Return the rows of every judge: answers with their values, sentences and citations, and its own."""
        texts = {key: of.alone for each in self.judged if each.name == TEXT for key, of in each.measured.items()}
        tables = []
        for each in self.judges or self.judged:
            values = {key: of.alone for key, of in each.measured.items()} | texts
            more = each.rows.get("answers") or [{}] * len(self.answers)
            answers = [
                {**answer_cells(answer), **{key: alone[row] for key, alone in values.items()}, **more[row]}
                for row, answer in enumerate(self.answers)
            ]
            kinds: dict[str, Sequence[Record]] = {"answers": answers}
            if each.lines:
                kinds |= {"sentences": sentence_rows(each.lines), "citations": [asdict(line) for line in each.lines]}
            kinds |= {kind: records for kind, records in each.rows.items() if kind != "answers"}
            ending = f":{each.name}" if each.name else ""
            tables += [Table(name=f"{kind}{ending}", records=records) for kind, records in kinds.items()]
        return tables

    def done(
        self,
        read: Sequence[Any],
        *notes: Note,
        counted: Sequence[tuple[int, str]] = (),
        warnings: Iterable[str] = (),
        sheets: Callable[[Provenance], Sequence[Table]] = lambda shared: (),
        rows: Sequence[Table] | None = None,
    ) -> Done:
        """Return the output: a table for each definition, `sheets`, ranks and flips of systems, and files of rows.

        read: the files that were read. sheets: makes further tables. rows: in place of `row_tables`. The others: see
        `provenance`.
        """
        shared = self.provenance(*notes, counted=counted, warnings=warnings)
        scores = [self.scores(each, shared) for each in self.definitions]
        tables = [*scores, *sheets(shared), *ranking_sheets(self, shared)]
        rows = self.row_tables() if rows is None else rows
        return Done(
            config=self.config,
            sheets=tables,
            files=[partial(write_row_tables, rows=rows)],
            read=[file for file in read if isinstance(file, Path)],
            value=CitedSheets(tables, rows),
        )
