r"""Energies that see a row only through a linear map, L(h) = head(A h + b), with everything in closed form.

With a = A h + b in R^H, gradient g(a) and Hessian B(a) of the head and A_c the columns of A of the continuous
coordinates,

.. math:: \nabla_z L = A_c^\top g(a), \qquad \nabla_z^2 L = A_c^\top B(a) A_c,

so the Hessian has rank at most H whatever the number of variables, and no pass of autograd per coordinate is needed.
Setting a discrete variable to level k moves a by :math:`\delta_k = A_{\cdot k} - A_{\cdot x}`, x its observed level,
and setting two by the sum of their moves.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from gpmnet.energies.base import BUDGET, Energy, in_chunks
from gpmnet.memory import block_size


class LowRankEnergy(Energy):
    """An energy of the form head(A h + b).

    A subclass sets `weight` (H, D) and `bias` (H,) and gives the head with its first and second derivatives.

    Notes
    -----
    Temporaries of shape (n, c, H) are cut over levels, pairs of levels or coordinates so that they stay below
    `BUDGET` elements (64 MiB in float32), also in the backward pass, where a part that was cut is computed again.
    The results themselves, (n, dc, dc) and (n, S, S), and (n, H, H), (n, S, H) are not cut: pass fewer rows.
    """

    weight: Tensor
    bias: Tensor

    @abstractmethod
    def head(self, a: Tensor) -> Tensor:
        """Return the head at a (..., H): (...)."""

    @abstractmethod
    def head_gradient(self, a: Tensor) -> Tensor:
        """Return the gradient of the head at a (..., H): (..., H)."""

    @abstractmethod
    def head_hessian(self, a: Tensor) -> Tensor:
        """Return the Hessian of the head at a (..., H): (..., H, H)."""

    @property
    def width(self) -> int:
        """Number H of linear combinations that the head sees."""
        return len(self.weight)

    def project(self, h: Tensor) -> Tensor:
        """Return A h + b of rows (..., D): (..., H)."""
        return h @ self.weight.mT + self.bias

    def forward(self, h: Tensor) -> Tensor:
        """Return L of rows (..., D): (...)."""
        return self.head(self.project(h))

    def score(self, h: Tensor) -> Tensor:
        """Return dL/dz of rows (n, D): (n, dc)."""
        return self.head_gradient(self.project(h)) @ self._continuous()

    def curvature(self, h: Tensor) -> Tensor:
        """Return the second derivatives d2L/dz_i2 of rows (n, D): (n, dc)."""
        inner, a_c = self.head_hessian(self.project(h)), self._continuous()

        def part(at: slice) -> Tensor:
            return torch.einsum("nhi,hi->ni", inner @ a_c[:, at], a_c[:, at])

        return in_chunks(part, self.coordinates.n_continuous, self._size(h))

    def hessian(self, h: Tensor) -> Tensor:
        """Return d2L/dz_i dz_j of rows (n, D): (n, dc, dc)."""
        a_c = self._continuous()
        return a_c.mT @ (self.head_hessian(self.project(h)) @ a_c)

    def logits(self, h: Tensor) -> Tensor:
        """Return L with one discrete variable set to each of its levels: (n, S)."""
        a, moves = self.project(h), self.moves(h)
        return in_chunks(lambda at: self.head(a[:, None] + moves[:, at]), moves.shape[1], self._size(h))

    def level_scores(self, h: Tensor) -> Tensor:
        """Return the scores with one discrete variable set to each of its levels: (n, S, dc)."""
        a, moves, a_c = self.project(h), self.moves(h), self._continuous()

        def part(at: slice) -> Tensor:
            return self.head_gradient(a[:, None] + moves[:, at]) @ a_c

        return in_chunks(part, moves.shape[1], self._size(h))

    def pair_logits(self, h: Tensor) -> Tensor:
        """Return L with two discrete variables set to each pair of their levels: (n, S, S).

        The entries of a variable with itself are 0. Each pair is computed once.
        """
        a, moves = self.project(h), self.moves(h)
        n, s = len(h), self.coordinates.n_levels
        first, second = torch.nonzero(self.owner[:, None] < self.owner[None, :], as_tuple=True)

        def part(at: slice) -> Tensor:
            return self.head(a[:, None] + moves[:, first[at]] + moves[:, second[at]])

        values = in_chunks(part, len(first), self._size(h))
        upper = values.new_zeros((n, s * s)).index_copy(1, first * s + second, values).reshape(n, s, s)
        return upper + upper.mT

    def pair_values(self, h: Tensor, first: int, here: Tensor, second: int, there: Tensor) -> Tensor:
        """Return L with two variables moved over a grid of values (n, a, w), (n, b, w'): (n, a, b)."""
        one, two = self._shifts(h, first, here), self._shifts(h, second, there)
        a = self.project(h)[:, None, None, :]

        def part(at: slice) -> Tensor:
            return self.head(a + one[:, at, None] + two[:, None])

        return in_chunks(part, one.shape[1], self._size(h) // two.shape[1])

    def _shifts(self, h: Tensor, variable: int, values: Tensor) -> Tensor:
        columns = self.coordinates.columns(variable)
        return (values - h[:, None, columns]) @ self.weight[:, columns].mT

    def row_size(self) -> int:
        """Return how many elements the largest result or uncut temporary has for each row."""
        return max(
            super().row_size(),
            self.width * max(self.width, self.coordinates.n_continuous, self.coordinates.n_levels),
        )

    def moves(self, h: Tensor) -> Tensor:
        """Return by how much A h moves when a discrete variable is set to each of its levels: (n, S, H)."""
        levels = self.weight[:, self.coordinates.n_continuous :].mT
        seen = self.indicators(h)[..., None] * levels
        total = seen.new_zeros((len(h), self.coordinates.n_discrete, self.width)).index_add(
            1, self.owner, seen
        )
        return levels - total[:, self.owner]

    def _continuous(self) -> Tensor:
        return self.weight[:, : self.coordinates.n_continuous]

    def _size(self, h: Tensor) -> int:
        return max(1, self._budget() // (max(1, len(h)) * self.width))

    def _budget(self) -> int:
        """Return how many elements of (n, c, H) may be held; less where the head's own temporaries are wider."""
        return block_size(BUDGET)
