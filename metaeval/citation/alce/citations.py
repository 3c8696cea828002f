"""Citation recall and precision as ALCE defines them: options, statements of answers, and the citation table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from metaeval.citation.citation_table import (
    CitationLine,
    CitedMark,
    CitedStatement,
    MarkState,
    Untitled,
    Zero,
    find_place,
    judged_lines,
)
from metaeval.citation.data_model import Answer, Claim, Entails
from metaeval.citation.marks_and_sentences import (
    Leading,
    LocatedText,
    MarkStyles,
    added,
    find_marks,
    joined,
    move_leading,
    prepare,
    split,
)
from metaeval.citation.profiles import by_profile, changed_profile, check_limits, differing, profile_of
from metaeval.corpus.sentences import RULES, SentenceSplitter

READER = "gaotianyu1350/roberta-large-squad"
"""The question-answering model of the published scores."""

MAUVE_MODEL = "gpt2-large"
"""The model whose last hidden state represents a text in the published scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlceOptions:
    """Options of ALCE's citation recall and precision; the defaults are the profile "paper"."""

    statements: Literal["sentences", "list items"] = "sentences"
    """Unit of a claim: sentences, or list items of a comma-separated answer (QAMPARI), each read behind its
    question."""
    styles: MarkStyles = by_profile("all", released="unclosed", aliice="plain")
    """Citation marks that are read: all styles ([1, 2], [1-3], [^1], 【1】), plain [1] alone, or '[' and digits, closed
    or not (unclosed)."""
    lines: Literal["first", "all"] = by_profile("all", released="first")
    """Read all lines of an answer, or the first only."""
    leading: Leading = by_profile("keep", aliice="move first")
    """What becomes of marks that open a sentence, as they do after a full stop: they stay, or the first or all of
    them move to the sentence before."""
    cleaning: Literal["marks", "pattern"] = by_profile("marks", released="pattern", aliice="pattern")
    """How marks leave the claim: marks removes the marks that are read and the white space before them; pattern
    deletes '[digits', ' |' and every closing bracket, as the released code does."""
    bound: int | None = None
    """Highest number that is read as a citation (none: the number of passages)."""
    zero: Zero = by_profile("out of range", released="last passage", aliice="last passage")
    """What the number 0 cites."""
    out_of_range: Literal["mark fails", "sentence fails", "left out"] = by_profile(
        "mark fails", released="sentence fails", aliice="left out"
    )
    """A mark that points at no passage fails alone and counts as an imprecise citation (mark fails), or its whole
    sentence fails and its marks count in no precision (sentence fails), or that sentence is in no share (left out)."""
    uncited: Literal["fails", "left out"] = by_profile("fails", aliice="left out")
    """A sentence without a citation has recall 0 (fails), or is in no share (left out)."""
    at_most: int | None = by_profile(None, released=3)
    """Most marks of a sentence that are read (none: all)."""
    repeats: Literal["drop", "keep"] = by_profile("drop", released="keep", aliice="keep")
    """Read a number once in a sentence (drop), or each time (keep)."""
    wordless: Literal["skip", "judge"] = by_profile("skip", released="judge", aliice="judge")
    """Skip a sentence without words, or judge it as an empty claim."""
    uncited_precision: Literal["undefined", "zero"] = by_profile("undefined", released="zero")
    """Precision of an answer without a citation that counts: undefined, or zero."""
    untitled: Untitled = by_profile("text only", released="title line", aliice="title line")
    """Text of a passage without a title."""
    split_on: Literal["text as written", "small letters"] = by_profile(
        "text as written", released="small letters", aliice="small letters"
    )
    """Text that ROUGE-Lsum splits into sentences: as written, or in small letters."""
    commas: Literal["outside marks", "all"] = by_profile("outside marks", released="all")
    """Commas at which list items end: those outside marks, or all."""

    def __post_init__(self) -> None:
        check_limits(self, "at_most", "bound")


PAPER = AlceOptions()
"""The definition of the paper (Gao et al. 2023, section 4), with marks read properly."""

RELEASED = profile_of(AlceOptions, "released")
"""princeton-nlp/ALCE, `eval.py` at commit 246c476, digit for digit."""

ALIICE = profile_of(AlceOptions, "aliice")
"""ylXuu/ALiiCE, `eval.py --benchmark alce` at commit 7665642: the rules behind the ALCE columns of ALiiCE's tables.

It is another measure than ALCE's: only sentences with citations count, all lines and marks are read.
"""

PROFILES: Mapping[str, AlceOptions] = {"paper": PAPER, "released": RELEASED, "aliice": ALIICE}


def alce_options(profile: str = "paper", **changes: Any) -> AlceOptions:
    """Return a profile with some options changed; `UserError` on an unknown profile or option, or a limit below 1."""
    return changed_profile(PROFILES, profile, changes, "ALCE")


def alce_signature(profile: str, options: AlceOptions) -> str:
    """Return "PROFILE|NAME=VALUE|...", of each option that differs from the profile, but for `statements`."""
    return "|".join([profile, *differing(options, replace(PROFILES[profile], statements=options.statements))])


