"""What two variables have to do with each other when nothing else is known: the rank correlation of ordered pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from gpmnet.table.space import rows_of

if TYPE_CHECKING:
    from gpmnet.table import Table

MOST_PRODUCTS = 2_000_000_000
"""Pairs times rows up to which the correlations are computed: a second or two."""
_BLOCK = 4_000_000
_MOST_ROWS = 200_000  # correlations of a sample of so many have a standard error of 0.002


def rank_correlations(table: Table, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return Spearman's rank correlation of pairs of a table's variables (m,), of ties by their mean ranks.

    NaN for a pair with categories, for a column with gaps, and for all where pairs times rows are beyond `MOST_PRODUCTS`. Of
    more than 200,000 rows a random sample is looked at; memory is ten times its numbers.
    """
    found = np.full(len(first), np.nan)
    ordered = np.flatnonzero(~(table.is_discrete[first] | table.is_discrete[second]))
    n = min(table.n_rows, _MOST_ROWS)
    if not len(ordered) or len(ordered) * n > MOST_PRODUCTS:
        return found
    column = np.cumsum(~table.is_discrete) - 1
    used, ends = np.unique(column[np.c_[first[ordered], second[ordered]]], return_inverse=True)
    numbers = table.numbers
    if n < table.n_rows:
        numbers = rows_of(numbers, np.sort(np.random.default_rng(0).choice(table.n_rows, n, replace=False)))
    ranks = np.asarray(rankdata(numbers[:, used], axis=0), dtype=np.float64)
    # Twice the mid-ranks minus their mean are whole numbers, whose sums no order of the rows can change.
    whole = 2 * np.nan_to_num(ranks, nan=(n + 1) / 2).T - (n + 1)
    whole[np.isnan(ranks).any(axis=0)] = 0.0
    doubled = np.ascontiguousarray(whole, dtype=np.int64)
    size = np.sqrt(np.einsum("ij,ij->i", doubled, doubled).astype(np.float64))
    ends = ends.reshape(-1, 2)
    step = max(1, _BLOCK // max(1, n))
    for start in range(0, len(ordered), step):
        a, b = ends[start : start + step].T
        both = np.einsum("ij,ij->i", doubled[a], doubled[b]).astype(np.float64)
        sizes = size[a] * size[b]
        found[ordered[start : start + step]] = both / np.where(sizes > 0, sizes, np.nan)
    np.clip(found, -1.0, 1.0, out=found)
    return found
