r"""A network of one or two softplus layers as log density.

.. math:: L(h) = w^\top \tau(A h + b), \qquad L(h) = w^\top \tau\big(C\,\tau(A h + b) + c\big), \qquad
          \tau(t) = \log(1 + e^{\beta t}) / \beta .

With :math:`\tau' = \sigma(\beta t)` and :math:`\tau'' = \beta\sigma(1 - \sigma)` the head's Hessian is diagonal for one
layer; for two, with u the input of the second,

.. math:: B = \mathrm{diag}\big(\tau''(a)\, C^\top (w\,\tau'(u))\big)
              + \mathrm{diag}(\tau'(a))\, C^\top \mathrm{diag}(w\,\tau''(u))\, C\, \mathrm{diag}(\tau'(a)).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from gpmnet.checks import check_number
from gpmnet.energies.base import Coordinates, EnergyFamily, normal_parameter
from gpmnet.energies.low_rank import LowRankEnergy


@dataclass(frozen=True)
class MLP(EnergyFamily):
    """A softplus network.

    Parameters
    ----------
    hidden : int
        Units of each layer; the rank of the Hessian is at most this.
    depth : int
        Number of hidden layers, 1 or 2.
    beta : float
        Sharpness of the softplus. It is not learned: with one layer it is a scale of A, b and w.

    Examples
    --------
    >>> energy = MLP(hidden=8).build(Coordinates(2, (3,)), torch.zeros(4, 5), None)
    >>> energy(torch.zeros(4, 5)).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """

    hidden: int = 64
    depth: int = 1
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "hidden", 1, integer=True)
        check_number(self, "depth", 1, 2, integer=True)
        check_number(self, "beta", 0.0, open_low=True)

    def build(self, coordinates: Coordinates, rows: Tensor, generator: torch.Generator | None) -> MLPEnergy:
        """Return the network with its starting weights."""
        return MLPEnergy(coordinates, self, generator).to(rows)


class MLPEnergy(LowRankEnergy):
    """The energy of a softplus network; its output weights start at 0, so that L = 0.

    Parameters
    ----------
    coordinates : Coordinates
    family : MLP
    generator : torch.Generator, optional
        Source of the starting weights.
    """

    def __init__(
        self, coordinates: Coordinates, family: MLP, generator: torch.Generator | None = None
    ) -> None:
        super().__init__(coordinates)
        self.depth, self.beta = family.depth, family.beta
        hidden, scale = family.hidden, max(1, coordinates.width) ** -0.5
        self.weight = normal_parameter(hidden, coordinates.width, generator=generator, scale=scale)
        self.bias = normal_parameter(hidden, generator=generator)
        if family.depth == 2:
            self.middle = normal_parameter(hidden, hidden, generator=generator, scale=hidden**-0.5)
            self.middle_bias = normal_parameter(hidden, generator=generator)
        self.output = nn.Parameter(torch.zeros(hidden))

    def head(self, a: Tensor) -> Tensor:
        """Return the network's output at a (..., H): (...)."""
        last = self._middle(a) if self.depth == 2 else a
        return self._softplus(last) @ self.output

    def head_gradient(self, a: Tensor) -> Tensor:
        """Return the gradient of the head at a (..., H): (..., H)."""
        return self._slope(a) * self._downstream(a)

    def head_hessian(self, a: Tensor) -> Tensor:
        """Return the Hessian of the head at a (..., H): (..., H, H)."""
        diagonal = torch.diag_embed(self._bend(a) * self._downstream(a))
        if self.depth == 1:
            return diagonal
        jacobian = self.middle * self._slope(a)[..., None, :]
        bend = self._bend(self._middle(a)) * self.output
        return diagonal + jacobian.mT @ (bend[..., None] * jacobian)

    def curvature(self, h: Tensor) -> Tensor:
        """Return the second derivatives d2L/dz_i2 of rows (n, D): (n, dc)."""
        if self.depth == 2:
            return super().curvature(h)
        return (self._bend(self.project(h)) * self.output) @ self._continuous().square()

    def hessian(self, h: Tensor) -> Tensor:
        """Return d2L/dz_i dz_j of rows (n, D): (n, dc, dc)."""
        if self.depth == 2:
            return super().hessian(h)
        a_c = self._continuous()
        return a_c.mT @ ((self._bend(self.project(h)) * self.output)[..., None] * a_c)

    def _middle(self, a: Tensor) -> Tensor:
        return self._softplus(a) @ self.middle.mT + self.middle_bias

    def _downstream(self, a: Tensor) -> Tensor:
        """Return the derivative of the output in the first layer's units."""
        if self.depth == 1:
            return self.output
        return (self._slope(self._middle(a)) * self.output) @ self.middle

    def _softplus(self, t: Tensor) -> Tensor:
        return F.softplus(
            t, beta=self.beta, threshold=40
        )  # beyond the default of 20 float64 still sees the tail

    def _slope(self, t: Tensor) -> Tensor:
        return torch.sigmoid(self.beta * t)

    def _bend(self, t: Tensor) -> Tensor:
        slope = self._slope(t)
        return self.beta * slope * (1 - slope)
