"""The columns of design matrices, in blocks that are made when they are asked for, some rows of the data at a time.

A block stands for (b, p, n) numbers, centred and with unit variance: p columns in each of b designs. None holds them all:
a table of a million rows is regressed in the memory of some thousand.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor

from gpmnet.columns.tabulated import Tabulated
from gpmnet.memory import block_size

_SHORT = 8  # rows of a table: a product with fewer at a time takes longer than to copy them


def budget(device: torch.device) -> int:
    """Return how many numbers the columns of one batch of designs may have at a time.

    On a CPU small batches stay in its caches; on a GPU large ones keep it busy.
    """
    return block_size(1 << (22 if device.type == "cpu" else 27))


class ColumnBlock(ABC):
    """Some columns of each of b designs."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """The numbers of designs, of columns, and of rows of the data."""

    @property
    @abstractmethod
    def like(self) -> Tensor:
        """A tensor that has the precision of the columns and is where they are."""

    @abstractmethod
    def made(self, at: slice) -> Tensor:
        """Return the columns at some rows of the data, (b, p, rows)."""

    @abstractmethod
    def take(self, designs: Tensor) -> ColumnBlock:
        """Return the columns of some of the designs, by their positions."""

    def rows(self, at: slice) -> Tensor:
        """Return the columns at some rows of the data, (b, p, rows), kept for the next time if they are few in all."""
        return self._whole[:, :, at] if math.prod(self.shape) <= budget(self.like.device) else self.made(at)

    @cached_property
    def _whole(self) -> Tensor:
        return self.made(slice(None))

    def times(self, at: slice, targets: Tensor) -> Tensor:
        """Return the sums of products with targets (b, rows, q) over some rows of the data, (b, p, q)."""
        return self.rows(at) @ targets

    def combined(self, at: slice, weights: Tensor) -> Tensor:
        """Return sums of the columns with weights (b, q, p), at some rows of the data, (b, q, rows)."""
        return weights @ self.rows(at)

    def gram(self) -> Tensor | None:
        """Return the mean products of the columns, (b, p, p), double, where they are known without the rows."""
        return None

    def with_table(self, table: Tabulated, index: Tensor) -> Tensor | None:
        """Return the mean products with rows (b, q) of a table, (b, p, q), where they are known likewise."""
        return None


@dataclass(frozen=True, eq=False)
class TableBlock(ColumnBlock):
    """Rows of a table, by their numbers (b, p)."""

    table: Tabulated
    index: Tensor

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of designs, of columns, and of rows of the data."""
        return (*self.index.shape, self.table.value.shape[1])

    @property
    def like(self) -> Tensor:
        """A tensor that has the precision of the columns and is where they are."""
        return self.table.value

    def take(self, designs: Tensor) -> TableBlock:
        """Return the columns of some of the designs."""
        return TableBlock(self.table, self.index[designs])

    def made(self, at: slice) -> Tensor:
        """Return the columns at some rows of the data, (b, p, rows)."""
        return self.table.rows(self.index, at)

    def times(self, at: slice, targets: Tensor) -> Tensor:
        """Return the sums of products with targets, of one large design without a copy of its columns."""
        if not self._runs:
            return super().times(at, targets)
        parts = [self.table.value[run, at] @ targets[0] for run in self._runs]
        return torch.cat(parts)[None]

    def combined(self, at: slice, weights: Tensor) -> Tensor:
        """Return sums of the columns, likewise."""
        if not self._runs:
            return super().combined(at, weights)
        parts = torch.split(weights[0], [run.stop - run.start for run in self._runs], dim=1)
        pairs = zip(parts, self._runs, strict=True)
        return torch.stack([part @ self.table.value[run, at] for part, run in pairs]).sum(dim=0)[None]

    @cached_property
    def _runs(self) -> list[slice]:
        """The columns of a single design as runs of rows of the table, none where there are many short ones."""
        if len(self.index) > 1 or math.prod(self.shape) <= budget(self.like.device):
            return []
        row = self.index[0].cpu()
        ends = [0, *((row[1:] - row[:-1] != 1).nonzero()[:, 0] + 1).tolist(), len(row)]
        runs = [slice(int(row[a]), int(row[a]) + b - a) for a, b in pairwise(ends)]
        return runs if _SHORT * len(runs) <= len(row) else []

    def gram(self) -> Tensor | None:
        """Return the mean products of the columns, where the table keeps them."""
        return None if self.table.gram is None else self.table.products(self.index, self.index)

    def with_table(self, table: Tabulated, index: Tensor) -> Tensor | None:
        """Return the mean products with rows of the same table, where it keeps them."""
        return None if self.table.gram is None else self.table.products(self.index, index)


