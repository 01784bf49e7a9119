"""Markov blankets by incremental association (IAMB), with any test of conditional independence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from gpmnet.baselines.base import Estimate, FloatArray, log_evidence

CITest = Callable[[int, int, tuple[int, ...]], float]
"""A test ``(i, j, conditioning) -> p-value`` of: variables i and j are independent given the others."""


def markov_blanket(n_variables: int, target: int, test: CITest, alpha: float) -> tuple[set[int], FloatArray]:
    """Return the Markov blanket of one variable and the p-value of every other variable.

    Grow: while some variable depends on the target given the blanket (p < alpha), add the one with the
    smallest p-value (the lowest index among equals). Shrink: drop, one after the other, each member that is
    independent of the target given the rest of the blanket. With a faithful distribution and a test that is
    never wrong, what remains is exactly the Markov blanket.

    Returns
    -------
    blanket : set of int
    p_values : ndarray (n_variables,)
        Last p-value of each variable: given the rest of the blanket for a member or a dropped member, given
        the blanket as it was when growing stopped for the others; 1 for the target.

    References
    ----------
    Tsamardinos, Aliferis, Statnikov, "Algorithms for large scale Markov blanket discovery", FLAIRS 2003.
    """
    blanket: list[int] = []
    p_values = np.ones(n_variables)
    while True:
        candidates = [j for j in range(n_variables) if j != target and j not in blanket]
        for j in candidates:
            p_values[j] = test(target, j, tuple(sorted(blanket)))
        best = min(candidates, key=lambda j: p_values[j], default=None)
        if best is None or p_values[best] >= alpha:
            break
        blanket.append(best)
    for j in tuple(blanket):
        rest = tuple(sorted(k for k in blanket if k != j))
        p_values[j] = test(target, j, rest)
        if p_values[j] >= alpha:
            blanket.remove(j)
    return set(blanket), p_values


def iamb(n_variables: int, test: CITest, alpha: float = 0.05, rule: Literal["and", "or"] = "and") -> Estimate:
    """Return the Markov network made of every variable's blanket.

    In a Markov network the blanket of a variable is the set of its neighbors, and being in the blanket is
    mutual; where two estimates disagree, "and" keeps an edge only if each is in the other's blanket, "or" if
    either is. The weight of a pair is ``-log10`` of the larger ("and") or smaller ("or") of its two p-values.

    Examples
    --------
    A test that knows the chain 0 - 1 - 2:

    >>> def chain(i, j, given):
    ...     return 1.0 if {i, j} == {0, 2} and 1 in given else 0.0
    >>> adjacency, weights = iamb(3, chain)
    >>> adjacency.astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    member = np.zeros((n_variables, n_variables), dtype=bool)
    p_values = np.ones((n_variables, n_variables))
    for target in range(n_variables):
        blanket, p_values[target] = markov_blanket(n_variables, target, test, alpha)
        member[target, sorted(blanket)] = True
    if rule == "and":
        return member & member.T, log_evidence(np.maximum(p_values, p_values.T))
    return member | member.T, log_evidence(np.minimum(p_values, p_values.T))
