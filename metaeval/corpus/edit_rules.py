"""Rules that edit a pair of texts so that it loses its support: what each changes, and guards that keep edits valid.

Word lists are closed and in `edit_words.toml`. What a rule reads of a statement is bounded (`LONGEST`), and a source is
read a fixed number of times, so that time is linear in the texts.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import resources
from random import Random
from typing import NamedTuple

from metaeval.corpus.sentences import split_sentences

LONGEST = 2_000  # characters of a statement that is edited


class EditTexts(NamedTuple):
    """The two texts of a pair."""

    statement: str
    source: str


# The texts after an edit, or why there is none.
Edited = EditTexts | str
# Where a statement can be changed: a place, the text there, and what may stand there instead.
Swap = tuple[int, str, Sequence[str]]


@dataclass(frozen=True)
class EditCase:
    """A pair to edit. evidence: marked sentences of its source. others: texts of other groups. drawn: the seed's."""

    statement: str
    source: str
    evidence: Collection[str]
    others: Iterable[EditTexts]
    drawn: Random

    @cached_property
    def source_words(self) -> frozenset[str]:
        """The words of the source, as they are written."""
        return frozenset(re.findall(r"\w+", self.source))

    @cached_property
    def claim(self) -> set[str]:
        """The long words of the statement."""
        return long_words(self.statement)

    def said_in(self, text: str) -> float:
        """Return the share of the statement's long words that a text has; 1 where there are none."""
        return len(self.claim & long_words(text)) / len(self.claim) if self.claim else 1.0


_LISTS = tomllib.loads(resources.files("metaeval.corpus").joinpath("edit_words.toml").read_text(encoding="utf-8"))
# The lists of `edit_words.toml`; "_" in a word is a space.
WORDS = {name: [word.replace("_", " ") for word in text.split()] for name, text in _LISTS.items()}
MONTHS = "|".join(WORDS["months"])


def long_words(text: str) -> set[str]:
    """Return the lower-cased words of five letters or more."""
    return set(re.findall(r"[^\W\d_]{5,}+", text.lower()))


def is_sentence(text: str) -> bool:
    """Return whether a text is one sentence, and no question."""
    return len(split_sentences(text)) == 1 and "?" not in text


_DATED_MONTH = re.compile(
    rf"(?P<before>(?<!\w)(?:\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?|(?:[Ii]n|[Ss]ince|[Uu]ntil)\s(?:early\s|late\s|mid-)?))?"
    rf"(?<![\w-])(?P<old>{MONTHS})\b(?P<after>,?\s\d{{1,4}}\b)?"
)


def months(case: EditCase) -> Iterator[Swap]:
    """Yield the only month of a statement, if it is beside a day or a year, or behind in, since or until."""
    matches = [*_DATED_MONTH.finditer(case.statement)]
    if len(matches) == 1 and (matches[0]["before"] or matches[0]["after"]):
        short = {word[:3] for word in case.source_words}
        new = [month for month in WORDS["months"] if month[:3] not in short and month != "February"]
        yield matches[0].start("old"), matches[0]["old"], new if matches[0]["old"] in case.source_words else ()


_YEAR = re.compile(r"(?<![\w.,$€£/–-])(?:1[5-9]\d\d|20[0-2]\d)(?![\w%/–-]|[.,]\d)")
_BEFORE_YEAR = re.compile(rf"(?:^|\(|\d,\s|\b(?:{'|'.join(WORDS['before_years'])}|{MONTHS}),?\s)\Z", re.IGNORECASE)
# Behind a year: a name, which it may belong to, or a plural noun, which it may count.
_NO_YEAR = re.compile(r"\s[A-Z$€£×]|\sx\s|\s(?!(?:was|is|has|as|his|its|this|does|thus|across)\b)[a-z]+s\b")
_LAST_YEAR = 2025


def _only_year(case: EditCase) -> Iterator[tuple[int, str]]:
    """Yield place and text of the only year of a statement, if its source has it and it dates something."""
    matches = [*_YEAR.finditer(case.statement)]
    match = matches[0] if len(matches) == 1 else None
    if match and match[0] in case.source_words:
        before = case.statement[max(0, match.start() - 20) : match.start()]
        if _BEFORE_YEAR.search(before) and not _NO_YEAR.match(case.statement, match.end()):
            yield match.start(), match[0]


