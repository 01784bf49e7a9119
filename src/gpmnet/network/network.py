"""`MarkovNetwork`: the result. Names, edges, and what each edge rests on; never changed once made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from gpmnet.directed.directions import Directions
from gpmnet.errors import InputError, quote, quote_all
from gpmnet.frozen import Frozen, locked
from gpmnet.network import queries
from gpmnet.network.facts import Facts
from gpmnet.network.joint import JointFinding, check_groups, merged, warn_blanket, warn_separation
from gpmnet.network.matrix import square_matrix, symmetric_matrix
from gpmnet.network.pairs import Pairs
from gpmnet.network.resampling import Resampling
from gpmnet.network.shapes import Shapes
from gpmnet.network.text import at_cutoff, counted
from gpmnet.selection import Cutoff

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

    from gpmnet.network.compare import Comparison
    from gpmnet.network.explain import Explanation


@dataclass(frozen=True, eq=False)
class MarkovNetwork(Frozen):
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
    cutoff : Cutoff or None
        Up to which q- or p-value pairs are edges, where that is how they were chosen.
    shapes : Shapes or None
        The form of the dependence of the pairs for which it was estimated.
    facts : Facts
        Where the network comes from: schema, settings, seed, versions, warnings.
    groups : tuple of tuple of str
        Variables that nearly determine each other, so that given the rest they hide each other's edges.
    joint_findings : tuple of JointFinding
        Variables that depend on such a group, though on no single member of it.
    directions : Directions or None
        The class of the directed graph behind the edges, if a search over such graphs found them.
    resampling : Resampling or None
        Of the half-samples behind the stability of the edges, if any were drawn.

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
    cutoff: Cutoff | None = None
    shapes: Shapes | None = None
    facts: Facts = field(default_factory=Facts)
    groups: tuple[tuple[str, ...], ...] = ()
    joint_findings: tuple[JointFinding, ...] = ()
    directions: Directions | None = None
    resampling: Resampling | None = None

    def __post_init__(self) -> None:
        for name in ("names", "kinds", "joint_findings"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "groups", tuple(map(tuple, self.groups)))
        check_groups(self.groups, self.joint_findings)
        if len(set(self.names)) < len(self.names):
            raise InputError("the names of a network's variables must differ")
        if self.kinds and len(self.kinds) != len(self.names):
            raise InputError(f"{len(self.kinds)} kinds were given for {len(self.names)} names")
        if len(self.pairs) and not (
            self.pairs.first.min() >= 0 and self.pairs.second.max() < len(self.names)
        ):
            raise InputError("a pair names a variable that the network does not have")
        if self.shapes is not None:
            self.shapes.check(self.pairs.first, self.pairs.second)

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
        matrix: Any = coo_array(square_matrix(adjacency, "the adjacency matrix", len(names), bool))
        if (matrix != matrix.T).nnz or matrix.diagonal().any():
            raise InputError("an adjacency matrix must be symmetric with an empty diagonal")
        upper = (matrix.row < matrix.col) & (matrix.data != 0)
        first, second = matrix.row[upper], matrix.col[upper]
        order = np.lexsort((second, first))
        pairs = Pairs.of(first[order], second[order])
        if weights is not None:
            given = square_matrix(weights, "the matrix of weights", len(names), float)
            found = np.asarray(given[pairs.first, pairs.second], dtype=np.float64).ravel()
            pairs = replace(pairs, omega=found)
        return cls(tuple(names), pairs, **attributes)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(self.pairs.is_edge))

    @property
    def fdr(self) -> float | None:
        """False-discovery rate at which the edges were chosen; None where they were chosen another way."""
        return self.cutoff.value if self.cutoff is not None and self.cutoff.of == "q" else None

    @property
    def adjacency(self) -> NDArray[np.bool_] | csr_array[np.bool_]:
        """The (d, d) symmetric bool matrix, read-only; scipy.sparse above `gpmnet.network.DENSE_UP_TO` variables."""
        # A sparse matrix itself cannot be locked, so every caller has one of his own around its arrays.
        return self._adjacency if isinstance(self._adjacency, np.ndarray) else csr_array(self._adjacency)

    @cached_property
    def _adjacency(self) -> NDArray[np.bool_] | csr_array[np.bool_]:
        matrix = symmetric_matrix(self._edges, np.ones(self.n_edges, dtype=bool), len(self.names))
        if isinstance(matrix, np.ndarray):
            return locked(matrix)
        parts = locked(matrix.data), locked(matrix.indices), locked(matrix.indptr)
        return csr_array(parts, shape=matrix.shape)

    @cached_property
    def _edges(self) -> Pairs:
        return self.pairs.take(np.flatnonzero(self.pairs.is_edge))

    @property
    def edges(self) -> pd.DataFrame:
        """The edges by name with their statistics, most certain first; with stability and directions where there are any."""
        return self._frame(self._edges)

    @property
    def candidates(self) -> pd.DataFrame:
        """The edges and the pairs that came close, most certain first, with `is_edge`."""
        return self._frame(self.pairs).assign(is_edge=self.pairs.is_edge[self.pairs.order()])

    def edges_of(self, name: str) -> pd.DataFrame:
        """Return the edges of one variable, most certain first."""
        its = (np.stack([self._edges.first, self._edges.second]) == self.position(name)).any(axis=0)
        return self._frame(self._edges.take(np.flatnonzero(its)))

    def _frame(self, pairs: Pairs) -> pd.DataFrame:
        from gpmnet.network.frame import pair_frame

        return pair_frame(self, pairs)

    def __contains__(self, name: object) -> bool:
        return name in self._position

    def position(self, name: str) -> int:
        """Return the position of a variable among the names, or raise naming those there are."""
        if name not in self._position:
            raise InputError(f"no variable {quote(name)}; the variables are {quote_all(self.names)}")
        return self._position[name]

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    def pair_at(self, a: str, b: str) -> int | None:
        """Return the position of a pair among `pairs`; None where it did not come close to an edge."""
        return self._pair_positions.get(tuple(sorted((self.position(a), self.position(b)))))

    @cached_property
    def _pair_positions(self) -> dict[tuple[int, ...], int]:
        ends = zip(self.pairs.first.tolist(), self.pairs.second.tolist(), strict=True)
        return {pair: at for at, pair in enumerate(ends)}

    def repeats(self, a: str, b: str) -> bool:
        """Whether one of two columns stands for the other."""
        return self._stands_for.get(a) == b or self._stands_for.get(b) == a

    @cached_property
    def _stands_for(self) -> dict[str, str]:
        return self.facts.schema.duplicates if self.facts.schema is not None else {}

    @cached_property
    def _edge_ends(self) -> list[tuple[int, int]]:
        return list(zip(self._edges.first.tolist(), self._edges.second.tolist(), strict=True))

    @cached_property
    def _neighbor_lists(self) -> list[list[int]]:
        return queries.neighbor_lists(len(self.names), self._edge_ends)

    def neighbors(self, name: str) -> tuple[str, ...]:
        """Return the neighbors of a variable in the order of the names."""
        return tuple(self.names[at] for at in self._neighbor_lists[self.position(name)])

    def markov_blanket(self, name: str) -> tuple[str, ...]:
        """Return the variables that make all others irrelevant to this one: in an undirected graph its neighbors.

        A `CollinearWarning` says where a joint finding contradicts that.
        """
        warn_blanket(self, name)
        return self.neighbors(name)

    @property
    def degree(self) -> dict[str, int]:
        """Number of neighbors of each variable, by name."""
        return {name: len(near) for name, near in zip(self.names, self._neighbor_lists, strict=True)}

    @property
    def isolated(self) -> tuple[str, ...]:
        """The variables without an edge."""
        return tuple(name for name, near in zip(self.names, self._neighbor_lists, strict=True) if not near)

    def separates(self, a: str, b: str, given: Iterable[str] = ()) -> bool:
        """Whether every path between two variables passes through the given ones.

        If so, a and b are independent given them (a `CollinearWarning` says where a joint finding contradicts that). If
        not, `path` returns a path that shows it.
        """
        given = [given] if isinstance(given, str) else list(given)
        if separated := self.path(a, b, given) is None:
            warn_separation(self, (a, b), {self.position(name) for name in given})
        return separated

    def path(self, a: str, b: str, given: Iterable[str] = ()) -> tuple[str, ...] | None:
        """Return a shortest path between two variables that avoids the given ones; None if they separate them.

        >>> MarkovNetwork.from_adjacency("abc", [[0, 1, 0], [1, 0, 1], [0, 1, 0]]).path("a", "c")
        ('a', 'b', 'c')
        """
        start, goal = self.position(a), self.position(b)
        closed = {self.position(name) for name in ([given] if isinstance(given, str) else given)}
        if start == goal or start in closed or goal in closed:
            raise InputError("separation needs two different variables that are not among the given ones")
        found = queries.open_path(self._neighbor_lists, start, goal, closed)
        return None if found is None else tuple(self.names[at] for at in found)

    def communities(self) -> tuple[tuple[str, ...], ...]:
        """Return groups of variables that hang together, the largest first (Louvain, weighted by strength)."""
        groups = queries.communities(len(self.names), self._edge_ends, self._edges.strength.tolist())
        return tuple(tuple(self.names[at] for at in group) for group in groups)

    def centrality(self) -> pd.DataFrame:
        """Return one row a variable, the most joined first: see `gpmnet.network.centrality.centrality_frame`."""
        from gpmnet.network.centrality import centrality_frame

        return centrality_frame(self)

    def subgraph(self, names: Iterable[str]) -> MarkovNetwork:
        """Return the network of some variables, in the order they have here.

        Its edges are still those given all variables of the fit, not those of a fit to these variables alone.
        """
        from gpmnet.network.restrict import part

        return part(self, [self.position(name) for name in ([names] if isinstance(names, str) else names)])

    def filter(self, q: float | None = None, strength: float | None = None) -> MarkovNetwork:
        """Return the network at another cutoff.

        Parameters
        ----------
        q : float, optional
            The pairs with a q-value up to this are the edges, and this is the new `cutoff`: edges go, and above the
            present one pairs that came close become edges (`omega` and the shape of those are not known; pairs
            that did not come close were not kept). Edges that were required, not found, stay.
        strength : float, optional
            Pairs weaker than this, or of unknown strength, are left out for good.

        Examples
        --------
        >>> pairs = Pairs.of([0, 1], [1, 2], [True, False], q_value=[0.01, 0.08], strength=[0.2, 0.4])
        >>> net = MarkovNetwork(("a", "b", "c"), pairs, cutoff=Cutoff(0.05))
        >>> net.filter(q=0.1)
        MarkovNetwork(3 variables, 2 edges at FDR 0.1)
        >>> net.filter(q=0.1, strength=0.3).neighbors("b")
        ('c',)
        """
        from gpmnet.network.restrict import with_cutoff

        return with_cutoff(self, q, strength)

    def merged_groups(self) -> MarkovNetwork:
        """Return the network in which a group is one node, joined by its surest edges or findings without rivals."""
        return merged(self)

    def compare(self, other: MarkovNetwork) -> Comparison:
        """Return what this network ("here") and another ("there") share and where they differ, by name."""
        from gpmnet.network.compare import compare

        return compare(self, other)

    def explain(self, a: str, b: str) -> Explanation:
        """Return why two variables are joined: figures, words and the shape of the dependence.

        A pair that came close has figures but no shape; one that did not has neither, and says so.
        """
        from gpmnet.network.explain import explain

        return explain(self, a, b)

    def to_networkx(self) -> nx.Graph[str]:
        """Return a networkx graph whose edges carry what is known of them.

        Of a search over directed graphs also `kind`, `direction` ("->" is from the end that comes first among the names)
        and `evidence`; `directions.graph.to_networkx()` is the directed graph itself.
        """
        from gpmnet.network.export import undirected_graph

        return undirected_graph(self)

    def export(self, path: str | Path, *, format: str | None = None, spreadsheet_safe: bool = True) -> Path:
        """Write the edges for other programs, whole or not at all; the suffix chooses the format.

        =============  ===========  ==================================================================
        suffix         format       content
        =============  ===========  ==================================================================
        .graphml       "graphml"    networkx, igraph, Gephi, Cytoscape
        .gexf          "gexf"       Gephi
        .json          "json"       node-link, as networkx and D3 read it
        .csv .parquet  "edges"      one row an edge, with its statistics
        .dot .gv       "dot"        Graphviz
        .npz           "adjacency"  scipy.sparse; with this format also a dense .csv or .parquet
        =============  ===========  ==================================================================

        See `gpmnet.network.export` for how names are written.

        Parameters
        ----------
        format : str, optional
            One of the formats, where the suffix does not tell.
        spreadsheet_safe : bool
            CSV only: put an apostrophe before names that a spreadsheet would run as a formula, which
            `gpmnet.network.escape.plain_text` takes off again.
        """
        from gpmnet.network.export import export

        return export(self, Path(path), format, spreadsheet_safe)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the network; see `gpmnet.network.plot.plot_network` for the options."""
        from gpmnet.network.plot import plot_network

        return plot_network(self, ax, **options)

    def plot_stability(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw strength against stability; see `gpmnet.network.stability_plot.plot_stability` for the options."""
        from gpmnet.network.stability_plot import plot_stability

        return plot_stability(self, ax, **options)

    def report(self, path: str | Path, *, title: str = "") -> Path:
        """Write the interactive report, one HTML file without a server; its heading is the title, or the table's name."""
        from gpmnet.network.report import write_report

        return write_report(self, path, title)

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
        rows = f", {counted(self.n_rows, 'row')}" if self.n_rows is not None else ""
        size = f"{counted(len(self.names), 'variable')}{rows}, {counted(self.n_edges, 'edge')}"
        return f"MarkovNetwork({size}{at_cutoff(self.cutoff)})"

    def _repr_html_(self) -> str:
        from gpmnet.network.html import network_html

        return network_html(self)
