r"""A pairwise exponential family: everything that pairs of variables can say through a few functions of each.

.. math:: L(x) = \sum_i \mathrm{own}_i(x_i) + \sum_{i<j} \varphi_i(x_i)^\top \Theta_{ij}\, \varphi_j(x_j)

The functions of a continuous coordinate are z and the bounded :math:`z^p e^{-z^2/3}`, p = 0, 1, ..., less their means
under N(0, 1); own functions are these and z^2/2, so that Gaussian densities, also with means that depend on levels, are
members. The functions of a discrete variable are the indicators of levels 1, 2, .... With one symmetric matrix Theta whose
diagonal blocks are 0, :math:`G = \varphi\,\Theta` at the columns of i does not depend on x_i, and scores, curvatures and
logits of all variables follow from that one matrix product.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from gpmnet.energies.base import Coordinates, Energy
from gpmnet.errors import InputError


def features(z: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    r"""Return `count` functions of z, their first and their second derivatives, each (..., count).

    The functions are z and :math:`z^p e^{-z^2/3} - E z^p e^{-z^2/3}` for p = 0, ..., count - 2, E under N(0, 1).
    """
    one, bell = torch.ones_like(z), torch.exp(-z.square() / 3)
    value, first, second = [z], [one], [torch.zeros_like(z)]
    for p in range(count - 1):
        value.append(z**p * bell - _mean(p))
        low = p * z ** (p - 1) if p > 0 else 0 * z
        lower = p * (p - 1) * z ** (p - 2) if p > 1 else 0 * z
        first.append((low - 2 / 3 * z ** (p + 1)) * bell)
        second.append((lower - 2 / 3 * (2 * p + 1) * z**p + 4 / 9 * z ** (p + 2)) * bell)
    return torch.stack(value, dim=-1), torch.stack(first, dim=-1), torch.stack(second, dim=-1)


def _mean(p: int) -> float:
    """Return E z^p exp(-z^2/3) under N(0, 1): that of N(0, 3/5), times sqrt(3/5)."""
    if p % 2:
        return 0.0
    moment = 1.0
    for k in range(1, p, 2):
        moment *= k
    return moment * math.sqrt(0.6) ** (p + 1)


class Pairwise(Energy):
    """A pairwise exponential family with every parameter at 0 to start with.

    Parameters
    ----------
    coordinates : Coordinates
    n_functions : int
        Functions K of each continuous coordinate.

    Attributes
    ----------
    theta : Parameter of shape (P, P)
        Interactions, P = K dc + sum(levels - 1): the K functions of each coordinate in turn, then the indicators. Only its
        symmetric part off the diagonal blocks counts; see `interactions`.
    own : Parameter of shape (dc, K + 1)
        Coefficients of the K functions and of z^2/2.
    own_levels : Parameter of shape (sum(levels - 1),)
    """

    variable: Tensor
    column: Tensor

    def __init__(self, coordinates: Coordinates, n_functions: int = 3) -> None:
        if n_functions < 1:
            raise InputError(f"A coordinate needs at least 1 function, got {n_functions}.")
        super().__init__(coordinates)
        self.n_functions = n_functions
        kept = [k for m in coordinates.levels for k in range(m)]
        column = torch.tensor([s for s, k in enumerate(kept) if k > 0], dtype=torch.long)
        continuous = torch.arange(coordinates.n_continuous).repeat_interleave(n_functions)
        variable = torch.cat([continuous, coordinates.n_continuous + coordinates.owners()[column]])
        self.register_buffer("column", column, persistent=False)
        self.register_buffer("variable", variable, persistent=False)
        self.theta = nn.Parameter(torch.zeros(len(variable), len(variable)))
        self.own = nn.Parameter(torch.zeros(coordinates.n_continuous, n_functions + 1))
        self.own_levels = nn.Parameter(torch.zeros(len(column)))

    def interactions(self) -> Tensor:
        """Return the symmetric matrix of interactions with zero diagonal blocks, (P, P)."""
        different = self.variable[:, None] != self.variable[None, :]
        return 0.5 * (self.theta + self.theta.mT) * different

    def forward(self, h: Tensor) -> Tensor:
        """Return L of rows (..., D): (...)."""
        z = h[..., : self.coordinates.n_continuous]
        value = features(z, self.n_functions)[0]
        hot = self.indicators(h)[..., self.column]
        phi = torch.cat([value.flatten(-2), hot], dim=-1)
        own = (torch.cat([value, 0.5 * z.square()[..., None]], dim=-1) * self.own).sum(dim=(-2, -1))
        return own + hot @ self.own_levels + 0.5 * (phi @ self.interactions() * phi).sum(dim=-1)

    def score(self, h: Tensor) -> Tensor:
        """Return dL/dz of rows (n, D): (n, dc)."""
        z, first, _, field = self._continuous(h)
        return (first * field).sum(dim=-1) + z * self.own[:, -1]

    def curvature(self, h: Tensor) -> Tensor:
        """Return the second derivatives d2L/dz_i2 of rows (n, D): (n, dc)."""
        _, _, second, field = self._continuous(h)
        return (second * field).sum(dim=-1) + self.own[:, -1]

    def hessian(self, h: Tensor) -> Tensor:
        """Return d2L/dz_i dz_j of rows (n, D): (n, dc, dc)."""
        _, first, second, field = self._continuous(h)
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
        z, first, _, field = self._continuous(h)
        dc, k, hot = self.coordinates.n_continuous, self.n_functions, self.indicators(h)
        effect = self._on_levels(self.interactions()[:, : dc * k]).reshape(len(self.owner), dc, k)
        result = ((first * field).sum(dim=-1) + z * self.own[:, -1])[:, None, :]
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
        theta, phi = self.interactions(), self.functions(h)
        one, two = self.variable == first, self.variable == second
        others = phi.masked_fill(one | two, 0.0)
        left, right = self.of(first, here), self.of(second, there)
        value = left @ theta[one][:, two] @ right.mT
        on_one, on_two = (others @ theta[:, which] for which in (one, two))
        value = value + (left @ on_one[..., None] + self._own_of(first, here, left)[..., None])
        return value + (right @ on_two[..., None] + self._own_of(second, there, right)[..., None]).mT

    def functions(self, h: Tensor) -> Tensor:
        """Return phi of rows (n, D): (n, P)."""
        value = features(h[:, : self.coordinates.n_continuous], self.n_functions)[0].flatten(1)
        return torch.cat([value, self.indicators(h)[:, self.column]], dim=1)

    def of(self, variable: int, values: Tensor) -> Tensor:
        """Return phi of one variable at values (..., w) of its columns of h: (..., K)."""
        if variable < self.coordinates.n_continuous:
            return features(values[..., 0], self.n_functions)[0]
        columns, dc = self.coordinates.columns(variable), self.coordinates.n_continuous
        return (values + self.share[columns.start - dc : columns.stop - dc].to(values.dtype))[..., 1:]

    def _own_of(self, variable: int, values: Tensor, functions: Tensor) -> Tensor:
        if variable < self.coordinates.n_continuous:
            own = self.own[variable]
            return functions @ own[:-1] + 0.5 * own[-1] * values[..., 0].square()
        start = self.coordinates.n_continuous * self.n_functions
        return functions @ self.own_levels[(self.variable[start:] == variable)]

    def row_size(self) -> int:
        """Return how many elements the largest result or uncut temporary has for each row."""
        return max(super().row_size(), self.coordinates.n_levels * max(self.coordinates.n_continuous, 1))

    def _continuous(self, h: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return z, the derivatives of its functions, and what each is multiplied by, (n, dc, K)."""
        dc, k = self.coordinates.n_continuous, self.n_functions
        z = h[:, :dc]
        value, first, second = features(z, k)
        phi = torch.cat([value.flatten(1), self.indicators(h)[:, self.column]], dim=1)
        field = (phi @ self.interactions()[:, : dc * k]).reshape(len(h), dc, k) + self.own[:, :-1]
        return z, first, second, field

    def _per_level(self, h: Tensor) -> Tensor:
        """Return the terms of L that each level takes part in, 0 for levels 0: (n, S)."""
        dc, k = self.coordinates.n_continuous, self.n_functions
        phi = torch.cat([features(h[:, :dc], k)[0].flatten(1), self.indicators(h)[:, self.column]], dim=1)
        field = phi @ self.interactions()[:, dc * k :] + self.own_levels
        return h.new_zeros((len(h), self.coordinates.n_levels)).index_copy(1, self.column, field)

    def _on_levels(self, table: Tensor) -> Tensor:
        """Return the rows of a (P, q) table that belong to levels, with zero rows for levels 0: (S, q)."""
        rows = table[self.coordinates.n_continuous * self.n_functions :]
        return rows.new_zeros((self.coordinates.n_levels, rows.shape[1])).index_copy(0, self.column, rows)

    def _by_variable(self, x: Tensor) -> Tensor:
        """Return sums over the levels of each discrete variable, (n, S, ...) to (n, V, ...)."""
        return x.new_zeros((len(x), self.coordinates.n_discrete, *x.shape[2:])).index_add(1, self.owner, x)
