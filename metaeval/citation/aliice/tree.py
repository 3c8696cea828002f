"""Dependency trees, and what a claim loses to another citation of its sentence: one rule per shape between the two.

i is the node of the claim's own citation group, j the node of another one, L their lowest common ancestor, Ti and Tj
the children of L that hold them, Tc the coordinations (conjunctions and commas) among L's children between Ti and Tj.
Where the paper's text, its Algorithm 1, its Appendix C and its released code differ, the rules follow the code: the
captions of the paper's Figures 6 to 13 come out of it.
"""

from __future__ import annotations

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

    def doubling(self, node: int) -> Tree:
        """The tree with `node`, without its label, hanging under the root once more."""
        return replace(self, labels=(*self.labels[:node], "", *self.labels[node + 1 :]), doubled=node)


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
        return _under_the_other(tree, i, j, replace_root)
    ti, tj = tree.child_towards(lca, i), tree.child_towards(lca, j)
    tc = coordinations_between(tree, lca, ti, tj)
    if not tc:
        return _not_coordinated(tree, lca, ti, tj)
    return (_coordinated_first if ti < tj else _coordinated_last)(tree, lca, ti, tj, tc)


def coordinations_between(tree: Tree, lca: int, ti: int, tj: int) -> tuple[int, ...]:
    """Tc: children of L strictly between Ti and Tj that are conjunctions or commas."""
    low, high = sorted((ti, tj))
    return tuple(
        child
        for child in tree.children(lca)
        if low < child < high and (tree.labels[child] in COORDINATIONS or tree.tokens[child] == ",")
    )


def opens_sentence(tree: Tree, node: int) -> bool:
    """Whether the node is a prepositional phrase or an adverbial clause that holds the first token."""
    return tree.labels[node] in CLAUSES and 0 in tree.subtree(node)


def _under_the_other(tree: Tree, i: int, j: int, replace_root: bool) -> Step:
    rule = "lca_is_j:replace_lca_by_Ti"
    ti = tree.child_towards(j, i)
    if j != tree.root:
        return tree.lifted(ti, over=j), rule
    return (tree.rooted_at(ti) if replace_root else tree.doubling(ti)), rule


def _not_coordinated(tree: Tree, lca: int, ti: int, tj: int) -> Step:
    if lca == tree.root:
        return tree.rooted_at(ti), "nocc:root:root=Ti"
    return tree.without(tj), "nocc:nonroot:drop_Tj"


def _coordinated_first(tree: Tree, lca: int, ti: int, tj: int, tc: tuple[int, ...]) -> Step:
    if lca == tree.root and opens_sentence(tree, ti):
        return tree.rooted_at(ti), "cc:i_first:root:Ti_initial_clause:root=Ti"
    return tree.without(tj, *tc), "cc:i_first:drop_Tj_and_Tc"


def _coordinated_last(tree: Tree, lca: int, ti: int, tj: int, tc: tuple[int, ...]) -> Step:
    if lca != tree.root:
        others = (child for child in tree.children(lca) if child != ti)
        return tree.without(*others), "cc:i_last:nonroot:keep_lca_and_Ti_only"
    if opens_sentence(tree, tj):
        return tree.without(tj, *tc), "cc:i_last:root:Tj_initial_clause:drop_Tj_and_Tc"
    return tree.rooted_at(ti), "cc:i_last:root:root=Ti"
