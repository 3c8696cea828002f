"""Claims that stand alone: a group's own clause, with the subject and auxiliaries that it shares with others.

The paper's rules leave phrases ("financed by a regional bank"), which an NLI model has to guess the rest of. Here every
other citation takes away only what the sentence can do without: its conjunct, its adjunct, its clause. A conjunct takes
the place of the one it is joined to and inherits its subject; a relative clause gets its noun for its pronoun. What is
subject, object or complement stays, whoever cites it. Ours, in neither paper nor released code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from metaeval.citation.aliice.tree import COORDINATIONS, NOWHERE, Tree, coordinations_between

SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
_CORE = SUBJECTS | {"dobj", "attr", "acomp", "oprd", "xcomp", "ccomp", "pobj", "dative", "pcomp"}
_CLAUSES = frozenset({"relcl", "advcl", "ccomp", "parataxis", "conj"})
_AUXILIARIES = frozenset({"aux", "auxpass", "neg"})
_VERB_ARGUMENTS = _AUXILIARIES | {"dobj", "agent", "mark"}
_OPENINGS = frozenset({"prep", "advcl", "npadvmod", "advmod", "mark"})
_REPLACED = _OPENINGS | COORDINATIONS | {"agent", "conj"}
_PRONOUNS = frozenset({"who", "which", "that", "whom"})
# How an English participle can end: a conjunct that ends otherwise does not share the passive's auxiliary.
_PARTICIPLES = ("ed", "en", "wn", "t", "ne", "de", "ld", "id", "nd", "un", "on", "ng", "nk")
_LOOSE = frozenset({",", "and", "or"})

Substitutes = dict[int, tuple[int, ...]]
"""Place of a relative pronoun -> the places of its noun."""


def expanded(tree: Tree, i: int, others: Iterable[int]) -> tuple[int, ...]:
    """The claim of the group at node i, as places in the sentence in the claim's order.

    others: the nodes of the sentence's other groups.
    """
    nouns: Substitutes = {}
    for j in others:
        if j in tree:
            tree = _apart(tree, i, j, nouns)
    places = [place for node in tree.subtree(tree.root) for place in nouns.get(node, (node,))]
    words = [at for at, place in enumerate(places) if place == i or tree.tokens[place] not in _LOOSE]
    return tuple(places[words[0] : words[-1] + 1])


def _apart(tree: Tree, i: int, j: int, nouns: Substitutes) -> Tree:
    lca = tree.lca(i, j)
    if lca == i:
        tj = tree.child_towards(i, j)
        if tree.labels[tj] in _CORE:
            return tree
        return _without(tree, i, tj, *_neighbours(tree, i, tj), *coordinations_between(tree, i, i, tj))
    own = _standing_alone(tree, i, lca, nouns)
    if own is not None:
        return own
    ti = tree.child_towards(lca, i)
    if tree.labels[ti] == "conj":
        return _in_place_of(tree, ti, lca)
    if lca == j:
        return tree
    tj = tree.child_towards(lca, j)
    if tree.labels[tj] in _CORE:
        return tree
    between = coordinations_between(tree, lca, ti, tj) if tree.labels[tj] == "conj" else ()
    return _without(tree, i, tj, *between, *_neighbours(tree, lca, tj))


def _standing_alone(tree: Tree, i: int, below: int, nouns: Substitutes) -> Tree | None:
    """The lowest clause with a subject that holds i, under `below`; None where there is none."""
    path = tree.path(i)
    inside = path[: path.index(below)]
    clause = next((node for node in inside if tree.labels[node] in _CLAUSES and _subjects(tree, node)), None)
    if clause is None:
        return None
    if tree.labels[clause] == "relcl":
        pronoun = next((node for node in tree.subtree(clause) if _is_relative(tree, node)), None)
        if pronoun is None:
            return None
        nouns[pronoun] = _noun_of(tree, clause)
    alone = tree.rooted_at(clause)
    first = min(_subjects(alone, clause))
    loose = (child for child in alone.children(clause) if child < first and alone.labels[child] == "cc")
    return _without(alone, i, *loose)


def _without(tree: Tree, i: int, *nodes: int) -> Tree:
    """The tree without these subtrees, but never without i: a mark can hang on a conjunction or a comma."""
    kept = tree.path(i)
    return tree.without(*(node for node in nodes if node not in kept))


def _is_relative(tree: Tree, node: int) -> bool:
    return tree.tokens[node].lower() in _PRONOUNS and tree.labels[node] in SUBJECTS | {"dobj", "pobj"}


def _noun_of(tree: Tree, clause: int) -> tuple[int, ...]:
    """What a relative clause hangs on, without the clause and all that is joined to the noun."""
    noun = tree.heads[clause]
    joined = (
        child
        for child in tree.children(noun)
        if tree.labels[child] in ("relcl", "appos", "conj", "cc") or tree.tokens[child] == ","
    )
    return tree.without(clause, *joined).subtree(noun)


def _in_place_of(tree: Tree, conjunct: int, left: int) -> Tree:
    """The conjunct instead of the one it is joined to, with what the two share."""
    if _is_verb(tree, left) and any(tree.labels[child] == "pobj" for child in tree.children(conjunct)):
        return _phrase_in_place(tree, conjunct, left)
    shared = _shared(tree, conjunct, left) if _is_verb(tree, left) and not _subjects(tree, conjunct) else []
    head, root = (NOWHERE, conjunct) if left == tree.root else (tree.heads[left], tree.root)
    heads, labels = list(tree.heads), list(tree.labels)
    for node in shared:
        heads[node] = conjunct
    heads[left], heads[conjunct], labels[conjunct] = NOWHERE, head, tree.labels[left]
    return replace(tree, heads=tuple(heads), labels=tuple(labels), root=root)


def _phrase_in_place(tree: Tree, phrase: int, verb: int) -> Tree:
    """A prepositional phrase joined to a verb: the verb keeps it instead of what stands between the two."""
    between = (
        child
        for child in tree.children(verb)
        if verb < child < phrase and (tree.labels[child] in _REPLACED or tree.tokens[child] == ",")
    )
    labels = (*tree.labels[:phrase], "prep", *tree.labels[phrase + 1 :])
    return replace(tree.without(*between), labels=labels)


def _shared(tree: Tree, conjunct: int, left: int) -> list[int]:
    subjects = _subjects(tree, left)
    first = min(subjects, default=left)
    openings = [
        child
        for child in tree.children(left)
        if child < first and (tree.labels[child] in _OPENINGS or tree.tokens[child] == ",")
    ]
    auxiliaries = [child for child in tree.children(left) if child < left and tree.labels[child] in _AUXILIARIES]
    return [*subjects, *openings, *(auxiliaries if _can_share(tree, conjunct, auxiliaries) else ())]


def _can_share(tree: Tree, conjunct: int, auxiliaries: Sequence[int]) -> bool:
    if any(tree.labels[child] in _AUXILIARIES for child in tree.children(conjunct)):
        return False
    form = tree.tokens[conjunct].lower()
    if any(tree.labels[node] == "auxpass" for node in auxiliaries):
        return form.endswith(_PARTICIPLES)
    return not form.endswith("s") or form.endswith("ss")


def _is_verb(tree: Tree, node: int) -> bool:
    own = (tree.labels[child] in _VERB_ARGUMENTS for child in tree.children(node))
    return bool(_subjects(tree, node)) or tree.labels[node] == "ROOT" or any(own)


def _subjects(tree: Tree, node: int) -> list[int]:
    return [child for child in tree.children(node) if tree.labels[child] in SUBJECTS]


def _neighbours(tree: Tree, lca: int, cut: int) -> list[int]:
    """Commas and conjunctions right beside a subtree that is cut."""
    held = tree.subtree(cut)
    beside = (held[0] - 1, held[-1] + 1)
    return [
        child
        for child in tree.children(lca)
        if child in beside and (tree.tokens[child] == "," or tree.labels[child] in COORDINATIONS)
    ]
