"""How far an estimated graph is from the true one.

All functions take undirected graphs as square, symmetric adjacency arrays, dense or `scipy.sparse`; an entry
that is not zero is an edge, the diagonal is ignored and each pair counts once. Nothing is made dense: sparse
graphs on 100,000 nodes cost what their edges cost.

With TP the edges in both graphs, FP those in the estimate only and FN those in the truth only, the
conventions for empty graphs are that what was not claimed is not wrong and what is not there is not missed:

- precision is 1 and the false discovery rate 0 where the estimate has no edge;
- recall is 1 where the truth has no edge;
- F1 is 2 TP / (2 TP + FP + FN), and 1 where both are empty;
- average precision is nan where the truth has no edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, issparse

from gpmnet.errors import InputError


def hamming(truth: Any, estimate: Any) -> int:
    """Return the number of pairs on which two graphs differ, FP + FN.

    Examples
    --------
    >>> hamming([[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 1], [0, 1, 0]])
    2
    """
    counts = _count(truth, estimate)
    return counts.false + counts.missed


def precision(truth: Any, estimate: Any) -> float:
    """Return the share of the estimated edges that are true, TP / (TP + FP)."""
    return _count(truth, estimate).precision


def recall(truth: Any, estimate: Any) -> float:
    """Return the share of the true edges that were found, TP / (TP + FN)."""
    return _count(truth, estimate).recall


def f1(truth: Any, estimate: Any) -> float:
    """Return the harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN)."""
    return _count(truth, estimate).f1


def false_discovery_rate(truth: Any, estimate: Any) -> float:
    """Return the realised share of false edges among the estimated ones, FP / max(1, TP + FP)."""
    return _count(truth, estimate).false_discovery_rate


def average_precision(truth: Any, weights: Any) -> float:
    r"""Return the average precision of a ranking of all pairs by weight.

    .. math:: AP = \sum_k (R_k - R_{k-1}) P_k

    over the distinct weights from the largest to the smallest, R_k and P_k being recall and precision of the
    pairs with at least that weight; pairs with equal weights enter together. Pairs that a sparse `weights`
    does not store have weight 0.

    Parameters
    ----------
    truth : array or sparse array of shape (d, d)
        The true graph.
    weights : array or sparse array of shape (d, d)
        Symmetric; larger means more likely an edge. Infinite weights are fine, nan is not.

    Returns
    -------
    float
        nan where there is no true edge.

    Examples
    --------
    >>> truth = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    >>> average_precision(truth, [[0, 0.9, 0.1], [0.9, 0, 0.2], [0.1, 0.2, 0]])
    1.0
    """
    true = _edges(truth, "truth")
    scored = _edges(weights, "weights", same_nodes_as=true)
    if len(true.pairs) == 0:
        return float("nan")
    hit = np.isin(scored.pairs, true.pairs, assume_unique=True)
    # the pairs without a stored weight are one group of equal weights
    unstored = true.nodes * (true.nodes - 1) // 2 - len(scored.pairs)
    distinct, group = np.unique(np.append(scored.weights, 0.0), return_inverse=True)
    total = np.bincount(group, np.append(np.ones(len(hit)), unstored), len(distinct))[::-1]
    hits = np.bincount(group, np.append(hit, len(true.pairs) - hit.sum()), len(distinct))[::-1]
    found, claimed = hits.cumsum(), total.cumsum()
    return float((hits * found / np.maximum(claimed, 1.0)).sum() / len(true.pairs))


def evaluate(truth: Any, estimate: Any, weights: Any = None) -> dict[str, float]:
    """Return every measure by name: Hamming distance, that of the empty graph beside it, and the rest.

    Parameters
    ----------
    truth, estimate : array or sparse array of shape (d, d)
        The two graphs.
    weights : array or sparse array of shape (d, d), optional
        A ranking of the pairs; adds `average_precision`.

    Examples
    --------
    >>> evaluate([[0, 1], [1, 0]], [[0, 0], [0, 0]])
    {'hamming': 1, 'empty_hamming': 1, 'edges': 0, 'true_edges': 1, 'precision': 1.0, 'recall': 0.0,
     'f1': 0.0, 'false_discovery_rate': 0.0}
    """
    counts = _count(truth, estimate)
    measures: dict[str, float] = {
        "hamming": counts.false + counts.missed,
        "empty_hamming": counts.right + counts.missed,
        "edges": counts.right + counts.false,
        "true_edges": counts.right + counts.missed,
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "false_discovery_rate": counts.false_discovery_rate,
    }
    if weights is not None:
        measures["average_precision"] = average_precision(truth, weights)
    return measures


@dataclass(frozen=True)
class _Edges:
    nodes: int
    pairs: NDArray[np.int64]  # row * nodes + column of each edge with row < column, increasing
    weights: NDArray[Any]


@dataclass(frozen=True)
class _Counts:
    right: int
    false: int
    missed: int

    @property
    def precision(self) -> float:
        claimed = self.right + self.false
        return self.right / claimed if claimed else 1.0

    @property
    def false_discovery_rate(self) -> float:
        claimed = self.right + self.false
        return self.false / claimed if claimed else 0.0

    @property
    def recall(self) -> float:
        true = self.right + self.missed
        return self.right / true if true else 1.0

    @property
    def f1(self) -> float:
        either = 2 * self.right + self.false + self.missed
        return 2 * self.right / either if either else 1.0


def _count(truth: Any, estimate: Any) -> _Counts:
    true = _edges(truth, "truth")
    claimed = _edges(estimate, "estimate", same_nodes_as=true)
    right = len(np.intersect1d(true.pairs, claimed.pairs, assume_unique=True))
    return _Counts(right, len(claimed.pairs) - right, len(true.pairs) - right)


def _edges(graph: Any, what: str, same_nodes_as: _Edges | None = None) -> _Edges:
    """Return the nonzero pairs above the diagonal, after checking that the array is a graph."""
    array: Any = graph if issparse(graph) else np.asarray(graph)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(f"{what} must be a square array, got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what} must hold numbers or booleans, got type {array.dtype}")
    nodes = array.shape[0]
    if same_nodes_as is not None and nodes != same_nodes_as.nodes:
        raise InputError(
            f"truth has {same_nodes_as.nodes} nodes and {what} has {nodes}; they must be the same"
        )
    entries = coo_array(array)
    entries.sum_duplicates()
    if entries.data.dtype.kind == "f" and np.isnan(entries.data).any():
        raise InputError(f"{what} has nan entries")
    row, column = entries.row.astype(np.int64), entries.col.astype(np.int64)
    upper, upper_weights = _sorted(row, column, entries.data, nodes)
    lower, lower_weights = _sorted(column, row, entries.data, nodes)
    if not np.array_equal(upper, lower) or not np.allclose(upper_weights, lower_weights, rtol=1e-6, atol=0):
        raise InputError(f"{what} must be symmetric: entry (i, j) equal to entry (j, i)")
    return _Edges(nodes, upper, upper_weights)


def _sorted(
    row: NDArray[np.int64], column: NDArray[np.int64], data: NDArray[Any], nodes: int
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the nonzero entries with row < column as increasing pair numbers, and their values."""
    keep = (row < column) & (data != 0)
    pairs = row[keep] * nodes + column[keep]
    order = np.argsort(pairs, kind="stable")
    return pairs[order], data[keep][order]
