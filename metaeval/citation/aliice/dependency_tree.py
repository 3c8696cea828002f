"""Dependency trees, and the paper's rules that cut a claim out of them.

i is the node of the claim's citation group, j the node of another group, L their lowest common ancestor, Ti and Tj the
children of L that hold them, Tc the coordinations (conjunctions and commas) among L's children between Ti and Tj.
Where the paper's text, its Algorithm 1, its Appendix C and its released code differ, the rules follow the code: the
captions of the paper's Figures 6 to 13 agree with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from metaeval.citation.parsers.dependency_parsers import ROOT, Parse

T = TypeVar("T")

NOWHERE = -1  # the head of a root, and of every node that was cut off


@dataclass(frozen=True, slots=True)
class Tree:
    """A dependency tree: `root` and all nodes below; a token that is not below the root is no longer part of the tree.

    tokens, labels, heads: one entry per token of the parse; nodes are token indices. A subtree that was cut off keeps
    its indices, and its top has the head `NOWHERE`. doubled: a child that is under the root twice, because the released
    code moved it there (see `separated`); else `NOWHERE`.
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
        """Return the node's children that are commas or have one of the labels, in the order of the sentence."""
        return [child for child in self.children(node) if self.tokens[child] == "," or self.labels[child] in labels]

    def subtree(self, node: int) -> tuple[int, ...]:
        """Return the node and all nodes below it, in the order of the sentence."""
        below = [node]
        for descendant in below:
            below.extend(self.children(descendant))
        return tuple(sorted(below))

    def lca(self, node: int, other: int) -> int:
        """Return the lowest common ancestor of two nodes of the tree, which can be one of the two."""
        above = set(self.path(node))
        return next(node for node in self.path(other) if node in above)

    def child_towards(self, node: int, below: int) -> int:
        """Return the child of `node` whose subtree holds the node `below`, which may be the child itself."""
        path = self.path(below)
        return path[path.index(node) - 1]

    def without(self, *nodes: int) -> Tree:
        """Return the tree without these nodes' subtrees."""
        return replace(self, heads=with_changes(self.heads, dict.fromkeys(nodes, NOWHERE)))

    def rooted_at(self, node: int) -> Tree:
        """Return the subtree of the node as a tree."""
        return replace(self, heads=with_changes(self.heads, {node: NOWHERE}), root=node, doubled=NOWHERE)


def tree_of(parse: Parse) -> Tree | None:
    """Return the tree below the last root of a parse, as the released code does; None for a parse without tokens."""
    if not parse.tokens:
        return None
    roots = [place for place in parse.roots if parse.labels[place] == ROOT] or list(parse.roots)
    heads = with_changes(parse.heads, dict.fromkeys(parse.roots, NOWHERE))
    return Tree(parse.tokens, parse.labels, heads, roots[-1])


def with_changes(values: tuple[T, ...], changes: Mapping[int, T]) -> tuple[T, ...]:
    """Return the values with new ones at some indices. changes: new values by index."""
    return tuple(changes.get(place, value) for place, value in enumerate(values))


CLAUSES = frozenset({"prep", "advcl"})
COORDINATIONS = frozenset({"cc", "CC"})
GONE = "other_gone"
UNREACHABLE = "node_unreachable"


def separated(tree: Tree, i: int, j: int, replace_root: bool) -> tuple[Tree, str]:
    """Return the tree for the claim of node i, without what belongs to the claim of node j, and the rule applied.

    i, j: nodes of the tree. replace_root: see `AliiceProfile`.
    """

    def opens(node: int) -> bool:
        """Whether it is a prepositional phrase or an adverbial clause that holds the parse's first token."""
        return tree.labels[node] in CLAUSES and 0 in tree.subtree(node)

    lca = tree.lca(i, j)
    if tree.doubled in tree.path(lca):
        # The released search counts a child that is twice under the root as two, and stops at the root.
        return tree.rooted_at(tree.doubled), "nocc:root:root=Ti"
    if lca == i:
        return tree.without(tree.child_towards(i, j)), "lca_is_i:drop_Tj"
    if lca == j:
        rule, ti = "lca_is_j:replace_lca_by_Ti", tree.child_towards(j, i)
        if j != tree.root:
            # Ti, without its label, in place of j, which is cut off as a whole.
            heads = with_changes(tree.heads, {ti: tree.heads[j], j: NOWHERE})
            return replace(tree, heads=heads, labels=with_changes(tree.labels, {ti: ""})), rule
        # Otherwise Ti, without its label, is added under the root once more.
        doubled = replace(tree, labels=with_changes(tree.labels, {ti: ""}), doubled=ti)
        return (tree.rooted_at(ti) if replace_root else doubled), rule
    ti, tj = tree.child_towards(lca, i), tree.child_towards(lca, j)
    # Tc: the conjunctions and commas among the children of the ancestor between the two.
    tc = [child for child in tree.joints(lca, COORDINATIONS) if min(ti, tj) < child < max(ti, tj)]
    if not tc:
        root = lca == tree.root
        return (tree.rooted_at(ti), "nocc:root:root=Ti") if root else (tree.without(tj), "nocc:nonroot:drop_Tj")
    if ti > tj:
        if lca != tree.root:
            others = (child for child in tree.children(lca) if child != ti)
            return tree.without(*others), "cc:i_last:nonroot:keep_lca_and_Ti_only"
        if opens(tj):
            return tree.without(tj, *tc), "cc:i_last:root:Tj_initial_clause:drop_Tj_and_Tc"
        return tree.rooted_at(ti), "cc:i_last:root:root=Ti"
    if lca == tree.root and opens(ti):
        return tree.rooted_at(ti), "cc:i_first:root:Ti_initial_clause:root=Ti"
    return tree.without(tj, *tc), "cc:i_first:drop_Tj_and_Tc"
