"""The lines of the citation table that ALCE and ALiiCE write alike: of a claim's citation, and of a mark not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaeval.citation.marks import find_marks, unread
from metaeval.citation.model import Answer, Claim, Mark, Verdict
from metaeval.citation.premises import find_place
from metaeval.citation.table import Line


def claim_line(
    answer: Answer, claim: Claim, number: int | None, joint: Verdict | None, recall: int | None, **fields: object
) -> Line:
    """A line about a claim; number: its own in the table, None if it does not count. fields: the others of `Line`."""
    return Line(
        answer=answer.id,
        group=answer.group or answer.id,
        system=answer.system,
        sentence=claim.sentence,
        claim_number=number,
        claim=claim.text,
        made_by=claim.made_by,
        sentence_start=claim.start,
        sentence_end=claim.end,
        joint=None if joint is None else joint.entailed,
        score=None if joint is None else joint.score,
        recall=recall,
        **fields,  # type: ignore[arg-type]
    )


def lines_not_read(answer: Answer, read: Sequence[Mark]) -> Iterator[Line]:
    """The marks of the answer that are in no claim: of forms or parts that a profile does not read, or lost there."""
    for mark in unread(find_marks(answer.text, first=answer.first), read):
        _, problem = find_place(mark.number, len(answer.passages))
        yield Line(
            answer=answer.id,
            group=answer.group or answer.id,
            system=answer.system,
            citation=mark.number,
            start=mark.start,
            end=mark.end,
            state="not read",
            problem=problem,
        )
