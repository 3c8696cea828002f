"""Cuts of a dependency tree into the claims of its citation groups, for SCiFi's facts: the project's own rules.

The marks of a sentence divide its words: a group owns the words between the mark before it and its own. A claim holds
all words that its group owns, and what they need to be a sentence: a conjunct takes the place of the one that another
group owns, a clause with a subject stands alone, other groups' conjuncts, adjuncts and clauses are left out. A claim
that fails a check is the whole sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise

from metaeval.citation.aliice.dependency_tree import COORDINATIONS, NOWHERE, Tree, with_changes

SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
_PRONOUNS = frozenset({"it", "he", "she", "they"})
_CLAUSES = frozenset({"relcl", "advcl", "parataxis", "conj"})
# Labels of what is left out where another group owns its head.
_FOREIGN = frozenset({"conj", "relcl", "appos", "parataxis", "advcl"})
# Labels of what is left out where another group cites a word of it.
_ADJUNCTS = frozenset({"prep", "agent", "npadvmod", "acl", "advmod", "dep"})
_AUXILIARIES = frozenset({"aux", "auxpass", "neg"})
_VERB_ARGUMENTS = _AUXILIARIES | {"dobj", "agent", "mark"}
_OPENINGS = frozenset({"prep", "advcl", "npadvmod", "advmod", "mark"})
_REPLACED = _OPENINGS | COORDINATIONS | {"agent", "conj"}
_JOINING = COORDINATIONS | {"mark", "punct", "preconj"}
_RELATIVES = frozenset({"who", "which", "that", "whom"})
_CONDITIONS = frozenset({"if", "unless", "until", "whether", "lest", "than", "that"})
_NOUNS = frozenset({"pobj", "dobj", "nsubj", "nsubjpass", "attr", "conj", "appos"})
_MODIFIERS = frozenset({"prep", "amod", "det", "poss", "nummod", "compound", "nmod"})
# Labels of words without which what stands before them is not a sentence.
_NEEDED = SUBJECTS | {"dobj", "pobj", "attr", "acomp", "ccomp", "xcomp", "oprd", "dative", "pcomp", "prt"}
_PAST = frozenset({"was", "were", "had", "did"})
_ONE = {"are": "is", "were": "was", "have": "has", "do": "does"}
_FORMS = _PAST | {*_ONE, *_ONE.values()}
_LONGEST_HEADING = 14  # words
_LISTS = frozenset({"such", "including", "like"})
_OPEN, _CLOSED = '([{“‘"', ')]}”’"'
_BREAKS, _UNITS = ",;:—–-.", "%°$€£+~"
# How an English participle can end: a conjunct that ends otherwise does not share the passive's auxiliary.
_PARTICIPLES = ("ed", "en", "wn", "t", "ne", "de", "ld", "id", "nd", "un", "on", "ng", "nk")


@dataclass(slots=True)
class _Work:
    """A tree that is being cut for the group at node i; the functions below change it. nodes: of all groups.

    owner: of each token, the node of the group that owns it; None where groups share it. nouns: by the index of a
    pronoun, the indices of the noun that replaces it. words: what is written for a token, by index. finite: the
    participle that was made a finite verb. fault: why there is no claim; empty so far.
    """

    tree: Tree
    i: int
    nodes: Sequence[int]
    owner: Sequence[int | None]
    nouns: dict[int, tuple[int, ...]] = field(default_factory=dict)
    words: dict[int, str] = field(default_factory=dict)
    finite: int = NOWHERE
    fault: str = ""

    def foreign(self, node: int) -> bool:
        """Return whether another group owns the node."""
        return self.owner[node] not in (None, self.i)

    def cites(self, node: int) -> bool:
        """Return whether the node of another group is in the node's subtree."""
        return any(node in self.tree.path(cited) for cited in self.nodes if cited != self.i)


