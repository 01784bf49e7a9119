r"""The p-value of a pair after the search, given both neighborhoods.

A pair without an edge is separated by the complete neighborhood of either end. But the search may have missed weak
neighbors: given :math:`N(i)` alone such a pair looks dependent. What an end missed is often among the other end's
neighbors, so each end's set is also tried with those of them that could be it,

.. math:: p_i = \max \{\, p_S : S = N(i),\ N(i) \cup \{k\},\ k \in N(j) \,\}, \qquad
          \bar p_i = \max(p_i,\ p_{N(i) \cup N(j)}),

all sets without the pair itself. Two p-values come of it. :math:`q = \max(p_i, p_j)` is honest if the sets of one end
separate the pair; it loses what the other end's set hides, beside deterministic relations or in sparse tables, where a
large set leaves few rows in a cell. :math:`r = 2 \min(\bar p_i, \bar p_j)` sees an edge as soon as one end's set is good
enough to see it, and is honest if the sets of each end do, as the union does whenever one of both sets is complete; it
loses what close relatives of one end take away. The p-value is the Cauchy combination of q and r, honest where both are;
where both ends' sets are the same, it is the one test given them. What neither guards against: neighbors that both ends
missed, and several that only the union would bring back where it has no say.

Two kinds of larger set have no say. One that leaves less than a share kappa of the information that :math:`N(i)` leaves
and does not explain both ends (`say`): beside what all but determines an end everything looks independent. And
:math:`N(i) \cup \{k\}` with a k that cannot be what was missed: if k explains why j depends on i given :math:`N(i)`, it says
at least as much about i as j does (data-processing inequality); with less than half of j's evidence it is not tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.checks import check_number
from gpmnet.selection.pair_rule import Limits, PairRule, ends, same, union
from gpmnet.selection.say import Base, has_say
from gpmnet.testing.base import BoundTest, PairTests
from gpmnet.testing.p_values import cauchy_combination

_RIVAL = 1 / 2  # of the pair's evidence, that a member needs to be tried
_CLEAR = math.log(1e-12)  # log p-value below which the second end is not asked any more


@dataclass(frozen=True)
class TwoEnded(PairRule):
    """Both ends are asked, each also with what the other end knows.

    Attributes
    ----------
    min_information : float
        Kappa: a conditioning set beyond one end's neighborhood has a say if it leaves this share of the information.
    """

    min_information: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "min_information", 0.0, 1.0, open_low=True)

    def __call__(
        self, test: BoundTest, members: Tensor, first: Tensor, second: Tensor, limits: Limits
    ) -> PairTests:
        """Return one test of each pair (B,), given the neighborhoods (d, s; -1 pads) that the search found.

        Notes
        -----
        Strength and sign are those given the union where that was tried and has a say, so that they do not depend on
        which end decides, and else those given the set that decides the smaller of q and r. The end with the smaller set is
        asked first; where its p-value, the union included, is below 1e-12, twice that stands for p and the larger set is
        not tried. Time: two tests a pair, one where both sets are the same, and one for each larger set that is tried.
        Unions whose discrete members span more cells than a saturated regression may have are not.
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
        alone, joined, least = self._asked(test, near, unions, limits.alpha)
        differs = ~same(a, b)
        doubt = differs & ((joined.log_p > _CLEAR) | (size_a == size_b))
        tests = joined.with_log_p(torch.where(differs, joined.log_p + math.log(2), joined.log_p))
        at = doubt.nonzero()[:, 0]
        if len(at):
            far = near.take(at).turned()
            asked = unions.take(at)
            far_alone, far_joined, far_least = self._asked(test, far, asked, limits.alpha)
            unions.tests.put(at, asked.tests)
            least[at] = torch.maximum(least[at], far_least)
            far_joined = far_joined.with_log_p(far_joined.log_p + math.log(2))
            r = _smaller(tests.take(at), far_joined)
            q = _larger(alone.take(at), far_alone)
            tests.put(at, _combined(r, q))
        told = (unions.tests.information >= least).nonzero()[:, 0]
        tests = tests.with_strength(told, unions.tests.take(told))
        return tests.with_log_p(tests.log_p.clamp(max=0.0))

    def _asked(
        self, test: BoundTest, end: _End, unions: _Unions, alpha: float
    ) -> tuple[PairTests, PairTests, Tensor]:
        r"""Return the tests behind :math:`p_i` and :math:`\bar p_i`, for pairs of a node i and its partner j.

        And the information (B,) that a larger set must leave to have a say.
        """
        alone = test.pairs(end.node, end.partner, end.own)
        least = self.min_information * alone.information
        fresh = (end.other >= 0) & ~(end.other[:, :, None] == end.own[:, None, :]).any(dim=2)
        at = (fresh.any(dim=1) & (alone.log_p < math.log(alpha))).nonzero()[:, 0]
        if not len(at):
            return alone, alone.copy(), least
        rivals = torch.cat([end.partner[at, None], end.other[at]], dim=1)
        evidence = test.rank(end.node[at], rivals, end.own[at])
        row, slot = (fresh[at] & (evidence[:, 1:] <= _RIVAL * evidence[:, :1])).nonzero(as_tuple=True)
        united = unions.tests_of(at)
        pair, found = at[row], united.take(row)
        larger = torch.cat([end.own[pair], end.other[pair, slot][:, None]], dim=1)
        # With one member alone the larger set is the union, which has been tested where it fits.
        new = (~unions.fits[pair] | (fresh[pair].sum(dim=1) > 1)).nonzero()[:, 0]
        if len(new):
            which = pair[new]
            found.put(new, test.pairs(end.node[which], end.partner[which], larger[new]))
        _keep_largest(
            alone, pair, _informed(test, end.take(pair), larger, found, _asked_of(found, alone, pair, least))
        )
        joined = alone.copy()
        least_of = _asked_of(united, joined, at, least)
        _keep_largest(joined, at, _informed(test, end.take(at), unions.sets[at], united, least_of))
        return alone, joined, least


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
        """Return the tests of some of the pairs, NaN where the union does not fit."""
        new = at[self.fits[at] & self.tests.log_p[at].isnan()]
        if len(new):
            self.tests.put(new, self.test.pairs(self.first[new], self.second[new], self.sets[new]))
        return self.tests.take(at)


