"""Long columns in increasing order, by a sort of whole numbers.

Sorting positions by what stands there takes twice as long as sorting numbers in their places. So the leading bits of a
value and its position are put into one number, and these numbers are sorted: the positions come out in the order of the
values, but for values whose leading bits agree, which are few and are put in order afterwards. The order is exact, and
equal values stand by their positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_PIECE = 1 << 16  # values at a time that stay in a processor's cache
_PROBES = 1 << 10  # values that show whether most are repeated
_FEW = 1 << 14  # distinct values up to which each row's is looked up


@dataclass(frozen=True, slots=True)
class Ranked:
    """The values of a column by their numbers.

    Attributes
    ----------
    ranks : ndarray of int32, shape (n,)
        Number of each value among the distinct ones: its rank, where no value is repeated.
    n_distinct : int
    commonest : int
        How often the commonest value occurs.
    """

    ranks: NDArray[np.int32]
    n_distinct: int
    commonest: int


def ranked(values: NDArray[np.floating]) -> Ranked:
    """Return the ranks of finite numbers (n,), n > 0, and how many there are.

    Examples
    --------
    >>> ranked(np.array([0.5, -1.0, 2.0, 0.5])).ranks
    array([1, 0, 2, 1], dtype=int32)
    """
    found = _looked_up(values)
    if found is not None:
        return found
    order, fresh = increasing(values)
    n_distinct = int(np.count_nonzero(fresh))
    commonest = 1
    if n_distinct < len(values):
        commonest = int(np.diff(np.append(np.flatnonzero(fresh), len(values))).max())
    numbers = np.cumsum(fresh, dtype=np.int32)
    numbers -= 1
    ranks = np.empty(len(values), dtype=np.int32)
    ranks[order] = numbers
    return Ranked(ranks, n_distinct, commonest)


def _looked_up(values: NDArray[np.floating]) -> Ranked | None:
    """Return the ranks of numbers of which few are distinct; None where these are many."""
    probes = values[:: max(1, len(values) // _PROBES)]
    if 2 * len(np.unique(probes)) > len(probes):
        return None
    ordered = np.sort(values)
    starts = np.append(0, 1 + np.flatnonzero(ordered[1:] != ordered[:-1]))
    if len(starts) > _FEW:
        return None
    ranks = np.searchsorted(ordered[starts], values).astype(np.int32)
    return Ranked(ranks, len(starts), int(np.diff(np.append(starts, len(values))).max()))


def increasing(
    values: NDArray[np.floating] | NDArray[np.uint64],
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the positions of values in increasing order, equal ones by position, and where another value begins.

    Parameters
    ----------
    values : ndarray of shape (n,)
        float32, float64 or uint64, finite.

    Returns
    -------
    order : ndarray of int32, shape (n,)
        What a stable `numpy.argsort` gives.
    fresh : ndarray of bool, shape (n,)
        Whether the value at each place of this order differs from the one before; True at the first.
    """
    if not len(values):
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=bool)
    bits = (len(values) - 1).bit_length()
    packed = _packed(values, bits)
    packed.sort()
    order = np.empty(len(values), dtype=np.int32)
    fresh = np.ones(len(values), dtype=bool)
    for start in range(0, len(values), _PIECE):
        piece = packed[start : start + _PIECE]
        order[start : start + _PIECE] = piece & np.uint64((1 << bits) - 1)
        after = packed[start + 1 : start + 1 + _PIECE]
        fresh[start + 1 : start + 1 + _PIECE] = (piece[: len(after)] ^ after) >> np.uint64(bits) != 0
    del packed
    _finish(values, order, fresh)
    return order, fresh


def _packed(values: NDArray[np.floating] | NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """Return the leading bits of each value above so many bits of its position."""
    lowest, highest = (int(_as_whole(np.array([end]))[0]) for end in (values.min(), values.max()))
    lost = np.uint64(max(0, (highest - lowest).bit_length() + bits - 64))
    packed = np.empty(len(values), dtype=np.uint64)
    position = np.arange(_PIECE, dtype=np.uint64)
    for start in range(0, len(values), _PIECE):
        piece = _as_whole(values[start : start + _PIECE]) - np.uint64(lowest)
        piece >>= lost
        piece <<= np.uint64(bits)
        piece |= position[: len(piece)] + np.uint64(start)
        packed[start : start + _PIECE] = piece
    return packed


def _as_whole(values: NDArray[np.floating] | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return whole numbers in the order of the values: the bits of a float, turned around where it is negative."""
    if values.dtype == np.uint64:
        return values.astype(np.uint64)
    one_zero = values + values.dtype.type(0)
    if values.dtype == np.float32:
        signed = one_zero.view(np.int32).astype(np.int64)
        signed ^= (signed >> 63) & np.iinfo(np.int32).max
    else:
        signed = one_zero.view(np.int64)
        signed ^= (signed >> 63) & np.iinfo(np.int64).max
    return signed.view(np.uint64) ^ np.uint64(1 << 63)


def _finish(
    values: NDArray[np.floating] | NDArray[np.uint64], order: NDArray[np.int32], fresh: NDArray[np.bool_]
) -> None:
    """Put values whose leading bits agree in order, and tell which of them are equal."""
    alike = np.flatnonzero(~fresh)
    if not len(alike):
        return
    differs = values[order[alike]] != values[order[alike - 1]]
    if differs.any():  # runs of alike values that are not all equal
        run = np.cumsum(fresh, dtype=np.int32)
        mixed = np.zeros(int(run[-1]) + 1, dtype=bool)
        mixed[run[alike[differs]]] = True
        at = np.flatnonzero(mixed[run])
        rows = order[at]
        order[at] = rows[np.lexsort((values[rows], run[at]))]
        differs = values[order[alike]] != values[order[alike - 1]]
    fresh[alike] = differs
