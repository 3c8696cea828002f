"""An immutable dependency tree: cutting, moving and re-rooting give a new tree. Knows no parser and no rules."""

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
