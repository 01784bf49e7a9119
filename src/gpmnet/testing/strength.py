r"""The strength of a pair, its standard error, its interval, and the p-value of "the strength is at most this".

The strength :math:`\rho` of a pair given a set is the largest canonical correlation of what the set leaves of the two
variables' features, the largest singular value of :math:`M = E[u v^\top]` with both whitened. With the singular vectors a
and b, each row moves it by

.. math:: \psi = s t - \tfrac{\rho}{2} (s^2 + t^2), \qquad s = a^\top u,\quad t = b^\top v

(the second term since the whitening is estimated too), hence the standard error :math:`\sqrt{E \psi^2 / (n - df)}`, with the
regression's degrees of freedom, whatever the distribution. Errors of the two regressions enter as products only, and
those of the ranks behind the features as far as E[t | s] is not :math:`\rho s`; both are left out. For products of three,
:math:`M = E[u (v \otimes w)^\top]` and b a matrix B with a row an entry of v, it is
:math:`\psi = s\, v^\top B w - \tfrac{\rho}{2} (s^2 + |B^\top v|^2 + |B w|^2 - 3)`.

The largest of several is too large by chance, in two ways. The singular vectors turn to follow noise: with the other
singular values :math:`\rho_k` this adds about

.. math:: \frac{1}{n - df} \Big( K_i + K_j - 2 + 2 \sum_{k > 1} \frac{\rho_k^2 (1 - \rho^2)}{\rho^2 - \rho_k^2} \Big)

to the square (Lawley 1959), which is taken off the strength (without the sum it is the adjusted R²); its own variance, that
of a chi-square, makes the squared standard error larger by :math:`1 + (K_i + K_j - 2) / 2 \lambda`, where
:math:`\lambda \ge 1` is the squared ratio of strength and error. And where several singular values are equal, or all are 0,
the largest of them is too large by a multiple of the standard error :math:`\tau`. The gap :math:`g = \rho - \rho_k` of two
equal ones has :math:`E g^2 = 4 \tau^2`, and half of it is what the larger one is too large by. So
:math:`\sum_k \min(g / 2,\ 4 \tau^3 / g^2)`, at most :math:`\sqrt{\min(K_i, K_j) - 1}\, \tau`, is how much of the strength
may be chance: a gap beyond :math:`2 \tau` counts less and less. It does not touch the strength, but the low end of its
interval and the p-value of "at most this".

Intervals are symmetric for Fisher's :math:`z = \operatorname{atanh} \rho` but for that excess, and cut at 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_ndtr
from torch import Tensor

from gpmnet.testing.clusters import Clusters

CONFIDENCE = 0.95
"""Of the intervals of strength."""
_QUANTILE = 1.959963984540054
_LARGEST = 1 - 1e-9  # strengths above this are taken for it: Fisher's z of 1 is infinite


@dataclass(frozen=True, eq=False)
class Strength:
    """Strengths of pairs, and for their Fisher's z the standard error and what may be chance; each of shape (b,)."""

    value: Tensor
    error: Tensor
    excess: Tensor

    @classmethod
    def none(cls, like: Tensor) -> Strength:
        """Return strengths of 0."""
        return cls(torch.zeros_like(like), torch.zeros_like(like), torch.zeros_like(like))

    def where(self, keep: Tensor, other: Strength) -> Strength:
        """Return these where `keep`, (b,) of bool, and the other ones elsewhere."""
        mine, theirs = (self.value, self.error, self.excess), (other.value, other.error, other.excess)
        return Strength(*(torch.where(keep, a, b) for a, b in zip(mine, theirs, strict=True)))

    def put_larger(self, at: Tensor, other: Strength) -> None:
        """Replace those at some positions by others where these are larger, in place."""
        more = other.value > self.value[at]
        self.value[at[more]] = other.value[more]
        self.error[at[more]] = other.error[more]
        self.excess[at[more]] = other.excess[more]


def strength_of(
    u: Tensor, v: Tensor, moments: Tensor, widths: Tensor, left: Tensor, clusters: Clusters | None = None
) -> Strength:
    """Return the strengths of pairs.

    Parameters
    ----------
    u, v : Tensor of shape (b, n, K_i), (b, n, K_j)
        Whitened residual features.
    moments : Tensor of shape (b, K_i, K_j)
        Their mean products.
    widths : Tensor of shape (b,)
        K_i + K_j, what is padded not counted.
    left : Tensor of shape (b,)
        Number of rows less the degrees of freedom spent on the set.
    clusters : Clusters, optional
        Of the rows: standard errors are then those of sums over clusters, where these are larger.
    """
    a, rho, b = torch.linalg.svd(moments, full_matrices=False)
    s, t = _along(u, a[:, :, 0]), _along(v, b[:, 0])
    psi = s * t - rho[:, :1] / 2 * (s.square() + t.square())
    return _strength(rho, psi, widths, left, clusters)


