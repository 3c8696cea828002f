"""Rules that edit a pair of texts so that it loses its support: what each changes, and guards that keep edits valid.

Word lists are closed and in `edit_words.toml`. What a rule reads of a statement is bounded (`LONGEST`), and a source is
read a fixed number of times, so that time is linear in the texts.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import resources
from random import Random
from typing import NamedTuple

from metaeval.corpus.sentences import split_sentences

LONGEST = 2_000  # characters of a statement that is edited


class Texts(NamedTuple):
    """The two texts of a pair."""

    statement: str
    source: str


Edited = Texts | str
"""The texts after an edit, or why there is none."""


@dataclass(frozen=True)
class Case:
    """A pair to edit. evidence: marked sentences of its source. others: texts of other groups. drawn: the seed's."""

    statement: str
    source: str
    evidence: Collection[str]
    others: Iterable[Texts]
    drawn: Random

    @cached_property
    def source_words(self) -> frozenset[str]:
        """The words of the source, as they are written."""
        return frozenset(re.findall(r"\w+", self.source))

    @cached_property
    def claim(self) -> frozenset[str]:
        """The long words of the statement."""
        return long_words(self.statement)

    def said_in(self, text: str) -> float:
        """Return the share of the statement's long words that a text has; 1 where it has none."""
        return len(self.claim & long_words(text)) / len(self.claim) if self.claim else 1.0


@cache
def words(name: str) -> tuple[str, ...]:
    """Return a list of `edit_words.toml`; "_" in a word of it is a space."""
    text = resources.files("metaeval.corpus").joinpath("edit_words.toml").read_text(encoding="utf-8")
    return tuple(word.replace("_", " ") for word in tomllib.loads(text)[name].split())


def any_of(names: Iterable[str]) -> str:
    """Return the pattern of one of several texts, the longest first."""
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


def long_words(text: str) -> frozenset[str]:
    """Return the lower-cased words of five letters or more."""
    return frozenset(re.findall(r"[^\W\d_]{5,}+", text.lower()))


def is_sentence(text: str) -> bool:
    """Return whether a text is one sentence, and no question."""
    return len(split_sentences(text)) == 1 and "?" not in text


class Swap(NamedTuple):
    """A place in a statement, what stands there, and what may stand there instead."""

    start: int
    old: str
    new: Sequence[str]


@cache
def _month() -> re.Pattern[str]:
    before = r"(?<!\w)(?:\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?|(?:[Ii]n|[Ss]ince|[Uu]ntil)\s(?:early\s|late\s|mid-)?)"
    return re.compile(
        rf"(?P<before>{before})?(?<![\w-])(?P<old>{any_of(words('months'))})\b(?P<after>,?\s\d{{1,4}}\b)?"
    )


def months(case: Case) -> Iterator[Swap]:
    """Yield the only month of a statement, if it is beside a day or a year, or behind in, since or until."""
    found = [*_month().finditer(case.statement)]
    if len(found) != 1 or not (found[0]["before"] or found[0]["after"]):
        return
    short = {word[:3] for word in case.source_words}
    new = [month for month in words("months") if month[:3] not in short and month != "February"]
    yield Swap(found[0].start("old"), found[0]["old"], new if found[0]["old"] in case.source_words else ())


_YEAR = re.compile(r"(?<![\w.,$€£/–-])(?:1[5-9]\d\d|20[0-2]\d)(?![\w%/–-]|[.,]\d)")
_LAST_YEAR, _FAR, _A_THIRD, _A_HALF = 2025, 60, 1 / 3, 1 / 2
_BEFORE_YEAR = frozenset("( in during of the early late mid year years spring summer autumn fall winter season".split())
# Behind a year: a name, which it may belong to, or a plural noun, which it may count.
_NO_YEAR = re.compile(r"\s[A-Z$€£]|\s(?!(?:was|is|has|as|his|its|this|does|thus|across)\b)[a-z]+s\b")


def _years(case: Case, choices: Iterable[int]) -> Iterator[Swap]:
    """Yield the years of a statement that its source has, with the choices that keep the order of all its years."""
    found = [(match.start(), match.end(), match[0]) for match in _YEAR.finditer(case.statement)]
    every = Counter(int(old) for _, _, old in found)
    for start, end, old in found:
        year, before = int(old), case.statement[max(0, start - 40) : start].split()[-1:]
        word = before[0].lstrip("(") if before else ""
        dated = not word or word.rstrip(",").lower() in _BEFORE_YEAR or word.rstrip(",") in words("months")
        dated |= word[-1:] == "," and word[:-1].isdigit()
        if not dated or every[year] > 1 or old not in case.source_words or _NO_YEAR.match(case.statement, end):
            continue
        if not re.search(r"\b[Bb]etween\b", case.statement):
            low = max((other for other in every if other < year), default=0)
            high = min((other for other in every if other > year), default=_LAST_YEAR + 1)
            yield Swap(start, old, [str(new) for new in choices if new != year and low < new < high])


