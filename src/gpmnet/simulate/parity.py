"""Parity: every proper subset of the variables is independent, all of them together are not."""

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
class Parity(Simulator):
    """Draw variables that are dependent only all together.

    - *discrete*: x_1, ..., x_{d-1} are fair bits and ``x_d = x_1 xor ... xor x_{d-1}``, flipped with
      probability `flip` (0.1). So ``P(x) = 2^-(d-1) (1 - flip)`` where the bits sum to an even number and
      ``2^-(d-1) flip`` where they do not.
    - *continuous*: x_1, ..., x_{d-1} and e are N(0, 1) and ``x_d = sign(x_1 ... x_{d-1}) |e|``, its sign
      flipped with probability `flip` (0: the density is then 0 on half of the orthants). So
      ``p(x) = 2 (1 - flip) prod_i phi(x_i)`` where the product of all x is positive and
      ``2 flip prod_i phi(x_i)`` where it is negative.

    Both laws treat all d variables alike. Given all the others, the bit (the sign) of x_i determines that of
    x_j up to the flip: **every pair is an edge**, 3 edges at d = 3 and 10 at d = 5. Yet any d - 1 of the
    variables are independent, so no pair, nor any smaller group, shows a trace of it.

    Parameters
    ----------
    flip : float, optional
        Probability in [0, 1/2) that the parity is violated.
    block : int, optional
        Size, at least 3, of independent groups that each have a parity; by default one group of all d.
    dtype : {"float64", "float32"}
        Type of the values.

    Examples
    --------
    >>> len(Parity().draw(d=3, n=10).edges()), len(Parity().draw(d=5, n=10).edges())
    (3, 10)
    >>> len(Parity(block=3).draw(d=6, n=10).edges())
    6
    """

    name: ClassVar[str] = "parity"
    kinds: ClassVar[tuple[str, ...]] = ("discrete", "continuous")
    smallest: ClassVar[int] = 3
    flip: float | None = None
    block: int | None = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.flip is not None:
            check_number(self, "flip", 0, 0.5, open_high=True)
        if self.block is not None:
            check_number(self, "block", 3, integer=True)
        check_choice(self, "dtype", DTYPES)

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        size = d if self.block is None else self.block
        self._check_multiple(d, size)
        discrete = kind == "discrete"
        flip = (0.1 if discrete else 0.0) if self.flip is None else self.flip
        law = _Law(size, flip, discrete)
        (rng,) = generators(seed, 1)
        return Simulation(
            name=self.name,
            names=column_names(d),
            values=law.draw(n, d, rng, float_type(self.dtype)),
            kinds=(kind,) * d,
            truth=complete_blocks(d, size),
            parameters=self._parameters(d, n, seed, kind, flip=flip),
            levels=(2 if discrete else 0,) * d,
            log_density=law.log_density,
        )


@dataclass(frozen=True)
class _Law:
    block: int
    flip: float
    discrete: bool

    def draw(self, n: int, d: int, rng: np.random.Generator, dtype: FloatType) -> Values:
        flips = rng.random((n, d // self.block), dtype=np.float32) < self.flip
        if self.discrete:
            values = rng.integers(0, 2, (n, d), dtype=np.int8).astype(dtype)
            groups = values.reshape(n, -1, self.block)
            groups[:, :, -1] = (groups[:, :, :-1].sum(axis=2) + flips) % 2
            return values
        values = rng.standard_normal((n, d), dtype=dtype)
        groups = values.reshape(n, -1, self.block)
        # multiplying by the sign of the whole product makes the product positive
        groups[:, :, -1] *= np.sign(groups).prod(axis=2) * np.where(flips, -1, 1)
        return values

    def log_density(self, values: Values) -> NDArray[np.float64]:
        groups: Values = values.reshape(len(values), -1, self.block)
        parity = 1 - 2 * (groups.sum(axis=2) % 2) if self.discrete else np.sign(groups).prod(axis=2)
        even = np.asarray(parity > 0)
        with np.errstate(divide="ignore"):
            log_parity = np.log(np.where(even, 1 - self.flip, np.full(even.shape, self.flip))).sum(axis=1)
        if self.discrete:
            return np.asarray(log_parity - even.shape[1] * (self.block - 1) * np.log(2.0))
        gaussian = -0.5 * (values * values + np.log(2 * np.pi)).sum(axis=1)
        return np.asarray(log_parity + gaussian + even.shape[1] * np.log(2.0))
