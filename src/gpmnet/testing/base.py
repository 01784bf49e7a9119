"""What a test of conditional independence is.

To add one, write a subclass of `ConditionalTest` with the method `pairs` and give an object of it to
`LocalOptions(test=...)`; override `rank` where many candidates of one node can be ranked faster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from gpmnet.parallel import Answer, side_by_side
from gpmnet.parts import Part
from gpmnet.testing.design import Designs

_WORTH_A_THREAD = 1 << 15  # rows times regressions: tens of milliseconds


@dataclass(frozen=True, eq=False)
class PairTests:
    """Tests of pairs, each of shape (B,), in double precision.

    Attributes
    ----------
    log_p : Tensor
        Log p-value.
    strength : Tensor
        Largest correlation between a combination of one variable's features and one of the other's, given the
        set: in [0, 1], ``|partial correlation|`` for Gaussian data, ``|phi|`` for two binary variables.
    strength_error : Tensor
        Standard error of atanh(strength); NaN where a test has none.
    strength_excess : Tensor
        How much of atanh(strength) may be that it is the largest of several; see `gpmnet.testing.strength`.
    sign : Tensor
        -1, 0 (no single direction) or 1.
    information : Tensor
        How much the rows can say about the pair given the set, as a number of rows.
    n_rows : Tensor
        Number of rows that the test used.
    """

    log_p: Tensor
    strength: Tensor
    strength_error: Tensor
    strength_excess: Tensor
    sign: Tensor
    information: Tensor
    n_rows: Tensor

    @classmethod
    def unknown(cls, count: int, device: torch.device) -> Self:
        """Return tests that have not been done: everything is NaN."""
        return cls(
            *(torch.full((count,), torch.nan, dtype=torch.float64, device=device) for _ in fields(cls))
        )

    @classmethod
    def none(cls, n_rows: Tensor) -> Self:
        """Return what is said of pairs that the rows (B,) do not allow to test: p = 1 and no strength.

        Their information is not known (NaN), so that a set for which there are too few rows has no say beside others.
        """
        n = n_rows.double()
        values = {field.name: torch.zeros_like(n) for field in fields(cls)}
        known = {"strength_error": (n - 3).clamp(min=1.0).rsqrt(), "n_rows": n}
        return cls(**values | known | {"information": torch.full_like(n, torch.nan)})

    @classmethod
    def joined(cls, parts: list[PairTests]) -> Self:
        """Return the tests of all parts, one after the other."""
        return cls(*(torch.cat(values) for values in zip(*(part._tensors() for part in parts), strict=True)))

    def __len__(self) -> int:
        return len(self.log_p)

    def take(self, at: Tensor) -> Self:
        """Return the tests of some of the pairs."""
        return type(self)(*(value[at] for value in self._tensors()))

    def put(self, at: Tensor, tests: PairTests) -> None:
        """Replace the tests of some of the pairs, in place."""
        for value, new in zip(self._tensors(), tests._tensors(), strict=True):
            value[at] = new

    def copy(self) -> Self:
        """Return tests that can be changed without changing these."""
        return type(self)(*(value.clone() for value in self._tensors()))

    def where(self, keep: Tensor, other: PairTests) -> Self:
        """Return these tests where `keep`, (B,) of bool, and the other ones elsewhere."""
        both = zip(self._tensors(), other._tensors(), strict=True)
        return type(self)(*(torch.where(keep, mine, theirs) for mine, theirs in both))

    def with_log_p(self, log_p: Tensor) -> Self:
        """Return the same tests with other p-values."""
        return replace(self, log_p=log_p)

    def with_strength(self, at: Tensor, tests: PairTests) -> Self:
        """Return the same tests with the strengths and signs that other tests have of the pairs at some positions."""
        changed = {
            name: getattr(self, name).clone()
            for name in ("strength", "strength_error", "strength_excess", "sign")
        }
        for name, value in changed.items():
            value[at] = getattr(tests, name)
        return replace(self, **changed)

    def _tensors(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)]


class ConditionalTest(Part, ABC):
    """A test of whether two variables are independent given a set of others, for many pairs at once.

    A frozen dataclass of its settings; the rows come with `Designs`, where sets are (B, s) positions, -1 pads.
    """

    takes_clusters: ClassVar[bool] = False
    """Whether its p-values hold for rows in clusters (`Designs.clusters`)."""

    @abstractmethod
    def pairs(self, designs: Designs, first: Tensor, second: Tensor, given: Tensor) -> PairTests:
        """Return the full test of pairs (B,) given sets (B, s; -1 pads)."""

    def rank(self, designs: Designs, nodes: Tensor, candidates: Tensor, given: Tensor) -> Tensor:
        """Return log p-values (B, C) of each node (B,) against its candidates (B, C; -1 pads) given its set (B, s).

        For the search, which needs an order and who passes, not the last digit.
        """
        node, slot = (candidates >= 0).nonzero(as_tuple=True)
        log_p = torch.zeros(candidates.shape, dtype=torch.float64, device=nodes.device)
        log_p[node, slot] = self.pairs(designs, nodes[node], candidates[node, slot], given[node]).log_p
        return log_p


@dataclass(frozen=True, eq=False)
class BoundTest:
    """A test and the rows that it tests."""

    test: ConditionalTest
    designs: Designs

    def pairs(self, first: Tensor, second: Tensor, given: Tensor) -> PairTests:
        """Return the full test of pairs (B,) given sets (B, s; -1 pads)."""

        def block(at: slice) -> PairTests:
            return self.test.pairs(self.designs, first[at], second[at], packed(given[at]))

        return PairTests.joined(self.in_blocks(block, len(first)))

    def rank(self, nodes: Tensor, candidates: Tensor, given: Tensor) -> Tensor:
        """Return log p-values (B, C) of nodes against their candidates given their sets."""

        def block(at: slice) -> Tensor:
            return self.test.rank(self.designs, nodes[at], candidates[at], packed(given[at]))

        return torch.cat(self.in_blocks(block, len(nodes)))

    def about(self, ends: Tensor, given: Tensor) -> tuple[Designs, Tensor, Tensor]:
        """Return what a test of ends (m,) given a set (s,) uses, and their positions there, -1 for those without any."""
        return self.designs, ends, given

    def untestable(self) -> Tensor:
        """Return the pairs (m, 2), first < second, that the rows cannot tell anything about."""
        return torch.empty((0, 2), dtype=torch.int64, device=self.designs.features.device)

    def in_blocks(self, function: Callable[[slice], Answer], count: int) -> list[Answer]:
        """Return what a function says of the blocks of `count` sets, as many as regressions on them are worth threads."""
        features = self.designs.features
        worth = 1 if features.device.type != "cpu" else count * features.n // _WORTH_A_THREAD
        return side_by_side(function, count, worth)


def packed(sets: Tensor, width: int | None = None) -> Tensor:
    """Move the members of each set to the front, keeping their order, and cut what no set uses."""
    order = torch.argsort((sets < 0).int(), dim=1, stable=True)
    packed = sets.gather(1, order)
    return trimmed(packed) if width is None else packed[:, :width]


def trimmed(sets: Tensor) -> Tensor:
    """Cut the columns that no set uses."""
    used = (sets >= 0).any(dim=0).sum()
    return sets[:, : int(used)]


def widened(sets: Tensor, width: int) -> Tensor:
    """Return sets with as many slots, the new ones empty."""
    more = sets.new_full((len(sets), width - sets.shape[1]), -1)
    return torch.cat([sets, more], dim=1)


def distinct(sets: Tensor) -> Tensor:
    """Return sets without the second and later mentions of a member, members to the front."""
    again = (sets[:, :, None] == sets[:, None, :]).tril(diagonal=-1).any(dim=2)
    return packed(torch.where(again, -1, sets))
