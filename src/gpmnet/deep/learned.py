r"""The test of an edge in the direction that an energy has learned.

The residual features :math:`r_i, r_j` of a pair, given a set S, come from the regressions of the local engine. An energy
fitted to other rows says how the pair interacts where the rest of a row is x: its double-centred interaction g, written in
the features,

.. math:: g(x_i, x_j; x) \approx \varphi_i(x_i)^\top C(x)\, \varphi_j(x_j), \qquad T = r_i^\top C(x)\, r_j .

C depends on the rest alone, so the mean of T is 0 if the pair is independent given the rest, up to a product of two
regression errors, whatever the energy is worth; it is positive if the energy has something of the truth. So a parity
of many variables, which no product of two features shows, is found by a test with one degree of freedom.

The rows are cut into folds, and each fold is tested with an energy that has not seen it. The folds' statistics depend
on each other through the energies, so their p-values are joined by the Cauchy combination.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.energies import Energy, Layout
from gpmnet.local.edge_test import EdgeTest, combine
from gpmnet.local.features import continuous_features

REACH, POINTS = 2.1, 7
"""Grid of normal scores on which an interaction is looked at: so many points between -REACH and REACH."""
_ROWS = 4096  # rows at a time


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
    test : EdgeTest
        Of the same rows, its variables in the table's order.
    h : Tensor of shape (n, D)
        The rows as the energies see them.
    order : Tensor of shape (d,)
        Position of each variable of the table in the layout.
    folds : list of Fold
    """

    def __init__(self, test: EdgeTest, h: Tensor, order: Tensor, folds: list[Fold]) -> None:
        self.test, self.h, self.order, self.folds = test, h, order, folds
        self.layout = folds[0].energy.layout
        self.bases = [_basis(self.layout, test, v, int(at)) for v, at in enumerate(order)]

    @torch.no_grad()
    def log_p(self, first: Tensor, second: Tensor, given: Tensor) -> Tensor:
        """Return log p-values (B,) of pairs (B,) given sets (B, s; -1 pads).

        Time O(n (p^2 + POINTS^2 H)) a pair; the regressions are done pair by pair.
        """
        found = torch.zeros(len(first), dtype=torch.float64, device=first.device)
        for at in range(len(first)):
            i, j = int(first[at]), int(second[at])
            set_ = given[at : at + 1]
            set_ = set_[:, set_[0] >= 0]
            left, right = (self.test.residuals(torch.stack([v]), set_)[0] for v in (first[at], second[at]))
            parts = [self._fold(fold, i, j, left[fold.rows], right[fold.rows]) for fold in self.folds]
            found[at] = combine(torch.stack(parts))
        return found

    def _fold(self, fold: Fold, i: int, j: int, left: Tensor, right: Tensor) -> Tensor:
        """Return the log p-value of the rows of a fold."""
        h = self.h[fold.rows]
        score = torch.cat(
            [
                torch.einsum("nk,nkl,nl->n", left[at], self._weights(fold.energy, h[at], i, j), right[at])
                for at in (slice(k, k + _ROWS) for k in range(0, len(h), _ROWS))
            ]
        )
        size = score.square().sum().sqrt()
        if float(size) == 0:
            return score.new_tensor(torch.nan)
        return torch.special.log_ndtr(-score.sum() / size)

    def _weights(self, energy: Energy, h: Tensor, i: int, j: int) -> Tensor:
        """Return C (n, K_i, K_j)."""
        one, two = self.bases[i], self.bases[j]
        at_i, at_j = int(self.order[i]), int(self.order[j])
        value = energy.pair_values(
            h, at_i, one.values.expand(len(h), -1, -1), at_j, two.values.expand(len(h), -1, -1)
        )
        value = value.double()
        value = value - (one.weight[:, None] * value).sum(dim=1, keepdim=True)
        value = value - (two.weight * value).sum(dim=2, keepdim=True)
        return one.dual.mT @ value @ two.dual


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


def _basis(layout: Layout, test: EdgeTest, variable: int, place: int) -> _Basis:
    f = test.features
    width = int(f.width[variable])
    if place < layout.n_continuous:
        grid = torch.linspace(-REACH, REACH, POINTS, dtype=torch.float64, device=f.device)
        weight = torch.softmax(-0.5 * grid.square(), dim=0)
        rank = (torch.special.ndtr(grid) * f.n - 0.5).round().long().clamp(0, f.n - 1)
        phi = torch.as_tensor(continuous_features(f.n, width), device=f.device)[rank]
        values = grid[:, None]
    else:
        columns = layout.columns(place)
        start, m = columns.start - layout.n_continuous, columns.stop - columns.start
        values = layout.level_rows()[start : start + m, start : start + m].to(f.device)
        weight = torch.tensor(layout.shares[start : start + m], dtype=torch.float64, device=f.device)
        phi = values[:, 1:]
    gram = phi.mT @ (weight[:, None] * phi)
    factor = torch.linalg.cholesky(gram + 1e-6 * torch.eye(len(gram)).to(gram))
    dual = torch.cholesky_solve((weight[:, None] * phi).mT, factor).mT
    return _Basis(values.float(), weight, dual)


def strongest(first: Tensor, second: Tensor, log_p: Tensor, level: float, most: int, d: int) -> Tensor:
    """Return, for each of d nodes, the partners of pairs below a level, at most `most`, surest first: (d, s; -1 pads)."""
    keep = (log_p < math.log(level)).nonzero()[:, 0]
    keep = keep[log_p[keep].argsort(stable=True)]
    lists: list[list[int]] = [[] for _ in range(d)]
    for a, b in zip(first[keep].tolist(), second[keep].tolist(), strict=True):
        for node, other in ((a, b), (b, a)):
            if len(lists[node]) < most:
                lists[node].append(other)
    widest = max(1, *map(len, lists))
    rows = [row + [-1] * (widest - len(row)) for row in lists]
    return torch.tensor(rows, dtype=torch.int64, device=first.device)
