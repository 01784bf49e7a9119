"""Strictly increasing maps of a Gaussian column, with their inverses and slopes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from gpmnet.simulate.base import FloatType, Values
from gpmnet.simulate.gaussian import GaussianLaw

if TYPE_CHECKING:
    from gpmnet.graphs import Graph
    from gpmnet.simulate.base import Matrix

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class Increasing:
    """x = forward(z), z = inverse(x), log_slope(z) = log dx/dz."""

    forward: Callable[[Values], Values]
    inverse: Callable[[Values], Values]
    log_slope: Callable[[Values], Values]


def _log_normal(z: Values) -> Values:
    return np.asarray(-0.5 * z * z - z.dtype.type(_LOG_ROOT_2PI))


MAPS: dict[str, Increasing] = {
    # maps by their formula
    "exp": Increasing(np.exp, np.log, lambda z: z),
    "cubic": Increasing(
        lambda z: z + z**3,
        lambda x: 2 / np.sqrt(3) * np.sinh(np.arcsinh(1.5 * np.sqrt(3) * x) / 3),
        lambda z: np.log1p(3 * z * z),
    ),
    "softplus": Increasing(
        lambda z: np.logaddexp(0, z), lambda x: x + np.log(-np.expm1(-x)), lambda z: -np.logaddexp(0, -z)
    ),
    # maps from N(0, 1) to a named law, in forms that keep both tails accurate
    "uniform": Increasing(ndtr, ndtri, _log_normal),
    "exponential": Increasing(
        lambda z: -log_ndtr(-z), lambda x: -ndtri_exp(-x), lambda z: _log_normal(z) - log_ndtr(-z)
    ),
    "laplace": Increasing(
        lambda z: -np.sign(z) * (log_ndtr(-np.abs(z)) + z.dtype.type(np.log(2))),
        lambda x: -np.sign(x) * ndtri_exp(-np.abs(x) - np.log(2)),
        lambda z: _log_normal(z) - log_ndtr(-np.abs(z)),
    ),
    "gumbel": Increasing(
        lambda z: -np.log(-log_ndtr(z)),
        lambda x: ndtri_exp(-np.exp(-x)),
        lambda z: _log_normal(z) - log_ndtr(z) - np.log(-log_ndtr(z)),
    ),
    "cauchy": Increasing(
        lambda z: np.sign(z) / np.tan(z.dtype.type(np.pi) * ndtr(-np.abs(z))),
        lambda x: -np.sign(x) * ndtri(np.arctan2(1.0, np.abs(x)) / np.pi),
        lambda z: _log_normal(z) + np.log(np.pi) - 2 * np.log(np.sin(np.pi * ndtr(-np.abs(z)))),
    ),
}


@dataclass(frozen=True)
class MappedLaw:
    """Column j of a Gaussian law goes through the map ``maps[j % len(maps)]``."""

    latent: GaussianLaw
    maps: tuple[str, ...]

    @property
    def precision(self) -> Matrix:
        """The precision matrix of the Gaussian law."""
        return self.latent.precision

    def graph(self) -> Graph:
        """Return the graph of the Gaussian law, which maps of single columns leave as it is."""
        return self.latent.graph()

    def draw(self, n: int, rng: np.random.Generator, dtype: FloatType) -> Values:
        """Draw n rows."""
        values = self.latent.draw(n, rng, dtype)
        for at, name in enumerate(self.maps):
            columns = slice(at, None, len(self.maps))
            values[:, columns] = MAPS[name].forward(values[:, columns])
        return values

    def log_density(self, values: Values) -> NDArray[np.float64]:
        """Return the log density by the change of variables, (m, d) -> (m,)."""
        z = np.empty(values.shape)
        log_slope = np.zeros(len(values))
        inside = np.ones(len(values), dtype=np.bool_)
        for at, name in enumerate(self.maps):
            columns = slice(at, None, len(self.maps))
            with np.errstate(invalid="ignore", divide="ignore"):
                z[:, columns] = MAPS[name].inverse(values[:, columns])
                # outside its range a map has no inverse, and the density is 0
                inside &= np.isfinite(z[:, columns]).all(axis=1)
                z[~inside] = 0.0
                log_slope += MAPS[name].log_slope(z[:, columns]).sum(axis=1)
        return np.where(inside, self.latent.log_density(z) - log_slope, -np.inf)
