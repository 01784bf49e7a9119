"""The class of a directed graph: which directions all graphs with the same independences share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpmnet.directed.meek import BoolMatrix, close, colliders, extension, is_acyclic, with_colliders
from gpmnet.errors import InputError, one_line, quote, quote_all
from gpmnet.files import read_plain, whole_file
from gpmnet.frozen import Frozen, locked
from gpmnet.graphs import moralise
from gpmnet.json_data import as_count, as_list, as_table, as_texts

if TYPE_CHECKING:
    import networkx as nx

    from gpmnet.graphs import Graph

FORMAT, VERSION = "gpmnet-cpdag", 1


@dataclass(frozen=True, eq=False, repr=False)
class CPDAG(Frozen):
    """A completed partially directed graph: arrows where every directed graph of the class has them, lines elsewhere.

    Directed graphs with the same independences cannot be told apart by them; they share the skeleton and the unshielded
    colliders. An arrow is *compelled*: all graphs of the class have it, those that agree with what was known
    beforehand if something was. A line is *reversible*: some have it one way, some the other. Nothing is said about the
    size of an effect.

    What does not describe a class is refused: with a cycle, with a direction missing that follows from the
    others, or without any directed graph that agrees with it.

    Parameters
    ----------
    names : sequence of str
        Names of the d variables.
    directed : array of bool, shape (d, d)
        Entry (i, j) says i -> j in every graph of the class.
    undirected : array of bool, shape (d, d)
        Symmetric; the edges whose direction is open.

    References
    ----------
    Andersson, Madigan, Perlman, "A characterization of Markov equivalence classes for acyclic digraphs", Annals of
    Statistics 25 (1997); Meek, "Causal inference and causal explanation with background knowledge", UAI 1995.

    Examples
    --------
    >>> arrows = np.zeros((4, 4), dtype=bool)
    >>> arrows[0, 2] = arrows[1, 2] = arrows[2, 3] = True
    >>> graph = CPDAG.from_dag(arrows, ["rain", "sprinkler", "wet", "slippery"])
    >>> graph
    CPDAG(4 variables, 3 compelled, 0 reversible)
    >>> graph.compelled
    (('rain', 'wet'), ('sprinkler', 'wet'), ('wet', 'slippery'))
    >>> sorted(graph.ancestors("slippery"))
    ['rain', 'sprinkler', 'wet']
    """

    names: tuple[str, ...]
    directed: BoolMatrix
    undirected: BoolMatrix

    def __post_init__(self) -> None:
        names = tuple(self.names)
        if not all(isinstance(name, str) for name in names):
            raise InputError("CPDAG: the names must be texts")
        twice = (
            sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        )
        if twice:
            raise InputError(f"CPDAG: variables share a name: {quote_all(twice)}")
        directed, undirected = (
            _matrix(value, len(names), what)
            for value, what in ((self.directed, "directed"), (self.undirected, "undirected"))
        )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "directed", locked(directed))
        object.__setattr__(self, "undirected", locked(undirected))
        self._check()

    @classmethod
    def from_dag(cls, adjacency: ArrayLike, names: Sequence[str], certain: BoolMatrix | None = None) -> Self:
        """Return the class of a directed graph without cycles; entry (i, j) of its matrix says i -> j.

        `certain`, of the same shape, are arrows of it that are known: the class is that of the graphs that have them.
        """
        arrows = _matrix(adjacency, len(names), "the directed graph")
        if not is_acyclic(arrows):
            raise InputError("CPDAG: the directed graph has a cycle")
        directed, undirected = with_colliders(arrows | arrows.T, colliders(arrows))
        if certain is not None:
            directed = directed | certain
        return cls(tuple(names), *close(directed, undirected & ~directed & ~directed.T))

    @property
    def d(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def skeleton(self) -> BoolMatrix:
        """Who is adjacent to whom, whatever the direction: (d, d), symmetric."""
        return np.asarray(self.directed | self.directed.T | self.undirected)

    @property
    def compelled(self) -> tuple[tuple[str, str], ...]:
        """The arrows, each as (from, to)."""
        return self._named(np.argwhere(self.directed))

    @property
    def reversible(self) -> tuple[tuple[str, str], ...]:
        """The edges whose direction is open, each once."""
        return self._named(np.argwhere(np.triu(self.undirected)))

    def moral(self) -> Graph:
        """Return the moral graph of every directed graph of the class: the Markov network that it implies.

        The skeleton, and an edge between any two that have a common effect.
        """
        return moralise(self.directed, self.undirected)

    def dag(self) -> BoolMatrix:
        """Return one of the directed graphs of the class, (d, d); none of them is preferred by the data."""
        found = extension(self.directed, self.undirected)
        if found is None:  # the constructor looked
            raise AssertionError("a checked class has a directed graph")
        return found

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the variables with an arrow into one."""
        return self._at(np.flatnonzero(self.directed[:, self._position(name)]))

    def children(self, name: str) -> tuple[str, ...]:
        """Return the variables into which one has an arrow."""
        return self._at(np.flatnonzero(self.directed[self._position(name)]))

    def siblings(self, name: str) -> tuple[str, ...]:
        """Return the variables to which one has an edge of open direction."""
        return self._at(np.flatnonzero(self.undirected[self._position(name)]))

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return the variables from which arrows lead to one, over others or directly.

        Each is its ancestor in every graph of the class. A variable that is not listed can be one too: in some
        graphs over an edge of open direction, and at times, over different edges, in all.
        """
        return self._at(_reached(self.directed.T, self._position(name)))

    def descendants(self, name: str) -> tuple[str, ...]:
        """Return the variables to which arrows lead from one; see `ancestors` for what is not listed."""
        return self._at(_reached(self.directed, self._position(name)))

    def to_networkx(self) -> nx.DiGraph[str]:
        """Return a networkx graph; arrows have the kind "compelled", open edges are two arrows of the kind "reversible"."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.compelled, kind="compelled")
        for a, b in self.reversible:
            graph.add_edges_from([(a, b), (b, a)], kind="reversible")
        return graph

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; `from_dict` reads it back."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "names": list(self.names),
            "compelled": np.argwhere(self.directed).tolist(),
            "reversible": np.argwhere(np.triu(self.undirected)).tolist(),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Return the graph of plain data, or raise saying what is wrong with it."""
        whole = as_table(data, "a CPDAG")
        if whole.get("format") != FORMAT:
            raise InputError("this is not a gpmnet CPDAG")
        if whole.get("version") != VERSION:
            raise InputError(
                f"the CPDAG was saved in format {quote(whole.get('version'))}; this version reads {VERSION}"
            )
        names = as_texts(whole.get("names"), "names")
        directed, undirected = (
            _from_pairs(whole.get(what), what, len(names)) for what in ("compelled", "reversible")
        )
        return cls(names, directed, undirected | undirected.T)

    def save(self, path: str | Path) -> None:
        """Write a JSON file; it appears whole or not at all."""
        with whole_file(Path(path)) as beside:
            beside.write_text(json.dumps(self.to_dict()) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the graph of a JSON file, or raise if it is not what it should be."""
        try:
            return cls.from_dict(json.loads(read_plain(Path(path)).decode("utf-8")))
        except OSError as error:
            raise InputError(f"{quote(path)} cannot be read: {error.strerror}") from error
        except InputError as error:
            raise InputError(f"{quote(path)}: {error}") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{quote(path)} is no valid JSON: {quote(one_line(error), 200)}") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CPDAG):
            return NotImplemented
        mine, theirs = ((graph.directed, graph.undirected) for graph in (self, other))
        same = self.names == other.names
        return same and all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    def __hash__(self) -> int:
        return hash((self.names, self.directed.tobytes(), self.undirected.tobytes()))

    def __repr__(self) -> str:
        return (
            f"CPDAG({self.d} variables, {len(self.compelled)} compelled, {len(self.reversible)} reversible)"
        )

    def _check(self) -> None:
        """Raise unless the matrices describe a class of directed graphs."""
        directed, undirected = self.directed, self.undirected
        if not np.array_equal(undirected, undirected.T):
            raise InputError("CPDAG: the undirected matrix is not symmetric")
        twice = np.argwhere((directed & undirected) | (directed & directed.T))
        if len(twice):
            a, b = (quote(self.names[at]) for at in twice[0])
            raise InputError(f"CPDAG: {a} and {b} are joined by two edges")
        if not is_acyclic(directed):
            raise InputError("CPDAG: its arrows make a cycle")
        if extension(directed, undirected) is None:
            raise InputError(
                "CPDAG: no directed graph without cycles has these arrows, edges and no other colliders"
            )
        more = np.argwhere(close(directed, undirected)[0] & ~directed)
        if len(more):
            a, b = (quote(self.names[at]) for at in more[0])
            raise InputError(f"CPDAG: the direction from {a} to {b} follows from the others and is missing")

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    def _position(self, name: str) -> int:
        if name not in self._positions:
            raise InputError(f"no variable is called {quote(name)}; there are {quote_all(self.names)}")
        return self._positions[name]

    def _at(self, positions: Iterable[Any]) -> tuple[str, ...]:
        return tuple(self.names[int(at)] for at in positions)

    def _named(self, pairs: NDArray[np.intp]) -> tuple[tuple[str, str], ...]:
        return tuple((self.names[a], self.names[b]) for a, b in pairs.tolist())


