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

Two kinds of larger set have no say. One that leaves less than a share kappa of the information
:math:`(n - df_S)\, E[V_i(x_S) V_j(x_S)]` that :math:`N(i)` leaves: beside what all but determines an end everything looks
independent. And :math:`N(i) \cup \{k\}` with a k that cannot be what was missed: if k explains why j depends on i given
:math:`N(i)`, it says at least as much about i as j does (data-processing inequality); with less than half of j's evidence
it is not tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.searching.neighborhoods import packed
from gpmnet.testing.design import most_cells, table_cells
from gpmnet.testing.double_residual import EdgeTest, PairResults, combine

_RIVAL = 1 / 2  # of the pair's evidence, that a member needs to be tried
_CLEAR = math.log(1e-12)  # log p-value below which the second end is not asked any more


def ends(members: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return each end's neighbors without the pair itself, from all neighborhoods (d, s): twice (B, s)."""
    a, b = members[first], members[second]
    return torch.where(a == second[:, None], -1, a), torch.where(b == first[:, None], -1, b)


def union(a: Tensor, b: Tensor) -> Tensor:
    """Return the members of either set, (B, s) and (B, t) to (B, s + t), -1 pads."""
    repeated = (b[:, :, None] == a[:, None, :]).any(dim=2)
    return torch.cat([a, b.masked_fill(repeated, -1)], dim=1)


def judge(
    test: EdgeTest,
    members: Tensor,
    first: Tensor,
    second: Tensor,
    enough: float,
    near: float = 1.0,
    most: int = 12,
) -> PairResults:
    """Return the tests of pairs (B,) given the neighborhoods (d, s; -1 pads) that the search found.

    Parameters
    ----------
    enough : float
        Kappa: the share of the information that a larger set must leave to have a say.
    near : float
        Pairs whose p-value is above this given one end's set alone are not tested further from that end.
    most : int
        Unions with more members than this are not tried: regressions on them would leave too few rows.

    Notes
    -----
    Strength and sign are those given the set that decides the smaller of q and r. The end with the smaller set is asked
    first; where its p-value, the union heard, is below 1e-12, twice that stands for p and the larger set is not tried.
    Time: two tests a pair, one where both sets are the same, and one for each larger set that is tried. Unions whose
    discrete members span more cells than a saturated regression may have are not.
    """
    a, b = ends(members, first, second)
    size_a, size_b = (a >= 0).sum(dim=1), (b >= 0).sum(dim=1)
    swap = size_b < size_a
    node, partner = torch.where(swap, second, first), torch.where(swap, first, second)
    own, other = torch.where(swap[:, None], b, a), torch.where(swap[:, None], a, b)
    unions = _Unions.of_ends(test, node, partner, a, b, most)
    best, singly = _side(test, node, partner, own, other, unions, enough, near)
    differs = ~_same(a, b)
    doubt = differs & ((best[0] > _CLEAR) | (size_a == size_b))
    best[0] = torch.where(differs, best[0] + math.log(2), best[0])
    at = doubt.nonzero()[:, 0]
    if len(at):
        turned = unions.some(at)
        found, apart = _side(test, partner[at], node[at], other[at], own[at], turned, enough, near)
        found[0] += math.log(2)
        r, q = _pick(best[:, at], found, torch.minimum), _pick(singly[:, at], apart, torch.maximum)
        best[:, at] = _joined(r, q)
    best[0].clamp_(max=0.0)
    return PairResults(*best)


def _pick(one: Tensor, other: Tensor, which: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return of two tests (4, B) each, pair by pair, the one with the smaller or the larger p-value."""
    return torch.where(which(one[0], other[0]) == one[0], one, other)


def _joined(r: Tensor, q: Tensor) -> Tensor:
    """Return two honest tests (4, B) of the same pairs as one: their p-values combined, the rest of the smaller one's."""
    log_p = combine(torch.stack([r[0].clamp(max=0.0), q[0]], dim=-1))
    return torch.cat([log_p[None], _pick(r, q, torch.minimum)[1:]])


@dataclass(frozen=True, eq=False)
class _Unions:
    """Tests given both ends' sets, each done when an end first asks for it.

    Attributes
    ----------
    sets : Tensor of shape (B, s)
    fit : Tensor of shape (B,)
        Whether a set has few enough members and cells.
    found : Tensor of shape (4, B)
        The tests, NaN where they have not been done.
    """

    test: EdgeTest
    first: Tensor
    second: Tensor
    sets: Tensor
    fit: Tensor
    found: Tensor

    @classmethod
    def of_ends(
        cls, test: EdgeTest, first: Tensor, second: Tensor, a: Tensor, b: Tensor, most: int
    ) -> _Unions:
        """Return the unions of the ends' sets a and b, none tested yet."""
        sets = union(a, b)
        fit = table_cells(test.features, sets) <= most_cells(test.features.n, test.design)
        fit &= (sets >= 0).sum(dim=1) <= most
        found = torch.full((4, len(first)), torch.nan, dtype=torch.float64, device=first.device)
        return cls(test, first, second, sets, fit, found)

    def some(self, at: Tensor) -> _Unions:
        """Return those of some of the pairs."""
        return _Unions(
            self.test, self.first[at], self.second[at], self.sets[at], self.fit[at], self.found[:, at]
        )

    def of(self, at: Tensor) -> Tensor:
        """Return the tests of some of the pairs, NaN where the union has too many cells: (4, len(at))."""
        new = at[self.fit[at] & self.found[0, at].isnan()]
        if len(new):
            self.found[:, new] = _stacked(self.test, self.first[new], self.second[new], self.sets[new])
        return self.found[:, at]


def _side(
    test: EdgeTest,
    node: Tensor,
    partner: Tensor,
    own: Tensor,
    other: Tensor,
    unions: _Unions,
    enough: float,
    near: float,
) -> tuple[Tensor, Tensor]:
    r"""Return the tests behind :math:`\bar p_i` and :math:`p_i`, for pairs of a node i and its partner j.

    Log p-values, strengths, signs and information as the rows of a tensor, twice (4, B).
    """
    singly = _stacked(test, node, partner, own)
    least = enough * singly[3]
    fresh = (other >= 0) & ~(other[:, :, None] == own[:, None, :]).any(dim=2)
    at = (fresh.any(dim=1) & (singly[0] < math.log(near))).nonzero()[:, 0]
    if not len(at):
        return singly.clone(), singly
    evidence = test.rank(node[at], torch.cat([partner[at, None], other[at]], dim=1), packed(own[at]))
    row, slot = (fresh[at] & (evidence[:, 1:] <= _RIVAL * evidence[:, :1])).nonzero(as_tuple=True)
    united = unions.of(at)
    found = united[:, row]
    pair = at[row]
    # With one member alone the larger set is the union, which has been tested where it fits.
    new = (~unions.fit[pair] | (fresh[pair].sum(dim=1) > 1)).nonzero()[:, 0]
    if len(new):
        joined = torch.cat([own[pair[new]], other[pair[new], slot[new]][:, None]], dim=1)
        found[:, new] = _stacked(test, node[pair[new]], partner[pair[new]], joined)
    _take_largest(singly, pair, _heard(found, least[pair]))
    best = singly.clone()
    _take_largest(best, at, _heard(united, least[at]))
    return best, singly


def _heard(found: Tensor, least: Tensor) -> Tensor:
    """Return tests in which those with too little information, or none at all, have log p-value -inf."""
    silent = found[0].isnan() | (found[3] < least)
    return torch.cat([found[:1].masked_fill(silent, -torch.inf), found[1:]])


def _stacked(test: EdgeTest, first: Tensor, second: Tensor, given: Tensor) -> Tensor:
    """Return log p-values, strengths, signs and information as the rows of one tensor."""
    found = test.pairs(first, second, packed(given))
    return torch.stack([found.log_p, found.strength, found.sign, found.information])


def _same(a: Tensor, b: Tensor) -> Tensor:
    """Return whether two sets have the same members, (B, s), (B, s) -> (B,)."""
    return (a.sort(dim=1).values == b.sort(dim=1).values).all(dim=1)


def _take_largest(best: Tensor, pair: Tensor, found: Tensor) -> None:
    """Replace the columns of `best` by those found for the same pair whose log p-value is the largest of all."""
    order = torch.argsort(found[0], stable=True)
    order = order[torch.argsort(pair[order], stable=True)]
    last = torch.ones_like(order, dtype=torch.bool)
    last[:-1] = pair[order][1:] != pair[order][:-1]
    top = order[last]
    top = top[found[0, top] > best[0, pair[top]]]
    best[:, pair[top]] = found[:, top]