def cut_claim(tree: Tree, i: int, others: Iterable[int]) -> tuple[tuple[int, ...], str, Mapping[int, str]]:
    """Return (places, fault, words) of the self-contained claim of the group at node i.

    places: the token indices of the claim's words, in their order. fault: why they are not a claim that stands alone;
    empty if they are. words: what is written for a token, by index. others: the nodes of the sentence's other groups;
    without any the claim is the sentence but for a heading.
    """
    nodes = sorted({i, *others})
    bare, nouns = _without_heading(tree)
    if len(nodes) == 1:
        return tuple(place for node in bare.subtree(bare.root) for place in nouns.get(node, (node,))), "", {}
    tree, nouns = (bare, nouns) if all(node in bare for node in nodes) else (tree, {})
    work = _Work(tree, i, nodes, _owners(tree, nodes), nouns)
    owned = [node for node, owner in enumerate(work.owner) if owner == i]
    # Needed are the group's own words, without what joins them to the words before (and, that, commas).
    joining = {node for node in owned if any(tree.labels[above] in _JOINING for above in tree.path(node))}
    needed = [node for node in owned if node in tree and node not in joining] or [i]
    end = owned[-1] + 1
    inside = [node for node in range(end) if node in tree]
    behind = [node for node in range(end, len(tree.tokens)) if 0 <= tree.heads[node] < end and node in tree]
    whole = tree.root < end and all(tree.heads[node] < end or not _is_word(tree, node) for node in inside)
    if i == nodes[0] and whole and not any(tree.labels[node] in _NEEDED for node in behind):
        # The first group's words are a sentence as they stand.
        work.tree = tree.without(*(node for node in range(end, len(tree.tokens)) if tree.heads[node] < end))
    else:
        _lift(work, needed)
        _prune(work, needed)
    tree = work.tree
    kept = _without_loose(tree, set(tree.subtree(tree.root)))
    places = tuple(place for node in kept for place in work.nouns.get(node, (node,)))
    held = {*kept, *places}
    auxiliaries = [tree.tokens[child].lower() for child in tree.joints(tree.root, ("aux", "auxpass")) if child in held]
    ends = tree.tokens[tree.root].lower().endswith("ing")
    finite = tree.root == work.finite or (auxiliaries[:1] != ["to"] and (auxiliaries or not ends))
    if work.fault:
        fault = work.fault
    elif all(node in held for node in range(len(tree.tokens)) if _is_word(tree, node)):
        fault = "nothing to leave out"
    elif not held.issuperset(needed):
        fault = "words are missing"
    else:
        fault = "" if finite and held.intersection(_subjects_of(tree, tree.root)) else "no subject or finite verb"
    return places, fault, {} if fault else work.words


def _owners(tree: Tree, nodes: Sequence[int]) -> list[int | None]:
    """Return the node of the group that owns each token: the group of the next mark; None behind the last one.

    A phrase that goes on behind a mark belongs to that mark's group up to the next comma or conjunction.
    """
    owner: list[int | None] = [None] * len(tree.tokens)
    start = 0
    for node, last in zip(nodes, [*nodes[1:], len(owner) - 1], strict=True):
        owner[start : node + 1] = [node] * (node + 1 - start)
        # Where a new part of the sentence can start.
        openings = (
            place
            for place in range(node + 1, last + 1)
            if tree.labels[place] in _JOINING
            or tree.tokens[place].lower() in _RELATIVES
            or (place == node + 1 and tree.labels[place] in ("prep", "advcl", "acl", "agent", "advmod", "conj"))
        )
        start = next(openings, node + 1)
        owner[node:start] = [node] * (start - node)
    return owner


