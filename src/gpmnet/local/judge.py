r"""The p-value of a pair after the search, given both neighbourhoods.

A pair without an edge is separated by the complete neighbourhood of either end. But the search may have missed a
weak neighbour of one end, which the other end's set often holds: given :math:`N(j)` alone such a pair looks dependent.
The union of both sets separates it, and may take away most of what there is to see: in sparse tables few rows are left in
a cell, and next to deterministic relations nothing varies any more. So each end's set is tried alone, with all members of
the other one, and with each of them,

.. math:: p_i = \max \{\, p_S : S = N(i),\ N(i) \cup N(j),\ N(i) \cup \{k\},\ k \in N(j) \,\}, \qquad
          p = 2 \min(p_i, p_j),

all sets without the pair itself. An edge is seen as soon as one end's set is good enough to see it; a pair without one is
acquitted by any set that separates it, so that :math:`P(p \le \alpha) \le \alpha` if one of the sets of each end does. Where
both ends' sets are the same, p is the one test given them.

Two kinds of set have no say. One that leaves less than a share kappa of the information
:math:`(n - df_S)\, E[V_i(x_S) V_j(x_S)]` that :math:`N(i)` leaves: beside what all but determines an end everything looks
independent. And :math:`N(i) \cup \{k\}` with a k that cannot be what was missed: if k explains why j depends on i given
:math:`N(i)`, it says at least as much about i as j does (data-processing inequality); with less than half of j's evidence
it is not tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.local.edge_test import EdgeTest, PairResults
from gpmnet.local.features import Features
from gpmnet.local.nuisance import most_cells, table_cells
from gpmnet.local.search import packed

_RIVAL = 1 / 2  # of the pair's evidence, that a member needs to be tried
_CLEAR = math.log(1e-12)  # log p-value below which the second end is not asked any more


def ends(members: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return each end's neighbours without the pair itself, from all neighbourhoods (d, s): twice (B, s)."""
    a, b = members[first], members[second]
    return torch.where(a == second[:, None], -1, a), torch.where(b == first[:, None], -1, b)


def judge(
    test: EdgeTest,
    members: Tensor,
    first: Tensor,
    second: Tensor,
    enough: float,
    near: float = 1.0,
    most: int = 12,
) -> PairResults:
    """Return the tests of pairs (B,) given the neighbourhoods (d, s; -1 pads) that the search found.

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
    Strength and sign are those given the set whose p-value is reported. The end with the smaller set is asked first, the
    other one only where that leaves a doubt (p > 1e-12; 2 p is then valid without it). Time: two tests a pair, one where
    both sets are the same, and one for each larger set that is tried. Unions whose discrete members span more cells than
    a saturated regression may have are not.
    """
    a, b = ends(members, first, second)
    swap = _second_first(test.features, a, b)
    node, partner = torch.where(swap, second, first), torch.where(swap, first, second)
    own, other = torch.where(swap[:, None], b, a), torch.where(swap[:, None], a, b)
    unions = _Unions.of_ends(test, node, partner, a, b, most)
    best = _side(test, node, partner, own, other, unions, enough, near)
    differs = ~_same(a, b)
    at = (differs & (best[0] > _CLEAR)).nonzero()[:, 0]
    if len(at):
        turned = unions.some(at)
        found = _side(test, partner[at], node[at], other[at], own[at], turned, enough, near)
        better = found[0] < best[0, at]
        best[:, at[better]] = found[:, better]
    best[0] = torch.where(differs, (best[0] + math.log(2)).clamp(max=0.0), best[0])
    return PairResults(*best)


def _second_first(features: Features, a: Tensor, b: Tensor) -> Tensor:
    """Return where the second set is to be asked first: it is smaller, or comes first in a hash of the names."""
    size_a, size_b = (a >= 0).sum(dim=1), (b >= 0).sum(dim=1)
    key_a, key_b = (torch.where(x >= 0, features.key[x.clamp(min=0)], 0.0).sum(dim=1) for x in (a, b))
    return (size_b < size_a) | ((size_b == size_a) & (key_b < key_a))


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
        repeated = (b[:, :, None] == a[:, None, :]).any(dim=2)
        sets = torch.cat([a, b.masked_fill(repeated, -1)], dim=1)
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
) -> Tensor:
    """Return the tests of pairs given the nodes' own sets, or a larger one where that makes p larger.

    Log p-values, strengths, signs and information as the rows of one tensor, (4, B).
    """
    best = _stacked(test, node, partner, own)
    least = enough * best[3]
    fresh = (other >= 0) & ~(other[:, :, None] == own[:, None, :]).any(dim=2)
    at = (fresh.any(dim=1) & (best[0] < math.log(near))).nonzero()[:, 0]
    if len(at):
        _take_largest(best, at, _heard(unions.of(at), least[at]))
    # One member alone is the union, which has spoken where it fits.
    alone = unions.fit & (fresh.sum(dim=1) == 1)
    at = (fresh.any(dim=1) & ~alone & (best[0] < math.log(near))).nonzero()[:, 0]
    if len(at):
        evidence = test.rank(node[at], torch.cat([partner[at, None], other[at]], dim=1), packed(own[at]))
        row, slot = (fresh[at] & (evidence[:, 1:] <= _RIVAL * evidence[:, :1])).nonzero(as_tuple=True)
        pair = at[row]
        joined = torch.cat([own[pair], other[pair, slot][:, None]], dim=1)
        if len(pair):
            found = _stacked(test, node[pair], partner[pair], joined)
            _take_largest(best, pair, _heard(found, least[pair]))
    return best


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
