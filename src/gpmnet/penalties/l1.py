r"""The l1 penalty :math:`\rho(w) = \lambda |w|` (Tibshirani 1996)."""

from __future__ import annotations

from dataclasses import dataclass

from gpmnet.penalties.base import Array, Penalty, sign


def value(w: Array, lam: Array) -> Array:
    """Return lam |w|."""
    return lam * abs(w)


def derivative(w: Array, lam: Array) -> Array:
    """Return lam."""
    return lam + 0 * abs(w)


def prox(w: Array, lam: Array, step: Array) -> Array:
    """Return w drawn to 0 by step * lam (soft thresholding)."""
    return sign(w) * (abs(w) - step * lam).clip(min=0)


@dataclass(frozen=True)
class L1(Penalty):
    """The l1 penalty.

    Parameters
    ----------
    lam : float

    Examples
    --------
    >>> import numpy as np
    >>> L1(0.5).prox(np.array([-2.0, 0.3]), step=1.0)
    array([-1.5,  0. ])
    """

    def value(self, omega: Array) -> Array:
        """Return rho of each entry."""
        return value(omega, self.lam)

    def derivative(self, omega: Array) -> Array:
        """Return rho' at the magnitude of each entry."""
        return derivative(omega, self.lam)

    def prox(self, omega: Array, step: Array) -> Array:
        """Return the proximal point of each entry."""
        return prox(omega, self.lam, step)
