"""False-discovery rates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def benjamini_hochberg(p_values: ArrayLike, n_tests: int | None = None) -> NDArray[np.float64]:
    r"""Return q-values: the smallest false-discovery rate at which each hypothesis is rejected.

    .. math:: q_{(k)} = \min_{l \ge k} \; p_{(l)} \, m / l

    Parameters
    ----------
    p_values : array of shape (k,)
        P-values of the hypotheses at hand.
    n_tests : int, optional
        Number m of all hypotheses, counting those not at hand, whose p-values are taken to be 1.

    References
    ----------
    Benjamini and Hochberg (1995), "Controlling the false discovery rate".

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03], n_tests=4).round(3)
    array([0.04 , 0.053, 0.053])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    m = len(p) if n_tests is None else n_tests
    return _running_least(p[order] * m / np.arange(1, len(p) + 1), order, 1.0)


def log_benjamini_hochberg(log_p: ArrayLike, n_tests: int | None = None) -> NDArray[np.float64]:
    """Return the logs of the q-values from the logs of p-values, which may be too small for a float."""
    log_p = np.asarray(log_p, dtype=np.float64)
    m = len(log_p) if n_tests is None else n_tests
    order = np.argsort(log_p, kind="stable")
    return _running_least(log_p[order] + np.log(m / np.arange(1, len(log_p) + 1)), order, 0.0)


def _running_least(ordered: NDArray[np.float64], order: NDArray[np.intp], most: float) -> NDArray[np.float64]:
    """Return the least of each value and those after it, at most `most`, put back in the order they came in."""
    found = np.empty_like(ordered)
    found[order] = np.minimum(np.minimum.accumulate(ordered[::-1])[::-1], most)
    return found
