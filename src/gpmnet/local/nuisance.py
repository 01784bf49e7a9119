r"""What a set of variables says about another one: ridge regression on flexible functions of the set.

The design of a conditioning set S is

.. math:: F(x_S) = [\,z_k,\ \cos m\pi u_k\ (m = 1..W)\,]_{k \in S\ \text{continuous}},\ [\text{indicators}],\
          [\tanh(w_r^\top x_S + b_r)]_{r = 1..R}

with one indicator per configuration of the discrete members where their joint table is small against the rows
(the regression is then exact), and one per level otherwise. All sets of one shape are regressed in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.local.checks import check_number
from gpmnet.local.features import Features, gather, joint_arguments


@dataclass(frozen=True)
class DesignOptions:
    """How flexible the regressions are.

    Attributes
    ----------
    n_cosines : int
        W, cosines of the rank per continuous variable; 2 n^0.15 (6 for 1,000 rows, 8 for 10,000) in the engine.
    ridge : float
        Penalty relative to the variance of a standardised column.
    rows_per_cell : int
        A joint table of discrete variables is saturated if it has at most n / rows_per_cell cells.
    most_cells : int
        And at most this many.
    """

    n_cosines: int = 6
    ridge: float = 1e-3
    rows_per_cell: int = 10
    most_cells: int = 256

    def __post_init__(self) -> None:
        check_number(self, "n_cosines", 0, integer=True)
        check_number(self, "ridge", 0.0, open_low=True)
        check_number(self, "rows_per_cell", 1, integer=True)
        check_number(self, "most_cells", 0, integer=True)


@dataclass(frozen=True, eq=False)
class Regression:
    """Factorised regressions of a batch of b conditioning sets.

    Attributes
    ----------
    design : Tensor of shape (b, n, p)
        Centred and standardised columns.
    factor : Tensor of shape (b, p, p)
        Cholesky factor of the regularised Gram matrix over n.
    df : Tensor of shape (b,)
        Effective degrees of freedom, the intercept included.
    """

    design: Tensor
    factor: Tensor
    df: Tensor

    def fitted(self, targets: Tensor) -> Tensor:
        """Return the fitted values of centred targets of shape (b, n, q), without their means."""
        if self.design.shape[2] == 0:
            return torch.zeros_like(targets)
        moments = self.design.mT @ targets / self.design.shape[1]
        return self.design @ torch.cholesky_solve(moments, self.factor)

    def residuals(self, targets: Tensor) -> Tensor:
        """Return centred targets minus their fitted values."""
        centred = targets - targets.mean(dim=1, keepdim=True)
        return centred - self.fitted(centred)


def batches(features: Features, given: Tensor, options: DesignOptions, budget: int) -> Iterator[Tensor]:
    """Split conditioning sets (B, s; -1 pads) into batches of one shape whose designs fit the budget.

    `budget` is the number of values that a batch's designs may hold. Yields positions among the B sets.
    """
    levels = torch.where(given >= 0, features.levels[given.clamp(min=0)], 0)
    # Blocks of discrete members are padded to the widest of a batch: keep narrow sets apart from wide ones.
    widest = levels.amax(dim=1) - 1 if given.shape[1] else levels.new_zeros(len(given))
    shape = torch.cat([_shapes(features, given, options), _power_of_two(widest)[:, None]], dim=1)
    groups: dict[tuple[int, ...], list[int]] = {}
    for at, key in enumerate(shape.tolist()):
        groups.setdefault(tuple(key), []).append(at)
    for (n_continuous, n_discrete, cells, wide), members in groups.items():
        columns = n_continuous * (1 + options.n_cosines) + (cells or n_discrete * wide)
        columns += features.weights.shape[1]
        size = max(1, budget // (features.n * columns))
        for start in range(0, len(members), size):
            yield torch.tensor(members[start : start + size], device=given.device)


def regress(features: Features, given: Tensor, options: DesignOptions) -> Regression:
    """Return the regressions on a batch of conditioning sets of one shape, (b, s; -1 pads).

    Time O(b n p^2), memory O(b n p) for p columns.
    """
    design = _design(features, given, options)
    n, p = design.shape[1:]
    design -= design.mean(dim=1, keepdim=True)  # in place: the design is the largest thing there is
    spread = torch.linalg.vector_norm(design, dim=1, keepdim=True) / n**0.5
    design *= torch.where(spread > 1e-6, 1 / spread.clamp(min=1e-6), 0.0)
    gram = design.mT @ design / n
    gram.diagonal(dim1=1, dim2=2).add_(options.ridge)
    factor = torch.linalg.cholesky(gram)
    if p:
        eye = torch.eye(p, dtype=factor.dtype, device=factor.device).expand_as(factor)
        inverse = torch.linalg.solve_triangular(factor, eye, upper=False)
        df = 1 + p - options.ridge * inverse.square().sum(dim=(1, 2))
    else:
        df = torch.ones(len(given), dtype=design.dtype, device=design.device)
    return Regression(design, factor, df)


def table_cells(features: Features, given: Tensor) -> Tensor:
    """Return the number of cells of the joint table of each set's discrete members, (B,)."""
    levels = torch.where(given >= 0, features.levels[given.clamp(min=0)], 0)
    return levels.clamp(min=1).double().prod(dim=1)


