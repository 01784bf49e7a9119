r"""Models of a discrete node: logits :math:`l = \Theta F(x_N)` of levels 1, 2, ... against level 0.

*Pseudo-likelihood*: the loss of a row is :math:`-\log \pi(x_i \mid x_N)`.

*Marginalisation* (Lyu 2012): with :math:`r_k = 1 / \pi(k \mid x_N)` it is

.. math:: \tfrac12 r_{x_i}^2 - \sum_k r_k ,

whose population minimiser is the truth as well, at a larger variance. It is not convex, and a neighbor state in which
some level was never seen drives it to minus infinity, faster than a penalty on Theta can hold; so
:math:`\tfrac{\varepsilon}{2} \sum_k r_k^2` with :math:`\varepsilon = 1/n` is added, a ridge on r: a level that was
never seen then has probability about 1/n.

Both have a ridge on Theta, relative to the scale of F, and are minimised by damped Newton steps. The ridge of the
flexible columns of F is chosen per node by Akaike's criterion of the pseudo-likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

_LARGEST_MOVE = 2.0  # of any logit in one step, so that r cannot explode


def fit_pseudo_likelihood(codes: Tensor, basis: Tensor, penalty: Tensor, start: Tensor, steps: int) -> Tensor:
    """Return the minimiser Theta (b, M - 1, p) for codes (b, n), F (b, n, p) and penalties (b, p)."""
    return _minimise(PseudoLikelihood(codes, basis, penalty), start, steps)


def fit_marginalisation(codes: Tensor, basis: Tensor, penalty: Tensor, start: Tensor, steps: int) -> Tensor:
    """Return a minimiser of the marginalisation loss; start from the pseudo-likelihood's."""
    return _minimise(Marginalisation(codes, basis, penalty, 1.0 / basis.shape[1]), start, steps)


def select_pseudo_likelihood(
    codes: Tensor,
    n_levels: int,
    basis: Tensor,
    flexible: Tensor,
    ridge: float,
    ridges: tuple[float, ...],
    steps: int,
) -> tuple[Tensor, Tensor]:
    r"""Return Theta (b, M - 1, p) and penalties (b, p), those of the flexible columns (p,) chosen per node.

    The chosen ones minimise :math:`-\log \mathrm{PL} + \mathrm{df} / n`, df the trace of the information in the
    inverse penalised Hessian (Akaike's criterion), after one Newton step from the stiffest fit.
    """
    b, n, p = basis.shape
    m = n_levels - 1
    linear = penalties(basis, ridge)
    theta = basis.new_zeros((b, m, p))
    if not bool(flexible.any()):
        return fit_pseudo_likelihood(codes, basis, linear, theta, steps), linear
    choices = [torch.where(flexible, penalties(basis, weight), linear) for weight in sorted(ridges)]
    theta = fit_pseudo_likelihood(codes, basis, choices[-1], theta, steps)
    plain = PseudoLikelihood(codes, basis, torch.zeros_like(linear))
    slope, hessian = plain.derivatives(theta)
    criteria = []
    for penalty in choices:
        factor = torch.linalg.cholesky(hessian + torch.diag_embed(penalty.repeat(1, m)))
        pull = slope + (penalty[:, None, :] * theta).reshape(b, m * p)
        moved = theta - torch.cholesky_solve(pull[..., None], factor).reshape(theta.shape)
        df = torch.cholesky_solve(hessian, factor).diagonal(dim1=1, dim2=2).sum(dim=1)
        criteria.append(plain.loss(moved) + df / n)
    best = torch.stack(criteria).argmin(dim=0)
    penalty = torch.stack(choices)[best, torch.arange(b, device=best.device)]
    return fit_pseudo_likelihood(codes, basis, penalty, theta, steps), penalty


def penalties(basis: Tensor, ridge: float) -> Tensor:
    """Return the penalty on each column's coefficients (b, p): `ridge` times its mean square, none on the first."""
    scale = basis.square().mean(dim=1)
    penalty = ridge * torch.where(scale > 0, scale, 1.0)
    penalty[:, 0] = 1e-9
    return penalty


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


