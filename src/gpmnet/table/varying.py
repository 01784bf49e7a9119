"""Some rows of a table, as a table of their own: what no longer varies in them is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpmnet.table.encode import Encoded


def varying(encoded: Encoded) -> tuple[Encoded, NDArray[np.intp]]:
    """Return the variables that have two values or more, and their positions among all.

    Levels that no row has are taken out of the codes: an indicator of one would be a column of zeros, and a discrete
    variable with one level left a column without any.

    Parameters
    ----------
    encoded : Encoded
        Rows taken from a larger table (`Encoded.take`), so that a value may be in none of them.
    """
    numbers = np.ones(encoded.ranks.shape[1], dtype=bool)
    numbers[encoded.tied] = (encoded.groups != encoded.groups[:1]).any(axis=0)
    codes, n_levels = _present(encoded.codes)
    fine, n_fine = _present(encoded.fine_codes)
    categories = n_fine > 1
    kept = np.empty(len(encoded.names), dtype=bool)
    kept[~encoded.is_discrete], kept[encoded.is_discrete] = numbers, categories
    at = np.flatnonzero(kept)
    # Pooled levels may all have become one though the fine ones differ: then the fine ones stand for both.
    merged = categories & (n_levels < 2)
    codes[:, merged], n_levels[merged] = fine[:, merged], n_fine[merged]
    tied = np.flatnonzero(numbers[encoded.tied])
    place = np.cumsum(numbers) - 1
    left = replace(
        encoded,
        names=tuple(encoded.names[k] for k in at.tolist()),
        is_discrete=encoded.is_discrete[at],
        ranks=encoded.ranks[:, numbers],
        codes=codes[:, categories],
        n_levels=n_levels[categories],
        fine_codes=fine[:, categories],
        tied=place[encoded.tied[tied]].astype(np.intp),
        groups=encoded.groups[:, tied],
    )
    return left, at


def _present(codes: NDArray[np.int16]) -> tuple[NDArray[np.int16], NDArray[np.intp]]:
    """Return codes without gaps, column by column, and how many there are."""
    found = np.empty_like(codes, order="F")
    count = np.zeros(codes.shape[1], dtype=np.intp)
    for k in range(codes.shape[1]):
        there, found[:, k] = np.unique(codes[:, k], return_inverse=True)
        count[k] = len(there)
    return found, count
