"""Laws on random decomposable graphs: nonlinear, discrete and mixed."""

from __future__ import annotations

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
from gpmnet.simulate.decomposable import PerfectDag, check_graph_options, perfect_dag
from gpmnet.simulate.directed import DirectedLaw, NodeLaw, directed_law
from gpmnet.simulate.sem import NOISES, network_node
from gpmnet.simulate.tables import table_node


@dataclass(frozen=True)
class RandomGraph(Simulator):
    """Draw from a random law on a random decomposable graph.

    The graph is drawn as a perfect directed graph (`gpmnet.simulate.decomposable.perfect_dag`); since parents are
    pairwise adjacent, its moral graph is its skeleton. Each variable is then drawn given its parents:

    - *continuous*: ``x = s(x_pa) + e``. The signal s is a network of 100 sigmoid units with all weights
      ±U(0.5, 2); its inputs are standardised and its output scaled to standard deviation 2; the noise e has
      standard deviation 1 and is exponential (as published), gaussian, or gamma with shape 5 (positive and
      smooth; what ``smooth=True`` chooses). With ``naive=True`` nothing is standardised: raw inputs drive the
      sigmoids into saturation, so that the functions turn into steps and plateaus and edges nearly vanish.
    - *discrete*: 2 to 4 levels, with equal probability; every row of P(x | x_pa) is uniform on the simplex,
      drawn again while some parent has less than 0.05 nats of information about x given the others (and, for
      a variable without parents, while some level has a probability below 0.1).
    - *mixed*: each variable is continuous or discrete with probability 1/2 (both types always occur).
      A continuous one is ``x = m_c + sum_j b_cj x_j + s_c e`` over its continuous parents, e ~ N(0, 1), with
      m ~ U(-1, 1), b ~ ±U(0.05, 1.5), s ~ U(1, 3) drawn anew for every configuration c of its discrete
      parents. A discrete one has 2 to 4 levels and a random table as above, in which a continuous parent
      counts by its bin: 2 to 5 bins of equal frequency, chosen per variable. With ``smooth=True`` there is no
      binning: a discrete variable with continuous parents is a multinomial logit in these, standardised, with
      intercepts N(0, 1) and slopes ±U(0.5, 2), drawn anew for every configuration.

    Means, scales and bin edges come from a pilot sample of 2000 rows that is then thrown away, so that rows
    are independent and the law depends on the seed alone, not on n.

    Parameters
    ----------
    noise : {"exponential", "gaussian", "gamma"}, optional
        Noise of the continuous law.
    smooth : bool
        The law whose log density has square integrable derivatives (the discrete one always is positive).
    naive : bool
        The continuous law without standardisation.
    density : float, optional
        Share of the pairs that are edges; by default a mean degree of 2.7 (27 edges at d = 20), but at most
        half of the pairs.
    max_clique : int, optional
        Largest clique; 4 by default.

    References
    ----------
    Zheng, Ng, Fan, Zhang (2023), Generalized precision matrix for scalable estimation of nonparametric Markov
    networks. Andrews, Ramsey, Cooper (2018), Scoring Bayesian networks of mixed variables.

    Examples
    --------
    >>> drawn = RandomGraph().draw(d=20, n=50, seed=3, kind="mixed")
    >>> len(drawn.edges()), sorted(set(drawn.kinds))
    (27, ['continuous', 'discrete'])
    """

    name: ClassVar[str] = "random"
    kinds: ClassVar[tuple[str, ...]] = ALL_KINDS
    noise: str | None = None
    smooth: bool = False
    naive: bool = False
    density: float | None = None
    max_clique: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is not None:
            check_choice(self, "noise", tuple(NOISES))
        check_graph_options(self)

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        if kind != "continuous" and (self.noise is not None or self.naive):
            raise InputError(f"random: noise and naive belong to kind continuous, got kind {kind}")
        for_graph, for_law, for_sample = generators(seed, 3)
        dag = perfect_dag(d, for_graph, density=self.density, max_clique=self.max_clique)
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
    dag: PerfectDag, levels: NDArray[np.intp], smooth: bool, rng: np.random.Generator
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
