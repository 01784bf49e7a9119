"""A noisy product: uncorrelated variables whose dependence is an interaction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpmnet.simulate.base import (
    Simulation,
    Values,
    check_range,
    check_size,
    column_names,
    complete_blocks,
    float_type,
    generators,
)


def product(d: int, n: int, seed: int = 0, *, noise: float = 0.5, dtype: str = "float64") -> Simulation:
    """Draw independent triples (x1, x2, x3) with ``x3 = x1 x2 + noise * e``; x1, x2, e are N(0, 1).

    All pairs of a triple are edges: ``d2 L / dx1 dx3 = x2 / noise^2``, ``d2 L / dx2 dx3 = x1 / noise^2`` and
    ``d2 L / dx1 dx2 = (x3 - 2 x1 x2) / noise^2``. No pair is correlated; x1 and x2 are independent without
    x3, and (x1, x3), (x2, x3) show their dependence only in the variances.

    Parameters
    ----------
    d, n, seed : int
        Columns (a multiple of 3), rows, seed.
    noise : float
        Standard deviation of the noise.
    dtype : {"float64", "float32"}
        Type of the values.

    Examples
    --------
    >>> product(d=3, n=10).edges().values.tolist()
    [['x1', 'x2'], ['x1', 'x3'], ['x2', 'x3']]
    """
    check_size("product", d, n, seed, smallest=3, multiple=3)
    check_range("product", "noise", noise, 1e-6, 1e6)
    law = _Law(noise)
    (rng,) = generators(seed, 1)
    return Simulation(
        name="product",
        names=column_names(d),
        values=law.draw(n, d, rng, float_type("product", dtype)),
        kinds=("continuous",) * d,
        truth=complete_blocks(d, 3),
        parameters={"kind": "continuous", "d": d, "n": n, "seed": seed, "noise": noise, "dtype": dtype},
        levels=(0,) * d,
        log_density=law.log_density,
    )


@dataclass(frozen=True)
class _Law:
    noise: float

    def draw(
        self, n: int, d: int, rng: np.random.Generator, dtype: type[np.float32] | type[np.float64]
    ) -> Values:
        values = rng.standard_normal((n, d), dtype=dtype)
        values[:, 2::3] *= dtype(self.noise)
        values[:, 2::3] += values[:, 0::3] * values[:, 1::3]
        return values

    def log_density(self, values: Values) -> NDArray[np.float64]:
        x, y = values[:, 0::3], values[:, 1::3]
        e = (values[:, 2::3] - x * y) / self.noise
        constant = 1.5 * np.log(2 * np.pi) + np.log(self.noise)
        return np.asarray((-0.5 * (x * x + y * y + e * e) - constant).sum(axis=1), dtype=np.float64)
