"""Second moments of the features of all variables: all that the basis score needs of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.cells import Cells
from gpmnet.directed.rows import pieces, summed
from gpmnet.directed.score import Floats, Ints, Parents
from gpmnet.table.space import release

_BLOCK = 4096
"""Rows whose products are summed at a time."""
_MOST = 256
"""Sets of variables whose cell means are kept."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Features of all variables and the means of their products.

    Attributes
    ----------
    phi : ndarray of shape (n, M + 1)
        Features side by side, each centred with unit variance and those of one variable uncorrelated; the last is zero. Of
        a long table in single precision and on the disk; sums of products are double.
    blocks : tuple of ndarray of int
        Columns of each variable.
    """

    phi: NDArray[np.floating]
    blocks: tuple[Ints, ...]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.phi)

    @cached_property
    def gram(self) -> Floats:
        """Means of the products of all columns, (M + 1, M + 1)."""
        return summed(self._products, self.n, self.phi, width=self.phi.shape[1]) / self.n

    def _products(self, piece: slice) -> Floats:
        total = np.zeros((self.phi.shape[1],) * 2)
        for start in range(piece.start, piece.stop, _BLOCK):
            rows = self.phi[start : min(start + _BLOCK, piece.stop)].astype(np.float64, copy=False)
            total += rows.T @ rows
        return total

    @cached_property
    def light(self) -> NDArray[np.float32]:
        """The features in single precision, for sums whose noise is far larger."""
        return self.phi.astype(np.float32, copy=False)

    def combined(self, columns: Ints, weights: Floats) -> Floats:
        """Return the sum of columns (q,) with weights (q,): (n,)."""
        found = np.empty(self.n)
        for piece in pieces(self.n, len(columns)):
            found[piece] = self.phi[piece][:, columns] @ weights
            release(self.phi)
        return found

    def with_values(self, values: Floats, columns: Ints | None = None) -> Floats:
        """Return the mean products of values (n,) with columns (q,), or with all: in single precision piece by piece."""
        light, single = self.light, values.astype(np.float32)

        def products(piece: slice) -> Floats:
            rows = light[piece] if columns is None else light[piece][:, columns]
            found: Floats = (single[piece] @ rows).astype(np.float64)
            return found

        return summed(products, self.n, light, width=light.shape[1]) / self.n

    @cached_property
    def padded(self) -> Ints:
        """Columns of each variable, (d, widest), filled up with the zero column."""
        widest = max((len(block) for block in self.blocks), default=1)
        found = np.full((len(self.blocks), widest), self.phi.shape[1] - 1, dtype=np.intp)
        for at, block in enumerate(self.blocks):
            found[at, : len(block)] = block
        return found


class Within:
    """Moments of what is left of the features once their means in cells of discrete variables are taken off."""

    def __init__(self, moments: Moments, cells: Cells) -> None:
        self.moments, self._cells = moments, cells
        self._known: dict[Parents, Floats] = {}

    def __call__(self, rows: Ints, columns: Ints, given: Parents = ()) -> Floats:
        """Return the moments of two lists of columns, given the cells of some discrete variables."""
        found = self.moments.gram[rows[:, None], columns]
        if given:
            means = self.means(given)
            found = found - means[:, rows].T @ means[:, columns]
        return found

    def variances(self, columns: Ints, given: Parents) -> Floats:
        """Return the variances of columns within cells."""
        found: Floats = self.moments.gram[columns, columns]
        if given:
            means = self.means(given)[:, columns]
            found = found - np.einsum("ij,ij->j", means, means)
        return found

    def rows_left(self, given: Parents) -> int:
        """Return how many rows are left when every cell has used one for its mean."""
        return self.moments.n - (len(self.means(given)) if given else 1)

    def means(self, given: Parents) -> Floats:
        """Return means in cells that have rows, times the root of the cell's share of them: (cells, M + 1)."""
        if given not in self._known:
            if len(self._known) >= _MOST:
                self._known.pop(next(iter(self._known)))
            cell, _ = self._cells.of(given)
            rows = np.bincount(cell)
            used = np.flatnonzero(rows)
            phi = self.moments.phi
            sums = summed(partial(self._sums, cell, used), len(cell), phi, width=phi.shape[1])
            self._known[given] = sums / np.sqrt(rows[used] * len(cell))[:, None]
        return self._known[given]

    def _sums(self, cell: Ints, used: Ints, piece: slice) -> Floats:
        """Return the sums of all columns in the cells that are used, over some rows: (cells, M + 1)."""
        own = cell[piece]
        order = np.argsort(own, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(own[order]) > 0])
        found = np.zeros((len(used), self.moments.phi.shape[1]))
        at = np.searchsorted(used, own[order][starts])
        found[at] = np.add.reduceat(self.moments.phi[piece][order], starts, axis=0, dtype=np.float64)
        return found
