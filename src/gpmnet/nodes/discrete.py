r"""Models of a discrete node: logits :math:`l = \Theta F(x_N)` of levels 1, 2, ... against level 0.

The losses are those of `gpmnet.objectives.linear_logits`, with a ridge on Theta relative to the scale of F, minimised by
damped Newton steps. The ridge of the flexible columns of F is chosen per node by Akaike's criterion of the
pseudo-likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.objectives.linear_logits import LinearMarginalisation, LinearPseudoLikelihood
from gpmnet.solvers.newton import Minimum, minimise

LOSSES = {
    "pseudo-likelihood": (LinearPseudoLikelihood,),
    "marginalisation": (LinearPseudoLikelihood, LinearMarginalisation),
}
"""The losses to minimise one after the other, each from where the last one ended, by name."""


@dataclass(frozen=True, eq=False)
class LogitData:
    """A batch of discrete nodes with equally many levels.

    Attributes
    ----------
    codes : Tensor of shape (b, n)
    n_levels : int
    basis : Tensor of shape (b, n, p)
        F.
    flexible : Tensor of bool, shape (p,)
        Which columns of F have a ridge of their own.
    """

    codes: Tensor
    n_levels: int
    basis: Tensor
    flexible: Tensor


@dataclass(frozen=True)
class LogitSettings:
    """How logit models are fitted.

    Attributes
    ----------
    loss : str
        A key of `LOSSES`.
    ridge : float
        Penalty on the linear terms, relative to the scale of F.
    ridges : tuple of float
        Penalties on the flexible ones to choose from.
    most_steps : int
        Newton steps of each fit.
    """

    loss: str
    ridge: float
    ridges: tuple[float, ...]
    most_steps: int


def fit_logits(data: LogitData, settings: LogitSettings) -> tuple[Minimum, Tensor]:
    """Return Theta (b, M - 1, p) and the penalties (b, p) on its squares."""
    b, _, p = data.basis.shape
    start = data.basis.new_zeros((b, data.n_levels - 1, p))
    penalty = penalties(data.basis, settings.ridge)
    if bool(data.flexible.any()):
        start, penalty = _choose_ridge(data, settings, start)
    found = Minimum(start, torch.ones(b, dtype=torch.bool, device=start.device), 0)
    for loss in LOSSES[settings.loss]:
        last = found
        found = minimise(loss(data.codes, data.basis, penalty), last.theta, settings.most_steps)
        found = Minimum(found.theta, found.converged & last.converged, max(found.n_steps, last.n_steps))
    return found, penalty


def _choose_ridge(data: LogitData, settings: LogitSettings, start: Tensor) -> tuple[Tensor, Tensor]:
    r"""Return a good start and the penalties (b, p), those of the flexible columns (p,) chosen per node.

    The chosen ones minimise :math:`-\log \mathrm{PL} + \mathrm{df} / n`, df the trace of the information in the
    inverse penalised Hessian (Akaike's criterion), after one Newton step from the stiffest fit.
    """
    b, n, p = data.basis.shape
    m = data.n_levels - 1
    linear = penalties(data.basis, settings.ridge)
    choices = [
        torch.where(data.flexible, penalties(data.basis, weight), linear)
        for weight in sorted(settings.ridges)
    ]
    stiff = LinearPseudoLikelihood(data.codes, data.basis, choices[-1])
    theta = minimise(stiff, start, settings.most_steps).theta
    plain = LinearPseudoLikelihood(data.codes, data.basis, torch.zeros_like(linear))
    slope, hessian = plain.derivatives(theta)
    criteria = []
    for penalty in choices:
        factor = torch.linalg.cholesky(hessian + torch.diag_embed(penalty.repeat(1, m)))
        pull = slope + (penalty[:, None, :] * theta).reshape(b, m * p)
        moved = theta - torch.cholesky_solve(pull[..., None], factor).reshape(theta.shape)
        df = torch.cholesky_solve(hessian, factor).diagonal(dim1=1, dim2=2).sum(dim=1)
        criteria.append(plain.loss(moved) + df / n)
    best = torch.stack(criteria).argmin(dim=0)
    return theta, torch.stack(choices)[best, torch.arange(b, device=best.device)]


def penalties(basis: Tensor, ridge: float) -> Tensor:
    """Return the penalty on each column's coefficients (b, p): `ridge` times its mean square, none on the first."""
    scale = basis.square().mean(dim=1)
    penalty = ridge * torch.where(scale > 0, scale, 1.0)
    penalty[:, 0] = 1e-9
    return penalty
