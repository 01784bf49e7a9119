"""What conditioning sets leave of the features of variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.columns.whitening import whitener
from gpmnet.testing.design import Designs, Regression

BUDGET = 1 << 25
"""Values that the designs of one batch may hold (256 MB in double precision)."""
_DEAD = 1e-4  # share of a feature's variance below which what a set leaves of it is only rounding


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residual features of one variable a set, (b, n, K), and the variances of the features, (b, K)."""

    value: Tensor
    variance: Tensor

    @classmethod
    def of(cls, features: Features, regression: Regression, variables: Tensor) -> Residuals:
        """Return what the sets of a regression leave of one variable each, (b,)."""
        raw = features.of(variables)
        return cls(regression.residuals(raw), raw.square().mean(dim=1))

    def whitened(self, lacking: Tensor | None = None) -> Tensor:
        """Return them whitened in their order; see `floor`."""
        gram = self.value.mT @ self.value / self.value.shape[1]
        return self.value @ whitener(gram, floor(self.variance, lacking))

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


def bounded_residuals(features: Features, regression: Regression, variables: Tensor) -> Tensor:
    """Return what the sets leave of one variable each, whitened as far as spikes stay bounded: (b, n, K)."""
    left = Residuals.of(features, regression, variables)
    return left.whitened(lacking_variance(features, left.variance, variables))


def whitened_residuals(designs: Designs, nodes: Tensor, given: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield some of the nodes and the whitened residual features (b, n, K) that their sets (B, s) leave of them."""
    for rows in designs.batches(given, BUDGET):
        regression = designs.regress(given[rows])
        yield nodes[rows], bounded_residuals(designs.features, regression, nodes[rows])