def weighted_strength(
    u: Tensor,
    v: Tensor,
    w: Tensor,
    moments: Tensor,
    widths: Tensor,
    left: Tensor,
    clusters: Clusters | None = None,
) -> Strength:
    """Return the strengths of pairs in products with a third variable's whitened features w (b, n, K_w).

    `moments` are the means of u (v (x) w)', (b, K_i, K_j K_w); `widths` counts K_i + K_j K_w.
    """
    a, rho, flat = torch.linalg.svd(moments, full_matrices=False)
    b = flat[:, 0].reshape(len(flat), v.shape[2], w.shape[2]).to(v.dtype)
    s, turned, other = _along(u, a[:, :, 0]), v @ b, w @ b.mT
    product = s * (turned * w).sum(dim=2)
    squares = s.square() + turned.square().sum(dim=2) + other.square().sum(dim=2) - 3
    return _strength(rho, product - rho[:, :1] / 2 * squares, widths, left, clusters)


def _along(block: Tensor, direction: Tensor) -> Tensor:
    return (block @ direction[:, :, None].to(block.dtype))[:, :, 0].double()


def _strength(raw: Tensor, psi: Tensor, widths: Tensor, left: Tensor, clusters: Clusters | None) -> Strength:
    """Return the strengths of singular values (b, K), largest first, and the rows' influences (b, n) on the largest."""
    turns, centred = (widths - 2).clamp(min=0), psi - psi.mean(dim=1, keepdim=True)
    if clusters is not None:  # as many rows as would say as much if they were independent
        left = left / clusters.ratio(centred)
    value = _less_chance(raw.clamp(max=1.0), turns, left)
    error = (centred.square().mean(dim=1) / left).sqrt()
    gap = raw[:, :1] - raw[:, 1:]
    noise = error[:, None].clamp(min=1e-150)
    chance = torch.minimum(gap / 2, 4 * noise * (noise / gap.clamp(min=1e-150)) ** 2).sum(dim=1)
    excess = torch.minimum(chance, error * (raw.shape[1] - 1) ** 0.5)
    # From the strength to Fisher's z.
    rho = value.clamp(max=_LARGEST)
    slope = 1 / (1 - rho.square())
    # At 1 the slope is infinite: what gives the interval the low end that it has without Fisher's z stands for it.
    reach = (_QUANTILE * error + excess).clamp(min=1e-12)
    straight = (torch.atanh(rho) - torch.atanh((rho - reach).clamp(min=0.0))) / reach
    slope = torch.where(value >= _LARGEST, straight, slope)
    signal = (torch.atanh(rho) / (slope * error).clamp(min=1e-150)).square().clamp(min=1.0)
    return Strength(value, slope * error * (1 + turns / (2 * signal)).sqrt(), slope * excess)


def _less_chance(raw: Tensor, turns: Tensor, left: Tensor) -> Tensor:
    """Return the largest of singular values (b, K) less what chance gives it."""
    square = raw.square()
    top, others = square[:, :1], square[:, 1:]
    # Gaps below two standard errors say nothing of the true ones.
    gap = torch.maximum(top - others, 2 * raw[:, :1] / left[:, None].sqrt()).clamp(min=1e-12)
    near = 2 * (others * (1 - top) / gap).sum(dim=1)
    chance = ((turns + near) / left).clamp(max=0.9)
    return ((top[:, 0] - chance) / (1 - chance)).clamp(min=0.0).sqrt()


def interval(
    strength: NDArray[np.float64], error: NDArray[np.float64], excess: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the 95% intervals of strengths (m,).

    Parameters
    ----------
    error, excess : ndarray of shape (m,)
        Standard error of Fisher's z, and how much of it may be chance.

    Examples
    --------
    >>> low, high = interval(np.array([0.5, 0.1]), np.array([0.1, 0.1]), np.zeros(2))
    >>> low.round(3), high.round(3)
    (array([0.339, 0.   ]), array([0.632, 0.288]))
    """
    z, reach = _fisher(strength), _QUANTILE * error
    low, high = np.tanh(np.maximum(z - excess - reach, 0.0)), np.tanh(z + reach)
    return np.minimum(low, strength), np.maximum(high, strength)


def log_p_at_most(
    least: float, strength: NDArray[np.float64], error: NDArray[np.float64], excess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log p-values (m,) of "the strength is at most `least`", one-sided.

    >>> np.exp(log_p_at_most(0.1, np.array([0.1, 0.3]), np.array([0.05, 0.05]), np.zeros(2))).round(6)
    array([5.0e-01, 1.4e-05])
    """
    above = _fisher(strength) - excess - np.arctanh(least)
    # An error of 0 is that of a relation without noise: no row speaks for another strength.
    found: NDArray[np.float64] = log_ndtr(-above / np.maximum(error, 1e-12))
    return found


def _fisher(strength: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.arctanh(np.minimum(strength, _LARGEST))
    return found
