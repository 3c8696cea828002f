"""Read answers into statements with their citations, and judge each citation by levels of support."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from metaeval.citation.alce.citations import AlceProfile, statements
from metaeval.citation.citation_table import CitationLine, CitedMark, find_place, premise, verdicts_on
from metaeval.citation.data_model import NO_TEXT, Answer, Claim, Entails, Mark, NliPair, Verdict, answer_cells
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.support.level_readings import FIELD, SCALE, read_levels
from metaeval.citation.support.measures import Level, StatementLevels
from metaeval.core.errors import shown
from metaeval.corpus.data_rows import DataRow
from metaeval.corpus.sentences import RULES, SentenceSplitter

# Sentences as ALCE reads them; a repeated citation counts twice, and marks behind a full stop belong before it.
_READ = AlceProfile(repeats="keep", leading="move all")

NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class SupportStatement:
    """A statement, its readable marks, and their levels: those of its file (`from_file`), of a judge, or none.

    verdicts: on each citation alone; None: not asked, for the reason `missing`.
    """

    claim: Claim
    cited: tuple[CitedMark, ...]
    levels: StatementLevels
    from_file: bool
    verdicts: tuple[Verdict | None, ...]
    missing: str = NOT_JUDGED

    def filled(self, level: Level) -> StatementLevels:
        """Return the levels with this one for each missing judgement; a mark that cites no passage misses none."""
        both = zip(self.levels.levels, self.cited, strict=True)
        levels = (level if known is None and mark.state != "fails" else known for known, mark in both)
        return replace(self.levels, levels=tuple(levels))


def support_statements(answer: Answer, splitter: SentenceSplitter = RULES) -> list[SupportStatement]:
    """Return the statements of an answer: those that its file lists, with or without levels, else its sentences.

    Raises `UserError` for a level that is not of the file's scale.
    """
    if FIELD not in answer.reference:
        return [
            _unjudged(row.claim, tuple(mark for mark in row.cited if mark.state in ("judged", "fails")))
            for row in statements(answer, _READ, splitter)
            if row.number is not None
        ]
    rows = DataRow(f"answer {shown(answer.id)}", answer.reference).rows(FIELD)
    return [_stated(answer, row, number) for number, row in enumerate(rows, start=1)]


def _unjudged(claim: Claim, cited: tuple[CitedMark, ...]) -> SupportStatement:
    none = (None,) * len(cited)
    levels = StatementLevels(none, tuple(mark.mark.number for mark in cited), text=claim.text)
    return SupportStatement(claim, cited, levels, False, none)


def _stated(answer: Answer, row: DataRow, number: int) -> SupportStatement:
    start, end = row.number("start"), row.number("end")
    if not 0 <= start <= end <= len(answer.text):
        raise row.error("end", f"offsets in the text, from 0 to {len(answer.text)}")
    cited = row.numbers("cited") if row.fields.get("cited") else []
    spans = [mark for mark in find_marks(answer.text[start:end]) if mark.number is not None][-len(cited or [0]) :]
    if len(spans) != len(cited):  # marks that cannot be found stand for the whole statement
        spans = [Mark(0, end - start, place) for place in cited]
    marks = tuple(Mark(start + span.start, start + span.end, place) for span, place in zip(spans, cited, strict=True))
    places = ((mark, *find_place(mark.number, len(answer.passages))) for mark in marks)
    placed = tuple(CitedMark(*each, "fails" if each[1] is None else "judged") for each in places)
    text = row.optional_text("text") or answer.text[start:end]
    stated = _unjudged(Claim(text, marks, number, start, end), placed)
    if row.fields.get("levels") is None:
        return stated
    return replace(stated, levels=read_levels(row, answer.reference.get(SCALE, "trec")), from_file=True)


def judge_levels(
    answers: Sequence[Answer],
    stated: Sequence[Sequence[SupportStatement]],
    entails: Entails,
    weigh: Callable[[Verdict], Level],
    stray: Level = None,
) -> list[list[SupportStatement]]:
    """Judge each citation alone, in one call of `entails`.

    stated: the statements of each answer; the result has the same shape. weigh: returns the level of a verdict, from
    its decision by one or two thresholds, or its soft score. stray: the level of a mark that cites no passage. A
    citation of a passage without text has no level.
    """
    paired = [
        [(row, [_pair(answer, row, mark) for mark in row.cited]) for row in of_answer]
        for answer, of_answer in zip(answers, stated, strict=True)
    ]
    known = verdicts_on([pair for of_answer in paired for _, pairs in of_answer for pair in pairs], entails)

    def judged(row: SupportStatement, pairs: Sequence[NliPair | None]) -> SupportStatement:
        verdicts = tuple(None if each is None else known[each] for each in pairs)
        levels = tuple(
            stray if mark.place is None else None if verdict is None else weigh(verdict)
            for mark, verdict in zip(row.cited, verdicts, strict=True)
        )
        return replace(row, levels=replace(row.levels, levels=levels), verdicts=verdicts, missing=NO_TEXT)

    return [[judged(*each) for each in of_answer] for of_answer in paired]


def _pair(answer: Answer, row: SupportStatement, mark: CitedMark) -> NliPair | None:
    passage = None if mark.place is None else answer.passages[mark.place]
    return (premise([passage]), row.claim.text) if passage and passage.text.strip() else None


def keep_labelled_levels(judged: SupportStatement, labelled: SupportStatement) -> SupportStatement:
    """Return a judged statement without the levels of citations that have no level in the file (`labelled`)."""
    known = [level is not None for level in labelled.levels.levels]
    levels = tuple(level if there else None for level, there in zip(judged.levels.levels, known, strict=True))
    verdicts = tuple(verdict if there else None for verdict, there in zip(judged.verdicts, known, strict=True))
    return replace(judged, levels=replace(judged.levels, levels=levels), verdicts=verdicts, missing=NOT_JUDGED)


def support_lines(answers: Sequence[Answer], judged: Sequence[Sequence[SupportStatement]]) -> list[CitationLine]:
    """Return one line for each citation and each uncited statement.

    A line's precision is the citation's level. Its recall is the highest known level of the statement's citations; 0
    for an uncited statement.
    """
    return [
        line
        for answer, of_answer in zip(answers, judged, strict=True)
        for number, row in enumerate(of_answer, start=1)
        for line in _lines(answer, row, number)
    ]


def _lines(answer: Answer, row: SupportStatement, number: int) -> Iterator[CitationLine]:
    claim, levels = row.claim, row.levels
    known = [level for level in levels.levels if level is not None]
    recall = max(known, default=None if levels.levels else 0.0)
    line = CitationLine(
        **answer_cells(answer),
        sentence=claim.sentence,
        claim_number=number,
        claim=claim.text,
        made_by="file" if row.from_file else "sentence",
        sentence_start=claim.start,
        sentence_end=claim.end,
        recall=recall,
    )
    if not row.cited:
        yield replace(line, state="uncited")
    for cited, level, verdict in zip(row.cited, levels.levels, row.verdicts, strict=True):
        failed = cited.state == "fails"
        reason = "" if level is not None or failed else row.missing if verdict is None else verdict.status
        yield replace(
            line,
            citation=cited.mark.number,
            start=cited.mark.start,
            end=cited.mark.end,
            alone=None if level is None else level == 1,
            score=None if verdict is None else verdict.score,
            precision=level,
            state="fails" if failed else "unjudged" if reason else "judged",
            problem=cited.problem,
            reason=reason,
            cut=verdict is not None and verdict.cut,
        )
