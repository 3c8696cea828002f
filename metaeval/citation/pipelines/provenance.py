"""How a run's numbers were made: what stands around each of its tables, in settings, footers and signatures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from metaeval.citation.measures import group_codes
from metaeval.citation.model import Answer, fingerprint
from metaeval.citation.panel import SystemPanel
from metaeval.citation.pipelines.layout import Entry, TableLines, entry_records, lines_grid, scores_grid
from metaeval.citation.pipelines.verdicts import Backend
from metaeval.config import IntervalConfig
from metaeval.corpus.sentences import language_note
from metaeval.report.notes import few_of, made_of
from metaeval.report.result import Column, Data, Interval
from metaeval.report.table import ColumnGroup, Note, Record, Scalar, Table, count, plain, share
from metaeval.signature import resampled_fields, signature, versions

_EXAMPLES = 3
"""Of what is missing, named in a note."""

_CUT = 0.1
"""Share of pairs that a metric reads in part from which on a table has a warning."""


@dataclass(frozen=True, eq=False)
class Provenance:
    """What is the same around all tables of a run.

    data: what was judged. kind: the last part of a table's key (empty: none). fields: what the numbers depend on beside
    the answers. judges: what they depend on besides, for each signature. before, after: notes above and below those
    of a table's own.
    """

    data: Data
    kind: str
    subtitle: str
    fields: Mapping[str, Scalar]
    interval: IntervalConfig
    judges: Sequence[Mapping[str, object]] = ({},)
    before: Sequence[Note] = ()
    after: Sequence[Note] = ()

    def sheet(
        self,
        name: str,
        title: str,
        records: Sequence[Record],
        layout: Callable[[Table], Table],
        notes: Sequence[Note] = (),
    ) -> Table:
        """A table of the run. layout: makes its grid; notes: its own. Notes that say nothing are left out."""
        footer = tuple(note for note in (*self.before, *notes, *self.after) if note.text or note.items)
        key = (name, self.data.name, self.kind) if self.kind else (name, self.data.name)
        drawn = self.interval
        made = {
            **resampled_fields(drawn.level, drawn.resamples, drawn.seed, drawn.method, drawn.fewest),
            **versions("metaeval", "numpy"),
        }
        answers = {"answers": answers_at(self.data), **self.fields}
        signatures = tuple(signature({**answers, **one, **made}) for one in self.judges)
        settings = {**self.fields, **drawn.drawn(), "method": drawn.method}
        frame = Table(key, title, self.subtitle, footer=footer, signatures=signatures)
        made_of_lines = replace(layout(frame), name=name, data=self.data, settings=settings, records=records)
        return made_of_lines.noting(self.data.demo)

    def scores(
        self, name: str, title: str, columns: Sequence[Column], entries: Sequence[Entry], notes: Sequence[Note] = ()
    ) -> Table:
        """A table of systems by measures, in blocks by backend; a record for each value."""
        records = entry_records(entries)
        return self.sheet(name, title, records, lambda frame: scores_grid(frame, columns, entries), notes)

    def lines(
        self,
        name: str,
        title: str,
        headings: Sequence[str],
        table: TableLines,
        notes: Sequence[Note] = (),
        groups: tuple[ColumnGroup, ...] = (),
    ) -> Table:
        """A table of named lines in titled blocks. headings: of the names, then of the cells."""
        stub, *others = headings
        return self.sheet(
            name, title, table.records, lambda frame: lines_grid(frame, stub, others, table, groups), notes
        )


def data_of(name: str, split: str, answers: Sequence[Answer], statements: int, citations: int) -> Data:
    """What was judged, for the files: documents are passages. split: the pipeline."""
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


def judged(panel: SystemPanel, data: Data, *parts: tuple[int, str]) -> Note:
    """What was judged: 3 answers of 1 system, 2 groups; 5 claims, 7 citation marks. parts: numbers with their nouns."""
    said = f"{count(len(panel.answers), 'answer')} of {count(len(panel.systems), 'system')}, "
    counts = f"{count(data.groups, 'group')}; {', '.join(count(*part) for part in parts)}"
    return Note("data", "; ".join(filter(None, (said + counts, language_note(one.text for one in panel.answers)))))


def warning(panel: SystemPanel, backends: Iterable[Backend] = (), more: Iterable[str] = ()) -> Note:
    """What decides how a table is read: systems that cannot be compared, or are one, and sources read in part.

    more: sentences of the pipeline's own; an empty one says nothing.
    """
    places = range(len(panel.systems))
    own = [Counter((int(panel.group[row]), panel.answers[row].text) for row in panel.rows(place)) for place in places]
    questions = [{code for code, _ in one} for one in own]
    said = [sentence for sentence in more if sentence]
    if len(own) > 1 and not set.intersection(*questions):
        said.append(
            f"no question is answered by all {len(own)} systems: what parts them may be their questions (answers to "
            "one question share a group)"
        )
    for one, other in combinations(places, 2):
        if own[one] == own[other]:
            names = " and ".join(plain(panel.systems[place]) for place in (one, other))
            said.append(f"{names} gave the same answers, word for word")
    for backend in backends:
        ledger = backend.ledger
        if ledger.pairs and ledger.cut_pairs >= _CUT * ledger.pairs:
            cut = share(ledger.cut_pairs, ledger.pairs)
            said.append(
                f"{plain(backend.name)} reads {cut} of pairs only in part: support that stands later is not seen"
            )
    return Note("warning", "; ".join(said))


def reasons(counts: Mapping[str, int], of: str, examples: Sequence[tuple[str, str, str]]) -> str:
    """Why something has no verdict, of how many, and the first of it: answer, place and text of each."""
    shown = [(answer, place, plain(text)) for answer, place, text in examples[:_EXAMPLES]]
    first = [f"{answer}, {place}: {text if len(text) <= 60 else f'{text[:59]}…'}" for answer, place, text in shown]
    return f"{counted(counts)} (of {of}); first: {'; '.join(first)}"


def counted(counts: Mapping[str, int]) -> str:
    """Counts by name, sorted: failed 1, too long 2."""
    return ", ".join(f"{plain(name)} {number:,}" for name, number in sorted(counts.items()))


def listed(fields: Mapping[str, object]) -> str:
    """Settings as a note has them: profile paper, splitter rules."""
    return ", ".join(f"{name} {plain(str(value))}" for name, value in fields.items())


def written_out(options: Mapping[str, object]) -> str:
    """Options as a signature has them: prompt=plain,tries=3."""
    return ",".join(f"{name}={value}" for name, value in options.items())


def by_backend(label: str, said: Iterable[tuple[Backend, str]]) -> Note:
    """A note that says something of each backend; of one with an empty text, nothing."""
    return Note(label, "", tuple((plain(backend.name), text) for backend, text in said if text))


def verdicts(backends: Iterable[Backend], soft: str, decided: str) -> Note:
    """How scores become verdicts, and of how many pairs. decided: with places for the threshold and its source."""

    def said(one: Backend) -> str:
        cutoff = one.cutoff
        how = soft if cutoff.value is None else decided.format(f"{cutoff.value:g}", cutoff.source)
        return f"{how}; {count(one.ledger.pairs, 'pair')}"

    return by_backend("verdicts", ((one, said(one)) for one in backends))


def by_system(panel: SystemPanel, said: Callable[[int], Sequence[str]]) -> str:
    """What is said of each system, by its number; its name stands before it where there are several."""
    found = [(plain(name), ", ".join(said(number))) for number, name in enumerate(panel.systems)]
    alone = len(panel.systems) == 1
    return "; ".join(text if alone else f"{name} {text}" for name, text in found if text)


def uncertainty(interval: IntervalConfig, groups: int | None = None, more: str = "") -> Note:
    """How intervals are made, as a note; groups: their number, None where it is not one for all numbers."""
    made = Interval(**interval.model_dump())
    few = "" if groups is None else few_of(made, groups)
    return Note("uncertainty", f"{made_of(made, groups)}{more}{f' ({few})' if few else ''}")


def in_steps(interval: IntervalConfig) -> Note:
    """That the intervals of the order of systems are made otherwise than the rest."""
    drawn = f"{count(interval.resamples, 'resample')} of groups, seed {interval.seed}"
    return Note("intervals", f"the order of systems moves in steps: its intervals are percentiles, {drawn}")


def answers_at(data: Data) -> str:
    """What was judged, pinned: NAME@FINGERPRINT."""
    return f"{data.name}@{data.fingerprint[:12]}"


def truncation(backends: Iterable[Backend]) -> Note:
    """What metrics did not read, as a note; it has no items where they read everything."""
    said = "{} of pairs are longer than the metric reads; {} of tokens cut"
    cut = ((one, one.ledger) for one in backends if one.ledger.cut_pairs)
    shares = ((one, share(own.cut_pairs, own.pairs), share(own.cut_tokens, own.tokens)) for one, own in cut)
    return by_backend("truncation", ((one, said.format(*both)) for one, *both in shares))
