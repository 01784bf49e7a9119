r"""Ridge regressions of a batch of designs, from the moments of their columns.

With the Gram matrix G of p standardised columns F over n rows, :math:`A = G + \lambda I` and the moments
:math:`M = F^\top y / n` of a target, the fitted values are :math:`F A^{-1} M`; what is left of two targets has mean product
:math:`y^\top y' / n - M^\top A^{-1} M' - \lambda M^\top A^{-2} M'`, which takes no pass over the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gpmnet.columns.tabulated import Tabulated, slices
from gpmnet.testing.blocks import ColumnBlock, TableBlock, budget

_SINGLE_ROWS = 1 << 14  # summed up in single precision; sums of sums are double


@dataclass(frozen=True, eq=False)
class Regression:
    """Factorised regressions of b designs.

    Attributes
    ----------
    blocks : tuple of ColumnBlock
        The columns, p in all.
    factor : Tensor of shape (b, p, p)
        Cholesky factor of the regularised Gram matrix over n.
    ridge : float
        What was added to the diagonal of the Gram matrix.
    n : int
        Rows.
    """

    blocks: tuple[ColumnBlock, ...]
    factor: Tensor
    ridge: float
    n: int

    @classmethod
    def without_columns(cls, b: int, n: int, ridge: float, device: torch.device) -> Regression:
        """Return regressions on nothing but a mean."""
        empty = torch.zeros((b, 0, 0), dtype=torch.float64, device=device)
        return cls((), empty, ridge, n)

    def with_columns(self, more: ColumnBlock) -> Regression:
        """Return the regressions with further columns; time O(b n (p + q) q) for q of them, less what is known."""
        p, (b, q, _) = self.n_columns, more.shape
        if not q:
            return self
        corner, cross = self._products(more)
        half: Tensor = torch.linalg.solve_triangular(self.factor, cross, upper=False) if p else cross
        corner = corner - half.mT @ half
        corner.diagonal(dim1=1, dim2=2).add_(self.ridge)
        factor = self.factor.new_zeros((b, p + q, p + q))
        factor[:, :p, :p], factor[:, p:, :p] = self.factor, half.mT
        factor[:, p:, p:] = torch.linalg.cholesky(corner)
        return Regression((*self.blocks, more), factor, self.ridge, self.n)

    def take(self, designs: Tensor) -> Regression:
        """Return the regressions of some of the designs, by their positions."""
        blocks = tuple(block.take(designs) for block in self.blocks)
        return Regression(blocks, self.factor[designs], self.ridge, self.n)

    def _products(self, more: ColumnBlock) -> tuple[Tensor, Tensor]:
        """Return the mean products of further columns with each other, (b, q, q), and with the old ones, (b, p, q)."""
        p, (b, q, _) = self.n_columns, more.shape
        corner = more.gram()
        if corner is not None and isinstance(more, TableBlock):
            return corner, self.feature_moments(more.table, more.index)
        cross, sums = self.factor.new_zeros((b, p, q)), self.factor.new_zeros((b, q, q))
        if p or corner is None:
            for at in self._slices(p + q):
                rows = more.rows(at)
                if p:
                    cross += self._times(at, rows.mT)
                if corner is None:
                    sums += rows @ rows.mT
        return sums / self.n if corner is None else corner, cross / self.n

    @property
    def n_columns(self) -> int:
        """Columns of a design."""
        return self.factor.shape[1]

    @cached_property
    def df(self) -> Tensor:
        """Effective degrees of freedom, the intercept included, (b,)."""
        eye = torch.eye(self.n_columns, dtype=self.factor.dtype, device=self.factor.device)
        inverse: Tensor = torch.linalg.solve_triangular(self.factor, eye.expand_as(self.factor), upper=False)
        return 1 + self.n_columns - self.ridge * inverse.square().sum(dim=(1, 2))

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the columns."""
        return self.blocks[0].like.dtype if self.blocks else torch.float64

    @property
    def left(self) -> Tensor:
        """The share of the rows that the regressions leave free, (b,)."""
        return (self.n - self.df) / self.n

    def moments(self, targets: Tensor) -> Tensor:
        """Return the mean products of the columns with targets (b, n, q), double, (b, p, q); time O(b n p q)."""
        found = self.factor.new_zeros((len(targets), self.n_columns, targets.shape[2]))
        if not self.blocks:
            return found
        for at in self._slices(self.n_columns):
            found += self._times(at, targets[:, at])
        return found / self.n

    def feature_moments(self, table: Tabulated, index: Tensor) -> Tensor:
        """Return the same for rows (b, q) of a table, from its moments as far as they are kept."""
        parts = []
        for block in self.blocks:
            known = block.with_table(table, index)
            if known is None:
                known = self.factor.new_zeros((*block.shape[:2], index.shape[1]))
                for at in self._slices(block.shape[1] + index.shape[1]):
                    known += block.rows(at) @ table.rows(index, at).mT
                known = known / self.n
            parts.append(known)
        return torch.cat(parts, dim=1) if parts else self.factor.new_zeros((len(index), 0, index.shape[1]))

    def solve(self, moments: Tensor) -> Tensor:
        """Return the coefficients (b, p, q) of targets with these moments."""
        return torch.cholesky_solve(moments, self.factor) if self.n_columns else moments

    def left_variance(self, table: Tabulated, index: Tensor, moments: Tensor, solved: Tensor) -> Tensor:
        """Return the variances (b, q) of what is left of rows (b, q) of a table, from their moments and coefficients."""
        own = table.products(index.flatten()[:, None], index.flatten()[:, None]).reshape(index.shape)
        lost = (moments * solved).sum(dim=1) + self.ridge * solved.square().sum(dim=1)
        return (own - lost).clamp(min=1e-12)

    def left_of(self, table: Tabulated, index: Tensor) -> Tensor:
        """Return what is left of rows (b, q) of a table, (b, q, n)."""
        value = table.rows(index)
        if not self.blocks:
            return value
        return value - self.combined(self.solve(self.feature_moments(table, index)))

    def fitted(self, targets: Tensor) -> Tensor:
        """Return the fitted values of centred targets (b, n, q), without their means."""
        return self.combined(self.solve(self.moments(targets))).mT.to(targets.dtype)

    def combined(self, coefficients: Tensor) -> Tensor:
        """Return sums of the columns with coefficients (b, p, q), in the precision of the columns, (b, q, n)."""
        dtype = self.dtype
        b, _, q = coefficients.shape
        found = coefficients.new_zeros((b, q, self.n), dtype=dtype)
        weights = torch.split(coefficients.mT.to(dtype), [block.shape[1] for block in self.blocks], dim=2)
        for at in self._slices(self.n_columns):
            for weight, block in zip(weights, self.blocks, strict=True):
                found[:, :, at] += block.combined(at, weight)
        return found

    def residuals(self, targets: Tensor) -> Tensor:
        """Return centred targets (b, n, q) minus their fitted values."""
        centred = targets - targets.mean(dim=1, keepdim=True)
        return centred - self.fitted(centred)

    def shared(self, one: Tensor, two: Tensor) -> Tensor:
        """Return the mean products (b, q, r) of the fitted values of centred targets (b, n, q) and (b, n, r)."""
        m = self.moments(torch.cat([one, two], dim=2))
        a = self.solve(m)
        q = one.shape[2]
        return m[:, :, :q].mT @ a[:, :, q:] - self.ridge * a[:, :, :q].mT @ a[:, :, q:]

    def _times(self, at: slice, targets: Tensor) -> Tensor:
        """Return the sums of products of the columns with targets (b, rows, q) over some rows, (b, p, q)."""
        return torch.cat([block.times(at, targets.to(block.like.dtype)) for block in self.blocks], dim=1)

    def _slices(self, columns: int) -> Iterator[slice]:
        size = max(1024, budget(self.factor.device) // max(1, len(self.factor) * columns))
        yield from slices(self.n, min(size, _SINGLE_ROWS) if self.dtype == torch.float32 else size)
