"""What a pair rule is: one p-value of a pair after the search, from tests given the neighborhoods of its two ends.

To add one, write a subclass of `PairRule` and give an object of it to `LocalOptions(rule=...)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.parts import Part
from gpmnet.testing.base import BoundTest, PairTests


@dataclass(frozen=True)
class Limits:
    """How far a rule goes.

    Attributes
    ----------
    alpha : float
        Pairs whose p-value is above this given one end's set alone are not tested further from that end.
    most_members : int
        Sets with more members than this are not tried: regressions on them would leave too few rows.
    """

    alpha: float = 1.0
    most_members: int = 12


class PairRule(Part, ABC):
    """Joins the tests of a pair given different sets into one; a frozen dataclass of its settings."""

    @abstractmethod
    def __call__(
        self, test: BoundTest, members: Tensor, first: Tensor, second: Tensor, limits: Limits
    ) -> PairTests:
        """Return one test of each pair (B,), given the neighborhoods (d, s; -1 pads) that the search found."""


def ends(members: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return each end's neighbors without the pair itself, from all neighborhoods (d, s): twice (B, s)."""
    a, b = members[first], members[second]
    return torch.where(a == second[:, None], -1, a), torch.where(b == first[:, None], -1, b)


def union(a: Tensor, b: Tensor) -> Tensor:
    """Return the members of either set, (B, s) and (B, t) to (B, s + t), -1 pads."""
    repeated = (b[:, :, None] == a[:, None, :]).any(dim=2)
    return torch.cat([a, b.masked_fill(repeated, -1)], dim=1)


def same(a: Tensor, b: Tensor) -> Tensor:
    """Return whether two sets have the same members, (B, s), (B, s) -> (B,)."""
    return (a.sort(dim=1).values == b.sort(dim=1).values).all(dim=1)
