r"""Which variables have only linear dependences, so that one feature is enough for them.

Under a Gaussian copula the normal scores have :math:`E z_i H_2(z_j) = 0` and :math:`E H_2(z_i) H_2(z_j) = \rho_{ij}^2` with
:math:`H_2 = (z^2 - 1) / \sqrt 2`. A variable is linear if it departs from neither with any other by more than chance allows.
Fewer columns mean more power, and a strong linear effect is not taken for many weak bent ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.score import Floats

MARGIN = 1.5
"""Standard errors beyond the largest that chance is expected to make."""


def linear_variables(scores: Floats) -> NDArray[np.bool_]:
    """Return which of the columns of normal scores, (n, m), are linear with all others.

    Time O(n m^2), memory O(m^2) beyond the scores.
    """
    n, m = scores.shape
    if m < 2:
        return np.ones(m, dtype=bool)
    z = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    bent = z**2 - 1
    bent /= bent.std(axis=0)
    rho = z.T @ z / n
    most = np.sqrt(2 * np.log(3 * m**2)) + MARGIN
    # (z, H2), both ways, then (H2, H2); standard errors from the rows
    skewed = z.T @ bent / n
    error = np.sqrt(np.maximum((z**2).T @ bent**2 / n - skewed**2, 1e-12) / n)
    odd = np.abs(skewed) / error
    squares = bent.T @ bent / n
    error = np.sqrt(np.maximum((bent**2).T @ bent**2 / n - squares**2, 1e-12) / n)
    even = np.abs(squares - rho**2) / error
    for found in (odd, even):
        np.fill_diagonal(found, 0.0)
    worst = np.maximum(np.maximum(odd, odd.T), even).max(axis=1)
    return np.asarray(worst <= most)
