"""Second moments of the features of all variables: all that the basis score needs of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpmnet.directed.cells import Cells
from gpmnet.directed.score import Floats, Ints, Parents

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
        Features side by side, each centred with unit variance and those of one variable uncorrelated; the last is zero.
    blocks : tuple of ndarray of int
        Columns of each variable.
    """

    phi: Floats
    blocks: tuple[Ints, ...]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.phi)

    @cached_property
    def gram(self) -> Floats:
        """Means of the products of all columns, (M + 1, M + 1)."""
        total = np.zeros((self.phi.shape[1],) * 2)
        for start in range(0, self.n, _BLOCK):
            rows = self.phi[start : start + _BLOCK]
            total += rows.T @ rows
        return total / self.n

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
            order = np.argsort(cell, kind="stable")
            starts = np.flatnonzero(np.r_[True, np.diff(cell[order]) > 0])
            count = np.diff(np.r_[starts, len(cell)])
            sums = np.add.reduceat(self.moments.phi[order], starts, axis=0)
            self._known[given] = sums / np.sqrt(count * len(cell))[:, None]
        return self._known[given]
