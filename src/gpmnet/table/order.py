"""An order of the rows that depends on nothing but what they hold, and noise for the rows in it.

Each value has a number that survives monotone maps: its rank, or its code. A row is the sum of its numbers times a key of
the column's name, modulo 2^64; rows stand in the order of a hash of that sum. Sums can be taken column by column, some rows
or some columns at a time, and are the same to the last bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gpmnet.table.ranked import increasing

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_COLUMNS, _CELLS = 512, 1 << 18  # that are added at a time


def row_order(columns: Iterable[tuple[Sequence[str], NDArray[np.integer]]], n: int) -> NDArray[np.intp]:
    """Return an order of n rows that depends on what they hold, and neither on their own order nor on that of the columns.

    Parameters
    ----------
    columns : iterable of (names, ndarray of shape (n, k))
        Whole numbers that tell values apart: ranks, or codes.
    """
    sums = np.zeros(n, dtype=np.uint64)
    for names, values in columns:
        add_columns(sums, names, values)
    return by_sums(sums)


def add_columns(
    sums: NDArray[np.uint64], names: Sequence[str], values: NDArray[np.integer], times: int = 1
) -> None:
    """Add columns of whole numbers to the sums of the rows (n,), in place.

    Parameters
    ----------
    values : ndarray of shape (n, k)
    times : int
        -1 takes them away again.
    """
    keys = np.array([_key(name, 0) | 1 for name in names], dtype=np.uint64) * np.uint64(times % (1 << 64))
    for first in range(0, len(keys), _COLUMNS):
        own = keys[first : first + _COLUMNS]
        step = _CELLS // len(own)
        for start in range(0, len(sums), step):
            block = values[start : start + step, first : first + _COLUMNS]
            sums[start : start + step] += block.astype(np.uint64) @ own


def by_sums(sums: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the order of rows with such sums; equal rows, which nothing tells apart, are numbered, and stand anywhere."""
    state = _mixed(sums)
    grouped, fresh = increasing(sums)
    if not fresh.all():
        place = np.arange(len(sums))
        number = place - np.maximum.accumulate(np.where(fresh, place, 0))
        state[grouped] += number.astype(np.uint64)
    del grouped, fresh
    return increasing(_mixed(state))[0].astype(np.intp)


def name_noise(names: list[str], n: int, seed: int) -> NDArray[np.uint64]:
    """Return noise for each (name, row): splitmix64 of a key of the name, advanced by the row."""
    keys = np.array([_key(name, seed) for name in names], dtype=np.uint64)
    return _mixed(keys[:, None] + np.arange(1, n + 1, dtype=np.uint64) * _GOLDEN)


def noise_at(name: str, rows: NDArray[np.intp], seed: int) -> NDArray[np.uint64]:
    """Return the noise of one name at some rows."""
    return _mixed(np.uint64(_key(name, seed)) + (rows + 1).astype(np.uint64) * _GOLDEN)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers of which every bit depends on all bits of the given ones: the output of splitmix64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    noise: NDArray[np.uint64] = state ^ (state >> np.uint64(31))
    return noise


def _key(name: str, seed: int) -> int:
    text = f"{seed}\0{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
