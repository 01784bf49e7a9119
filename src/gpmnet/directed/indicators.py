r"""A discrete variable given continuous parents, within the cells of its discrete ones.

The child's indicators are regressed one after another, each given those before, on columns of the parents
(`gpmnet.directed.basis`). A linear regression of indicators says g nats a row where little is explained, and more than the
child has where much is; with :math:`H` the entropy of the child in the cells, it counts as :math:`H (1 - e^{-g/H})`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpmnet.directed.basis import Basis
from gpmnet.directed.cells import Cells
from gpmnet.directed.forward import Chosen, forward, sweep
from gpmnet.directed.score import Floats, Ints, Parents


@dataclass(frozen=True, eq=False)
class IndicatorFit:
    """A variable given parents, and what was chosen for each of its indicators."""

    child: int
    parents: Parents
    given: Parents
    score: float
    chosen: tuple[Chosen, ...]


class Indicators:
    """Scores of discrete variables given continuous parents."""

    def __init__(self, basis: Basis, cells: Cells) -> None:
        self._basis, self._within, self._cells = basis, basis.within, cells

    def fit(self, child: int, parents: Parents, given: Parents) -> IndicatorFit:
        """Return the regressions of a child's indicators on columns of parents, within the cells of `given`."""
        basis, own = self._basis, self._basis.blocks[child]
        columns = np.r_[own, basis.columns(parents)]
        price = basis.price(child, parents, len(own))
        left = self._within(columns, columns, given)
        n, chosen = self._within.rows_left(given), []
        for k in range(len(own)):
            at = np.r_[k, np.arange(len(own), len(left))]
            chosen.append(forward(left[at[:, None], at], price, n, basis.prices.noise))
            if left[k, k] > basis.prices.noise:
                sweep(left, k)
        gain = sum(found.gain for found in chosen)
        score = -sum(found.price for found in chosen)
        if gain:
            most = self._entropy(child, given)
            score += most * -np.expm1(-gain / most)
        return IndicatorFit(child, parents, given, float(score), tuple(chosen))

    def gains(self, fit: IndicatorFit, candidates: Ints) -> Floats:
        """Return what each candidate's columns are worth in addition to a fit."""
        basis, own = self._basis, self._basis.blocks[fit.child]
        columns, flat = basis.columns(fit.parents), basis.padded[candidates].ravel()
        price = basis.prices_of(fit.child, candidates, len(own))
        total = np.zeros(len(candidates))
        for k, chosen in enumerate(fit.chosen):
            used = np.r_[own[:k], columns[chosen.columns], own[k]]
            inner, outer = self._within(used, used, fit.given), self._within(used, flat, fit.given)
            total += basis.gains(inner, outer, fit.given, candidates, price, basis.prices.noise)
        return total

    def _entropy(self, child: int, given: Parents) -> float:
        """Return the entropy of all rows of a child in the cells of `given`, in nats; never quite nothing."""
        cell, count = self._cells.of(given)
        r = self._cells.levels[child]
        counts = np.bincount(cell * r + self._cells.codes[child], minlength=count * r).reshape(count, r)
        rows = counts.sum(axis=1, keepdims=True)
        share = counts / np.maximum(rows, 1)
        return max(float(-(counts * np.log(np.where(counts > 0, share, 1.0))).sum()), 1.0)
