"""What conditioning sets leave of the features of variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.columns.tabulated import Tabulated, feature_rows
from gpmnet.columns.whitening import whitener
from gpmnet.testing.blocks import budget
from gpmnet.testing.design import Designs
from gpmnet.testing.regression import Regression

_DEAD = 1e-4  # share of a feature's variance below which what a set leaves of it is only rounding


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residual features of one variable a set, (b, n, K), and the variances of the features, (b, K)."""

    value: Tensor
    variance: Tensor

    @classmethod
    def of(
        cls, features: Features, table: Tabulated, regression: Regression, ends: Sequence[Tensor]
    ) -> list[Residuals]:
        """Return what the sets of a regression leave of some variables, (b,) each, whose features a table holds."""
        index = [feature_rows(features, table, end[:, None])[:, 0] for end in ends]
        both = torch.cat(index, dim=1)
        sizes = [rows.shape[1] for rows in index]
        left = torch.split(regression.left_of(table, both).mT, sizes, dim=2)
        raw = table.rows(both).square().mean(dim=2).double()
        return [cls(value, x) for value, x in zip(left, torch.split(raw, sizes, dim=1), strict=True)]

    def whitened(self, lacking: Tensor | None = None) -> Tensor:
        """Return them whitened in their order; see `floor`."""
        gram = (self.value.mT @ self.value).double() / self.value.shape[1]
        return self.value @ whitener(gram, floor(self.variance, lacking)).to(self.value.dtype)

    def left(self) -> Tensor:
        """Return, row by row, the squared residuals as a share of the variable's variance, (b, n)."""
        return self.value.square().sum(dim=2) / self.variance.sum(dim=1, keepdim=True).clamp(min=1e-12)


def floor(variance: Tensor, lacking: Tensor | None = None) -> Tensor:
    """Return the floor with which residual features are whitened, relative to the features' variances (..., K).

    What a set explains to the last bit is thereby shrunk to nothing instead of blown up; padded features, whose variance
    is zero, stay zero. `lacking` is added.
    """
    found = torch.where(variance > 0, _DEAD * variance, 1.0)
    return found if lacking is None else found + lacking


def lacking_variance(features: Features, variance: Tensor, variables: Tensor) -> Tensor:
    """Return what features (..., K) of continuous variables (...) lack of unit variance, 0 for discrete ones.

    Added to the floor, it keeps the spikes of tied columns bounded.
    """
    continuous = ~features.is_discrete[variables.clamp(min=0)][..., None]
    return torch.where(continuous & (variance > 0), (1 - variance).clamp(min=0.0), 0.0)


def whitened_residuals(designs: Designs, nodes: Tensor, given: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield some of the nodes and what their sets (B, s) leave, whitened as far as spikes stay bounded: (b, n, K)."""
    for rows in designs.batches(given, budget(nodes.device)):
        yield nodes[rows], residuals_of_one_shape(designs, nodes[rows], given[rows])


def residuals_of_one_shape(designs: Designs, nodes: Tensor, given: Tensor) -> Tensor:
    """Return the same of nodes whose sets are of one shape, all at once: (b, n, K)."""
    table = designs.table(given, nodes)
    left = Residuals.of(designs.features, table, designs.regress(given, [nodes], table), [nodes])[0]
    return left.whitened(lacking_variance(designs.features, left.variance, nodes))
