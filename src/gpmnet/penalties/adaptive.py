r"""The adaptive l1 penalty :math:`\rho(w) = \lambda c\,|w|`, with weights c from a first estimate (Zou 2006)."""

from __future__ import annotations

from dataclasses import dataclass

from gpmnet.penalties import l1
from gpmnet.penalties.base import Array, check_lam


def weights(initial: Array, power: float = 1.0, floor: float = 1e-3) -> Array:
    """Return 1 / max(|initial|, floor)^power: what was small without a penalty is penalised most."""
    return abs(initial).clip(min=floor) ** -power


@dataclass(frozen=True, eq=False)
class Adaptive:
    """The l1 penalty with a weight for each entry; unit weights are the plain one.

    Parameters
    ----------
    lam : float
    weights : array that broadcasts against Omega
        As `weights` or `from_initial` makes them.

    Examples
    --------
    >>> import numpy as np
    >>> Adaptive.from_initial(0.1, np.array([0.1, 1.0])).value(np.array([1.0, 1.0]))
    array([1. , 0.1])
    """

    lam: float
    weights: Array = 1.0

    def __post_init__(self) -> None:
        check_lam(self.lam)

    @classmethod
    def from_initial(cls, lam: float, initial: Array, power: float = 1.0, floor: float = 1e-3) -> Adaptive:
        """Return the penalty whose weights come from an Omega that was estimated without one."""
        return cls(lam, weights(initial, power, floor))

    def value(self, omega: Array) -> Array:
        """Return rho of each entry."""
        return l1.value(omega, self.lam * self.weights)

    def derivative(self, omega: Array) -> Array:
        """Return rho' at the magnitude of each entry."""
        return l1.derivative(omega, self.lam * self.weights)

    def prox(self, omega: Array, step: Array) -> Array:
        """Return the proximal point of each entry."""
        return l1.prox(omega, self.lam * self.weights, step)
