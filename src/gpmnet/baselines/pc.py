"""The PC algorithm, as far as a Markov network needs it: skeleton, colliders, moral graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpmnet.baselines.base import Estimate, FloatArray, log_evidence
from gpmnet.baselines.iamb import CITest
from gpmnet.causal.skeleton import Limits, PValues, pc_skeleton


def pc_moral(n_variables: int, test: CITest, alpha: float, max_conditioning: int | None = None) -> Estimate:
    """Return the moral graph of the CPDAG that PC finds, and weights.

    The moral graph is the skeleton plus an edge between a and b for every unshielded collider a -> c <- b: c
    adjacent to both, a and b not adjacent, c not in what separated them. The further orientations of a CPDAG
    (Meek's rules) make no new unshielded collider, so the moral graph does not need them; with data,
    colliders that contradict each other each count, so it does not matter which is oriented first.

    The weight of a skeleton edge is ``-log10`` of its largest p-value; an edge between parents is as sure as
    the weaker of its two arrows.
    """
    found = pc_skeleton(one_by_one(test), alpha, Limits.none(n_variables, max_conditioning))
    skeleton, weights = found.adjacent, log_evidence(found.largest)
    moral, evidence = skeleton.copy(), weights.copy()
    for (a, b), given in found.separators.items():
        children = [c for c in np.flatnonzero(skeleton[a] & skeleton[b]).tolist() if c not in given]
        if children:
            moral[a, b] = moral[b, a] = True
            evidence[a, b] = evidence[b, a] = max(min(weights[a, c], weights[b, c]) for c in children)
    return moral, evidence


def one_by_one(test: CITest) -> PValues:
    """Return a test of one pair as a test of many."""

    def p_values(pairs: Sequence[tuple[int, int]], given: Sequence[tuple[int, ...]]) -> FloatArray:
        return np.array([test(i, j, members) for (i, j), members in zip(pairs, given, strict=True)])

    return p_values
