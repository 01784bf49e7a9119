"""Damped Newton steps for many small problems at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

_LARGEST_MOVE = 2.0  # of what `reach` measures, in one step of a problem that is not convex
_SMALLEST_STEP = 1e-7  # of any coefficient
_SMALLEST_GAIN = 1e3  # of a step, in units of the loss's rounding


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
        Whether each problem ended at a stationary point: its last Newton step was all but 0, or it promised a gain
        too small for the loss to show.
    n_steps : int
    """

    theta: Tensor
    converged: Tensor
    n_steps: int


@dataclass(frozen=True, eq=False)
class Step:
    """A Newton step of a batch of problems.

    Attributes
    ----------
    move : Tensor of shape (b, m, p)
    gain : Tensor of shape (b,)
        By how much the loss would fall along its gradient.
    solved : Tensor of bool, shape (b,)
        Whether the step is as exact as it was meant to be.
    """

    move: Tensor
    gain: Tensor
    solved: Tensor


def minimise(loss: SmoothLoss, start: Tensor, most_steps: int) -> Minimum:
    """Return minimisers by damped Newton steps, at most `most_steps`, for all problems of a batch at once."""
    return descend(loss.loss, lambda theta: _newton_step(loss, theta), start, most_steps)


def descend(
    value: Callable[[Tensor], Tensor],
    next_step: Callable[[Tensor], Step],
    start: Tensor,
    most_steps: int,
    enough_gain: float = 0.0,
) -> Minimum:
    """Return minimisers of a loss by steps that are halved where they would make it worse, at most `most_steps`.

    Parameters
    ----------
    value : callable
        The loss (b,) at coefficients (b, m, p).
    next_step : callable
        The Newton step from coefficients.
    start : Tensor of shape (b, m, p)
    enough_gain : float
        A problem is also settled after a step that promised less than this.
    """
    theta, reached = start, value(start)
    settled, n_steps = torch.zeros_like(reached, dtype=torch.bool), 0
    stalled = settled
    while n_steps < most_steps and not bool(settled.all()):
        n_steps += 1
        whole = next_step(theta)
        step = whole.move
        for _ in range(30):  # halve the step of the problems that it would make worse
            tried = value(theta + step)
            worse = ~(tried <= reached + 1e-12)
            if not bool(worse.any()):
                break
            step = torch.where(worse[:, None, None], step / 2, step)
        else:
            step = torch.where(worse[:, None, None], 0.0, step)
            tried = torch.where(worse, reached, tried)
        theta, reached = theta + step, tried
        settled = _is_small(step) | (whole.gain < enough_gain)
        # Halved to nothing although there was something to gain.
        rounding = torch.finfo(theta.dtype).eps * (1 + reached.abs())
        nothing = (_SMALLEST_GAIN * rounding).clamp(min=enough_gain)
        stalled = settled & ~_is_small(whole.move) & ~(whole.gain <= nothing)
        stalled = stalled | ~whole.solved
    return Minimum(theta, settled & ~stalled, n_steps)


def _is_small(step: Tensor) -> Tensor:
    return step.abs().amax(dim=(1, 2)) < _SMALLEST_STEP


def _newton_step(loss: SmoothLoss, theta: Tensor) -> Step:
    gradient, hessian = loss.derivatives(theta)
    step = _downhill(loss, theta, gradient, hessian)
    gain = -(gradient * step.flatten(1)).sum(dim=1)
    return Step(step, gain, torch.ones_like(gain, dtype=torch.bool))


def _downhill(loss: SmoothLoss, theta: Tensor, gradient: Tensor, hessian: Tensor) -> Tensor:
    if loss.convex:
        factor = torch.linalg.cholesky(hessian)
        return -torch.cholesky_solve(gradient[..., None], factor).reshape(theta.shape)
    # Along directions of negative curvature the absolute value turns the step downhill.
    value, vector = torch.linalg.eigh((hessian + hessian.mT) / 2)
    size = value.abs()
    size = torch.maximum(size, 1e-10 * size.amax(dim=1, keepdim=True))
    step: Tensor = -(vector @ ((vector.mT @ gradient[..., None]) / size[..., None])).reshape(theta.shape)
    return step * (_LARGEST_MOVE / loss.reach(step).clamp(min=_LARGEST_MOVE))[:, None, None]
