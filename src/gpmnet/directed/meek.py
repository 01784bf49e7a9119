r"""Partially directed graphs: which directions follow from those that are known.

A partially directed graph is two (d, d) matrices of bool: `directed`, where entry (i, j) says i -> j, and
`undirected`, symmetric. Meek's four rules orient a - b as a -> b where the other direction would make a new
unshielded collider or a cycle:

1. c -> a, c and b not adjacent;
2. a -> c -> b;
3. a - c -> b, a - e -> b, c and e not adjacent;
4. a - e -> c -> b, a and c adjacent, e and b not (needed with background knowledge only).

They find every direction that all directed graphs of the class share, also where some directions are known beforehand.

References
----------
Meek, "Causal inference and causal explanation with background knowledge", UAI 1995; Dor, Tarsi, "A simple
algorithm to construct a consistent extension of a partially oriented graph", technical report R-185, UCLA 1992.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

BoolMatrix = NDArray[np.bool_]
Collider = tuple[int, int, int]
"""(a, c, b) with a < b: a -> c <- b where a and b are not adjacent."""


class MixedGraph:
    """A partially directed graph as sets of positions, to be oriented step by step."""

    def __init__(self, directed: BoolMatrix, undirected: BoolMatrix) -> None:
        self.d = len(directed)
        self.parents = _sets(directed.T)
        self.children = _sets(directed)
        self.siblings = _sets(undirected)

    def adjacent(self, a: int) -> set[int]:
        """Return all neighbors of a node."""
        return self.parents[a] | self.children[a] | self.siblings[a]

    def are_adjacent(self, a: int, b: int) -> bool:
        """Return whether there is an edge of any kind between two nodes."""
        return b in self.siblings[a] or b in self.children[a] or b in self.parents[a]

    def orient(self, a: int, b: int) -> None:
        """Make a - b an arrow a -> b."""
        self.siblings[a].remove(b)
        self.siblings[b].remove(a)
        self.children[a].add(b)
        self.parents[b].add(a)

    def matrices(self) -> tuple[BoolMatrix, BoolMatrix]:
        """Return the directed and the undirected matrix."""
        return _matrix(self.children), _matrix(self.siblings)

    def follows(self, a: int, b: int) -> bool:
        """Return whether one of the four rules makes a - b an arrow a -> b."""
        if any(not self.are_adjacent(c, b) for c in self.parents[a]):
            return True
        if self.children[a] & self.parents[b]:
            return True
        between = sorted(self.siblings[a] & self.parents[b])
        if any(not self.are_adjacent(c, e) for c, e in combinations(between, 2)):
            return True
        return any(
            not self.are_adjacent(e, b)
            for c in self.adjacent(a) & self.parents[b]
            for e in self.siblings[a] & self.parents[c]
        )


def close(directed: BoolMatrix, undirected: BoolMatrix) -> tuple[BoolMatrix, BoolMatrix]:
    """Return the graph with every direction that follows by the four rules.

    An edge whose two directions both follow, which happens only where no directed graph agrees with what is known,
    is left as it is; so the answer does not depend on the order of the nodes.

    Time O(m k) a round for m edges of which each end has k neighbors; a round looks only at edges near those that the one
    before oriented.

    >>> chain = np.zeros((3, 3), dtype=bool)
    >>> chain[1, 2] = chain[2, 1] = True
    >>> arrow = np.zeros((3, 3), dtype=bool)
    >>> arrow[0, 1] = True  # 0 -> 1 - 2
    >>> np.argwhere(close(arrow, chain)[0]).tolist()
    [[0, 1], [1, 2]]
    """
    graph = MixedGraph(directed, undirected)
    near = set(range(graph.d))
    while near:
        edges = {(min(a, b), max(a, b)) for a in near for b in graph.siblings[a]}
        found = []
        for a, b in edges:
            forwards, backwards = graph.follows(a, b), graph.follows(b, a)
            if forwards != backwards:
                found.append((a, b) if forwards else (b, a))
        for a, b in found:
            graph.orient(a, b)
        ends = {node for arrow in found for node in arrow}
        near = ends.union(*(graph.adjacent(node) for node in ends))
    return graph.matrices()


def colliders(directed: BoolMatrix, skeleton: BoolMatrix | None = None) -> set[Collider]:
    """Return the unshielded colliders; adjacent is what an arrow joins, or what a skeleton says.

    >>> arrows = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> colliders(arrows)
    {(0, 2, 1)}
    """
    adjacent = directed | directed.T if skeleton is None else skeleton
    return {
        (a, c, b)
        for c in range(len(directed))
        for a, b in combinations(np.flatnonzero(directed[:, c]).tolist(), 2)
        if not adjacent[a, b]
    }


def with_colliders(skeleton: BoolMatrix, found: Iterable[Collider]) -> tuple[BoolMatrix, BoolMatrix]:
    """Return a skeleton in which only these colliders are directed."""
    directed = np.zeros_like(skeleton)
    for a, c, b in found:
        directed[a, c] = directed[b, c] = True
    return directed, skeleton & ~directed & ~directed.T


def extension(directed: BoolMatrix, undirected: BoolMatrix) -> BoolMatrix | None:
    """Return a directed graph without cycles with the same skeleton, arrows and unshielded colliders; None if there is none.

    Dor and Tarsi: take away, one after the other, a node without outgoing arrows whose undirected neighbors are
    each adjacent to all its other neighbors, and let all its edges point at it.
    """
    graph = MixedGraph(directed, undirected)
    dag = directed.copy()
    left = set(range(graph.d))
    todo = sorted(left, reverse=True)
    while todo:
        node = todo.pop()
        if node not in left or not _is_last(graph, node):
            continue
        around = graph.adjacent(node)
        dag[list(graph.siblings[node]), node] = True
        for other in around:
            graph.siblings[other].discard(node)
            graph.children[other].discard(node)
        left.remove(node)
        todo += sorted(around, reverse=True)  # only they can have become last by this
    return None if left else dag


def is_acyclic(directed: BoolMatrix) -> bool:
    """Return whether a directed graph has no cycle.

    >>> bool(is_acyclic(np.array([[0, 1], [1, 0]], dtype=bool)))
    False
    """
    return sum(1 for _ in topological(directed)) == len(directed)


def topological(directed: BoolMatrix) -> Iterator[int]:
    """Yield nodes so that parents come before children; those on cycles and below them are left out."""
    waiting = directed.sum(axis=0)
    ready = np.flatnonzero(waiting == 0).tolist()
    while ready:
        node = ready.pop()
        yield node
        for child in np.flatnonzero(directed[node]).tolist():
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)


def _is_last(graph: MixedGraph, node: int) -> bool:
    if graph.children[node]:
        return False
    around = graph.adjacent(node)
    return all(around - {other} <= graph.adjacent(other) for other in graph.siblings[node])


def _sets(matrix: BoolMatrix) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in matrix]


def _matrix(sets: list[set[int]]) -> BoolMatrix:
    matrix = np.zeros((len(sets), len(sets)), dtype=bool)
    for node, members in enumerate(sets):
        matrix[node, list(members)] = True
    return matrix
