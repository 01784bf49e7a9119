"""Random laws along a directed graph: nonlinear, discrete and mixed."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpmnet.checks import check_choice
from gpmnet.errors import InputError
from gpmnet.graphs import moralise
from gpmnet.simulate.andrews import logit_node, regression_node
from gpmnet.simulate.base import (
    ALL_KINDS,
    Simulation,
    Simulator,
    Values,
    column_names,
    generators,
    kinds_of,
)
from gpmnet.simulate.decomposable import Dag
from gpmnet.simulate.directed import DirectedLaw, NodeLaw, directed_law
from gpmnet.simulate.sem import NOISES, network_node
from gpmnet.simulate.tables import table_node


@dataclass(frozen=True)
class AlongDag(Simulator):
    """Draw each variable given its parents in a random directed graph; `RandomGraph` has the equations."""

    kinds: ClassVar[tuple[str, ...]] = ALL_KINDS
    noise: str | None = None
    smooth: bool = False
    naive: bool = False
    density: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is not None:
            check_choice(self, "noise", tuple(NOISES))

    @abstractmethod
    def _graph(self, d: int, rng: np.random.Generator) -> Dag:
        """Draw the graph."""

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        if kind != "continuous" and (self.noise is not None or self.naive):
            raise InputError(f"{self.name}: noise and naive belong to kind continuous, got kind {kind}")
        for_graph, for_law, for_sample = generators(seed, 3)
        dag = self._graph(d, for_graph)
        levels = _levels(kind, d, for_law)
        noise = self.noise or ("gamma" if self.smooth else "exponential")
        if kind == "continuous":
            law = directed_law(
                dag, lambda _node, _at, pilot, rng: network_node(pilot, noise, self.naive, rng), for_law
            )
        else:
            law = _tables_and_regressions(dag, levels, self.smooth, for_law)
        adjacency = dag.adjacency()
        return Simulation(
            name=self.name,
            names=column_names(d),
            values=law.draw(n, for_sample),
            kinds=kinds_of(levels),
            truth=moralise(adjacency),
            parameters=self._parameters(d, n, seed, kind, noise=noise if kind == "continuous" else None),
            levels=tuple(levels.tolist()),
            dag=adjacency,
            log_density=law.log_density,
        )


def _levels(kind: str, d: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw the number of levels of each variable, 0 for continuous ones."""
    if kind == "continuous":
        return np.zeros(d, dtype=np.intp)
    levels = rng.integers(2, 5, d, dtype=np.intp)
    if kind == "discrete":
        return levels
    discrete = rng.random(d) < 0.5
    while discrete.all() or not discrete.any():
        discrete = rng.random(d) < 0.5
    return np.where(discrete, levels, 0)


def _tables_and_regressions(
    dag: Dag, levels: NDArray[np.intp], smooth: bool, rng: np.random.Generator
) -> DirectedLaw:
    bins = rng.integers(2, 6, len(levels), dtype=np.intp)

    def make(node: int, parents: NDArray[np.intp], pilot: Values, rng: np.random.Generator) -> NodeLaw:
        of_parents, cardinality = levels[parents].tolist(), int(levels[node])
        if cardinality == 0:
            return regression_node(of_parents, rng)
        if smooth and 0 in of_parents:
            return logit_node(pilot, of_parents, cardinality, rng)
        return table_node(pilot, of_parents, bins[parents].tolist(), cardinality, rng)

    return directed_law(dag, make, rng)
