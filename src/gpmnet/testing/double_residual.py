r"""The double-residual test: are two variables dependent once a set of others is known?

The features of both variables are regressed on flexible functions of the set; the mean of the products of the
two residuals is compared with its distribution under conditional independence:

.. math:: T = r_i \otimes r_j, \qquad n\, \bar T^\top S^{-1} \bar T \ \sim\ \chi^2_{K_i K_j} .

The bias of the mean is a product of two regression errors, which is what lets flexible but imperfect
regressions give honest p-values (Shah and Peters 2020, generalised covariance measure).

**Covariance.** Under independence given the set, the covariance of T is :math:`S_0 = E[V_i(x_S) \otimes V_j(x_S)]`
with the conditional covariances V: the Kronecker product of the residual covariances plus the covariance over
rows of the fitted second moments. The test uses :math:`S = (2 S_0 + S_T) / 3` with the empirical covariance
:math:`S_T` of T. For a Poisson count o with mean e this is :math:`(o - e)^2 / (e + (o - e) / 3)`, the likelihood
ratio to second order, so that sparse cells keep honest tails.

**Which products.** A *fine* test of all products; a *coarse* one of the first features only, so that a weak
linear effect is not drowned in degrees of freedom; and *weighted* ones, the coarse products times the first
features of each member of the set, for edges that live in an interaction. They are joined by the Cauchy
combination (Liu and Xie 2020). The covariance of weighted products is two thirds empirical, since a weight and
the conditional variances may move together.

**Rows in clusters** (`gpmnet.testing.clusters`): the covariances become those of sums over clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from gpmnet.checks import check_type
from gpmnet.columns.features import Features
from gpmnet.columns.tabulated import ZERO, Tabulated, feature_rows
from gpmnet.columns.whitening import whitener
from gpmnet.testing.base import ConditionalTest, PairTests
from gpmnet.testing.blocks import budget
from gpmnet.testing.clusters import Clustered
from gpmnet.testing.design import Designs
from gpmnet.testing.p_values import cauchy_combination, log_chi2_sf
from gpmnet.testing.ranking import rank
from gpmnet.testing.regression import Regression
from gpmnet.testing.residuals import Residuals, floor
from gpmnet.testing.strength import Strength, strength_of, weighted_strength

_DOUBTED = math.log(0.1)  # log p-value below which a pair is looked at more closely
_MOST_WEIGHTED = 64  # weighted products beyond this many cost more than they could show
_CANDIDATES = 128  # ranked at a time
_WIDE = 6  # blocks of more features than this are taken for homoscedastic: their moments are too many to fit


@dataclass(frozen=True)
class DoubleResidual(ConditionalTest):
    """The mean product of what a set leaves of two variables.

    Attributes
    ----------
    interactions : bool
        Whether to weight the products with the members of the conditioning set.
    """

    takes_clusters: ClassVar[bool] = True
    interactions: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self, "interactions", bool)

    def rank(self, designs: Designs, nodes: Tensor, candidates: Tensor, given: Tensor) -> Tensor:
        """Return log p-values (B, C) of each node (B,) against its candidates (B, C; -1 pads) given its set (B, s).

        From moments; see `gpmnet.testing.ranking`.
        """
        features, most = designs.features, budget(designs.features.device)
        log_p = torch.zeros(candidates.shape, dtype=torch.float64, device=nodes.device)
        if not candidates.shape[1]:
            return log_p
        for part in designs.batches(given, most, products=False):
            table = designs.table(given[part], torch.cat([nodes[part, None], candidates[part]], dim=1))
            regression = designs.regress(given[part], [nodes[part]], table, products=False)
            for slots in torch.split(torch.arange(candidates.shape[1], device=nodes.device), _CANDIDATES):
                some = candidates[part[:, None], slots]
                log_p[part[:, None], slots] = rank(
                    features, table, regression, nodes[part], some, designs.clusters
                )
        return log_p

    def pairs(self, designs: Designs, first: Tensor, second: Tensor, given: Tensor) -> PairTests:
        """Return the full test of pairs (B,) given sets (B, s; -1 pads).

        Time that of `Designs.regress`, and O(B n (p K + q^2)) with q = K_i K_j; memory O(n (K + q)) per pair in a batch, and
        `budget` numbers of designs.
        """
        features, most = designs.features, budget(designs.features.device)
        tests = PairTests.unknown(len(first), first.device)
        for rows in designs.batches(given, most):
            for alike in _alike(features, rows, first, second):
                products = int(features.width[first[alike[0]]] * features.width[second[alike[0]]])
                size = max(1, most // (2 * features.n * max(products, _MOST_WEIGHTED)))
                for part in torch.split(alike, size):
                    ends = first[part], second[part]
                    table = designs.table(given[part], torch.cat([given[part].flatten(), *ends]))
                    regression = designs.regress(given[part], ends, table)
                    work = _Work(designs, table, regression, ends, given[part])
                    left = work.left()
                    tests.put(part, self._closer(work, left, self._pairs(work, left)))
        return tests

    def _closer(self, work: _Work, left: Sequence[Residuals], found: PairTests) -> PairTests:
        """Return the tests with those of a closer look where that explains both ends better and makes p larger."""
        at = (found.log_p < _DOUBTED).nonzero()[:, 0]
        if not len(at):
            return found
        before, work = found.take(at), work.take(at)
        left = [Residuals(x.value[at], x.variance[at]) for x in left]
        wider = work.closer(torch.cat([x.value.mT for x in left], dim=1))
        if wider is None:
            return found
        after = wider.left()
        df = work.regression.df, wider.regression.df
        missed = [_explains_more(*ends, *df) for ends in zip(left, after, strict=True)]
        some = torch.stack(missed).all(dim=0).nonzero()[:, 0]
        if not len(some):
            return found
        again = self._pairs(wider.take(some), [Residuals(x.value[some], x.variance[some]) for x in after])
        before, found = before.take(some), found.copy()
        found.put(at[some], again.where(again.log_p > before.log_p, before))
        return found

    def _pairs(self, work: _Work, left: Sequence[Residuals]) -> PairTests:
        features, table, regression = work.designs.features, work.table, work.regression
        ends, given = work.ends, work.given
        left_u, left_v = left
        information = _information(left_u, left_v, regression.df)
        wide_u, wide_v = (features.width[end] for end in ends)
        thin_u, thin_v = (features.coarse(end) for end in ends)
        u, v = left_u.whitened(), left_v.whitened()
        spread, rows = _shared_spread(regression, u, v), work.clustered()
        fine, moments = _statistic(u, v, spread, wide_u * wide_v, regression.left, rows)
        clusters = work.designs.clusters
        strength = strength_of(u, v, moments, wide_u + wide_v, regression.left * features.n, clusters)
        linear = moments[:, 0, 0]
        parts = [fine]
        if bool((thin_u * thin_v < wide_u * wide_v).any()):
            u, v = u[:, :, : int(thin_u.max())], v[:, :, : int(thin_v.max())]
            u, v = _masked(u, thin_u), _masked(v, thin_v)
            spread = spread[:, : u.shape[2], : v.shape[2], : u.shape[2], : v.shape[2]]
            rows = None if rows is None else rows.narrowed(u.shape[2], v.shape[2])
            parts.append(_statistic(u, v, spread, thin_u * thin_v, regression.left, rows)[0])
        if self.interactions and bool((given >= 0).any()):
            coarse = _Coarse(u, v, thin_u, thin_v, regression.left, rows)
            weighted, joint = _weighted(features, table, coarse, given)
            # An edge that lives in an interaction takes its strength from there.
            is_joint = weighted < torch.stack(parts, dim=-1).amin(dim=-1)
            strength = joint.where(is_joint & (joint.value > strength.value), strength)
            parts.append(weighted)
        log_p = cauchy_combination(torch.stack(parts, dim=-1))
        sign = _sign(features, ends, linear, strength.value)
        n_rows = torch.full_like(log_p, features.n)
        return PairTests(log_p, strength.value, strength.error, strength.excess, sign, information, n_rows)


@dataclass(frozen=True, eq=False)
class _Work:
    """What pairs are tested with: a table of functions, regressions on their sets (b, s), and both ends, twice (b,)."""

    designs: Designs
    table: Tabulated
    regression: Regression
    ends: tuple[Tensor, Tensor]
    given: Tensor

    def left(self) -> list[Residuals]:
        """Return what the sets leave of both ends."""
        return Residuals.of(self.designs.features, self.table, self.regression, self.ends)

    def clustered(self) -> Clustered | None:
        """Return the clusters of the rows, if there are any, with what they do to independent pairs."""
        clusters, features = self.designs.clusters, self.designs.features
        if clusters is None:
            return None
        return Clustered(clusters, clusters.effect(*(features.columns(end) for end in self.ends)))

    def take(self, at: Tensor) -> _Work:
        """Return that of some of the pairs."""
        first, second = self.ends
        return replace(
            self, regression=self.regression.take(at), ends=(first[at], second[at]), given=self.given[at]
        )

    def closer(self, left: Tensor) -> _Work | None:
        """Return the same after a closer look at what is left of both ends' features, (b, q, n), if there is one."""
        regression = self.designs.closer(self.regression, self.given, self.table, self.ends, left)
        return None if regression is None else replace(self, regression=regression)


