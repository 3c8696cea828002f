"""An answer with a judge's edits done: marks taken out of its text and put into it, all else as it was written.

A deleted citation leaves every bracket of its statement that holds it. An added one stands right behind the
statement's last citation, or in its place where that one goes; in a statement without any, before the full stop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from metaeval.citation.citeeval.editing import OWN_KNOWLEDGE, REASONS, Edit, doable, edited
from metaeval.citation.citeeval.evaluate import ResponseValues, evaluate
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.splitting import Split, Statement, split_response
from metaeval.citation.citeeval.values import PAPER, CiteEvalOptions
from metaeval.citation.model import Answer
from metaeval.citation.sentences import MarkStyles, brackets
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.llm.exchange import Ask

T = TypeVar("T")

Fate = Literal["changed", "unchanged", "not judged", "marks not found"]
"""What became of a statement: its marks were changed; they were left; it cites something and the judge gave no edits;
its marks stand otherwise in the answer than in the statement, which was put together from several lines."""

_SEPARATOR = re.compile(r"\s*[,;]\s*")
_FINAL = re.compile(r"""\s*(?:[.!?…]+["'”’»)\]]*|[。！？]+[」』”’）]*)\Z""")
_CLOSING = frozenset(".,;:!?…)]}»”’。，；：！？、）」』")


@dataclass(frozen=True, slots=True)
class Improved:
    """The answer after the edits. done: the edits that were done, in order; fates: both by a statement's number.

    problems: edits that were passed over, by what is wrong with them, and "own knowledge", which adds no mark.
    """

    answer: Answer
    done: Mapping[int, tuple[Edit, ...]]
    fates: Mapping[int, Fate]
    problems: Counter[str]


@dataclass(frozen=True, eq=False)
class Round:
    """All answers as they stand in a round, and what the judge says of them; round 0 is before any edit.

    edits: what the judge's edits make of each answer: those of the next round, where that comes. changed: numbers of
    the answers that are not as they were in the round before. recut: those whose statements read otherwise than
    before, since a mark that came or went moved the end of a sentence.
    """

    answers: Sequence[Answer]
    splits: Sequence[Split]
    results: Sequence[ResponseValues]
    edits: Sequence[Improved]
    changed: frozenset[int] = frozenset()
    recut: frozenset[int] = frozenset()

    @property
    def moving(self) -> frozenset[int]:
        """Numbers of the answers whose text the edits change."""
        pairs = enumerate(zip(self.answers, self.edits, strict=True))
        return frozenset(number for number, (old, new) in pairs if new.answer.text != old.text)


_Change = tuple[int, int, str]
"""A stretch of the text, start and end, and what takes its place."""


def improved(
    answer: Answer, split: Split, edits: Mapping[int, Sequence[Edit]], options: CiteEvalOptions = PAPER
) -> Improved:
    """The answer with the edits of its statements done; edits: by a statement's number, absent where missing.

    split: the answer's own, made with the same options. Raises ValueError for marks that no bracket closes.
    """
    if options.styles.unclosed:
        raise ValueError("marks without a closing bracket cannot be edited")
    highest = min(len(answer.passages), options.highest or len(answer.passages))
    changes: list[_Change] = []
    done: dict[int, tuple[Edit, ...]] = {}
    fates: dict[int, Fate] = {}
    problems: Counter[str] = Counter()
    for one in split.statements:
        own = edits.get(one.number)
        if own is None or split.no_answer:
            fates[one.number] = "not judged" if one.citations else "unchanged"
            continue
        able, wrong = doable(one.citations, own, range(1, highest + 1))
        wanted = edited(one.citations, able)
        made = _changes(answer, one, wanted, options.styles)
        fates[one.number] = "marks not found" if made is None else "changed" if made else "unchanged"
        changes += made or []
        if made is not None:
            done[one.number] = tuple(able)
            problems.update(wrong)
            problems["own knowledge"] += sum(e.action == "add" and e.citation == OWN_KNOWLEDGE for e in own)
    return Improved(replace(answer, text=_applied(answer.text, changes)), done, fates, +problems)


def judged_round(
    answers: Sequence[Answer], splits: Sequence[Split], ask: Ask, asking: Asking, options: CiteEvalOptions = PAPER
) -> Round:
    """Some answers, judged, and what the judge's edits make of them."""
    results = evaluate(answers, splits, ask, asking, options).results
    edits = [
        improved(answer, split, result.judged.edits, options)
        for answer, split, result in zip(answers, splits, results, strict=True)
    ]
    return Round(answers, splits, results, edits)


def further_rounds(
    first: Round, most: int, ask: Ask, asking: Asking, options: CiteEvalOptions, splitter: SentenceSplitter
) -> tuple[list[Round], frozenset[int]]:
    """Edit and judge again, until no edit changes an answer, or for so many rounds; the first is among the rounds.

    An answer that no edit changed is not asked about again. Also returned: the numbers of the answers that an edit
    would have brought back to an earlier text, and that were left.
    """
    rounds = [first]
    seen = [{answer.text} for answer in first.answers]
    circling: set[int] = set()
    while True:
        last = rounds[-1]
        circling |= {number for number in last.moving if last.edits[number].answer.text in seen[number]}
        moving = sorted(last.moving - circling)
        if not moving or len(rounds) > most:
            return rounds, frozenset(circling)
        moved = [last.edits[number].answer for number in moving]
        for number, answer in zip(moving, moved, strict=True):
            seen[number].add(answer.text)
        splits = [split_response(one, options, splitter) for one in moved]
        rounds.append(_after(last, moving, judged_round(moved, splits, ask, asking, options)))


def _after(last: Round, moving: Sequence[int], again: Round) -> Round:
    """The round after: the answers that moved as they were judged anew, all others with what was said of them."""
    recut = [
        number
        for number, split in zip(moving, again.splits, strict=True)
        if [one.text for one in split.statements] != [one.text for one in last.splits[number].statements]
    ]

    def replaced(old: Sequence[T], new: Sequence[T]) -> list[T]:
        values = dict(zip(moving, new, strict=True))
        return [values.get(number, one) for number, one in enumerate(old)]

    return Round(
        replaced(last.answers, again.answers),
        replaced(last.splits, again.splits),
        replaced(last.results, again.results),
        replaced(last.edits, again.edits),
        frozenset(moving),
        frozenset(recut),
    )


def _changes(answer: Answer, statement: Statement, wanted: Sequence[int], styles: MarkStyles) -> list[_Change] | None:
    """What brings the statement from its citations to those that are wanted; None if its marks are not to be found."""
    gone = set(statement.citations) - set(wanted)
    come = [number for number in wanted if number not in statement.citations]
    own = answer.text[statement.start : statement.end]
    cited = list(brackets(own, styles, answer.first))
    found = dict.fromkeys(one for *_, numbers in cited for one in numbers if one in statement.citations)
    if tuple(found) != statement.citations:
        return None
    citing = [(start, end, numbers) for start, end, numbers in cited if found.keys() & numbers]
    made: list[_Change] = []
    for start, end, numbers in citing:
        added = come if start == citing[-1][0] else []
        if added or gone & set(numbers):
            new = _rewritten(own[start:end], gone, added, styles, answer.first)
            made.append((statement.start + start, statement.start + end, new))
    if come and not citing:
        # Before the final punctuation, else at the end.
        final = _FINAL.search(own)
        place = statement.start + (final.start() if final else len(own.rstrip()))
        made.append((place, place, f" {_marks('[', ']', '', come, answer.first)}"))
    return made


def _rewritten(bracket: str, gone: Set[int], come: Sequence[int], styles: MarkStyles, first: int) -> str:
    """A bracket without some numbers and with some more; empty where none is left.

    What stays is written as it was. A list takes what is added in; behind any other bracket it gets brackets of its
    own. A range that loses a number becomes the numbers that are left of it.
    """
    opening, body, closing = bracket[0], bracket[1:-1].strip(), bracket[-1]
    items, separator = _SEPARATOR.split(body), _SEPARATOR.search(body)
    caret = "^" if items[0].startswith("^") else ""
    kept: list[str] = []
    for item in items:
        numbers = [number for *_, own in brackets(f"[{item}]", styles, first) for number in own]
        if gone.isdisjoint(numbers):
            kept.append(item)
        else:
            kept += [f"{caret}{number + first - 1}" for number in numbers if number not in gone]
    if separator is not None and kept:
        kept += [f"{caret}{number + first - 1}" for number in come]
        come = []
    between = separator[0] if separator is not None else f"{closing}{opening}"
    inside = between.join(kept)
    if kept == items:
        inside = bracket[1:-1]  # with the white space that stands in it
    own = f"{opening}{inside}{closing}" if kept else ""
    return own + _marks(opening, closing, caret, come, first)


def _marks(opening: str, closing: str, caret: str, numbers: Sequence[int], first: int) -> str:
    return "".join(f"{opening}{caret}{number + first - 1}{closing}" for number in numbers)


def _applied(text: str, changes: Sequence[_Change]) -> str:
    """The text with the changes made; a bracket that goes takes the white space along that only it needed."""
    joined: list[_Change] = []
    for start, end, new in sorted(changes):
        # Brackets that go and have nothing but white space between them go as one.
        if joined and not joined[-1][2] and not new and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end, "")
        else:
            joined.append((start, end, new))
    pieces, end = [], 0
    for start, stop, new in joined:
        if not new:
            start, stop = _with_space(text, start, stop)
        pieces += [text[end:start], new]
        end = stop
    return "".join([*pieces, text[end:]])


