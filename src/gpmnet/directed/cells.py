"""Cells: the rows of a table by the values that some discrete variables take together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.rows import most_kept
from gpmnet.directed.score import Parents

_MOST = 4096
"""Sets of variables whose cells are kept, fewer of a long table."""


class Cells:
    """Numbers the cells of any set of discrete variables, those in use first; the last sets that were made are kept.

    Parameters
    ----------
    codes : sequence of ndarray of int, shape (n,)
        Codes 0, 1, ... of each variable; those of continuous ones are never used, and may be empty.
    levels : sequence of int
        Number of levels of each variable.
    """

    def __init__(self, codes: Sequence[NDArray[np.integer]], levels: Sequence[int]) -> None:
        self.codes, self.levels = codes, levels
        self.n = max((len(code) for code in codes), default=0)
        self._known: dict[Parents, tuple[NDArray[np.intp], int]] = {(): (np.zeros(self.n, dtype=np.intp), 1)}

    def of(self, variables: Parents) -> tuple[NDArray[np.intp], int]:
        """Return the number of each row's cell, (n,), and how many numbers there are; some may be of empty cells."""
        if variables not in self._known:
            if len(self._known) >= most_kept(self.n, _MOST):
                self._known.pop(next(key for key in self._known if key))
            self._known[variables] = self.split(*self.of(variables[:-1]), variables[-1])
        return self._known[variables]

    def split(self, cell: NDArray[np.intp], count: int, variable: int) -> tuple[NDArray[np.intp], int]:
        """Return the cells when one more variable divides them, numbered anew where most would be empty."""
        finer, count = cell * self.levels[variable] + self.codes[variable], count * self.levels[variable]
        if count <= 2 * self.n:
            return finer, count
        used = np.unique(finer)
        return np.searchsorted(used, finer), len(used)