def _explains_more(before: Residuals, after: Residuals, df_before: Tensor, df_after: Tensor) -> Tensor:
    """Return whether wider regressions explain a variable better than as many columns of noise would, (b,) of bool.

    Their gain is one standard deviation above its mean, for any feature.
    """
    n, added = before.value.shape[1], (df_after - df_before).clamp(min=1.0)[:, None]
    lost, kept = (x.value.square().sum(dim=1).double() for x in (before, after))
    gain = (n - df_after)[:, None] * (lost - kept) / kept.clamp(min=1e-12)
    return ((gain > added + (2 * added).sqrt()) & (before.variance > 0)).any(dim=1)


def _alike(features: Features, rows: Tensor, first: Tensor, second: Tensor) -> list[Tensor]:
    """Split pairs by widths and kinds, so that a pair's answer does not depend on those beside it."""
    one, two = features.alike(first[rows]), features.alike(second[rows])
    key = one * (2 * int(features.width.max()) + 2) + two
    return [rows[key == k] for k in torch.unique(key)]


@dataclass(frozen=True, eq=False)
class _Coarse:
    """The first whitened residual features of pairs: u (b, n, k), v (b, n, m), how many of each (b,), `Regression.left`.

    And the clusters of their rows, if there are any.
    """

    u: Tensor
    v: Tensor
    thin_u: Tensor
    thin_v: Tensor
    shrink: Tensor
    rows: Clustered | None


