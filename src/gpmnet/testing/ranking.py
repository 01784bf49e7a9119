r"""Candidates of a node ranked by the double-residual test, from moments alone.

Given a node's set, what the regression leaves of its features and of those of all its candidates has known mean products
(`gpmnet.testing.regression`); only the columns that are made for the node take a pass over the rows. The covariance of the
products is taken for that of independence and equal variances: for an order and for who passes, not for the last digit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.columns.tabulated import Tabulated, feature_rows
from gpmnet.columns.whitening import whitener
from gpmnet.testing.clusters import Clusters
from gpmnet.testing.p_values import cauchy_combination, log_chi2_sf
from gpmnet.testing.regression import Regression
from gpmnet.testing.residuals import floor, lacking_variance


def rank(
    features: Features,
    table: Tabulated,
    regression: Regression,
    nodes: Tensor,
    candidates: Tensor,
    clusters: Clusters | None = None,
) -> Tensor:
    """Return log p-values (b, C) of nodes (b,) against candidates (b, C; -1 pads); 0 for no candidate.

    Where rows are in clusters, squares count less by the design effects that independent pairs have.

    Time O(b p^2 C K) for p columns and K features; O(b n r C K) more for r columns made for the node.
    """
    own, other = feature_rows(features, table, nodes[:, None]), feature_rows(features, table, candidates)
    left = _Left.of(table, regression, own, other)
    white_own = _white(features, nodes[:, None], *left.own)
    white = _white(features, candidates, *left.other)
    # (b, C, K_i, K_j): both sides whitened, so that squares add up to a chi-square
    square = (white_own.mT @ left.moment @ white).square() * regression.n
    if clusters is not None:
        square = square / clusters.effect(features.columns(nodes)[:, None], features.columns(candidates))
    others = candidates.clamp(min=0)
    shrink = regression.left[:, None]
    df_i, df_j = features.width[nodes][:, None], features.width[others]
    fine = log_chi2_sf(square.sum(dim=(2, 3)) * shrink, df_i * df_j)
    thin_i, thin_j = features.coarse(nodes)[:, None], features.coarse(others)
    slots_i, slots_j = (torch.arange(size, device=nodes.device) for size in square.shape[2:])
    mask = (slots_i < thin_i)[:, None, :, None] & (slots_j < thin_j[..., None])[:, :, None, :]
    coarse = log_chi2_sf((square * mask).sum(dim=(2, 3)) * shrink, thin_i * thin_j)
    joined = cauchy_combination(torch.stack([fine, coarse], dim=-1))
    return torch.where(candidates >= 0, joined, torch.zeros_like(joined))


class _Left:
    """Mean products of what regressions leave of features.

    Attributes
    ----------
    own, other : tuple of Tensor
        Of the features of a variable with each other, (b, s, K, K), and the variances of the features, (b, s, K).
    moment : Tensor of shape (b, C, K_i, K_j)
        Of the node's with each candidate's.
    """

    def __init__(self, own: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor], moment: Tensor) -> None:
        self.own, self.other, self.moment = own, other, moment

    @classmethod
    def of(cls, table: Tabulated, regression: Regression, own: Tensor, other: Tensor) -> _Left:
        """Return them for the features in rows (b, 1, K_i) of a table against those in rows (b, C, K_j)."""
        b, c, k = other.shape
        parts = []
        for rows in (own, other):
            m = regression.feature_moments(table, rows.flatten(1))
            a = regression.solve(m)
            parts.append((torch.unflatten(m, 2, rows.shape[1:]), torch.unflatten(a, 2, rows.shape[1:])))
        (m_i, a_i), (m_j, a_j) = parts

        def products(raw: Tensor, m: Tensor, a: Tensor, a_too: Tensor) -> Tensor:
            # (b, p, s, K) against (b, p, s, L)
            lost = torch.einsum("bpsk,bpsl->bskl", m, a_too)
            return raw - lost - regression.ridge * torch.einsum("bpsk,bpsl->bskl", a, a_too)

        raw_i, raw_j = (_own_products(table, rows) for rows in (own, other))
        raw = table.products(own[:, 0], other.flatten(1)).reshape(b, -1, c, k).permute(0, 2, 1, 3)
        moment = raw - torch.einsum("bpk,bpsl->bskl", m_i[:, :, 0], a_j)
        moment = moment - regression.ridge * torch.einsum("bpk,bpsl->bskl", a_i[:, :, 0], a_j)
        variances = (x.diagonal(dim1=2, dim2=3) for x in (raw_i, raw_j))
        first, second = variances
        return cls((products(raw_i, m_i, a_i, a_i), first), (products(raw_j, m_j, a_j, a_j), second), moment)


def _own_products(table: Tabulated, rows: Tensor) -> Tensor:
    """Return the mean products of each variable's features, in rows (b, s, K) of a table, with each other: (b, s, K, K)."""
    flat = rows.flatten(0, 1)
    return torch.unflatten(table.products(flat, flat), 0, rows.shape[:2])


def _white(features: Features, variables: Tensor, gram: Tensor, variance: Tensor) -> Tensor:
    """Return what whitens residual features as far as spikes stay bounded, (b, s, K, K)."""
    lacking = lacking_variance(features, variance, variables)
    return whitener(gram, floor(variance, lacking))