def _matrix(value: ArrayLike, d: int, what: str) -> BoolMatrix:
    """Return a copy of a graph as a (d, d) matrix of bool, or raise."""
    matrix = np.array(value)
    if matrix.shape != (d, d):
        raise InputError(f"CPDAG: {what} has the shape {matrix.shape}; {d} names need ({d}, {d})")
    as_bool = matrix.astype(bool)
    if not np.array_equal(as_bool, matrix):
        raise InputError(f"CPDAG: {what} must hold true and false, or 1 and 0")
    if as_bool.diagonal().any():
        raise InputError(f"CPDAG: {what} joins a variable with itself")
    return as_bool


def _from_pairs(pairs: Any, what: str, d: int) -> BoolMatrix:
    """Return the matrix of a list of pairs of positions, each once."""
    matrix = np.zeros((d, d), dtype=bool)
    for pair in as_list(pairs, what):
        ends = [as_count(end, f"an edge of {what}") for end in as_list(pair, f"an edge of {what}")]
        if len(ends) != 2 or max(ends) >= d or matrix[ends[0], ends[1]]:
            raise InputError(f"{what}: {quote(pair)} is no pair of variables, or is there twice")
        matrix[ends[0], ends[1]] = True
    return matrix


def _reached(arrows: BoolMatrix, start: int) -> list[int]:
    """Return where one can get along arrows, increasing, without the start."""
    found, todo = {start}, [start]
    while todo:
        for node in np.flatnonzero(arrows[todo.pop()]).tolist():
            if node not in found:
                found.add(node)
                todo.append(node)
    return sorted(found - {start})
