"""Converts the `CitedText` that formats of records are read into to `Answer`, and counts what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from metaeval.citation.data_model import Answer, LeftOut, Passage
from metaeval.citation.readers.cited_text import CitedText, Reasons
from metaeval.citation.readers.formats.answer_format import AnswerFormat, unread_text, unwrapped
from metaeval.citation.readers.mark_insertion import (
    BRACKETS,
    EXACT,
    NO_SOURCE,
    NO_SOURCES,
    NOT_PLACED,
    PLACED,
    with_marks,
)
from metaeval.citation.readers.source_texts import SourceTexts, names_of, read_texts
from metaeval.core.errors import count, shown
from metaeval.corpus.data_rows import DataRow


@dataclass
class CitedReading:
    """Answers of one format, with counts of their citations.

    reasons: counts by what became of citations in the text. left_out: counts of those that the format does not read, by
    reason. cited_sources: number of cited sources; quoted_sources: number of those whose only text is what citations
    quote. missing: names of cited sources without any text. unread: of records, the path of a text that is not read.
    """

    form: AnswerFormat
    answers: list[Answer] = field(default_factory=list)
    reasons: Reasons = field(default_factory=Counter)
    left_out: Reasons = field(default_factory=Counter)
    cited_sources: int = 0
    quoted_sources: int = 0
    missing: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def notes(self) -> Iterator[str]:
        """Yield how the answers were read, as clauses for the log."""
        units = {name: n for name, n in self.reasons.items() if name.startswith(PLACED)}
        counted = [f"{name.removeprefix(PLACED)}: {n:,}" for name, n in units.items() if name != f"{PLACED}{EXACT}"]
        note = f"read as {self.form.name}: {count(len(self.answers), 'answer')}"
        note += f", {count(sum(units.values()), 'citation')}" if units else ""
        note += f" (unit of their offsets: {', '.join(counted)})" if counted else ""
        yield f"{note}; {self.form.note}" if self.form.note else note
        if n := self.quoted_sources:
            yield f"{n:,} of {self.cited_sources:,} cited sources have only what answers quote of them"

    def losses(self) -> Iterator[str]:
        """Yield what was left out, with counts, as clauses for warnings."""
        for reason, what in ((NOT_PLACED, "citation"), (NO_SOURCE, "citation"), (NO_SOURCES, "span")):
            if number := self.reasons[reason]:
                yield f"{count(number, what)} {reason}"
        if number := self.reasons[BRACKETS]:
            brackets = f"{count(number, 'bracket')} of the texts read as round brackets"
            yield f"{brackets}, since citations of this format are data beside the text"
        yield from (f"{number:,} {reason}" for reason, number in self.left_out.items() if number)
        if self.unread:
            held = f"{count(len(self.unread), 'record')} of {len(self.answers):,}"
            yield f"{held} hold a text that the format {self.form.name} does not read, for example {self.unread[0]}"
        if self.missing:
            named = ", ".join(shown(name, 80) for name in list(dict.fromkeys(self.missing))[:3])
            yield (
                f"{len(self.missing):,} of {self.cited_sources:,} cited sources have no text and are not judged, for "
                f"example {named}: give their texts with --sources FILE"
            )


def read_cited(form: AnswerFormat, rows: Sequence[DataRow], sources: Path | None = None) -> CitedReading:
    """Return the answers in the rows of a file of a format. sources: file or folder of the texts of sources.

    Raises `UserError` for a row of another shape, and as `read_texts` does.
    """
    reading, cited = CitedReading(form), list[tuple[str, CitedText]]()
    for number, row in enumerate(rows, start=1):
        reply = unwrapped(row)
        drafts = [*form.read(reply)]
        reading.unread += filter(None, [unread_text(form, reply.fields, drafts)])
        # An answer's id is by default the row's number from 1, and for the row's second answer NUMBER#2.
        ids = (f"{number}#{sample + 1}" if sample else str(number) for sample in range(len(drafts)))
        cited += [(text.id or default, text) for default, text in zip(ids, drafts, strict=True)]
    named = ((source, name, at) for name, text in cited for at, source in enumerate(text.sources))
    texts = read_texts(sources, {key for each in named for key in names_of(*each)}) if sources else {}
    reading.answers = [_answer(name, text, texts, reading) for name, text in cited]
    return reading


def _answer(name: str, cited: CitedText, texts: SourceTexts, reading: CitedReading) -> Answer:
    reading.left_out.update(cited.left_out)
    text = cited.text if cited.marks_in_text else with_marks(cited, reading.reasons)
    used = {source for span in cited.spans for source in span.sources}
    passages = []
    for place, source in enumerate(cited.sources):
        keys = () if source.text.strip() else names_of(source, name, place)
        outside = next((texts[key] for key in keys if key in texts), None)
        passage = outside or Passage(source.text or "\n".join(source.quotes), source.title)
        is_cited = place in used or cited.marks_in_text
        reading.cited_sources += is_cited
        reading.quoted_sources += is_cited and outside is None and not source.text.strip() and bool(source.quotes)
        if not passage.text.strip():
            passage = Passage("")  # a title alone is not the text of a source
            reading.missing += [source.url or source.id or source.title or f"{name}, source {place}"] * is_cited
        passages.append(replace(passage, source=source.url or source.id))
    group = cited.group or ("" if cited.question.strip() else name)
    left_out = tuple(LeftOut(len(text), len(text), kind, sources=number) for kind, number in cited.cut)
    return Answer(name, text, tuple(passages), cited.question, group, cited.system, left_out=left_out)
