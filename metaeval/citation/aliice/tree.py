"""Dependency trees, and the rules that cut a claim out of them: those of the paper, and the project's own.

i is the node of the claim's citation group, j the node of another group, L their lowest common ancestor, Ti and Tj the
children of L that hold them, Tc the coordinations (conjunctions and commas) among L's children between Ti and Tj.
Where the paper's text, its Algorithm 1, its Appendix C and its released code differ, the rules follow the code: the
captions of the paper's Figures 6 to 13 agree with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from metaeval.citation.parsers.parse import ROOT, Parse

T = TypeVar("T")

NOWHERE = -1
"""The head of a root, and of every node that was cut off."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes of a dependency tree below `root`; a node not reachable from it is no longer part of the tree.

    tokens, labels, heads: by token index; a subtree that was cut off keeps its indices and loses its head. doubled:
    a child that is under the root twice, because the released code moved it there (see `separated`).
    """

    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    heads: tuple[int, ...]
    root: int
    doubled: int = NOWHERE

    def __contains__(self, node: int) -> bool:
        return self.root in self.path(node)

    def path(self, node: int) -> tuple[int, ...]:
        """Return the node and its ancestors, up to the root or to where the node was cut off."""
        climbed = [node]
        while node != self.root and self.heads[node] != NOWHERE:
            node = self.heads[node]
            climbed.append(node)
        return tuple(climbed)

    def children(self, node: int) -> tuple[int, ...]:
        """Return the node's children in the order of the sentence."""
        return tuple(place for place, head in enumerate(self.heads) if head == node and place != self.root)

    def joints(self, node: int, labels: Collection[str]) -> list[int]:
        """Return the node's children that are commas or have one of the labels, such as those of conjunctions."""
        return [child for child in self.children(node) if self.tokens[child] == "," or self.labels[child] in labels]

    def subtree(self, node: int) -> tuple[int, ...]:
        """Return the node and all nodes below it, in the order of the sentence."""
        below = [node]
        for descendant in below:
            below.extend(self.children(descendant))
        return tuple(sorted(below))

    def lca(self, node: int, other: int) -> int:
        """Return the lowest common ancestor of two nodes of the tree."""
        above = set(self.path(node))
        return next(node for node in self.path(other) if node in above)

    def child_towards(self, node: int, below: int) -> int:
        """Return the child of `node` whose subtree holds `below`."""
        path = self.path(below)
        return path[path.index(node) - 1]

    def without(self, *nodes: int) -> Tree:
        """Return the tree without these nodes' subtrees."""
        return replace(self, heads=_set(self.heads, dict.fromkeys(nodes, NOWHERE)))

    def rooted_at(self, node: int) -> Tree:
        """Return the subtree of the node as a tree."""
        return replace(self, heads=_set(self.heads, {node: NOWHERE}), root=node, doubled=NOWHERE)

    def lifted(self, node: int, over: int) -> Tree:
        """Return the tree with `node`, unlabelled, in place of `over`, whose other children are cut off."""
        heads = _set(self.heads, {node: self.heads[over], over: NOWHERE})
        return replace(self, heads=heads, labels=_set(self.labels, {node: ""}))


def tree_of(parse: Parse) -> Tree | None:
    """Return the tree of the last root, as the released code does; None for a parse without tokens."""
    if not parse.tokens:
        return None
    roots = [place for place in parse.roots if parse.labels[place] == ROOT] or list(parse.roots)
    heads = _set(parse.heads, dict.fromkeys(parse.roots, NOWHERE))
    return Tree(parse.tokens, parse.labels, heads, roots[-1])


def _set(values: tuple[T, ...], changes: Mapping[int, T]) -> tuple[T, ...]:
    return tuple(changes.get(place, value) for place, value in enumerate(values))


CLAUSES = frozenset({"prep", "advcl"})
COORDINATIONS = frozenset({"cc", "CC"})
GONE = "other_gone"
UNREACHABLE = "node_unreachable"

Step = tuple[Tree, str]
"""The tree after a rule, and the rule's name."""


