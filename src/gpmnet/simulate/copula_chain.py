"""A Markov chain of columns with named, non-Gaussian marginals."""

from __future__ import annotations

from gpmnet.simulate.base import Simulation, check_size, column_names, float_type, generators
from gpmnet.simulate.gaussian import chain_law
from gpmnet.simulate.maps import MappedLaw

MARGINALS = ("exponential", "laplace", "uniform", "gumbel", "cauchy")


def copula_chain(d: int, n: int, seed: int = 0, *, rho: float = 0.5, dtype: str = "float64") -> Simulation:
    """Draw ``x_j = F_j^-1(Phi(z_j))``, z the Gaussian chain with correlation rho between neighbors.

    The graph is the chain x1 - x2 - ... - xd. The marginals F take turns over the columns: exponential,
    Laplace, uniform, Gumbel, Cauchy, all in their standard form.

    Parameters
    ----------
    d, n, seed : int
        Columns, rows, seed.
    rho : float
        In (-1, 1), not 0.
    dtype : {"float64", "float32"}
        Type of the values.

    References
    ----------
    Joe (2014), Dependence Modeling with Copulas, section 3.14 on Markov chains.

    Examples
    --------
    >>> copula_chain(d=3, n=10).edges().values.tolist()
    [['x1', 'x2'], ['x2', 'x3']]
    """
    check_size("copula-chain", d, n, seed)
    float_type("copula-chain", dtype)
    (for_sample,) = generators(seed, 1)
    law = MappedLaw(chain_law("copula-chain", d, rho), MARGINALS)
    return Simulation(
        name="copula-chain",
        names=column_names(d),
        values=law.draw(n, for_sample, dtype),
        kinds=("continuous",) * d,
        truth=law.latent.graph(),
        parameters={
            "kind": "continuous", "d": d, "n": n, "seed": seed, "rho": rho, "dtype": dtype,
            "marginals": list(MARGINALS),
        },
        levels=(0,) * d,
        precision=law.latent.precision,
        log_density=law.log_density,
    )  # fmt: skip
