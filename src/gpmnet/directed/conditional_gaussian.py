r"""A continuous variable given discrete and continuous parents: a linear regression in each cell of the discrete ones.

The regressions are of normal scores, with slopes and a variance of their own; the score is the log marginal likelihood under
:math:`\beta \sim N(0, \sigma^2 I / \lambda)`, :math:`\sigma^2 \sim IG(a, b)`, in closed form, over that of one cell without
parents. A cell of few rows costs little and says little; none has to be left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gpmnet.checks import check_number
from gpmnet.directed.cells import Cells
from gpmnet.directed.rows import summed
from gpmnet.directed.score import Floats, Ints, Parents
from gpmnet.parts import Part
from gpmnet.table.space import release

_KEPT, _MOST = 1 << 20, 64
"""Numbers that the sums of all variables in one set of cells may have, and how many sets have such."""
_FILLED = 64
"""Rows of a cell, on average, from which on a product of matrices is the faster way to sums."""
_OFTEN = 64
"""Up to so many variables their sums are worth it for cells of several variables, which are asked for less often."""


@dataclass(frozen=True)
class CellPrior(Part):
    """Prior of the regression in a cell.

    Attributes
    ----------
    precision : float
        Lambda: of slopes and means, in rows.
    shape, scale : float
        a and b.
    """

    precision: float = 0.5
    shape: float = 1.0
    scale: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("precision", "shape", "scale"):
            check_number(self, name, 0.0, open_low=True)


class ConditionalGaussianScore:
    """Scores of continuous variables given the cells of discrete ones and linear slopes on continuous ones.

    Parameters
    ----------
    scores : ndarray of shape (n, c)
        Normal scores of the continuous variables.
    place : ndarray of int, shape (d,)
        Which of them is each variable's; anything for discrete ones.
    """

    def __init__(self, scores: NDArray[np.floating], place: Ints, cells: Cells, prior: CellPrior) -> None:
        self.scores, self.cells, self.prior = scores, cells, prior
        self._place = place
        self._alone: dict[int, float] = {}
        self._known: dict[Parents, Floats] = {}

    def score(self, child: int, parents: Parents, given: Parents) -> float:
        """Return the log Bayes factor of regressions on `parents` in the cells of `given` over no parents at all."""
        if child not in self._alone:
            self._alone[child] = self._evidence(child, (), ())
        return self._evidence(child, parents, given) - self._alone[child]

    def _evidence(self, child: int, parents: Parents, given: Parents) -> float:
        at, known = self._place[[*parents, child]], self._known.get(given)
        if known is None and self._is_worth_all(given):
            if len(self._known) >= _MOST:
                self._known.pop(next(iter(self._known)))
            known = self._known[given] = self._all_sums(given)
        if known is None:
            sums = self._sums(at, given)
        else:
            at = np.r_[0, 1 + at]
            sums = known[:, at[:, None], at]
        return float(log_evidence(sums[sums[:, 0, 0] > 0], self.prior).sum())

    def _is_worth_all(self, given: Parents) -> bool:
        """Return whether the sums of all variables are worth it: they are asked for often, and cells are few and filled.

        It depends on the table alone, and not on what was asked before: sums made another way differ in their last bits.
        """
        _, count = self.cells.of(given)
        size = self.scores.shape[1] + 1
        often = len(given) <= 1 or size <= _OFTEN
        return often and count * size**2 <= _KEPT and count * _FILLED <= self.cells.n

    def _sums(self, at: Ints, given: Parents) -> Floats:
        """Return the sums of products of one and some scores in cells, (cells, p + 1, p + 1); time O(n p^2)."""
        cell, count = self.cells.of(given)
        columns = [np.ones(len(cell)), *(self.scores[:, one].astype(np.float64, copy=False) for one in at)]
        p = len(columns)
        sums = np.empty((count, p, p))
        for a in range(p):
            for b in range(a + 1):
                sums[:, a, b] = sums[:, b, a] = np.bincount(cell, columns[a] * columns[b], minlength=count)
        release(self.scores)
        return sums

    def _all_sums(self, given: Parents) -> Floats:
        """Return the same of all scores by products of matrices: (cells, c + 1, c + 1); time O(n c^2)."""
        cell, count = self.cells.of(given)
        size = self.scores.shape[1] + 1

        def of(piece: slice) -> Floats:
            order = np.argsort(cell[piece], kind="stable")
            own = cell[piece][order]
            rows = np.ones((len(own), size))
            rows[:, 1:] = self.scores[piece][order]
            starts = np.flatnonzero(np.r_[True, np.diff(own) > 0])
            found = np.zeros((count, size, size))
            for start, stop in zip(starts, np.r_[starts[1:], len(own)], strict=True):
                found[own[start]] = rows[start:stop].T @ rows[start:stop]
            return found

        return summed(of, len(cell), self.scores, width=2 * size)


def log_evidence(sums: Floats, prior: CellPrior) -> Floats:
    """Return the log marginal likelihoods of regressions from sums of products, (cells, p + 1, p + 1), response last."""
    rows, p = sums[:, 0, 0], sums.shape[1] - 1
    precision = sums[:, :p, :p] + prior.precision * np.eye(p)
    slopes = np.linalg.solve(precision, sums[:, :p, p:])[:, :, 0]
    rest = sums[:, p, p] - np.einsum("ij,ij->i", slopes, sums[:, :p, p])
    shape = prior.shape + rows / 2
    scale = prior.scale + np.maximum(rest, 0.0) / 2
    found: Floats = (
        0.5 * (p * np.log(prior.precision) - np.linalg.slogdet(precision)[1])
        + prior.shape * np.log(prior.scale)
        - shape * np.log(scale)
        + gammaln(shape)
        - gammaln(prior.shape)
        - 0.5 * rows * np.log(2 * np.pi)
    )
    return found