def most_cells(n: int, options: DesignOptions) -> float:
    """Return how many cells a joint table may have to be saturated."""
    return min(n / options.rows_per_cell, options.most_cells)


def _shapes(features: Features, given: Tensor, options: DesignOptions) -> Tensor:
    """Return, per set: number of continuous and of discrete members, and cells of a saturated table or 0."""
    levels = torch.where(given >= 0, features.levels[given.clamp(min=0)], -1)
    n_continuous, n_discrete = (levels == 0).sum(dim=1), (levels > 0).sum(dim=1)
    cells = table_cells(features, given)
    saturated = (n_discrete > 1) & (cells <= most_cells(features.n, options))
    rounded = torch.where(saturated, _power_of_two(cells), 0)
    return torch.stack([n_continuous, n_discrete, rounded], dim=1)


def _power_of_two(count: Tensor) -> Tensor:
    """Round counts up to a power of two (0 and below to 1)."""
    return (2 ** torch.ceil(torch.log2(count.double().clamp(min=1.0)))).long()


def _design(features: Features, given: Tensor, options: DesignOptions) -> Tensor:
    n_continuous, n_discrete, cells = _shapes(features, given[:1], options)[0].tolist()
    levels = torch.where(given >= 0, features.levels[given.clamp(min=0)], -1)
    parts = []
    if n_continuous:
        members = given[levels == 0].reshape(len(given), n_continuous)
        z = gather(features.linear, features.linear_start[members])
        parts.append(z)
        phase = torch.pi * torch.special.ndtr(z)
        parts += [torch.cos(m * phase) for m in range(1, options.n_cosines + 1)]
    if n_discrete:
        members = given[levels > 0].reshape(len(given), n_discrete)
        if cells:
            parts.append(_saturated(features, members, cells))
        else:
            parts.append(gather(features.phi, features.columns(members).flatten(1)))
    if n_continuous + n_discrete > 1 and (n_continuous or not cells):
        parts.append(torch.tanh(joint_arguments(features, given)))
    if not parts:
        return features.phi.new_zeros((len(given), features.n, 0), dtype=torch.float64)
    return torch.cat(parts, dim=2)


def _saturated(features: Features, members: Tensor, cells: int) -> Tensor:
    code = torch.zeros((len(members), features.n), dtype=torch.int64, device=members.device)
    for slot in range(members.shape[1]):
        member = members[:, slot]
        code = code * features.levels[member][:, None] + features.codes[:, member].T.long()
    indicators = torch.zeros((*code.shape, cells), dtype=torch.float64, device=members.device)
    return indicators.scatter_(2, code[..., None], 1.0)
