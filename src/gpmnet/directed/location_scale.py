r"""A continuous variable given parents of any kind: a mean, a scale, and noise of any shape.

.. math:: z = m(x_{pa}) + \sigma(x_{pa}) u

with m and :math:`\sigma^2` sums of columns of the parents (`gpmnet.directed.basis`). The score is the log likelihood over that
of no parents: what the mean explains of the normal score z, what the columns explain of the squares of the rest, and how
far u is from normal (its negentropy, which a density of its own for u would gain; Hyvarinen 1998). Since it is a likelihood of
one law for z given its parents, and not a sum of dependences, the directions in which the law holds gain the most: noise
that is not normal does not ask for more edges to be fitted the wrong way round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpmnet.directed.basis import Basis
from gpmnet.directed.forward import Chosen, forward
from gpmnet.directed.score import Floats, Ints, Parents

_REACH = 9.0
"""Squares of residuals count up to so many times their mean."""
_LEAST = 0.2
"""The least that a fitted variance can be of the mean one."""


@dataclass(frozen=True, eq=False)
class LocationScaleFit:
    """A variable given parents.

    Attributes
    ----------
    score : float
    mean, scale : Chosen
        Columns, by their place among those of the parents; `scale` is None for a linear variable.
    """

    child: int
    parents: Parents
    score: float
    mean: Chosen
    scale: Chosen | None = None


class LocationScale:
    """Scores of continuous variables given parents."""

    def __init__(self, basis: Basis) -> None:
        self._basis, self._within = basis, basis.within
        self._phi, self._n = basis.within.moments.phi, basis.within.moments.n

    def fit(self, child: int, parents: Parents) -> LocationScaleFit:
        """Return the regressions of a child on columns of its parents."""
        basis, columns = self._basis, self._basis.columns(parents)
        if not len(columns):
            return LocationScaleFit(child, parents, 0.0, _NOTHING, None if basis.is_linear[child] else _NOTHING)
        n, all_columns = self._within.rows_left(()), np.r_[basis.blocks[child][0], columns]
        moments = self._within(all_columns, all_columns)
        price = basis.price(child, parents, self._responses(child))
        mean = forward(moments, price, n, basis.prices.noise)
        score = mean.gain - mean.price
        if basis.is_linear[child]:
            return LocationScaleFit(child, parents, score, mean)
        rest = self._rest(child, columns[mean.columns])
        spread, noise = self._spread(rest)
        moments[0, 1:] = moments[1:, 0] = spread @ self._phi[:, columns] / self._n
        moments[0, 0] = spread @ spread / self._n
        scale = forward(moments, np.maximum(price, basis.bent(1)), n, noise)
        score += scale.gain - scale.price
        if len(mean.columns) or len(scale.columns):
            score += self._shape(rest, self._phi[:, columns[scale.columns]], spread)
        return LocationScaleFit(child, parents, score, mean, scale)

    def gains(self, fit: LocationScaleFit, candidates: Ints) -> Floats:
        """Return what each candidate's columns are worth in addition to a fit, to the mean and to the scale."""
        basis, columns = self._basis, self._basis.columns(fit.parents)
        flat = basis.padded[candidates].ravel()
        price = basis.prices_of(fit.child, candidates, self._responses(fit.child))
        used = np.r_[columns[fit.mean.columns], basis.blocks[fit.child][0]]
        inner, outer = self._within(used, used), self._within(used, flat)
        total = basis.gains(inner, outer, (), candidates, price, basis.prices.noise)
        if fit.scale is None:
            return total
        spread, noise = self._spread(self._rest(fit.child, columns[fit.mean.columns]))
        moments = spread @ self._phi / self._n
        used = columns[fit.scale.columns]
        inner = np.block(
            [[self._within(used, used), moments[used][:, None]], [moments[used], spread @ spread / self._n]]
        )
        outer = np.vstack([self._within(used, flat), moments[flat]])
        return total + basis.gains(inner, outer, (), candidates, np.maximum(price, basis.bent(1)), noise)

    def _responses(self, child: int) -> int:
        return 1 if self._basis.is_linear[child] else 2

    def _rest(self, child: int, columns: Ints) -> Floats:
        """Return what a regression on columns leaves of a child's normal score."""
        y = self._basis.blocks[child][:1]
        slopes = _slopes(self._within(columns, columns), self._within(columns, y)[:, 0])
        found: Floats = self._phi[:, y[0]] - self._phi[:, columns] @ slopes
        return found

    def _spread(self, rest: Floats) -> tuple[Floats, float]:
        """Return the squares of residuals, centred, and the share of them that is rounding."""
        square = np.minimum(rest**2 / (float(np.mean(rest**2)) + self._basis.prices.noise), _REACH)
        square -= square.mean()
        return square, max(self._basis.prices.noise, 1.0 - float(square.var()))

    def _shape(self, rest: Floats, columns: Floats, spread: Floats) -> float:
        """Return what a density of its own for the noise would gain, less the price of two numbers."""
        slopes = _slopes(columns.T @ columns / self._n, columns.T @ spread / self._n)
        u = rest / np.sqrt(np.maximum(1 + columns @ slopes, _LEAST))
        variance = float(np.mean(rest**2))
        share = variance / (variance + self._basis.prices.noise)
        return max(self._n * share * negentropy(u) - float(np.log(self._n)), 0.0)


def negentropy(u: Floats) -> float:
    """Return about how much less entropy values have than normal ones of the same variance, in nats.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> round(negentropy(rng.normal(size=100_000)), 3), round(negentropy(rng.laplace(size=100_000)), 2)
    (0.0, 0.05)
    """
    u = (u - u.mean()) / max(float(u.std()), 1e-12)
    even = float(np.mean(np.logaddexp(u, -u))) - np.log(2) - 0.374567207
    odd = float(np.mean(u * np.exp(-u * u / 2)))
    return 79.047 * even**2 + 7.4129 * odd**2


def _slopes(moments: Floats, with_response: Floats) -> Floats:
    found: Floats = np.linalg.solve(moments + 1e-9 * np.eye(len(moments)), with_response)
    return found


_NOTHING = Chosen(0.0, 0.0, np.empty(0, dtype=np.intp))
