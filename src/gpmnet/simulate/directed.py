"""A law that factorises along a directed graph: one conditional law per node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpmnet.simulate.base import Values
from gpmnet.simulate.decomposable import Dag

PILOT = 2000  # rows of the throw-away sample from which centres, scales and bin edges are taken


class NodeLaw(Protocol):
    """The conditional law of one node given its parents."""

    def draw(self, parents: Values, rng: np.random.Generator) -> Values:
        """Draw one value for each row of parents, (n, k) -> (n,)."""

    def log_density(self, values: Values, parents: Values) -> Values:
        """Return log p(value | parents) row by row, (n,), (n, k) -> (n,)."""


NodeMaker = Callable[[int, NDArray[np.intp], Values, np.random.Generator], NodeLaw]


@dataclass(frozen=True)
class DirectedLaw:
    """The product of the node laws."""

    dag: Dag
    nodes: tuple[NodeLaw, ...]

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw n independent rows, parents first."""
        values = np.empty((n, len(self.nodes)), order="F")
        for node in self.dag.order:
            values[:, node] = self.nodes[node].draw(values[:, self.dag.parents[node]], rng)
        return np.ascontiguousarray(values)

    def log_density(self, values: Values) -> NDArray[np.float64]:
        """Return the log of the joint density, (n, d) -> (n,)."""
        total = np.zeros(len(values))
        for node, law in enumerate(self.nodes):
            total += law.log_density(values[:, node], values[:, self.dag.parents[node]])
        return total


def directed_law(dag: Dag, make: NodeMaker, rng: np.random.Generator) -> DirectedLaw:
    """Make the node laws in topological order, showing each the values its parents take in a pilot sample.

    Whatever a node law takes from data (the mean and scale of its inputs, the edges of bins) it takes from
    the pilot sample and never from the sample that is returned. So the rows are independent, the law of
    a seed is the same for every n, and the joint density is known exactly.
    """
    pilot = np.empty((PILOT, len(dag.parents)), order="F")
    nodes: dict[int, NodeLaw] = {}
    for node in dag.order.tolist():
        parents = dag.parents[node]
        nodes[node] = make(node, parents, pilot[:, parents], rng)
        pilot[:, node] = nodes[node].draw(pilot[:, parents], rng)
    return DirectedLaw(dag, tuple(nodes[node] for node in range(len(nodes))))
