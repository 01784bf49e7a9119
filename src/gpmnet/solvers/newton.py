"""Damped Newton steps for many small problems at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

_LARGEST_MOVE = 2.0  # of what `reach` measures, in one step of a problem that is not convex
_SMALLEST_STEP = 1e-7  # of any coefficient


class SmoothLoss(Protocol):
    """A loss of a batch of b problems, each with coefficients of shape (m, p)."""

    @property
    def convex(self) -> bool:
        """Whether the Hessian is positive definite everywhere."""

    def loss(self, theta: Tensor) -> Tensor:
        """Return the loss (b,) at coefficients (b, m, p)."""

    def derivatives(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return gradient (b, m p) and Hessian (b, m p, m p)."""

    def reach(self, step: Tensor) -> Tensor:
        """Return the largest change (b,) that a step makes in what must not jump."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the steps ended.

    Attributes
    ----------
    theta : Tensor of shape (b, m, p)
    converged : Tensor of bool, shape (b,)
        Whether the last step of each problem was all but 0.
    n_steps : int
    """

    theta: Tensor
    converged: Tensor
    n_steps: int


def minimise(loss: SmoothLoss, start: Tensor, most_steps: int) -> Minimum:
    """Return minimisers by damped Newton steps, at most `most_steps`, for all problems of a batch at once."""
    theta, reached = start, loss.loss(start)
    converged, n_steps = torch.zeros_like(reached, dtype=torch.bool), 0
    while n_steps < most_steps and not bool(converged.all()):
        n_steps += 1
        step = _newton_step(loss, theta)
        for _ in range(30):  # halve the step of the problems that it would make worse
            tried = loss.loss(theta + step)
            worse = ~(tried <= reached + 1e-12)
            if not bool(worse.any()):
                break
            step = torch.where(worse[:, None, None], step / 2, step)
        else:
            step = torch.where(worse[:, None, None], 0.0, step)
            tried = torch.where(worse, reached, tried)
        theta, reached = theta + step, tried
        converged = step.abs().amax(dim=(1, 2)) < _SMALLEST_STEP
    return Minimum(theta, converged, n_steps)


def _newton_step(loss: SmoothLoss, theta: Tensor) -> Tensor:
    gradient, hessian = loss.derivatives(theta)
    if loss.convex:
        factor = torch.linalg.cholesky(hessian)
        return -torch.cholesky_solve(gradient[..., None], factor).reshape(theta.shape)
    # Along directions of negative curvature the absolute value turns the step downhill.
    value, vector = torch.linalg.eigh((hessian + hessian.mT) / 2)
    size = value.abs()
    size = torch.maximum(size, 1e-10 * size.amax(dim=1, keepdim=True))
    step: Tensor = -(vector @ ((vector.mT @ gradient[..., None]) / size[..., None])).reshape(theta.shape)
    return step * (_LARGEST_MOVE / loss.reach(step).clamp(min=_LARGEST_MOVE))[:, None, None]
