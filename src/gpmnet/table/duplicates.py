"""Columns that say the same thing twice.

Two columns are duplicates if each is a function of the other: a one-to-one relabelling where few values
occur, a strictly monotone map (up or down) where many do. Given one of them, the other is known, so no test
could tell their neighbors apart. The first stands for all; the others are left out of the fit and the
network joins each to the one that stands for it, and to nothing else.

In a table of few rows, unrelated columns agree by chance. A pair counts only if fewer than one in a million
tables of as many independent columns would hold one like it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gpmnet.table.space import release, rows_of

RELABELLED_UP_TO = 64
_PROBES = 128
_LOG_CHANCE = math.log(1e-6)


def find_duplicates(
    few: Mapping[int, NDArray[np.integer]],
    many: NDArray[np.floating],
    many_at: Iterable[int],
    columns: NDArray[np.intp] | None = None,
) -> dict[int, int]:
    """Return each duplicated column's position with the position of the first column that equals it.

    Parameters
    ----------
    few : dict
        Codes (-1: missing) of the columns with few distinct values, by position.
    many : ndarray of shape (n, k)
        The columns with many distinct values (NaN: missing).
    many_at : iterable of int
        Their positions.
    columns : ndarray of int, optional
        Which columns of `many` are meant; all unless given.

    Notes
    -----
    Each column is first summarised by how it compares at a fixed set of row pairs, which no relabelling or
    monotone map changes; only columns with equal summaries are compared in full. Time O(n k) at worst.
    """
    twins: dict[int, int] = {}
    if few:
        at = sorted(few)
        codes = [few[i] for i in at]
        twins |= _twins(_equal_at_probes(codes), at, lambda i: _by_first_use(codes[i]), relabelled=True)
    listed = np.arange(many.shape[1]) if columns is None else columns
    probed = _order_at_probes(many, listed)

    def ranked(at: int) -> NDArray[np.int32]:
        ranks = _by_order(many[:, listed[at]])
        release(many)
        return ranks

    ordered = _twins(probed, list(many_at), ranked, relabelled=False)
    return twins | ordered


def _twins(
    summary: NDArray[np.uint8],
    at: list[int],
    canonical: Callable[[int], NDArray[np.int32]],
    relabelled: bool,
) -> dict[int, int]:
    if len(summary) < 2:
        return {}
    _, group, size = np.unique(summary, axis=0, return_inverse=True, return_counts=True)
    seen: dict[tuple[int, bytes], int] = {}
    twins: dict[int, int] = {}
    for i in np.flatnonzero(size[group.ravel()] > 1):
        ranks = canonical(int(i))
        key = (int(group.ravel()[i]), hashlib.blake2b(ranks.data).digest())
        if key not in seen:
            seen[key] = at[i]
        elif _log_coincidences(ranks, relabelled, len(at)) < _LOG_CHANCE:
            twins[at[i]] = seen[key]
    return twins


def _log_coincidences(ranks: NDArray[np.int32], relabelled: bool, n_columns: int) -> float:
    """Bound the log of how many pairs like this one are expected among independent columns.

    A column whose values occur c_1, c_2, ... times can be arranged in n! / (c_1! c_2! ...) ways. Those that a
    monotone map takes to each other are two; a relabelling, at most as many as its values can be permuted.
    """
    counts = np.unique(ranks[ranks >= 0], return_counts=True)[1]
    arrangements = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
    alike = gammaln(len(counts) + 1) if relabelled else math.log(2)
    return float(2 * math.log(n_columns) - math.log(2) + alike - arrangements)


def _probes(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rng = np.random.default_rng(0)  # any fixed set of row pairs will do
    return rng.integers(n, size=_PROBES), rng.integers(n, size=_PROBES)


def _equal_at_probes(codes: Sequence[NDArray[np.integer]]) -> NDArray[np.uint8]:
    a, b = _probes(len(codes[0]))
    return np.packbits([column[a] == column[b] for column in codes], axis=1)


def _order_at_probes(values: NDArray[np.floating], columns: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return the signs of x[a] - x[b], flipped so that the first nonzero one is positive; NaN counts as 2."""
    a, b = _probes(values.shape[0])
    with np.errstate(invalid="ignore", over="ignore"):
        sign = np.sign(rows_of(values, a)[:, columns] - rows_of(values, b)[:, columns])
    known = np.nan_to_num(sign, nan=0.0)
    first = np.argmax(known != 0, axis=0)
    sign *= np.where(known[first, np.arange(len(columns))] < 0, -1.0, 1.0)
    coded: NDArray[np.int8] = np.nan_to_num(sign, nan=2.0).astype(np.int8)
    return coded.T.view(np.uint8)


def _by_first_use(codes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the values numbered in the order of first use (-1: missing): equal for relabellings."""
    present = codes >= 0
    _, first, inverse = np.unique(codes[present], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    ranks = np.full(len(codes), -1, dtype=np.int32)
    ranks[present] = rank[inverse]
    return ranks


def _by_order(values: NDArray[np.floating]) -> NDArray[np.int32]:
    """Replace values by dense ranks (-1: missing), reversed if that makes the first row's rank smaller."""
    present = ~np.isnan(values)
    uniques, inverse = np.unique(values[present], return_inverse=True)
    for candidate in inverse:
        mirrored = len(uniques) - 1 - candidate
        if candidate != mirrored:
            inverse = inverse if candidate < mirrored else len(uniques) - 1 - inverse
            break
    ranks = np.full(len(values), -1, dtype=np.int32)
    ranks[present] = inverse
    return ranks
