r"""Variables given parents through functions of one column: the basis score, from second moments alone.

A variable is the vector of its features :math:`f_1, f_2, \ldots` (z, then bounded functions of ever higher degree), and its
density given parents is taken in sequence: :math:`f_k` given :math:`f_1, \ldots, f_{k-1}` and some columns of the parents. A
column that leaves the share :math:`1 - r^2` of the variance of :math:`f_k` is worth

.. math:: -\frac n2 \log(1 - r^2) - \text{price},

columns are added while one is worth more than nothing, the best first. Means, variances and other shapes that change with
a parent are all seen this way; a variable whose dependences are linear has its first feature only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpmnet.checks import check_number
from gpmnet.directed.moments import Within
from gpmnet.directed.score import Floats, Ints, Parents
from gpmnet.parts import Part


@dataclass(frozen=True)
class Prices(Part):
    """What a column of a parent costs.

    Attributes
    ----------
    linear : float
        Times log n, of the first column of a variable as parent of a variable with one feature.
    bent : float
        Times log n, of any other column; to it comes the log of the number of columns that it was chosen among.
    noise : float
        Share of a feature's variance that is never explained: what is left beyond it is rounding, not evidence.
    """

    linear: float = 0.5
    first: float = 1.0
    bent: float = 1.0
    noise: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("linear", "bent", "noise"):
            check_number(self, name, 0.0)


@dataclass(frozen=True, eq=False)
class BasisFit:
    """A variable given parents.

    Attributes
    ----------
    score : float
    chosen : tuple of ndarray of int
        Columns that are in the regression of each feature.
    """

    score: float
    chosen: tuple[Ints, ...]


class BasisScore:
    """Scores of variables given the columns of parents, within the cells of other parents."""

    def __init__(self, within: Within, prices: Prices) -> None:
        self.within, self.prices = within, prices
        moments = within.moments
        self._blocks, self._padded = moments.blocks, moments.padded
        self._width = np.array([len(block) for block in self._blocks])
        self._log_n = float(np.log(moments.n))

    def fit(self, child: int, parents: Parents, given: Parents = ()) -> BasisFit:
        """Return the regressions of a child's features on columns of parents, within the cells of `given`."""
        own = self._blocks[child]
        cells: Ints = np.concatenate([self._blocks[p] for p in parents]) if parents else own[:0]
        score, chosen = 0.0, []
        moments = self.within.block(given, np.r_[own, cells], np.r_[own, cells])
        n = self.within.n(given)
        for k in range(len(own)):
            price = np.concatenate([self._price(child, k, p) for p in parents]) if parents else np.empty(0)
            gain, taken = _forward(moments, k, len(own), price, n, self.prices.noise)
            score += gain
            chosen.append(cells[taken])
            if k < len(own) - 1:
                _sweep(moments, k)
        return BasisFit(score, tuple(chosen))

    def gains(self, child: int, fit: BasisFit, candidates: Ints, given: Parents = ()) -> Floats:
        """Return what each candidate's columns are worth in addition to a fit."""
        own, columns = self._blocks[child], self._padded[candidates]
        total = np.zeros(len(candidates))
        n = self.within.n(given)
        for k in range(len(own)):
            design = np.r_[own[:k], fit.chosen[k]]
            total += self._column_gains(child, k, design, candidates, columns, given, n)
        return total

    def _column_gains(
        self, child: int, k: int, design: Ints, candidates: Ints, columns: Ints, given: Parents, n: int
    ) -> Floats:
        y = self._blocks[child][k : k + 1]
        flat = columns.ravel()
        covariance = self.within.block(given, y, flat)[0]
        s = float(self.within.block(given, y, y)[0, 0])
        variance = self._variances(given, flat)
        known = np.zeros((0, len(flat)))
        if len(design):
            inner = self.within.block(given, design, design)
            inner[np.diag_indices_from(inner)] += 1e-9
            root = np.linalg.inv(np.linalg.cholesky(inner))
            known = root @ self.within.block(given, design, flat)
            at_y = (root @ self.within.block(given, design, y))[:, 0]
            covariance = covariance - at_y @ known
            variance = variance - np.einsum("ij,ij->j", known, known)
            s -= float(at_y @ at_y)
        price = self._prices(child, k, candidates)
        gain = _gain(covariance, variance, s, n, self.prices.noise).reshape(columns.shape) - price
        best = gain.max(axis=1)
        total = np.maximum(best, 0.0)
        # further columns of the few candidates that have one
        wide = (best > 0) & (self._width[candidates] > 1)
        for at in np.flatnonzero(wide).tolist():
            m = int(self._width[candidates[at]])
            here = slice(at * columns.shape[1], at * columns.shape[1] + m)
            moments = np.empty((m + 1, m + 1))
            inner = self.within.block(given, flat[here], flat[here])
            moments[1:, 1:] = inner - known[:, here].T @ known[:, here]
            moments[0, 1:] = moments[1:, 0] = covariance[here]
            moments[0, 0] = s
            total[at] = _forward(moments, 0, 1, price[at, :m], n, self.prices.noise)[0]
        return total

    def _variances(self, given: Parents, flat: Ints) -> Floats:
        found: Floats = self.within.moments.gram[flat, flat]
        if given:
            means = self.within._means(given)[0][:, flat]
            found = found - np.einsum("ij,ij->j", means, means)
        return found

    def _price(self, child: int, k: int, parent: int) -> Floats:
        return self._prices(child, k, np.array([parent]))[0, : self._width[parent]]

    def _prices(self, child: int, k: int, candidates: Ints) -> Floats:
        """Return the price of each column of candidates as explanation of feature k, (candidates, widest)."""
        choices = self._width[candidates] * self._width[child]
        bent = self.prices.bent * self._log_n + np.log(choices)
        found = np.repeat(bent[:, None], self._padded.shape[1], axis=1)
        if k == 0:
            linear = np.where(choices == 1, self.prices.linear, self.prices.first)
            found[:, 0] = linear * self._log_n
        return found


def _gain(covariance: Floats, variance: Floats, s: float, n: int, noise: float) -> Floats:
    """Return what columns are worth before their price; nothing where all but `noise` of one is known already."""
    usable = variance > noise
    explained = np.where(usable, covariance**2 / np.where(usable, variance, 1.0), 0.0)
    found: Floats = 0.5 * n * (np.log(s + noise) - np.log(np.maximum(s - explained, 0.0) + noise))
    return found


def _forward(
    moments: Floats, y: int, first: int, price: Floats, n: int, noise: float
) -> tuple[float, list[int]]:
    """Return what the columns from `first` on are worth to column y, added one after another, and which were."""
    columns = np.r_[y, np.arange(first, len(moments))]
    left = moments[columns[:, None], columns]
    score, taken = 0.0, list[int]()
    while len(taken) < len(price):
        gain = _gain(left[0, 1:], left.diagonal()[1:], float(left[0, 0]), n, noise) - price
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        score += float(gain[best])
        taken.append(best)
        _sweep(left, best + 1)
    return score, taken


def _sweep(moments: Floats, at: int) -> None:
    """Take one column off all others, and itself to zero."""
    column = moments[at].copy()
    moments -= np.outer(column, column / column[at])
    moments[at] = moments[:, at] = 0.0
