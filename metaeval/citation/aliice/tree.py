"""Dependency trees, and what a claim loses to another citation of its sentence, by the paper's rules and by ours.

i is the node of the claim's own citation group, j the node of another one, L their lowest common ancestor, Ti and Tj
the children of L that hold them, Tc the coordinations (conjunctions and commas) among L's children between Ti and Tj.
Where the paper's text, its Algorithm 1, its Appendix C and its released code differ, the rules follow the code: the
captions of the paper's Figures 6 to 13 come out of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from metaeval.citation.parsers.parse import ROOT, Parse

NOWHERE = -1
"""The head of a root, and of everything that was cut off."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What hangs under `root`; whatever cannot be reached from it is no longer part of the tree.

    tokens, labels, heads: by place in the sentence; a cut subtree keeps its places and loses its head.
    doubled: a child that hangs twice under the root, after the released code has moved it there (see `rules`).
    """

    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    heads: tuple[int, ...]
    root: int
    doubled: int = NOWHERE

    def __contains__(self, node: int) -> bool:
        return self.root in self.path(node)

    def path(self, node: int) -> tuple[int, ...]:
        """The node, its head, that one's head, and so on, up to the root or to where the node was cut off."""
        climbed = [node]
        while node != self.root and self.heads[node] != NOWHERE:
            node = self.heads[node]
            climbed.append(node)
        return tuple(climbed)

    def children(self, node: int) -> tuple[int, ...]:
        """The node's children in the order of the sentence."""
        return tuple(place for place, head in enumerate(self.heads) if head == node and place != self.root)

    def joints(self, node: int, labels: Collection[str]) -> list[int]:
        """The node's children that are commas, or have one of the labels."""
        return [child for child in self.children(node) if self.tokens[child] == "," or self.labels[child] in labels]

    def subtree(self, node: int) -> tuple[int, ...]:
        """The node and all below it, in the order of the sentence."""
        below = [node]
        for found in below:
            below.extend(self.children(found))
        return tuple(sorted(below))

    def lca(self, one: int, other: int) -> int:
        """The lowest node that holds both nodes of the tree in its subtree."""
        above = set(self.path(one))
        return next(node for node in self.path(other) if node in above)

    def child_towards(self, node: int, below: int) -> int:
        """The child of `node` whose subtree holds `below`."""
        path = self.path(below)
        return path[path.index(node) - 1]

    def without(self, *nodes: int) -> Tree:
        """The tree with these nodes' subtrees cut off."""
        return replace(self, heads=_set(self.heads, dict.fromkeys(nodes, NOWHERE)))

    def rooted_at(self, node: int) -> Tree:
        """The subtree of the node as a tree of its own."""
        return replace(self, heads=_set(self.heads, {node: NOWHERE}), root=node, doubled=NOWHERE)

    def lifted(self, node: int, over: int) -> Tree:
        """`node` takes the place of `over` under that one's head, without a label; the rest of `over` is cut off."""
        heads = _set(self.heads, {node: self.heads[over], over: NOWHERE})
        return replace(self, heads=heads, labels=(*self.labels[:node], "", *self.labels[node + 1 :]))


def tree_of(parse: Parse) -> Tree | None:
    """The tree under the last root, as the released code takes it; None for a parse without tokens."""
    if not parse.tokens:
        return None
    roots = [place for place in parse.roots if parse.labels[place] == ROOT] or list(parse.roots)
    heads = _set(parse.heads, dict.fromkeys(parse.roots, NOWHERE))
    return Tree(parse.tokens, parse.labels, heads, roots[-1])


def _set(heads: tuple[int, ...], changes: dict[int, int]) -> tuple[int, ...]:
    return tuple(changes.get(place, head) for place, head in enumerate(heads))


CLAUSES = frozenset({"prep", "advcl"})
COORDINATIONS = frozenset({"cc", "CC"})
GONE = "other_gone"
UNREACHABLE = "node_unreachable"

Step = tuple[Tree, str]
"""The tree after a rule, and the rule's name."""