class Objective(Protocol):
    """A loss with its derivatives for a batch of nodes."""

    @property
    def convex(self) -> bool:
        """Whether the Hessian is positive definite everywhere."""

    def loss(self, theta: Tensor) -> Tensor:
        """Return the penalised loss (b,)."""

    def derivatives(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return gradient (b, m p) and Hessian (b, m p, m p)."""

    def reach(self, step: Tensor) -> Tensor:
        """Return the largest change (b,) of a logit that a step makes."""


@dataclass(frozen=True, eq=False)
class _Base:
    """Codes (b, n), F (b, n, p), penalties (b, p)."""

    codes: Tensor
    basis: Tensor
    penalty: Tensor

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


class PseudoLikelihood(_Base):
    """Minus the mean log conditional probability."""

    convex = True

    def loss(self, theta: Tensor) -> Tensor:
        """Return the penalised loss (b,)."""
        logits = self.basis @ theta.mT
        logits = torch.cat([torch.zeros_like(logits[..., :1]), logits], dim=-1)
        fit = logits.gather(2, self.codes[..., None])[..., 0] - torch.logsumexp(logits, dim=-1)
        return self._ridge(theta) - fit.mean(dim=1)

    def derivatives(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return gradient (b, m p) and Hessian (b, m p, m p)."""
        p = level_probabilities(self.basis @ theta.mT)
        hot = torch.zeros_like(p).scatter_(2, self.codes[..., None], 1.0)
        share = p[..., 1:]
        weights = torch.diag_embed(share) - share[..., :, None] * share[..., None, :]
        return self._penalised(share - hot[..., 1:], weights, theta)


@dataclass(frozen=True, eq=False)
class Marginalisation(_Base):
    r"""The mean of :math:`\tfrac12 r_{x_i}^2 - \sum_k r_k + \tfrac{\varepsilon}{2} \sum_k r_k^2`."""

    floor: float

    convex = False

    def _ratios(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return probabilities, r, and the weights of r^2 / 2, all (b, n, M)."""
        logits = self.basis @ theta.mT
        logits = torch.cat([torch.zeros_like(logits[..., :1]), logits], dim=-1)
        log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
        hot = torch.zeros_like(log_p).scatter_(2, self.codes[..., None], 1.0)
        return log_p.exp(), torch.exp(-log_p), hot + self.floor

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


def _minimise(objective: Objective, start: Tensor, steps: int) -> Tensor:
    """Return a minimiser by damped Newton steps, for all nodes of a batch at once."""
    theta, reached = start, objective.loss(start)
    for _ in range(steps):
        step = _newton_step(objective, theta)
        for _ in range(30):  # halve the step of the nodes that it would make worse
            tried = objective.loss(theta + step)
            worse = ~(tried <= reached + 1e-12)
            if not bool(worse.any()):
                break
            step = torch.where(worse[:, None, None], step / 2, step)
        else:
            step = torch.where(worse[:, None, None], 0.0, step)
            tried = torch.where(worse, reached, tried)
        theta, reached = theta + step, tried
        if float(step.abs().max()) < 1e-7:
            break
    return theta


def _newton_step(objective: Objective, theta: Tensor) -> Tensor:
    gradient, hessian = objective.derivatives(theta)
    if objective.convex:
        factor = torch.linalg.cholesky(hessian)
        return -torch.cholesky_solve(gradient[..., None], factor).reshape(theta.shape)
    # Along directions of negative curvature the absolute value turns the step downhill.
    value, vector = torch.linalg.eigh((hessian + hessian.mT) / 2)
    size = value.abs()
    size = torch.maximum(size, 1e-10 * size.amax(dim=1, keepdim=True))
    step = -(vector @ ((vector.mT @ gradient[..., None]) / size[..., None])).reshape(theta.shape)
    return step * (_LARGEST_MOVE / objective.reach(step).clamp(min=_LARGEST_MOVE))[:, None, None]
