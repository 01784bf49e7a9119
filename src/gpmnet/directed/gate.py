r"""Which variables have only linear dependences, so that one feature is enough for them.

Under a Gaussian copula the normal scores have :math:`E z_i H_2(z_j) = E z_i H_3(z_j) = 0` and
:math:`E H_2(z_i) H_2(z_j) = \rho_{ij}^2` with :math:`H_2 = (z^2 - 1) / \sqrt 2`, :math:`H_3 = (z^3 - 3z) / \sqrt 6`. A
variable is linear if it departs from none of these with any other by more than chance allows. Fewer columns mean more
power, and a strong linear effect is not taken for many weak bent ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.rows import summed
from gpmnet.directed.score import Floats

_HELD = 9  # arrays of as many numbers as a piece of the scores has, at a time


def linear_variables(scores: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which of the columns of normal scores, (n, m), are linear with all others.

    Time O(n m^2), four passes over the rows; memory O(m^2) beyond the scores, and a few pieces of them.
    """
    n, m = scores.shape
    if m < 2:
        return np.ones(m, dtype=bool)

    def mean(of: Callable[[Floats], Floats]) -> Floats:
        total = summed(
            lambda piece: of(scores[piece].astype(np.float64, copy=False)), n, scores, width=_HELD * m
        )
        return np.asarray(total / n)

    centre = mean(lambda x: x.sum(axis=0))
    scale = np.sqrt(mean(lambda x: ((x - centre) ** 2).sum(axis=0)))

    def powers(x: Floats) -> tuple[Floats, Floats, Floats]:
        z = (x - centre) / scale
        return z, z**2 - 1, z**3 - 3 * z

    def spreads(x: Floats) -> Floats:
        _, bent, cubic = powers(x)
        return np.stack([bent.sum(axis=0), (bent**2).sum(axis=0), cubic.sum(axis=0), (cubic**2).sum(axis=0)])

    bent_mean, bent_square, cubic_mean, cubic_square = mean(spreads)
    bent_scale, cubic_scale = np.sqrt(bent_square - bent_mean**2), np.sqrt(cubic_square - cubic_mean**2)

    def products(x: Floats) -> Floats:
        z, bent, cubic = powers(x)
        bent, cubic = bent / bent_scale, cubic / cubic_scale
        pairs = (z, bent), (z, cubic), (bent, bent)
        return np.stack([z.T @ z, *(f for a, b in pairs for f in (a.T @ b, (a**2).T @ b**2))])

    rho, *found = mean(products)
    most = np.sqrt(2 * np.log(5 * m**2))
    worst = np.zeros((m, m))
    for moments, squares, expected in zip(found[::2], found[1::2], (0.0, 0.0, rho**2), strict=True):
        error = np.sqrt(np.maximum(squares - moments**2, 1e-12) / n)  # from the rows
        off = np.abs(moments - expected) / error
        worst = np.maximum(worst, np.maximum(off, off.T))
    np.fill_diagonal(worst, 0.0)
    return np.asarray(worst.max(axis=1) <= most)
