"""`MarkovNetwork`: the result. Names, edges, and what each edge rests on; never changed once made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse

from gpmnet.errors import InputError, quote, quote_all

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

DENSE_UP_TO = 5000
"""Matrices over the variables are dense arrays up to this many variables, scipy.sparse above."""

STATISTICS = ("omega", "strength", "sign", "p_value", "q_value")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of variables (first < second) with their statistics, each an array of shape (m,).

    Attributes
    ----------
    first, second : ndarray of int
        Positions of the two variables.
    is_edge : ndarray of bool
        Whether the pair is an edge; the others came close and are kept so that a reader can move the level.
    omega, strength, sign, p_value, q_value : ndarray of float
        NaN where a method has no such figure; sign is -1, 0 (no single sign) or 1.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    is_edge: NDArray[np.bool_]
    omega: NDArray[np.float64]
    strength: NDArray[np.float64]
    sign: NDArray[np.float64]
    p_value: NDArray[np.float64]
    q_value: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not np.all(self.first < self.second):
            raise InputError("a pair must name its earlier variable first")
        for name in self.__dataclass_fields__:
            view = np.asarray(getattr(self, name)).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @classmethod
    def of(
        cls, first: ArrayLike, second: ArrayLike, is_edge: ArrayLike | None = None, **statistics: ArrayLike
    ) -> Pairs:
        """Return pairs with the given statistics; the others are NaN."""
        first, second = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
        edge = np.ones(len(first), dtype=bool) if is_edge is None else np.asarray(is_edge, dtype=bool)
        values = {name: np.full(len(first), np.nan) for name in STATISTICS}
        values |= {name: np.asarray(value, dtype=np.float64) for name, value in statistics.items()}
        return cls(first, second, edge, **values)

    def take(self, rows: NDArray[Any]) -> Pairs:
        """Return some of the pairs."""
        return replace(self, **{name: getattr(self, name)[rows] for name in self.__dataclass_fields__})

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class MarkovNetwork:
    """An undirected graph over named variables; a missing edge means independence given all others.

    Attributes
    ----------
    names : tuple of str
    pairs : Pairs
        The edges, and the pairs that came close.
    kinds : tuple of str
        Kind of each variable; empty where the method does not know.
    n_rows : int or None
        Number of rows the network rests on.
    fdr : float or None
        False-discovery rate at which the edges were chosen, where that is how.

    Examples
    --------
    >>> net = MarkovNetwork.from_adjacency(("a", "b", "c"), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> net.neighbors("b")
    ('a', 'c')
    >>> net.separates("a", "c", given=["b"])
    True
    """

    names: tuple[str, ...]
    pairs: Pairs
    kinds: tuple[str, ...] = ()
    n_rows: int | None = None
    fdr: float | None = None

    @classmethod
    def from_adjacency(
        cls, names: Sequence[str], adjacency: Any, weights: Any | None = None, **attributes: Any
    ) -> MarkovNetwork:
        """Return the network of a symmetric (d, d) adjacency matrix, dense or sparse.

        Parameters
        ----------
        weights : (d, d) matrix, optional
            Evidence for each pair, larger is stronger; becomes `omega` of the edges.
        """
        given: Any = adjacency if issparse(adjacency) else np.asarray(adjacency, dtype=bool)
        matrix: Any = coo_array(given)
        if matrix.shape != (len(names), len(names)):
            raise InputError(f"the adjacency matrix has shape {matrix.shape} for {len(names)} names")
        if (matrix != matrix.T).nnz or matrix.diagonal().any():
            raise InputError("an adjacency matrix must be symmetric with an empty diagonal")
        upper = (matrix.row < matrix.col) & (matrix.data != 0)
        first, second = matrix.row[upper], matrix.col[upper]
        order = np.lexsort((second, first))
        pairs = Pairs.of(first[order], second[order])
        if weights is not None:
            found = np.asarray(weights[pairs.first, pairs.second], dtype=np.float64).ravel()
            pairs = replace(pairs, omega=found)
        return cls(tuple(names), pairs, **attributes)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(self.pairs.is_edge))

    @cached_property
    def adjacency(self) -> Any:
        """The (d, d) symmetric bool matrix; scipy.sparse above `DENSE_UP_TO` variables."""
        return self._matrix(self._edges, np.ones(self.n_edges, dtype=bool))

    @cached_property
    def _edges(self) -> Pairs:
        return self.pairs.take(np.flatnonzero(self.pairs.is_edge))

    def _matrix(self, pairs: Pairs, values: NDArray[Any]) -> Any:
        d = len(self.names)
        matrix = csr_array(
            (
                np.concatenate([values, values]),
                (np.concatenate([pairs.first, pairs.second]), np.concatenate([pairs.second, pairs.first])),
            ),
            shape=(d, d),
        )
        return matrix.toarray() if d <= DENSE_UP_TO else matrix

    @property
    def edges(self) -> pd.DataFrame:
        """The edges by name with omega, strength, sign, p_value and q_value, most certain first."""
        return self._frame(self._edges)

    @property
    def candidates(self) -> pd.DataFrame:
        """The edges and the pairs that came close, most certain first, with a column `is_edge`."""
        return self._frame(self.pairs).assign(is_edge=self.pairs.is_edge[self._order(self.pairs)])

    def _frame(self, pairs: Pairs) -> pd.DataFrame:
        import pandas as pd

        names = np.array(self.names, dtype=object)
        pairs = pairs.take(self._order(pairs))
        columns: dict[str, Any] = {"source": names[pairs.first], "target": names[pairs.second]}
        columns |= {name: getattr(pairs, name) for name in STATISTICS}
        return pd.DataFrame(columns)

    @staticmethod
    def _order(pairs: Pairs) -> NDArray[np.intp]:
        return np.lexsort((pairs.second, pairs.first, -pairs.strength, pairs.p_value))

    def _at(self, name: str) -> int:
        if name not in self._position:
            raise InputError(f"no variable {quote(name)}; the variables are {quote_all(self.names)}")
        return self._position[name]

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    @cached_property
    def _neighbour_lists(self) -> list[list[int]]:
        lists: list[list[int]] = [[] for _ in self.names]
        for a, b in zip(self._edges.first.tolist(), self._edges.second.tolist(), strict=True):
            lists[a].append(b)
            lists[b].append(a)
        return lists

    def neighbors(self, name: str) -> tuple[str, ...]:
        """Return the neighbours of a variable, which are its Markov blanket, in the order of the names."""
        return tuple(self.names[at] for at in sorted(self._neighbour_lists[self._at(name)]))

    def separates(self, a: str, b: str, given: Iterable[str] = ()) -> bool:
        """Whether every path between two variables passes through the given ones."""
        start, goal = self._at(a), self._at(b)
        closed = {self._at(name) for name in ([given] if isinstance(given, str) else given)}
        if start == goal or start in closed or goal in closed:
            raise InputError("separates needs two different variables that are not among the given ones")
        seen, frontier = {start}, [start]
        while frontier:
            for neighbour in self._neighbour_lists[frontier.pop()]:
                if neighbour == goal:
                    return False
                if neighbour not in seen and neighbour not in closed:
                    seen.add(neighbour)
                    frontier.append(neighbour)
        return True

    def to_networkx(self) -> nx.Graph[str]:
        """Return a networkx graph whose edges carry the statistics that are known."""
        import networkx as nx

        graph: nx.Graph[str] = nx.Graph()
        for at, name in enumerate(self.names):
            graph.add_node(name, **({"kind": self.kinds[at]} if self.kinds else {}))
        for row in self.edges.itertuples(index=False):
            known = {name: float(getattr(row, name)) for name in STATISTICS}
            graph.add_edge(
                str(row.source), str(row.target), **{k: v for k, v in known.items() if not np.isnan(v)}
            )
        return graph

    def save(self, folder: str | Path) -> None:
        """Save to a folder as `network.json` and `omega.safetensors`; `MarkovNetwork.load` reads them back."""
        from gpmnet.network.store import save_network

        save_network(self, folder)

    @staticmethod
    def load(folder: str | Path) -> MarkovNetwork:
        """Return a saved network."""
        from gpmnet.network.store import load_network

        return load_network(folder)

    def __repr__(self) -> str:
        level = f" at FDR {self.fdr:g}" if self.fdr is not None else ""
        rows = f", {self.n_rows:,} rows" if self.n_rows is not None else ""
        return f"MarkovNetwork({len(self.names):,} variables{rows}, {self.n_edges:,} edges{level})"
