"""What a penalty is, and what the formulas share.

The formulas work elementwise on NumPy arrays and torch tensors alike, so they use only what both have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from gpmnet.checks import check_number
from gpmnet.parts import Part

Array = Any  # numpy.ndarray or torch.Tensor; what comes in is what goes out
LARGEST = 1e12
"""No number of a penalty is larger: the formulas have no limit at infinity."""


@dataclass(frozen=True)
class Penalty(Part, ABC):
    """A penalty rho on each entry of Omega, applied elementwise; the sum over pairs is the caller's.

    Parameters
    ----------
    lam : float
        Lambda, the slope at 0. The deep engine multiplies it with `DeepOptions.lam`.
    """

    lam: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "lam", 0.0, LARGEST)

    @abstractmethod
    def value(self, omega: Array) -> Array:
        """Return rho of each entry."""

    @abstractmethod
    def derivative(self, omega: Array) -> Array:
        """Return rho' at the magnitude of each entry, its limit from the right at 0."""

    @abstractmethod
    def prox(self, omega: Array, step: Array) -> Array:
        """Return the minimiser over x of (x - omega)^2 / 2 + step * rho(x), of each entry."""

    def at(self, lam: float) -> Self:
        """Return the same penalty with another lambda."""
        return replace(self, lam=lam)

    def fitted_to(self, initial: Callable[[], Array]) -> Penalty:
        """Return the penalty for entries of which there is a first estimate; most have no use for one.

        Parameters
        ----------
        initial : callable
            Returns the estimate, in units of its noise; it is made only if it is called.
        """
        return self


def sign(w: Array) -> Array:
    """Return -1, 0 or 1."""
    return (w > 0) * 1.0 - (w < 0) * 1.0


def best(t: Array, step: Array, value: Any, candidates: list[Array]) -> Array:
    """Return, elementwise, the candidate x with the least (x - t)^2 / 2 + step * value(x); the first on ties.

    A penalty made of quadratic pieces has its proximal point among the ends of the pieces and the vertices inside
    them, on either side of the step at which the problem stops being convex.
    """
    chosen = candidates[0]
    least = 0.5 * (chosen - t) ** 2 + step * value(chosen)
    for x in candidates[1:]:
        cost = 0.5 * (x - t) ** 2 + step * value(x)
        better = cost < least
        chosen = chosen + better * (x - chosen)
        least = least + better * (cost - least)
    return chosen
