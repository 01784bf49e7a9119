"""A Gaussian field on a square lattice, which comes from no directed graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from gpmnet.checks import check_number
from gpmnet.errors import InputError
from gpmnet.simulate.base import Simulation, Simulator, generators
from gpmnet.simulate.gaussian import NEAR, GaussianLaw, with_law
from gpmnet.simulate.lattice import lattice_edges


@dataclass(frozen=True)
class GaussianGrid(Simulator):
    """Draw from N(0, Q^-1) on a square lattice: Q_ii = 1, Q_ij = -partial beside each other, else 0.

    A cycle of four without a chord has the independences of no directed graph. The lattice is as nearly square as d can be
    divided: 25 variables are 5 x 5. With at most four neighbors, Q is positive definite for every d.

    Parameters
    ----------
    partial : float
        Partial correlation of neighbors, in (-0.25, 0.25), not 0.

    Examples
    --------
    >>> GaussianGrid().draw(d=4, n=10).precision.toarray()[0].tolist()
    [1.0, -0.2, -0.2, 0.0]
    """

    name: ClassVar[str] = "gaussian-grid"
    partial: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "partial", NEAR - 0.25, 0.25 - NEAR)
        if abs(self.partial) < NEAR:
            raise InputError(f"{self.name}: partial must not be 0; got {self.partial}")

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        (rng,) = generators(seed, 1, self.name)
        edges = lattice_edges(d)
        half = coo_array((np.full(len(edges), -self.partial), (edges[:, 0], edges[:, 1])), shape=(d, d))
        law = GaussianLaw(csr_array(half + half.T + eye_array(d)))
        return with_law(self.name, law, law.draw(n, rng, np.float64), self._parameters(d, n, seed, kind))
