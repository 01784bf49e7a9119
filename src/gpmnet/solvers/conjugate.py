r"""Newton steps by conjugate gradients: for losses whose Hessian is too large to write down.

Each step solves :math:`H s = -g` from products with H alone, with the inverse of a simpler matrix near H as a
preconditioner, to an accuracy that grows as the minimum comes near (Dembo, Eisenstat and Steihaug 1982). The last step is
as small as that of plain Newton steps and known to three digits, so the end is theirs.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from gpmnet.solvers.newton import Minimum, Step, descend

_COARSEST = 0.3  # relative accuracy of the first steps ...
_FINEST = 1e-3  # ... and of the last ones
_MOST_ROUNDS = 1000


class Curvature(Protocol):
    """A convex loss at some coefficients: its gradient and Hessian, without the latter being written down."""

    @property
    def gradient(self) -> Tensor:
        """The gradient (b, m, p)."""

    def times(self, direction: Tensor) -> Tensor:
        """Return the Hessian times directions (b, m, p)."""

    def solve_near(self, right: Tensor) -> Tensor:
        """Return the inverse of a positive definite matrix near the Hessian times right-hand sides (b, m, p)."""


class ConvexLoss(Protocol):
    """A convex loss of a batch of b problems, each with coefficients of shape (m, p)."""

    def loss(self, theta: Tensor) -> Tensor:
        """Return the loss (b,) at coefficients (b, m, p)."""

    def curvature(self, theta: Tensor) -> Curvature:
        """Return gradient and Hessian at coefficients (b, m, p)."""


def minimise_by_products(
    loss: ConvexLoss, start: Tensor, most_steps: int, enough_gain: float = 0.0
) -> Minimum:
    """Return minimisers as `gpmnet.solvers.newton.minimise` does, without writing a Hessian down.

    Where `enough_gain` is given, problems whose next step promises less than that of the loss count as solved.
    """

    def next_step(theta: Tensor) -> Step:
        return _inexact_step(loss.curvature(theta))

    return descend(loss.loss, next_step, start, most_steps, enough_gain)


def _inexact_step(at: Curvature) -> Step:
    # The squared length of the gradient is about twice what is left to gain; its fourth root makes the steps' errors
    # fall with power 3/2.
    length = _dot(at.gradient, at.solve_near(at.gradient))
    move, solved = solve(at, -at.gradient, length.pow(0.25).clamp(_FINEST, _COARSEST))
    return Step(move, -_dot(at.gradient, move), solved)


def solve(at: Curvature, right: Tensor, accuracy: Tensor) -> tuple[Tensor, Tensor]:
    """Return H^-1 times right-hand sides (b, m, p) by conjugate gradients, and where the accuracy was reached (b,).

    Parameters
    ----------
    accuracy : Tensor of shape (b,)
        How much smaller what is left of the right-hand side must be, in the norm of the matrix near the inverse.
    """
    result, left = torch.zeros_like(right), right
    near = at.solve_near(left)
    direction, size = near, _dot(left, near)
    enough = accuracy.square() * size
    for _ in range(_MOST_ROUNDS):
        active = size > enough
        if not bool(active.any()):
            break
        product = at.times(direction)
        along = _dot(direction, product)
        share = torch.where(active, size / torch.where(active, along, 1.0), 0.0)[:, None, None]
        result, left = result + share * direction, left - share * product
        near = at.solve_near(left)
        last, size = size, torch.where(active, _dot(left, near), size)
        direction = near + torch.where(active, size / last, 0.0)[:, None, None] * direction
    return result, size <= enough


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=(1, 2))
