"""What is known of a directed graph before the search: parents that are sure or impossible, and tiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np

from gpmnet.directed.score import Ints


class ImpossibleError(ValueError):
    """Known directions contradict each other; `variables` are those in question."""

    def __init__(self, variables: Sequence[int]) -> None:
        super().__init__(f"known directions contradict each other: {list(variables)}")
        self.variables = tuple(variables)


class Knowledge:
    """Restrictions of a directed graph on d variables.

    Parameters
    ----------
    arrows : iterable of (int, int)
        Cause and effect: the arrow is there.
    joined : iterable of (int, int)
        Pairs with an arrow in one direction or the other.
    excluded : iterable of (int, int)
        Cause and effect: this arrow is not there.
    tiers : sequence of int or None, optional
        Tier of each variable; nothing in a later tier is a cause of anything in an earlier one. None is in no tier.

    Raises
    ------
    ImpossibleError
        Where arrows form a cycle, or one leads back from a later tier; it has the variables.
    """

    def __init__(
        self,
        d: int,
        arrows: Iterable[tuple[int, int]] = (),
        joined: Iterable[tuple[int, int]] = (),
        excluded: Iterable[tuple[int, int]] = (),
        tiers: Sequence[int | None] | None = None,
    ) -> None:
        self._tiers = list(tiers) if tiers is not None else [None] * d
        self._causes: list[set[int]] = [set() for _ in range(d)]
        self._effects: list[set[int]] = [set() for _ in range(d)]
        self._sure: list[set[int]] = [set() for _ in range(d)]
        self._never: list[set[int]] = [set() for _ in range(d)]
        for cause, effect in arrows:
            if self._is_back(cause, effect):
                raise ImpossibleError((cause, effect))
            self._causes[effect].add(cause)
            self._effects[cause].add(effect)
            self._sure[effect].add(cause)
        for a, b in joined:
            self._sure[a].add(b)
            self._sure[b].add(a)
        for cause, effect in excluded:
            self._never[effect].add(cause)
        for effect, causes in enumerate(self._causes):
            both = causes & self._never[effect]
            if both:
                raise ImpossibleError((min(both), effect))
        self.sorted(list(range(d)))

    def possible_parents(self, child: int, candidates: Ints) -> Ints:
        """Return those of the candidates that may be parents of a variable."""
        never = self._never[child] | self._effects[child] | {child}
        kept = [c for c in candidates.tolist() if c not in never and not self._is_back(c, child)]
        return np.array(kept, dtype=np.intp)

    def required_parents(self, child: int) -> frozenset[int]:
        """Return who is a parent of a variable whenever it comes before it."""
        return frozenset(p for p in self._sure[child] if not self._is_back(p, child))

    def sorted(self, order: list[int]) -> list[int]:
        """Return an order that keeps tiers and arrows, and else as much of the given one as it can."""
        place = {variable: at for at, variable in enumerate(order)}
        sorter = TopologicalSorter({effect: causes for effect, causes in enumerate(self._causes)})
        try:
            sorter.prepare()
        except CycleError as error:
            raise ImpossibleError(error.args[1]) from None
        found: list[int] = []
        ready: list[int] = []
        while sorter.is_active():
            ready.extend(sorter.get_ready())
            first = min(ready, key=place.__getitem__)
            ready.remove(first)
            found.append(first)
            sorter.done(first)
        return found

    def range(self, variable: int, position: Sequence[int], most: int) -> tuple[int, int]:
        """Return the first and the last position at which a variable may be inserted, given those of the others."""
        low = max((position[cause] + 1 for cause in self._causes[variable]), default=0)
        high = min((position[effect] for effect in self._effects[variable]), default=most)
        return low, high

    def _is_back(self, cause: int, effect: int) -> bool:
        a, b = self._tiers[cause], self._tiers[effect]
        return a is not None and b is not None and a > b