def _with_space(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch of a bracket that goes, with the white space before it, or else behind it, that would be too much."""
    left, right = len(text[:start].rstrip()), len(text) - len(text[end:].lstrip())
    before, behind = text[left:start], text[end:right]
    if behind and (left == 0 or ("\n" in before and "\n" not in behind)):
        return start, right
    if behind or right == len(text) or text[end] in _CLOSING:
        return left, end
    return start, end


def counts_of(before: Round, after: Round | None, numbers: Sequence[int]) -> dict[str, int]:
    """Counts of what brought a round about, of some answers; after: None: of what was left to do."""
    changed = before.moving if after is None else after.changed
    own = [n for n in numbers if n in changed]
    fates = Counter(
        fate for n in numbers for fate in before.edits[n].fates.values() if n in changed or fate != "changed"
    )
    done = Counter((edit.action, edit.reason) for n in own for edits in before.edits[n].done.values() for edit in edits)
    problems = sum((before.edits[n].problems for n in numbers), Counter[str]())
    return {
        "answers changed": len(own),
        **{f"statements {fate}": fates[fate] for fate in ("changed", "unchanged", "not judged", "marks not found")},
        **{
            f"{action}: {reason}": done[action, number]
            for action, reasons in REASONS.items()
            for number, reason in enumerate(reasons, start=1)
        },
        **{f"passed over: {name}": times for name, times in sorted(problems.items())},
        "answers whose sentences end elsewhere": 0 if after is None else len(after.recut & set(numbers)),
    }
