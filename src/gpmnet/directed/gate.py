r"""Which variables have only linear dependences, so that one feature is enough for them.

Under a Gaussian copula the normal scores have :math:`E z_i H_2(z_j) = E z_i H_3(z_j) = 0` and
:math:`E H_2(z_i) H_2(z_j) = \rho_{ij}^2` with :math:`H_2 = (z^2 - 1) / \sqrt 2`, :math:`H_3 = (z^3 - 3z) / \sqrt 6`. A
variable is linear if it departs from none of these with any other by more than chance allows. Fewer columns mean more
power, and a strong linear effect is not taken for many weak bent ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.score import Floats


def linear_variables(scores: Floats) -> NDArray[np.bool_]:
    """Return which of the columns of normal scores, (n, m), are linear with all others.

    Time O(n m^2), memory O(m^2) beyond the scores.
    """
    n, m = scores.shape
    if m < 2:
        return np.ones(m, dtype=bool)
    z = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    bent, cubic = z**2 - 1, z**3 - 3 * z
    bent, cubic = bent / bent.std(axis=0), cubic / cubic.std(axis=0)
    rho = z.T @ z / n
    most = np.sqrt(2 * np.log(5 * m**2))
    worst = np.zeros((m, m))
    for a, b, expected in ((z, bent, 0.0), (z, cubic, 0.0), (bent, bent, rho**2)):
        moments = a.T @ b / n
        error = np.sqrt(np.maximum((a**2).T @ b**2 / n - moments**2, 1e-12) / n)  # from the rows
        off = np.abs(moments - expected) / error
        worst = np.maximum(worst, np.maximum(off, off.T))
    np.fill_diagonal(worst, 0.0)
    return np.asarray(worst.max(axis=1) <= most)
