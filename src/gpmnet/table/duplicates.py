"""Columns that say the same thing twice.

Two columns are duplicates if each is a function of the other: a one-to-one relabelling where few values
occur, a strictly monotone map (up or down) where many do. Given one of them, the other is known, so no test
could tell their neighbours apart. The first stands for all; the others are left out of the fit and the
network joins each to the one that stands for it, and to nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

RELABELLED_UP_TO = 64
_PROBES = 128


def find_duplicates(
    few: Mapping[int, NDArray[np.integer]], many: NDArray[np.floating], many_at: Iterable[int]
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

    Notes
    -----
    Each column is first summarised by how it compares at a fixed set of row pairs, which no relabelling or
    monotone map changes; only columns with equal summaries are compared in full. Time O(n k) at worst.
    """
    twins: dict[int, int] = {}
    if few:
        at = sorted(few)
        codes = np.column_stack([few[i] for i in at])
        twins |= _twins(_equal_at_probes(codes), at, lambda i: _by_first_use(codes[:, i]))
    twins |= _twins(_order_at_probes(many), list(many_at), lambda i: _by_order(many[:, i]))
    return twins


def _twins(summary: NDArray[np.uint8], at: list[int], canonical: Callable[[int], bytes]) -> dict[int, int]:
    if len(summary) < 2:
        return {}
    _, group, size = np.unique(summary, axis=0, return_inverse=True, return_counts=True)
    seen: dict[tuple[int, bytes], int] = {}
    twins: dict[int, int] = {}
    for i in np.flatnonzero(size[group.ravel()] > 1):
        key = (int(group.ravel()[i]), canonical(int(i)))
        if key in seen:
            twins[at[i]] = seen[key]
        else:
            seen[key] = at[i]
    return twins


def _probes(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rng = np.random.default_rng(0)  # any fixed set of row pairs will do
    return rng.integers(n, size=_PROBES), rng.integers(n, size=_PROBES)


def _equal_at_probes(codes: NDArray[np.integer]) -> NDArray[np.uint8]:
    a, b = _probes(codes.shape[0])
    return np.packbits((codes[a] == codes[b]).T, axis=1)


def _order_at_probes(values: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Return the signs of x[a] - x[b], flipped so that the first nonzero one is positive; NaN counts as 2."""
    a, b = _probes(values.shape[0])
    with np.errstate(invalid="ignore"):
        sign = np.sign(values[a] - values[b])
    known = np.nan_to_num(sign, nan=0.0)
    first = np.argmax(known != 0, axis=0)
    sign *= np.where(known[first, np.arange(values.shape[1])] < 0, -1.0, 1.0)
    return np.nan_to_num(sign, nan=2.0).astype(np.int8).T.view(np.uint8)


def _by_first_use(codes: NDArray[np.integer]) -> bytes:
    """Return the values numbered in the order of first use: equal for one-to-one relabellings."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    missing = b"gap%d" % int(rank[inverse[np.argmin(codes)]]) if codes.min() < 0 else b""
    return rank[inverse].tobytes() + missing


def _by_order(values: NDArray[np.floating]) -> bytes:
    """Replace values by dense ranks, reversed if that makes the first row's rank smaller."""
    present = ~np.isnan(values)
    uniques, inverse = np.unique(values[present], return_inverse=True)
    for candidate in inverse:
        mirrored = len(uniques) - 1 - candidate
        if candidate != mirrored:
            inverse = inverse if candidate < mirrored else len(uniques) - 1 - inverse
            break
    ranks = np.full(len(values), -1, dtype=np.int32)
    ranks[present] = inverse
    return ranks.tobytes()
