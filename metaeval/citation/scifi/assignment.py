"""Which citation of its sentence a fact is held against: the one nearest to the end of its segment, or its own."""

from __future__ import annotations

from metaeval.citation.scifi.model import Fact, Placed, Sentence
from metaeval.citation.scifi.options import ScifiOptions


def assign(fact: Fact, sentence: Sentence, options: ScifiOptions | None = None) -> tuple[Placed | None, int | None]:
    """The citation group of a fact and its distance to the segment's end; (None, None) in an uncited sentence.

    With the option `own_group` a parser's fact has the group that it was cut out for; with several, their marks
    together, at the place of the first. With `group=first` each group has its first mark alone.

    In characters the distance is |place - end|; in words it is the number of white-space words between the two.
    Of two at the same distance the option `tie` takes the one behind the end, or the one before it; of two on the same
    side, which words alone can give the same distance, the nearer one in characters.
    """
    options = options or ScifiOptions()
    end = fact.segment.end

    def rank(group: Placed) -> tuple[int, bool, int]:
        behind = group.at >= end
        return (
            distance(sentence.text, group.at, end, options),
            behind != (options.tie == "after"),
            abs(group.at - end),
        )

    if not sentence.groups:
        return None, None
    own = [group for group in sentence.groups if group.at in fact.own] if options.own_group else []
    taken = own or [min(sentence.groups, key=rank)]
    most = 1 if options.group == "first" else None
    at, marks = taken[0].at, tuple(mark for group in taken for mark in group.marks[:most])
    return Placed(at, marks), distance(sentence.text, at, end, options)


def distance(text: str, place: int, end: int, options: ScifiOptions) -> int:
    """How far a place in a sentence is from the end of a segment."""
    if options.distance == "characters":
        return abs(place - end)
    low, high = sorted((place, end))
    return sum(any(character.isalnum() for character in word) for word in text[low:high].split())