def _lift(work: _Work, needed: Sequence[int]) -> None:
    """Cut other groups' words above the group's own out of the tree, from the root down, where that is possible."""
    for above, child in pairwise(work.tree.path(reduce(work.tree.lca, needed))[::-1]):
        if work.foreign(above) and not work.fault:
            # A node can stand without its head as a conjunct, an own word, or where a mark is between both.
            joined = work.tree.labels[child] in ("conj", "appos") or not work.foreign(child)
            if joined or any(work.tree.heads[child] <= node < child for node in work.nodes):
                _leave_behind(work, above, child)
    for node in sorted({above for need in needed for above in work.tree.path(need)} - set(needed)):
        holders = {work.tree.child_towards(node, need) for need in needed if node in work.tree.path(need)[1:]}
        joined = all(work.tree.labels[holder] in ("conj", "appos") for holder in holders)
        if holders and work.foreign(node) and joined and _is_alike(work.tree, node, min(holders)):
            _leave_behind(work, node, min(holders))
    for above, child in pairwise(work.tree.path(work.i)[::-1]):
        # The noun of a relative clause belongs to its group, and the verb that the noun is subject of to another.
        if work.tree.labels[child] == "relcl" and above != work.tree.root and work.foreign(work.tree.heads[above]):
            _leave_behind(work, above, child)


def _is_alike(tree: Tree, node: int, conjunct: int) -> bool:
    """Return whether the conjunct can take the node's place: a noun's always, else if both or neither end in -ing."""
    endings = {tree.tokens[place].lower().endswith("ing") for place in (node, conjunct)}
    return tree.labels[node] in _NOUNS or len(endings) == 1


def _leave_behind(work: _Work, above: int, child: int) -> None:
    """Put the child into the place of the node above it, which another group owns, or record a fault."""
    tree, label, word = work.tree, work.tree.labels[child], work.tree.tokens[child].lower()
    marked = any(tree.labels[node] in ("mark", "aux") for node in tree.children(child))
    if label in _CLAUSES and _subjects_of(tree, child):
        _stand_alone(work, child, above)
    elif label in ("conj", "appos") or (label == "advcl" and child > above and not marked and not word.endswith("ing")):
        # An adverbial clause like that is a conjunct that the parser missed.
        if not _is_verb(tree, child):
            above = _most_parallel(work, child, above)
            tree = replace(tree, heads=with_changes(tree.heads, {child: above}))
        named = tree.tokens[above].lower() not in _PRONOUNS
        if child not in tree.path(above) and not _is_alike(tree, above, child) and word.endswith("ing"):
            above = next((node for node in tree.path(above) if _is_alike(tree, node, child)), above)
            tree = replace(tree, heads=with_changes(tree.heads, {child: above}))
        if above == work.finite and above in work.words:
            work.finite, work.words[child] = child, f"{work.words[above].split()[0]} {tree.tokens[child]}"
        _agree(work, child, above)
        work.tree, work.fault = _in_place_of(tree, child, above), "" if named else "no antecedent"
    elif label in ("advcl", "acl", "relcl", "parataxis"):
        _make_finite(work, child, above)


def _make_finite(work: _Work, clause: int, above: int) -> None:
    """Give a participle the subject of the clause above ("X rose, reaching Y": X was reaching Y), or record a fault."""
    tree, word = work.tree, work.tree.tokens[clause].lower()
    # The highest verb with a subject, up to the first conjunct.
    verb = None
    for node in tree.path(above):
        if _subjects_of(tree, node):
            verb = node
            if tree.labels[node] in ("conj", "parataxis"):
                break
    marked = any(tree.labels[child] in _AUXILIARIES | {"mark"} for child in tree.children(clause))
    if verb is None or marked or not word.endswith("ing"):
        work.fault = "no clause"
        return
    direct = tree.labels[clause] == "acl" and tree.tokens[clause - 1] != ","
    subject = above if direct else _subjects_of(tree, verb)[0]
    words = [tree.tokens[node].lower() for node in (*tree.children(verb), verb) if tree.labels[node] not in SUBJECTS]
    form = next((word for word in words if word in _FORMS), "" if direct else words[-1])
    past = form in _PAST or form.endswith("ed")
    plural = _is_plural(tree, subject) or tree.tokens[subject].lower() == "they"
    if not direct and (form in _ONE or form.endswith("s")):
        plural = form in _ONE
    form = (("was", "were") if past else ("is", "are"))[plural]
    alone = tree.rooted_at(clause)
    loose = [child for child in alone.children(clause) if child < clause and tree.labels[child] in _JOINING]
    first = min(alone.without(*loose).subtree(clause))
    work.finite = clause
    work.words[first] = form if word == "being" and first == clause else f"{form} {tree.tokens[first]}"
    changes = {subject: clause, **dict.fromkeys(loose, NOWHERE)}
    changes |= dict.fromkeys(tree.joints(subject, ("relcl", "appos", "acl")), NOWHERE)
    labels = with_changes(alone.labels, {subject: "nsubj"})
    work.tree = replace(alone, heads=with_changes(alone.heads, changes), labels=labels)