def separated(tree: Tree, i: int, j: int, replace_root: bool) -> Step:
    """Return the tree without what belongs to the claim of node j, for the claim of node i, and the rule applied.

    Both are nodes of the tree. replace_root: see `Profile`.
    """
    lca = tree.lca(i, j)
    if tree.doubled in tree.path(lca):
        # The released search counts a child that is twice under the root as two, and stops at the root.
        return tree.rooted_at(tree.doubled), "nocc:root:root=Ti"
    if lca == i:
        return tree.without(tree.child_towards(i, j)), "lca_is_i:drop_Tj"
    if lca == j:
        rule, ti = "lca_is_j:replace_lca_by_Ti", tree.child_towards(j, i)
        if j != tree.root:
            return tree.lifted(ti, over=j), rule
        # Otherwise Ti, without its label, is added under the root once more.
        doubled = replace(tree, labels=_set(tree.labels, {ti: ""}), doubled=ti)
        return (tree.rooted_at(ti) if replace_root else doubled), rule
    ti, tj = tree.child_towards(lca, i), tree.child_towards(lca, j)
    tc = coordinations_between(tree, lca, ti, tj)
    if not tc:
        root = lca == tree.root
        return (tree.rooted_at(ti), "nocc:root:root=Ti") if root else (tree.without(tj), "nocc:nonroot:drop_Tj")
    if ti > tj:
        if lca != tree.root:
            others = (child for child in tree.children(lca) if child != ti)
            return tree.without(*others), "cc:i_last:nonroot:keep_lca_and_Ti_only"
        if opens_sentence(tree, tj):
            return tree.without(tj, *tc), "cc:i_last:root:Tj_initial_clause:drop_Tj_and_Tc"
        return tree.rooted_at(ti), "cc:i_last:root:root=Ti"
    if lca == tree.root and opens_sentence(tree, ti):
        return tree.rooted_at(ti), "cc:i_first:root:Ti_initial_clause:root=Ti"
    return tree.without(tj, *tc), "cc:i_first:drop_Tj_and_Tc"


def as_printed(tree: Tree, i: int, j: int) -> Step:
    """Return the tree after one step of the paper's Algorithm 1, read with section 3.2, and the step's name.

    Neither knows conjunctions or kinds of dependencies. Where the two print Ti for the subtree that is removed, Tj is
    meant: without its own node, node i would have no claim.
    """
    lca = tree.lca(i, j)
    ti, tj = (node if node == lca else tree.child_towards(lca, node) for node in (i, j))
    if lca == i or (lca != j and ti < tj):
        return tree.without(tj), "mask_Tj"
    return (tree.rooted_at(ti) if lca == tree.root else tree.lifted(ti, over=lca)), "replace_lca_by_Ti"


def coordinations_between(tree: Tree, lca: int, ti: int, tj: int) -> tuple[int, ...]:
    """Return the conjunctions and commas among the children of `lca` between `ti` and `tj` (Tc in the paper)."""
    low, high = sorted((ti, tj))
    return tuple(child for child in tree.joints(lca, COORDINATIONS) if low < child < high)


def opens_sentence(tree: Tree, node: int) -> bool:
    """Whether the node is a prepositional phrase or an adverbial clause that holds the first token."""
    return tree.labels[node] in CLAUSES and 0 in tree.subtree(node)


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
    """Return the self-contained claim of the group at node i, as token indices in the claim's order.

    The paper's rules leave phrases ("financed by a regional bank"), whose rest an NLI model has to guess. These rules,
    which are neither the paper's nor the released code's, remove for another citation only what the sentence can do
    without: its conjunct, adjunct or clause. A conjunct replaces the conjunct before it and inherits its subject; a
    relative clause gets its noun for its pronoun. Subjects, objects and complements stay, whichever group cites them.

    others: the nodes of the sentence's other groups.
    """
    nouns: Substitutes = {}
    for j in others:
        if j in tree:
            tree = _separated(tree, i, j, nouns)
    places = [place for node in tree.subtree(tree.root) for place in nouns.get(node, (node,))]
    words = [at for at, place in enumerate(places) if place == i or tree.tokens[place] not in _LOOSE]
    return tuple(places[words[0] : words[-1] + 1])


