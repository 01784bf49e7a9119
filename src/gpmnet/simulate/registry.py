"""The simulators by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpmnet.errors import InputError, quote
from gpmnet.simulate import (
    butterfly,
    copula_chain,
    gaussian,
    nonparanormal,
    null,
    parity,
    product,
    random_graph,
)
from gpmnet.simulate.base import Simulation

CONTINUOUS = ("continuous",)


@dataclass(frozen=True)
class Simulator:
    """A documented function ``draw(d, n, seed, **options)`` and the kinds it offers, default first."""

    draw: Callable[..., Simulation]
    kinds: tuple[str, ...] = CONTINUOUS
    step: int = 1  # d must be a multiple of it

    def __call__(self, d: int, n: int, seed: int = 0, **options: Any) -> Simulation:
        """Draw a sample."""
        return self.draw(d, n, seed, **options)

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return (inspect.getdoc(self.draw) or "").partition("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """The options besides d, n, seed and kind, with their defaults."""
        known = inspect.signature(self.draw).parameters.values()
        return {p.name: p.default for p in known if p.kind is p.KEYWORD_ONLY and p.name != "kind"}


SIMULATORS: dict[str, Simulator] = {
    "butterfly": Simulator(butterfly.butterfly, butterfly.KINDS, step=2),
    "random": Simulator(random_graph.random_graph, random_graph.KINDS),
    "gaussian": Simulator(gaussian.gaussian),
    "nonparanormal": Simulator(nonparanormal.nonparanormal),
    "copula-chain": Simulator(copula_chain.copula_chain),
    "parity": Simulator(parity.parity, parity.KINDS),
    "product": Simulator(product.product, step=3),
    "null": Simulator(null.null, null.KINDS),
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
    simulator = SIMULATORS[name]
    chosen = simulator.kinds[0] if kind is None else kind
    if chosen not in simulator.kinds:
        raise InputError(f"{name}: kind must be one of {', '.join(simulator.kinds)}, got {quote(chosen)}")
    known = simulator.options
    for option in options:
        if option not in known:
            raise InputError(f"{name} has no option {quote(option)}; it has {', '.join(known)}")
    if len(simulator.kinds) > 1:
        options["kind"] = chosen
    return simulator(d, n, seed, **options)
