"""Some rows of a table, as a table of their own: what no longer varies in them is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpmnet.table.encode import Encoded


def varying(draws: Sequence[Encoded]) -> tuple[list[Encoded], NDArray[np.intp]]:
    """Return the variables that have two values or more in each of several draws of a table, and their positions among all.

    Levels that no row has are taken out of the codes: an indicator of one would be a column of zeros, and a discrete
    variable with one level left a column without any.

    Parameters
    ----------
    draws : sequence of Encoded
        Rows taken from a larger table (`Encoded.take`), so that a value may be in none of them.
    """
    at = np.flatnonzero(np.logical_and.reduce([_varies(one) for one in draws]))
    return [_with_levels(one.of(at)) for one in draws], at


def _varies(encoded: Encoded) -> NDArray[np.bool_]:
    """Return which variables have two values or more, (d,)."""
    numbers = np.ones(encoded.ranks.shape[1], dtype=bool)
    numbers[encoded.tied] = (encoded.groups != encoded.groups[:1]).any(axis=0)
    kept = np.empty(len(encoded.names), dtype=bool)
    kept[~encoded.is_discrete] = numbers
    kept[encoded.is_discrete] = (encoded.fine_codes != encoded.fine_codes[:1]).any(axis=0)
    return kept


def _with_levels(encoded: Encoded) -> Encoded:
    """Return the same; where pooled levels have all become one though the fine ones differ, these stand for both."""
    merged = encoded.n_levels < 2
    if not merged.any():
        return encoded
    codes, n_levels = encoded.codes.copy(), encoded.n_levels.copy()
    codes[:, merged] = encoded.fine_codes[:, merged]
    n_levels[merged] = encoded.fine_codes[:, merged].max(axis=0) + 1
    return replace(encoded, codes=codes, n_levels=n_levels)
