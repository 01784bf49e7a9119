r"""Design matrices of conditioning sets, and ridge regressions on them.

The design matrix of a set S is

.. math:: F(x_S) = [\,z_k,\ \cos m\pi u_k\ (m = 1..W)\,]_{k \in S\ \text{continuous}},\ [\text{indicators}],\
          [\text{interactions}]

with one indicator per configuration of the discrete members where their joint table is small against the rows
(the regression is then exact), and one per level otherwise; for what several members say together see `interactions`.
All sets of one shape are regressed in one batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from gpmnet.checks import check_number
from gpmnet.columns.features import Features, gather
from gpmnet.columns.tabulated import Tabulated
from gpmnet.parts import Part
from gpmnet.testing.interactions import SetShape, fitting_shape, interactions, n_interactions


@dataclass(frozen=True)
class DesignOptions(Part):
    """How flexible the regressions are.

    Attributes
    ----------
    n_cosines : int or None
        W, cosines of the rank per continuous variable; None is n / 16 shared among the continuous members of a set, at most
        4 n^0.3 (32 for 1,000 rows) and at least 2 n^0.15 (6 for 1,000 rows, 8 for 10,000).
    n_index : int or None
        Cosines of the index of a target, see `indices`; None is n / 50, between 2 and 8; 0 leaves it out.
    interaction_share : float
        Products of functions of several members of a set, as a share of the rows, ten at least ...
    most_interactions : int
        ... and at most this many.
    ridge : float
        Penalty relative to the variance of a standardised column.
    rows_per_cell : int
        A joint table of discrete variables is saturated if it has at most n / rows_per_cell cells.
    most_cells : int
        And at most this many.
    """

    n_cosines: int | None = None
    n_index: int | None = None
    interaction_share: float = 0.1
    most_interactions: int = 200
    ridge: float = 1e-3
    rows_per_cell: int = 10
    most_cells: int = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_cosines", "n_index"):
            if getattr(self, name) is not None:
                check_number(self, name, 0, integer=True)
        check_number(self, "interaction_share", 0.0, 1.0)
        check_number(self, "most_interactions", 0, integer=True)
        check_number(self, "ridge", 0.0, open_low=True)
        check_number(self, "rows_per_cell", 1, integer=True)
        check_number(self, "most_cells", 0, integer=True)

    def cosines(self, n: int, n_continuous: int) -> int:
        """Return W with n rows and some continuous members of a set."""
        if self.n_cosines is not None:
            return self.n_cosines
        least, most = round(2 * math.pow(n, 0.15)), round(4 * math.pow(n, 0.3))
        return max(least, min(most, n // (16 * max(1, n_continuous))))

    def index_cosines(self, n: int) -> int:
        """Return the cosines of an index with n rows."""
        return max(2, min(8, n // 50)) if self.n_index is None else self.n_index

    def n_interactions(self, n: int) -> int:
        """Return how many interactions a set may have, with n rows."""
        return int(min(self.most_interactions, max(10, self.interaction_share * n)))

    def n_cells(self, n: int) -> float:
        """Return how many cells a joint table may have to be saturated, with n rows."""
        return min(n / self.rows_per_cell, self.most_cells)

    def most_members(self, n: int) -> int:
        """Return how many continuous members a set may have so that its design takes at most a quarter of n rows."""
        return int(max(1, (n / 4 - self.n_interactions(n)) // (1 + self.cosines(n, n))))


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
    ridge : float
        What was added to the diagonal of the Gram matrix.
    """

    design: Tensor
    factor: Tensor
    df: Tensor
    ridge: float

    @classmethod
    def of(cls, design: Tensor, ridge: float) -> Regression:
        """Return the regressions on some columns (b, n, p), which are changed in place.

        Time O(b n p^2).
        """
        standardise(design)
        gram = design.mT @ design / design.shape[1]
        gram.diagonal(dim1=1, dim2=2).add_(ridge)
        factor = torch.linalg.cholesky(gram)
        return cls(design, factor, _freedom(factor, ridge), ridge)

    def with_columns(self, more: Tensor) -> Regression:
        """Return the regressions with further columns (b, n, q), which are changed in place; time O(b n (p + q) q)."""
        standardise(more)
        n, p = self.design.shape[1:]
        cross: Tensor = torch.linalg.solve_triangular(self.factor, self.design.mT @ more / n, upper=False)
        corner = more.mT @ more / n - cross.mT @ cross
        corner.diagonal(dim1=1, dim2=2).add_(self.ridge)
        factor = self.factor.new_zeros((len(more), p + more.shape[2], p + more.shape[2]))
        factor[:, :p, :p], factor[:, p:, :p] = self.factor, cross.mT
        factor[:, p:, p:] = torch.linalg.cholesky(corner)
        design = torch.cat([self.design, more], dim=2)
        return Regression(design, factor, _freedom(factor, self.ridge), self.ridge)

    @property
    def left(self) -> Tensor:
        """The share of the rows that the regressions leave free, (b,)."""
        n = self.design.shape[1]
        return (n - self.df) / n

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