def years(case: EditCase) -> Iterator[Swap]:
    """Yield the year of a statement, with those 3 to 7 away that are not in the source."""
    for start, old in _only_year(case):
        near = [year for year in range(int(old) - 7, int(old) + 8) if abs(year - int(old)) >= 3 and year <= _LAST_YEAR]
        yield start, old, [str(year) for year in near if str(year) not in case.source_words]


def years_in(case: EditCase) -> Iterator[Swap]:
    """Yield the year, with others of the source, but none of a sentence that says a third of what is said."""
    for start, old in _only_year(case):
        about = " ".join(text for text in split_sentences(case.source) if case.said_in(text) >= 1 / 3)
        others = {*_YEAR.findall(case.source)} - {*_YEAR.findall(about), *re.findall(r"\d+", case.statement)}
        yield start, old, sorted(year for year in others if abs(int(year) - int(old)) <= 60)


_PAIRS, _OTHERS = ([name.split("|") for name in WORDS[key]] for key in ("countries", "other_places"))
# Countries, states and adjectives, of which one takes another's place; the adjective of each country, and the reverse.
_KINDS = (
    [country for country, _ in _PAIRS],
    WORDS["states"],
    [*dict.fromkeys(adjective for _, adjective in (*_PAIRS, *_OTHERS) if " " not in adjective)],
)
_PARTNERS = {name: pair[1 - side] for pair in (*_PAIRS, *_OTHERS) for side, name in enumerate(pair)}
_PLACE = re.compile(
    rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted([*_PARTNERS, *WORDS['states']], key=len, reverse=True)))})(?![\w-])"
)
_NAME_BEFORE = re.compile(r"(?:\b[A-Z][\w.'’-]*,?\s(?:(?:and|or|&)\s)?|/)\Z")
_OPENING = re.compile(r"(?:In|The|An?|At|From|Of|By|For|Within|Across|Throughout)\s\Z")
_NAME_BEHIND = re.compile(r"\s[A-Z]|,?\s(?:and|or|&)\s[A-Z]|,\s[A-Z]|[/–]")
_CONDITIONAL = re.compile(r"\b(?:if|can|could|may|might|would)\b", re.IGNORECASE)  # which may be so elsewhere, too


def places(case: EditCase) -> Iterator[Swap]:
    """Yield the countries, states and nationalities of a statement that its source has, but none in a name or list."""
    times, present = Counter(_PLACE.findall(case.statement)), {*_PLACE.findall(case.source)}
    taken = {place for name in (*times, *present) for place in (name, _PARTNERS.get(name))}
    for match in () if _CONDITIONAL.search(case.statement) else _PLACE.finditer(case.statement):
        old, before = match[0], case.statement[max(0, match.start() - 60) : match.start()]
        named = _NAME_BEFORE.search(before) is not None and not _OPENING.fullmatch(before)
        behind = _NAME_BEHIND.match(case.statement, match.end())
        if not (named or behind) and times[old] == 1 and _PARTNERS.get(old) not in times:
            kind = next((kind for kind in _KINDS if old in kind), [])
            new = [name for name in kind if name not in taken and (name[0] in "AEIOU") == (old[0] in "AEIOU")]
            yield match.start(), old, new if old in present else ()


def swapped(find: Callable[[EditCase], Iterator[Swap]], what: str, case: EditCase) -> Edited:
    """Return the texts with one of what `find` yields replaced in the statement. what: the word for it."""
    swaps = [*find(case)]
    usable = [swap for swap in swaps if swap[2]]
    if not usable:
        return f"no {what} of the source, or none in its place" if swaps else f"no {what} that can be replaced"
    start, old, new = case.drawn.choice(usable)
    text = case.statement
    return EditTexts(f"{text[:start]}{case.drawn.choice(new)}{text[start + len(old) :]}", case.source)


