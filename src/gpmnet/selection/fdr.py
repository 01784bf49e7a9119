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
    with np.errstate(divide="ignore"):  # log 0 is -inf, and comes back as 0
        log_p = np.log(np.asarray(p_values, dtype=np.float64))
    return np.exp(log_benjamini_hochberg(log_p, n_tests))


def log_benjamini_hochberg(log_p: ArrayLike, n_tests: int | None = None) -> NDArray[np.float64]:
    """Return the logs of the q-values from the logs of p-values, which may be too small for a float."""
    log_p = np.asarray(log_p, dtype=np.float64)
    m = len(log_p) if n_tests is None else n_tests
    order = np.argsort(log_p, kind="stable")
    scaled = log_p[order] + np.log(m / np.arange(1, len(log_p) + 1))
    log_q = np.empty_like(log_p)
    log_q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 0.0)
    return log_q
