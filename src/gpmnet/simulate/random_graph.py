"""Laws on random decomposable graphs: nonlinear, discrete and mixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpmnet.simulate.along_dag import AlongDag
from gpmnet.simulate.decomposable import Dag, check_graph_options, perfect_dag


@dataclass(frozen=True)
class RandomGraph(AlongDag):
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
    max_clique: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_graph_options(self)

    def _graph(self, d: int, rng: np.random.Generator) -> Dag:
        return perfect_dag(d, rng, density=self.density, max_clique=self.max_clique)
