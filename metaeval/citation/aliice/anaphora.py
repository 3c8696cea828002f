"""Names for what a sentence only points to: marks that stand for a noun, and pronouns for nouns of sentences before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from metaeval.citation.aliice.dependency_tree import Tree

SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
SINGULAR, PLURAL = frozenset({"it", "he", "she"}), frozenset({"they"})
_POSSESSIVES = {"its": "it", "his": "he", "her": "she", "their": "they"}
_DEMONSTRATIVES = frozenset({"this", "these", "that", "those", "such"})
_POINTING = frozenset({*SINGULAR, *PLURAL, *_POSSESSIVES, *_DEMONSTRATIVES})
_UNNAMED = frozenset(
    {*_POINTING, "there", "which", "who", "what", "we", "i", "you", "one", "another", "former", "latter"}
)
_SPECIFIC = frozenset({"amod", "compound", "poss", "nmod", "prep", "nummod"})
_NOUNS = frozenset({"nsubj", "nsubjpass", "dobj", "pobj", "attr", "conj"})
_GENERIC = frozenset("approach framework method model system technique tool algorithm scheme dataset strategy".split())
REACH = 3
"""Number of sentences before a sentence that its pronouns can point to."""

_LONGEST_NAME = 14  # tokens

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


@dataclass(frozen=True, slots=True)
class SentenceContext:
    """The titles of an answer's passages, in order, and the sentences before a sentence, with marks, in order."""

    titles: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


NOTHING = SentenceContext()