def _separated(tree: Tree, i: int, j: int, nouns: Substitutes) -> Tree:
    lca = tree.lca(i, j)
    if lca == i:
        tj = tree.child_towards(i, j)
        if tree.labels[tj] in _CORE:
            return tree
        return _without(tree, i, tj, *_neighbours(tree, i, tj), *coordinations_between(tree, i, i, tj))
    clause = _standing_alone(tree, i, lca, nouns)
    if clause is not None:
        return clause
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
    """Return the lowest clause under `below` that holds i and has a subject; None if there is none.

    nouns: by which pronouns are replaced.
    """
    path = tree.path(i)
    inside = path[: path.index(below)]
    clause = next((node for node in inside if tree.labels[node] in _CLAUSES and _subjects(tree, node)), None)
    if clause is None:
        return None
    if tree.labels[clause] == "relcl":
        nominal = (node for node in tree.subtree(clause) if tree.labels[node] in SUBJECTS | {"dobj", "pobj"})
        pronoun = next((node for node in nominal if tree.tokens[node].lower() in _PRONOUNS), None)
        if pronoun is None:
            return None
        # The noun of the clause, without the clause and everything that is joined to the noun.
        noun = tree.heads[clause]
        joined = tree.joints(noun, ("relcl", "appos", "conj", "cc"))
        nouns[pronoun] = tree.without(clause, *joined).subtree(noun)
    alone = tree.rooted_at(clause)
    first = min(_subjects(alone, clause))
    loose = (child for child in alone.children(clause) if child < first and alone.labels[child] == "cc")
    return _without(alone, i, *loose)


def _without(tree: Tree, i: int, *nodes: int) -> Tree:
    """Return the tree without these subtrees, except one that holds i: a mark can follow a conjunction or a comma."""
    kept = tree.path(i)
    return tree.without(*(node for node in nodes if node not in kept))


def _in_place_of(tree: Tree, conjunct: int, left: int) -> Tree:
    """Return the tree with the conjunct `left` replaced by the one joined to it, together with what the two share."""
    if _is_verb(tree, left) and any(tree.labels[child] == "pobj" for child in tree.children(conjunct)):
        # A prepositional phrase joined to a verb: the verb keeps it instead of the adjuncts between the two.
        between = (child for child in tree.joints(left, _REPLACED) if left < child < conjunct)
        return replace(tree.without(*between), labels=_set(tree.labels, {conjunct: "prep"}))
    shared = _shared(tree, conjunct, left) if _is_verb(tree, left) and not _subjects(tree, conjunct) else []
    head, root = (NOWHERE, conjunct) if left == tree.root else (tree.heads[left], tree.root)
    heads = _set(tree.heads, {**dict.fromkeys(shared, conjunct), left: NOWHERE, conjunct: head})
    return replace(tree, heads=heads, labels=_set(tree.labels, {conjunct: tree.labels[left]}), root=root)


def _shared(tree: Tree, conjunct: int, left: int) -> list[int]:
    subjects = _subjects(tree, left)
    first = min(subjects, default=left)
    openings = [child for child in tree.joints(left, _OPENINGS) if child < first]
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
    has_argument = (tree.labels[child] in _VERB_ARGUMENTS for child in tree.children(node))
    return bool(_subjects(tree, node)) or tree.labels[node] == "ROOT" or any(has_argument)


def _subjects(tree: Tree, node: int) -> list[int]:
    return [child for child in tree.children(node) if tree.labels[child] in SUBJECTS]


def _neighbours(tree: Tree, lca: int, cut: int) -> list[int]:
    """Return the commas and conjunctions among the children of `lca` next to a subtree that is cut."""
    held = tree.subtree(cut)
    return [child for child in tree.joints(lca, COORDINATIONS) if child in (held[0] - 1, held[-1] + 1)]
