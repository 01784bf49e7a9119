"""The BIC of one variable given its parents, for discrete, Gaussian and mixed Bayesian networks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpmnet.baselines.base import BoolArray, FloatArray

SMALLEST_VARIANCE = 1e-10


def local_bic(values: FloatArray, is_discrete: BoolArray, child: int, parents: Sequence[int]) -> float:
    """Return ``log L - (k / 2) log n`` of a variable given its parents; larger is better.

    A discrete variable has one probability table per configuration of its parents. A continuous one has, per
    configuration of its discrete parents, a linear regression on the continuous ones with its own variance
    (at least 1e-10). k counts the parameters of all configurations, seen or not. Minus infinity where the
    model has no such arrow (continuous to discrete) or a configuration has too few rows for its regression.

    Parameters
    ----------
    values : ndarray (n, d)
        Codes 0..M-1 of discrete variables, numbers of continuous ones.
    is_discrete : ndarray of bool (d,)
    child : int
    parents : sequence of int

    References
    ----------
    Lauritzen, Wermuth, "Graphical models for associations between variables, some of which are qualitative
    and some quantitative", Annals of Statistics 17 (1989).

    Examples
    --------
    >>> coins = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> round(local_bic(coins, np.array([True, True]), 0, []), 3)  # 4 log(1/2) - log(4)/2
    -3.466
    >>> round(local_bic(coins, np.array([True, True]), 0, [1]), 3)  # a perfect fit, two parameters
    -1.386
    """
    discrete = [parent for parent in parents if is_discrete[parent]]
    continuous = [parent for parent in parents if not is_discrete[parent]]
    if is_discrete[child] and continuous:
        return -np.inf
    configuration, n_configurations = _configurations(values, discrete)
    if is_discrete[child]:
        likelihood = _table_likelihood(configuration, values[:, child].astype(int))
        n_parameters = n_configurations * int(values[:, child].max())
    else:
        groups = [configuration == group for group in range(configuration.max() + 1)]
        likelihood = sum(
            _regression_likelihood(values[rows, child], values[rows][:, continuous]) for rows in groups
        )
        n_parameters = n_configurations * (len(continuous) + 2)
    return float(likelihood - 0.5 * np.log(len(values)) * n_parameters)


def _configurations(values: FloatArray, discrete: Sequence[int]) -> tuple[np.ndarray, int]:
    """Return the number of each row's configuration among those that occur, and how many there could be."""
    if not discrete:
        return np.zeros(len(values), dtype=int), 1
    codes = values[:, discrete].astype(int)
    _, number = np.unique(codes, axis=0, return_inverse=True)
    possible = 1
    for column in codes.T:
        possible *= int(column.max()) + 1
    return number.ravel(), possible


def _table_likelihood(configuration: np.ndarray, child: np.ndarray) -> float:
    counts = np.zeros((configuration.max() + 1, child.max() + 1))
    np.add.at(counts, (configuration, child), 1.0)
    totals = counts.sum(axis=1, keepdims=True)
    return float(np.sum(counts * np.log(np.where(counts > 0, counts / totals, 1.0))))


def _regression_likelihood(child: FloatArray, parents: FloatArray) -> float:
    """Return the maximal Gaussian log-likelihood of a linear regression."""
    n_rows, n_parents = parents.shape
    if n_rows < n_parents + 2:
        return -np.inf
    design = np.column_stack([np.ones(n_rows), parents])
    residual = child - design @ np.linalg.lstsq(design, child)[0]
    variance = max(float(np.mean(residual**2)), SMALLEST_VARIANCE)
    return float(-0.5 * n_rows * (np.log(2 * np.pi * variance) + 1.0))
