"""Rows that depend on each other, and columns that only number them: what is said of them, and what a table shows by itself.

Every test takes rows for independent draws unless it is told which belong together. A row that is there twice, or a series
of which each row resembles the one before, says less than it seems to: p-values come out too small, and edges that are none
appear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from gpmnet.checks import check_number
from gpmnet.errors import InputError, UnknownColumnError, quote, quote_all
from gpmnet.parts import Part
from gpmnet.table.ranked import ranked
from gpmnet.table.raw import RawTable
from gpmnet.table.schema import Column
from gpmnet.table.space import release

LEAST_GROUPS = 10
"""Fewer groups than these say too little about a variance."""
_MOST_COLUMNS = 256  # that are looked at for serial dependence
_MOST_ROWS = 20_000
_LEAST_ROWS = 30
_SERIAL = 0.2  # correlation with the row before: below this p-values hardly change
_ALPHA = 0.01  # that any of the columns seems to be one by chance
_SHORT = 1.5  # blocks that are short by less reject null pairs in 6 of 100 at 0.05
_KEY_RUNS = 3  # runs of equal values a level, up to which rows are sorted by a column
_EVERY_ROW = (
    20  # rows that differ, from which on it is no chance that each is there equally often or a multiple of it
)
_TIMES_CHANCE = 20  # repeated rows, as a multiple of those that independent columns would have


@dataclass(frozen=True)
class Block(Part):
    """Consecutive rows as groups: for series, of which far apart rows are all but independent.

    Attributes
    ----------
    rows : int
        Rows of a block; several times as many as the series remembers, so that blocks hardly depend on each other.
    """

    rows: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "rows", 2, integer=True)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which rows belong together.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        Group of each row.
    said : str
        By what, in words.
    """

    codes: NDArray[np.integer]
    said: str

    def take(self, rows: NDArray[np.intp]) -> Grouping:
        """Return the groups of some of the rows."""
        return Grouping(self.codes[rows], self.said)

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(np.unique(self.codes))

    def checked(self) -> Grouping:
        """Return the same, or raise where the groups are too few."""
        if self.count < LEAST_GROUPS:
            raise InputError(
                f"groups: {self.said} makes {self.count} group{'s' * (self.count != 1)} of {len(self.codes):,} rows; "
                f"tests need at least {LEAST_GROUPS} that are independent"
            )
        return self

    @property
    def note(self) -> str:
        """What a reader of a network should know."""
        return f"tests take the {self.count:,} groups by {self.said} for independent, not the {len(self.codes):,} rows"