_WORD = re.compile(r"\w")


def statements(answer: Answer, options: AlceOptions, splitter: SentenceSplitter = RULES) -> list[CitedStatement]:
    """Return the statements of one answer, each with all of its marks, in the order of the text."""
    reading = prepare(answer.text, options.lines)
    if options.statements == "list items":
        units = list(_items(reading, answer, options))
    else:
        units = move_leading(split(reading, splitter), options.leading, options.styles)
    return [_statement(unit, number, answer, options) for number, unit in enumerate(units, start=1)]


def _items(reading: LocatedText, answer: Answer, options: AlceOptions) -> Iterator[LocatedText]:
    """Yield the items of a list in the answer, each preceded by the question.

    Full stops and then commas at the end of the list are cut, as in the released code.
    """
    end = len(reading.text.rstrip().rstrip(".").rstrip(","))
    inside = [
        (mark.start, mark.end)
        for mark in find_marks(reading.text[:end], options.styles, answer.first)
        if options.commas == "outside marks"
    ]
    start = 0
    for match in re.finditer(r",|\Z", reading.text[:end]):
        if any(opened <= match.start() < closed for opened, closed in inside):
            continue
        yield joined(added(f"{answer.question} "), reading.part(start, match.start()).stripped())
        start = match.end()


def _statement(unit: LocatedText, number: int, answer: Answer, options: AlceOptions) -> CitedStatement:
    cited = tuple(_marks_with_states(unit, answer, options))
    text = clean(unit, answer, options).text.strip()
    # The question in front of a list item is not a part of the answer.
    begin = next((index for index, offset in enumerate(unit.at) if offset >= 0), len(unit.text))
    content = unit if options.statements == "sentences" else unit.part(begin, len(unit.text))
    marks = tuple(citation.mark for citation in cited if citation.state == "judged")
    claim = Claim(text, marks, number, *unit.span())
    if options.wordless == "skip" and not _WORD.search(clean(content, answer, options).text):
        lost = tuple(replace(citation, state="no statement") for citation in cited)
        return CitedStatement(claim, lost, number=None, counts=False, failing=None)
    if options.uncited == "left out" and not any(citation.state in ("judged", "fails") for citation in cited):
        return CitedStatement(claim, cited, number=None if cited else number, counts=False, failing=None)
    counts = True
    if options.out_of_range == "mark fails":
        return CitedStatement(claim, cited, number, counts, failing=0)
    if any(citation.state == "fails" for citation in cited):
        # Where a sentence fails as a whole, its other marks fail too.
        cited = tuple(replace(mark, state="fails") if mark.state == "judged" else mark for mark in cited)
        counts = options.out_of_range == "sentence fails"
    return CitedStatement(claim, cited, number, counts, failing=None)


def _marks_with_states(unit: LocatedText, answer: Answer, options: AlceOptions) -> Iterator[CitedMark]:
    """Yield every mark of a statement with its state: judged, fails, repeated, over the limit, or not read."""
    seen: set[int] = set()
    cited: list[CitedMark] = []
    for mark in unit.marks(options.styles, answer.first):
        place, problem = find_place(mark.number, len(answer.passages), options.zero, options.bound)
        state: MarkState = "judged"
        if mark.number is None:
            # The released code reads a number of any length, and one that is too long here lies out of any range.
            state = "fails" if options.styles == "unclosed" else "not read"
        elif mark.number in seen and options.repeats == "drop":
            state = "repeated"
        elif place is None:
            state = "fails"
        seen.add(mark.number if mark.number is not None else -1)
        cited.append(CitedMark(mark, place, problem, state))
    # A sentence that fails as a whole is settled before the limit: any of its marks may be the one out of range.
    settled = options.out_of_range != "mark fails" and any(citation.state == "fails" for citation in cited)
    left = len(cited) if options.at_most is None or settled else options.at_most
    for citation in cited:
        counted = citation.state in ("judged", "fails")
        yield replace(citation, state="over the limit") if counted and not left else citation
        left -= counted and left > 0


def clean(unit: LocatedText, answer: Answer, options: AlceOptions) -> LocatedText:
    """Return a unit (sentence, list item or whole answer) without its marks, removed as `options.cleaning` says."""
    if options.cleaning == "pattern":
        # The released code makes four replacements in this order: each can create matches of the next.
        for pattern in (r" \[\d+", r"\[\d+", r" \|", r"\]"):
            unit = unit.without([match.span() for match in re.finditer(pattern, unit.text)])
        return unit
    return unit.without_marks(options.styles, answer.first)


def alce_lines(
    answers: Sequence[Answer],
    entails: Entails,
    options: AlceOptions = PAPER,
    splitter: SentenceSplitter = RULES,
    stated: Sequence[Sequence[CitedStatement]] | None = None,
) -> list[CitationLine]:
    """Return the citation table of all answers (see `judged_lines`), read with these options.

    entails: gives the verdicts. stated: the `statements` of each answer, if they are already known (None: they are
    computed with the splitter).
    """
    stated = stated or [statements(answer, options, splitter) for answer in answers]
    return judged_lines(answers, stated, entails, options.untitled)
