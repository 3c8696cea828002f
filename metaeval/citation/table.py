"""One line for each citation of each answer, whatever pipeline judged it: the table that every value comes from."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from metaeval.citation.model import Answer, Claim, Mark, Problem, Verdict
from metaeval.citation.premises import find_place, needed
from metaeval.citation.sentences import find_marks, unread
from metaeval.files import atomic_write

State = Literal["judged", "unjudged", "uncited", "fails", "over the limit", "repeated", "no statement", "not read"]
"""What became of a citation.

judged: its precision is known. unjudged: the backend gave no score that decides it; `reason` says why. uncited: the
line stands for a claim without citations. fails: it points at no passage, or stands beside one that does and the
profile lets the whole claim fail. over the limit: behind the number of citations that the profile reads. repeated: the
same number again in its group. no statement: its sentence holds no words. not read: the profile does not read such
marks, or not that part of the answer.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One citation of one claim; a claim without citations has one line without a citation.

    sentence, claim_number: from 1 within the answer; None where a mark stands in no sentence that was read. citation:
    the number cited (1 is the first passage; None: none, or unparsable). start, end: the mark's offsets in the answer;
    sentence_start, sentence_end: its sentence's. joint: whether the claim's passages together entail it; alone, rest:
    whether this one does, and the others without it (None: not asked, or no answer). score: the backend's joint score.
    recall: the claim's, 0 or 1, on each of its lines. precision: the citation's, 0 or 1. Both are None where undefined.
    cut: a premise of this line was longer than what the backend reads.
    """

    answer: str
    group: str = ""
    system: str = ""
    sentence: int | None = None
    claim_number: int | None = None
    claim: str = ""
    made_by: str = ""
    sentence_start: int | None = None
    sentence_end: int | None = None
    citation: int | None = None
    start: int | None = None
    end: int | None = None
    joint: bool | None = None
    alone: bool | None = None
    rest: bool | None = None
    score: float | None = None
    recall: int | None = None
    precision: int | None = None
    state: State = "judged"
    problem: Problem | None = None
    reason: str = ""
    cut: bool = False


COLUMNS = tuple(column.name for column in dataclasses.fields(Line))


def reason_of(*verdicts: Verdict | None) -> str:
    """Why a verdict is missing: the first status among those that were asked for and have no decision."""
    return next((verdict.status for verdict in verdicts if verdict is not None and verdict.entailed is None), "")


def claims_of(lines: Sequence[Line]) -> list[Line]:
    """The first line of each claim, in order: what recall is counted over."""
    first: dict[tuple[str, int], Line] = {}
    for line in lines:
        if line.claim_number is not None:
            first.setdefault((line.answer, line.claim_number), line)
    return list(first.values())


def unjudged(lines: Sequence[Line]) -> list[Line]:
    """The lines whose recall or precision would count and has no value, because a verdict is missing."""
    return [line for line in lines if line.reason]


def counts(lines: Sequence[Line]) -> Mapping[str, int]:
    """How many claims and marks there are, and how many marks are of each state and have each problem.

    A sentence that opens on a mark often has the citation of the sentence before it, set behind the full stop.
    `marks` is the sum over the states of the marks: every mark is in exactly one.
    """
    marks = [line for line in lines if line.start is not None]
    states = Counter(line.state for line in marks)
    problems = Counter(line.problem for line in marks if line.problem is not None)
    claims = claims_of(lines)
    return {
        "claims": len(claims),
        "claims uncited": sum(line.state == "uncited" for line in claims),
        "claims unjudged": sum(unjudged_claim(line) for line in claims),
        "premises cut": sum(line.cut for line in lines),
        "sentences that open on a mark": len(
            {(line.answer, line.start) for line in marks if line.start == line.sentence_start}
        ),
        "marks": len(marks),
        **{f"marks: {state}": states[state] for state in sorted(states)},
        **{f"problem: {problem}": problems[problem] for problem in sorted(problems)},
    }


def unjudged_claim(line: Line) -> bool:
    """A claim without a verdict that would have counted; ALiiCE leaves claims that cite nothing out altogether."""
    return line.recall is None and line.state != "uncited"


def to_jsonl(lines: Sequence[Line]) -> bytes:
    """The table as JSON lines, every column in every line, ASCII only: the same table always gives the same bytes."""
    texts = (json.dumps(dataclasses.asdict(line), allow_nan=False, separators=(",", ":")) + "\n" for line in lines)
    return "".join(texts).encode("ascii")


def to_csv(lines: Sequence[Line]) -> bytes:
    """The table as CSV with a header, UTF-8, ends of lines as LF; None is an empty field, truth values are 0 and 1."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        values = (getattr(line, column) for column in COLUMNS)
        writer.writerow([int(value) if isinstance(value, bool) else value for value in values])
    # A lone surrogate, which JSON input may hold, has no UTF-8 form.
    return out.getvalue().encode("utf-8", "backslashreplace")


def write_table(path: Path, lines: Sequence[Line]) -> None:
    """Write the table, as CSV where the name ends in `.csv` and as JSON lines otherwise."""
    content = to_csv(lines) if path.suffix == ".csv" else to_jsonl(lines)
    with atomic_write(path) as file:
        file.write(content)


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


def recall_of(joint: Verdict | None) -> int | None:
    """Recall of a claim by the verdict on its passages together: 0 without a passage; None where it is missing."""
    if joint is None:
        return 0
    return None if joint.entailed is None else int(joint.entailed)


def precision_of(joint: Verdict, alone: Verdict | None, rest: Verdict | None, cited: int) -> tuple[int | None, str]:
    """Precision of one of a claim's `cited` citations, and the reason where a missing verdict leaves it open."""
    if joint.entailed is None:
        return None, joint.status
    if not joint.entailed or cited == 1:
        return int(joint.entailed), ""
    value = needed(alone, rest)
    return (None, reason_of(alone, rest)) if value is None else (int(value), "")


def mark_line(
    answer: Answer,
    claim: Claim,
    number: int | None,
    recall: int | None,
    mark: Mark,
    verdicts: tuple[Verdict | None, Verdict | None, Verdict | None],
    precision: int | None,
    state: State,
    problem: Problem | None,
    reason: str,
    why: str = "",
) -> Line:
    """A line about a mark of a claim. verdicts: joint, alone, rest. reason, why: of missing precision, and recall."""
    joint, alone, rest = verdicts
    return claim_line(
        answer,
        claim,
        number,
        joint,
        recall,
        citation=mark.number,
        start=mark.start,
        end=mark.end,
        alone=None if alone is None else alone.entailed,
        rest=None if rest is None else rest.entailed,
        precision=precision,
        state="unjudged" if reason else state,
        problem=problem,
        reason=reason or why,
        cut=any(verdict is not None and verdict.cut for verdict in verdicts),
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
