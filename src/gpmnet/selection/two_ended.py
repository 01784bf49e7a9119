r"""The p-value of a pair after the search, given both neighborhoods.

A pair without an edge is separated by the complete neighborhood of either end. But the search may have missed weak
neighbors: given :math:`N(i)` alone such a pair looks dependent. What an end missed is often among the other end's
neighbors, :math:`M = N(j) \setminus N(i)`, so that the union has a say wherever M could be it (`missed`):

.. math:: p_i = \max(p_{N(i)},\ p_{N(i) \cup N(j)}) \text{ if } M \text{ could be what i missed, else } p_{N(i)} ,

all sets without the pair itself. The p-value of the pair is the Cauchy combination of :math:`p_i` and :math:`p_j`, honest
where both are; where both ends' sets are the same, it is the one test given them. Where the union has too many members or
cells, :math:`N(i)` with the member of M that says most about i stands for it. The rule sees an edge as soon as one end's set
is good enough to see it, and does not lose one to close relatives of an end that the other end knows. What it does not guard
against: neighbors that both ends missed, several where the union is too large, and several of which the other end knows too
few to say as much as the partner does.

A union that leaves less than a share kappa of the information that :math:`N(i)` leaves and does not explain both ends has no
say either (`say`): beside what all but determines an end everything looks independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gpmnet.checks import check_number
from gpmnet.selection.missed import evidence, explains_as_much
from gpmnet.selection.pair_rule import Limits, PairRule, ends, same, union
from gpmnet.selection.say import Base, has_say
from gpmnet.testing.base import BoundTest, PairTests
from gpmnet.testing.p_values import cauchy_combination

_CLEAR = math.log(1e-12)  # log p-value below which neither a larger set nor the second end is asked any more


@dataclass(frozen=True)
class TwoEnded(PairRule):
    """Both ends are asked, each also with what the other end knows.

    Attributes
    ----------
    min_information : float
        Kappa: a union has a say if it leaves this share of the information that one end's neighborhood leaves.
    slack : float
        How many standard deviations the evidence of what may have been missed may lie below that of the partner.
    """

    min_information: float = 0.1
    slack: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "min_information", 0.0, 1.0, open_low=True)
        check_number(self, "slack", 0.0)

    def __call__(
        self, test: BoundTest, members: Tensor, first: Tensor, second: Tensor, limits: Limits
    ) -> PairTests:
        """Return one test of each pair (B,), given the neighborhoods (d, s; -1 pads) that the search found.

        Notes
        -----
        Strength and sign are those given the union where that was tried and has a say, so that they do not depend on
        which end decides, and else those given the set that decides the smaller p-value. The end with the smaller set is
        asked first; where its p-value is below 1e-12, twice that stands for p and the larger set is not tried, and a union
        that leaves p below 1e-12 has no say. Time: two
        tests a pair, one where both sets are the same, one for the union, and two regressions where only these can tell
        whether the union has a say.
        """
        a, b = ends(members, first, second)
        size_a, size_b = (a >= 0).sum(dim=1), (b >= 0).sum(dim=1)
        swap = size_b < size_a
        near = _End(
            torch.where(swap, second, first),
            torch.where(swap, first, second),
            torch.where(swap[:, None], b, a),
            torch.where(swap[:, None], a, b),
        )
        unions = _Unions.of_pairs(test, near, union(a, b), limits.most_members)
        found, least = self._asked(test, near, unions, limits)
        differs = ~same(a, b)
        doubt = differs & ((found.log_p > _CLEAR) | (size_a == size_b))
        tests = found.with_log_p(torch.where(differs, found.log_p + math.log(2), found.log_p))
        at = doubt.nonzero()[:, 0]
        if len(at):
            asked = unions.take(at)
            far, far_least = self._asked(test, near.take(at).turned(), asked, limits)
            unions.tests.put(at, asked.tests)
            least[at] = torch.maximum(least[at], far_least)
            tests.put(at, _combined(found.take(at), far))
        told = (unions.tests.information >= least).nonzero()[:, 0]
        tests = tests.with_strength(told, unions.tests.take(told))
        return tests.with_log_p(tests.log_p.clamp(max=0.0))

    def _asked(self, test: BoundTest, end: _End, unions: _Unions, limits: Limits) -> tuple[PairTests, Tensor]:
        r"""Return the tests behind :math:`p_i`, for pairs of a node i and its partner j.

        And the information (B,) that a union must leave to have a say.
        """
        alone = test.pairs(end.node, end.partner, end.own)
        least = self.min_information * alone.information
        group = torch.where((end.other[:, :, None] == end.own[:, None, :]).any(dim=2), -1, end.other)
        asked = (group >= 0).any(dim=1) & (alone.log_p < math.log(limits.alpha))
        at = (asked & unions.fits).nonzero()[:, 0]
        self._heard(test, end, alone, least, _Larger(at, group[at], unions.sets[at], unions.tests_of(at)))
        at = (asked & ~unions.fits).nonzero()[:, 0]
        if len(at):
            self._heard(test, end, alone, least, _one_more(test, end, at, group[at], limits.most_members))
        return alone, least

    def _heard(self, test: BoundTest, end: _End, alone: PairTests, least: Tensor, larger: _Larger) -> None:
        """Replace the tests of pairs, in place, by those given larger sets that have a say and make p larger."""
        # Below that nothing is decided any more.
        raised = larger.tests.log_p > alone.log_p[larger.at].clamp(min=_CLEAR)
        larger = larger.take(raised.nonzero()[:, 0])
        larger = larger.take(self._missed(test, end.take(larger.at), larger.group, larger.sets))
        some = end.take(larger.at)
        base = Base(some.node, some.partner, some.own, least[larger.at])
        larger = larger.take(has_say(test, base, larger.sets, larger.tests).nonzero()[:, 0])
        alone.put(larger.at, larger.tests)

    def _missed(self, test: BoundTest, end: _End, group: Tensor, sets: Tensor) -> Tensor:
        """Return the positions of pairs of which a group (B, m) could be what the node missed; `sets` (B, s) are unions."""
        if not len(group):
            return torch.zeros(0, dtype=torch.int64, device=group.device)
        partner, theirs = evidence(test, end.node, end.partner, end.own, group)
        could = theirs.could_match(partner, self.slack)
        at = (~could).nonzero()[:, 0]
        if len(at):
            could[at] = explains_as_much(test, end.node[at], end.partner[at], end.own[at], sets[at])
        return could.nonzero()[:, 0]


@dataclass(frozen=True, eq=False)
class _End:
    """Pairs seen from one end: nodes and partners (B,), the node's set and its partner's (B, s)."""

    node: Tensor
    partner: Tensor
    own: Tensor
    other: Tensor

    def take(self, at: Tensor) -> _End:
        """Return some of the pairs."""
        return _End(self.node[at], self.partner[at], self.own[at], self.other[at])

    def turned(self) -> _End:
        """Return the pairs seen from the other end."""
        return _End(self.partner, self.node, self.other, self.own)


class _Larger(NamedTuple):
    """Larger sets (c, s) of pairs at positions (c,), the groups (c, m) that they add to an end's, and tests given them."""

    at: Tensor
    group: Tensor
    sets: Tensor
    tests: PairTests

    def take(self, some: Tensor) -> _Larger:
        """Return some of them."""
        return _Larger(self.at[some], self.group[some], self.sets[some], self.tests.take(some))


