"""Laws on random directed graphs, colliders included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpmnet.checks import check_number
from gpmnet.errors import InputError
from gpmnet.simulate.along_dag import AlongDag
from gpmnet.simulate.decomposable import MEAN_DEGREE, MOST_DENSE, Dag


@dataclass(frozen=True)
class RandomDag(AlongDag):
    """Draw from a random law on a random directed graph.

    Arrows are drawn one by one, uniformly among the pairs of a random order whose later end has a place for a parent
    left. So most parents of a variable are not adjacent, and the Markov network, which is the moral graph, has edges
    between them besides the arrows. The laws of variables given their parents are those of `RandomGraph`.

    Parameters
    ----------
    noise, smooth, naive
        As in `RandomGraph`.
    density : float, optional
        Share of the pairs that are joined by an arrow; by default a mean degree of 2.7 (27 arrows at d = 20), but at
        most half of the pairs.
    max_parents : int
        Most parents of a variable.

    Examples
    --------
    >>> drawn = RandomDag().draw(d=20, n=50, seed=3)
    >>> int(drawn.dag.sum()), len(drawn.edges())
    (27, 44)
    """

    name: ClassVar[str] = "dag"
    max_parents: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.density is not None:
            check_number(self, "density", 0, 1)
        check_number(self, "max_parents", 1, integer=True)

    def _graph(self, d: int, rng: np.random.Generator) -> Dag:
        share = min(MOST_DENSE, MEAN_DEGREE / (d - 1)) if self.density is None else self.density
        wanted = round(share * d * (d - 1) / 2)
        places = np.minimum(np.arange(d), self.max_parents)
        if wanted > places.sum():
            raise InputError(
                f"dag: {wanted} arrows on {d} variables (density {share:g}) need more than {self.max_parents} "
                "parents; lower density or raise max_parents"
            )
        arrows = np.zeros((d, d), dtype=bool)
        first, second = np.triu_indices(d, 1)
        for at in rng.permutation(len(first)):
            if wanted and places[second[at]]:
                arrows[first[at], second[at]] = True
                places[second[at]] -= 1
                wanted -= 1
        label = rng.permutation(d)
        parents = [np.empty(0, dtype=np.intp)] * d
        for node in range(d):
            parents[label[node]] = np.sort(label[np.flatnonzero(arrows[:, node])])
        return Dag(label, tuple(parents))