def years(case: Case) -> Iterator[Swap]:
    """Yield years, with those 3 to 7 away that are not in the source."""
    absent = [year for year in range(1500, _LAST_YEAR + 1) if str(year) not in case.source_words]
    for start, old, new in _years(case, absent):
        yield Swap(start, old, [year for year in new if 3 <= abs(int(year) - int(old)) <= 7])


def years_in(case: Case) -> Iterator[Swap]:
    """Yield years, with others of the source, but none of a sentence that says much of what the statement says."""
    sentences = split_sentences(case.source) if _YEAR.search(case.statement) else ()
    about = " ".join(text for text in sentences if case.said_in(text) >= _A_THIRD)
    present = {*map(int, _YEAR.findall(case.source))} - {*map(int, _YEAR.findall(about))}
    for start, old, new in _years(case, sorted(present)):
        yield Swap(start, old, [year for year in new if abs(int(year) - int(old)) <= _FAR])


@cache
def _places() -> tuple[Mapping[str, str], Sequence[Sequence[str]], re.Pattern[str]]:
    """Return the partner of each place, what is taken for others (of each kind), and the pattern of all places."""
    pairs, others = ([name.split("|") for name in words(key)] for key in ("countries", "other_places"))
    adjectives = [pair[1] for pair in (*pairs, *others) if " " not in pair[1]]
    new = [pair[0] for pair in pairs], [*dict.fromkeys(adjectives)], words("states")
    partners = dict.fromkeys(words("states"), "")
    for country, adjective in (*pairs, *others):
        partners |= {country: adjective, adjective: country}
    return partners, new, re.compile(rf"(?<![\w-])(?:{any_of(partners)})(?![\w-])")


_BEFORE_PLACE = frozenset("in the a an at from of by for within across throughout".split())
_CONDITIONAL = re.compile(r"\b(?:if|can|could|may|might|would)\b", re.IGNORECASE)  # true of other places, too
_IN_NAME = re.compile(r"\s[A-Z]|,?\s(?:and|or|&)\s[A-Z]|,\s[A-Z]|[/–]")


def places(case: Case) -> Iterator[Swap]:
    """Yield the countries, nationalities and states of a statement that are in its source, and in no name or list."""
    partners, kinds, pattern = _places()
    found = Counter(pattern.findall(case.statement))
    if not found or _CONDITIONAL.search(case.statement):
        return
    present = {*pattern.findall(case.source)}
    taken = {*present, *found, *(partners[place] for place in (*present, *found))}
    for match in pattern.finditer(case.statement):
        old, before = match[0], case.statement[max(0, match.start() - 60) : match.start()].split()
        word = before[-1] if before else ""
        opens = len(before) == 1 and word.lower() in _BEFORE_PLACE
        listed = word in ("and", "or", "&") and before[-2:-1] and before[-2][0].isupper()
        named = (word[:1].isupper() and not opens) or _IN_NAME.match(case.statement, match.end())
        if not (listed or named or word[-1:] == "/" or found[old] > 1 or partners[old] in found):
            kind = next((kind for kind in kinds if old in kind), ())
            new = [name for name in kind if name not in taken and (name[0] in "AEIOU") == (old[0] in "AEIOU")]
            yield Swap(match.start(), old, new if old in present else ())


_NUMBER = re.compile(r"(?<![\w.,$€£:/–-])[1-9]\d(?![\w:/–-]|[.,]\d)")


def numbers(case: Case) -> Iterator[Swap]:
    """Yield the numbers of two digits that are once in a statement and in its source, with near ones in neither."""
    found = [(match.start(), match[0]) for match in _NUMBER.finditer(case.statement)]
    every = Counter(re.findall(r"\d+", case.statement))
    for start, old in found:
        most = 28 if int(old) <= 31 else 99  # it may be a day
        near = [str(new) for new in range(max(10, int(old) - 9), min(most, int(old) + 9) + 1)]
        if every[old] == 1 and old in case.source_words:
            yield Swap(start, old, [new for new in near if new not in every and new not in case.source_words])


