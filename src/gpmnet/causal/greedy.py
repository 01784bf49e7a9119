"""Greedy equivalence search, restricted to a Markov network as far as that is safe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gpmnet.causal.constraint import Discovery, arrows_of, inside
from gpmnet.causal.generalised_score import GeneralisedScore
from gpmnet.causal.orient import agreeing
from gpmnet.causal.scores import Cached, GaussianScore, LocalScore
from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.knowledge import Knowledge
from gpmnet.directed.meek import BoolMatrix, MixedGraph, close, colliders, extension, with_colliders
from gpmnet.errors import InputError, quote
from gpmnet.network import MarkovNetwork
from gpmnet.progress import Progress, silent
from gpmnet.table import Table, load_table

SCORES = ("gaussian", "generalised")
MOST_ROWS = 5000
"""Of a table for the generalised score, which holds matrices of rows by rows."""
_LEAST_GAIN = 1e-9  # gains below this are rounding


def ges(
    data: Any,
    network: MarkovNetwork | None = None,
    *,
    score: str | LocalScore | None = None,
    knowledge: Knowledge | None = None,
    progress: Progress = silent,
) -> Discovery:
    """Return the class of directed graphs that greedy equivalence search finds inside a Markov network.

    Edges are added one by one, then taken away, each time the one that improves the score most. Inside a network an edge
    may be added if the network has it, or if it joins a and b of a collider a -> c <- b of the present graph: without the
    second, a collider that came too early could never be mended, and the search would be wrong with any number of
    rows (ARGES).

    Parameters
    ----------
    data : table or path
        What the network was learned from.
    network : MarkovNetwork, optional
        Without one, every edge may be added.
    score : {"gaussian", "generalised"} or callable, optional
        `GaussianScore` of the normal scores; `GeneralisedScore`, for any kinds of columns, cubic in the number of rows; or
        a `LocalScore` over the variables of the table. Unless given, the generalised one if a column holds categories, else
        the Gaussian one.
    knowledge : Knowledge, optional

    References
    ----------
    Chickering, "Optimal structure identification with greedy search", JMLR 3 (2002); Nandy, Hauser, Maathuis,
    "High-dimensional consistency in score-based and hybrid structure learning", Annals of Statistics 46 (2018).
    """
    table = load_table(data)
    known = arrows_of(knowledge, table.names)
    start = None if network is None else inside(network, table.names)
    return search(_score(score, table), table.names, start, known, progress)


def _score(score: str | LocalScore | None, table: Table) -> LocalScore:
    if callable(score):
        return score
    if score is None:
        score = "generalised" if table.is_discrete.any() else "gaussian"
    if score == "gaussian":
        return GaussianScore.of(table)
    if score == "generalised":
        if table.n_rows > MOST_ROWS:
            raise InputError(
                f"the generalised score takes time cubic in the rows: {table.n_rows:,} are more than {MOST_ROWS:,}; use PC, "
                "or a part of the rows"
            )
        values = table.values()
        return GeneralisedScore((values - values.mean(axis=0)) / values.std(axis=0))
    raise InputError(f"score={quote(score)} is not one of {', '.join(SCORES)}, nor a callable")


def search(
    score: LocalScore,
    names: tuple[str, ...],
    allowed: BoolMatrix | None,
    known: Knowledge,
    progress: Progress = silent,
) -> Discovery:
    """Return what the search finds with any score; `allowed` (d, d) is the network, None for no restriction."""
    state = _State(Cached(score), allowed, known)
    phases = (state.insertions, state.deletions)
    n_steps = 0
    changed = True
    ended: set[bytes] = set()
    # Phases again: on data, what the second took away can make room for the first. A score that is not the same for
    # all members of a class, as the generalised one, can lead in a circle, and then the search ends.
    while changed and state.key() not in ended:
        ended.add(state.key())
        changed = False
        for number, phase in enumerate(phases):
            while state.take_best(phase()):
                changed = changed or number > 0
                n_steps += 1
                progress("search", n_steps, 0)  # how many will help is not known
    progress("search", n_steps, n_steps)
    certain = known.arrows(state.dag | state.dag.T)
    return Discovery(CPDAG.from_dag(state.dag, names, certain), len(state.score.known))


@dataclass(frozen=True)
class _Move:
    """An edge between x and y that is added or taken away, with y's neighbors that it turns."""

    gain: float
    x: int
    y: int
    turned: tuple[int, ...]
    base: frozenset[int]
    adds: bool


