"""Parquet files whose columns of numbers are read one at a time, by this process or by others that can see the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray

from gpmnet.table.frames import as_floats

ROWS = 1 << 16
"""Rows of a column that are read at a time: they stay in a processor's cache."""


def read_numbers(file: Any, field: str, into: NDArray[np.floating]) -> None:
    """Read a column of an open Parquet file into an array (n,), NaN where it has gaps."""
    start = 0
    for batch in file.iter_batches(ROWS, columns=[field], use_threads=False):
        into[start : start + len(batch)] = _floats(batch)
        start += len(batch)


def _floats(batch: Any) -> NDArray[np.floating]:
    column = batch.column(0)
    kind = str(column.type)
    if column.null_count == 0 and kind in ("float", "double"):
        values: NDArray[np.floating] = column.to_numpy(zero_copy_only=False)
        return values
    import pyarrow as pa

    return as_floats(nw.from_native(pa.table({"0": column}))["0"])


@dataclass(frozen=True)
class ColumnFile:
    """Where columns of a table can be read again.

    Attributes
    ----------
    path : str
        Of a Parquet file, from the root.
    size, modified : int
        Its bytes, and when it was last changed, in nanoseconds: another file is not read in its place.
    n_rows : int
    fields : dict of int to str
        Name in the file of columns, by their places among the numbers of the table.
    dtype : str
        What the numbers of the table are.
    """

    path: str
    size: int
    modified: int
    n_rows: int = 0
    fields: Mapping[int, str] = field(default_factory=dict)
    dtype: str = "float64"

    @classmethod
    def of(cls, path: Path) -> ColumnFile:
        """Describe a file that is about to be opened; what it holds is said later."""
        there = path.stat()
        return cls(str(path.absolute()), there.st_size, there.st_mtime_ns)

    def holding(self, n_rows: int, fields: Mapping[int, str], dtype: DTypeLike) -> ColumnFile:
        """Return the file with what it was found to hold."""
        return replace(self, n_rows=n_rows, fields=fields, dtype=np.dtype(dtype).name)

    def is_here(self) -> bool:
        """Whether this machine has the file, unchanged."""
        try:
            there = Path(self.path).stat()
        except OSError:  # no such file, or none that this process may see
            return False
        return (there.st_size, there.st_mtime_ns) == (self.size, self.modified)

    def columns(self, places: Iterable[int]) -> Iterator[NDArray[np.floating]]:
        """Yield columns (n,) of the table by their places, one at a time; raise OSError if the file has other rows."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path) as file:
            if file.metadata.num_rows != self.n_rows:
                raise OSError(f"{self.path} has changed")
            for place in places:
                values = np.empty(self.n_rows, dtype=self.dtype)
                read_numbers(file, self.fields[place], values)
                yield values
