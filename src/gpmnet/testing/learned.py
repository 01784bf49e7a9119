r"""The test of an edge in the direction that an energy has learned.

The residual features :math:`r_i, r_j` of a pair, given a set S, come from the regressions of the local engine. An energy
fitted to other rows says how the pair interacts where the rest of a row is x: its double-centred interaction g, written in
the features,

.. math:: g(x_i, x_j; x) \approx \varphi_i(x_i)^\top C(x)\, \varphi_j(x_j), \qquad T = r_i^\top C(x)\, r_j .

C depends on the rest alone, so the mean of T is 0 if the pair is independent given the rest, up to a product of two
regression errors, whatever the energy is worth; it is positive if the energy has something of the truth. So a parity
of many variables, which no product of two features shows, is found by a test with one degree of freedom.

The sum of T over a fold is compared with its standard error, whose square is the larger of

.. math:: \sum T^2 \quad\text{and}\quad \sum \mathrm{tr}\,\big(C(x)\, V_j(x_S)\, C(x)^\top V_i(x_S)\big),

the second one what independence implies, V the fitted conditional covariances. The first alone fails where a cell that
should have a few rows has none by chance: nothing that varies is then left in it. Both are divided by 1 - df/n, the
share of a residual's variance that the regression leaves.

The rows are cut into folds, and each fold is tested with an energy that has not seen it. The folds' statistics depend
on each other through the energies, so their p-values are joined by the Cauchy combination.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.energies import Energy
from gpmnet.energies.grids import level_grid
from gpmnet.testing.base import BoundTest, packed
from gpmnet.testing.blocks import budget
from gpmnet.testing.p_values import cauchy_combination
from gpmnet.testing.regression import Regression
from gpmnet.testing.residuals import Residuals

REACH, POINTS = 2.1, 7
"""Grid of normal scores on which an interaction is looked at: so many points between -REACH and REACH, and no more for
columns with ties."""
ROWS = 4096
"""Rows at which it is looked at a time."""
_WIDE = 6  # the second moments of more features than this are too many to fit: they are taken for constant
_LOOKED_AT = 32  # rows by which it is seen whether an energy says anything of a pair
_AT_ONCE = 32  # pairs whose regressions are made together
_SILENT = 1e-5  # an interaction below this share of the energy's values is rounding: the energy says nothing of the pair


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows, and an energy that has not seen them.

    Attributes
    ----------
    rows : Tensor of shape (m,)
        Positions in the table.
    energy : Energy
    """

    rows: Tensor
    energy: Energy