def mirrored(case: EditCase) -> Edited:
    """Return the texts with a year or place replaced in both, wherever it is: by one word for one word."""
    # What a source tells of years near it, or writes with two digits, would contradict another year.
    dated = [int(year) for year in _YEAR.findall(case.source)]
    usable = []
    for _, old, swaps in (*years(case), *places(case)):
        contradicted = old.isdigit() and (
            old[2:] in case.source_words or any(0 < abs(int(old) - year) < 10 for year in dated)
        )
        new = [name for name in swaps if " " not in name]
        if new and " " not in old and not contradicted and _PARTNERS.get(old) not in case.source_words:
            usable.append((old, new))
    if not usable:
        return "no year or place that can be replaced"
    old, new = case.drawn.choice(usable)
    change = partial(re.sub, rf"(?<!\w){re.escape(old)}(?!\w)", case.drawn.choice(new))
    return EditTexts(change(case.statement), change(case.source))


_VERB = re.compile(r"(?<=\s)(?:is|was|are|were|has been|can|will|would|could)\b")
# Behind the verb: a quantity; a second clause, or a participle that the verb may have too. In a list "and" is neither.
_QUANTITY = re.compile(r"\s(?:about|around|approximately|roughly|at|over|up|under)\s")
_SECOND = re.compile(r"(?<!,)(?<!,\s)\band\s(?:[^,]*\b\w+ed|\w+(?:en|wn)|marks?|includes?|resists?)\b|^[^,]*+, and ")
# Before the verb: one of a clause that is inside another, or the second of two.
_INNER = re.compile(r"\b(?:and|or|I)\s\Z|[^\s,]\s(?:you|we|they|he|she)\s\Z|, and |\([^)]*+\Z")


def negated(case: EditCase) -> Edited:
    """Return the texts with "not" behind the first verb of a statement that is one plain clause."""
    if (match := _VERB.search(case.statement)) is None:
        return "no verb that takes not"
    before, after = case.statement[: match.start()], case.statement[match.end() :]
    if not is_sentence(case.statement) or re.search(r"[;:\n]", case.statement) or _INNER.search(before):
        return "not one plain sentence"
    # One relative clause stays; but not "it is known that".
    plain = after if before.lower().endswith("it ") else after.replace(" that ", " ", 1)
    others = {*re.findall(r"[^\W\d_]++", f"{before} {plain}".lower())}
    if others & {*WORDS["no_negation"], *WORDS["verbs"]} or _SECOND.search(after) or _QUANTITY.match(after):
        return "a negative, a quantifier or a second verb"
    verb, *been = match[0].split()
    return EditTexts(f"{before}{' '.join(['cannot' if verb == 'can' else f'{verb} not', *been])}{after}", case.source)


def without_evidence(case: EditCase) -> Edited:
    """Return the texts without the marked sentences, unless another sentence says half of what the statement says."""
    if not case.evidence:
        return "no marked evidence"
    source = case.source
    for sentence in sorted(sorted(case.evidence), key=len, reverse=True):
        source = re.sub(rf"(?<!\w){re.escape(sentence)}(?!\w)", " ", source)  # a heading can be one word
    if any(case.said_in(sentence) >= 1 / 2 for sentence in split_sentences(source)):
        return "another sentence says half of it"
    return (
        EditTexts(case.statement, text) if (text := " ".join(source.split())) else "nothing but evidence in the source"
    )


def joined(case: EditCase) -> Edited:
    """Return the texts with a statement of another group, which the source does not support, as a second sentence."""
    first, known = case.statement.strip(), long_words(case.source)
    if not is_sentence(first) or first.endswith(":"):
        return "not one sentence"
    for other, _ in case.others:
        claim, opener = long_words(other), other.split(" ", 1)[0].strip(",").lower()
        whole = other[-1:] == "." and other[0].isupper() and ":" not in other and opener not in WORDS["leaning"]
        if whole and 2 * len(claim - known) > len(claim) and len(other) <= LONGEST and is_sentence(other):
            return EditTexts(f"{first}{'' if first[-1] in '.!' else '.'} {other}", case.source)
    return "no statement of another group"


def of_another(case: EditCase) -> Edited:
    """Return the texts with the source of another group, which does not say half of what the statement says."""
    others = (source for _, source in case.others if case.said_in(source) < 1 / 2)
    return EditTexts(case.statement, source) if (source := next(others, "")) else "no source of another group"
