"""What the rules for kinds need to know of columns of numbers: how many values are missing, distinct, whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpmnet.table.ranked import ranked
from gpmnet.table.space import columns_at_a_time, release

LONG_ROWS = 1 << 16
"""Columns of more rows are looked at one at a time, and ranked meanwhile."""


@dataclass(frozen=True, slots=True)
class NumberFacts:
    """Per column of a numeric matrix: what the rules need, each array of shape (k,)."""

    n_missing: NDArray[np.intp]
    n_distinct: NDArray[np.intp]
    low: NDArray[np.floating]
    high: NDArray[np.floating]
    whole: NDArray[np.bool_]
    counter: NDArray[np.bool_]
    commonest: NDArray[np.intp]


def number_facts(numbers: NDArray[np.floating], columns_per_block: int = 2048) -> NumberFacts:
    """Collect the facts of all numeric columns, sorting a block of columns at a time.

    Time O(k n log n); memory O(n * columns_per_block) beyond the matrix.
    """
    columns_per_block = columns_at_a_time(len(numbers), columns_per_block)
    blocks = []
    for start in range(0, max(numbers.shape[1], 1), columns_per_block):
        blocks.append(_block_facts(numbers[:, start : start + columns_per_block]))
        release(numbers)
    together = {
        name: np.concatenate([getattr(one, name) for one in blocks]) for name in NumberFacts.__slots__
    }
    return NumberFacts(**together)


def _block_facts(block: NDArray[np.floating]) -> NumberFacts:
    n, k = block.shape
    ordered = np.sort(block.T, axis=1)  # NaN last
    present = n - np.count_nonzero(np.isnan(ordered), axis=1)
    fresh = np.ones((k, n), dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    fresh &= np.arange(n) < present[:, None]
    distinct = np.count_nonzero(fresh, axis=1)
    last = np.maximum(present - 1, 0)
    whole = _whole(block)
    counter = _counter(block, whole & (present == n))
    commonest = _longest_run(ordered, fresh, present, distinct)
    low = ordered[:, 0].copy()  # a view would keep the whole block
    high = ordered[np.arange(k), last]
    return NumberFacts(n - present, distinct, low, high, whole, counter, commonest)


def long_facts(values: NDArray[np.floating]) -> tuple[NumberFacts, NDArray[np.int32] | None]:
    """Return the facts of one column (n,), and the number of each value among the distinct ones; None if some are missing.

    Time O(n log n), one sort.
    """
    low, high = values.min(keepdims=True), values.max(keepdims=True)
    block = values[:, None]
    if np.isnan(low[0]):
        return _block_facts(block), None
    found = ranked(values)
    whole = _whole(block)
    none, distinct, commonest = (np.array([count]) for count in (0, found.n_distinct, found.commonest))
    return NumberFacts(none, distinct, low, high, whole, _counter(block, whole), commonest), found.ranks


def _whole(block: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which columns of a block (n, k) have whole numbers only."""
    n, k = block.shape
    whole = np.ones(k, dtype=bool)
    step = max(512, (1 << 20) // max(k, 1))
    for row in range(0, n, step):  # bounded scratch space
        piece = block[row : row + step]
        whole &= np.all((piece == np.floor(piece)) | np.isnan(piece), axis=0)
        if not whole.any():
            break
    return whole


def _counter(block: NDArray[np.floating], where: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the columns `where` of a block (n, k) are running counters."""
    n, k = block.shape
    steps = np.zeros(k, dtype=np.intp)
    with np.errstate(over="ignore"):
        steps[where] = np.count_nonzero(np.diff(block[:, where], axis=0) == 1, axis=0)
    counter: NDArray[np.bool_] = steps >= max(0.95 * (n - 1), 10)
    return counter


def _longest_run(
    ordered: NDArray[np.floating],
    fresh: NDArray[np.bool_],
    present: NDArray[np.intp],
    distinct: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Count the commonest value where values repeat; 1 elsewhere."""
    longest = np.minimum(present, 1)
    for at in np.flatnonzero(distinct < present):
        starts = np.append(np.flatnonzero(fresh[at]), present[at])
        longest[at] = int(np.diff(starts).max())
    return longest
