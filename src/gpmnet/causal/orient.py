"""From a skeleton and its colliders to the class of directed graphs, also where tests contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.knowledge import Knowledge
from gpmnet.directed.meek import (
    BoolMatrix,
    Collider,
    MixedGraph,
    close,
    colliders,
    extension,
    is_acyclic,
    with_colliders,
)
from gpmnet.errors import InputError


def oriented(
    names: Sequence[str], skeleton: BoolMatrix, found: Sequence[Collider], known: Knowledge
) -> tuple[CPDAG, tuple[Collider, ...]]:
    """Return the class of graphs with a skeleton, colliders and known directions, and the contradictions.

    With answers that fit together this is the rules of Meek. Tests on data need not fit together: a collider that
    contradicts surer ones, what is known, or makes a cycle, is left out; and where no directed graph has all the
    directions and no further collider, one with few further ones is taken.

    Parameters
    ----------
    found : sequence of Collider
        The surest first.

    Returns
    -------
    graph : CPDAG
    contradictions : tuple of Collider
        Those that were found and are not in the graph, and those that are and were not found.
    """
    directed = known.arrows(skeleton)
    if not is_acyclic(directed):
        raise InputError("the directions that are known make a cycle")
    certain = directed.copy()
    for a, c, b in found:
        wanted = [(a, c), (b, c)]
        if any(directed[y, x] or known.forbidden[x, y] for x, y in wanted):
            continue
        trial = directed.copy()
        trial[a, c] = trial[b, c] = True
        if is_acyclic(trial):
            directed = trial
    undirected = skeleton & ~directed & ~directed.T
    dag = extension(directed, undirected)
    if dag is None:
        dag = forced_extension(directed, undirected)
    here = colliders(dag)
    return CPDAG.from_dag(dag, names, certain), tuple(sorted(here ^ set(found)))


def agreeing(dag: BoolMatrix, known: Knowledge) -> BoolMatrix | None:
    """Return a member of the class of a directed graph that agrees with what is known; None if there is none."""
    directed, undirected = close(*with_colliders(dag | dag.T, colliders(dag)))
    if (directed & known.forbidden).any():
        return None
    directed = directed | known.arrows(undirected)
    return extension(directed, undirected & ~directed & ~directed.T)


def forced_extension(directed: BoolMatrix, undirected: BoolMatrix) -> BoolMatrix:
    """Return a directed graph without cycles with the same skeleton and arrows, and few further colliders.

    As `gpmnet.directed.meek.extension`, but where no node can be last without a new collider, the one with the fewest is
    taken, the first among equals.
    """
    graph = MixedGraph(directed, undirected)
    dag = directed.copy()
    left = list(range(graph.d))
    while left:
        last = min(
            (node for node in left if not graph.children[node]),
            key=lambda node: (_strangers(graph, node), node),
        )
        dag[list(graph.siblings[last]), last] = True
        for other in graph.adjacent(last):
            graph.siblings[other].discard(last)
            graph.children[other].discard(last)
        left.remove(last)
    return dag


def _strangers(graph: MixedGraph, node: int) -> int:
    """Return how many pairs of neighbors of a node would be a new collider if all its edges pointed at it."""
    around = graph.adjacent(node)
    apart = np.array(
        [(a in graph.siblings[node] or b in graph.siblings[node]) and not graph.are_adjacent(a, b)
         for a in around for b in around if a < b],
        dtype=bool,
    )  # fmt: skip
    return int(apart.sum())
