"""Independent columns of every kind: whatever is found here is false."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gpmnet.checks import check_choice
from gpmnet.simulate.base import (
    DTYPES,
    FloatType,
    Simulation,
    Simulator,
    Values,
    column_names,
    float_type,
    generators,
    kinds_of,
)

LEVELS = (2, 3, 4, 5)

Marginal = Callable[[np.random.Generator, tuple[int, int]], Values]

MARGINALS: dict[str, Marginal] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape),
    "lognormal": lambda rng, shape: np.exp(1.5 * rng.standard_normal(shape)),
    "student-t2": lambda rng, shape: rng.standard_t(2, shape),
    "cauchy": lambda rng, shape: rng.standard_cauchy(shape),
    "two humps": lambda rng, shape: rng.standard_normal(shape) + 3.0 * rng.choice([-1.0, 1.0], shape),
    "half zeros": lambda rng, shape: rng.standard_exponential(shape) * (rng.random(shape) < 0.5),
    "rounded": lambda rng, shape: np.round(2.0 * rng.standard_normal(shape)) / 2.0,
    "counts": lambda rng, shape: rng.poisson(3.0, shape).astype(np.float64),
}


@dataclass(frozen=True)
class Null(Simulator):
    """Draw independent columns; the graph has no edge.

    - *continuous*: the columns take turns over normal, uniform, exponential, lognormal (sigma 1.5), Student t
      with 2 degrees, Cauchy, two normals at -3 and 3, exponential with half of it replaced by 0, normal
      rounded to halves, Poisson(3) counts; then they are shuffled.
    - *discrete*: the columns take turns over 2, 3, 4 and 5 levels. Each column has its own probabilities,
      the mean of the uniform law on the M levels and a draw from the simplex, so none is below 1 / (2 M).
    - *mixed*: as many of one as of the other, shuffled.

    ``parameters["marginals"]`` of the simulation counts the columns of each marginal.

    Parameters
    ----------
    dtype : {"float64", "float32"}
        Type of the values.

    Examples
    --------
    >>> drawn = Null().draw(d=40, n=10)
    >>> len(drawn.edges()), drawn.kinds.count("discrete"), drawn.parameters["marginals"]["cauchy"]
    (0, 20, 2)
    """

    name: ClassVar[str] = "null"
    kinds: ClassVar[tuple[str, ...]] = ("mixed", "continuous", "discrete")
    dtype: str = "float64"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "dtype", DTYPES)

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        for_law, for_sample = generators(seed, 2)
        law = _law(kind, d, for_law)
        levels = law.levels()
        marginals = (*MARGINALS, *(f"{count} levels" for count in LEVELS))
        counts = np.bincount(law.marginal, minlength=len(marginals)).tolist()
        found = dict(zip(marginals, counts, strict=True))
        return Simulation(
            name=self.name,
            names=column_names(d),
            values=law.draw(n, for_sample, float_type(self.dtype)),
            kinds=kinds_of(levels),
            truth=csr_array((d, d), dtype=np.bool_),
            parameters=self._parameters(d, n, seed, kind, marginals=found),
            levels=tuple(levels.tolist()),
            log_density=law.log_mass if kind == "discrete" else None,
        )


def _law(kind: str, d: int, rng: np.random.Generator) -> _Law:
    discrete = {"continuous": 0, "discrete": d, "mixed": d // 2}[kind]
    continuous_turns = np.arange(d - discrete) % len(MARGINALS)
    discrete_turns = len(MARGINALS) + np.arange(discrete) % len(LEVELS)
    marginal = rng.permutation(np.concatenate([continuous_turns, discrete_turns]))
    mass = np.zeros((max(LEVELS), d))
    for at, count in enumerate(LEVELS):
        columns = np.flatnonzero(marginal == len(MARGINALS) + at)
        mass[:count, columns] = 0.5 / count + 0.5 * rng.dirichlet(np.ones(count), len(columns)).T
    return _Law(marginal, mass)


@dataclass(frozen=True)
class _Law:
    marginal: NDArray[np.intp]  # (d,): position in MARGINALS, then in LEVELS
    mass: NDArray[np.float64]  # (5, d): probability of each code, 0 for continuous columns

    def levels(self) -> NDArray[np.intp]:
        counts = np.array([0] * len(MARGINALS) + list(LEVELS), dtype=np.intp)
        return np.asarray(counts[self.marginal], dtype=np.intp)

    def draw(self, n: int, rng: np.random.Generator, dtype: FloatType) -> Values:
        values = np.empty((n, len(self.marginal)), dtype=dtype)
        for at, marginal in enumerate(MARGINALS.values()):
            columns = np.flatnonzero(self.marginal == at)
            values[:, columns] = marginal(rng, (n, len(columns)))
        columns = np.flatnonzero(self.marginal >= len(MARGINALS))
        uniform = rng.random((n, len(columns)))
        codes = np.zeros(uniform.shape, dtype=np.int8)
        reached = self.mass[:, columns].cumsum(axis=0)
        top = self.levels()[columns] - 1
        for code in range(max(LEVELS) - 1):
            codes += (uniform > reached[code]) & (code < top)
        values[:, columns] = codes
        return values

    def log_mass(self, values: Values) -> NDArray[np.float64]:
        mass = self.mass[values.astype(np.intp), np.arange(len(self.marginal))]
        return np.asarray(np.log(mass).sum(axis=1), dtype=np.float64)
