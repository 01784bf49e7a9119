r"""Rows that depend on each other: tests whose variances are those of sums over clusters of rows.

With clusters g of rows (the visits of a patient, copies of a row, blocks of a series) the mean of n products T of residuals
has the covariance of sums over clusters,

.. math:: S_G = \frac{1}{n} \frac{G}{G - 1} \sum_g s_g s_g^\top, \qquad s_g = \sum_{r \in g} (T_r - \bar T) ,

whatever the dependence inside of them, as long as clusters are independent (Liang and Zeger 1986). With few clusters and
many products its inverse is noise. So the products are turned and scaled by the covariance S that rows alone would have, and
the *design effects* are the diagonal of :math:`S_G` there. The statistic is the sum of squares, each divided by its design
effect; its distribution under the null is that of Rao and Scott (1984): with the correlations R of the turned products,
:math:`\nu = q^2 / \|R\|^2` degrees of freedom instead of q. That each effect is an estimate from G - 1 degrees makes it an
F, with as many in the denominator as give its variance relative to its mean that of a sum of :math:`\nu` squared t,
:math:`m = (4 (G - 2) + (\nu - 2)(G - 5)) / 3`; by Bartlett's logarithm
:math:`(m - 1 + \nu / 2) \log(1 + \nu F / m) \sim \chi^2_\nu`.

Clusters of different sizes say less about a variance than as many of one size: a large one pulls the mean after it, and the
sum of squares has few terms that count. With sizes :math:`n_g`, G stands for :math:`n^2 / \sum_g n_g^2`, their number
where all are equal (Carter, Schnepel and Steigerwald 2017). Half of the rows in one cluster make it less than four, and such
tests have little power; with the number of clusters instead they would reject most null pairs.

A design effect counts as one at least, so that clusters make no test surer, and where it is below what the
dependence inside of clusters gives two independent variables,

.. math:: e_{kl} = 1 + \frac{1}{n} \sum_{r \ne s \in g} \mathrm{cor}(f_{rk}, f_{sk})\, \mathrm{cor}(h_{rl}, h_{sl}) ,

two thirds of it are that (as in `double_residual`: the products of rare levels have a variance of their own only where some
were seen). The correlations are those of rows that are equally far apart in their cluster. The search, which ranks many
candidates from moments, has these alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.testing.p_values import log_chi2_sf

_LEAST_LEFT = 0.05  # share of the rows that a regression leaves free at least
_SMALLEST = 0.2  # of the eigenvalues of a covariance of whitened products, as without clusters
_EVERY = 16  # distances up to this are looked at one by one, then about every eighth of them
_AT_ONCE = 1 << 24  # numbers in memory
_UPPER = 0.975  # of an interval


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which rows belong together, and how alike they are.

    Attributes
    ----------
    code : Tensor of shape (n,)
        Cluster of each row, 0 to G - 1.
    count : int
        G.
    alike : Tensor of shape (D + 1, L)
        Correlation of each column of `Features.phi` between rows of one cluster, at L distances.
    weight : Tensor of shape (L,)
        How many pairs of rows are about so far apart, twice, over n.
    """

    code: Tensor
    count: int
    alike: Tensor
    weight: Tensor

    @classmethod
    def of(cls, features: Features, code: NDArray[np.integer], rows: NDArray[np.intp]) -> Clusters:
        """Return the clusters of the rows of features.

        Parameters
        ----------
        code : ndarray of shape (n,)
            Cluster of each row.
        rows : ndarray of shape (n,)
            Where each row stands in the table: the distance of two rows of a cluster is counted there.

        Notes
        -----
        Time O(n D L), where L grows with the logarithm of the largest cluster.
        """
        uniques, place, size = np.unique(code, return_inverse=True, return_counts=True)
        order = np.lexsort((rows, place))
        lags, weight = _distances(size)
        found = features.phi.new_zeros((features.phi.shape[1], len(lags)), dtype=torch.float64)
        square = features.phi.square().mean(dim=0).double().clamp(min=1e-12)
        for at, lag in enumerate(lags):
            near = place[order[lag:]] == place[order[:-lag]]
            one, two = (torch.as_tensor(x[near], device=features.device) for x in (order[:-lag], order[lag:]))
            found[:, at] = _mean_products(features.phi, one, two) / square
        device = features.device
        weights = torch.as_tensor(weight, device=device)
        return cls(torch.as_tensor(place, device=device), len(uniques), found, weights)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.code)

    @cached_property
    def equal(self) -> float:
        """How many clusters of one size say as much about a variance: n^2 over the sum of squared sizes, G at most."""
        return self.n**2 / float(torch.bincount(self.code).double().square().sum())

    def effect(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the design effects, 1 at least, of products of independent columns (..., K) and (..., M): (..., K, M)."""
        one, two = self.alike[first] * self.weight, self.alike[second]
        return (1 + one @ two.mT).clamp(min=1.0)

    def own_effect(self, columns: Tensor) -> Tensor:
        """Return the design effects of columns (m,) with independent ones that are as alike inside clusters, (m,)."""
        return 1 + (self.alike[columns].square() * self.weight).sum(dim=-1)

    def sums(self, value: Tensor) -> Tensor:
        """Return the sums over clusters of values (b, n, q): (b, G, q), double."""
        b, _, q = value.shape
        found = value.new_zeros((b, self.count, q), dtype=torch.float64)
        return found.index_add_(1, self.code, value.double())

    def ratio(self, value: Tensor) -> Tensor:
        """Return by how much clusters raise the variance of the mean of centred values (b, n), 1 at least: (b,).

        It is as much larger as makes normal 95% intervals those of Student's t, since it is known from few clusters.
        """
        sums = self.sums(value[:, :, None])[:, :, 0].square().sum(dim=1)
        m = max(self.equal - 1, 1.0)
        doubt = (m + 1) / m * float(stdtrit(m, _UPPER) / ndtri(_UPPER)) ** 2
        return doubt * (sums / value.square().sum(dim=1).clamp(min=1e-300)).clamp(min=1.0)


@dataclass(frozen=True, eq=False)
class Clustered:
    """The rows of a batch of pairs as clusters, and the design effects (b, K_i, K_j) of independent pairs."""

    clusters: Clusters
    effect: Tensor

    def narrowed(self, k: int, m: int) -> Clustered:
        """Return the same for the first features of both ends."""
        return Clustered(self.clusters, self.effect[:, :k, :m])

    def take(self, pairs: Tensor, times: int) -> Clustered:
        """Return the same for products of some of the pairs with some number of others, whose dependence is not known."""
        return Clustered(self.clusters, torch.ones_like(self.effect[pairs]).repeat_interleave(times, dim=2))

    def log_p(self, products: Tensor, covariance: Tensor, df: Tensor, left: Tensor, trust: float) -> Tensor:
        """Return log p-values (b,) of the means of products.

        Parameters
        ----------
        products : Tensor of shape (b, n, q)
        covariance : Tensor of shape (b, q, q)
            Of a product, were the rows independent.
        df : Tensor of shape (b,)
            Number of products, padding not counted.
        left : Tensor of shape (b,)
            The share of the rows that the regressions leave free.
        trust : float
            Share of the design effects that were seen, where they are small.
        """
        n, m = products.shape[1], max(self.clusters.equal - 1, 1.0)
        mean = products.mean(dim=1, keepdim=True)
        value, vector = torch.linalg.eigh((covariance + covariance.mT) / 2)
        white = vector * value.clamp(min=_SMALLEST).rsqrt()[:, None, :]
        sums = self.clusters.sums(products - mean) @ white * ((m + 1) / (m * n)) ** 0.5
        own = sums.square().sum(dim=1)
        null = (vector.square().mT @ self.effect.flatten(1)[:, :, None])[:, :, 0]
        size = torch.maximum(own, (1 - trust) * null + trust * own).clamp(min=1.0)
        unit = sums / size.sqrt()[:, None, :]
        related = (unit.mT @ unit).square()
        alike = related.sum(dim=(1, 2)) - related.diagonal(dim1=1, dim2=2).sum(dim=1)
        count = df.double()
        nu = count.square() / (count + (alike - count * (count - 1) / m).clamp(min=0.0))
        mean_size = torch.where(own > 0, size, 0.0).sum(dim=1) / count
        free = (1 - (1 - left) * mean_size).clamp(min=_LEAST_LEFT)
        turned = (mean.double() @ white)[:, 0]
        per_one = n * free * (turned.square() / size).sum(dim=1) / count
        second = ((4 * (m - 1) + (nu - 2) * (m - 4)) / 3).clamp(min=m)
        return log_chi2_sf((second - 1 + nu / 2) * torch.log1p(nu * per_one / second), nu)


def _distances(size: NDArray[np.intp]) -> tuple[list[int], NDArray[np.float64]]:
    """Return the distances that are looked at inside clusters of some sizes, and the weight of each.

    Every distance counts with the one that is closest to it.
    """
    most = int(size.max()) - 1
    n = size.sum()
    far = np.arange(1, most + 1)
    # Pairs of rows that are so far apart: every cluster that is larger has one less with each step.
    larger = np.searchsorted(np.sort(size), far, side="right")
    ordered = np.sort(size)
    behind = np.concatenate([np.cumsum(ordered[::-1])[::-1], [0]])
    pairs = behind[larger] - far * (len(size) - larger)
    chosen = [lag for lag in range(1, most + 1) if lag <= _EVERY]
    while chosen and chosen[-1] < most:
        chosen.append(min(most, chosen[-1] + max(1, chosen[-1] // 8)))
    edges = [(a + b) / 2 for a, b in pairwise(chosen)]
    place = np.searchsorted(edges, far, side="left")
    weight = np.zeros(len(chosen))
    np.add.at(weight, place, 2.0 * pairs / n)
    return chosen, weight


def _mean_products(phi: Tensor, one: Tensor, two: Tensor) -> Tensor:
    """Return the means of products of some rows (m,) of all columns with others, (D,), double."""
    if not len(one):
        return phi.new_zeros(phi.shape[1], dtype=torch.float64)
    columns = max(1, _AT_ONCE // len(one))
    parts = torch.split(phi, columns, dim=1)
    return torch.cat([(part[one] * part[two]).double().mean(dim=0) for part in parts])