def apart(tree: Tree, i: int, j: int, replace_root: bool) -> Step:
    """Take from i's claim what belongs to j; both are nodes of the tree.

    replace_root: see `Profile`.
    """
    lca = tree.lca(i, j)
    if tree.doubled in tree.path(lca):
        # The released search counts a child that hangs twice under the root as two, and stops at the root.
        return tree.rooted_at(tree.doubled), "nocc:root:root=Ti"
    if lca == i:
        return tree.without(tree.child_towards(i, j)), "lca_is_i:drop_Tj"
    if lca == j:
        rule, ti = "lca_is_j:replace_lca_by_Ti", tree.child_towards(j, i)
        if j != tree.root:
            return tree.lifted(ti, over=j), rule
        # Else Ti, without its label, hangs under the root once more.
        doubled = replace(tree, labels=(*tree.labels[:ti], "", *tree.labels[ti + 1 :]), doubled=ti)
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


def coordinations_between(tree: Tree, lca: int, ti: int, tj: int) -> tuple[int, ...]:
    """Tc: children of L strictly between Ti and Tj that are conjunctions or commas."""
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
    """The claim of the group at node i that stands alone, as places in the sentence in the claim's order.

    The paper's rules leave phrases ("financed by a regional bank"), which an NLI model has to guess the rest of. Here
    every other citation takes away only what the sentence can do without: its conjunct, its adjunct, its clause. A
    conjunct takes the place of the one it is joined to and inherits its subject; a relative clause gets its noun for
    its pronoun. What is subject, object or complement stays, whoever cites it. Ours, not of paper or released code.

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
        nominal = (node for node in tree.subtree(clause) if tree.labels[node] in SUBJECTS | {"dobj", "pobj"})
        pronoun = next((node for node in nominal if tree.tokens[node].lower() in _PRONOUNS), None)
        if pronoun is None:
            return None
        # What the clause hangs on, without the clause and all that is joined to the noun.
        noun = tree.heads[clause]
        joined = tree.joints(noun, ("relcl", "appos", "conj", "cc"))
        nouns[pronoun] = tree.without(clause, *joined).subtree(noun)
    alone = tree.rooted_at(clause)
    first = min(_subjects(alone, clause))
    loose = (child for child in alone.children(clause) if child < first and alone.labels[child] == "cc")
    return _without(alone, i, *loose)


def _without(tree: Tree, i: int, *nodes: int) -> Tree:
    """The tree without these subtrees, but never without i: a mark can hang on a conjunction or a comma."""
    kept = tree.path(i)
    return tree.without(*(node for node in nodes if node not in kept))


def _in_place_of(tree: Tree, conjunct: int, left: int) -> Tree:
    """The conjunct instead of the one it is joined to, with what the two share."""
    if _is_verb(tree, left) and any(tree.labels[child] == "pobj" for child in tree.children(conjunct)):
        # A prepositional phrase joined to a verb: the verb keeps it instead of what stands between the two.
        between = (child for child in tree.joints(left, _REPLACED) if left < child < conjunct)
        labelled = (*tree.labels[:conjunct], "prep", *tree.labels[conjunct + 1 :])
        return replace(tree.without(*between), labels=labelled)
    shared = _shared(tree, conjunct, left) if _is_verb(tree, left) and not _subjects(tree, conjunct) else []
    head, root = (NOWHERE, conjunct) if left == tree.root else (tree.heads[left], tree.root)
    heads, labels = list(tree.heads), list(tree.labels)
    for node in shared:
        heads[node] = conjunct
    heads[left], heads[conjunct], labels[conjunct] = NOWHERE, head, tree.labels[left]
    return replace(tree, heads=tuple(heads), labels=tuple(labels), root=root)


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
    own = (tree.labels[child] in _VERB_ARGUMENTS for child in tree.children(node))
    return bool(_subjects(tree, node)) or tree.labels[node] == "ROOT" or any(own)


def _subjects(tree: Tree, node: int) -> list[int]:
    return [child for child in tree.children(node) if tree.labels[child] in SUBJECTS]


def _neighbours(tree: Tree, lca: int, cut: int) -> list[int]:
    """Commas and conjunctions right beside a subtree that is cut."""
    held = tree.subtree(cut)
    return [child for child in tree.joints(lca, COORDINATIONS) if child in (held[0] - 1, held[-1] + 1)]
