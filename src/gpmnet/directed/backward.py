"""The backward phase: take away edges of the class of a graph, whichever of its members makes that worth while.

Moves of single variables in an order can end where a graph has an edge too many that no move removes. In the class of the
graph (its CPDAG) an edge can go if that helps any member (the operator Delete; Chickering 2002, "Optimal structure
identification with greedy search"). What is left gives an order from which the search goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from itertools import combinations

import numpy as np

from gpmnet.directed.meek import BoolMatrix, MixedGraph, close, colliders, extension, with_colliders
from gpmnet.directed.score import FamilyScore, Parents

_MOST = 6
"""Of neighbors of both ends of an edge, sets of at most so many are tried."""


def backward(score: FamilyScore, parents: Sequence[Parents]) -> tuple[Parents, ...]:
    """Return a graph without the edges whose removal from the class raises the score, the best removed first."""
    dag = np.zeros((score.d,) * 2, dtype=bool)
    for child, of_child in enumerate(parents):
        dag[list(of_child), child] = True
    while (smaller := _best_deletion(score, dag)) is not None:
        dag = smaller
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in dag.T)


def topological(parents: Sequence[Parents]) -> list[int]:
    """Return an order in which parents come before children."""
    return list(TopologicalSorter(dict(enumerate(parents))).static_order())


def _best_deletion(score: FamilyScore, dag: BoolMatrix) -> BoolMatrix | None:
    directed, undirected = close(*with_colliders(dag | dag.T, colliders(dag)))
    graph = MixedGraph(directed, undirected)
    best: tuple[float, int, int, frozenset[int]] | None = None
    for y in range(graph.d):
        for x in sorted(graph.parents[y] | graph.siblings[y]):
            common = graph.siblings[y] & graph.adjacent(x) - {x}
            for kept in _cliques(graph, sorted(common)):
                rest = kept | graph.parents[y] - {x}
                gain = score.score(y, tuple(sorted(rest))) - score.score(y, tuple(sorted(rest | {x})))
                if gain > 1e-9 and (best is None or gain > best[0]):
                    best = gain, x, y, frozenset(common - kept)
    if best is None:
        return None
    _, x, y, turned = best
    for a, b in ((x, y), (y, x)):
        directed[a, b] = undirected[a, b] = False
    for h in turned:
        for end in (x, y):
            if undirected[end, h]:
                undirected[end, h] = undirected[h, end] = False
                directed[end, h] = True
    return extension(directed, undirected)


def _cliques(graph: MixedGraph, nodes: list[int]) -> Iterator[set[int]]:
    """Yield the sets of nodes that are pairwise adjacent."""
    for size in range(min(len(nodes), _MOST) + 1):
        for some in combinations(nodes, size):
            if all(graph.are_adjacent(a, b) for a, b in combinations(some, 2)):
                yield set(some)
