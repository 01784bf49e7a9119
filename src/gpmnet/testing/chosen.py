r"""Which products of functions of several members join a regression: those that say something about a target.

With a product c, less its mean, and what the regression leaves r of a target, :math:`t = \sqrt n\, \bar{cr} / (s_c s_r)`
is about standard normal if c has nothing to add. A product is taken if :math:`|t|` is large enough for any feature of either
end of a pair. What is left out for both ends biases their mean product by no more than a product of two small numbers (as
in the double selection of Belloni, Chernozhukov and Hansen 2014), and a pair is not charged for the degrees of freedom of
the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gpmnet.columns.tabulated import ONE, ZERO, Tabulated, slices
from gpmnet.testing.blocks import ProductBlock, TableBlock, budget
from gpmnet.testing.interactions import (
    SetShape,
    degrees,
    factors,
    highest_degree,
    interactions,
    n_interactions,
)
from gpmnet.testing.regression import Regression

_CACHED = 1 << 19  # numbers that stay in a processor's cache from one step to the next
_LOOKED_AT = 1 << 16  # rows by which products are chosen: enough to see what matters with any number of them


class Choice(NamedTuple):
    """How large a t-value must be, how many products there may be, and how many of low degree are taken in any case."""

    least_t: float
    most: int
    simple: int


@dataclass(frozen=True, eq=False)
class Products:
    """Products of functions of members: a table, the rows of it that are multiplied (b, f), and which with which."""

    table: Tabulated
    rows: Tensor
    shape: SetShape
    degree: int

    def made(self, at: slice) -> Tensor:
        """Return all products at some rows of the data, (b, Q, rows)."""
        return interactions(self.table.rows(self.rows, at), self.shape, self.degree)


def with_fast(
    regression: Regression, table: Tabulated, fast: Tensor, sizes: list[int], targets: Tensor
) -> Regression:
    r"""Return regressions with the fast functions of those members of which a target shows a sign.

    Parameters
    ----------
    fast : Tensor of shape (b, c, h)
        Rows of a table: the fast functions of c members,
    sizes : list of int
        in groups of some sizes: a sign in any group is enough.
    targets : Tensor of shape (b, q)
        Rows of the same table: features.

    Notes
    -----
    A sign is a sum of h squared t-values that is 2.5 standard deviations above its mean h under none, for any feature. All
    functions of such a member are taken: a step shows in many of them, a little in each. Time O(b p^2 c h) where moments
    are kept.
    """
    b, c, h = fast.shape
    flat = fast.flatten(1)
    moments = regression.feature_moments(table, targets)
    coefficients = regression.solve(moments)
    left = table.products(flat, targets) - regression.feature_moments(table, flat).mT @ coefficients
    variance = regression.left_variance(table, targets, moments, coefficients)
    t = (regression.n * left.square() / variance[:, None, :]).reshape(b, c, h, -1)
    wanted = torch.zeros((b, c), dtype=torch.bool, device=fast.device)
    for part in torch.split(t, sizes, dim=2):
        size = part.shape[2]
        wanted |= (part.sum(dim=2) > size + 2.5 * math.sqrt(2 * size)).any(dim=2)
    count = int(wanted.sum(dim=1).max())
    if not count:
        return regression
    order = wanted.int().argsort(dim=1, descending=True, stable=True)[:, :count]
    rows = torch.where(wanted[..., None], fast, ZERO).gather(1, order[..., None].expand(-1, -1, h))
    return regression.with_columns(TableBlock(table, rows.flatten(1)))


def with_products(regression: Regression, made: Products, left: Tensor, choice: Choice) -> Regression:
    """Return regressions with the products that matter for targets, of which they leave (b, q, n).

    Time O(b n q Q) for Q products, n being at most 65,536 (rows in equal steps), and that of a regression with those that
    are chosen.
    """
    b, q, n = left.shape
    step = -(-n // _LOOKED_AT)
    rows = len(range(0, n, step))
    count = n_interactions(made.shape, made.degree)
    moment = left.new_zeros((b, count, q), dtype=torch.float64)
    spread = _Spread.none(left, count)
    for at in slices(n, step * _at_once(left.device, b * count)):
        value = made.made(slice(at.start, at.stop, step))
        spread.add(value)
        moment += value @ left[:, :, at.start : at.stop : step].mT
    mean, scale = spread.mean_and_scale(rows)
    own = left.square().mean(dim=2).clamp(min=1e-12).double()
    t = (moment / rows * scale[:, :, None] / own.sqrt()[:, None, :]).abs().amax(dim=2) * rows**0.5
    simple = degrees(made.shape, made.degree) <= highest_degree(made.shape, choice.simple)
    t = t.masked_fill(simple.to(t.device), torch.inf)
    most = min(choice.most, int((t > choice.least_t).sum(dim=1).max()))
    if not most:
        return regression
    best, place = t.topk(most, dim=1)
    place = torch.where(best > choice.least_t, place, count)
    index = _factor_rows(made)[torch.arange(b, device=place.device)[:, None], place]
    mean, scale = (torch.cat([x, x.new_zeros((b, 1))], dim=1).gather(1, place) for x in (mean, scale))
    block = ProductBlock(made.table, index, mean.to(left.dtype), scale.to(left.dtype))
    return regression.with_columns(block if step == 1 else _standardised(block))


def _at_once(device: torch.device, columns: int) -> int:
    """Return how many rows of some columns are made at a time."""
    return max(512, (_CACHED if device.type == "cpu" else budget(device)) // columns)


def _standardised(block: ProductBlock) -> ProductBlock:
    """Return columns that are standardised over some rows so that they are over all."""
    b, p, n = block.shape
    spread = _Spread.none(block.like, p, b)
    for at in slices(n, _at_once(block.like.device, b * p)):
        spread.add(block.made(at))
    mean, scale = (x.to(block.like.dtype) for x in spread.mean_and_scale(n))
    within = torch.where(block.scale > 0, 1 / block.scale, 0.0)
    return ProductBlock(block.table, block.index, block.mean + mean * within, block.scale * scale)


@dataclass(frozen=True, eq=False)
class _Spread:
    """Sums of columns and of their squares, (b, p) each, over the rows so far."""

    total: Tensor
    square: Tensor

    @classmethod
    def none(cls, like: Tensor, p: int, b: int | None = None) -> _Spread:
        """Return those of no rows."""
        size = (len(like) if b is None else b, p)
        return cls(*(like.new_zeros(size, dtype=torch.float64) for _ in range(2)))

    def add(self, value: Tensor) -> None:
        """Add some rows of the columns, (b, p, rows)."""
        self.total.add_(value.sum(dim=2))
        self.square.add_(torch.linalg.vector_norm(value, dim=2).square())

    def mean_and_scale(self, n: int) -> tuple[Tensor, Tensor]:
        """Return the means over n rows, and what makes the variance one, 0 for constant columns."""
        mean = self.total / n
        variance = (self.square / n - mean.square()).clamp(min=0.0)
        return mean, torch.where(variance > 1e-12, variance.clamp(min=1e-12).rsqrt(), 0.0)


def _factor_rows(made: Products) -> Tensor:
    """Return the rows of the factors of all products and of one that is zero, (b, products + 1, factors)."""
    rows, groups = made.rows, factors(made.shape, made.degree)
    most = max(group.shape[1] for group in groups)
    padded = [
        torch.nn.functional.pad(group, (0, most - group.shape[1]), value=rows.shape[1]) for group in groups
    ]
    local = torch.cat([*padded, torch.full((1, most), rows.shape[1] + 1)]).to(rows.device)
    constant = rows.new_tensor([ONE, ZERO]).expand(len(rows), 2)
    return torch.cat([rows, constant], dim=1)[:, local]
