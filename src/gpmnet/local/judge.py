r"""The p-value of a pair after the search, given both neighbourhoods.

A pair without an edge is separated by the complete neighbourhood of either end. But the search may have missed a
weak neighbour of one end, which the other end's set often holds: given :math:`N(j)` alone such a pair looks dependent.
The union of both sets separates it, and takes away most of what there is to see: in sparse tables few rows are left in a
cell, and next to deterministic relations nothing varies any more. So the members of the other set join one at a time:

.. math:: p = \max \big\{ p_S : S = N,\ N \cup \{k\},\ k \in N' \big\}, \qquad I_S \ge \kappa\, I_N,

where N is the set of the end that leaves more information about the pair and N' the other one, both without
the pair itself, and :math:`I_S = (n - df_S)\, E[V_i(x_S) V_j(x_S)]`. If N lacks at most one neighbour that N' has,
:math:`P(p \le \alpha) \le \alpha`: one of the sets separates the pair, and the choice of N does not look at the products
that are tested. A member that all but determines an end (kappa = 0.05: less than a twentieth of the information left) has no
say: whatever it is put beside looks independent.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gpmnet.local.edge_test import EdgeTest, PairResults
from gpmnet.local.search import packed


def ends(members: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return each end's neighbours without the pair itself, from all neighbourhoods (d, s): twice (B, s)."""
    a, b = members[first], members[second]
    return torch.where(a == second[:, None], -1, a), torch.where(b == first[:, None], -1, b)


def judge(
    test: EdgeTest, members: Tensor, first: Tensor, second: Tensor, enough: float, near: float = 1.0
) -> PairResults:
    """Return the tests of pairs (B,) given the neighbourhoods (d, s; -1 pads) that the search found.

    Parameters
    ----------
    enough : float
        Kappa: the share of the information that must be left for a joining member to have a say.
    near : float
        Pairs whose p-value is above this before any member joins are not tested further.

    Notes
    -----
    Strength and sign are those given the set whose p-value is reported. Time: two tests a pair, one where both sets are
    the same, and one for each member of the other set where that may matter.
    """
    a, b = ends(members, first, second)
    best = _stacked(test, first, second, a)
    differs = ~_same(a, b)
    at = differs.nonzero()[:, 0]
    if len(at):
        other = _stacked(test, first[at], second[at], b[at])
        better = other[3] > best[3, at]
        best[:, at[better]] = other[:, better]
        a[at[better]], b[at[better]] = b[at[better]], a[at[better]]
    pair, slot = ((b >= 0) & differs[:, None] & (best[0] < math.log(near))[:, None]).nonzero(as_tuple=True)
    joins = b[pair, slot]
    fresh = ~(a[pair] == joins[:, None]).any(dim=1)
    pair, joins = pair[fresh], joins[fresh]
    if len(pair):
        joined = torch.cat([a[pair], joins[:, None]], dim=1)
        found = _stacked(test, first[pair], second[pair], joined)
        silent = found[3] < enough * best[3, pair]
        found[0] = found[0].masked_fill(silent, -torch.inf)
        _take_largest(best, pair, found)
    return PairResults(*best)


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
