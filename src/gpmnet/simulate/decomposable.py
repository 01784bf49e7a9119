"""Random decomposable graphs, drawn as perfect directed graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.checks import check_number
from gpmnet.errors import InputError
from gpmnet.graphs import from_parents

if TYPE_CHECKING:
    from gpmnet.graphs import Graph

MEAN_DEGREE = 2.7  # 27 edges at d = 20
MOST_DENSE = 0.5  # of all pairs, unless asked for: at d = 4 a mean degree of 2.7 would be nearly complete
USUAL_CLIQUE = 4


@dataclass(frozen=True)
class Dag:
    """A directed graph without cycles.

    Attributes
    ----------
    order : ndarray of shape (d,)
        A topological order of the nodes.
    parents : tuple of ndarray
        The parents of each node.
    """

    order: NDArray[np.intp]
    parents: tuple[NDArray[np.intp], ...]

    def adjacency(self) -> Graph:
        """Return the directed adjacency: entry (i, j) says i -> j."""
        return from_parents(self.parents)


def check_graph_options(owner: Any) -> None:
    """Raise unless the options `density` and `max_clique` of a simulator are None or can be used."""
    if owner.density is not None:
        check_number(owner, "density", 0, 1)
    if owner.max_clique is not None:
        check_number(owner, "max_clique", 1, integer=True)


def perfect_dag(
    d: int, rng: np.random.Generator, *, density: float | None = None, max_clique: int | None = None
) -> Dag:
    """Draw a perfect directed graph; its skeleton is a random decomposable (chordal) graph.

    Nodes come one at a time. Node t gets a number of parents k_t and then picks, uniformly, one of the
    earlier nodes v whose family {v} ∪ parents(v) has at least k_t members, and k_t of these at random.
    Families are cliques, so the parents are pairwise adjacent: the graph stays chordal, moralisation adds no
    edge, and every clique of the graph can be picked. The numbers k_t are binomial with the mean that the
    edges still to be placed ask for, within what max_clique allows, so that the number of edges is exactly
    ``round(density * d (d - 1) / 2)``. At last the nodes are relabelled at random.

    Parameters
    ----------
    d : int
        Number of nodes.
    rng : numpy.random.Generator
        Source of randomness.
    density : float, optional
        Share of all pairs that are edges; by default 2.7 / (d - 1), a mean degree of 2.7, but at most 1/2.
    max_clique : int, optional
        Largest number of pairwise adjacent nodes; by default 4, or more where the density needs more.

    Examples
    --------
    >>> dag = perfect_dag(20, np.random.default_rng(0))
    >>> int(dag.adjacency().nnz), max(len(parents) for parents in dag.parents) <= 3
    (27, True)
    """
    edges, most = _budget(d, density, max_clique)
    families: list[NDArray[np.intp]] = []
    with_size: list[list[int]] = [
        [] for _ in range(most + 2)
    ]  # nodes whose family has at least that many members
    parents: list[NDArray[np.intp]] = []
    largest = 0
    for node in range(d):
        count = _parent_count(edges, d - node, largest, most, rng)
        chosen = np.empty(0, dtype=np.intp)
        if count:
            family = families[with_size[count][rng.integers(len(with_size[count]))]]
            chosen = rng.choice(family, count, replace=False)
        parents.append(chosen)
        families.append(np.append(chosen, node))
        for size in range(1, count + 2):
            with_size[size].append(node)
        largest = max(largest, count + 1)
        edges -= count
    label = rng.permutation(d)
    relabelled: list[NDArray[np.intp]] = [np.empty(0, dtype=np.intp)] * d
    for node in range(d):
        relabelled[label[node]] = np.sort(label[parents[node]])
    return Dag(label, tuple(relabelled))


def _budget(d: int, density: float | None, max_clique: int | None) -> tuple[int, int]:
    """Return the number of edges and the most parents of a node."""
    pairs = d * (d - 1) // 2
    share = min(MOST_DENSE, MEAN_DEGREE / (d - 1)) if density is None else density
    edges = round(share * pairs)
    if max_clique is not None:
        most = min(max_clique, d) - 1
        # without a density there is no promise to break: the graph is as dense as the cliques allow
        edges = edges if density is not None else min(edges, _capacity(d, 0, most))
    else:
        most = min(USUAL_CLIQUE, d) - 1
        while _capacity(d, 0, most) < edges:
            most += 1
    if _capacity(d, 0, most) < edges:
        raise InputError(
            f"random graph: {edges} edges on {d} nodes (density {share:g}) need cliques of more than "
            f"{most + 1} nodes; lower density or raise max_clique"
        )
    return edges, most


def _capacity(nodes: int, largest: int, most: int) -> int:
    """Return how many edges so many further nodes can bring when the largest clique has `largest` members."""
    growing = min(nodes, max(0, most - largest))
    return growing * largest + growing * (growing - 1) // 2 + (nodes - growing) * most


def _parent_count(edges: int, nodes: int, largest: int, most: int, rng: np.random.Generator) -> int:
    """Draw the number of parents of the next node, so that the edges left can still all be placed."""
    allowed = min(most, largest, edges)
    if allowed == 0:
        return 0
    count = int(rng.binomial(allowed, min(1.0, edges / nodes / allowed)))
    while count < allowed and edges - count > _capacity(nodes - 1, max(largest, count + 1), most):
        count += 1
    return count