class LearnedTest:
    """Tests pairs in learned directions.

    Parameters
    ----------
    test : BoundTest
        Of the same rows, its variables in the table's order.
    h : Tensor of shape (n, D)
        The rows as the energies see them.
    order : Tensor of shape (d,)
        Position of each variable of the table in the coordinates.
    folds : list of Fold
    """

    def __init__(self, test: BoundTest, h: Tensor, order: Tensor, folds: list[Fold]) -> None:
        self.test, self.h, self.order, self.folds = test, h, order, folds
        self.features = test.designs.features
        self.coordinates = folds[0].energy.coordinates
        self.bases = [self._basis(v, int(at)) for v, at in enumerate(order)]

    @torch.no_grad()
    def log_p(self, first: Tensor, second: Tensor, given: Tensor) -> Tensor:
        """Return log p-values (B,) of pairs (B,) given sets (B, s; -1 pads).

        0 where no energy says anything of a pair, which a few rows show. Time O(n (p^2 + POINTS^2 H)) for each other pair, p
        columns of the regression, H units of the energy; regressions on sets of one shape are made together.
        """
        found = torch.zeros(len(first), dtype=torch.float64, device=first.device)
        said = [self._is_said(i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
        says = torch.tensor(said, dtype=torch.bool, device=first.device).nonzero()[:, 0]
        sets = packed(given[says])
        for part in self.test.designs.batches(sets, budget(first.device)):
            for alike in torch.split(part, _AT_ONCE):
                at = says[alike]
                found[at] = self._batch(first[at], second[at], sets[alike])
        return found

    def _is_said(self, i: int, j: int) -> bool:
        """Return whether any energy has an interaction of a pair at any of a few rows."""
        return any(
            bool(self._weights(fold.energy, self.h[fold.rows[:_LOOKED_AT]], i, j).any())
            for fold in self.folds
        )

    def _batch(self, first: Tensor, second: Tensor, given: Tensor) -> Tensor:
        """Return log p-values (b,) of pairs whose sets (b, s) have one shape."""
        designs = self.test.designs
        table = designs.table(given, torch.cat([given.flatten(), first, second]))
        regression = designs.regress(given, [first, second], table)
        left = Residuals.of(self.features, table, regression, [first, second])
        ends = [
            self._ends(regression, x.value.double(), end)
            for x, end in zip(left, (first, second), strict=True)
        ]
        found = []
        for at, (one, two) in enumerate(zip(*ends, strict=True)):
            i, j, free = int(first[at]), int(second[at]), float(regression.left[at])
            parts = [self._fold(f, i, j, one.take(f.rows), two.take(f.rows), free) for f in self.folds]
            found.append(cauchy_combination(torch.stack(parts)))
        return torch.stack(found)

    def _basis(self, variable: int, place: int) -> _Basis:
        f = self.features
        if place >= self.coordinates.n_continuous:
            values, weight = (part.to(f.device) for part in level_grid(self.coordinates, place))
            return _Basis.of(values, weight, values[:, 1:])
        order = self.h[:, place].argsort()
        start = int(f.start[variable])
        phi = f.phi[order, start : start + int(f.width[variable])].double()
        sizes = _tie_sizes(phi)
        if len(sizes) < f.n:
            return _tied_basis(self.h[order, place].double(), phi, sizes)
        grid = torch.linspace(-REACH, REACH, POINTS, dtype=torch.float64, device=f.device)
        rank = (torch.special.ndtr(grid) * f.n - 0.5).round().long().clamp(0, f.n - 1)
        return _Basis.of(grid[:, None], torch.softmax(-0.5 * grid.square(), dim=0), phi[rank])

    def _ends(self, regression: Regression, residual: Tensor, variables: Tensor) -> list[_End]:
        """Return what sets leave of variables (b,), from their residual features (b, n, K), and their covariances."""
        n, k = residual.shape[1:]
        spread = (residual.mT @ residual / n)[:, None].expand(-1, n, k, k)
        if k <= _WIDE:
            square = (residual[..., :, None] * residual[..., None, :]).flatten(2)
            fitted = regression.fitted(square - square.mean(dim=1, keepdim=True))
            spread = spread + torch.unflatten(fitted, 2, (k, k))
        width = self.features.width[variables].tolist()
        return [_End(x[:, :w], v[:, :w, :w]) for x, v, w in zip(residual, spread, width, strict=True)]

    def _fold(self, fold: Fold, i: int, j: int, one: _End, two: _End, left: float) -> Tensor:
        """Return the log p-value of the rows of a fold, NaN where the energy says nothing of the pair."""
        h = self.h[fold.rows]
        total, seen, due = h.new_zeros(3, dtype=torch.float64)
        for start in range(0, len(h), ROWS):
            at = slice(start, start + ROWS)
            weights = self._weights(fold.energy, h[at], i, j)
            score = torch.einsum("nk,nkl,nl->n", one.residual[at], weights, two.residual[at])
            total, seen = total + score.sum(), seen + score.square().sum()
            turned = weights @ two.spread[at] @ weights.mT
            due = due + (turned * one.spread[at]).sum()
        size = torch.maximum(seen, due)
        if float(size) <= 0:
            return size.new_tensor(torch.nan)
        log_p: Tensor = torch.special.log_ndtr(-total * (left / size).sqrt())
        return log_p

    def _weights(self, energy: Energy, h: Tensor, i: int, j: int) -> Tensor:
        """Return C (n, K_i, K_j)."""
        one, two = self.bases[i], self.bases[j]
        at_i, at_j = int(self.order[i]), int(self.order[j])
        value = energy.pair_values(
            h, at_i, one.values.expand(len(h), -1, -1), at_j, two.values.expand(len(h), -1, -1)
        )
        value = value.double()
        rounding = _SILENT * value.abs().amax().clamp(min=1.0)
        value = value - (one.weight[:, None] * value).sum(dim=1, keepdim=True)
        value = value - (two.weight * value).sum(dim=2, keepdim=True)
        value = value * (value.abs() > rounding)
        return one.dual.mT @ value @ two.dual


@dataclass(frozen=True, eq=False)
class _End:
    """What a set leaves of a variable.

    Attributes
    ----------
    residual : Tensor of shape (n, K)
    spread : Tensor of shape (n, K, K)
        Its conditional covariance, fitted.
    """

    residual: Tensor
    spread: Tensor

    def take(self, rows: Tensor) -> _End:
        """Return some rows."""
        return _End(self.residual[rows], self.spread[rows])


@dataclass(frozen=True, eq=False)
class _Basis:
    """The features of a variable on a grid.

    Attributes
    ----------
    values : Tensor of shape (g, w)
        Grid, as columns of h.
    weight : Tensor of shape (g,)
        Share of each point.
    dual : Tensor of shape (g, K)
        Maps a function on the grid to its coefficients in the features.
    """

    values: Tensor
    weight: Tensor
    dual: Tensor

    @classmethod
    def of(cls, values: Tensor, weight: Tensor, phi: Tensor) -> _Basis:
        """Return the basis of features (g, K) on a grid: least squares with the points' shares as weights."""
        gram = phi.mT @ (weight[:, None] * phi)
        factor = torch.linalg.cholesky(gram + 1e-6 * torch.eye(len(gram)).to(gram))
        return cls(values.float(), weight, torch.cholesky_solve((weight[:, None] * phi).mT, factor).mT)


def _tie_sizes(phi: Tensor) -> Tensor:
    """Return how many rows share each value, from features (n, K) of rows in the order of their values: (m,)."""
    new = (phi[1:] != phi[:-1]).any(dim=1).nonzero()[:, 0] + 1
    ends = torch.cat([new.new_zeros(1), new, new.new_full((1,), len(phi))])
    return torch.diff(ends)


def _tied_basis(z: Tensor, phi: Tensor, sizes: Tensor) -> _Basis:
    """Return the basis of a column with ties: its values, or at most POINTS cells of neighboring ones.

    Single rows at the ranks of a fixed grid would miss values and hit others by chance, which features that jump from
    one value to the next do not forgive; means over whole cells have the columns' own shares and moments.

    Parameters
    ----------
    z : Tensor of shape (n,)
        Scores, increasing.
    phi : Tensor of shape (n, K)
        Features of the same rows.
    sizes : Tensor of shape (m,)
        Rows of each value.
    """
    cell = _cells(sizes.tolist(), POINTS).to(z.device).repeat_interleave(sizes)
    count = torch.bincount(cell).double()
    sums = phi.new_zeros((len(count), 1 + phi.shape[1])).index_add(
        0, cell, torch.cat([z[:, None], phi], dim=1)
    )
    means = sums / count[:, None]
    return _Basis.of(means[:, :1], count / len(z), means[:, 1:])


def _cells(sizes: list[int], most: int) -> Tensor:
    """Return into which of at most `most` cells each value falls, about as many rows in each as the values allow.

    >>> _cells([70, 5, 5, 10, 2, 8], 3).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    if len(sizes) <= most:
        return torch.arange(len(sizes))
    found, cell, filled, left = [], 0, 0, sum(sizes)
    for size in sizes:
        found.append(cell)
        filled += size
        if cell < most - 1 and filled >= left / (most - cell):
            cell, filled, left = cell + 1, 0, left - filled
    return torch.tensor(found)


def strongest(first: Tensor, second: Tensor, log_p: Tensor, alpha: float, most: int, d: int) -> Tensor:
    """Return, for each of d nodes, the partners of pairs below a p-value, at most `most`, surest first: (d, s; -1 pads)."""
    keep = (log_p < math.log(alpha)).nonzero()[:, 0]
    keep = keep[log_p[keep].argsort(stable=True)]
    lists: list[list[int]] = [[] for _ in range(d)]
    for a, b in zip(first[keep].tolist(), second[keep].tolist(), strict=True):
        for node, other in ((a, b), (b, a)):
            if len(lists[node]) < most:
                lists[node].append(other)
    widest = max(1, *map(len, lists))
    rows = [row + [-1] * (widest - len(row)) for row in lists]
    return torch.tensor(rows, dtype=torch.int64, device=first.device)
