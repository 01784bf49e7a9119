"""A Markov chain of columns with named, non-Gaussian marginals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpmnet.checks import check_choice
from gpmnet.simulate.base import DTYPES, Simulation, Simulator, float_type, generators
from gpmnet.simulate.gaussian import chain_law, check_rho, with_law
from gpmnet.simulate.maps import MappedLaw

MARGINALS = ("exponential", "laplace", "uniform", "gumbel", "cauchy")


@dataclass(frozen=True)
class CopulaChain(Simulator):
    """Draw ``x_j = F_j^-1(Phi(z_j))``, z the Gaussian chain with correlation rho between neighbors.

    The graph is the chain x1 - x2 - ... - xd. The marginals F take turns over the columns: exponential,
    Laplace, uniform, Gumbel, Cauchy, all in their standard form.

    Parameters
    ----------
    rho : float
        In (-1, 1), not 0.
    dtype : {"float64", "float32"}
        Type of the values.

    References
    ----------
    Joe (2014), Dependence Modeling with Copulas, section 3.14 on Markov chains.

    Examples
    --------
    >>> CopulaChain().draw(d=3, n=10).edges().values.tolist()
    [['x1', 'x2'], ['x2', 'x3']]
    """

    name: ClassVar[str] = "copula-chain"
    rho: float = 0.5
    dtype: str = "float64"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rho(self)
        check_choice(self, "dtype", DTYPES)

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        (for_sample,) = generators(seed, 1)
        law = MappedLaw(chain_law(d, self.rho), MARGINALS)
        values = law.draw(n, for_sample, float_type(self.dtype))
        return with_law(self.name, law, values, self._parameters(d, n, seed, kind, marginals=list(MARGINALS)))