def standardise(columns: Tensor) -> None:
    """Centre columns (b, n, p) and give them unit variance, in place: they are the largest thing there is."""
    columns -= columns.mean(dim=1, keepdim=True)
    spread = torch.linalg.vector_norm(columns, dim=1, keepdim=True) / math.sqrt(columns.shape[1])
    columns *= torch.where(spread > 1e-6, 1 / spread.clamp(min=1e-6), 0.0)


def _freedom(factor: Tensor, ridge: float) -> Tensor:
    """Return the degrees of freedom (b,) of ridge regressions with Cholesky factors (b, p, p), the intercept included."""
    p = factor.shape[1]
    if not p:
        return factor.new_ones(len(factor))
    eye = torch.eye(p, dtype=factor.dtype, device=factor.device).expand_as(factor)
    inverse: Tensor = torch.linalg.solve_triangular(factor, eye, upper=False)
    return 1 + p - ridge * inverse.square().sum(dim=(1, 2))


@dataclass(frozen=True, eq=False)
class Designs:
    """The design matrices of conditioning sets over the rows of a table."""

    features: Features
    options: DesignOptions

    @cached_property
    def _functions(self) -> Tabulated:
        return Tabulated.of(self.features, self._degrees(1))

    def batches(self, given: Tensor, budget: int) -> Iterator[Tensor]:
        """Split conditioning sets (B, s; -1 pads) into batches of one shape whose designs fit the budget.

        `budget` is the number of values that a batch's designs may hold. Yields positions among the B sets.
        """
        groups: dict[tuple[int, ...], list[int]] = {}
        for at, key in enumerate(self._keys(given).tolist()):
            groups.setdefault(tuple(key), []).append(at)
        for key, members in groups.items():
            columns = self._key(key).n_columns()
            size = max(1, budget // (self.features.n * max(1, columns)))
            for start in range(0, len(members), size):
                yield torch.tensor(members[start : start + size], device=given.device)

    def regress(self, given: Tensor) -> Regression:
        """Return the regressions on a batch of conditioning sets of one shape, (b, s; -1 pads).

        Time O(b n p^2), memory O(b n p) for p columns.
        """
        return Regression.of(self._matrix(given), self.options.ridge)

    def cells(self, given: Tensor) -> Tensor:
        """Return the number of cells of the joint table of each set's discrete members, (B,)."""
        levels = torch.where(given >= 0, self.features.levels[given.clamp(min=0)], 0)
        return levels.clamp(min=1).double().prod(dim=1)

    def few_cells(self, given: Tensor) -> Tensor:
        """Return whether the joint table of each set's discrete members is small against the rows, (B,) of bool."""
        return self.cells(given) <= self.options.n_cells(self.features.n)

    def is_saturated(self, given: Tensor) -> bool:
        """Return whether the regressions on sets of one shape are exact: discrete members only, one column a cell."""
        key = self._key(self._keys(given[:1])[0].tolist())
        return not key.shape.n_continuous and (key.cells > 0 or key.n_discrete <= 1)

    def _keys(self, given: Tensor) -> Tensor:
        """Return the keys of sets (B, s) as rows of numbers, (B, 5 + s); see `_Key`."""
        levels = torch.where(given >= 0, self.features.levels[given.clamp(min=0)], -1)
        n_continuous, n_discrete = (levels == 0).sum(dim=1), (levels > 0).sum(dim=1)
        cells = self.cells(given)
        saturated = (n_discrete > 1) & self.few_cells(given)
        widths = (levels - 1).clamp(min=0).sort(dim=1).values
        kinds = torch.cat([n_continuous[:, None], saturated[:, None].long(), widths], dim=1)
        unique, place = torch.unique(kinds, dim=0, return_inverse=True)
        used = [self._used(kind) for kind in unique.tolist()]
        joint = torch.tensor(used, device=given.device).reshape(len(used), 1 + given.shape[1])[place]
        rounded = torch.where(saturated, _power_of_two(cells), 0)
        widest = _power_of_two(widths[:, -1] if given.shape[1] else torch.zeros_like(cells))
        common = torch.stack([rounded, n_discrete, widest, joint[:, 0], n_continuous], dim=1)
        return torch.cat([common, joint[:, 1:]], dim=1)

    def _used(self, kind: list[int]) -> list[int]:
        """Return the degree of the interactions of a kind of set, and the widths of the discrete members in them.

        Degree 1 and no widths where there are none: such sets need not be alike to the last column to share a batch.
        """
        n_continuous, saturated, *widths = kind
        wide = tuple(width for width in widths if width)
        whole = SetShape(n_continuous, wide, bool(saturated), self._degrees(n_continuous))
        shape, degree = fitting_shape(whole, self.options.n_interactions(self.features.n))
        if not n_interactions(shape, degree):
            return [1] + [0] * len(widths)
        return [degree, *shape.widths, *[0] * (len(widths) - len(shape.widths))]

    def _matrix(self, given: Tensor) -> Tensor:
        f = self.features
        key = self._key(self._keys(given[:1])[0].tolist())
        levels = torch.where(given >= 0, f.levels[given.clamp(min=0)], -1)
        parts: list[Tensor] = []
        factors: list[Tensor] = []
        some = n_interactions(key.shape, key.degree) > 0
        if key.shape.n_continuous:
            members = given[levels == 0].reshape(len(given), -1)
            parts += self._functions.additive(members, key.n_cosines)
            if some:
                factors.append(self._functions.interacting(members, key.shape.w))
        if key.n_discrete:
            members = given.gather(1, levels.argsort(dim=1, stable=True))[:, -key.n_discrete :]
            if key.cells:
                parts.append(self._saturated(members, key.cells))
            else:
                parts.append(gather(f.phi, f.columns(members).flatten(1)))
            if some:
                narrow = members[:, : len(key.shape.widths)].T
                factors += [f.of(member) for member in narrow]
        if not parts:
            return f.phi.new_zeros((len(given), f.n, 0), dtype=torch.float64)
        if some:
            parts += interactions(torch.cat(factors, dim=2), key.shape, key.degree)
        return torch.cat(parts, dim=2)

    def _degrees(self, n_continuous: int) -> int:
        return max(1, self.options.cosines(self.features.n, n_continuous))

    def _key(self, row: Sequence[int]) -> _Key:
        """Return what a row of `_keys` tells."""
        cells, n_discrete, wide, degree, n_continuous, *widths = row
        used = tuple(width for width in widths if width)
        shape = SetShape(n_continuous, used, cells > 0, self._degrees(n_continuous))
        return _Key(
            cells, n_discrete, wide, degree, self.options.cosines(self.features.n, n_continuous), shape
        )

    def _saturated(self, members: Tensor, cells: int) -> Tensor:
        """Return one indicator a configuration of discrete members (b, s), padded to `cells`: (b, n, cells)."""
        f = self.features
        code = torch.zeros((len(members), f.n), dtype=torch.int64, device=members.device)
        for slot in range(members.shape[1]):
            member = members[:, slot]
            code = code * f.levels[member][:, None] + f.codes[:, member].T.long()
        indicators = torch.zeros((*code.shape, cells), dtype=torch.float64, device=members.device)
        return indicators.scatter_(2, code[..., None], 1.0)


class _Key(NamedTuple):
    """What the sets of a batch have in common.

    Attributes
    ----------
    cells : int
        Of a saturated table, rounded up, since tables are padded; or 0.
    n_discrete, wide : int
        Number of discrete members, and the columns of the widest, rounded up.
    degree : int
        Highest degree of interactions, 1 if there are none.
    n_cosines : int
        Of each continuous member.
    shape : SetShape
        The members that interact: all continuous ones, and the discrete ones that are not too wide.
    """

    cells: int
    n_discrete: int
    wide: int
    degree: int
    n_cosines: int
    shape: SetShape

    def n_columns(self) -> int:
        """Return the columns of a design, padding included."""
        own = self.shape.n_continuous * (1 + self.n_cosines) + (self.cells or self.n_discrete * self.wide)
        return own + n_interactions(self.shape, self.degree)


def _power_of_two(count: Tensor) -> Tensor:
    """Round counts up to a power of two (0 and below to 1)."""
    return (2 ** torch.ceil(torch.log2(count.double().clamp(min=1.0)))).long()
