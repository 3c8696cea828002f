"""Citation recall and precision as ALCE defines them: profiles, and the statements of answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from metaeval.citation.citation_table import CitedMark, CitedStatement, MarkState, Profile, find_place
from metaeval.citation.data_model import Answer, Claim
from metaeval.citation.marks_and_sentences import (
    Leading,
    LocatedText,
    added,
    find_marks,
    joined,
    leading_in,
    move_leading,
    opens_with_mark,
    prepare,
    split,
    states,
)
from metaeval.citation.measures import means
from metaeval.citation.stated_answers import StatedAnswers
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.stats.influence import COUNTS

READER = "gaotianyu1350/roberta-large-squad"  # the question-answering model of the published scores

MAUVE_MODEL = "gpt2-large"  # the model whose last hidden state represents a text in the published scores


@dataclass(frozen=True, slots=True, kw_only=True)
class AlceProfile(Profile):
    """The rules of ALCE's citation recall and precision; the defaults are the profile "paper".

    units: of claims: sentences, or list items of a comma-separated answer (QAMPARI), each read behind its question.
    lines: of an answer that are read. at_most: the most marks of a sentence that are read (None: all). repeats: read a
    number once in a sentence, or each time. wordless: skip a sentence that states nothing (`states`), or judge
    it as an empty claim. split_on: the text that ROUGE-Lsum splits into sentences.
    """

    units: str = "sentences"
    lines: Literal["first", "all"] = "all"
    at_most: int | None = None
    repeats: Literal["drop", "keep"] = "drop"
    wordless: Literal["skip", "judge"] = "skip"
    split_on: Literal["text as written", "small letters"] = "text as written"


# The definition of the paper (Gao et al. 2023, section 4), with marks read properly, also behind the full stop.
PAPER = AlceProfile()

# princeton-nlp/ALCE, `eval.py` at commit 246c476, digit for digit.
RELEASED = AlceProfile(
    name="released",
    styles="unclosed",
    leading="keep",
    lines="first",
    zero="last passage",
    out_of_range="sentence fails",
    at_most=3,
    repeats="keep",
    wordless="judge",
    undefined_is_zero=True,
    untitled="title line",
    split_on="small letters",
)

# ylXuu/ALiiCE, `eval.py --benchmark alce` at commit 7665642: the rules behind the ALCE columns of ALiiCE's tables.
#
# It is another measure than ALCE's: only sentences with citations count, all lines and marks are read.
ALIICE = AlceProfile(
    name="aliice",
    styles="plain",
    leading="move first",
    zero="last passage",
    out_of_range="left out",
    uncited="left out",
    repeats="keep",
    wordless="judge",
    untitled="title line",
    split_on="small letters",
)

PROFILES: Mapping[str, AlceProfile] = {"paper": PAPER, "released": RELEASED, "aliice": ALIICE}


def statements(
    answer: Answer, profile: AlceProfile, splitter: SentenceSplitter = RULES, opened: Counter[Leading] | None = None
) -> list[CitedStatement]:
    """Return the statements of one answer, each with all of its marks, in the order of the text.

    opened: counts answers in which a mark opens a further sentence, by what becomes of it.
    """
    reading = prepare(answer, profile.lines)
    if profile.units == "list items":
        units = list(_items(reading, answer, profile))
    else:
        units = split(reading, splitter)
        leading = leading_in(reading, profile.leading, profile.styles)
        if profile.leading == "auto" and opened is not None:
            opens = [opens_with_mark(unit) for unit in units]
            opened[leading] += any(opens[1:]) and not opens[0]
        units = move_leading(units, leading, profile.styles)
    return [_statement(unit, number, answer, profile) for number, unit in enumerate(units, start=1)]


def _items(reading: LocatedText, answer: Answer, profile: AlceProfile) -> Iterator[LocatedText]:
    """Yield the items of a list in the answer, each preceded by the question.

    Full stops and then commas at the end of the list are cut, as in the released code.
    """
    end = len(reading.text.rstrip().rstrip(".").rstrip(","))
    inside = [(mark.start, mark.end) for mark in find_marks(reading.text[:end], profile.styles, answer.first)]
    start = 0
    for match in re.finditer(r",|\Z", reading.text[:end]):
        if any(opened <= match.start() < closed for opened, closed in inside):
            continue
        yield joined(added(f"{answer.question} "), reading.part(start, match.start()).stripped())
        start = match.end()


def _statement(unit: LocatedText, number: int, answer: Answer, profile: AlceProfile) -> CitedStatement:
    cited = tuple(_marks_with_states(unit, answer, profile))
    text = clean(unit, answer, profile).text.strip()
    # The question in front of a list item is not a part of the answer.
    begin = next((index for index, offset in enumerate(unit.at) if offset >= 0), len(unit.text))
    content = unit if profile.units == "sentences" else unit.part(begin, len(unit.text))
    marks = tuple(citation.mark for citation in cited if citation.state == "judged")
    claim = Claim(text, marks, number, *unit.span())
    # An item of a list, such as a year, is one with its question.
    numbers = profile.units == "list items" or any(citation.mark.number is not None for citation in cited)
    if profile.wordless == "skip" and not states(clean(content, answer, profile).text, numbers):
        lost = tuple(replace(citation, state="no statement") for citation in cited)
        return CitedStatement(claim, lost, number=None, counts=False, failing=None)
    if profile.uncited == "left out" and not any(citation.state in ("judged", "fails") for citation in cited):
        return CitedStatement(claim, cited, number=None if cited else number, counts=False, failing=None)
    counts = True
    if profile.out_of_range == "mark fails":
        return CitedStatement(claim, cited, number, counts, failing=0)
    if any(citation.state == "fails" for citation in cited):
        # Where a sentence fails as a whole, its other marks fail too.
        cited = tuple(replace(mark, state="fails") if mark.state == "judged" else mark for mark in cited)
        counts = profile.out_of_range == "sentence fails"
    return CitedStatement(claim, cited, number, counts, failing=None)


def _marks_with_states(unit: LocatedText, answer: Answer, profile: AlceProfile) -> Iterator[CitedMark]:
    """Yield every mark of a statement with its state: judged, fails, repeated, over the limit, or not read."""
    seen: set[int] = set()
    cited: list[CitedMark] = []
    for mark in unit.marks(profile.styles, answer.first):
        place, problem = find_place(mark.number, len(answer.passages), profile.zero, profile.bound)
        state: MarkState = "judged"
        if mark.number is None:
            # The released code reads a number of any length, and one that is too long here lies out of any range.
            state = "fails" if profile.styles == "unclosed" else "not read"
        elif mark.number in seen and profile.repeats == "drop":
            state = "repeated"
        elif place is None:
            state = "fails"
        seen.add(mark.number if mark.number is not None else -1)
        cited.append(CitedMark(mark, place, problem, state))
    # A sentence that fails as a whole is settled before the limit: any of its marks may be the one out of range.
    settled = profile.out_of_range != "mark fails" and any(citation.state == "fails" for citation in cited)
    left = len(cited) if profile.at_most is None or settled else profile.at_most
    for citation in cited:
        counted = citation.state in ("judged", "fails")
        yield replace(citation, state="over the limit") if counted and left <= 0 else citation
        left -= counted


def clean(unit: LocatedText, answer: Answer, profile: AlceProfile) -> LocatedText:
    """Return a unit (sentence, list item or whole answer) without its marks, by the profile's rules.

    Where all styles are read, the marks that are read go with the white space before them; else every '[digits', ' |'
    and closing bracket goes, as in the released code.
    """
    if profile.styles == "all":
        return unit.without_marks(first=answer.first)
    # The released code makes four replacements in this order: each can create matches of the next.
    for pattern in (r" \[\d+", r"\[\d+", r" \|", r"\]"):
        unit = unit.without([match.span() for match in re.finditer(pattern, unit.text)])
    return unit


def read_alce(
    answers: Sequence[Answer], profile: AlceProfile = PAPER, splitter: SentenceSplitter = RULES
) -> StatedAnswers:
    """Return the answers with their statements, ready to be judged."""
    opened: Counter[Leading] = Counter()
    stated = [statements(answer, profile, splitter, opened) for answer in answers]
    counted = [float(sum(statement.counts for statement in each)) for each in stated]
    fields = {"pipeline": "alce", "profile": profile.name, "units": profile.units, "splitter": splitter.name}
    return StatedAnswers("alce", answers, stated, profile, fields, {"statements": means(counted, COUNTS)}, opened)
