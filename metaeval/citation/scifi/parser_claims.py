"""Claims that stand alone, one for each citation group of a sentence, cut out of its dependency tree.

The sentence is parsed without marks, and the claims are spelt as it is. A claim that fails a check is the whole
sentence, made by "fallback: REASON".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from metaeval.citation.aliice.claims import MARK, UNREACHED, letters_of, token_starts
from metaeval.citation.aliice.dependency_tree import tree_of
from metaeval.citation.marks_and_sentences import LocatedText, added, joined, whole
from metaeval.citation.parsers.dependency_parsers import Parse
from metaeval.citation.scifi.claim_cuts import cut_claim
from metaeval.citation.scifi.data_model import Segment, Sentence

# Signs of lists, bold and italic type.
_MARKUP = re.compile(
    r"\A\s*(?:[-*•–#>]+\s+|\(?\d{1,3}[.)]\s+)+|\*\*|__|(?<!\w)[*_`](?=\S)|(?<=\S)[*_`](?!\w)|[\ud800-\udfff]"
)
# What the parser does not read: marks, with phrases that lead to nothing but a mark ("In [4], ...", "as shown in [2]",
# "the method proposed by [3]"), and white space behind white space.
_UNREAD = re.compile(
    rf"""\A(?:\w+\s)?(?:\w+ed\s)?(?:in|by)\s*(?:{MARK.pattern}\s*)+,\s*
        |(?<!\bis)(?<!\bare)(?<!\bwas)(?<!\bwere)(?<!\bbe)(?<!\bbeen)(?<!\balso)
        (?:,?\s+as)?\s+(?:\w+ed|shown|given|seen)\s+(?:in|by)(?=\s*{MARK.pattern})
        |\s*{MARK.pattern}|(?<=\s)\s+""",
    re.VERBOSE | re.IGNORECASE,
)
_MARKS = r"(?:\[\d{1,18}\]\s*)*\[\d{1,18}\]"
_KIND = r"(?:[Tt]he\s+)?(?P<kind>[Pp]aper|[Aa]rticle|[Rr]eference|[Rr]ef\.|Study|Work|Source|Document|Report)s?\s*"
_VERB = r"(?:(?:also|further|\w+ly)\s+)?(?:[a-z]+(?:[a-rt-z]s|ed)|is|has|have|show|find|found|propose|built|gave)\b"
_NOUN_MARKS = re.compile(
    rf"""(?:\A|[,;:(]\s+|\b(?:[Ii]n|by|of|from|than|[Uu]nlike|while|[Ww]hereas|that)\s+
                |\b(?:and|but|with|to)\s+(?=[A-Z]|the\b))
            (?P<named>{_KIND}{_MARKS})(?=\s*,|\s+\w)
        |(?:\A(?:[^][]*,\s+)?|[;:]\s+|\b(?:and|but|while|[Ww]hereas|[Aa]lthough|that|because|since)\s+)
            (?P<subject>{_MARKS})(?=\s+{_VERB})
        |\b(?:[Ii]n|by|of|from|with|to|than|like|[Uu]nlike|[Ff]ollowing|see)\s+(?P<object>{_MARKS})""",
    re.VERBOSE,
)

_GROUP = re.compile(rf"{MARK.pattern}(?:\s*{MARK.pattern})*")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("‘", "’"))

STANDING = "Paper"  # the word that the parser reads in place of marks that stand for a noun


# A sentence prepared for the parser: what the parser reads, with its offsets in the sentence; the offsets of its
# citation groups, and its length; and the names of marks in place of a noun, by their offset.
PreparedText = tuple[LocatedText, Sequence[int], Mapping[int, str]]


def prepared(sentence: str) -> PreparedText:
    """Return a sentence with marks [n] without them, and with `STANDING` where they stand for a noun.

    Marks that do ("Paper [4] shows", "[2] proposes") have a name such as "the cited paper"; where the text names no
    kind of source, it is "the cited source".
    """
    clean = whole(sentence).without([match.span() for match in _MARKUP.finditer(sentence)])
    names: dict[int, str] = {}
    pieces, end, text = list[LocatedText](), 0, clean.text
    for match in _NOUN_MARKS.finditer(text):
        group = next(name for name in ("named", "subject", "object") if match[name])
        start, stop = match.span(group)
        if group == "object":
            # A sentence loses nothing without "as shown in [2]" at its end, "In [2]," and "proposed by [2]".
            before, is_last = text[: match.start()], not re.match(r"\s*,|\s+\w", text[stop:])
            shown = re.search(r"\b(?:\w+ed|shown|given|seen)\s+\Z", before) is not None
            if match[0][:2].lower() in ("in", "by") and (shown or not before.strip()):
                continue
            if is_last and not re.search(r"\b(?:as|similar|contrast|compared)\s+\Z", before):
                continue
        kind = {"ref.": "reference", None: "source"}.get(kind := match["kind"] and match["kind"].lower(), kind)
        at = clean.at[text.index("[", start)]
        names[at] = f"{'the' if start else 'The'} cited {kind}"
        pieces += [clean.part(end, start), LocatedText(STANDING, (at,) * len(STANDING))]
        end = stop
    named = joined(*pieces, clean.part(end, len(text)))
    located = named.without(match.span() for match in _UNREAD.finditer(named.text)).stripped()
    groups = (*(clean.at[match.start()] for match in _GROUP.finditer(text)), len(sentence))
    return located, groups, names


def claims_of(ready: PreparedText, parse: Parse) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return the claims of a prepared sentence: (text, "tree" or "fallback: ...", indices of the claim's tokens).

    Each citation group has one, or several groups that hang on one token. parse: of the prepared text.
    """
    (located, groups, nouns), tokens = ready, parse.tokens
    starts = [start for start, _ in token_starts(parse, located.text)]
    tree = tree_of(parse)
    names = {
        place: nouns[located.at[start]]
        for place, start in enumerate(starts)
        if start >= 0 and located.at[start] in nouns
    }
    words = [place for place, token in enumerate(tokens) if starts[place] >= 0 and re.search(r"\w", token)]
    # A group hangs on the last word before it or, if it stands for a noun, before the next group.
    nodes: dict[int, None] = {}
    for start, behind in pairwise(groups):
        end = behind if start in nouns else start
        before = [place for place in words if located.at[starts[place]] < end]
        while end != start and before and parse.labels[before[-1]] in ("cc", "mark"):
            before.pop()
        nodes[(before or words or [0])[-1 if before else 0]] = None
    # Pairs of tokens that are one word, such as the sides of a hyphen.
    pairs = [
        {place - 1, place}
        for place in range(1, len(tokens))
        if starts[place] == starts[place - 1] + len(tokens[place - 1])
        and not re.search(r"[^\w\s'’/%-]", tokens[place - 1] + tokens[place])
    ]
    claims: list[tuple[str, str, tuple[int, ...]]] = []
    kept: tuple[int, ...]
    written: Mapping[int, str]
    for node in nodes:
        kept, fault, written = (), UNREACHED.removeprefix("fallback: "), {}
        if tree is not None and node in tree:
            kept, fault, written = cut_claim(tree, node, nodes)
        if not fault and len(nodes) > 1 and any(len(pair.intersection(kept)) == 1 for pair in pairs):
            fault = "a word is cut"
        places = range(len(tokens)) if fault else kept
        text = _written(located.text, parse, starts, {**names, **written}, places) if places else located.text
        claims.append((text, f"fallback: {fault}" if fault else "tree", () if fault else kept))
    return claims


def _written(text: str, parse: Parse, starts: Sequence[int], names: Mapping[int, str], places: Sequence[int]) -> str:
    """Return the tokens at these indices with the text's own spacing; across a gap, a space, but for closing signs.

    names: what is written for a token, by index.
    """
    written, last = "", -1
    for place in places:
        follows = last >= 0 and last == place - 1 and min(starts[place - 1], starts[place]) >= 0
        between = text[starts[place - 1] + len(parse.tokens[place - 1]) : starts[place]] if follows else " "
        glued = last < 0 or (not follows and parse.tokens[place] in ",;:)]}”’")
        written += ("" if glued else between) + names.get(place, parse.tokens[place])
        last = place
    return written


def with_groups(sentence: Sentence) -> LocatedText:
    """Return the sentence with marks [1], [2] ... inserted, one for each of its citation groups, at its offset."""
    text, end = whole(sentence.text), 0
    pieces: list[LocatedText] = []
    for number, group in enumerate(sentence.groups, start=1):
        pieces += [text.part(end, group.at), added(f"[{number}]")]
        end = group.at
    return joined(*pieces, text.part(end, len(sentence.text)))


def claims_in(sentence: Sentence, ready: PreparedText, parse: Parse) -> list[tuple[str, Segment, str]]:
    """Return the claims of a sentence as (fact, segment, rule). ready: prepared from `with_groups` of the sentence.

    A claim's segment runs from the first to the last of the words that no other claim of the sentence has; if it
    shares all its words, of all. Where the claim is the whole sentence by a fallback, or the parser's tokens differ
    from the text, as those of stored parses can, the segment counts as not found, and is the sentence.
    """
    claims, at, text = claims_of(ready, parse), with_groups(sentence).at, sentence.text
    starts = [start for start, _ in token_starts(parse, ready[0].text)]
    offsets = ready[0].at
    spans = {
        place: (at[offsets[start]], at[offsets[start + len(token) - 1]] + 1)
        for place, (start, token) in enumerate(zip(starts, parse.tokens, strict=True))
        if min(starts) >= 0 and any(map(str.isalnum, token)) and at[offsets[start]] >= 0
    }
    facts: list[tuple[str, Segment, str]] = []
    for number, (claim, rule, words) in enumerate(claims):
        others = {word for other, (*_, held) in enumerate(claims) if other != number for word in held}
        known = [spans[word] for word in words if word in spans and word not in others]
        known = known or [spans[word] for word in words if word in spans]
        if not known:
            segment: Segment = (0, len(text), "sentence")
        else:
            start, end = min(known)[0], max(last for _, last in known)
            # An adjacent bracket or quotation mark belongs to one inside.
            for opening, closing in _PAIRS:
                missing = text[start:end].count(opening) - text[start:end].count(closing)
                if missing > 0 and text[end : end + 1] == closing:
                    end += 1
                    break
                if missing < 0 and start and text[start - 1] == opening:
                    start -= 1
                    break
            segment = (start, end, "verbatim")
        is_all = rule != "tree" or letters_of(claim) == letters_of(text)
        facts.append((text if is_all else claim, segment, rule))
    return facts
