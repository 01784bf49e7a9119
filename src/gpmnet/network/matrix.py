"""Matrices over the variables of a network: dense where they are small, sparse where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from gpmnet.errors import InputError, one_line
from gpmnet.network.pairs import Pairs

DENSE_UP_TO = 5000
"""Matrices over the variables are dense arrays up to this many variables, scipy.sparse above."""


def square_matrix(given: Any, what: str, d: int, kind: type) -> Any:
    """Return a (d, d) matrix that a user gave, dense as an array and sparse as it is, or raise saying what is wrong with it.

    >>> square_matrix([[0, 1], [1, 0]], "the adjacency matrix", 2, bool).tolist()
    [[False, True], [True, False]]
    """
    try:
        matrix: Any = given if issparse(given) else np.asarray(given, dtype=kind)
    except (ValueError, TypeError) as error:
        raise InputError(f"{what} is not a matrix of numbers: {one_line(error)}") from error
    if matrix.shape != (d, d):
        raise InputError(f"{what} has shape {matrix.shape} for {d} names")
    return matrix


def symmetric_matrix(
    pairs: Pairs, values: NDArray[Any], d: int, diagonal: NDArray[Any] | None = None
) -> NDArray[Any] | csr_array[Any]:
    """Return the (d, d) matrix with a value at each pair, both ways round.

    >>> pairs = Pairs.of([0], [2])
    >>> symmetric_matrix(pairs, np.array([5.0]), 3, np.ones(3)).tolist()
    [[1.0, 0.0, 5.0], [0.0, 1.0, 0.0], [5.0, 0.0, 1.0]]
    """
    row, column = np.r_[pairs.first, pairs.second], np.r_[pairs.second, pairs.first]
    both = np.r_[values, values]
    if diagonal is not None:
        at = np.arange(d)
        row, column, both = np.r_[row, at], np.r_[column, at], np.r_[both, diagonal]
    matrix = csr_array((both, (row, column)), shape=(d, d))
    return matrix.toarray() if d <= DENSE_UP_TO else matrix
