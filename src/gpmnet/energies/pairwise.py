r"""A pairwise exponential family: everything that pairs of variables can say through a few functions of each.

.. math:: L(x) = \sum_i \mathrm{own}_i(x_i) + \sum_{i<j} \varphi_i(x_i)^\top \Theta_{ij}\, \varphi_j(x_j)

The functions of a continuous coordinate are z and the bounded :math:`z^p e^{-z^2/3}`, p = 0, 1, ..., less their means
under N(0, 1); own functions are these and z^2/2, so that Gaussian densities, also with means that depend on levels, are
members. The functions of a discrete variable are the indicators of levels 1, 2, .... With one symmetric matrix Theta whose
diagonal blocks are 0, :math:`G = \varphi\,\Theta` at the columns of i does not depend on x_i, and scores, curvatures and
logits of all variables follow from that one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor, nn

from gpmnet.checks import check_number
from gpmnet.columns.functions import Scores, firsts, pairwise_functions, seconds, values
from gpmnet.energies.base import BaseFamily, Coordinates, Energy, EnergyFamily


@dataclass(frozen=True)
class Pairwise(EnergyFamily, BaseFamily):
    """A pairwise exponential family.

    Parameters
    ----------
    n_functions : int
        Functions K of each continuous coordinate.
    """

    n_functions: int = 3
    has_pairs: ClassVar[bool] = True
    is_trained: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "n_functions", 1, integer=True)

    @property
    def pairs(self) -> Pairwise:
        """The family itself."""
        return self

    def base(self, given: BaseFamily) -> Pairwise:
        """Return the family itself, whatever base is given."""
        return self

    def build(
        self, coordinates: Coordinates, rows: Tensor, generator: torch.Generator | None
    ) -> PairwiseEnergy:
        """Return the family with every parameter at 0."""
        return PairwiseEnergy(coordinates, self).to(rows)


class RowFunctions:
    """The functions of rows (n, D) and their derivatives, each computed once where it is asked for.

    Attributes
    ----------
    h : Tensor of shape (n, D)
    s : Scores
        Of the continuous coordinates, (n, dc).
    """

    def __init__(self, energy: PairwiseEnergy, h: Tensor) -> None:
        self.h, self.s = h, Scores(h[:, : energy.coordinates.n_continuous])
        self._functions, self._hot = energy.functions, energy.indicators(h)[:, energy.column]

    @cached_property
    def phi(self) -> Tensor:
        """All functions, (n, P)."""
        return torch.cat([values(self._functions, self.s).flatten(1), self._hot], dim=1)

    @cached_property
    def first(self) -> Tensor:
        """First derivatives of those of continuous coordinates, (n, dc, K)."""
        return firsts(self._functions, self.s)

    @cached_property
    def second(self) -> Tensor:
        """Second derivatives, (n, dc, K)."""
        return seconds(self._functions, self.s)


class PairwiseEnergy(Energy):
    """A pairwise exponential family with every parameter at 0 to start with.

    Parameters
    ----------
    coordinates : Coordinates
    family : Pairwise

    Attributes
    ----------
    functions : tuple of ColumnFunction
        The K functions of each continuous coordinate.
    theta : Parameter of shape (P, P)
        Interactions, P = K dc + sum(levels - 1): the K functions of each coordinate in turn, then the indicators. Only its
        symmetric part off the diagonal blocks counts; see `interactions`.
    own : Parameter of shape (dc, K + 1)
        Coefficients of the K functions and of z^2/2.
    own_levels : Parameter of shape (sum(levels - 1),)
    """

    variable: Tensor
    column: Tensor

    def __init__(self, coordinates: Coordinates, family: Pairwise) -> None:
        super().__init__(coordinates)
        self.n_functions = n_functions = family.n_functions
        self.functions = pairwise_functions(n_functions)
        kept = [k for m in coordinates.levels for k in range(m)]
        column = torch.tensor([s for s, k in enumerate(kept) if k > 0], dtype=torch.long)
        continuous = torch.arange(coordinates.n_continuous).repeat_interleave(n_functions)
        variable = torch.cat([continuous, coordinates.n_continuous + coordinates.owners()[column]])
        self.register_buffer("column", column, persistent=False)
        self.register_buffer("variable", variable, persistent=False)
        self.theta = nn.Parameter(torch.zeros(self._theta_shape()))
        self.own = nn.Parameter(torch.zeros(coordinates.n_continuous, n_functions + 1))
        self.own_levels = nn.Parameter(torch.zeros(len(column)))

    def _theta_shape(self) -> tuple[int, ...]:
        return len(self.variable), len(self.variable)

    def interactions(self) -> Tensor:
        """Return the symmetric matrix of interactions with zero diagonal blocks, (P, P)."""
        different = self.variable[:, None] != self.variable[None, :]
        return 0.5 * (self.theta + self.theta.mT) * different

    def pull(self, phi: Tensor, at: slice = slice(None)) -> Tensor:
        """Return functions of rows (..., P) times some columns of the interactions: (..., p)."""
        return phi @ self.interactions()[:, at]

    def columns_of(self, variable: int) -> Tensor:
        """Return the columns of the interactions that belong to a variable: (P, K)."""
        return self.interactions()[:, self.variable == variable]

    def forward(self, h: Tensor) -> Tensor:
        """Return L of rows (..., D): (...)."""
        z = h[..., : self.coordinates.n_continuous]
        value = values(self.functions, Scores(z))
        hot = self.indicators(h)[..., self.column]
        phi = torch.cat([value.flatten(-2), hot], dim=-1)
        own = (torch.cat([value, 0.5 * z.square()[..., None]], dim=-1) * self.own).sum(dim=(-2, -1))
        return own + hot @ self.own_levels + 0.5 * (self.pull(phi) * phi).sum(dim=-1)

    def score(self, h: Tensor) -> Tensor:
        """Return dL/dz of rows (n, D): (n, dc)."""
        return self.score_and_curvature(h)[0]

    def curvature(self, h: Tensor) -> Tensor:
        """Return the second derivatives d2L/dz_i2 of rows (n, D): (n, dc)."""
        return self.score_and_curvature(h)[1]

    def score_and_curvature(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return both from one product with the interactions."""
        rows, field = self._continuous(h)
        score = (rows.first * field).sum(dim=-1) + rows.s.z * self.own[:, -1]
        return score, (rows.second * field).sum(dim=-1) + self.own[:, -1]

    def hessian(self, h: Tensor) -> Tensor:
        """Return d2L/dz_i dz_j of rows (n, D): (n, dc, dc)."""
        rows, field = self._continuous(h)
        first, second = rows.first, rows.second
        dc, k = self.coordinates.n_continuous, self.n_functions
        theta = self.interactions()[: dc * k, : dc * k].reshape(dc, k, dc, k)
        inner = torch.diag_embed((second * field).sum(dim=-1) + self.own[:, -1])
        for p in range(k):
            inner = inner + first[:, :, p, None] * torch.einsum("ijq,njq->nij", theta[:, p], first)
        return inner

    def logits(self, h: Tensor) -> Tensor:
        """Return L with one discrete variable set to each of its levels: (n, S)."""
        per_level = self._per_level(h)
        seen = self._by_variable(self.indicators(h) * per_level)
        return self.forward(h)[:, None] + per_level - seen[:, self.owner]

    def level_scores(self, h: Tensor) -> Tensor:
        """Return the scores with one discrete variable set to each of its levels: (n, S, dc)."""
        rows, field = self._continuous(h)
        first = rows.first
        dc, k, hot = self.coordinates.n_continuous, self.n_functions, self.indicators(h)
        effect = self._on_levels(self.interactions()[:, : dc * k]).reshape(len(self.owner), dc, k)
        result = ((first * field).sum(dim=-1) + rows.s.z * self.own[:, -1])[:, None, :]
        for p in range(k):
            seen = self._by_variable(hot[..., None] * effect[..., p])
            result = result + first[:, None, :, p] * (effect[..., p] - seen[:, self.owner])
        return result

    def pair_logits(self, h: Tensor) -> Tensor:
        """Return L with two discrete variables set to each pair of their levels: (n, S, S).

        The entries of a variable with itself are 0.
        """
        hot, single = self.indicators(h), self.logits(h)
        theta = self._on_levels(self._on_levels(self.interactions()).mT)
        row = self._by_variable(
            hot[..., None] * theta
        )  # the observed level of one against all levels: (n, V, S)
        both = self._by_variable((row * hot[:, None, :]).mT)[:, self.owner][:, :, self.owner]
        cross = theta - row[:, self.owner] - row[:, self.owner].mT + both
        value = single[:, :, None] + single[:, None, :] - self.forward(h)[:, None, None] + cross
        return value * (self.owner[:, None] != self.owner[None, :])

    def pair_values(self, h: Tensor, first: int, here: Tensor, second: int, there: Tensor) -> Tensor:
        """Return L, up to a constant of each row, with two variables moved over a grid: (n, a, b)."""
        one, two = self.variable == first, self.variable == second
        others = self.phi(h).masked_fill(one | two, 0.0)
        left, right = self.of(first, here), self.of(second, there)
        theta = self.columns_of(second)
        value = left @ theta[one] @ right.mT
        on_one, on_two = others @ self.columns_of(first), others @ theta
        value = value + (left @ on_one[..., None] + self._own_of(first, here, left)[..., None])
        return value + (right @ on_two[..., None] + self._own_of(second, there, right)[..., None]).mT

    def phi(self, h: Tensor) -> Tensor:
        """Return the functions of rows (n, D): (n, P)."""
        return self.rows(h).phi

    def rows(self, h: Tensor) -> RowFunctions:
        """Return the functions of rows (n, D) and their derivatives."""
        return RowFunctions(self, h)

    def of(self, variable: int, at: Tensor) -> Tensor:
        """Return phi of one variable with its columns of h at some values (..., w): (..., K)."""
        if variable < self.coordinates.n_continuous:
            return values(self.functions, Scores(at[..., 0]))
        columns, dc = self.coordinates.columns(variable), self.coordinates.n_continuous
        return (at + self.share[columns.start - dc : columns.stop - dc].to(at.dtype))[..., 1:]

    def _own_of(self, variable: int, at: Tensor, functions: Tensor) -> Tensor:
        if variable < self.coordinates.n_continuous:
            own = self.own[variable]
            return functions @ own[:-1] + 0.5 * own[-1] * at[..., 0].square()
        start = self.coordinates.n_continuous * self.n_functions
        return functions @ self.own_levels[(self.variable[start:] == variable)]

    def row_size(self) -> int:
        """Return how many elements the largest result or uncut temporary has for each row."""
        return max(super().row_size(), self.coordinates.n_levels * max(self.coordinates.n_continuous, 1))

    def _continuous(self, h: Tensor) -> tuple[RowFunctions, Tensor]:
        """Return the functions of rows, and what their derivatives are multiplied by, (n, dc, K)."""
        dc, k = self.coordinates.n_continuous, self.n_functions
        rows = self.rows(h)
        field = self.pull(rows.phi, slice(dc * k)).reshape(len(h), dc, k)
        return rows, field + self.own[:, :-1]

    def _per_level(self, h: Tensor) -> Tensor:
        """Return the terms of L that each level takes part in, 0 for levels 0: (n, S)."""
        dc, k = self.coordinates.n_continuous, self.n_functions
        field = self.pull(self.phi(h), slice(dc * k, None)) + self.own_levels
        return h.new_zeros((len(h), self.coordinates.n_levels)).index_copy(1, self.column, field)

    def _on_levels(self, table: Tensor) -> Tensor:
        """Return the rows of a (P, q) table that belong to levels, with zero rows for levels 0: (S, q)."""
        rows = table[self.coordinates.n_continuous * self.n_functions :]
        return rows.new_zeros((self.coordinates.n_levels, rows.shape[1])).index_copy(0, self.column, rows)

    def _by_variable(self, x: Tensor) -> Tensor:
        """Return sums over the levels of each discrete variable, (n, S, ...) to (n, V, ...)."""
        return x.new_zeros((len(x), self.coordinates.n_discrete, *x.shape[2:])).index_add(1, self.owner, x)
