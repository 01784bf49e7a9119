r"""The adaptive l1 penalty :math:`\rho(w) = \lambda c\,|w|`, with weights c from a first estimate (Zou 2006)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpmnet.checks import check_number
from gpmnet.penalties import l1
from gpmnet.penalties.base import LARGEST, Array, Penalty


def weights(initial: Array, power: float = 1.0, floor: float = 1e-3) -> Array:
    """Return 1 / max(|initial|, floor)^power: what was small without a penalty is penalised most."""
    return abs(initial).clip(min=floor) ** -power


@dataclass(frozen=True)
class Adaptive(l1.L1):
    """The l1 penalty whose slope is steepest where a first estimate is small; plain l1 until there is one.

    Parameters
    ----------
    lam : float
    power : float
        The weight of an entry is 1 / (first estimate)^power.
    floor : float
        First estimates below this count as this much; above 0.

    Examples
    --------
    >>> import numpy as np
    >>> Adaptive(0.1).fitted_to(lambda: np.array([0.1, 1.0])).value(np.array([1.0, 1.0]))
    array([1. , 0.1])
    """

    power: float = 1.0
    floor: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "power", 0.0, LARGEST)
        check_number(self, "floor", 0.0, LARGEST, open_low=True)

    def fitted_to(self, initial: Callable[[], Array]) -> Penalty:
        """Return the penalty with the weights that a first estimate gives."""
        return Weighted(self.lam, weights(initial(), self.power, self.floor))


@dataclass(frozen=True, eq=False)
class Weighted(Penalty):
    """The l1 penalty with a weight for each entry.

    Parameters
    ----------
    lam : float
    weights : array that broadcasts against Omega
    """

    weights: Array = 1.0

    def value(self, omega: Array) -> Array:
        """Return rho of each entry."""
        return l1.value(omega, self.lam * self.weights)

    def derivative(self, omega: Array) -> Array:
        """Return rho' at the magnitude of each entry."""
        return l1.derivative(omega, self.lam * self.weights)

    def prox(self, omega: Array, step: Array) -> Array:
        """Return the proximal point of each entry."""
        return l1.prox(omega, self.lam * self.weights, step)
