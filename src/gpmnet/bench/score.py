"""How near a fitted model is to the truth, node by node of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from gpmnet import metrics
from gpmnet.bench.task import Problem
from gpmnet.directed.cpdag import CPDAG
from gpmnet.graphs import undirected
from gpmnet.network import MarkovNetwork

if TYPE_CHECKING:
    from gpmnet.graphs import Graph


def score(problem: Problem, model: Any) -> dict[str, float]:
    """Return all measures of a fitted model by the names of the columns of a row.

    Where the problem knows edges that no test can see, `recall_visible` and `f1_visible` leave those pairs
    out altogether: they are neither missed nor false.
    """
    network: MarkovNetwork = model.network_
    position = {name: at for at, name in enumerate(problem.names)}
    at = np.array([position[name] for name in network.names], dtype=np.intp)
    d = len(problem.names)
    edge = network.pairs.is_edge
    estimate = undirected(d, at[network.pairs.first[edge]], at[network.pairs.second[edge]])
    found = metrics.evaluate(problem.truth, estimate, ranking(model, at, d))
    measures = {
        "hamming": found["hamming"],
        "empty_hamming": found["empty_hamming"],
        "precision": found["precision"],
        "recall": found["recall"],
        "f1": found["f1"],
        "fdr_realised": found["false_discovery_rate"],
        "average_precision": found.get("average_precision", float("nan")),
        "n_edges": found["edges"],
        "n_true": found["true_edges"],
    }
    if problem.hidden is not None:
        visible = metrics.evaluate(
            _without(problem.truth, problem.hidden), _without(estimate, problem.hidden)
        )
        measures |= {
            "n_visible": visible["true_edges"],
            "recall_visible": visible["recall"],
            "f1_visible": visible["f1"],
        }
    if problem.dag is not None and hasattr(model, "discovery_"):
        measures |= directions(problem.dag, problem.names, model.discovery_.graph)
        measures["n_evaluations"] = model.discovery_.n_evaluations
    elif problem.dag is not None and hasattr(model, "dag_"):
        measures |= directions(problem.dag, problem.names, model.dag_)
    return measures


def directions(dag: Graph, names: Sequence[str], graph: CPDAG) -> dict[str, float]:
    """Return how near a class of directed graphs is to the true one: who is adjacent, and the compelled arrows.

    F1 of the arrows counts those that are compelled in both; 1 where neither has any.
    """
    truth = CPDAG.from_dag(dag.toarray(), names)
    at = [list(names).index(name) for name in graph.names]
    arrows, adjacent = (np.zeros((len(names),) * 2, dtype=bool) for _ in range(2))
    arrows[np.ix_(at, at)], adjacent[np.ix_(at, at)] = graph.directed, graph.skeleton
    either = int(truth.directed.sum() + arrows.sum())
    return {
        "f1_skeleton": metrics.f1(truth.skeleton, adjacent),
        "f1_arrows": 2 * int((truth.directed & arrows).sum()) / either if either else 1.0,
    }


def ranking(model: Any, at: NDArray[np.intp], d: int) -> Any | None:
    """Return weights (d, d) that rank all pairs, or None where the method has no such order.

    A baseline has `weights_`. A network ranks the pairs it keeps (edges and those that came close) by
    p-value, equal ones by strength, and all others last.
    """
    weights = getattr(model, "weights_", None)
    if weights is not None:
        in_order = len(at) == d and bool((at == np.arange(d)).all())
        return weights if in_order else _spread(weights, at, d)
    pairs = model.network_.pairs
    if np.isnan(pairs.p_value).all() and np.isnan(pairs.strength).all():
        return None
    order = np.lexsort((-np.nan_to_num(pairs.strength), np.nan_to_num(pairs.p_value, nan=1.0)))
    rank = np.empty(len(pairs))
    rank[order] = np.arange(len(pairs), 0, -1)
    first, second = at[pairs.first], at[pairs.second]
    both = (np.concatenate([first, second]), np.concatenate([second, first]))
    return csr_array((np.concatenate([rank, rank]), both), shape=(d, d))


def _spread(weights: Any, at: NDArray[np.intp], d: int) -> Any:
    """Return a matrix over the fitted variables as one over all nodes."""
    given: Any = weights if issparse(weights) else np.asarray(weights)
    entries = coo_array(given)
    return coo_array((entries.data, (at[entries.row], at[entries.col])), shape=(d, d))


def _without(graph: Graph, hidden: Graph) -> Graph:
    kept = graph.astype(np.int8) - graph.multiply(hidden).astype(np.int8)
    return csr_array(kept.astype(np.bool_))