def _one_more(test: BoundTest, end: _End, at: Tensor, group: Tensor, most_members: int) -> _Larger:
    """Return the sets of pairs, at positions (c,), with the one of a group (c, m) that says most, as far as they fit."""
    some = end.take(at)
    best = test.rank(some.node, group, some.own).masked_fill(group < 0, torch.inf).argmin(dim=1, keepdim=True)
    group = group.gather(1, best)
    sets = torch.cat([some.own, group], dim=1)
    fits = (test.designs.few_cells(sets) & ((sets >= 0).sum(dim=1) <= most_members)).nonzero()[:, 0]
    some = some.take(fits)
    tests = test.pairs(some.node, some.partner, sets[fits])
    return _Larger(at[fits], group[fits], sets[fits], tests)


@dataclass(frozen=True, eq=False)
class _Unions:
    """Tests given both ends' sets, each done when an end first asks for it.

    Attributes
    ----------
    sets : Tensor of shape (B, s)
    fits : Tensor of shape (B,)
        Whether a set has few enough members and cells.
    tests : PairTests
        NaN where they have not been done.
    """

    test: BoundTest
    first: Tensor
    second: Tensor
    sets: Tensor
    fits: Tensor
    tests: PairTests

    @classmethod
    def of_pairs(cls, test: BoundTest, end: _End, sets: Tensor, most_members: int) -> _Unions:
        """Return the unions of pairs, none tested yet."""
        fits = test.designs.few_cells(sets) & ((sets >= 0).sum(dim=1) <= most_members)
        return cls(test, end.node, end.partner, sets, fits, PairTests.unknown(len(sets), end.node.device))

    def take(self, at: Tensor) -> _Unions:
        """Return those of some of the pairs."""
        return _Unions(
            self.test, self.first[at], self.second[at], self.sets[at], self.fits[at], self.tests.take(at)
        )

    def tests_of(self, at: Tensor) -> PairTests:
        """Return the tests of some of the pairs, whose unions fit."""
        new = at[self.tests.log_p[at].isnan()]
        if len(new):
            self.tests.put(new, self.test.pairs(self.first[new], self.second[new], self.sets[new]))
        return self.tests.take(at)


def _combined(one: PairTests, two: PairTests) -> PairTests:
    """Return two honest tests of the same pairs as one: their p-values combined, the rest of the smaller one's."""
    log_p = cauchy_combination(torch.stack([one.log_p, two.log_p], dim=-1))
    return one.where(one.log_p <= two.log_p, two).with_log_p(log_p)
