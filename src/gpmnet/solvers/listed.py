r"""Regularised score matching of the pairwise family where all pairs are too many: an active set.

The problem is that of `SparsePairwise`. Its solution has few pairs, and whether a pair that has no interaction would get
one is seen from the gradient: with A the slopes of the rows' losses in what the functions :math:`\varphi` are multiplied by
and :math:`G_{ij} = (A_i^\top \varphi_j + \varphi_i^\top A_j) / n`, it stays at 0 where
:math:`\|G_{ij}\| \le c_{ij}\, \rho'(0)`. So a list is fitted, all pairs are looked at with one matrix product in blocks,
those that break the rule join the list, and so on until none does: then the fit is stationary over all pairs, at a cost a
step that grows with the list. The unit c has a closed form,

.. math:: c_{ij}^2 = \frac1n \sum_r |A_i|^2 |\varphi_j|^2 + |\varphi_i|^2 |A_j|^2
          + 2 (A_i \cdot \varphi_i)(A_j \cdot \varphi_j) ,

at the fit without interactions: three products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from gpmnet.energies import Energy
from gpmnet.energies.listed import ListedPairwiseEnergy
from gpmnet.objectives import Objective
from gpmnet.penalties import Penalty
from gpmnet.solvers.proximal import MOST_STEPS, PairMasks, Scales, Solved, SparsePairwise, function_roots

_ROUNDS = 20  # looks at all pairs, at most
_JOINING = 4.0  # pairs a variable that join the list in one round, at most
_SLACK = 1.01  # a gradient may be above its bound by as much as the fit leaves
_BLOCK = 256  # variables on either side of a product

Sizes = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class _Sides:
    """The two factors of every pair's gradient in orthonormal functions, (d, W, n) each."""

    slope: Tensor
    phi: Tensor

    def norms(self, rows: slice, columns: slice) -> Tensor:
        """Return the norm of the mean gradient of each pair of two runs of variables: (a, b)."""
        left = torch.cat([self.slope[rows], self.phi[rows]], dim=2)
        right = torch.cat([self.phi[columns], self.slope[columns]], dim=2)
        (a, w, _), b = left.shape, len(right)
        product = left.flatten(0, 1) @ right.flatten(0, 1).mT / self.phi.shape[2]
        return product.reshape(a, w, b, w).square().sum(dim=(1, 3)).sqrt()


