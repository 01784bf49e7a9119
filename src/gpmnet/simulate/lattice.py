"""Square lattices: which variables are beside each other."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray


def lattice_edges(d: int) -> NDArray[np.intp]:
    """Return the pairs of a lattice of d variables, row by row, as nearly square as d can be divided: (m, 2).

    >>> lattice_edges(4).tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    height = next(rows for rows in range(isqrt(d), 0, -1) if d % rows == 0)
    at = np.arange(d).reshape(height, -1)
    beside = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    below = np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)
    return np.concatenate([beside, below])
