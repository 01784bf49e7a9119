"""Parents of a variable among those before it in an order: grow, then shrink, with everything kept that was computed.

Sets of parents of one variable form a graph: from each lead steps to the sets with one parent more, the most promising
first. Orders that differ little walk the same way, so that an order costs a few look-ups (grow-shrink trees; Andrews,
Ramsey, Sanchez Romero, Camchong, Kummerfeld 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpmnet.directed.score import FamilyScore, Ints, Parents, with_parent, without_parent


@dataclass(slots=True)
class _Set:
    """A set of parents.

    Attributes
    ----------
    score : float
    steps : list of int or None
        Candidates that promise to add something, the best first; None until it is asked for.
    end : tuple or None
        What shrinking leaves of the set, and its score.
    """

    parents: Parents
    score: float
    steps: list[int] | None = None
    next: dict[int, _Set | None] = field(default_factory=dict)
    end: tuple[float, Parents] | None = None


class ParentSets:
    """Finds the parents of one variable.

    Parameters
    ----------
    score : FamilyScore
    child : int
    candidates : ndarray of int
        Who may be a parent at all.
    required : frozenset of int
        Who is one whenever it comes before the child.
    apart : mapping of int to frozenset of int
        Who is not a parent where another one is.
    most : int
        Parents at most.
    """

    def __init__(
        self,
        score: FamilyScore,
        child: int,
        candidates: Ints,
        required: frozenset[int],
        apart: Mapping[int, frozenset[int]],
        most: int,
    ) -> None:
        self._score, self._child, self._candidates = score, child, candidates
        self._required, self._apart, self._most = required, apart, most
        self._sets: dict[Parents, _Set] = {}

    def __call__(self, position: Sequence[int], at: int) -> tuple[float, Parents]:
        """Return the best score and set of parents among the variables whose position is below `at`."""
        here = self._set(self._root(position, at))
        while True:
            steps = here.steps if here.steps is not None else self._expand(here)
            for candidate in steps:
                if position[candidate] < at:
                    there = self._step(here, candidate)
                    if there is not None:
                        here = there
                        break
            else:
                return here.end if here.end is not None else self._shrink(here)

    def _root(self, position: Sequence[int], at: int) -> Parents:
        return tuple(sorted(p for p in self._required if position[p] < at)) if self._required else ()

    def _set(self, parents: Parents) -> _Set:
        if parents not in self._sets:
            self._sets[parents] = _Set(parents, self._score.score(self._child, parents))
        return self._sets[parents]

    def _expand(self, here: _Set) -> list[int]:
        out = set(here.parents).union(*(self._apart[p] for p in here.parents if p in self._apart))
        others = np.array([c for c in self._candidates.tolist() if c not in out], dtype=np.intp)
        if len(here.parents) >= self._most or not len(others):
            here.steps = []
        else:
            gains = self._score.gains(self._child, here.parents, others)
            order = np.argsort(-gains, kind="stable")
            here.steps = others[order[gains[order] > 0]].tolist()
        return here.steps

    def _step(self, here: _Set, candidate: int) -> _Set | None:
        """Return the set with one more parent, None if it is no better after all."""
        if candidate not in here.next:
            there = self._set(with_parent(here.parents, candidate))
            here.next[candidate] = there if there.score > here.score else None
        return here.next[candidate]

    def _shrink(self, here: _Set) -> tuple[float, Parents]:
        parents, score = here.parents, here.score
        while True:
            free = [p for p in self._score.spare(self._child, parents) if p not in self._required]
            smaller = [self._set(without_parent(parents, p)) for p in free]
            best = max(smaller, key=lambda found: found.score, default=None)
            if best is None or best.score <= score:
                break
            parents, score = best.parents, best.score
        here.end = score, parents
        return here.end
