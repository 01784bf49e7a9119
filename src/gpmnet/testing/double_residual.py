r"""The edge test: are two variables dependent once a set of others is known?

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
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.testing.design import DesignOptions, Regression, batches, regress

BUDGET = 1 << 25
"""Values that the designs of one batch may hold (256 MB in double precision)."""
_DEAD = 1e-4  # share of a feature's variance below which what the set leaves of it is only rounding
_MOST_WEIGHTED = 64  # weighted products beyond this many cost more than they could show
_WIDE = 6  # blocks of more features than this are taken for homoscedastic: their moments are too many to fit


@dataclass(frozen=True)
class TestOptions:
    """What the test looks for.

    Attributes
    ----------
    interactions : bool
        Whether to weight the products with the members of the conditioning set.
    """

    __test__ = False
    interactions: bool = True


def log_chi2_sf(statistic: Tensor, df: Tensor | int) -> Tensor:
    """Return the log of the chi-square survival function, exact far into the tail."""
    half, x = torch.as_tensor(df, dtype=torch.float64, device=statistic.device) / 2, statistic.double() / 2
    plain = torch.special.gammaincc(half, x.clamp(min=0))
    # Gamma(a, x) ~ x^(a-1) e^-x (1 + (a-1)/x + (a-1)(a-2)/x^2 + ...), used where the function underflows.
    terms, total = torch.ones_like(x), torch.ones_like(x)
    safe = x.clamp(min=1.0)
    for m in range(1, 8):
        terms = terms * (half - m) / safe
        total = total + terms
    tail = (half - 1) * safe.log() - safe - torch.lgamma(half) + total.clamp(min=1e-3).log()
    return torch.where(plain > 1e-280, plain.clamp(min=1e-300).log(), tail)


def combine(log_p: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return the log of the Cauchy combination of p-values along the last axis.

    NaN entries are left out; the combination of none is 0 (p = 1).
    """
    present = ~log_p.isnan()
    w = present.double() if weights is None else weights * present
    w = w / w.sum(dim=-1, keepdim=True).clamp(min=1e-12)
    # A p-value of 1 would outweigh any evidence beside it; a cautious part must not have that power.
    lp = torch.where(present, log_p, 0.0).clamp(max=math.log(0.99))
    p = lp.exp()
    tan = torch.tan((0.5 - p) * torch.pi)
    # In the far tail tan((1/2 - p) pi) = 1 / (p pi); sums are taken relative to the largest term.
    log_term = torch.where(
        lp < -30, -lp - torch.log(torch.tensor(torch.pi, dtype=torch.float64)), tan.abs().log()
    )
    sign = torch.where((lp < -30) | (tan > 0), 1.0, -1.0)
    top = log_term.masked_fill(~present, -torch.inf).amax(dim=-1, keepdim=True).clamp(min=0.0)
    total = (w * sign * torch.exp(log_term - top)).sum(dim=-1)
    top = top.squeeze(-1)
    small = 0.5 - torch.atan(total * torch.exp(top.clamp(max=40.0))) / torch.pi
    far = -top - total.clamp(min=1e-300).log() - torch.log(torch.tensor(torch.pi, dtype=torch.float64))
    result = torch.where((top > 20) & (total > 0), far, small.clamp(min=1e-300).log())
    return torch.where(present.any(dim=-1), result, torch.zeros_like(result))


@dataclass(frozen=True, eq=False)
class PairResults:
    """Tests of pairs, each of shape (B,).

    Attributes
    ----------
    log_p : Tensor
        Log p-value.
    strength : Tensor
        Largest correlation between a combination of one variable's features and one of the other's, given the
        set: in [0, 1], |partial correlation| for Gaussian data, |phi| for two binary variables.
    sign : Tensor
        -1, 0 (no single direction) or 1.
    information : Tensor
        How much the rows can say about the pair given the set, as a number of rows.
    """

    log_p: Tensor
    strength: Tensor
    sign: Tensor
    information: Tensor


