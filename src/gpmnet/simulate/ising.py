"""Spins on a square lattice, which come from no directed graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gpmnet.checks import check_number
from gpmnet.errors import InputError
from gpmnet.graphs import undirected
from gpmnet.simulate.base import Simulation, Simulator, Values, column_names, generators
from gpmnet.simulate.lattice import lattice_edges

MOST = 20
"""Variables: all 2^d states are enumerated, so that draws are exact."""


@dataclass(frozen=True)
class Ising(Simulator):
    """Draw spins s = ±1 on a square lattice, of mass proportional to exp(coupling * sum of s_i s_j over neighbors).

    Codes 0 and 1 stand for -1 and 1. The lattice is as nearly square as d can be divided: 16 variables are 4 x 4. Draws are
    independent and exact, from the table of all states.

    Parameters
    ----------
    coupling : float
        In [-2, 2], not 0; a large lattice orders itself at 0.44.

    Examples
    --------
    >>> Ising().draw(d=4, n=10).edges().values.tolist()
    [['x1', 'x2'], ['x1', 'x3'], ['x2', 'x4'], ['x3', 'x4']]
    """

    name: ClassVar[str] = "ising"
    kinds: ClassVar[tuple[str, ...]] = ("discrete",)
    coupling: float = 0.4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "coupling", -2.0, 2.0)
        if abs(self.coupling) < 1e-6:
            raise InputError(f"{self.name}: coupling must not be 0; got {self.coupling}")

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        if d > MOST:
            raise InputError(
                f"{self.name}: d must be at most {MOST}, since all states are enumerated; got {d}"
            )
        (rng,) = generators(seed, 1, self.name)
        edges = lattice_edges(d)
        states = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
        free = IsingLaw(edges, self.coupling)
        law = IsingLaw(edges, self.coupling, float(logsumexp(free.log_density(states))))
        drawn = rng.choice(len(states), size=n, p=np.exp(law.log_density(states)))
        return Simulation(
            name=self.name,
            names=column_names(d),
            values=states[drawn].astype(np.float64),
            kinds=("discrete",) * d,
            truth=undirected(d, edges[:, 0], edges[:, 1]),
            parameters=self._parameters(d, n, seed, kind),
            levels=(2,) * d,
            log_density=law.log_density,
        )


@dataclass(frozen=True, eq=False)
class IsingLaw:
    """The mass of states: edges (m, 2), their coupling, and the log of the sum over all states."""

    edges: NDArray[np.intp]
    coupling: float
    log_total: float = 0.0

    def log_density(self, codes: Values) -> NDArray[np.float64]:
        """Return the log mass of codes 0 and 1, (m, d) -> (m,)."""
        spins = 2.0 * codes - 1.0
        found = np.zeros(len(spins))
        for a, b in self.edges.tolist():
            found += spins[:, a] * spins[:, b]
        return self.coupling * found - self.log_total
