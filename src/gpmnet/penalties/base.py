"""What a penalty is, and what the formulas share.

The formulas work elementwise on NumPy arrays and torch tensors alike, so they use only what both have.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from gpmnet.errors import InputError

Array = Any  # numpy.ndarray or torch.Tensor; what comes in is what goes out


class Penalty(Protocol):
    """A penalty rho on each entry of Omega, applied elementwise; the sum over pairs is the caller's."""

    def value(self, omega: Array) -> Array:
        """Return rho of each entry."""
        ...

    def derivative(self, omega: Array) -> Array:
        """Return rho' at the magnitude of each entry, its limit from the right at 0."""
        ...

    def prox(self, omega: Array, step: Array) -> Array:
        """Return the minimiser over x of (x - omega)^2 / 2 + step * rho(x), of each entry."""
        ...


def check_lam(lam: float) -> None:
    """Refuse a lambda that is not a number from 0 up."""
    if not (math.isfinite(lam) and lam >= 0):
        raise InputError(f"Lambda must be a number from 0 up, got {lam}.")


def check_shape(name: str, value: float, least: float) -> None:
    """Refuse a shape parameter that leaves the formula without meaning."""
    if not value > least:
        raise InputError(f"{name} must be above {least:g}, got {value}.")


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
