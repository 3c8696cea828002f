"""Apply a judge's edits to an answer: marks are removed from its text and inserted, everything else is unchanged.

A deleted citation is removed from every bracket of its statement. An added citation follows the statement's last one,
or takes its place if that one is deleted; in a statement without citations it precedes the full stop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from metaeval.citation.citeeval.citation_edits import OWN_KNOWLEDGE, REASONS, Edit, apply_edits
from metaeval.citation.citeeval.evaluate_responses import Rated, evaluate, values_of
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import PAPER, CiteEvalOptions
from metaeval.citation.citeeval.splitting import ResponseStatement, Split, split_response
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import MarkStyles, brackets
from metaeval.citation.readers.citebench import stating
from metaeval.corpus.sentences import OPENING, SentenceSplitter
from metaeval.llm.messages import Ask

Fate = Literal["changed", "unchanged", "not judged", "marks not found"]

_SEPARATOR = re.compile(r"\s*[,;]\s*")
_FINAL = re.compile(r"""(?<!\s)\s*(?:(?<![.!?…])[.!?…]+["'”’»)\]]*|(?<![。！？।॥۔؟])[。！？।॥۔؟]+[」』”’）]*)\Z""")
_CLOSING = frozenset(".,;:!?…)]}»”’。，；：！？、）」』।॥۔؟")


@dataclass(frozen=True, slots=True)
class Improved:
    """The answer after the edits.

    done: by a statement's number, its applied edits in order; absent without edits, or if its marks were not found.
    fates: by a statement's number, its outcome; not judged: it has citations, and the judge gave no edits of it; marks
    not found: the marks in its span of the answer are not those of the statement, which was joined from several lines.
    problems: counts of skipped edits by problem (see `EditProblem`), and
    of edits that add the model's "own knowledge", which add no mark.
    """

    answer: Answer
    done: Mapping[int, tuple[Edit, ...]]
    fates: Mapping[int, Fate]
    problems: Counter[str]


@dataclass(frozen=True, eq=False)
class Round:
    """All answers of a round as the judge rates them, and each answer after its edits, as in the next round.

    rated: round 0 is before any edit. changed: indices of the answers that changed since the round before. recut:
    indices of the answers whose statements have other texts than in the round before, because a mark moved the end of a
    sentence.
    """

    rated: Rated
    edits: Sequence[Improved]
    changed: frozenset[int] = frozenset()
    recut: frozenset[int] = frozenset()

    @property
    def answers(self) -> Sequence[Answer]:
        """The answers as they are judged."""
        return self.rated.responses

    @property
    def moving(self) -> frozenset[int]:
        """Indices of the answers whose text the edits of this round change."""
        pairs = enumerate(zip(self.answers, self.edits, strict=True))
        return frozenset(number for number, (old, new) in pairs if new.answer.text != old.text)


_Change = tuple[int, int, str]  # start and end offsets in the text, and their replacement


def improved(
    answer: Answer, split: Split, edits: Mapping[int, Sequence[Edit]], options: CiteEvalOptions = PAPER
) -> Improved:
    """Return the answer after the judge's edits. edits: by a statement's number; absent where the judge gave none.

    split: the answer's statements, by the same options.
    """
    passages = [number for number in answer.with_text if number <= (options.highest or number)]
    changes: list[_Change] = []
    done: dict[int, tuple[Edit, ...]] = {}
    cited: dict[int, tuple[int, ...]] = {}
    fates: dict[int, Fate] = {}
    problems: Counter[str] = Counter()
    for statement in split.statements:
        statement_edits = edits.get(statement.number)
        if statement_edits is None or split.no_answer:
            fates[statement.number] = "not judged" if statement.citations else "unchanged"
            continue
        after, able, wrong = apply_edits(statement.citations, statement_edits, passages)
        new_changes = _changes(answer, statement, after, options.styles)
        if new_changes is None:
            fates[statement.number] = "marks not found"
            continue
        fates[statement.number] = "changed" if new_changes else "unchanged"
        changes += new_changes
        done[statement.number], cited[statement.number] = tuple(able), tuple(after)
        problems.update(wrong)
        problems["own knowledge"] += sum(e.action == "add" and e.citation == OWN_KNOWLEDGE for e in statement_edits)
    edited = replace(answer, text=_applied(answer.text, changes))
    if answer.split is not None:
        cut = (replace(each, citations=cited.get(each.number, each.citations)) for each in answer.split.statements)
        edited = stating(answer, replace(answer.split, statements=tuple(cut)))
    return Improved(edited, done, fates, +problems)


def judged_round(
    answers: Sequence[Answer], splits: Sequence[Split], ask: Ask, asking: Asking, options: CiteEvalOptions = PAPER
) -> Round:
    """Return a round: the answers, the judge's values and edits of their citations, and the answers after the edits."""
    rated = evaluate(answers, splits, ask, asking, options)
    edits = [
        improved(answer, split, judged.edits, options)
        for answer, split, judged in zip(answers, splits, rated.judged, strict=True)
    ]
    return Round(rated, edits)


def further_rounds(
    first: Round, most: int, ask: Ask, asking: Asking, options: CiteEvalOptions, splitter: SentenceSplitter
) -> tuple[list[Round], frozenset[int]]:
    """Edit and judge until no edit changes an answer, for at most `most` rounds after the first.

    Only changed answers are judged again. Returns (the rounds, the first included; the indices of the answers whose
    last edits were not applied because they restore an earlier text).
    """
    rounds, options = [first], replace(options, uncited=asking.uncited)
    seen = [{answer.text} for answer in first.answers]
    circling: set[int] = set()
    while True:
        last = rounds[-1]
        circling |= {number for number in last.moving if last.edits[number].answer.text in seen[number]}
        moving = sorted(last.moving - circling)
        if not moving or len(rounds) > most:
            return rounds, frozenset(circling)
        moved = [last.edits[number].answer for number in moving]
        again = judged_round(moved, [split_response(each, options, splitter) for each in moved], ask, asking, options)
        answers, splits, judged = list(last.answers), list(last.rated.splits), list(last.rated.judged)
        edits, recut = list(last.edits), set()
        for place, number in enumerate(moving):
            both = splits[number].statements, again.rated.splits[place].statements
            if [each.text for each in both[0]] != [each.text for each in both[1]]:
                recut.add(number)
            seen[number].add(moved[place].text)
            answers[number], splits[number] = moved[place], again.rated.splits[place]
            judged[number], edits[number] = again.rated.judged[place], again.edits[place]
        values = values_of(answers, splits, judged, asking.mode, options)
        rated = Rated(answers, splits, judged, values, options)
        rounds.append(Round(rated, edits, frozenset(moving), frozenset(recut)))


def _changes(
    answer: Answer, statement: ResponseStatement, wanted: Sequence[int], styles: MarkStyles
) -> list[_Change] | None:
    """Return the text changes that turn a statement's citations into `wanted`; None if the answer lacks its marks."""
    gone = set(statement.citations) - set(wanted)
    come = [number for number in wanted if number not in statement.citations]
    text = answer.text[statement.start : statement.end]
    cited = list(brackets(text, styles, answer.first))
    written = dict.fromkeys(number for *_, numbers in cited for number in numbers if number in statement.citations)
    if tuple(written) != statement.citations:
        return None
    citing = [(start, end, numbers) for start, end, numbers in cited if written.keys() & numbers]
    changes: list[_Change] = []
    for start, end, numbers in citing:
        added = come if start == citing[-1][0] else []
        if added or gone & set(numbers):
            new = _rewritten(text[start:end], gone, added, styles, answer.first)
            changes.append((statement.start + start, statement.start + end, new))
    if come and not citing:
        # Before the final punctuation, else at the end.
        final = _FINAL.search(text)
        place = statement.start + (final.start() if final else len(text.rstrip()))
        changes.append((place, place, f" {_marks('[', ']', '', come, answer.first)}"))
    return changes


def _rewritten(bracket: str, gone: Set[int], come: Sequence[int], styles: MarkStyles, first: int) -> str:
    """Return a bracket without the numbers `gone` and with the numbers `come`; empty if no number is left.

    The rest of the bracket is unchanged. Added numbers join a list ([1, 2]); behind any other bracket each gets its
    own. A range that loses a number becomes its remaining numbers. first: the number by which the text cites the first
    passage; gone and come are from 1.
    """
    if bracket[0] not in OPENING:  # raised digits, with or without a tag
        left = [number for *_, parsed in brackets(bracket, styles, first) for number in parsed if number not in gone]
        return _marks("[", "]", "", [*left, *come], first)
    opening, body, closing = bracket[0], bracket[1:-1].strip(), bracket[-1]
    items, separator = _SEPARATOR.split(body), _SEPARATOR.search(body)
    caret = "^" if items[0].startswith("^") else ""
    kept: list[str] = []
    for item in items:
        numbers = [number for *_, parsed in brackets(f"[{item}]", styles, first) for number in parsed]
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
        inside = bracket[1:-1]  # with its white space
    rewritten = f"{opening}{inside}{closing}" if kept else ""
    return rewritten + _marks(opening, closing, caret, come, first)


def _marks(opening: str, closing: str, caret: str, numbers: Sequence[int], first: int) -> str:
    return "".join(f"{opening}{caret}{number + first - 1}{closing}" for number in numbers)


def _applied(text: str, changes: Sequence[_Change]) -> str:
    """Return the text with the changes, without the white space that becomes superfluous around removed brackets."""
    joined: list[_Change] = []
    for start, end, new in sorted(changes):
        # Removed brackets with only white space between them are removed as one.
        if joined and not joined[-1][2] and not new and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end, "")
        else:
            joined.append((start, end, new))
    pieces, end = [], 0
    for start, stop, new in joined:
        if not new:
            # The white space around a removed bracket that becomes superfluous goes too.
            left, right = len(text[:start].rstrip()), len(text) - len(text[stop:].lstrip())
            before, behind = text[left:start], text[stop:right]
            if behind and (left == 0 or ("\n" in before and "\n" not in behind)):
                stop = right
            elif behind or right == len(text) or text[stop] in _CLOSING:
                start = left
        pieces += [text[end:start], new]
        end = stop
    return "".join([*pieces, text[end:]])


def counts_of(before: Round, after: Round | None, numbers: Sequence[int]) -> dict[str, int]:
    """Return counts of the edits from one round to the next over the answers with the indices `numbers`, by name.

    They are of changed answers, statements by outcome, applied edits by action and reason, and skipped edits. after:
    the next round; None: count the edits that the last round proposes, which are not applied.
    """
    changed = before.moving if after is None else after.changed
    edited, moved = before.edits, [n for n in numbers if n in changed]
    fates = Counter(fate for n in numbers for fate in edited[n].fates.values() if n in changed or fate != "changed")
    done = Counter((edit.action, edit.reason) for n in moved for edits in edited[n].done.values() for edit in edits)
    problems = sum((edited[n].problems for n in numbers), Counter[str]())
    return {
        "answers changed": len(moved),
        **{f"statements {fate}": fates[fate] for fate in ("changed", "unchanged", "not judged", "marks not found")},
        **{
            f"{action}: {reason}": done[action, number]
            for action, reasons in REASONS.items()
            for number, reason in enumerate(reasons, start=1)
        },
        **{f"passed over: {name}": times for name, times in sorted(problems.items())},
        "answers whose sentences end elsewhere": 0 if after is None else len(after.recut & set(numbers)),
    }
