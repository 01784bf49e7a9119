r"""The minimax concave penalty (Zhang 2010): the slope falls from lambda to 0 in a straight line.

.. math:: \rho'(t) = \Big(\lambda - \frac{t}{\gamma}\Big)_+, \qquad t = |w|, \; \gamma > 1 .
"""

from __future__ import annotations

from dataclasses import dataclass

from gpmnet.checks import check_number
from gpmnet.penalties.base import LARGEST, Array, Penalty, best, sign


def value(w: Array, lam: float, gamma: float = 3.0) -> Array:
    r"""Return :math:`\lambda t - t^2 / (2 \gamma)` up to gamma lambda, :math:`\gamma \lambda^2 / 2` from there on."""
    t = abs(w).clip(max=gamma * lam)
    return lam * t - t**2 / (2 * gamma)


def derivative(w: Array, lam: float, gamma: float = 3.0) -> Array:
    """Return the derivative at |w|."""
    return (lam - abs(w) / gamma).clip(min=0)


def prox(w: Array, lam: float, step: Array, gamma: float = 3.0) -> Array:
    """Return the proximal point; exact also for step >= gamma, where the problem is not convex."""
    t = abs(w)
    bent = 1 - step / gamma
    vertex = (t - step * lam) / (bent + (bent == 0))  # a peak, never chosen, where bent < 0
    candidates = [0 * t, t.clip(min=gamma * lam), vertex.clip(0, gamma * lam)]
    return sign(w) * best(t, step, lambda x: value(x, lam, gamma), candidates)


@dataclass(frozen=True)
class MCP(Penalty):
    """The minimax concave penalty.

    Parameters
    ----------
    lam : float
    gamma : float
        Where it becomes flat, in lambdas; above 1. The larger, the closer to l1.

    Examples
    --------
    >>> import numpy as np
    >>> MCP(1.0).prox(np.array([0.5, 2.0, 5.0]), step=1.0)
    array([0. , 1.5, 5. ])
    """

    gamma: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "gamma", 1.0, LARGEST, open_low=True)

    def value(self, omega: Array) -> Array:
        """Return rho of each entry."""
        return value(omega, self.lam, self.gamma)

    def derivative(self, omega: Array) -> Array:
        """Return rho' at the magnitude of each entry."""
        return derivative(omega, self.lam, self.gamma)

    def prox(self, omega: Array, step: Array) -> Array:
        """Return the proximal point of each entry."""
        return prox(omega, self.lam, step, self.gamma)