def noun_marks(text: str, titles: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    """Yield (start, end, offset of first mark, name) of marks in place of a noun: "Paper [4] shows", "[2] proposes".

    The name, to be written from start to end, is such as 'the paper “TITLE”', and "the cited paper" where a title is
    missing; where the text names no kind of source, it is "source". titles: of the answer's passages, in order.
    """
    for match in _NOUN_MARKS.finditer(text):
        group = next(name for name in ("named", "subject", "object") if match[name])
        start, end = match.span(group)
        numbers = [int(number) for number in re.findall(r"\[(\d+)\]", match[group])]
        known = [" ".join(titles[n - 1].split()) for n in numbers if 0 < n <= len(titles)]
        known = [title for title in known if re.search(r"\w", title)]
        if group == "object" and _is_dispensable(text, match.start(), end, bool(known)):
            continue
        kind = {"ref.": "reference", None: "source"}.get(kind := match["kind"] and match["kind"].lower(), kind)
        quoted = " and ".join(f"“{title}”" for title in known)
        name = f"the {kind}{'s' * (len(known) > 1)} {quoted}" if len(known) == len(numbers) else f"the cited {kind}"
        yield start, end, text.index("[", start), name if start else name.capitalize() if not known else f"T{name[1:]}"


def _is_dispensable(text: str, start: int, end: int, known: bool) -> bool:
    """Return whether a sentence loses nothing without a preposition and the marks behind it, which then need no name.

    "as shown in [2]" at the end says nothing more; without a title, nor do "In [2]," and "proposed by [2]". start, end:
    offsets of preposition and marks. known: whether a cited passage has a title.
    """
    before, is_last = text[:start], not re.match(r"\s*,|\s+\w", text[end:])
    shown = re.search(r"\b(?:\w+ed|shown|given|seen)\s+\Z", before) is not None
    if text[start : start + 2].lower() in ("in", "by") and (shown or not before.strip()):
        return is_last or not known
    return is_last and not known and not re.search(r"\b(?:as|similar|contrast|compared)\s+\Z", before)


def points(text: str) -> bool:
    """Return whether the text holds a pronoun or a demonstrative, which can point to a sentence before."""
    return any(word.lower() in _POINTING for word in re.findall(r"\w+", text))


Prior = tuple[Tree, Callable[[Sequence[int]], str]]
"""The tree of a sentence, and the function that writes its tokens at some indices as text."""


def resolved(tree: Tree, priors: Sequence[Prior]) -> dict[int, str]:
    """Return a name for the word of a sentence that points to a sentence before, by the word's token index, if any.

    Only one word is named, without a noun before it, and only where its meaning is unambiguous: a pronoun by the
    subject of the sentence before, if the two agree in number; "this" in "this method" by the last method that was
    described, and "method" then by an empty text. priors: the sentences before, the nearest first.
    """
    names: dict[int, str] = {}
    for place, token in enumerate(tree.tokens):
        word, label, head = token.lower(), tree.labels[place], tree.heads[place]
        name = ""
        if (
            label in ("nsubj", "nsubjpass")
            and word in SINGULAR | PLURAL
            and tree.tokens[place - 1] != "-"
            and not _is_empty(tree, place)
        ):
            name = _last_subject(word, priors)
        elif label == "poss" and word in _POSSESSIVES:
            owner = _last_subject(_POSSESSIVES[word], priors)
            name = owner and owner + ("’" if owner.endswith("s") else "’s")
        elif label == "det" and word in _DEMONSTRATIVES and head == place + 1:
            name = _last_described(tree.tokens[head], priors)
            names |= {head: ""} if name else {}
        if name:
            names[place] = name if place else name[0].upper() + name[1:]
        if name or (label in _NOUNS and not token.isdigit()):
            break
    return names


def _is_empty(tree: Tree, pronoun: int) -> bool:
    """Return whether the pronoun is an "it" for a later clause: "It is known that", or before seems, appears, takes."""
    verb = tree.heads[pronoun]
    if tree.tokens[pronoun].lower() != "it" or tree.tokens[verb].lower() in ("seems", "appears", "takes"):
        return tree.tokens[pronoun].lower() == "it"
    opens = any(
        token.lower() in ("to", "that") and tree.labels[at] in ("aux", "mark") for at, token in enumerate(tree.tokens)
    )
    adjective = any(tree.labels[child] in ("acomp", "attr", "oprd") for child in tree.children(verb))
    return opens and (adjective or tree.labels[pronoun] == "nsubjpass")


def _last_subject(pronoun: str, priors: Sequence[Prior]) -> str:
    """Return the subject that a pronoun stands for, as a name; empty if that is ambiguous.

    It is the subject of the sentence before, or of the nearest one before whose subject is not the same pronoun. It has
    to be the only subject of its sentence that agrees with the pronoun.
    """
    for tree, write in priors:
        subjects = subjects_of(tree, tree.root)
        if len(subjects) == 1 and tree.tokens[subjects[0]].lower() == pronoun:
            continue
        agreeing = [
            place
            for place, (token, label) in enumerate(zip(tree.tokens, tree.labels, strict=True))
            if label in ("nsubj", "nsubjpass")
            and token.lower() not in _UNNAMED
            and is_plural(tree, place) == (pronoun in PLURAL)
            and (pronoun not in ("he", "she") or token[:1].isupper())
        ]
        return _name(tree, agreeing[0], write) if len(subjects) == 1 and agreeing == subjects else ""
    return ""


def _last_described(noun: str, priors: Sequence[Prior]) -> str:
    """Return what "this NOUN" stands for in the sentence before: the last phrase with NOUN and words that say which
    one; else, for a general noun such as "method", the subject if it is a name; else empty.
    """
    for tree, write in priors[:1]:
        for place in reversed(range(len(tree.tokens))):
            of_kind = [child for child in tree.children(place) if tree.labels[child] in _SPECIFIC]
            if tree.tokens[place].lower() == noun.lower() and tree.labels[place] in _NOUNS and of_kind:
                determiners = [child for child in tree.children(place) if tree.labels[child] == "det"]
                named = _name(tree.without(*determiners), place, write, joined=False)
                owned = any(tree.labels[child] == "poss" for child in of_kind)
                return named if owned or not named else f"the {named}"
        subjects = subjects_of(tree, tree.root)
        is_name = len(subjects) == 1 and sum(map(str.isupper, tree.tokens[subjects[0]])) > 1
        return _name(tree, subjects[0], write) if is_name and noun.lower() in _GENERIC else ""
    return ""


def _name(tree: Tree, noun: int, write: Callable[[Sequence[int]], str], joined: bool = True) -> str:
    """Return the phrase of a noun as it was written, without clauses; empty if it holds a pronoun, or over 14 tokens.

    joined: include what is joined to a plural noun by "and".
    """
    behind = (c for c in tree.children(noun) if tree.tokens[c - 1] == "," and tree.labels[c] not in ("conj", "punct"))
    loose = [*tree.joints(noun, ("relcl", "appos", "preconj", "punct")), *(c for c in behind if c > noun)]
    if not joined or not is_plural(tree, noun):
        loose += tree.joints(noun, ("conj", "cc"))
    elif any(tree.labels[child] == "conj" for child in tree.children(noun)):
        loose = [child for child in loose if tree.tokens[child] != ","]
    places = tree.without(*loose).subtree(noun)
    if len(places) > _LONGEST_NAME or {tree.tokens[place].lower() for place in places} & _UNNAMED:
        return ""
    text = write(places)
    return (
        text[0].lower() + text[1:]
        if places[0] == 0 and tree.labels[0] in ("det", "amod") and text[1:2].islower()
        else text
    )


def subjects_of(tree: Tree, node: int) -> list[int]:
    """Return the token indices of the subjects of a verb, in order."""
    return [child for child in tree.children(node) if tree.labels[child] in SUBJECTS]


def is_plural(tree: Tree, noun: int) -> bool:
    """Return whether a noun looks like a plural by its ending, or has a conjunct ("A and B")."""
    word = tree.tokens[noun].lower()
    joined = any(tree.labels[child] == "conj" for child in tree.children(noun))
    return joined or (word.endswith("s") and not word.endswith(("ss", "us", "is")))
