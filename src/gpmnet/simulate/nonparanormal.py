"""Nonparanormal laws: monotone maps of a Gaussian graphical model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpmnet.simulate.base import Simulation, float_type, generators
from gpmnet.simulate.gaussian import LatentGaussian, with_law
from gpmnet.simulate.maps import MappedLaw

CYCLE = ("exp", "cubic", "uniform", "softplus")


@dataclass(frozen=True)
class Nonparanormal(LatentGaussian):
    """Draw ``x_j = g_j(z_j)`` with z from `gaussian` and g_j strictly increasing.

    The graph is that of z. The maps g take turns over the columns: exp(z) (skewed), z + z^3 (heavy tails),
    Phi(z) (bounded), log(1 + e^z) (one-sided).

    Parameters
    ----------
    structure, strength, rho, density, max_clique, dtype
        As in `Gaussian`.

    References
    ----------
    Liu, Lafferty, Wasserman (2009), The nonparanormal: semiparametric estimation of high dimensional
    undirected graphs.

    Examples
    --------
    >>> drawn = Nonparanormal(structure="chain").draw(d=5, n=10)
    >>> len(drawn.edges()), bool((drawn.values[:, 0] > 0).all())
    (4, True)
    """

    name: ClassVar[str] = "nonparanormal"

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        for_law, for_sample = generators(seed, 2)
        law = MappedLaw(self.law(d, for_law), CYCLE)
        values = law.draw(n, for_sample, float_type(self.dtype))
        return with_law(self.name, law, values, self._parameters(d, n, seed, kind, maps=list(CYCLE)))
