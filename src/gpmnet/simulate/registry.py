"""The simulators by name, with their default options."""

from __future__ import annotations

from typing import Any

from gpmnet.errors import InputError, quote
from gpmnet.simulate.base import Simulation, Simulator
from gpmnet.simulate.butterfly import Butterfly
from gpmnet.simulate.confounded import Confounded
from gpmnet.simulate.copula_chain import CopulaChain
from gpmnet.simulate.gaussian import Gaussian
from gpmnet.simulate.gaussian_grid import GaussianGrid
from gpmnet.simulate.ising import Ising
from gpmnet.simulate.nonparanormal import Nonparanormal
from gpmnet.simulate.null import Null
from gpmnet.simulate.parity import Parity
from gpmnet.simulate.product import Product
from gpmnet.simulate.random_dag import RandomDag
from gpmnet.simulate.random_graph import RandomGraph

SIMULATORS: dict[str, Simulator] = {
    simulator.name: simulator
    for simulator in (
        Butterfly(),
        RandomGraph(),
        RandomDag(),
        Gaussian(),
        GaussianGrid(),
        Nonparanormal(),
        CopulaChain(),
        Ising(),
        Parity(),
        Product(),
        Null(),
        Confounded(),
    )
}


def simulate(
    name: str, *, d: int, n: int, seed: int = 0, kind: str | None = None, **options: Any
) -> Simulation:
    """Draw a sample whose true Markov network is known.

    Parameters
    ----------
    name : str
        A key of `SIMULATORS`.
    d, n : int
        Columns and rows.
    seed : int
        The same seed gives the same bytes.
    kind : str, optional
        "continuous", "discrete" or "mixed"; by default the first kind that the simulator offers.
    **options
        What the simulator itself takes; see its documentation.

    Raises
    ------
    InputError
        Where the name, the kind, an option, d, n or the seed cannot be used.

    Examples
    --------
    >>> drawn = simulate("butterfly", d=4, n=100, kind="discrete")
    >>> drawn.values.shape, drawn.kinds[0], drawn.truth.nnz
    ((100, 4), 'discrete', 4)
    """
    if name not in SIMULATORS:
        raise InputError(f"no simulator is called {quote(name)}; there are {', '.join(SIMULATORS)}")
    known = SIMULATORS[name].options
    for option in options:
        if option not in known:
            raise InputError(f"{name} has no option {quote(option)}; it has {', '.join(known)}")
    return SIMULATORS[name].with_params(**options).draw(d, n, seed, kind)
