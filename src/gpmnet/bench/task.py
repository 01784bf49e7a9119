"""A task: where a table comes from, and its true graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpmnet.simulate import simulate
from gpmnet.table import Table, load_table

if TYPE_CHECKING:
    from gpmnet.graphs import Graph


@dataclass(frozen=True, eq=False)
class Problem:
    """What a method is measured on.

    Attributes
    ----------
    table : Table
        What the method sees.
    names : tuple of str
        The nodes of the truth; a column that the table layer leaves out is a node without edges.
    truth : csr_array of shape (d, d), bool
        The true graph.
    hidden : csr_array of shape (d, d), bool, or None
        True edges that no test given all the rest can see (conditional mutual information 0), where known.
    dag : csr_array of shape (d, d), bool, or None
        The directed graph behind the truth, where there is one: entry (i, j) says i -> j.
    """

    table: Table
    names: tuple[str, ...]
    truth: Graph
    hidden: Graph | None = None
    dag: Graph | None = None


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A table with its true graph, described but not yet made: that happens where the method runs.

    Attributes
    ----------
    name : str
        How rows and figures call it.
    simulator, kind, options
        Of a simulated task; `simulator` is empty for a table from a folder.
    d, n, seed : int
        Columns, rows, and the seed of the draw and of the method.
    """

    name: str
    simulator: str
    kind: str
    d: int
    n: int
    seed: int
    options: dict[str, Any] = field(default_factory=dict)

    @abstractmethod
    def problem(self) -> Problem:
        """Return the table and the truth."""

    def definition(self) -> dict[str, Any]:
        """Return what makes this task this one: equal definitions are the same task."""
        return {
            "simulator": self.simulator,
            "kind": self.kind,
            "d": self.d,
            "n": self.n,
            "seed": self.seed,
            "options": self.options,
        }


class SimulatedTask(Task):
    """A draw from a simulator; only its seed travels, so 10,000 variables cost nothing to describe."""

    def problem(self) -> Problem:
        """Draw the sample; the table's kinds are the simulator's, not inferred ones."""
        drawn = simulate(self.simulator, d=self.d, n=self.n, seed=self.seed, kind=self.kind, **self.options)
        kinds = dict(zip(drawn.names, drawn.kinds, strict=True))
        return Problem(load_table(drawn.frame(), kinds=kinds), drawn.names, drawn.truth, dag=drawn.dag)
