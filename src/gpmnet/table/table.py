"""`Table`: typed, immutable columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpmnet.errors import InputError, quote
from gpmnet.table.dependence import Grouping
from gpmnet.table.encode import (
    Encoded,
    Needs,
    break_ties,
    random_places,
    ranks_and_ties,
    sample_ranks,
    values_at_scores,
)
from gpmnet.table.missing import Filling
from gpmnet.table.order import add_columns, by_sums, noise_at, row_order
from gpmnet.table.ranked import ranked
from gpmnet.table.schema import Column, Schema
from gpmnet.table.space import column_space, columns_at_a_time, is_on_disk, release, rows_of


@dataclass(frozen=True, eq=False)
class Table:
    """The active columns of a table: numbers as one matrix, categories as codes.

    Make one with `load_table`, which copies: the table shares no memory with its source.

    Attributes
    ----------
    schema : Schema
        All columns, ignored ones included.
    numbers : ndarray of shape (n, k), float32 or float64
        Values of the variables encoded as scores, in the order of the schema.
    codes : ndarray of int16, shape (n, number of discrete variables)
    fine_codes : ndarray of int16, shape (n, number of discrete variables)
        The same before levels were pooled: what tests are given. As codes where none were.
    groups : Grouping or None
        Which rows belong together, where that was said.
    filling : Filling or None
        How gaps (NaN among the numbers, -1 among the codes) are filled in before the table is fitted.
    observed : ndarray of bool, shape (n, d), or None
        Which values of a completed table were there before; None where all were.
    needs : {"pair", "set"}
        What the rows of a test must have observed.
    sums : ndarray of uint64, shape (n,), or None
        What the ranks of all numbers add to the order of the rows (`gpmnet.table.order`), where that is known already.
    """

    schema: Schema
    numbers: NDArray[np.floating]
    codes: NDArray[np.int16]
    fine_codes: NDArray[np.int16]
    groups: Grouping | None = None
    filling: Filling | None = None
    observed: NDArray[np.bool_] | None = None
    needs: Needs = "set"
    sums: NDArray[np.uint64] | None = None

    def __post_init__(self) -> None:
        for name in ("numbers", "codes", "fine_codes"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    @cached_property
    def variables(self) -> tuple[Column, ...]:
        """The columns that take part in a fit."""
        return self.schema.active

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(column.name for column in self.variables)

    @cached_property
    def is_discrete(self) -> NDArray[np.bool_]:
        """Whether each variable is encoded as codes, shape (d,)."""
        return np.array([column.encoding == "codes" for column in self.variables], dtype=bool)

    @cached_property
    def n_levels(self) -> NDArray[np.intp]:
        """Number of levels of each variable, 0 for those encoded as scores, shape (d,)."""
        return np.array(
            [len(c.levels) if c.encoding == "codes" else 0 for c in self.variables], dtype=np.intp
        )

    @cached_property
    def gaps(self) -> NDArray[np.bool_]:
        """Which values are missing, shape (n, d)."""
        missing = np.empty((self.n_rows, len(self.names)), dtype=bool)
        missing[:, ~self.is_discrete] = np.isnan(self.numbers)
        missing[:, self.is_discrete] = self.codes < 0
        return missing

    @cached_property
    def has_gaps(self) -> bool:
        """Whether any value is missing."""
        return self.filling is not None and any(column.n_missing for column in self.variables)

    def values(self) -> NDArray[np.float64]:
        """Return numbers and codes as one matrix of shape (n, d), in the order of the variables."""
        values = np.empty((self.n_rows, len(self.names)))
        values[:, ~self.is_discrete] = self.numbers
        values[:, self.is_discrete] = self.codes
        return values

    def encode(self, seed: int = 0, most: int | None = None) -> Encoded:
        """Return ranks and codes, rows in the order that `row_order` gives them; `seed` decides how ties are broken.

        Parameters
        ----------
        most : int, optional
            Of a longer table this many rows, drawn at random and ranked among themselves; the other rows are looked at
            a few columns at a time.
        """
        if self.has_gaps:
            raise InputError(
                'the table has gaps, which are completed in a fit only; load it with missing="drop" (--missing drop)'
            )
        if most is not None and most < self.n_rows:
            if self.observed is not None:  # what was observed is known of all rows at once
                return self.encode(seed).sample(most, seed)
            return self._sampled(seed, most)
        if is_on_disk(self.numbers) and self.observed is None:
            return self._by_columns(seed)
        scored, coded = self._named("scores"), self._named("codes")
        step = columns_at_a_time(self.n_rows, 512)
        ranks, tied, groups = ranks_and_ties(self.numbers, step)
        ranks[:, tied] = groups  # what tells values apart, until ties are broken
        told: list[tuple[list[str], NDArray[np.integer]]] = [(scored, ranks), (coded, self.fine_codes)]
        if self.observed is not None:
            told.append(([f"{name}\0observed" for name in self.names], self.observed.astype(np.int8)))
        rows = row_order(told, self.n_rows)
        for column in ranks.T:
            column[:] = column[rows]
        groups = groups[rows]
        break_ties(ranks, tied, groups, scored, seed, step)
        return self._encoded(rows, ranks, tied, np.asfortranarray(groups))

    def _encoded(
        self,
        rows: NDArray[np.intp],
        ranks: NDArray[np.int32],
        tied: NDArray[np.intp],
        groups: NDArray[np.int32],
    ) -> Encoded:
        """Return some rows, in their order, of which these are the ranks and ties."""
        return Encoded(
            names=self.names,
            is_discrete=self.is_discrete,
            ranks=ranks,
            codes=self.codes[rows],
            n_levels=self.n_levels[self.is_discrete],
            fine_codes=self.fine_codes[rows],
            tied=tied,
            groups=groups,
            rows=rows,
            observed=None if self.observed is None else self.observed[rows],
            needs=self.needs,
        )

    def _named(self, encoding: str) -> list[str]:
        return [column.name for column in self.variables if column.encoding == encoding]

    def _sampled(self, seed: int, most: int) -> Encoded:
        """Return what `encode(seed).take(...)` would of a random sample, without the ranks of all rows."""
        scored, tied = self._named("scores"), self._tied()
        places = random_places(self.n_rows, most, seed)
        rows = self._order()[places]
        values = rows_of(self.numbers, rows)
        ranks, groups = sample_ranks(values, tied, [scored[k] for k in tied], places, seed)
        return self._encoded(rows, ranks, tied, groups)

    def _by_columns(self, seed: int) -> Encoded:
        """Return what `encode` does of a table that is on the disk, one column at a time; ranks are on the disk as well.

        Memory: 60 bytes a row. Time: a sort of each column, a second one of those with ties.
        """
        scored, tied, rows = self._named("scores"), self._tied(), self._order()
        ranks, groups = (column_space(self.n_rows, k, np.int32) for k in (len(scored), len(tied)))
        slot = {int(column): at for at, column in enumerate(tied)}
        for k, name in enumerate(scored):
            own = ranked(np.ascontiguousarray(self.numbers[:, k])).ranks[rows]
            release(self.numbers)
            if k in slot:
                groups[:, slot[k]] = own
                order = np.lexsort((noise_at(name, np.arange(self.n_rows), seed), own))
                own[order] = np.arange(self.n_rows, dtype=np.int32)
            ranks[:, k] = own
            release(ranks)
            release(groups)
        return self._encoded(rows, ranks, tied, groups)

    def _tied(self) -> NDArray[np.intp]:
        """Return which columns of numbers have ties."""
        distinct = np.array([column.n_distinct for column in self.variables if column.encoding == "scores"])
        return np.flatnonzero(distinct < self.n_rows)

    def _order(self) -> NDArray[np.intp]:
        """Return the order of the rows by what they hold."""
        sums = self._number_sums() if self.sums is None else self.sums.copy()
        add_columns(sums, self._named("codes"), self.fine_codes)
        return by_sums(sums)

    def _number_sums(self) -> NDArray[np.uint64]:
        """Return what the ranks of all numbers add to the order of the rows, one column at a time."""
        sums = np.zeros(self.n_rows, dtype=np.uint64)
        for k, name in enumerate(self._named("scores")):
            found = ranked(np.ascontiguousarray(self.numbers[:, k]))
            add_columns(sums, [name], found.ranks[:, None])
            release(self.numbers)
        return sums

    def decode(self, name: str, encoded: ArrayLike) -> NDArray[Any]:
        """Return the values of a variable behind normal scores, or the labels behind codes."""
        if name not in self.names:
            raise InputError(f"{quote(name)} is not a variable of this table")
        at, column = self.names.index(name), self.schema[name]
        if self.is_discrete[at]:
            return np.array(column.levels, dtype=object)[np.asarray(encoded, dtype=np.intp)]
        numbers = self.numbers[:, np.count_nonzero(~self.is_discrete[:at])]
        values = values_at_scores(
            numbers if self.filling is None else numbers[~np.isnan(numbers)], np.asarray(encoded)
        )
        release(self.numbers)
        if column.levels:  # ordered categories: positions among the levels
            return np.array(column.levels, dtype=object)[values.astype(np.intp)]
        return values

    def __repr__(self) -> str:
        kinds = [column.kind for column in self.variables]
        counts = ", ".join(
            f"{kinds.count(k)} {k}" for k in ("continuous", "ordinal", "discrete") if k in kinds
        )
        return f"Table({self.n_rows:,} rows, {len(kinds):,} variables: {counts or 'none'})"
