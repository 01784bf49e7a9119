"""Nonparanormal laws: monotone maps of a Gaussian graphical model."""

from __future__ import annotations

from gpmnet.simulate.base import Simulation, check_size, column_names, float_type, generators
from gpmnet.simulate.gaussian import gaussian_law
from gpmnet.simulate.maps import MappedLaw

CYCLE = ("exp", "cubic", "uniform", "softplus")


def nonparanormal(
    d: int,
    n: int,
    seed: int = 0,
    *,
    structure: str = "random",
    strength: float = 0.9,
    rho: float = 0.5,
    density: float | None = None,
    max_clique: int | None = None,
    dtype: str = "float64",
) -> Simulation:
    """Draw ``x_j = g_j(z_j)`` with z from `gaussian` and g_j strictly increasing.

    The graph is that of z. The maps g take turns over the columns: exp(z) (skewed), z + z^3 (heavy tails),
    Phi(z) (bounded), log(1 + e^z) (one-sided).

    Parameters
    ----------
    d, n, seed : int
        Columns, rows, seed.
    structure, strength, rho, density, max_clique, dtype
        As in `gaussian`.

    References
    ----------
    Liu, Lafferty, Wasserman (2009), The nonparanormal: semiparametric estimation of high dimensional
    undirected graphs.

    Examples
    --------
    >>> drawn = nonparanormal(d=5, n=10, structure="chain")
    >>> len(drawn.edges()), bool((drawn.values[:, 0] > 0).all())
    (4, True)
    """
    check_size("nonparanormal", d, n, seed)
    float_type("nonparanormal", dtype)
    for_law, for_sample = generators(seed, 2)
    latent = gaussian_law(
        "nonparanormal", d, for_law, structure=structure, strength=strength, rho=rho, density=density,
        max_clique=max_clique,
    )  # fmt: skip
    law = MappedLaw(latent, CYCLE)
    return Simulation(
        name="nonparanormal",
        names=column_names(d),
        values=law.draw(n, for_sample, dtype),
        kinds=("continuous",) * d,
        truth=latent.graph(),
        parameters={
            "kind": "continuous", "d": d, "n": n, "seed": seed, "structure": structure, "strength": strength,
            "rho": rho, "density": density, "max_clique": max_clique, "dtype": dtype, "maps": list(CYCLE),
        },
        levels=(0,) * d,
        precision=latent.precision,
        log_density=law.log_density,
    )  # fmt: skip
