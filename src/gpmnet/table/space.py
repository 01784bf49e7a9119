"""Room for the numbers of a table: memory, or, where they are too many for that, a file that is gone when it is closed.

Either way it is an array of whole columns, one after the other, which is filled and read a few columns at a time. `release`
gives the memory of what was read back to the system, so that only these few columns are ever held.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gpmnet.errors import InputError

IN_MEMORY_BYTES = 1 << 30
"""Tables of numbers larger than this are held in a file of the folder for temporary files (TMPDIR)."""
CELLS = 1 << 25
"""Cells that are sorted or copied at a time."""


def columns_at_a_time(n: int, most: int) -> int:
    """Return how many columns of n rows are looked at together.

    >>> columns_at_a_time(1000, 512), columns_at_a_time(10_000_000, 512)
    (512, 3)
    """
    return max(1, min(most, CELLS // max(n, 1)))


def column_space(n: int, k: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of shape (n, k), each column in one piece, for whoever fills it."""
    size = n * k * np.dtype(dtype).itemsize
    if size <= IN_MEMORY_BYTES or not size:
        return np.empty((n, k), dtype=dtype, order="F")
    try:
        with tempfile.TemporaryFile(
            prefix="gpmnet-"
        ) as file:  # the array keeps it open; it has no name by then
            _reserve(file.fileno(), size)
            return np.memmap(file, dtype=dtype, mode="r+", shape=(n, k), order="F")
    except OSError as error:
        raise InputError(
            f"no room for {size / 1e9:.1f} GB of temporary data in {tempfile.gettempdir()} ({error.strerror}); "
            "set TMPDIR to a folder on a larger disk"
        ) from error


def _reserve(descriptor: int, size: int) -> None:
    """Make a file so long, with room on the disk: a disk that is full is told now, and pages are written faster."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except AttributeError:  # a system that has no such call
        os.ftruncate(descriptor, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # of a file system that cannot
            raise
        os.ftruncate(descriptor, size)


def side_by_side(columns: Iterable[NDArray[Any]], n: int, k: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return k columns as one array, taking one at a time."""
    space = column_space(n, k, dtype)
    for at, column in enumerate(columns):
        space[:, at] = column
        release(space)
        release(column)  # it may come from another such file
    return space


def rows_of(array: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return some rows of all columns; of a file one column at a time: every row brings pages around it into memory."""
    if not is_on_disk(array):
        return array[rows]
    found = np.empty((len(rows), array.shape[1]), dtype=array.dtype, order="F")
    for at in range(array.shape[1]):
        found[:, at] = array[rows, at]
        release(array)
    return found


def blocks_of(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the columns of an array, some at a time; of a file no others are in memory meanwhile."""
    step = columns_at_a_time(len(array), max(1, array.shape[1]))
    for start in range(0, array.shape[1], step):
        yield array[:, start : start + step]
        release(array)


def is_on_disk(array: NDArray[Any]) -> bool:
    """Whether an array, or what it is a view of, is such a file."""
    return isinstance(array, np.memmap)


def is_mapped(array: NDArray[Any]) -> bool:
    """Whether the numbers of an array are those of a file, ours or not; an empty part of one is no `np.memmap` any more."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def release(array: NDArray[Any]) -> None:
    """Give the memory of an array on the disk back; it is read again where it is needed."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