class ListedPairwise(SparsePairwise):
    """Fits the pairwise part of an energy to rows, with a list of pairs that grows where the gradient asks for it.

    Parameters
    ----------
    base, h, objective, masks, generator, most_steps :
        See `SparsePairwise`.
    pairwise : ListedPairwiseEnergy
    """

    copies: ClassVar[float] = 1.0
    pairwise: ListedPairwiseEnergy

    def __init__(
        self,
        base: Energy,
        pairwise: ListedPairwiseEnergy,
        h: Tensor,
        objective: Objective,
        masks: PairMasks,
        generator: torch.Generator,
        most_steps: int = MOST_STEPS,
    ) -> None:
        self.masks = masks
        self.n_rounds = 0
        pairwise.remember(h)
        super().__init__(base, pairwise, h, objective, masks, generator, most_steps)
        self.closed = self.free = h.new_zeros(0, dtype=torch.bool)
        sides = self._sides()
        slope, phi = sides.slope.square().sum(dim=1), sides.phi.square().sum(dim=1)
        self._energies = slope, phi, (sides.slope * sides.phi).sum(dim=1)

    def solve(self, penalty: Penalty, sizes: Sizes) -> Solved:
        """Fit, look at all pairs, and fit again with those that would get an interaction, until there are none.

        Parameters
        ----------
        sizes : callable
            Factor of the units of pairs of variables, given as two tensors that broadcast.
        """
        free = torch.triu(self.masks.free, diagonal=1).nonzero()
        self._relist(torch.cat([free, self._entering(penalty, sizes)]), sizes)
        solved, self.n_rounds = self.fit(penalty), 1
        while self.n_rounds < _ROUNDS and len(more := self._entering(penalty, sizes)):
            self._relist(torch.cat([self.pairwise.pairs, more]), sizes)
            solved = _longer(solved, self.fit(penalty))
            self.n_rounds += 1
        settled = self.n_rounds < _ROUNDS
        self._prune(sizes)
        self.pairwise.remember(None)
        return replace(solved, converged=solved.converged and settled)

    def noise_of(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the units c of listed pairs of variables, (m,) and (m,): (m,)."""
        slope, phi, both = (x.flatten(1) for x in self._energies)
        found = []
        for i, j in zip(*(torch.split(end, 1 << 14) for end in (first, second)), strict=True):
            square = slope[i] * phi[j] + phi[i] * slope[j] + 2 * both[i] * both[j]
            found.append(square.mean(dim=1))
        return torch.cat(found or [slope.new_zeros(0)]).clamp(min=1e-12).sqrt()

    @torch.no_grad()
    def _entering(self, penalty: Penalty, sizes: Sizes) -> Tensor:
        """Return the pairs outside the list whose gradient is above their bound, the strongest first, (m, 2)."""
        sides, (slope, phi, both), d = self._sides(), self._energies, self.pairwise.coordinates.n_variables
        listed = torch.zeros((d, d), dtype=torch.bool, device=self.h.device)
        listed[self.pairwise.pairs[:, 0], self.pairwise.pairs[:, 1]] = True
        bound = float(penalty.derivative(self.h.new_zeros(1)))
        names = torch.arange(d, device=self.h.device)
        pairs, ratios = [], []
        for rows, columns in _blocks(d):
            square = slope[rows] @ phi[columns].mT + phi[rows] @ slope[columns].mT
            square = (square + 2 * both[rows] @ both[columns].mT) / len(self.h)
            unit = square.clamp(min=1e-12).sqrt() * sizes(names[rows, None], names[None, columns]).to(square)
            ratio = sides.norms(rows, columns) / (unit * bound)
            skip = listed[rows, columns] | self.masks.closed[rows, columns]
            above = (ratio > _SLACK) & ~skip & (names[rows, None] < names[None, columns])
            i, j = above.nonzero(as_tuple=True)
            pairs.append(torch.stack([names[rows][i], names[columns][j]], dim=1))
            ratios.append(ratio[i, j])
        order = torch.cat(ratios).argsort(descending=True, stable=True)[: int(_JOINING * d)]
        return torch.cat(pairs)[order]

    def _sides(self) -> _Sides:
        """Return the factors of the gradients at the present parameters."""
        energy = self.pairwise
        slopes = energy.slopes(lambda: self._losses(self.h), len(self.h))
        phi, root = energy.phi(self.h), self._roots()
        return _Sides(*(root.mT @ energy.by_variable(x) for x in (slopes, phi)))

    def _roots(self) -> Tensor:
        """Return what makes the functions of each variable orthonormal in their derivatives, (d, W, W)."""
        return self.scales.root[
            (torch.arange(len(self.pairwise.slots)) >= self.pairwise.coordinates.n_continuous).long()
        ]

    def _relist(self, pairs: Tensor, sizes: Sizes) -> None:
        self.pairwise.relist(pairs, self.pairwise.blocks(pairs))
        self._take_units(sizes)

    def _prune(self, sizes: Sizes) -> None:
        """Drop the pairs without an interaction, but for those that are not penalised."""
        keep = (self.pairwise.theta.detach() != 0).any(dim=2).any(dim=1) | self.free
        self._relist(self.pairwise.pairs[keep], sizes)

    def _take_units(self, sizes: Sizes) -> None:
        i, j = self.pairwise.pairs.unbind(dim=1)
        self.closed, self.free = self.masks.closed[i, j], self.masks.free[i, j]
        value, slope = self._curvatures
        s = self.scales
        s.curvature = (value[i] * slope[j] + slope[i] * value[j]).clamp(min=1e-3)
        s.noise = self.noise_of(i, j) * sizes(i, j).to(self.h)

    @torch.no_grad()
    def _scales(self) -> Scales:
        energy, h = self.pairwise, self.h
        coordinates, k, width = energy.coordinates, energy.n_functions, energy.slots.shape[1]
        root = torch.eye(width).to(h).repeat(2, 1, 1)  # of a continuous variable, of a discrete one
        own_root = torch.eye(k + 1).to(h)
        if coordinates.n_continuous:
            own_root, root[0, :k, :k] = function_roots(energy, h)
        kind = (torch.arange(coordinates.n_variables) >= coordinates.n_continuous).long()
        white = root[kind].mT @ energy.by_variable(energy.phi(h))
        value = torch.linalg.eigvalsh(white @ white.mT / len(h))[:, -1]
        white = white - white.mean(dim=2, keepdim=True)
        slope = torch.linalg.eigvalsh(white @ white.mT / len(h))[:, -1].clamp(min=1e-3)
        slope[: coordinates.n_continuous] = 1.0
        self._curvatures = value, slope
        nothing = h.new_zeros(0)
        levels = slope[energy.variable[coordinates.n_continuous * k :]]
        return Scales(root, own_root, nothing, levels, nothing)

    def _noise(self) -> Tensor:
        return self.h.new_zeros(0)  # known once there is a list

    def _gradient(self, loss: Tensor) -> list[Tensor]:
        theta, own, levels = self._slopes(loss)
        (left, right), s = self._ends(), self.scales
        return [left.mT @ theta @ right, own @ s.own_root, levels]

    @torch.no_grad()
    def _read(self) -> list[Tensor]:
        p, (left, right) = self.pairwise, self._ends()
        half = torch.linalg.solve_triangular(left, p.theta.detach(), upper=True)
        theta = torch.linalg.solve_triangular(right, half.mT, upper=True).mT
        own = torch.linalg.solve_triangular(self.scales.own_root, p.own.mT, upper=True).mT
        return [theta, own.clone(), p.own_levels.clone()]

    @torch.no_grad()
    def _write(self, x: list[Tensor]) -> None:
        p, (left, right) = self.pairwise, self._ends()
        p.theta.copy_(left @ x[0] @ right.mT)
        p.own.copy_(x[1] @ self.scales.own_root.mT)
        p.own_levels.copy_(x[2])

    def _ends(self) -> tuple[Tensor, Tensor]:
        dc = self.pairwise.coordinates.n_continuous
        one, two = (self.scales.root[(end >= dc).long()] for end in self.pairwise.pairs.unbind(dim=1))
        return one, two

    def _norms(self, theta: Tensor) -> Tensor:
        return theta.square().sum(dim=(1, 2)).sqrt()

    def _spread(self, blocks: Tensor) -> Tensor:
        return blocks[:, None, None]

    def _symmetric(self, theta: Tensor) -> Tensor:
        return theta

    def _different(self, theta: Tensor) -> Tensor:
        return theta

    def _own_gaps(self, gaps: Tensor) -> Tensor:
        return gaps[:, None]

    def _pair_gaps(self, gaps: Tensor) -> Tensor:
        total = gaps.new_zeros(self.pairwise.coordinates.n_variables)
        for end in self.pairwise.pairs.unbind(dim=1):
            total = total.index_add(0, end, gaps.square())
        return total.sqrt()[:, None]


def _blocks(d: int) -> Iterator[tuple[slice, slice]]:
    """Yield runs of variables that cover every pair once."""
    for a in range(0, d, _BLOCK):
        for b in range(a, d, _BLOCK):
            yield slice(a, min(a + _BLOCK, d)), slice(b, min(b + _BLOCK, d))


def _longer(one: Solved, other: Solved) -> Solved:
    """Return how two fits in a row ended: the steps of the longer, all else of the last."""
    return replace(other, steps=max(one.steps, other.steps))
