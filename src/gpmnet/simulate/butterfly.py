"""Butterfly pairs: dependent, yet uncorrelated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpmnet.checks import check_choice
from gpmnet.graphs import complete_blocks
from gpmnet.simulate.base import (
    ALL_KINDS,
    DTYPES,
    FloatType,
    Simulation,
    Simulator,
    Values,
    float_type,
    generators,
    kinds_of,
)

REPLACED = 0.1  # positive=True: how often q is replaced by a uniform draw
FLOOR = 0.25  # smooth=True: variance that q keeps at p = 0


@dataclass(frozen=True)
class Butterfly(Simulator):
    r"""Draw d/2 independent pairs (p, q) with q = w p.

    - *continuous* pairs: p and w are independent N(0, 1). The pair is uncorrelated; its dependence is that
      \|q\| grows with \|p\|. ``E f^2`` is infinite at p = 0; ``smooth=True`` draws ``q = w sqrt(p^2 + 1/4)``,
      for which it is finite.
    - *discrete* pairs: p and w are independent and uniform on the value set {-1, 0, 1} (probability 1/3
      each), so q takes the same three values; the codes 0, 1, 2 stand for -1, 0, 1. The states p = 0,
      q = -1 or 1 have probability 0; ``positive=True`` replaces q by a uniform draw from {-1, 0, 1} with
      probability 0.1, and every state has a positive probability.
    - *mixed*: every pair is of one of the two types. The number of discrete pairs is uniform on 1, ...,
      d/2 - 1 (a fair coin where d = 2), and which pairs they are is random.

    The columns are p1, q1, p2, q2, ... (d is even); the true edges are (p1, q1), (p2, q2), ...

    Parameters
    ----------
    positive : bool
        Discrete pairs with a strictly positive mass function.
    smooth : bool
        Continuous pairs with a finite ``E f^2``.
    dtype : {"float64", "float32"}
        Type of the values. The two types are different draws.

    References
    ----------
    Morrison, Baptista, Marzouk (2017), Beyond normality: learning sparse probabilistic graphical models in
    the non-Gaussian setting. The discrete and mixed forms: Zheng, Ng, Fan, Zhang (2023), whose value sets
    were not published; those above are ours.

    Examples
    --------
    >>> drawn = Butterfly().draw(d=4, n=100, seed=1)
    >>> drawn.edges().values.tolist()
    [['p1', 'q1'], ['p2', 'q2']]
    """

    name: ClassVar[str] = "butterfly"
    kinds: ClassVar[tuple[str, ...]] = ALL_KINDS
    step: ClassVar[int] = 2
    positive: bool = False
    smooth: bool = False
    dtype: str = "float64"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "dtype", DTYPES)

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        for_law, for_sample = generators(seed, 2)
        pairs = d // 2
        law = _Law(_discrete_pairs(kind, pairs, for_law), self.positive, self.smooth)
        levels = np.where(np.repeat(law.discrete, 2), 3, 0)
        return Simulation(
            name=self.name,
            names=tuple(name for i in range(1, pairs + 1) for name in (f"p{i}", f"q{i}")),
            values=law.draw(n, for_sample, float_type(self.dtype)),
            kinds=kinds_of(levels),
            truth=complete_blocks(d, 2),
            parameters=self._parameters(d, n, seed, kind, discrete_pairs=int(law.discrete.sum())),
            levels=tuple(levels.tolist()),
            log_density=law.log_density,
        )


def _discrete_pairs(kind: str, pairs: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which pairs are discrete."""
    if kind != "mixed":
        return np.full(pairs, kind == "discrete")
    count = rng.integers(0, 2) if pairs == 1 else rng.integers(1, pairs)
    return rng.permutation(np.arange(pairs) < count)


@dataclass(frozen=True)
class _Law:
    discrete: NDArray[np.bool_]  # (pairs,)
    positive: bool
    smooth: bool

    def draw(self, n: int, rng: np.random.Generator, dtype: FloatType) -> Values:
        pairs = len(self.discrete)
        values = np.empty((n, 2 * pairs), dtype=dtype)
        for which, draw in ((~self.discrete, self._continuous), (self.discrete, self._discrete)):
            at = np.flatnonzero(which)
            if at.size:
                p, q = draw(n, at.size, rng, dtype)
                # a slice writes several times faster than a list of columns; large tables are of one type
                values[:, slice(0, None, 2) if at.size == pairs else 2 * at] = p
                values[:, slice(1, None, 2) if at.size == pairs else 2 * at + 1] = q
        return values

    def _continuous(
        self, n: int, pairs: int, rng: np.random.Generator, dtype: FloatType
    ) -> tuple[Values, Values]:
        p = rng.standard_normal((n, pairs), dtype=dtype)
        q = rng.standard_normal((n, pairs), dtype=dtype)
        q *= np.sqrt(p * p + dtype(FLOOR)) if self.smooth else p
        return p, q

    def _discrete(
        self, n: int, pairs: int, rng: np.random.Generator, dtype: FloatType
    ) -> tuple[Values, Values]:
        p = rng.integers(-1, 2, (n, pairs), dtype=np.int8)
        q = rng.integers(-1, 2, (n, pairs), dtype=np.int8) * p
        if self.positive:
            replaced = rng.random((n, pairs), dtype=np.float32) < REPLACED
            q = np.where(replaced, rng.integers(-1, 2, (n, pairs), dtype=np.int8), q)
        return p + 1, q + 1

    def log_density(self, values: Values) -> NDArray[np.float64]:
        p, q = values[:, 0::2], values[:, 1::2]
        log_mass = self._log_mass()
        codes = p[:, self.discrete].astype(np.intp), q[:, self.discrete].astype(np.intp)
        p, q = p[:, ~self.discrete], q[:, ~self.discrete]
        variance = p * p + (FLOOR if self.smooth else 0.0)
        gaussian = -0.5 * (p * p + q * q / variance + np.log(variance)) - np.log(2 * np.pi)
        return np.asarray(log_mass[codes].sum(axis=1) + gaussian.sum(axis=1), dtype=np.float64)

    def _log_mass(self) -> NDArray[np.float64]:
        mass = np.array([[1, 1, 1], [0, 3, 0], [1, 1, 1]]) / 9.0
        if self.positive:
            mass = (1 - REPLACED) * mass + REPLACED / 9.0
        with np.errstate(divide="ignore"):
            return np.log(mass)
