r"""A continuous variable given parents of any kind: a mean, a scale, and noise of any shape.

.. math:: z = m(x_{pa}) + \sigma(x_{pa}) u

with m and :math:`\sigma^2` sums of columns of the parents (`gpmnet.directed.basis`). The score is the log likelihood over
that of no parents: what the mean explains of the normal score z, what is gained by a scale that changes, and how far u is
from normal (its negentropy, which a density of its own for u would gain; Hyvarinen 1998). Since it is a likelihood of
one law for z given its parents, and not a sum of dependences, the directions in which the law holds gain the most: noise
that is not normal does not ask for more edges to be fitted the wrong way round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpmnet.directed.basis import Basis
from gpmnet.directed.forward import Chosen, forward
from gpmnet.directed.rows import most_kept
from gpmnet.directed.score import Floats, Ints, Parents

_REACH = 9.0
"""Squares of residuals count up to so many times their mean."""
_SURE = 4.0
"""Times log n a column: a parent worth that much to the mean is not spare."""
_RECENT = 64
"""Fits whose squares of residuals are kept, fewer of a long table."""
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
        self._moments, self._n = basis.within.moments, basis.within.moments.n
        self._recent: dict[tuple[int, Parents], tuple[Floats, float]] = {}

    def fit(self, child: int, parents: Parents) -> LocationScaleFit:
        """Return the regressions of a child on columns of its parents."""
        basis, columns = self._basis, self._basis.columns(parents)
        if not len(columns):
            return LocationScaleFit(
                child, parents, 0.0, _NOTHING, None if basis.is_linear[child] else _NOTHING
            )
        n, all_columns = self._within.rows_left(()), np.r_[basis.blocks[child][0], columns]
        moments = self._within(all_columns, all_columns)
        price = basis.price(child, parents, self._responses(child))
        mean = forward(moments, price, n, basis.prices.noise)
        score = mean.gain - mean.price
        if basis.is_linear[child]:
            return LocationScaleFit(child, parents, score, mean)
        rest = self._rest(child, columns[mean.columns])
        spread, noise = self._spread(rest)
        self._keep((child, parents), (spread, noise))
        moments[0, 1:] = moments[1:, 0] = self._moments.with_values(spread, columns)
        moments[0, 0] = spread @ spread / self._n
        scale = forward(moments, np.maximum(price, basis.bent(1)), n, noise)
        if len(mean.columns) or len(scale.columns):
            at = 1 + scale.columns
            slopes = _slopes(moments[at[:, None], at], moments[at, 0])
            score += self._noise(rest, self._moments.combined(columns[scale.columns], slopes)) - scale.price
        return LocationScaleFit(child, parents, score, mean, scale)

    def spare(self, fit: LocationScaleFit) -> tuple[int, ...]:
        """Return the parents whose columns are worth little to the mean: the others are not worth trying without."""
        basis, columns = self._basis, self._basis.columns(fit.parents)
        owner = np.repeat(np.array(fit.parents, dtype=np.intp), basis.width[list(fit.parents)])[
            fit.mean.columns
        ]
        used = np.r_[basis.blocks[fit.child][0], columns[fit.mean.columns]]
        inverse = np.linalg.inv(self._within(used, used) + 1e-9 * np.eye(len(used)))
        rest, n = 1.0 / inverse[0, 0], self._within.rows_left(())
        kept = []
        for parent in fit.parents:
            at = 1 + np.flatnonzero(owner == parent)
            # of the regression without some columns: Schur's complement in the inverse
            lost = (
                inverse[0, at] @ np.linalg.solve(inverse[at[:, None], at], inverse[0, at]) if len(at) else 0.0
            )
            without = 1.0 / max(float(inverse[0, 0] - lost), 1e-12)
            if 0.5 * n * np.log(without / rest) < _SURE * np.log(n) * max(len(at), 1):
                kept.append(parent)
        return tuple(kept)

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
        spread, noise = self._recent.get((fit.child, fit.parents)) or self._spread(
            self._rest(fit.child, columns[fit.mean.columns])
        )
        moments = self._moments.with_values(spread)
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
        found: Floats = self._moments.phi[:, y[0]] - self._moments.combined(columns, slopes)
        return found

    def _spread(self, rest: Floats) -> tuple[Floats, float]:
        """Return the squares of residuals, centred, and the share of them that is rounding."""
        square = np.minimum(rest**2 / (float(np.mean(rest**2)) + self._basis.prices.noise), _REACH)
        square -= square.mean()
        return square, max(self._basis.prices.noise, 1.0 - float(square.var()))

    def _keep(self, key: tuple[int, Parents], spread: tuple[Floats, float]) -> None:
        """Keep the squares of the latest fits: a search that takes a parent asks at once what to take next."""
        if len(self._recent) >= most_kept(self._n, _RECENT):
            self._recent.pop(next(iter(self._recent)))
        self._recent[key] = spread

    def _noise(self, rest: Floats, fitted: Floats) -> float:
        """Return what a scale that changes and a density of its own gain over normal noise of one scale, in nats."""
        variance = float(np.mean(rest**2))
        share = variance / (variance + self._basis.prices.noise)
        square = rest**2 / max(variance, 1e-12)
        scale = np.maximum(1 + fitted, _LEAST)
        scale *= float(np.mean(square / scale))  # the best multiple
        gain = -0.5 * float(np.log(scale).sum())
        shape = self._n * negentropy(rest / np.sqrt(scale)) - float(np.log(self._n))
        return share * gain + max(share * shape, 0.0)


def negentropy(u: Floats) -> float:
    r"""Return about how much less entropy values have than normal ones of the same variance, in nats.

    .. math:: \frac{24}{16 \sqrt 3 - 27} (E e^{-u^2/2} - \sqrt{1/2})^2 + \frac{36}{8 \sqrt 3 - 9} (E u e^{-u^2/2})^2,

    from two bounded functions, so that no tail decides (Hyvarinen 1998).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> round(negentropy(rng.normal(size=100_000)), 3), round(negentropy(rng.exponential(size=100_000)), 1)
    (0.0, 0.3)
    """
    unit = (u - u.mean()) / max(float(u.std()), 1e-12)
    bell = np.exp(-0.5 * unit * unit)
    even, odd = float(bell.mean()) - np.sqrt(0.5), float(np.mean(unit * bell))
    return float(24 / (16 * np.sqrt(3) - 27) * even**2 + 36 / (8 * np.sqrt(3) - 9) * odd**2)


def _slopes(moments: Floats, with_response: Floats) -> Floats:
    return np.asarray(np.linalg.solve(moments + 1e-9 * np.eye(len(moments)), with_response), dtype=np.float64)


_NOTHING = Chosen(0.0, 0.0, np.empty(0, dtype=np.intp))
