"""Random decomposable graphs, drawn as perfect directed graphs, and moralisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gpmnet.errors import InputError
from gpmnet.simulate.base import check_range

if TYPE_CHECKING:
    from gpmnet.simulate.base import Graph

MEAN_DEGREE = 2.7  # 27 edges at d = 20
MOST_DENSE = 0.5  # of all pairs, unless asked for: at d = 4 a mean degree of 2.7 would be nearly complete
USUAL_CLIQUE = 4


@dataclass(frozen=True)
class PerfectDag:
    """A directed graph in which the parents of every node are pairwise adjacent.

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
        d = len(self.parents)
        children = np.repeat(np.arange(d), [len(parents) for parents in self.parents])
        rows = np.concatenate([np.empty(0, dtype=np.intp), *self.parents])
        return csr_array((np.ones(len(rows), dtype=np.bool_), (rows, children)), shape=(d, d))


def perfect_dag(
    d: int, rng: np.random.Generator, *, density: float | None = None, max_clique: int | None = None
) -> PerfectDag:
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
    return PerfectDag(label, tuple(relabelled))


def _budget(d: int, density: float | None, max_clique: int | None) -> tuple[int, int]:
    """Return the number of edges and the most parents of a node."""
    pairs = d * (d - 1) // 2
    share = min(MOST_DENSE, MEAN_DEGREE / (d - 1)) if density is None else density
    check_range("random graph", "density", share, 0.0, 1.0)
    edges = round(share * pairs)
    if max_clique is not None:
        check_range("random graph", "max_clique", max_clique, 1, float("inf"))
        most = min(int(max_clique), d) - 1
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


def moralise(dag: Graph) -> Graph:
    """Return the moral graph of a directed graph: drop the arrows, join the parents of each node.

    Examples
    --------
    >>> collider = csr_array(np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool))  # 1 -> 3 <- 2
    >>> moralise(collider).toarray().astype(int).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    arrows = dag.astype(np.int64)
    joined = (arrows + arrows.T + arrows @ arrows.T).tocoo()
    off = (joined.row != joined.col) & (joined.data != 0)
    ones = np.ones(int(off.sum()), dtype=np.bool_)
    return csr_array((ones, (joined.row[off], joined.col[off])), shape=joined.shape)
