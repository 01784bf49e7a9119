r"""Losses of a discrete variable whose logits are linear in coefficients: :math:`l = \Theta F`, level 0 has logit 0.

*Pseudo-likelihood*: the loss of a row is :math:`-\log \pi(x_i \mid x_N)`.

*Marginalisation* (Lyu 2012): with :math:`r_k = 1 / \pi(k \mid x_N)` it is

.. math:: \tfrac12 r_{x_i}^2 - \sum_k r_k ,

whose population minimiser is the truth as well, at a larger variance. It is not convex, and a neighbor state in which
some level was never seen drives it to minus infinity, faster than a penalty on Theta can hold; so
:math:`\tfrac{\varepsilon}{2} \sum_k r_k^2` with :math:`\varepsilon = 1/n` is added, a ridge on r: a level that was
never seen then has probability about 1/n.

Both have a ridge on Theta, and gradient and Hessian for `gpmnet.solvers.newton`; the pseudo-likelihood also products with
its Hessian, for `gpmnet.solvers.conjugate` (see `logit_curvature`). For the same losses of an energy see
`pseudolikelihood` and `marginalisation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gpmnet.objectives.logit_curvature import LogitCurvature, SharedColumns


def log_probabilities(logits: Tensor) -> Tensor:
    """Return log probabilities of all levels (..., M) where level 0 has logit 0 and `logits` are of the others."""
    return torch.log_softmax(torch.cat([torch.zeros_like(logits[..., :1]), logits], dim=-1), dim=-1)


def level_probabilities(logits: Tensor) -> Tensor:
    """Return the probabilities of all levels (..., M) where level 0 has logit 0 and `logits` are of the others."""
    return torch.softmax(torch.cat([torch.zeros_like(logits[..., :1]), logits], dim=-1), dim=-1)


def curvature(weights: Tensor, design: Tensor) -> Tensor:
    """Return the mean over rows of W (x) D D' as (b, m p, m p), for weights (b, n, m, m) and D (b, n, p)."""
    b, n, p = design.shape
    m = weights.shape[-1]
    result = design.new_zeros((b, m, p, m, p))
    for k in range(m):
        for j in range(k + 1):
            block = (design * weights[..., k, j, None]).mT @ design / n
            result[:, k, :, j] = block
            result[:, j, :, k] = block
    return result.reshape(b, m * p, m * p)


def information(probability: Tensor, design: Tensor) -> Tensor:
    """Return the information of the pseudo-likelihood, the mean of (diag p - p p') (x) D D', levels 1, 2, ...

    For probabilities of all levels (b, n, M) and D (b, n, p); shape (b, (M - 1) p, (M - 1) p).
    """
    p = probability[..., 1:]
    return curvature(torch.diag_embed(p) - p[..., :, None] * p[..., None, :], design)


@dataclass(frozen=True, eq=False)
class LogitLoss:
    """What the losses share: codes (b, n), F (b, n, p), penalties (b, p)."""

    codes: Tensor
    basis: Tensor
    penalty: Tensor

    def _observed(self, like: Tensor) -> Tensor:
        """Return the indicators of the observed levels, in the shape of probabilities (b, n, M)."""
        return torch.zeros_like(like).scatter_(2, self.codes[..., None], 1.0)

    def _ridge(self, theta: Tensor) -> Tensor:
        return 0.5 * (self.penalty[:, None, :] * theta.square()).sum(dim=(1, 2))

    def _penalised(self, slope: Tensor, weights: Tensor, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return gradient and Hessian from those in the logits of a row: (b, n, m) and (b, n, m, m)."""
        b, m, p = theta.shape
        gradient = slope.mT @ self.basis / self.basis.shape[1] + self.penalty[:, None, :] * theta
        hessian = curvature(weights, self.basis) + torch.diag_embed(self.penalty.repeat(1, m) + 1e-9)
        return gradient.reshape(b, m * p), hessian

    def reach(self, step: Tensor) -> Tensor:
        """Return the largest change (b,) of a logit that a step makes."""
        return (self.basis @ step.mT).abs().amax(dim=(1, 2))


class LinearPseudoLikelihood(LogitLoss):
    """Minus the mean log conditional probability."""

    convex = True

    def loss(self, theta: Tensor) -> Tensor:
        """Return the penalised loss (b,)."""
        log_p = log_probabilities(self.basis @ theta.mT)
        return self._ridge(theta) - log_p.gather(2, self.codes[..., None])[..., 0].mean(dim=1)

    def derivatives(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return gradient (b, m p) and Hessian (b, m p, m p)."""
        p = level_probabilities(self.basis @ theta.mT)
        share = p[..., 1:]
        weights = torch.diag_embed(share) - share[..., :, None] * share[..., None, :]
        return self._penalised(share - self._observed(p)[..., 1:], weights, theta)

    @cached_property
    def _columns(self) -> SharedColumns:
        return SharedColumns.of(self.basis.mT @ self.basis / self.basis.shape[1], self.penalty)

    @cached_property
    def _single(self) -> Tensor:
        return self.basis.float()

    def curvature(self, theta: Tensor) -> LogitCurvature:
        """Return gradient and Hessian, the latter by its products."""
        p = level_probabilities(self.basis @ theta.mT)
        slope = (p - self._observed(p))[..., 1:]
        gradient = slope.mT @ self.basis / self.basis.shape[1] + self.penalty[:, None, :] * theta
        return LogitCurvature.of(self._single, p[..., 1:], self._columns, gradient)


@dataclass(frozen=True, eq=False)
class LinearMarginalisation(LogitLoss):
    r"""The mean of :math:`\tfrac12 r_{x_i}^2 - \sum_k r_k + \tfrac{\varepsilon}{2} \sum_k r_k^2`.

    `floor` is epsilon, 1 / n unless given.
    """

    floor: float | None = None
    convex = False

    def _ratios(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return probabilities, r, and the weights of r^2 / 2, all (b, n, M)."""
        log_p = log_probabilities(self.basis @ theta.mT)
        floor = 1.0 / self.basis.shape[1] if self.floor is None else self.floor
        return log_p.exp(), torch.exp(-log_p), self._observed(log_p) + floor

    def loss(self, theta: Tensor) -> Tensor:
        """Return the penalised loss (b,)."""
        _, r, weight = self._ratios(theta)
        return self._ridge(theta) + (0.5 * weight * r.square() - r).sum(dim=-1).mean(dim=1)

    def derivatives(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return gradient (b, m p) and Hessian (b, m p, m p)."""
        # With c_k = d loss / d r_k and d r_k / d l_j = r_k (p_j - [j = k]).
        p, r, weight = self._ratios(theta)
        c = (weight * r - 1) * r
        w = weight * r.square()
        slope = p * c.sum(dim=-1, keepdim=True) - c
        both = c + w
        hessian = (
            p[..., :, None] * p[..., None, :] * w.sum(dim=-1)[..., None, None]
            - p[..., :, None] * both[..., None, :]
            - both[..., :, None] * p[..., None, :]
            + torch.diag_embed(both + p * c.sum(dim=-1, keepdim=True))
        )
        return self._penalised(slope[..., 1:], hessian[..., 1:, 1:], theta)
