"""Best order score search: the order of the variables in which each is best explained by those before it.

Every variable in turn moves to the position at which the total is highest, until none moves; edges that the class of the
graph can do without are taken away, and moves go on from there; then from other orders again, and the best is kept
(Andrews, Ramsey, Sanchez Romero, Camchong, Kummerfeld 2023, "Fast scalable and accurate discovery of DAGs using the best
order score search and grow-shrink trees").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from gpmnet.directed.backward import backward, topological
from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.grow_shrink import ParentSets
from gpmnet.directed.knowledge import Knowledge
from gpmnet.directed.score import FamilyScore, Ints, Parents
from gpmnet.files import Shelf
from gpmnet.progress import Progress, silent

_EPSILON, _RELATIVE = 1e-9, 1e-12
"""A move must gain more than what sums lose in the last digits, or two moves could undo each other for ever."""


@dataclass(frozen=True)
class Ordered:
    """An order of variables and the graph that is best in it.

    Attributes
    ----------
    order : tuple of int
    parents : tuple of tuple of int
        Of each variable.
    score : float
    sweeps : int
        Passes over all variables, of all starts.
    """

    order: tuple[int, ...]
    parents: tuple[Parents, ...]
    score: float
    sweeps: int = 0

    def graph_class(self, names: Sequence[str], knowledge: Knowledge) -> CPDAG:
        """Return the class of the graph: of those graphs that agree with what was known beforehand."""
        dag = np.zeros((len(self.parents),) * 2, dtype=bool)
        for child, of_child in enumerate(self.parents):
            dag[list(of_child), child] = True
        return CPDAG.from_dag(dag, names, knowledge.arrows(dag | dag.T))


@dataclass
class _Moves:
    """How far the moves from an order are: the order now, who is still to move in this pass, and whether anyone did."""

    order: list[int]
    todo: list[int]
    moved: bool
    sweeps: int


@dataclass(frozen=True, eq=False)
class Watch:
    """Who follows the moves from an order: progress with a note, and a shelf on which they have a number of this start."""

    progress: Progress = silent
    note: str = ""
    shelf: Shelf = field(default_factory=Shelf)
    number: int = 0

    def next(self) -> Watch:
        """Return who follows the moves from the next order."""
        return replace(self, number=self.number + 1)

    def begun(self, order: list[int]) -> _Moves:
        """Return where the moves from an order begin, or how far a stopped search was."""
        for item in (self._name, f"{self._name} under way"):
            found = self.shelf.take(item)
            if found is not None:
                moved, sweeps = found["counts"].tolist()
                return _Moves(found["order"].tolist(), found["todo"].tolist(), bool(moved), sweeps)
        return _Moves(list(order), [], True, 0)

    def tell(self, state: _Moves, d: int) -> None:
        """Say how far the moves are."""
        self.progress("search", d - len(state.todo), d, f"{self.note}, pass {state.sweeps}")
        if self.shelf.is_due:
            self.shelf.keep_state(f"{self._name} under way", _tensors(state))

    def ended(self, state: _Moves) -> None:
        """Say that they ended, and keep where."""
        self.progress("search", len(state.order), len(state.order), f"{self.note}, pass {state.sweeps}")
        self.shelf.keep(self._name, _tensors(state))

    @property
    def _name(self) -> str:
        return f"order, {self.note}, {self.number}"


def _tensors(state: _Moves) -> dict[str, Tensor]:
    counts = torch.tensor([int(state.moved), state.sweeps], dtype=torch.int64)
    order, todo = (torch.tensor(x, dtype=torch.int64) for x in (state.order, state.todo))
    return {"order": order, "todo": todo, "counts": counts}


class OrderSearch:
    """Searches orders of the variables of a score.

    Parameters
    ----------
    score : FamilyScore
    knowledge : Knowledge
        What is known of the graph before.
    candidates : sequence of ndarray of int, optional
        Who may be a parent of each variable; by default all others.
    most_parents : int
    """

    def __init__(
        self,
        score: FamilyScore,
        knowledge: Knowledge | None = None,
        candidates: Sequence[Ints] | None = None,
        most_parents: int = 10,
    ) -> None:
        self._score, d = score, score.d
        self._d = d
        self._knowledge = knowledge or Knowledge([f"x{v}" for v in range(1, d + 1)])
        apart = {v: never for v in range(d) if (never := self._knowledge.apart(v))}
        self._sets, possible = [], np.zeros((d, d), dtype=bool)
        for child in range(d):
            others = np.arange(d) if candidates is None else candidates[child]
            allowed = self._knowledge.possible_parents(child, others)
            required = self._knowledge.required_parents(child)
            possible[np.r_[allowed, np.array(sorted(required), dtype=np.intp)], child] = True
            self._sets.append(ParentSets(score, child, allowed, required, apart, most_parents))
        self._children = [np.flatnonzero(row) for row in possible]  # who may have a variable as parent
        self._parents = [np.flatnonzero(column) for column in possible.T]

    def __call__(
        self, seed: int = 0, starts: int = 2, progress: Progress = silent, shelf: Shelf | None = None
    ) -> Ordered:
        """Return the best order of several starts: that of the columns, then random ones.

        Every order that moves led to is kept on the shelf, and now and then how far the present moves are.
        """
        shelf = Shelf() if shelf is None else shelf
        rng = np.random.default_rng(seed)
        best: Ordered | None = None
        sweeps = 0
        for start in range(starts):
            first = np.arange(self._d) if start == 0 else rng.permutation(self._d)
            note = f"start {start + 1} of {starts}"
            watch = Watch(progress, note, shelf)
            found = self.improve(self._knowledge.sorted(first.tolist()), watch)
            sweeps += found.sweeps
            while True:
                watch = watch.next()
                smaller = topological(backward(self._score, found.parents))
                again = self.improve(self._knowledge.sorted(smaller), watch)
                sweeps += again.sweeps
                if not _better(again.score, found.score):
                    break
                found = again
            if best is None or _better(found.score, best.score):
                best = found
        assert best is not None
        return Ordered(best.order, best.parents, best.score, sweeps)

    def improve(self, order: list[int], watch: Watch | None = None) -> Ordered:
        """Return the order after all moves that help."""
        watch = Watch() if watch is None else watch
        state = watch.begun(order)
        self._begin(state.order, watch)
        while state.todo or state.moved:
            if not state.todo:
                state = _Moves(state.order, list(state.order), False, state.sweeps + 1)
                continue
            watch.tell(state, self._d)
            state.moved |= self._move(state.order, state.todo.pop(0))
        watch.ended(state)
        return self.graph(state.order, state.sweeps)

    def graph(self, order: Sequence[int], sweeps: int = 0) -> Ordered:
        """Return the best graph in an order."""
        position = _positions(order)
        found = [self._sets[v](position, position[v]) for v in range(self._d)]
        return Ordered(tuple(order), tuple(parents for _, parents in found), sum(s for s, _ in found), sweeps)

    def _begin(self, order: list[int], watch: Watch) -> None:
        """Look for every variable's parents, which the first move would do all at once, without a word meanwhile."""
        position = _positions(order)
        for done, variable in enumerate(order):
            watch.progress("search", done, self._d, f"{watch.note}, parents")
            self._sets[variable](position, position[variable])

    def _move(self, order: list[int], variable: int) -> bool:
        """Move a variable to where it is best; return whether that is elsewhere."""
        now = order.index(variable)
        order.pop(now)
        position = _positions(order, self._d)
        low, high = self._knowledge.range(variable, position, len(order))
        # what the variable brings to those that come after it; nothing changes for the others
        brings = np.zeros(len(order) + 1)
        for other in self._children[variable].tolist():
            at = position[other]
            if at < low:
                continue
            position[variable] = len(order)
            without = self._sets[other](position, at)[0]
            position[variable] = -1
            brings[at] = self._sets[other](position, at)[0] - without
        total = brings[::-1].cumsum()[::-1].copy()  # at k: over those at k and after
        position[variable] = len(order)
        own = self._own(variable, position, low, high)
        total[low : high + 1] += own
        best = low + int(np.argmax(total[low : high + 1]))
        if not _better(total[best], total[now]):
            best = now
        order.insert(best, variable)
        return best != now

    def _own(self, variable: int, position: list[int], low: int, high: int) -> list[float]:
        """Return the variable's own score at each position; it changes only behind a possible parent."""
        behind = {position[p] + 1 for p in self._parents[variable].tolist()}
        found: list[float] = []
        for at in range(low, high + 1):
            fresh = at == low or at in behind
            found.append(self._sets[variable](position, at)[0] if fresh else found[-1])
        return found


def _better(score: float, than: float) -> bool:
    return bool(score > than + _EPSILON + _RELATIVE * abs(than))


def _positions(order: Sequence[int], size: int | None = None) -> list[int]:
    """Return where each variable stands; one that is not there stands behind all."""
    position = [len(order)] * (size or len(order))
    for at, variable in enumerate(order):
        position[variable] = at
    return position
