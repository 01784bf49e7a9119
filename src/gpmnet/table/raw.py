"""The one in-memory form that every source is turned into before kinds are inferred.

Numeric columns stay together in one matrix, so that a table of 100,000 of them is never walked column by
column; the others are kept as integer codes with their labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, quote
from gpmnet.table.space import is_on_disk, release, side_by_side

if TYPE_CHECKING:
    from gpmnet.table.column_file import ColumnFile


@dataclass(frozen=True, slots=True)
class Labelled:
    """A column of labels: `labels[codes]`, with -1 for a missing value.

    `origin` is "text", "boolean" or "categorical"; `ordered` says that the labels are in a meaningful order.
    """

    codes: NDArray[np.int32]
    labels: tuple[str, ...]
    origin: str
    ordered: bool = False

    @property
    def n_missing(self) -> int:
        """Number of rows without a value."""
        return int(np.count_nonzero(self.codes < 0))

    def take(self, rows: NDArray[np.intp]) -> Labelled:
        """Return the column restricted to some rows; labels that vanish are dropped, order kept."""
        return replace(self, codes=self.codes[rows]).used()

    def used(self) -> Labelled:
        """Return the column without the labels that no row has, order kept."""
        used = np.flatnonzero(np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels)))
        if len(used) == len(self.labels):
            return self
        lookup = np.full(len(self.labels) + 1, -1, dtype=np.int32)
        lookup[used] = np.arange(len(used), dtype=np.int32)
        return replace(self, codes=lookup[self.codes], labels=tuple(self.labels[i] for i in used))


@dataclass(frozen=True, slots=True)
class RawTable:
    """Columns by position: numeric ones as columns of `numbers` (NaN: missing), the others in `labelled`.

    Attributes
    ----------
    names : tuple of str
        Unique column names.
    numbers : ndarray of shape (n, k), float32 or float64
    number_at : ndarray of shape (k,)
        Position among the names of each column of `numbers`.
    labelled : dict
        The columns that are not numeric, by position.
    notes : dict
        Remarks from reading, by position ("percent signs removed").
    dates : frozenset of int
        Positions of the numeric columns that are days since 1970.
    ignored : dict
        Columns that cannot be variables whatever their values are, by position, with the reason.
    warnings : tuple of str
        Remarks on the table as a whole.
    file : ColumnFile or None
        A file that has some of the numbers as they are here, column by column.
    """

    names: tuple[str, ...]
    numbers: NDArray[np.floating]
    number_at: NDArray[np.intp]
    labelled: dict[int, Labelled]
    notes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    dates: frozenset[int] = frozenset()
    ignored: dict[int, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    file: ColumnFile | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def take(self, rows: NDArray[np.intp]) -> RawTable:
        """Return the table restricted to some rows."""
        labelled = {at: column.take(rows) for at, column in self.labelled.items()}
        numbers = self.numbers
        if is_on_disk(numbers):
            shape = len(rows), numbers.shape[1], numbers.dtype
            taken = side_by_side((_released(numbers, at)[rows] for at in range(shape[1])), *shape)
        else:
            taken = numbers[rows]
        return replace(self, numbers=taken, labelled=labelled, file=None)


def _released(numbers: NDArray[np.floating], at: int) -> NDArray[np.floating]:
    release(numbers)
    column: NDArray[np.floating] = numbers[:, at]
    return column


def unique_names(given: Sequence[object]) -> tuple[tuple[str, ...], list[str]]:
    """Return usable names for the given ones, with a warning for each that had to be changed.

    A name is kept as it is, whatever characters it holds; an empty one is named by its position and a
    repeated one gets a number.

    >>> unique_names(["a", "", "a", 7])[0]
    ('a', 'column_2', 'a_2', '7')
    """
    texts = ["" if name is None else str(name) for name in given]
    taken, names, warnings = set(texts), [], []
    seen: set[str] = set()
    used: dict[str, int] = {}  # the last number tried after each repeated name
    for position, text in enumerate(texts, start=1):
        name = text
        if not text.strip():
            name = free_name(f"column_{position}", taken, used)
            warnings.append(f"column {position} has no name; it is called {quote(name)}")
        elif text in seen:
            name = free_name(text, taken, used)
            warnings.append(f"the name {quote(text)} is repeated; column {position} is called {quote(name)}")
        seen.add(name)
        taken.add(name)
        names.append(name)
    return tuple(names), warnings


def free_name(stem: str, taken: set[str], used: dict[str, int]) -> str:
    """Return a name, with a number where it is taken; `used` remembers the numbers that were tried."""
    if stem not in taken:
        return stem
    number = used.get(stem, 1) + 1
    while f"{stem}_{number}" in taken:
        number += 1
    used[stem] = number
    return f"{stem}_{number}"


def check_shape(n_rows: int, n_columns: int) -> None:
    """Refuse a table in which no dependence could be seen."""
    if n_columns < 2:
        raise InputError(
            f"the table has {n_columns} column{'' if n_columns == 1 else 's'}: {n_columns} feature(s) "
            f"(shape=({n_rows}, {n_columns})) while a minimum of 2 is required. Is the separator right?"
        )
    if n_rows < 2:
        raise InputError(
            f"the table has {n_rows} row{'' if n_rows == 1 else 's'} (n_samples={n_rows}); a network needs two or more"
        )


def check_finite(
    numbers: NDArray[np.floating], name_of: Callable[[int], str], rows_per_block: int = 256
) -> None:
    """Raise an error naming the first infinite value's column and row; NaN is a missing value and passes."""
    for at in range(numbers.shape[1]) if is_on_disk(numbers) else ():
        rows = np.flatnonzero(np.isinf(numbers[:, at]))
        release(numbers)
        if len(rows):
            _refuse_infinite(name_of(at), numbers[rows[0], at], int(rows[0]))
    for start in () if is_on_disk(numbers) else range(0, numbers.shape[0], rows_per_block):
        infinite = np.isinf(numbers[start : start + rows_per_block])
        if infinite.any():
            row, at = np.argwhere(infinite)[0]
            _refuse_infinite(name_of(int(at)), numbers[start + row, at], start + int(row))


def _refuse_infinite(name: str, value: np.floating, row: int) -> None:
    raise InputError(
        f"column {quote(name)} holds {value} in row {row + 1}; replace infinite values by numbers or leave them empty"
    )
