"""From a directed graph, or a class of them, to its Markov network."""

from __future__ import annotations

import numpy as np

from gpmnet.baselines.base import BoolArray


def moralise(directed: BoolArray, undirected: BoolArray | None = None) -> BoolArray:
    """Return the moral graph of a DAG or of a CPDAG.

    Every edge loses its direction, and two nodes with an arrow into the same child are joined. For a CPDAG
    this equals the moral graph of every DAG in its class: they share the skeleton, an unshielded collider is
    directed in the CPDAG, and the parents that a further orientation brings together are already adjacent
    (else it would make a new unshielded collider). So no DAG has to be picked, and a graph that is not quite
    a CPDAG (estimated from data, without a consistent extension) has a well-defined answer as well.

    Parameters
    ----------
    directed : ndarray of bool (d, d)
        ``directed[i, j]`` means i -> j.
    undirected : ndarray of bool (d, d), optional
        The edges of a CPDAG without direction; symmetric.

    References
    ----------
    Lauritzen, "Graphical Models" (1996), section 2.1.1; Andersson, Madigan, Perlman, "A characterization of
    Markov equivalence classes for acyclic digraphs", Annals of Statistics 25 (1997).

    Examples
    --------
    >>> collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> moralise(collider).astype(int)
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 1, 0]])
    """
    arrows = np.asarray(directed, dtype=bool)
    married = (arrows.astype(np.int64) @ arrows.T.astype(np.int64)) > 0
    moral = arrows | arrows.T | married
    if undirected is not None:
        moral |= np.asarray(undirected, dtype=bool)
    np.fill_diagonal(moral, False)
    return np.asarray(moral)
