"""What is known of a directed graph before the search: parents that are sure, pairs that are not joined, and tiers."""

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
    apart : iterable of (int, int)
        Pairs that are not joined in the moral graph: no arrow, and no common effect either.
    tiers : sequence of int or None, optional
        Tier of each variable; nothing in a later tier is a cause, direct or not, of anything in an earlier one. None
        is in no tier.

    Raises
    ------
    ImpossibleError
        Where arrows form a cycle or lead back to an earlier tier, or a pair is both joined and apart; it has the variables.
    """

    def __init__(
        self,
        d: int,
        arrows: Iterable[tuple[int, int]] = (),
        joined: Iterable[tuple[int, int]] = (),
        apart: Iterable[tuple[int, int]] = (),
        tiers: Sequence[int | None] | None = None,
    ) -> None:
        self._tiers = list(tiers) if tiers is not None else [None] * d
        self._causes: list[set[int]] = [set() for _ in range(d)]
        self._effects: list[set[int]] = [set() for _ in range(d)]
        self._sure: list[set[int]] = [set() for _ in range(d)]
        self._apart: list[set[int]] = [set() for _ in range(d)]
        for cause, effect in arrows:
            self._causes[effect].add(cause)
            self._effects[cause].add(effect)
            self._sure[effect].add(cause)
        for a, b in joined:
            self._sure[a].add(b)
            self._sure[b].add(a)
        for a, b in apart:
            self._apart[a].add(b)
            self._apart[b].add(a)
        for effect, sure in enumerate(self._sure):
            for cause in sorted(sure):
                # two that are never joined cannot be sure causes of the same effect, whoever it is
                if cause in self._apart[effect] or self._apart[cause] & self._causes[effect]:
                    raise ImpossibleError((cause, effect))
        self.sorted(list(range(d)))

    def possible_parents(self, child: int, candidates: Ints) -> Ints:
        """Return those of the candidates that may be parents of a variable."""
        never = self._apart[child] | self._effects[child] | {child}
        return np.array([c for c in candidates.tolist() if c not in never], dtype=np.intp)

    def required_parents(self, child: int) -> frozenset[int]:
        """Return who is a parent of a variable whenever it comes before it."""
        return frozenset(self._sure[child])

    def apart(self, variable: int) -> frozenset[int]:
        """Return who is never joined with a variable, and so is not a parent of the same child either."""
        return frozenset(self._apart[variable])

    def sorted(self, order: list[int]) -> list[int]:
        """Return an order that keeps tiers and arrows, and else as much of the given one as it can."""
        place = {variable: at for at, variable in enumerate(order)}
        before: dict[int, set[int]] = {effect: set(causes) for effect, causes in enumerate(self._causes)}
        d = len(order)
        used = sorted({tier for tier in self._tiers if tier is not None})
        for at, tier in enumerate(used):  # a gate behind each tier, numbered from d on
            members = {v for v in range(d) if self._tiers[v] == tier}
            before[d + at] = members | ({d + at - 1} if at else set())
            for v in members if at else ():
                before[v].add(d + at - 1)
        sorter = TopologicalSorter(before)
        try:
            sorter.prepare()
        except CycleError as error:
            raise ImpossibleError([v for v in error.args[1][:-1] if v < d]) from None
        found, ready = list[int](), list[int]()
        while sorter.is_active():
            ready.extend(sorter.get_ready())
            first = min(ready, key=lambda v: place.get(v, -1))
            ready.remove(first)
            sorter.done(first)
            if first < d:
                found.append(first)
        return found

    def range(self, variable: int, position: Sequence[int], most: int) -> tuple[int, int]:
        """Return the first and the last position at which a variable may be inserted, given those of the others."""
        low = max((position[cause] + 1 for cause in self._causes[variable]), default=0)
        high = min((position[effect] for effect in self._effects[variable]), default=most)
        tier = self._tiers[variable]
        if tier is not None:
            for other, its in enumerate(self._tiers):
                if its is not None and its < tier:
                    low = max(low, position[other] + 1)
                elif its is not None and its > tier:
                    high = min(high, position[other])
        return low, high
