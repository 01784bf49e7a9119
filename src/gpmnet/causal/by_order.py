"""Best order score search inside a Markov network."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpmnet.causal.constraint import Discovery, inside, known_of
from gpmnet.directed.build import ScoreOptions, build_score
from gpmnet.directed.knowledge import Knowledge
from gpmnet.directed.meek import BoolMatrix
from gpmnet.directed.order import OrderSearch, Watch
from gpmnet.directed.score import FamilyScore, Floats, Ints, Parents
from gpmnet.network import MarkovNetwork
from gpmnet.progress import Progress, silent
from gpmnet.table import load_table


def boss(
    data: Any,
    network: MarkovNetwork | None = None,
    *,
    score: ScoreOptions | FamilyScore | None = None,
    knowledge: Knowledge | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Discovery:
    """Return the class of directed graphs that the search over orders finds inside a Markov network.

    Every variable in turn moves to the place in an order where the total score is best, with parents among its
    neighbors in the network that come before it. In an order that is not that of the true graph, though, variables two steps
    apart can need an arrow between them, and without it the moves to a better order do not pay. So the order is first
    searched with parents up to two steps away, and then, from there, with neighbors only.

    Parameters
    ----------
    data : table or path
        What the network was learned from.
    network : MarkovNetwork, optional
        Without one, every other variable may be a parent.
    score : ScoreOptions or FamilyScore, optional
        Settings of the score of the dag engine, for any kinds of columns; or a score over the variables of the table.
    knowledge : Knowledge, optional
    seed : int
        Of the orders from which the search begins, but for the first, that of the columns.

    References
    ----------
    Andrews, Ramsey, Sanchez Romero, Camchong, Kummerfeld, "Fast scalable and accurate discovery of DAGs using the best
    order score search and grow-shrink trees", NeurIPS 2023.
    """
    table = load_table(data)
    known = known_of(knowledge, table.names)
    start = None if network is None else inside(network, table.names)
    if not isinstance(score, FamilyScore):
        score = build_score(table.encode(), score or ScoreOptions())
    return search(score, start, known, seed, progress)


def search(
    score: FamilyScore,
    allowed: BoolMatrix | None,
    known: Knowledge,
    seed: int = 0,
    progress: Progress = silent,
) -> Discovery:
    """Return what the search finds with any score; `allowed` (d, d) is the network, None for no restriction."""
    counted = _Counted(score)
    if allowed is None:
        found = OrderSearch(counted, known)(seed, progress=progress)
    else:
        near = allowed.astype(np.int64)
        wide = OrderSearch(counted, known, _rows((near + near @ near) > 0))(seed, progress=progress)
        found = OrderSearch(counted, known, _rows(allowed)).improve(list(wide.order), Watch(progress))
    return Discovery(found.graph_class(known.names, known), len(counted.asked))


def _rows(matrix: BoolMatrix) -> list[Ints]:
    return [np.flatnonzero(row) for row in matrix]


class _Counted(FamilyScore):
    """A score that knows which families it was asked for."""

    def __init__(self, score: FamilyScore) -> None:
        self.d = score.d
        self.asked: set[tuple[int, Parents]] = set()
        self._score = score

    def score(self, child: int, parents: Parents) -> float:
        self.asked.add((child, parents))
        return self._score.score(child, parents)

    def gains(self, child: int, parents: Parents, candidates: Ints) -> Floats:
        return self._score.gains(child, parents, candidates)

    def spare(self, child: int, parents: Parents) -> Parents:
        return self._score.spare(child, parents)
