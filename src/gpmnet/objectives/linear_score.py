r"""Score matching of a continuous variable whose score is linear in coefficients.

With the score :math:`s = -z + \varphi'(z)^\top \Theta F(x_N)` the loss :math:`\tfrac12 s^2 + \partial s / \partial z`
(Hyvärinen 2005) is quadratic in Theta:

.. math:: \tfrac12 \theta^\top A \theta - t^\top \theta + \mathrm{const}, \qquad
          A = E[g g^\top],\ t = E[z g - \varphi''(z) \otimes F],\ g = \varphi'(z) \otimes F .

For the same loss of an energy see `hyvarinen`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The sums n A (b, q, q) and n t (b, q) over n rows."""

    gram: Tensor
    target: Tensor
    n: int

    def __add__(self, other: Quadratic) -> Quadratic:
        return Quadratic(self.gram + other.gram, self.target + other.target, self.n + other.n)

    def __sub__(self, other: Quadratic) -> Quadratic:
        return Quadratic(self.gram - other.gram, self.target - other.target, self.n - other.n)

    def minimiser(self, penalty: Tensor) -> Tensor:
        """Return theta (b, q, 1) with penalties (b, q) on its squares, relative to the mean loss."""
        factor = torch.linalg.cholesky(self.gram + torch.diag_embed(self.n * penalty))
        return torch.cholesky_solve(self.target[..., None], factor)

    def loss(self, theta: Tensor) -> Tensor:
        """Return the sum of the losses (b,) at theta (b, q, 1), up to a constant."""
        return (theta.mT @ (0.5 * (self.gram @ theta) - self.target[..., None]))[:, 0, 0]


def score_quadratic(z: Tensor, first: Tensor, second: Tensor, basis: Tensor) -> Quadratic:
    """Return the loss of scores z (b, n), derivatives of the node's functions (b, n, k), and F (b, n, p); q = k p."""
    b, n, p = basis.shape
    k = first.shape[2]
    g = (first[..., :, None] * basis[..., None, :]).reshape(b, n, k * p)
    slope = (second.mT @ basis).reshape(b, k * p)
    return Quadratic(g.mT @ g, (z[..., None] * g).sum(dim=1) - slope, n)