def _most_parallel(work: _Work, child: int, above: int) -> int:
    """Return the noun that is built most like a conjunct, by the words that hang on both.

    Of "the detection of single proteins, single acids" a parser can join the acids to the detection: nouns between the
    one it chose and the last mark before, and those above it, are compared.
    """
    tree = work.tree
    before = [node for node in work.nodes if node < child and node in tree and above in tree.path(node)]
    path = tree.path(before[-1] if before else above)
    nouns = [node for node in path if node < child and work.foreign(node) and tree.labels[node] in _NOUNS]
    inside = tree.subtree(child)

    def words(of: int) -> set[str]:
        modifiers = {tree.tokens[at].lower() for at in tree.children(of) if tree.labels[at] in _MODIFIERS}
        return modifiers | {tree.tokens[of]}

    return max((above, *nouns), key=lambda node: len(words(node) & words(child)) if node not in inside else 0)


def _without_heading(tree: Tree) -> tuple[Tree, dict[int, tuple[int, ...]]]:
    """Return the tree without a heading and its colon ("Llama 3: Llama 3 uses ..."), and `_Work.nouns`.

    These give the heading's tokens for a pronoun that opens the sentence behind it; else they are empty. The tree is
    unchanged if there is no heading.
    """
    colon = next((place for place, token in enumerate(tree.tokens) if token == ":"), NOWHERE)
    subjects = _subjects_of(tree, tree.root)
    if not 0 < colon <= _LONGEST_HEADING or not subjects or min(tree.root, *subjects) < colon:
        return tree, {}
    if any(label in SUBJECTS | _AUXILIARIES for label in tree.labels[:colon]):
        return tree, {}
    named = tree.tokens[colon + 1].lower() in _PRONOUNS | {"this", "these"} and colon + 1 in subjects
    return tree.without(*range(colon + 1)), {colon + 1: tuple(range(colon))} if named else {}


def _stand_alone(work: _Work, clause: int, above: int) -> None:
    """Make the clause the root, without what joins it to words above, with nouns for pronouns; or record a fault."""
    tree = work.tree
    alone = tree.rooted_at(clause)
    first = min(_subjects_of(alone, clause))
    word = tree.tokens[first].lower()
    if tree.labels[clause] == "relcl":
        nominal = [node for node in tree.subtree(clause) if tree.labels[node] in SUBJECTS | {"dobj", "pobj"}]
        pronoun = next((node for node in nominal if tree.tokens[node].lower() in _RELATIVES), None)
        noun = tree.heads[clause]
        if pronoun is None or tree.tokens[noun].lower() in _PRONOUNS:
            work.fault = "no antecedent"
            return
        work.nouns[pronoun] = _bare(tree, noun)
        work.tree = alone
        return
    marks = [child for child in alone.children(clause) if alone.labels[child] == "mark"]
    if any(tree.tokens[mark].lower() in _CONDITIONS for mark in marks):
        work.fault = "a condition"
    before = max([*marks, *(c for c in alone.joints(clause, COORDINATIONS) if c < first)], default=NOWHERE)
    loose = [c for c in alone.children(clause) if c < first]
    loose = [c for c in loose if c <= before or tree.tokens[c].lower() in ("when", "where")]
    work.tree = alone.without(*loose)
    if word in _PRONOUNS and tree.labels[first] != "expl":
        # The clause's pronoun is the subject of the clause above it, if the two agree in number.
        subject = next((subjects[0] for node in tree.path(above) if (subjects := _subjects_of(tree, node))), None)
        if subject is None:
            work.fault = "no antecedent"
        elif tree.tokens[subject].lower() != word:
            if _is_plural(tree, subject) != (word == "they") or tree.labels[subject] not in ("nsubj", "nsubjpass"):
                work.fault = "no antecedent"
            work.nouns[first] = _bare(tree, subject)