def _smaller(one: PairTests, other: PairTests) -> PairTests:
    """Return, pair by pair, the test with the smaller p-value, the first on ties."""
    return one.where(one.log_p <= other.log_p, other)


def _larger(one: PairTests, other: PairTests) -> PairTests:
    """Return, pair by pair, the test with the larger p-value, the first on ties."""
    return one.where(one.log_p >= other.log_p, other)


def _combined(r: PairTests, q: PairTests) -> PairTests:
    """Return two honest tests of the same pairs as one: their p-values combined, the rest of the smaller one's."""
    log_p = cauchy_combination(torch.stack([r.log_p.clamp(max=0.0), q.log_p], dim=-1))
    return _smaller(r, q).with_log_p(log_p)


def _informed(test: BoundTest, end: _End, sets: Tensor, tests: PairTests, least: Tensor) -> PairTests:
    """Return tests given sets (B, s) in which those without a say, or not done, have log p-value -inf."""
    say = has_say(test, Base(end.node, end.partner, end.own, least), sets, tests)
    return tests.with_log_p(tests.log_p.masked_fill(~say, -torch.inf))


def _asked_of(tests: PairTests, best: PairTests, pair: Tensor, least: Tensor) -> Tensor:
    """Return the information that tests need to have a say: none where they would change nothing anyway."""
    return torch.where(tests.log_p > best.log_p[pair], least[pair], 0.0)


def _keep_largest(best: PairTests, pair: Tensor, tests: PairTests) -> None:
    """Replace the tests of pairs by those found for the same pair whose log p-value is the largest of all, in place."""
    order = torch.argsort(tests.log_p, stable=True)
    order = order[torch.argsort(pair[order], stable=True)]
    last = torch.ones_like(order, dtype=torch.bool)
    last[:-1] = pair[order][1:] != pair[order][:-1]
    top = order[last]
    top = top[tests.log_p[top] > best.log_p[pair[top]]]
    best.put(pair[top], tests.take(top))