def _weighted(features: Features, table: Tabulated, pairs: _Coarse, given: Tensor) -> tuple[Tensor, Strength]:
    """Return the joined log p-values and the largest strengths of the products weighted by each member."""
    log_ps, most = [], Strength.none(pairs.shrink)
    for members in given.T:
        thin_w = features.coarse(members.clamp(min=0))
        df = pairs.thin_u * pairs.thin_v * thin_w
        used = ((members >= 0) & (df <= _MOST_WEIGHTED)).nonzero()[:, 0]
        log_p = torch.full_like(pairs.shrink, torch.nan)
        if len(used):
            u, v, shrink = pairs.u[used], pairs.v[used], pairs.shrink[used]
            w = _weights(features, table, members[used]).to(v.dtype)
            weighted = (v[..., :, None] * w[..., None, :]).flatten(2)
            rows = None if pairs.rows is None else pairs.rows.take(used, w.shape[2])
            log_p[used], moments = _statistic(u, weighted, None, df[used], shrink, rows, trust=2 / 3)
            width = (pairs.thin_u + pairs.thin_v * thin_w)[used]
            clusters = None if rows is None else rows.clusters
            found = weighted_strength(u, v, w, moments, width, shrink * u.shape[1], clusters)
            most.put_larger(used, found)
        log_ps.append(log_p)
    stacked = torch.stack(log_ps, dim=-1)
    none = stacked.isnan().all(dim=-1)
    return cauchy_combination(stacked).masked_fill(none, torch.nan), most