def swapped(find: Callable[[Case], Iterator[Swap]], what: str, case: Case) -> Edited:
    """Return the texts with one of what `find` yields replaced in the statement. what: the word for it."""
    found = [*find(case)]
    usable = [swap for swap in found if swap.new]
    if not usable:
        return (
            f"no {what} in the source to be replaced, or none to replace it" if found else f"no {what} to be replaced"
        )
    start, old, new = case.drawn.choice(usable)
    text = case.statement
    return Texts(text[:start] + case.drawn.choice(new) + text[start + len(old) :], case.source)


def mirrored(case: Case) -> Edited:
    """Return the texts with a year, month, place or number replaced in both, wherever it is."""
    usable = [
        (swap.old, new)
        for find in (years, months, places, numbers)
        for swap in find(case)
        if (new := [name for name in swap.new if " " not in name and name != "May"])
        and " " not in swap.old
        and swap.old != "May"
    ]
    if not usable:
        return "no year, month, place or number to be replaced"
    old, new = case.drawn.choice(usable)
    change = partial(re.sub, rf"(?<!\w){re.escape(old)}(?!\w)", case.drawn.choice(new))
    return Texts(change(case.statement), change(case.source))


_VERB = re.compile(r"\b(?:is|was|are|were|has been|can|will|would|could)\b")
# Behind the verb: a quantity; a second clause, or a participle that the verb may have too. In a list "and" is neither.
_QUANTITY = re.compile(r"\s(?:about|around|approximately|roughly|at|over|up|under)\s")
_SECOND = re.compile(r"(?<!,)(?<!,\s)\band\s(?:[^,]*\b\w+ed|\w+(?:en|wn)|marks?|includes?|resists?)\b|^[^,]*+, and ")
# Before the verb: one of a clause that is inside another, or the second of two.
_INNER = re.compile(r"\b(?:and|or|I)\s\Z|[^\s,]\s(?:you|we|they|he|she)\s\Z|, and |\([^)]*+\Z")


def negated(case: Case) -> Edited:
    """Return the texts with "not" behind the first verb of a statement that is one plain clause."""
    match = _VERB.search(case.statement)
    if match is None or not (before := case.statement[: match.start()]):
        return "no verb that takes not"
    after = case.statement[match.end() :]
    if not is_sentence(case.statement) or re.search(r"[;:\n]", case.statement) or _INNER.search(before):
        return "not one plain sentence"
    plain = after if before.lower().endswith("it ") else after.replace(" that ", " ", 1)
    others = {*re.findall(r"[^\W\d_]++", f"{before} {plain}".lower())}
    if others & {*words("no_negation")}:
        return "a negative, a quantifier or a second clause"
    if others & {*words("verbs")} or _SECOND.search(after) or _QUANTITY.match(after):
        return "a second verb or a quantity"
    verb, *been = match[0].split()
    return Texts(f"{before}{' '.join(['cannot' if verb == 'can' else f'{verb} not', *been])}{after}", case.source)


def without_evidence(case: Case) -> Edited:
    """Return the texts without the marked sentences, unless another sentence says half of what the statement says."""
    if not case.evidence:
        return "no marked evidence"
    source = case.source
    for sentence in sorted(case.evidence, key=len, reverse=True):
        source = source.replace(sentence, " ")
    if any(case.said_in(sentence) >= _A_HALF for sentence in split_sentences(source)):
        return "another sentence that says half of it"
    source = " ".join(source.split())
    return Texts(case.statement, source) if source else "a source of evidence alone"


def joined(case: Case) -> Edited:
    """Return the texts with a statement of another group, which the source does not support, as a second sentence."""
    first = case.statement.strip()
    if not is_sentence(first) or first.endswith(":"):
        return "not one sentence"
    for other, _ in case.others:
        opener, claim = other.split(" ", 1)[0].strip(",").lower(), long_words(other)
        whole = other[-1:] == "." and other[:1].isupper() and is_sentence(other) and ":" not in other
        foreign = 2 * len(claim - long_words(case.source)) > len(claim)
        if whole and foreign and opener not in words("leaning") and len(other) <= LONGEST:
            return Texts(f"{first}{'' if first[-1] in '.!' else '.'} {other}", case.source)
    return "no statement to join"


def of_another(case: Case) -> Edited:
    """Return the texts with the source of another group, which does not say half of what the statement says."""
    others = (source for _, source in case.others if case.said_in(source) < _A_HALF)
    source = next(others, "")
    return Texts(case.statement, source) if source else "no source of another group"
