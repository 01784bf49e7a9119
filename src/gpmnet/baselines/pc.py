"""The PC algorithm, as far as a Markov network needs it: skeleton, colliders, moral graph."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np

from gpmnet.baselines.base import BoolArray, Estimate, FloatArray, log_evidence
from gpmnet.baselines.iamb import CITest

Separators = dict[tuple[int, int], tuple[int, ...]]


def pc_skeleton(
    n_variables: int, test: CITest, alpha: float, max_conditioning: int | None = None
) -> tuple[BoolArray, Separators, FloatArray]:
    """Return the skeleton by PC-stable, what separated each removed pair, and the largest p-value of a pair.

    For s = 0, 1, 2, ...: every pair still adjacent is tested given each set of s other neighbors of either
    end, and is removed at the first set with p >= alpha. Neighbors are those at the beginning of the round
    ("stable"), so that the skeleton does not depend on the order in which pairs are visited.

    References
    ----------
    Spirtes, Glymour, Scheines, "Causation, Prediction, and Search" (2000); Colombo, Maathuis,
    "Order-independent constraint-based causal structure learning", JMLR 15 (2014).
    """
    adjacent = ~np.eye(n_variables, dtype=bool)
    largest = np.zeros((n_variables, n_variables))
    separators: Separators = {}
    size = 0
    while size <= (n_variables if max_conditioning is None else max_conditioning):
        neighbors = [np.flatnonzero(row).tolist() for row in adjacent]
        if all(len(others) <= size for others in neighbors):
            break
        for i, j in np.argwhere(np.triu(adjacent)).tolist():
            beside_i = combinations([k for k in neighbors[i] if k != j], size)
            beside_j = combinations([k for k in neighbors[j] if k != i], size)
            for given in dict.fromkeys(chain(beside_i, beside_j)):
                p_value = test(i, j, given)
                largest[i, j] = largest[j, i] = max(largest[i, j], p_value)
                if p_value >= alpha:
                    adjacent[i, j] = adjacent[j, i] = False
                    separators[i, j] = given
                    break
        size += 1
    return adjacent, separators, largest


def pc_moral(n_variables: int, test: CITest, alpha: float, max_conditioning: int | None = None) -> Estimate:
    """Return the moral graph of the CPDAG that PC finds, and weights.

    The moral graph is the skeleton plus an edge between a and b for every unshielded collider a -> c <- b: c
    adjacent to both, a and b not adjacent, c not in what separated them. The further orientations of a CPDAG
    (Meek's rules) make no new unshielded collider, so the moral graph does not need them; with data,
    colliders that contradict each other each count, so it does not matter which is oriented first.

    The weight of a skeleton edge is ``-log10`` of its largest p-value; an edge between parents is as sure as
    the weaker of its two arrows.
    """
    skeleton, separators, largest = pc_skeleton(n_variables, test, alpha, max_conditioning)
    weights = log_evidence(largest)
    moral, evidence = skeleton.copy(), weights.copy()
    for (a, b), given in separators.items():
        children = [c for c in np.flatnonzero(skeleton[a] & skeleton[b]).tolist() if c not in given]
        if children:
            moral[a, b] = moral[b, a] = True
            evidence[a, b] = evidence[b, a] = max(min(weights[a, c], weights[b, c]) for c in children)
    return moral, evidence