class _State:
    """The present class of graphs, one of its members, and the moves from it."""

    def __init__(self, score: Cached, allowed: BoolMatrix | None, known: Knowledge) -> None:
        d = len(known.required)
        self.score = score
        self.known = known
        self.allowed = np.ones((d, d), dtype=bool) if allowed is None else allowed
        self._become(known.required.copy())

    def _become(self, dag: BoolMatrix) -> None:
        self.dag = dag
        self.graph = MixedGraph(*close(*with_colliders(dag | dag.T, colliders(dag))))

    def key(self) -> bytes:
        """Return what tells the present class from others."""
        return b"".join(matrix.tobytes() for matrix in self.graph.matrices())

    def take_best(self, moves: Iterator[_Move]) -> bool:
        """Make the best move that is valid, and return whether there was one."""
        better = sorted(
            (move for move in moves if move.gain > _LEAST_GAIN), key=lambda m: (-m.gain, m.x, m.y, m.turned)
        )
        for move in better:
            if move.adds and not _blocks(self.graph, move.y, move.x, move.base):
                continue
            dag = _moved(self.graph, move)
            dag = None if dag is None else agreeing(dag, self.known)
            if dag is not None:
                self._become(dag)
                return True
        return False

    def insertions(self) -> Iterator[_Move]:
        """Yield every edge that may be added; whether paths allow it is left to `take_best`."""
        graph, d = self.graph, self.graph.d
        shields = np.zeros((d, d), dtype=bool)
        for a, _, b in colliders(self.dag):
            shields[a, b] = shields[b, a] = True
        may = (self.allowed | shields) & ~self.known.no_edge
        for x, y in np.argwhere(may & ~self.known.forbidden).tolist():
            if x == y or graph.are_adjacent(x, y):
                continue
            common = graph.siblings[y] & graph.adjacent(x)
            if not _is_clique(graph, common):
                continue
            others = sorted(graph.siblings[y] - graph.adjacent(x))
            for turned in _cliques(graph, common, others):
                base = common | set(turned)
                parents = base | graph.parents[y]
                gain = self.score(y, parents | {x}) - self.score(y, parents)
                yield _Move(gain, x, y, turned, frozenset(base), True)

    def deletions(self) -> Iterator[_Move]:
        """Yield every edge that may be taken away."""
        graph = self.graph
        fixed = self.known.edges
        for y in range(graph.d):
            for x in sorted(graph.parents[y] | graph.siblings[y]):
                if fixed[x, y]:
                    continue
                common = sorted(graph.siblings[y] & graph.adjacent(x))
                for size in range(len(common) + 1):
                    for turned in combinations(common, size):
                        kept = set(common) - set(turned)
                        if not _is_clique(graph, kept):
                            continue
                        parents = (kept | graph.parents[y]) - {x}
                        gain = self.score(y, parents) - self.score(y, parents | {x})
                        yield _Move(gain, x, y, turned, frozenset(kept), False)


def _moved(graph: MixedGraph, move: _Move) -> BoolMatrix | None:
    """Return a directed graph of the class after a move; None where there is none."""
    directed, undirected = graph.matrices()
    x, y = move.x, move.y
    directed[x, y], undirected[x, y], undirected[y, x] = move.adds, False, False
    for node in move.turned:
        ends = [(node, y)] if move.adds else [(y, node), *([(x, node)] if undirected[x, node] else [])]
        for a, b in ends:
            directed[a, b], undirected[a, b], undirected[b, a] = True, False, False
    return extension(directed, undirected)


def _is_clique(graph: MixedGraph, nodes: set[int]) -> bool:
    return all(graph.are_adjacent(a, b) for a, b in combinations(nodes, 2))


def _cliques(graph: MixedGraph, inside: set[int], others: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the subsets of `others` that are a clique together with `inside`."""
    todo: list[tuple[tuple[int, ...], int]] = [((), 0)]
    while todo:
        chosen, start = todo.pop()
        yield chosen
        todo += [
            ((*chosen, others[at]), at + 1)
            for at in range(start, len(others))
            if all(graph.are_adjacent(others[at], node) for node in (*inside, *chosen))
        ]


def _blocks(graph: MixedGraph, start: int, goal: int, closed: frozenset[int]) -> bool:
    """Return whether every path from start to goal without an arrow against it meets a closed node."""
    seen, todo = {start}, [start]
    while todo:
        node = todo.pop()
        for after in graph.children[node] | graph.siblings[node]:
            if after == goal:
                return False
            if after not in seen and after not in closed:
                seen.add(after)
                todo.append(after)
    return True
