"""Graphs as sparse matrices: undirected ones are symmetric, of a directed one entry (i, j) says i -> j."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

if TYPE_CHECKING:
    Graph: TypeAlias = csr_array[np.bool_, tuple[int, int]]


def undirected(d: int, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Graph:
    """Return the symmetric graph on d nodes whose edges are the given pairs, each listed once."""
    both = (np.concatenate([rows, columns]), np.concatenate([columns, rows]))
    return csr_array((np.ones(2 * len(rows), dtype=np.bool_), both), shape=(d, d))


def complete_blocks(d: int, block: int) -> Graph:
    """Return the graph whose components are the complete graphs on consecutive runs of `block` nodes."""
    rows, columns = np.triu_indices(block, 1)
    start = np.arange(0, d, block)[:, None]
    return undirected(d, (start + rows).ravel(), (start + columns).ravel())


def from_parents(parents: Sequence[NDArray[np.intp]]) -> Graph:
    """Return the directed graph in which each node has the given parents."""
    d = len(parents)
    children = np.repeat(np.arange(d), [len(of_node) for of_node in parents])
    rows = np.concatenate([np.empty(0, dtype=np.intp), *parents])
    return csr_array((np.ones(len(rows), dtype=np.bool_), (rows, children)), shape=(d, d))


def moralise(directed: Any, undirected: Any = None) -> Graph:
    """Return the moral graph of a DAG or of a CPDAG: drop the arrows, join the parents of each node.

    For a CPDAG this equals the moral graph of every DAG in its class: they share the skeleton, an unshielded
    collider is directed in the CPDAG, and the parents that a further orientation brings together are already
    adjacent (else it would make a new unshielded collider). So no DAG has to be picked, and a graph that is
    not quite a CPDAG (estimated from data, without a consistent extension) has a well-defined answer as well.

    Parameters
    ----------
    directed : array or sparse array of bool, shape (d, d)
        Entry (i, j) says i -> j.
    undirected : array or sparse array of bool, shape (d, d), optional
        The edges of a CPDAG without direction; symmetric.

    References
    ----------
    Lauritzen, "Graphical Models" (1996), section 2.1.1; Andersson, Madigan, Perlman, "A characterization of
    Markov equivalence classes for acyclic digraphs", Annals of Statistics 25 (1997).

    Examples
    --------
    >>> collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)  # 1 -> 3 <- 2
    >>> moralise(collider).toarray().astype(int)
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 1, 0]])
    """
    arrows = csr_array(directed).astype(np.int64)
    joined = arrows + arrows.T + arrows @ arrows.T
    if undirected is not None:
        joined = joined + csr_array(undirected).astype(np.int64)
    entries = joined.tocoo()
    off = (entries.row != entries.col) & (entries.data != 0)
    ones = np.ones(int(off.sum()), dtype=np.bool_)
    return csr_array((ones, (entries.row[off], entries.col[off])), shape=entries.shape)