def _weights(features: Features, table: Tabulated, members: Tensor) -> Tensor:
    """Return the first features of one member of each set, standardised, (b, n, k)."""
    thin = features.coarse(members)
    index = feature_rows(features, table, members[:, None])[:, 0, : int(thin.max())]
    index = torch.where(torch.arange(index.shape[1], device=index.device) < thin[:, None], index, ZERO)
    gram = table.products(index, index)
    white = whitener(gram, floor(gram.diagonal(dim1=1, dim2=2)))
    return table.rows(index).mT @ white.to(table.value.dtype)


def _sign(features: Features, ends: tuple[Tensor, Tensor], linear: Tensor, strength: Tensor) -> Tensor:
    """Return the sign of the first features' correlation where it makes up most of the strength.

    A variable with three or more unordered levels has no direction, hence no sign.
    """
    first, second = (features.levels[end] for end in ends)
    directed = (first <= 2) & (second <= 2)
    return torch.where(directed & (linear.abs() >= 0.7 * strength), linear.sign(), 0.0)


def _information(u: Residuals, v: Residuals, df: Tensor) -> Tensor:
    r"""Return how much the rows can say about pairs given their sets, (b,).

    The Fisher information about a given local interaction of the pair is proportional to
    :math:`(n - df)\, E[V_i(x_S)\, V_j(x_S)] / (V_i V_j)`, with V the variances given the set and without it. It is n
    for an independent pair and no set, and 0 where the set determines one of the two.
    """
    return (u.left() * v.left()).mean(dim=1).double() * (u.value.shape[1] - df)


def _masked(block: Tensor, width: Tensor) -> Tensor:
    return block * (torch.arange(block.shape[2], device=block.device) < width[:, None])[:, None, :]


def _shared_spread(regression: Regression, u: Tensor, v: Tensor) -> Tensor:
    """Return the covariance over rows of the fitted second moments of u and v: (b, K_i, K_j, K_i, K_j)."""
    (b, _, k), m = u.shape, v.shape[2]
    if max(k, m) > _WIDE or not regression.n_columns:
        return u.new_zeros((b, k, m, k, m), dtype=torch.float64)
    one, two = ((x[..., :, None] * x[..., None, :]).flatten(2) for x in (u, v))
    shared = regression.shared(one - one.mean(dim=1, keepdim=True), two - two.mean(dim=1, keepdim=True))
    return shared.reshape(b, k, k, m, m).permute(0, 1, 3, 2, 4)


def _statistic(
    u: Tensor,
    v: Tensor,
    spread: Tensor | None,
    df: Tensor,
    shrink: Tensor,
    rows: Clustered | None,
    trust: float = 1 / 3,
) -> tuple[Tensor, Tensor]:
    """Return log p-values of the products u (x) v of whitened residuals, and their means (b, K_i, K_j).

    `rows` are the clusters that rows are in, if any; `trust` is the share of the empirical covariance.
    """
    b, n = u.shape[:2]
    q = u.shape[2] * v.shape[2]
    products = (u[..., :, None] * v[..., None, :]).flatten(2)
    mean = products.mean(dim=1).double()
    empirical = (products.mT @ products).double() / n - mean[:, :, None] * mean[:, None, :]
    null = torch.eye(q, dtype=torch.float64, device=u.device).expand(b, q, q)
    if spread is not None:
        null = null + spread.reshape(b, q, q)
    covariance = (1 - trust) * null + trust * empirical
    if rows is not None:
        log_p = rows.log_p(products, covariance, df, shrink, trust)
        return log_p, mean.reshape(b, u.shape[2], v.shape[2])
    value, vector = torch.linalg.eigh((covariance + covariance.mT) / 2)
    rotated = (mean[:, None, :] @ vector).squeeze(1)
    statistic = n * (rotated.square() / value.clamp(min=0.2)).sum(dim=1)
    return log_chi2_sf(statistic * shrink, df), mean.reshape(b, u.shape[2], v.shape[2])