class EdgeTest:
    """Tests of pairs given sets, in batches.

    Parameters
    ----------
    features : Features
    design : DesignOptions
    options : TestOptions
    """

    def __init__(self, features: Features, design: DesignOptions, options: TestOptions) -> None:
        self.features, self.design, self.options = features, design, options

    def rank(self, nodes: Tensor, candidates: Tensor, given: Tensor) -> Tensor:
        """Return log p-values (B, C) of each node against its candidates (-1 pads) given its set.

        Homoscedastic form of the test, for the search: one regression serves all candidates of a node.
        Time O(B n p (p + C K)), memory O(n (p + C K)) per node in a batch.
        """
        log_p = torch.zeros(candidates.shape, dtype=torch.float64, device=nodes.device)
        most = BUDGET // (2 * self.features.n * int(self.features.width.max()))  # features and residuals
        n_candidates = candidates.shape[1]
        for rows in batches(self.features, given, self.design, BUDGET):
            for part in rows.split(max(1, most // n_candidates)):
                regression = regress(self.features, given[part], self.design)
                for at in torch.arange(n_candidates, device=rows.device).split(max(1, most // len(part))):
                    log_p[part[:, None], at] = self._rank(
                        regression, nodes[part], candidates[part[:, None], at]
                    )
        return log_p

    def _rank(self, regression: Regression, nodes: Tensor, candidates: Tensor) -> Tensor:
        f = self.features
        own = self._bounded(regression, nodes)
        b, n, k = own.shape
        columns = f.columns(candidates)  # (b, C, K)
        raw = f.phi[:, columns.flatten(1)].permute(1, 0, 2).double()
        residual = regression.residuals(raw).reshape(b, n, *columns.shape[1:])
        gram = torch.einsum("bnck,bncl->bckl", residual, residual) / n
        moment = torch.einsum("bnk,bncl->bckl", own, residual) / n**0.5
        scale = raw.square().mean(dim=1).reshape(columns.shape)
        white = moment @ _whitener(gram, scale, self._missing(scale, candidates))
        shrink = ((n - regression.df) / n)[:, None]
        df_i, df_j = f.width[nodes][:, None], f.width[candidates.clamp(min=0)]
        fine = log_chi2_sf(white.square().sum(dim=(2, 3)) * shrink, df_i * df_j)
        coarse_i, coarse_j = self._coarse(nodes), self._coarse(candidates.clamp(min=0))
        mask = (torch.arange(k, device=own.device) < coarse_i[:, None])[:, None, :, None]
        mask = mask & (torch.arange(white.shape[3], device=own.device) < coarse_j[..., None])[:, :, None, :]
        coarse = log_chi2_sf((white.square() * mask).sum(dim=(2, 3)) * shrink, coarse_i[:, None] * coarse_j)
        joined = combine(torch.stack([fine, coarse], dim=-1))
        return torch.where(candidates >= 0, joined, torch.zeros_like(joined))

    def pairs(self, first: Tensor, second: Tensor, given: Tensor) -> PairResults:
        """Return the full test of pairs (B,) given sets (B, s; -1 pads).

        Time O(B n (p^2 + q^2)) with q = K_i K_j; memory O(n (p + q)) per pair in a batch.
        """
        results = torch.zeros((4, len(first)), dtype=torch.float64, device=first.device)
        for rows in batches(self.features, given, self.design, BUDGET):
            for alike in self._alike(rows, first, second):
                products = int(self.features.width[first[alike[0]]] * self.features.width[second[alike[0]]])
                for part in alike.split(
                    max(1, BUDGET // (2 * self.features.n * max(products, _MOST_WEIGHTED)))
                ):
                    regression = regress(self.features, given[part], self.design)
                    results[:, part] = self._pairs(regression, first[part], second[part], given[part])
        return PairResults(*results)

    def _alike(self, rows: Tensor, first: Tensor, second: Tensor) -> list[Tensor]:
        """Split pairs by widths and kinds, so that a pair's answer does not depend on those beside it."""
        f = self.features
        one, two = (f.width[x[rows]] * 2 + (f.levels[x[rows]] > 0) for x in (first, second))
        key = one * (2 * int(f.width.max()) + 2) + two
        return [rows[key == k] for k in key.unique()]

    def whitened(self, nodes: Tensor, given: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield some of the nodes and the whitened residual features (b, n, K) that their sets leave of them."""
        for rows in batches(self.features, given, self.design, BUDGET):
            yield nodes[rows], self._bounded(regress(self.features, given[rows], self.design), nodes[rows])

    def _pairs(self, regression: Regression, first: Tensor, second: Tensor, given: Tensor) -> Tensor:
        """Return log p-values, strengths, signs and information as the rows of one tensor."""
        left = self._residuals(regression, first), self._residuals(regression, second)
        information = _information(*left, regression.df)
        u, v = (block.whitened() for block in left)
        wide_u, wide_v = self.features.width[first], self.features.width[second]
        shrink = (u.shape[1] - regression.df) / u.shape[1]
        spread = _shared_spread(regression, u, v)
        main, moments = _statistic(u, v, spread, wide_u * wide_v, shrink)
        strength = _largest(moments, wide_u + wide_v, shrink * u.shape[1])
        linear = moments[:, 0, 0]
        parts = [main]
        thin_u, thin_v = self._coarse(first), self._coarse(second)
        if bool((thin_u * thin_v < wide_u * wide_v).any()):
            u, v = u[:, :, : int(thin_u.max())], v[:, :, : int(thin_v.max())]
            u, v = _masked(u, thin_u), _masked(v, thin_v)
            spread = spread[:, : u.shape[2], : v.shape[2], : u.shape[2], : v.shape[2]]
            parts.append(_statistic(u, v, spread, thin_u * thin_v, shrink)[0])
        main = torch.stack(parts, dim=-1)
        if not self.options.interactions or not bool((given >= 0).any()):
            sign = self._sign(first, second, linear, strength)
            return torch.stack([combine(main), strength, sign, information])
        joint, joint_strength = self._weighted(u, v, given, thin_u, thin_v, shrink)
        # An edge that lives in an interaction takes its strength from there.
        strength = torch.where(joint < main.amin(dim=-1), torch.maximum(strength, joint_strength), strength)
        joined = combine(torch.cat([main, joint[:, None]], dim=-1))
        sign = self._sign(first, second, linear, strength)
        return torch.stack([joined, strength, sign, information])

    def _weighted(
        self, u: Tensor, v: Tensor, given: Tensor, thin_u: Tensor, thin_v: Tensor, shrink: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the joined log p-values and the largest strengths of the products weighted by each member."""
        log_ps, strengths = [], []
        for slot in range(given.shape[1]):
            members = given[:, slot]
            thin_w = self._coarse(members.clamp(min=0))
            used = ((members >= 0) & (thin_u * thin_v * thin_w <= _MOST_WEIGHTED)).nonzero()[:, 0]
            log_p, strength = torch.full_like(shrink, torch.nan), torch.zeros_like(shrink)
            if len(used):
                weighted = (v[used][..., :, None] * self._weights(members[used])[..., None, :]).flatten(2)
                df, width = (thin_u * thin_v * thin_w)[used], (thin_u + thin_v * thin_w)[used]
                log_p[used], moments = _statistic(u[used], weighted, None, df, shrink[used], trust=2 / 3)
                strength[used] = _largest(moments, width, shrink[used] * u.shape[1])
            log_ps.append(log_p)
            strengths.append(strength)
        stacked = torch.stack(log_ps, dim=-1)
        none = stacked.isnan().all(dim=-1)
        return combine(stacked).masked_fill(none, torch.nan), torch.stack(strengths).amax(dim=0)

    def _sign(self, first: Tensor, second: Tensor, linear: Tensor, strength: Tensor) -> Tensor:
        """Return the sign of the first features' correlation where it makes up most of the strength.

        A variable with three or more unordered levels has no direction, hence no sign.
        """
        levels = self.features.levels
        directed = (levels[first] <= 2) & (levels[second] <= 2)
        return torch.where(directed & (linear.abs() >= 0.7 * strength), linear.sign(), 0.0)

    def _coarse(self, variables: Tensor) -> Tensor:
        """Return how many of a variable's features the coarse test uses: one, or all of a discrete variable's."""
        levels = self.features.levels[variables]
        return torch.where(levels > 0, levels - 1, 1)

    def _weights(self, members: Tensor) -> Tensor:
        """Return the first features of one member of each set, standardised, (b, n, k)."""
        columns = self.features.columns(members)
        columns = columns[:, : int(self._coarse(members.clamp(min=0)).max())]
        raw = self.features.phi[:, columns].permute(1, 0, 2).double()
        raw = _masked(raw, self._coarse(members.clamp(min=0)))
        gram = raw.mT @ raw / raw.shape[1]
        return raw @ _whitener(gram, gram.diagonal(dim1=1, dim2=2))

    def _residuals(self, regression: Regression, variables: Tensor) -> _Residuals:
        """Return what the sets leave of one variable each."""
        raw = self.features.phi[:, self.features.columns(variables)].permute(1, 0, 2).double()
        return _Residuals(regression.residuals(raw), raw.square().mean(dim=1))

    def _bounded(self, regression: Regression, variables: Tensor) -> Tensor:
        """Return what the sets leave of one variable each, whitened as far as spikes of tied columns stay bounded."""
        left = self._residuals(regression, variables)
        return left.whitened(self._missing(left.variance, variables))

    def _missing(self, variance: Tensor, variables: Tensor) -> Tensor:
        """Return what features (..., K) of continuous variables (...) lack of unit variance, 0 for discrete ones."""
        continuous = (self.features.levels[variables.clamp(min=0)] == 0)[..., None]
        return torch.where(continuous & (variance > 0), (1 - variance).clamp(min=0.0), 0.0)


@dataclass(frozen=True, eq=False)
class _Residuals:
    """Residual features of one variable a set, (b, n, K), and the variances of the features, (b, K)."""

    value: Tensor
    variance: Tensor

    def whitened(self, missing: Tensor | None = None) -> Tensor:
        """Return them whitened in their order; see `_whitener`."""
        gram = self.value.mT @ self.value / self.value.shape[1]
        return self.value @ _whitener(gram, self.variance, missing)

    def left(self) -> Tensor:
        """Return, row by row, the squared residuals as a share of the variable's variance, (b, n)."""
        return self.value.square().sum(dim=2) / self.variance.sum(dim=1, keepdim=True).clamp(min=1e-12)


def _information(u: _Residuals, v: _Residuals, df: Tensor) -> Tensor:
    r"""Return how much the rows can say about pairs given their sets, (b,).

    The Fisher information about a given local interaction of the pair is proportional to
    :math:`(n - df)\, E[V_i(x_S)\, V_j(x_S)] / (V_i V_j)`, with V the variances given the set and without it. It is n
    for an independent pair and no set, and 0 where the set determines one of the two.
    """
    return (u.left() * v.left()).mean(dim=1) * (u.value.shape[1] - df)


def _masked(block: Tensor, width: Tensor) -> Tensor:
    return block * (torch.arange(block.shape[2], device=block.device) < width[:, None])[:, None, :]


def _whitener(gram: Tensor, scale: Tensor, missing: Tensor | None = None) -> Tensor:
    """Return upper triangular W with W' C W = I for covariances C with a floor relative to the features' variances.

    What a set explains to the last bit is thereby shrunk to nothing instead of blown up; padded features,
    whose variance is zero, stay zero. `missing` is added to the floor.
    """
    floor = torch.where(scale > 0, _DEAD * scale, 1.0)
    if missing is not None:
        floor = floor + missing
    root = torch.linalg.cholesky(gram + torch.diag_embed(floor))
    eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device).expand_as(gram)
    return torch.linalg.solve_triangular(root, eye, upper=False).mT


def _shared_spread(regression: Regression, u: Tensor, v: Tensor) -> Tensor:
    """Return the covariance over rows of the fitted second moments of u and v: (b, K_i, K_j, K_i, K_j)."""
    b, n, k, m = *u.shape, v.shape[2]
    if max(k, m) > _WIDE or regression.design.shape[2] == 0:
        return u.new_zeros((b, k, m, k, m))
    squares = torch.cat(
        [(u[..., :, None] * u[..., None, :]).flatten(2), (v[..., :, None] * v[..., None, :]).flatten(2)],
        dim=2,
    )
    fitted = regression.fitted(squares - squares.mean(dim=1, keepdim=True))
    shared = fitted[:, :, : k * k].mT @ fitted[:, :, k * k :] / n
    return shared.reshape(b, k, k, m, m).permute(0, 1, 3, 2, 4)


def _statistic(
    u: Tensor, v: Tensor, spread: Tensor | None, df: Tensor, shrink: Tensor, trust: float = 1 / 3
) -> tuple[Tensor, Tensor]:
    """Return log p-values of the products u (x) v of whitened residuals, and their means (b, K_i, K_j).

    `trust` is the share of the empirical covariance.
    """
    b, n = u.shape[:2]
    q = u.shape[2] * v.shape[2]
    products = (u[..., :, None] * v[..., None, :]).flatten(2)
    mean = products.mean(dim=1)
    empirical = products.mT @ products / n - mean[:, :, None] * mean[:, None, :]
    null = torch.eye(q, dtype=u.dtype, device=u.device).expand(b, q, q)
    if spread is not None:
        null = null + spread.reshape(b, q, q)
    covariance = (1 - trust) * null + trust * empirical
    value, vector = torch.linalg.eigh((covariance + covariance.mT) / 2)
    rotated = (mean[:, None, :] @ vector).squeeze(1)
    statistic = n * (rotated.square() / value.clamp(min=0.2)).sum(dim=1)
    return log_chi2_sf(statistic * shrink, df), mean.reshape(b, u.shape[2], v.shape[2])


def _largest(moments: Tensor, widths: Tensor, left: Tensor) -> Tensor:
    """Return the largest canonical correlation, less what chance gives it (as the adjusted R^2 does).

    `left` is the number of rows less the degrees of freedom spent on the set.
    """
    raw = torch.linalg.matrix_norm(moments, ord=2).clamp(max=1.0).square()
    chance = ((widths - 2).clamp(min=0) / left).clamp(max=0.9)
    return ((raw - chance) / (1 - chance)).clamp(min=0.0).sqrt()
