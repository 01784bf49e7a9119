r"""A discrete variable given continuous parents, within the cells of its discrete ones.

The child's indicators are regressed one after another, each given those before, on columns of the parents
(`gpmnet.directed.basis`): that chooses the columns. What these are worth is the log likelihood of a multinomial logit on
them (`gpmnet.directed.logit`) over that of the cells: a likelihood, as the other direction has one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.basis import Basis
from gpmnet.directed.cells import Cells
from gpmnet.directed.forward import Chosen, forward, sweep
from gpmnet.directed.logit import logit_gain
from gpmnet.directed.score import Floats, Ints, Parents
from gpmnet.table.space import release


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
        score = -sum(found.price for found in chosen)
        used = np.unique(np.concatenate([found.columns for found in chosen]))
        if len(used):
            score += self._worth(child, columns[len(own) + used], given)
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

    def _worth(self, child: int, columns: Ints, given: Parents) -> float:
        """Return the log likelihood of a logit on columns, beyond the cells."""
        cell, count = self._cells.of(given)
        codes, r = self._cells.codes[child], self._cells.levels[child]
        counts = np.bincount(cell * r + codes, minlength=count * r).reshape(count, r) + 1.0 / r
        offset = np.log(counts / counts.sum(axis=1, keepdims=True))
        phi, means = self._within.moments.phi, np.zeros((count, len(columns)))
        if given:
            rows = np.bincount(cell, minlength=count)
            share = np.sqrt(rows[rows > 0] / len(cell))
            means[rows > 0] = self._within.means(given)[:, columns] / share[:, None]

        def some(piece: slice) -> tuple[Floats, NDArray[np.integer], Floats]:
            values = phi[piece][:, columns].astype(np.float64, copy=False)
            release(phi)
            own = cell[piece]
            return (values - means[own] if given else values), codes[piece], offset[own]

        return logit_gain(some, len(cell), len(columns), r)