def _bare(tree: Tree, noun: int) -> tuple[int, ...]:
    """Return the token indices of the noun and what belongs to it, without clauses and what is joined to it."""
    return tree.without(*tree.joints(noun, ("relcl", "appos", "conj", "cc", "punct"))).subtree(noun)


def _prune(work: _Work, needed: Collection[int]) -> None:
    """Leave out what other groups own or cite and the claim can do without."""
    held = {node for need in needed for node in work.tree.path(need)}
    for node, token in enumerate(work.tree.tokens):
        tree, label, head = work.tree, work.tree.labels[node], work.tree.heads[node]
        if node in held or node not in tree:
            continue
        if label == "conj":
            goes = work.foreign(node) and (node > work.i or work.cites(head))
        elif label in _FOREIGN:
            is_condition = any(tree.tokens[child].lower() in _CONDITIONS for child in tree.joints(node, ("mark",)))
            goes = work.foreign(node) and work.cites(node) and not (label == "advcl" and is_condition)
        else:
            # The head keeps another adjunct with the same preposition.
            same = {tree.tokens[child].lower() for child in tree.joints(head, ("prep",)) if child in held}
            goes = label == "prep" and work.foreign(node) and token.lower() in same
            if label in _ADJUNCTS and work.cites(node):
                # Loose are adjuncts of a verb, behind a comma, dash or bracket, and of examples ("such as").
                listed = {token.lower(), *(tree.tokens[child].lower() for child in tree.children(node))} & _LISTS
                apart = node > 0 and tree.tokens[node - 1] in ",—–("
                goes = bool(goes or listed or apart or _is_verb(tree, head))
        if goes and label == "conj":
            _agree(work, head, node)
        if goes:
            work.tree = work.tree.without(node)


def _agree(work: _Work, kept: int, gone: int) -> None:
    """Write the verb in the singular where `kept` is the only one left of two subjects, without `gone`."""
    tree = work.tree
    left = kept if tree.labels[kept] in SUBJECTS else gone
    if tree.labels[left] in SUBJECTS and not _is_plural(tree.without(*tree.joints(kept, ("conj",)), gone), kept):
        verb = tree.heads[left]
        for node in (verb, *tree.joints(verb, _AUXILIARIES)):
            if (word := tree.tokens[node].lower()) in _ONE:
                work.words[node] = _ONE[word]


def _in_place_of(tree: Tree, conjunct: int, left: int) -> Tree:
    """Return the tree with `left` replaced by the conjunct joined to it, together with what the two share."""
    if _is_verb(tree, left) and any(tree.labels[child] == "pobj" for child in tree.children(conjunct)):
        # A prepositional phrase joined to a verb: the verb keeps it instead of the adjuncts between the two.
        between = (child for child in tree.joints(left, _REPLACED) if left < child < conjunct)
        return replace(tree.without(*between), labels=with_changes(tree.labels, {conjunct: "prep"}))
    shared = [child for child in tree.children(left) if child > conjunct]
    if _is_verb(tree, left) and not _subjects_of(tree, conjunct):
        subjects = _subjects_of(tree, left)
        first = min(subjects, default=left)
        shared += [*subjects, *(child for child in tree.joints(left, _OPENINGS | {"punct"}) if child < first)]
        auxiliaries = [child for child in tree.children(left) if child < left and tree.labels[child] in _AUXILIARIES]
        if any(tree.tokens[child].lower() == "but" for child in tree.joints(left, COORDINATIONS) if child < conjunct):
            auxiliaries = [child for child in auxiliaries if tree.labels[child] != "neg"]
        # The conjunct shares the auxiliaries if its form fits them.
        inner = [tree.tokens[child].lower() for child in tree.children(conjunct) if tree.labels[child] in _AUXILIARIES]
        form = tree.tokens[conjunct].lower()
        if inner:
            fits = inner[0] == "be"
        elif any(tree.labels[node] == "auxpass" for node in auxiliaries):
            fits = form.endswith(_PARTICIPLES)
        else:
            fits = not form.endswith("s") or form.endswith("ss")
        shared += auxiliaries if fits else []
    head, root = (NOWHERE, conjunct) if left == tree.root else (tree.heads[left], tree.root)
    heads = with_changes(tree.heads, {**dict.fromkeys(shared, conjunct), left: NOWHERE, conjunct: head})
    return replace(tree, heads=heads, labels=with_changes(tree.labels, {conjunct: tree.labels[left]}), root=root)


