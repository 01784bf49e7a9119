r"""Models of a discrete node: logits :math:`l = \Theta F(x_N)` of levels 1, 2, ... against level 0.

The losses are those of `gpmnet.objectives.linear_logits`, with a ridge on Theta relative to the scale of F, minimised by
damped Newton steps: with the Hessian written down where it is small, by conjugate gradients where many levels make it
large. The ridge of the flexible columns of F is chosen per node by Akaike's criterion of the pseudo-likelihood.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.objectives.linear_logits import LinearMarginalisation, LinearPseudoLikelihood
from gpmnet.solvers.conjugate import minimise_by_products, solve
from gpmnet.solvers.newton import Minimum, minimise

LOSSES = {
    "pseudo-likelihood": (LinearPseudoLikelihood,),
    "marginalisation": (LinearPseudoLikelihood, LinearMarginalisation),
}
"""The losses to minimise one after the other, each from where the last one ended, by name."""
WRITTEN_UP_TO = 100
"""Coefficients of a node up to which the pseudo-likelihood's Hessian is written down; there both ways take equally long."""
_ENOUGH_GAIN = 1e-6  # of the loss of a row, in a fit that only compares ridges
_ACCURACY = 0.01  # of the steps that do


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
    start = _shares_alone(data)
    penalty = penalties(data.basis, settings.ridge)
    if bool(data.flexible.any()):
        start, penalty = _choose_ridge(data, settings, start)
    found = Minimum(start, torch.ones(len(start), dtype=torch.bool, device=start.device), 0)
    for loss in LOSSES[settings.loss]:
        last = found
        found = _minimise(loss(data.codes, data.basis, penalty), last.theta, settings.most_steps)
        found = Minimum(found.theta, found.converged & last.converged, max(found.n_steps, last.n_steps))
    return found, penalty


def _shares_alone(data: LogitData) -> Tensor:
    """Return the Theta (b, M - 1, p) that says nothing but how common each level is.

    From there Newton steps hardly ever overshoot; from 0 with many levels nearly all do.
    """
    count = torch.stack([(data.codes == k).sum(dim=1) for k in range(data.n_levels)], dim=1).double() + 0.5
    start = data.basis.new_zeros((len(data.codes), data.n_levels - 1, data.basis.shape[2]))
    start[:, :, 0] = (count[:, 1:] / count[:, :1]).log()
    return start


def _minimise(
    loss: LinearPseudoLikelihood | LinearMarginalisation, start: Tensor, most_steps: int
) -> Minimum:
    if isinstance(loss, LinearPseudoLikelihood) and _is_large(start):
        return minimise_by_products(loss, start, most_steps)
    return minimise(loss, start, most_steps)


def _is_large(theta: Tensor) -> bool:
    return theta.shape[1] * theta.shape[2] > WRITTEN_UP_TO


def _choose_ridge(data: LogitData, settings: LogitSettings, start: Tensor) -> tuple[Tensor, Tensor]:
    r"""Return a good start and the penalties (b, p), those of the flexible columns (p,) chosen per node.

    The chosen ones minimise :math:`-\log \mathrm{PL} + \mathrm{df} / n`, df the trace of the information in the
    inverse penalised Hessian (Akaike's criterion), after one Newton step from the stiffest fit.
    """
    b, n, _ = data.basis.shape
    linear = penalties(data.basis, settings.ridge)
    choices = [
        torch.where(data.flexible, penalties(data.basis, weight), linear)
        for weight in sorted(settings.ridges)
    ]
    stiff = LinearPseudoLikelihood(data.codes, data.basis, choices[-1])
    if _is_large(start):
        theta = minimise_by_products(stiff, start, settings.most_steps, _ENOUGH_GAIN).theta
        steps = _steps_by_products(data, theta, choices)
    else:
        theta = minimise(stiff, start, settings.most_steps).theta
        steps = _steps(data, theta, choices)
    plain = LinearPseudoLikelihood(data.codes, data.basis, torch.zeros_like(linear))
    best = torch.stack([plain.loss(theta + step) + df / n for step, df in steps]).argmin(dim=0)
    return theta, torch.stack(choices)[best, torch.arange(b, device=best.device)]


def _steps(data: LogitData, theta: Tensor, choices: list[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the Newton step (b, M - 1, p) to each choice of penalties (b, p), and df there (b,)."""
    b, m, p = theta.shape
    plain = LinearPseudoLikelihood(data.codes, data.basis, torch.zeros_like(choices[0]))
    slope, hessian = plain.derivatives(theta)
    for penalty in choices:
        factor = torch.linalg.cholesky(hessian + torch.diag_embed(penalty.repeat(1, m)))
        pull = slope + (penalty[:, None, :] * theta).reshape(b, m * p)
        step = -torch.cholesky_solve(pull[..., None], factor).reshape(theta.shape)
        yield step, torch.cholesky_solve(hessian, factor).diagonal(dim1=1, dim2=2).sum(dim=1)


def _steps_by_products(
    data: LogitData, theta: Tensor, choices: list[Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the same without writing the Hessian down: df is that of the matrix near it."""
    accuracy = theta.new_full((len(theta),), _ACCURACY)
    for penalty in choices:
        at = LinearPseudoLikelihood(data.codes, data.basis, penalty).curvature(theta)
        yield solve(at, -at.gradient, accuracy)[0], at.freedom()


def penalties(basis: Tensor, ridge: float) -> Tensor:
    """Return the penalty on each column's coefficients (b, p): `ridge` times its mean square, none on the first."""
    scale = basis.square().mean(dim=1)
    penalty = ridge * torch.where(scale > 0, scale, 1.0)
    penalty[:, 0] = 1e-9
    return penalty
