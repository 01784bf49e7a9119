"""Which variables of a table with gaps its rows hardly have together.

A question that was put to women only says nothing about men: where it has an answer, sex has one value. No test of the two
can be made, whatever else is given, and no test of sex and a third variable given it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpmnet.table.gaps import LEAST_TOGETHER

MOST_COMPARED = 2000
"""Variables of which all pairs are counted."""


def apart(observed: NDArray[np.bool_], column: Callable[[int], NDArray[np.generic]]) -> NDArray[np.bool_]:
    """Return which pairs of variables cannot be tested, (d, d): too few rows have both, or one has one value in these.

    Parameters
    ----------
    observed : ndarray of bool, shape (n, d)
    column : callable
        Returns the n values of a variable, by its position; those that were not observed do not matter.

    Notes
    -----
    Time O(n d^2) for counts by one matrix product, and O(n) for each pair that few enough rows have together.

    Examples
    --------
    >>> seen = np.ones((60, 3), dtype=bool)
    >>> seen[:30, 1] = False
    >>> values = [np.arange(60) < 30, np.arange(60) % 7, np.arange(60) % 5]
    >>> apart(seen, values.__getitem__).astype(int)
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 0]])
    """
    there = observed.astype(np.float32)
    together = there.T @ there
    found: NDArray[np.bool_] = together < LEAST_TOGETHER - 0.5
    for at in range(len(together)):
        seen = observed[:, at]
        values, code, count = np.unique(column(at)[seen], return_inverse=True, return_counts=True)
        if len(values) < 2:
            continue
        # In more rows than the commonest value has there is a second one.
        for other in np.flatnonzero(~found[at] & (together[at] < count.max() + 0.5)).tolist():
            inside = code[observed[seen, other]]
            found[at, other] |= bool((inside == inside[0]).all())
    np.fill_diagonal(found, False)
    return found | found.T
