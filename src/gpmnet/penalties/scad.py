r"""The smoothly clipped absolute deviation (Fan and Li 2001): l1 near 0, flat far away.

.. math:: \rho'(t) = \min\Big(\lambda, \frac{(a\lambda - t)_+}{a - 1}\Big), \qquad t = |w|, \; a > 2 .
"""

from __future__ import annotations

from dataclasses import dataclass

from gpmnet.checks import check_number
from gpmnet.penalties.base import LARGEST, Array, Penalty, best, sign


def value(w: Array, lam: float, a: float = 3.7) -> Array:
    r"""Return :math:`\lambda t` up to lambda, a parabola up to a lambda, :math:`\lambda^2 (a + 1) / 2` from there on."""
    t = abs(w)
    bent = t.clip(lam, a * lam)
    return lam * t.clip(max=lam) + (a * lam * (bent - lam) - (bent**2 - lam**2) / 2) / (a - 1)


def derivative(w: Array, lam: float, a: float = 3.7) -> Array:
    """Return the derivative at |w|."""
    return ((a * lam - abs(w)).clip(min=0) / (a - 1)).clip(max=lam)


def prox(w: Array, lam: float, step: Array, a: float = 3.7) -> Array:
    """Return the proximal point; exact also for step >= a - 1, where the problem is not convex."""
    t = abs(w)
    bent = a - 1 - step
    vertex = ((a - 1) * t - a * lam * step) / (bent + (bent == 0))  # a peak, never chosen, where bent < 0
    candidates = [(t - step * lam).clip(0, lam), t.clip(min=a * lam), vertex.clip(lam, a * lam)]
    return sign(w) * best(t, step, lambda x: value(x, lam, a), candidates)


@dataclass(frozen=True)
class SCAD(Penalty):
    """The smoothly clipped absolute deviation.

    Parameters
    ----------
    lam : float
    a : float
        Where it becomes flat, in lambdas; above 2. The larger, the closer to l1.

    Examples
    --------
    >>> import numpy as np
    >>> SCAD(1.0).prox(np.array([0.5, 1.5, 5.0]), step=1.0)
    array([0. , 0.5, 5. ])
    """

    a: float = 3.7

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "a", 2.0, LARGEST, open_low=True)

    def value(self, omega: Array) -> Array:
        """Return rho of each entry."""
        return value(omega, self.lam, self.a)

    def derivative(self, omega: Array) -> Array:
        """Return rho' at the magnitude of each entry."""
        return derivative(omega, self.lam, self.a)

    def prox(self, omega: Array, step: Array) -> Array:
        """Return the proximal point of each entry."""
        return prox(omega, self.lam, step, self.a)
