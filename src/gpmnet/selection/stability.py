r"""Stability selection with complementary pairs of half-samples, and what its bounds do and do not say.

B times the rows are cut at random into two halves that share none, and edges are chosen in each half by the rule that chose
them in all rows. The stability of a pair is the share of the 2B halves in which it was an edge. A half has no row twice, as
a bootstrap sample has: repeated rows look like dependence to a test, and at half the size it is the plain selection at n/2.

With q the mean number of edges of a half and p the number of pairs, theta = q / p is the chance that a pair has on average,
and the pairs with at most that chance are called low. Of those, the expected number with a stability of tau or more is

.. math:: E\,|\{\mathrm{low}, \hat\Pi \ge \tau\}| \le \frac{q^2}{p\,(2\tau - 1)}

whatever the method and the law of the rows; and less, `unimodal_factor`, where the share of *pairs of halves* that both have
an edge has a distribution with one mode. This bounds low pairs, not false ones: the two agree only as far as false pairs are
chosen no more often than an average pair. It is an expected count, not a false-discovery rate, and q is measured, not known.

References
----------
Shah & Samworth (2013), "Variable selection with error control: another look at stability selection", JRSS B 75.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STREAM = 0x5AB1E  # of this module's draws among those of a seed


def half_sample(n: int, number: int, seed: int) -> NDArray[np.intp]:
    """Return the rows of one half, increasing; those of numbers 2b and 2b + 1 share none.

    Examples
    --------
    >>> one, other = half_sample(7, 0, seed=3), half_sample(7, 1, seed=3)
    >>> len(one), len(other), set(one) & set(other)
    (3, 3, set())
    """
    pair, which = divmod(number, 2)
    order = np.random.default_rng([seed, _STREAM, pair]).permutation(n)
    half = n // 2
    return np.sort(order[which * half : (which + 1) * half])


def worst_factor(tau: float) -> float:
    """Return C of E|low, stable| <= C theta q that holds always: 1 / (2 tau - 1).

    >>> round(worst_factor(0.9), 9)
    1.25
    """
    return 1.0 / (2 * tau - 1) if tau > 0.5 else np.inf


def unimodal_factor(tau: float, n_pairs: int, theta: float) -> float:
    """Return C of the same bound for unimodal shares of pairs of halves (their Theorem 2); never above `worst_factor`.

    Parameters
    ----------
    n_pairs : int
        Pairs of halves, B.
    theta : float
        Chance of an average pair; above 1 / sqrt(3) there is no better bound than the other.

    Examples
    --------
    >>> round(unimodal_factor(0.9, 50, 0.01), 3)
    0.431
    """
    worst = worst_factor(tau)
    half = 1 / (2 * n_pairs)
    if theta > 3**-0.5 or tau <= min(0.5 + theta**2, 0.5 + half + 0.75 * theta**2):
        return worst
    if tau > 0.75:
        return min(worst, 4 * (1 - tau + half) / (1 + 2 * half))
    below = 2 * (2 * tau - 1 - half)
    return min(worst, 1 / below) if below > 0 else worst


def expected_low(tau: float, q: float, n_tests: int, n_pairs: int | None = None) -> float:
    """Return the bound on the expected number of low pairs with a stability of tau or more.

    Parameters
    ----------
    q : float
        Mean number of edges of a half.
    n_tests : int
        Number of pairs that could be edges.
    n_pairs : int, optional
        Pairs of halves; given, shares are taken to be unimodal.

    Examples
    --------
    >>> round(expected_low(0.9, q=20, n_tests=4950), 3)
    0.101
    """
    if not n_tests:
        return 0.0
    theta = q / n_tests
    factor = worst_factor(tau) if n_pairs is None else unimodal_factor(tau, n_pairs, theta)
    return factor * theta * q
