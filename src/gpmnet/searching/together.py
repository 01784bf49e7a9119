r"""Neighbors that a search by single features cannot see: those that act fast, and those that act only together.

Given its neighborhood, what is left r of each feature of a node is compared with every kept function of every other
variable (cosines up to the fastest, waves), and with every product of features of two others, by matrix products.
The largest :math:`|t|` of those that rest on enough rows counts, times the number of comparisons (Bonferroni); what passes
is kept in the neighborhood whatever single features say. A sine of a sum, a sign times a value, a parity of three: without
its confounders in the conditioning set a null pair behind them is a false edge, and without this step they are never
found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.columns.tabulated import Tabulated, feature_rows
from gpmnet.testing.base import BoundTest, trimmed
from gpmnet.testing.clusters import Clusters
from gpmnet.testing.residuals import whitened_residuals

_MOST = 1e11  # operations that looking for products may take
_FEATURES = 4  # of a variable that are multiplied
_PIECE = 1 << 22  # numbers whose powers are taken at a time


@dataclass(frozen=True, eq=False)
class Unseen:
    """What searches by single features missed.

    Attributes
    ----------
    members : Tensor of shape (m, 3)
        For each node a neighbor that acts fast and two that act together, -1 for none.
    log_p : Tensor of shape (m, 3)
        Log p-values of these signs, corrected for the number of comparisons.
    """

    members: Tensor
    log_p: Tensor


def unseen(test: BoundTest, nodes: Tensor, members: Tensor, allowed: Tensor, alpha: float) -> Unseen:
    """Return what neighborhoods (m, s; -1 pads) of nodes (m,) leave to be seen.

    `allowed`, (m, d) of bool, says who may be whose neighbor. Time n D m K for a table of D rows and K features, and
    n f^2 m K for products of f features, which are left out where that is too much.
    """
    features = test.designs.features
    m, d, device = len(nodes), features.d, features.device
    everyone = torch.arange(d, device=device)
    table = test.designs.table(everyone[:0], everyone)  # of features, if not of all functions
    width = int(features.width.max())
    left = table.value.new_zeros((m, width, features.n))
    place = torch.empty_like(everyone)
    place[nodes] = torch.arange(m, device=device)
    for some, residual in whitened_residuals(test.designs, nodes, trimmed(members)):
        left[place[some], : residual.shape[2]] = residual.mT.to(left.dtype)
    inside = torch.zeros((m, d + 1), dtype=torch.bool, device=device)
    inside.scatter_(1, torch.where(members >= 0, members, d), True)
    open_ = allowed & ~inside[:, :d]
    if test.designs.clusters is not None:
        left = left / _doubt(test.designs.clusters, features, nodes).to(left.dtype)[:, None, None]
    fast = _fast(test, left, open_, alpha)
    together = _together(table, test, left, allowed, inside[:, :d], alpha)
    return Unseen(
        torch.cat([fast.members, together.members], dim=1), torch.cat([fast.log_p, together.log_p], dim=1)
    )


def _doubt(clusters: Clusters, features: Features, nodes: Tensor) -> Tensor:
    """Return by how much t-values of nodes (m,) may be too large, since rows in clusters are alike, (m,).

    By the inequality of Cauchy and Schwarz, with the variable that is most alike inside of clusters.
    """
    excess = clusters.own_effect(features.start) - 1
    return (1 + (excess[nodes] * excess.max()).sqrt()).sqrt()


def _fast(test: BoundTest, left: Tensor, open_: Tensor, alpha: float) -> Unseen:
    """Return the one variable of which a node shows the clearest sign in any kept function."""
    features = test.designs.features
    m, k, n = left.shape
    found = left.new_full((m, features.d), 0.0)
    rows = 2  # constant ones
    for variables, table in test.designs.tables(torch.arange(features.d, device=left.device)):
        t = (left.flatten(0, 1) @ table.value.T).abs().reshape(m, k, -1).amax(dim=1) / n**0.5  # (m, D)
        t = t.masked_fill(~_rests_on_many(table.value), 0.0)
        for j in variables.tolist():
            first, last = table.span(j, features)
            found[:, j] = t[:, first:last].amax(dim=1)
        rows += table.value.shape[0] - 2
    best, at = found.masked_fill(~open_, 0.0).max(dim=1)
    log_p = _log_p(best, rows * k)
    passes = log_p < math.log(alpha)
    return Unseen(torch.where(passes, at, -1)[:, None], torch.where(passes, log_p, 0.0)[:, None])


def _together(
    table: Tabulated, test: BoundTest, left: Tensor, allowed: Tensor, inside: Tensor, alpha: float
) -> Unseen:
    """Return the two variables of which a node shows the clearest sign in products of their features."""
    features = test.designs.features
    m, k, n = left.shape
    d, device = features.d, left.device
    best, pair = torch.zeros(m, dtype=left.dtype, device=device), torch.full((m, 2), -1, device=device)
    rows = feature_rows(features, table, torch.arange(d, device=device)[:, None])[:, 0, :_FEATURES]
    owner = torch.arange(d, device=device)[:, None].expand_as(rows)[rows > 0]
    columns = table.value[rows[rows > 0]]
    if n * float(len(columns)) ** 2 * m * k > _MOST or d < 3:
        return Unseen(pair, torch.zeros((m, 2), dtype=torch.float64, device=device))
    flat = left.flatten(0, 1)
    for a in range(d - 1):
        mine, others = columns[owner == a], columns[owner > a]
        value = (mine[:, None] * others[None]).flatten(0, 1)
        value -= value.mean(dim=1, keepdim=True)
        value /= value.square().mean(dim=1, keepdim=True).sqrt().clamp(min=1e-6)
        t = (value @ flat.T).abs().reshape(-1, m, k).amax(dim=2) / n**0.5  # (products, m)
        who = owner[owner > a].repeat(len(mine))
        seen = inside[:, a][None, :] & inside[:, who].T  # the regression has their products already
        seen |= ~_rests_on_many(value)[:, None]
        t = t.masked_fill(seen | ~(allowed[:, a][None, :] & allowed[:, who].T), 0.0)
        top, at = t.max(dim=0)
        better = top > best
        best = torch.where(better, top, best)
        pair[better] = torch.stack([torch.full_like(who[at], a), who[at]], dim=1)[better]
    log_p = _log_p(best, len(columns) ** 2 / 2 * k)
    passes = log_p < math.log(alpha)
    return Unseen(
        torch.where(passes[:, None], pair, -1), torch.where(passes, log_p, 0.0)[:, None].expand(-1, 2)
    )


def _rests_on_many(value: Tensor) -> Tensor:
    """Return which standardised functions (D, n) rest on enough rows for a normal tail after many comparisons, (D,).

    A function of kurtosis c rests on n / c rows: an indicator on those that it marks. 60 are enough, or a tenth of all.
    """
    n = value.shape[1]
    pieces = torch.split(value, max(1, _PIECE // n))  # no powers of the whole table beside it
    kurtosis = torch.cat([piece.square().square_().mean(dim=1) for piece in pieces])
    return n >= min(60.0, n / 10) * kurtosis


def _log_p(t: Tensor, count: float) -> Tensor:
    """Return log p-values of the largest |t| of some number of standard normal ones."""
    one: Tensor = torch.special.log_ndtr(-t.double())
    return (one + math.log(2 * count)).clamp(max=0.0)
