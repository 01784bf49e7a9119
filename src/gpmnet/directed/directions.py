"""What a search over directed graphs found: the class of the graph, and what each edge of its moral graph rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.score import FamilyScore, Parents, without_parent
from gpmnet.errors import InputError
from gpmnet.frozen import Frozen
from gpmnet.json_data import as_count, as_list, as_number, as_table

DIRECTION_COLUMNS = ("kind", "direction", "evidence", "common_effects")
"""What a table of edges has of them."""
CAUSAL = (
    "an arrow is in every directed graph with these independences; it is a cause only if no common cause of two columns is "
    "missing, rows were not selected by what is in them, and no two effects cancel out"
)
"""What a causal reading would need, in a sentence."""
EdgeKind: TypeAlias = Literal["arc", "co-parents"]


@dataclass(frozen=True)
class MoralEdge:
    """An edge of a moral graph.

    Attributes
    ----------
    first, second : int
        Its ends, first < second.
    kind : {"arc", "co-parents"}
        Whether an arrow joins them, or only a common effect.
    evidence : float
        What the score of the graph loses without it, in nats: without the arrow, or, of co-parents, without the weaker
        of their two arrows into each common effect.
    effects : tuple of int
        Common effects.
    """

    first: int
    second: int
    kind: EdgeKind
    evidence: float
    effects: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Directions(Frozen):
    """The class of a directed graph, and the edges of its moral graph by the positions of its names.

    A table of edges has `kind` (arc, or co-parents), `direction` ("->" from source to target, "<-", or "--" where it is
    open), `evidence` (nats that the score loses without the edge) and `common_effects` of them.

    Attributes
    ----------
    graph : CPDAG
    edges : tuple of MoralEdge
    """

    graph: CPDAG
    edges: tuple[MoralEdge, ...]

    def between(self, a: str, b: str) -> MoralEdge | None:
        """Return what the edge of two variables rests on; None where the search joined them in no way."""
        return self._by_names.get(frozenset((a, b)))

    def direction(self, a: str, b: str) -> str:
        """Return "->", "<-", or "--" where the direction is open; nothing where no arrow joins them."""
        compelled, reversible = self._arrows
        if (a, b) in compelled:
            return "->"
        if (b, a) in compelled:
            return "<-"
        return "--" if frozenset((a, b)) in reversible else ""

    def row(self, a: str, b: str) -> dict[str, Any]:
        """Return what a table of edges says of two variables."""
        edge = self.between(a, b)
        if edge is None:
            return {"kind": "", "direction": "", "evidence": float("nan"), "common_effects": ()}
        effects = tuple(self.graph.names[at] for at in edge.effects)
        return {
            "kind": edge.kind,
            "direction": self.direction(a, b),
            "evidence": edge.evidence,
            "common_effects": effects,
        }

    def columns(self, source: Iterable[str], target: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return what a table of edges says of them, by column."""
        rows = [self.row(a, b) for a, b in zip(source, target, strict=True)]
        found: dict[str, NDArray[Any]] = {}
        for name in DIRECTION_COLUMNS:
            found[name] = np.empty(len(rows), dtype=np.float64 if name == "evidence" else object)
            for at, row in enumerate(rows):
                found[name][at] = row[name]
        return found

    @cached_property
    def _by_names(self) -> dict[frozenset[str], MoralEdge]:
        names = self.graph.names
        return {frozenset((names[edge.first], names[edge.second])): edge for edge in self.edges}

    @cached_property
    def _arrows(self) -> tuple[set[tuple[str, str]], set[frozenset[str]]]:
        return set(self.graph.compelled), {frozenset(pair) for pair in self.graph.reversible}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; `from_dict` reads it back."""
        edges = [[e.first, e.second, e.kind, e.evidence, list(e.effects)] for e in self.edges]
        return {"graph": self.graph.to_dict(), "edges": edges}

    @classmethod
    def from_dict(cls, data: Any) -> Directions:
        """Return what plain data say, or raise saying what is wrong with them."""
        whole = as_table(data, "the directions")
        graph = CPDAG.from_dict(whole.get("graph"))
        edges = [_edge(said, graph.d) for said in as_list(whole.get("edges"), "the edges of the directions")]
        return cls(graph, tuple(edges))


def _edge(data: Any, d: int) -> MoralEdge:
    said = as_list(data, "an edge")
    if len(said) != 5 or said[2] not in ("arc", "co-parents"):
        raise InputError("an edge of the directions is not (first, second, kind, evidence, effects)")
    first, second = (as_count(end, "an end of an edge") for end in said[:2])
    effects = tuple(as_count(at, "a common effect") for at in as_list(said[4], "common effects"))
    if not first < second < d or any(at >= d for at in effects):
        raise InputError("an edge of the directions names a variable that is not there")
    return MoralEdge(first, second, said[2], as_number(said[3], "evidence"), effects)


def moral_edges(score: FamilyScore, parents: Sequence[Parents]) -> tuple[MoralEdge, ...]:
    """Return the edges of the moral graph of a directed graph, given by the parents of each variable, in order."""
    loss = {
        (parent, child): score.score(child, of_child) - score.score(child, without_parent(of_child, parent))
        for child, of_child in enumerate(parents)
        for parent in of_child
    }
    effects: dict[tuple[int, int], list[int]] = {}
    for child, of_child in enumerate(parents):
        for pair in combinations(of_child, 2):
            effects.setdefault(pair, []).append(child)
    arcs = {(min(arrow), max(arrow)): value for arrow, value in loss.items()}
    found = []
    for pair in sorted({*arcs, *effects}):
        common = effects.get(pair, [])
        shared = sum(min(loss[pair[0], child], loss[pair[1], child]) for child in common)
        kind: EdgeKind = "arc" if pair in arcs else "co-parents"
        found.append(MoralEdge(*pair, kind, arcs.get(pair, shared), tuple(common)))
    return tuple(found)
