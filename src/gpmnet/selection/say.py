r"""Which sets have a say about a pair.

Beside what all but determines an end everything looks independent: a larger set has a say if it leaves a share of the
information :math:`(n - df_S)\, E[V_i(x_S) V_j(x_S)]` that a smaller one leaves. But strong common causes also leave little.
What explains why i depends on j given the smaller set says at least as much about each as the other does
(data-processing inequality), and noise of their own keeps the ends from saying nearly as much: a set that leaves less than
three quarters of what the smaller set with the other end leaves, of both ends, has a say too. A near-copy of i does not: it
says no more about j than i does.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.testing.base import BoundTest, PairTests, packed
from gpmnet.testing.blocks import budget
from gpmnet.testing.design import Designs
from gpmnet.testing.residuals import Residuals

_CLEARLY = 0.75


@dataclass(frozen=True, eq=False)
class Base:
    """Pairs, twice (B,), a smaller set of each (B, s; -1 pads), and the information (B,) that is enough for a larger one."""

    first: Tensor
    second: Tensor
    sets: Tensor
    least: Tensor


def has_say(test: BoundTest, base: Base, sets: Tensor, tests: PairTests) -> Tensor:
    """Return whether sets (B, s; -1 pads) have a say about pairs, (B,) of bool, from tests given them.

    Tests that have not been done have none. Time: that of four regressions for each set that leaves too little.
    """
    say = tests.information >= base.least
    at = (tests.information < base.least).nonzero()[:, 0]
    if len(at):
        first, second = base.first[at], base.second[at]
        left = left_of(test, (first, second), sets[at])
        pairs = (first, second), (second, first)
        with_other = [left_of(test, (a,), torch.cat([base.sets[at], b[:, None]], dim=1))[0] for a, b in pairs]
        say[at] = (left < _CLEARLY * torch.stack(with_other)).all(dim=0)
    return say


def left_of(test: BoundTest, ends: tuple[Tensor, ...], sets: Tensor) -> Tensor:
    """Return what sets (B, s; -1 pads) leave of the first features of variables (B,), for each of some of them: (e, B).

    As a share of their variance, corrected for degrees of freedom, after a closer look.
    """

    def block(at: slice) -> Tensor:
        return _left(test.designs, tuple(end[at] for end in ends), packed(sets[at]))

    return torch.cat(test.in_blocks(block, len(sets)), dim=1)


def _left(designs: Designs, ends: tuple[Tensor, ...], sets: Tensor) -> Tensor:
    found = torch.empty((len(ends), len(sets)), dtype=torch.float64, device=sets.device)
    for rows in designs.batches(sets, budget(sets.device)):
        some = [end[rows] for end in ends]
        table = designs.table(sets[rows], torch.cat([sets[rows].flatten(), *some]))
        regression = designs.regress(sets[rows], some, table)
        first = torch.cat(
            [x.value.mT for x in Residuals.of(designs.features, table, regression, some)], dim=1
        )
        regression = designs.closer(regression, sets[rows], table, some, first) or regression
        for k, left in enumerate(Residuals.of(designs.features, table, regression, some)):
            coarse = designs.features.coarse(some[k])[:, None]
            used = torch.arange(left.value.shape[2], device=sets.device) < coarse
            share = (left.value.square().mean(dim=1) * used).sum(dim=1) / (left.variance * used).sum(dim=1)
            found[k, rows] = share.double() / regression.left
    return found