def _is_verb(tree: Tree, node: int) -> bool:
    has_argument = (tree.labels[child] in _VERB_ARGUMENTS for child in tree.children(node))
    return bool(_subjects_of(tree, node)) or tree.labels[node] == "ROOT" or any(has_argument)


def _without_loose(tree: Tree, kept: set[int]) -> list[int]:
    """Return the kept tokens in order, without signs and conjunctions that join nothing, and unpaired brackets."""
    for node in sorted(kept):
        pairs = tree.labels[node] in (*COORDINATIONS, "preconj") or tree.tokens[node].lower() in ("both", "either")
        around = (node - 1 - (tree.tokens[node - 1] == ","), node - 1, node + 1)
        within = tree.labels[node] in COORDINATIONS and kept.issuperset(around)
        if pairs and not within and tree.heads[node] != NOWHERE:
            joined = [c for c in tree.children(tree.heads[node]) if tree.labels[c] == "conj" and c in kept]
            if not any(child > node for child in joined):
                kept -= set(tree.subtree(node))
    words = sorted(node for node in kept if _is_word(tree, node))
    if not words:
        return sorted(kept)
    signs = sorted(kept - set(words))
    loose = _unpaired(tree, signs, words)
    for node in signs:
        breaks = tree.tokens[node] in _BREAKS
        apart = not kept.issuperset((node - 1, node + 1)) if breaks else not words[0] < node < words[-1]
        apart = apart and not (tree.tokens[node] == ";" and node - 1 in kept and node < words[-1])
        if apart and tree.tokens[node] not in _OPEN + _CLOSED + _UNITS:
            loose.add(node)
    return sorted(kept - loose)


def _unpaired(tree: Tree, signs: Iterable[int], words: Sequence[int]) -> set[int]:
    """Return the indices of brackets and quotation marks without a pair, and of pairs without a word between them."""
    opened: list[int] = []
    loose: set[int] = set()
    for node in signs:
        token = tree.tokens[node]
        if token in _CLOSED and opened and tree.tokens[opened[-1]] == _OPEN[_CLOSED.index(token)]:
            start = opened.pop()
            loose |= set() if any(start < word < node for word in words) else {start, node}
        elif token in _OPEN:
            opened.append(node)
        elif token in _CLOSED:
            loose.add(node)
    return loose | set(opened)


def _is_word(tree: Tree, node: int) -> bool:
    return any(map(str.isalnum, tree.tokens[node]))


def _subjects_of(tree: Tree, node: int) -> list[int]:
    """Return the token indices of the subjects of a verb, in order."""
    return [child for child in tree.children(node) if tree.labels[child] in SUBJECTS]


def _is_plural(tree: Tree, noun: int) -> bool:
    """Return whether a noun looks like a plural by its ending, or has a conjunct ("A and B")."""
    word = tree.tokens[noun].lower()
    joined = any(tree.labels[child] == "conj" for child in tree.children(noun))
    return joined or (word.endswith("s") and not word.endswith(("ss", "us", "is")))
