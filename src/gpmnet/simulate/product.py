"""A noisy product: uncorrelated variables whose dependence is an interaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpmnet.checks import check_choice, check_number
from gpmnet.graphs import complete_blocks
from gpmnet.simulate.base import (
    DTYPES,
    FloatType,
    Simulation,
    Simulator,
    Values,
    column_names,
    float_type,
    generators,
)


@dataclass(frozen=True)
class Product(Simulator):
    """Draw independent triples (x1, x2, x3) with ``x3 = x1 x2 + noise * e``; x1, x2, e are N(0, 1).

    All pairs of a triple are edges: ``d2 L / dx1 dx3 = x2 / noise^2``, ``d2 L / dx2 dx3 = x1 / noise^2`` and
    ``d2 L / dx1 dx2 = (x3 - 2 x1 x2) / noise^2``. No pair is correlated; x1 and x2 are independent without
    x3, and (x1, x3), (x2, x3) show their dependence only in the variances.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise.
    dtype : {"float64", "float32"}
        Type of the values.

    Examples
    --------
    >>> Product().draw(d=3, n=10).edges().values.tolist()
    [['x1', 'x2'], ['x1', 'x3'], ['x2', 'x3']]
    """

    name: ClassVar[str] = "product"
    smallest: ClassVar[int] = 3
    step: ClassVar[int] = 3
    noise: float = 0.5
    dtype: str = "float64"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "noise", 1e-6, 1e6)
        check_choice(self, "dtype", DTYPES)

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        law = _Law(self.noise)
        (rng,) = generators(seed, 1)
        return Simulation(
            name=self.name,
            names=column_names(d),
            values=law.draw(n, d, rng, float_type(self.dtype)),
            kinds=(kind,) * d,
            truth=complete_blocks(d, 3),
            parameters=self._parameters(d, n, seed, kind),
            levels=(0,) * d,
            log_density=law.log_density,
        )


@dataclass(frozen=True)
class _Law:
    noise: float

    def draw(self, n: int, d: int, rng: np.random.Generator, dtype: FloatType) -> Values:
        values = rng.standard_normal((n, d), dtype=dtype)
        values[:, 2::3] *= dtype(self.noise)
        values[:, 2::3] += values[:, 0::3] * values[:, 1::3]
        return values

    def log_density(self, values: Values) -> NDArray[np.float64]:
        x, y = values[:, 0::3], values[:, 1::3]
        e = (values[:, 2::3] - x * y) / self.noise
        constant = 1.5 * np.log(2 * np.pi) + np.log(self.noise)
        return np.asarray((-0.5 * (x * x + y * y + e * e) - constant).sum(axis=1), dtype=np.float64)