@dataclass(frozen=True, eq=False)
class ProductBlock(ColumnBlock):
    """Products of rows of a table, by the numbers of their factors (b, p, factors), less `mean`, times `scale` (b, p)."""

    table: Tabulated
    index: Tensor
    mean: Tensor
    scale: Tensor

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of designs, of columns, and of rows of the data."""
        return (*self.index.shape[:2], self.table.value.shape[1])

    @property
    def like(self) -> Tensor:
        """A tensor that has the precision of the columns and is where they are."""
        return self.table.value

    def take(self, designs: Tensor) -> ProductBlock:
        """Return the columns of some of the designs."""
        return ProductBlock(self.table, self.index[designs], self.mean[designs], self.scale[designs])

    def made(self, at: slice) -> Tensor:
        """Return the columns at some rows of the data, (b, p, rows)."""
        value = self.table.rows(self.index[:, :, 0], at)
        for k in range(1, self.index.shape[2]):
            value *= self.table.rows(self.index[:, :, k], at)
        value -= self.mean[:, :, None]
        value *= self.scale[:, :, None]
        return value


@dataclass(frozen=True, eq=False)
class CellBlock(ColumnBlock):
    """One indicator a cell of a joint table: the cell of each row (b, n), and the shares of the cells (b, p)."""

    code: Tensor
    share: Tensor

    @classmethod
    def of(cls, code: Tensor, cells: int, like: Tensor) -> CellBlock:
        """Return the indicators of some number of cells, of which some may be empty, in the precision of `like`."""
        count = torch.zeros((len(code), cells), dtype=like.dtype, device=code.device)
        count.scatter_add_(1, code, torch.ones_like(code, dtype=like.dtype))
        return cls(code, count / code.shape[1])

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of designs, of columns, and of rows of the data."""
        return (*self.share.shape, self.code.shape[1])

    @property
    def like(self) -> Tensor:
        """A tensor that has the precision of the columns and is where they are."""
        return self.share

    def take(self, designs: Tensor) -> CellBlock:
        """Return the columns of some of the designs."""
        return CellBlock(self.code[designs], self.share[designs])

    def made(self, at: slice) -> Tensor:
        """Return the columns at some rows of the data, (b, p, rows)."""
        code = self.code[:, None, at]
        value = self.share.new_zeros((*self.share.shape, code.shape[2]))
        value.scatter_(1, code, 1.0)
        value -= self.share[:, :, None]
        value *= self._scale[:, :, None]
        return value

    def gram(self) -> Tensor:
        """Return the mean products of the columns."""
        share, scale = self.share.double(), self._scale.double()
        apart = torch.diag_embed(share) - share[:, :, None] * share[:, None, :]
        return scale[:, :, None] * apart * scale[:, None, :]

    @property
    def _scale(self) -> Tensor:
        variance = self.share * (1 - self.share)
        return torch.where(variance > 1e-12, variance.clamp(min=1e-12).rsqrt(), 0.0)


@dataclass(frozen=True, eq=False)
class DenseBlock(ColumnBlock):
    """Columns that are all there, (b, p, n)."""

    value: Tensor

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of designs, of columns, and of rows of the data."""
        b, p, n = self.value.shape
        return b, p, n

    @property
    def like(self) -> Tensor:
        """A tensor that has the precision of the columns and is where they are."""
        return self.value

    def take(self, designs: Tensor) -> DenseBlock:
        """Return the columns of some of the designs."""
        return DenseBlock(self.value[designs])

    def made(self, at: slice) -> Tensor:
        """Return the columns at some rows of the data, (b, p, rows)."""
        return self.value[:, :, at]