def grouping(groups: Any, raw: RawTable) -> Grouping:
    """Return which rows belong together, by the name of a column, one value a row, or a `Block`."""
    n = raw.n_rows
    if isinstance(groups, Block):
        return Grouping(np.arange(n) // groups.rows, f"blocks of {groups.rows:,} rows")
    if isinstance(groups, str):
        return Grouping(_column_codes(groups, raw), f"column {quote(groups)}")
    try:
        values = np.asarray(groups, dtype=object if isinstance(groups, list | tuple) else None)
        codes, uniques = pd.factorize(values)
    except (TypeError, ValueError):
        values, codes, uniques = np.empty(0), np.empty(0, dtype=np.intp), np.empty(0)
    if values.shape != (n,):
        raise InputError(
            f"groups must be the name of a column, one value for each of the {n:,} rows, or Block(rows); got {quote(groups)}"
        )
    _check_known(codes, "groups")
    return Grouping(codes, f"{len(uniques):,} given values")


def _column_codes(name: str, raw: RawTable) -> NDArray[np.integer]:
    if name not in raw.names:
        raise UnknownColumnError(
            f"groups names the column {quote(name)}, but the columns are {quote_all(raw.names)}", (name,)
        )
    at = raw.names.index(name)
    if at in raw.labelled:
        codes: NDArray[np.integer] = raw.labelled[at].codes
    else:
        values = raw.numbers[:, raw.number_at.tolist().index(at)]
        codes = np.unique(values, return_inverse=True)[1]
        codes[np.isnan(values)] = -1
    _check_known(codes, f"groups: column {quote(name)}")
    return codes


def _check_known(codes: NDArray[np.integer], what: str) -> None:
    gaps = int(np.count_nonzero(codes < 0))
    if gaps:
        raise InputError(f"{what} has missing values in {gaps:,} rows; every row must belong to a group")


def dependence_notes(
    raw: RawTable, columns: Mapping[int, Column], block: Block | None = None
) -> tuple[str, ...]:
    """Return what the values of a table show of rows that depend on each other, one sentence a sign.

    Where blocks of rows are taken for independent, it is only whether these are long enough.

    Time O(n d) where rows repeat, and less where they do not; at most 256 columns and 20,000 rows are looked at for serial
    dependence.
    """
    active = [at for at in sorted(columns) if columns[at].active]
    if raw.n_rows < _LEAST_ROWS or len(active) < 2:
        return ()
    distinct = [at for at in active if columns[at].n_distinct == raw.n_rows]  # no two rows agree there
    copies, note = (np.empty(0, dtype=np.intp), "") if distinct else _repeated(raw, columns, active)
    kept = _first_others(raw.n_rows, copies)  # a copy beside its original is no series
    some = {at: value[kept] for at, value in _values(raw, active[:_MOST_COLUMNS])}
    if block is not None:
        said = _serial(some, columns, block.rows)
        return (said,) if said else ()
    numbers = _row_numbers(raw, columns, distinct)
    return tuple(said for said in (numbers, note, _serial(some, columns)) if said)


def _first_others(n: int, copies: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first of n rows that are not among some."""
    first = np.arange(min(n, _MOST_ROWS + len(copies)))
    return first[~np.isin(first, copies)][:_MOST_ROWS]


def _values(raw: RawTable, listed: Iterable[int]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield columns with their positions, one after the other; of a table on the disk no two are in memory."""
    place = {int(where): k for k, where in enumerate(raw.number_at)}
    for at in listed:
        yield at, raw.labelled[at].codes if at in raw.labelled else raw.numbers[:, place[at]]
        release(raw.numbers)


def _row_numbers(raw: RawTable, columns: Mapping[int, Column], distinct: list[int]) -> str:
    """Return a sentence on columns, of those without equal values, that hold consecutive whole numbers."""
    n, found = raw.n_rows, []
    for at, value in _values(raw, distinct):
        low = value.min() if value.dtype.kind == "f" else np.nan
        if low == np.floor(low) and value.max() == low + (n - 1):
            ordered = np.sort(value)
            if np.array_equal(ordered, ordered[0] + np.arange(n)):
                found.append(columns[at].name)
    if not found:
        return ""
    one = len(found) == 1
    return (
        f"{quote_all(found)} {'holds' if one else 'hold'} {n:,} consecutive whole numbers, each once: if these are numbers "
        f'of rows and no ranks, give {"it" if one else "them"} the kind "ignored"'
    )


def _repeated(
    raw: RawTable, columns: Mapping[int, Column], active: list[int]
) -> tuple[NDArray[np.intp], str]:
    """Return the rows that repeat an earlier one and a sentence on them, if they are more than chance would give."""
    n, none = raw.n_rows, np.empty(0, dtype=np.intp)
    # Those with the most values first: few rows are then left to look at in the others.
    first, *others = sorted(active, key=lambda at: -columns[at].n_distinct)
    code = _numbered(next(value for _, value in _values(raw, [first])))
    rows = np.flatnonzero((np.bincount(code) > 1)[code])
    code = code[rows].astype(np.int64)
    for _, value in _values(raw, others):
        if not len(rows):
            return none, ""
        # Numbers of what rows begin with, as far as any two begin alike.
        code = pd.factorize(code * n + _numbered(value[rows]))[0]
        again = (np.bincount(code) > 1)[code]
        rows, code = rows[again], code[again]
    if not len(rows):
        return none, ""
    size = np.unique(code, return_counts=True)[1]
    repeats = int((size - 1).sum())
    distinct = n - repeats
    pairs = float((size * (size - 1.0) / 2).sum())
    every = int(np.gcd.reduce(size)) if int(size.sum()) == n else 1
    few = repeats < max(3, n / 500) or pairs <= _TIMES_CHANCE * _chance_pairs(raw, active)
    if few and not (every > 1 and distinct >= _EVERY_ROW):
        return none, ""
    said = (
        f"{repeats:,} of {n:,} rows repeat an earlier one; if they are copies and no new cases, leave them out, or give a "
        "column that says which rows belong together (groups=, --groups): else p-values are too small"
    )
    return rows[pd.Series(code).duplicated().to_numpy()], said


def _numbered(value: NDArray[Any]) -> NDArray[np.integer]:
    """Return numbers, below that of the rows, that are equal where values are; missing ones are equal."""
    if value.dtype.kind == "f" and len(value) and not np.isnan(value.min()):
        return ranked(value).ranks
    return pd.factorize(value, use_na_sentinel=False)[0]


def _chance_pairs(raw: RawTable, active: list[int]) -> float:
    """Return how many pairs of rows would agree by chance in the three columns with the most different values.

    No more than three are taken for independent of each other.
    """
    agree = sorted(
        float(np.square(pd.Series(value).value_counts(dropna=False).to_numpy() / len(value)).sum())
        for _, value in _values(raw, active)
    )
    n = raw.n_rows
    return n * (n - 1) / 2 * math.prod(agree[:3])


def _serial(values: Mapping[int, NDArray[Any]], columns: Mapping[int, Column], blocks: int = 0) -> str:
    """Return a sentence on columns whose values depend on those of the row before, if two or more do.

    Nothing is said where blocks of some number of rows are long enough for that.
    """
    segment = _sorted_by(list(values.values()))
    found = {at: _resemblance(value, columns[at], segment) for at, value in values.items()}
    z = -float(ndtri(_ALPHA / (2 * len(values))))
    said = [(r, at) for at, (r, t) in found.items() if abs(r) >= _SERIAL and abs(t) > z]
    if len(said) < 2:
        return ""
    said.sort(key=lambda one: -abs(one[0]))
    strongest = min(0.98, abs(said[0][0] * said[1][0]))
    # Blocks so long that they lack a tenth of the variance of a mean of products, were both of first order.
    rows = max(5, math.ceil(20 * strongest / (1 - strongest**2)))
    if rows <= _SHORT * blocks:
        return ""
    names = quote_all([columns[at].name for _, at in said], most=3)
    told = f"{names} resemble the row before (rank correlation up to {abs(said[0][0]):.2f}): "
    use = f"use blocks of about {rows} rows (groups=Block({rows}), --block-rows {rows})"
    if blocks:
        return f"{told}blocks of {blocks} rows are short for that, and p-values still too small; {use}"
    return f"{told}in a series p-values are too small, {use}; a table only sorted is fine"


def _sorted_by(values: list[NDArray[Any]]) -> NDArray[np.intp]:
    """Return numbers of the segments of rows in which all columns that the table is sorted by are constant."""
    n = len(values[0])
    starts = np.zeros(n, dtype=bool)
    for value in values:
        missing = np.isnan(value) if value.dtype.kind == "f" else np.zeros(n, dtype=bool)
        changes = (value[1:] != value[:-1]) & ~(missing[1:] & missing[:-1])
        distinct = len(pd.unique(value))
        if 1 < distinct <= n / 20 and np.count_nonzero(changes) < _KEY_RUNS * distinct:
            starts[1:] |= changes
    return np.cumsum(starts)


def _resemblance(value: NDArray[Any], column: Column, segment: NDArray[np.intp]) -> tuple[float, float]:
    """Return the correlation of a column with itself one row before inside segments, and the t-value of that."""
    if column.encoding == "codes":
        codes, _ = pd.factorize(value, use_na_sentinel=False)
        codes = np.minimum(codes, 31)  # more levels add nothing to this
        columns = np.eye(codes.max() + 1)[codes]
    else:
        rank = pd.Series(value).rank().to_numpy()
        columns = np.nan_to_num(rank - np.nanmean(rank), nan=0.0)[:, None]
    count = np.bincount(segment)
    sums = np.zeros((len(count), columns.shape[1]))
    np.add.at(sums, segment, columns)
    centred = columns - (sums / count[:, None])[segment]
    inside = segment[1:] == segment[:-1]
    m = int(np.count_nonzero(inside))
    covariance = centred.T @ centred / len(centred)
    total, size = float(np.trace(covariance)), float(np.linalg.norm(covariance))
    if m < _LEAST_ROWS or total <= 1e-12:
        return 0.0, 0.0
    r = float((centred[1:] * centred[:-1])[inside].sum()) / m / total
    return r, r * math.sqrt(m) * total / size
