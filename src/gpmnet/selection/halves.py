r"""The support of Omega without the truth: what two halves of the rows learn alike.

An energy is fitted to each of two disjoint halves. With f and g the local interactions of a pair in the two, their noise is
independent, so that :math:`E fg` estimates the square of what both saw and :math:`E f^2, E g^2` that plus noise:

.. math:: \rho = \frac{E fg}{\sqrt{E f^2\, E g^2}} \approx \frac{\text{signal}}{\text{signal} + \text{noise}} .

A pair is in the support if its interaction is more signal than noise, :math:`\rho > 1/2`, and if no half's penalty has made
it 0, in any of two ways to split the rows. Noise in many dimensions hardly ever agrees; in one (two binary variables) it
does every second time, which is what the second condition is for: the penalty's unit is the size that the gradient of an
independent pair exceeds in a half with chance :math:`1 / (4 \sqrt m)` for m pairs, so in both halves a sixteenth of a pair
in all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from scipy.stats import chi
from torch import Tensor

from gpmnet.energies import Coordinates, Energy
from gpmnet.omega import shared_interactions

AGREES = 0.5
_BOTH = 1 / 16  # independent pairs that enter both halves, of all
_ZERO = 1e-10  # of Omega squared; contrasts of levels are differences of four values, and round


@dataclass(frozen=True, eq=False)
class Halves:
    """Mean products of the local interactions of pairs in two halves' energies: (d, d) each, or (m,) of listed pairs.

    Attributes
    ----------
    both : Tensor
        E f g.
    one, other : Tensor
        E f^2 and E g^2.
    """

    both: Tensor
    one: Tensor
    other: Tensor

    @classmethod
    def of(cls, one: Energy, other: Energy, h: Tensor) -> Halves:
        """Return those of two energies over rows (n, D)."""
        return cls(*shared_interactions(one, other, h))

    def agreement(self) -> Tensor:
        """Return rho, 0 where either half has no interaction."""
        size = (self.one * self.other).sqrt()
        return torch.where(self.seen(0.0), self.both / size.clamp(min=1e-30), 0.0)

    def seen(self, least: Tensor | float) -> Tensor:
        """Return the pairs with Omega above `least` in both halves."""
        floor = torch.as_tensor(least, dtype=self.one.dtype, device=self.one.device).square().clamp(min=_ZERO)
        return (self.one > floor) & (self.other > floor)


def alike(splits: Sequence[Halves], least: Tensor | float = 0.0) -> Tensor:
    """Return which pairs are seen in all halves of all splits and have a large mean agreement, in the halves' shape."""
    agreement = torch.stack([halves.agreement() for halves in splits]).mean(dim=0)
    seen = torch.stack([halves.seen(least) for halves in splits]).all(dim=0)
    return (agreement > AGREES) & seen


def common_support(splits: Sequence[Halves], least: Tensor | float = 0.0) -> Tensor:
    """Return the pairs that are alike in all halves, (d, d) of bool."""
    return alike(splits, least).fill_diagonal_(False)


def entering_size(coordinates: Coordinates, n_functions: int, n_pairs: int) -> Tensor:
    r"""Return how large the gradient of an independent pair becomes with chance 1 / (4 sqrt(m)), in units of its noise.

    The gradient's block has one dimension a product of functions, K for a continuous variable and one less than its levels
    for a discrete one, taken for alike: a chi variable over the root of its dimensions. (d, d), in the coordinates' order.
    """
    size = entering_sizes(coordinates, n_functions, n_pairs)
    every = torch.arange(coordinates.n_variables)
    return size(every[:, None], every)


def entering_sizes(
    coordinates: Coordinates, n_functions: int, n_pairs: int
) -> Callable[[Tensor, Tensor], Tensor]:
    """Return `entering_size` as a function of the positions of two variables, tensors that broadcast."""
    width = torch.tensor([n_functions] * coordinates.n_continuous + [m - 1 for m in coordinates.levels])
    found, kind = torch.unique(width, return_inverse=True)
    df = torch.outer(*(found.double(),) * 2).clamp(min=1)
    chance = (_BOTH / max(1, n_pairs)) ** 0.5
    table = torch.as_tensor(chi.isf(chance, df.numpy())) / df.sqrt()

    def size(first: Tensor, second: Tensor) -> Tensor:
        at = kind.to(first.device)
        return table.to(first.device)[at[first], at[second]]

    return size
