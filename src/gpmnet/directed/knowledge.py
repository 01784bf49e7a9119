"""What is known of a directed graph before the search: arrows that are there or not, pairs, and tiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Self

import numpy as np

from gpmnet.directed.meek import BoolMatrix
from gpmnet.directed.score import Ints
from gpmnet.errors import InputError, quote, quote_all

Pairs = Iterable[tuple[int, int]]


class Knowledge:
    """Restrictions of a directed graph, by positions of its variables; `from_names` takes names.

    Parameters
    ----------
    names : sequence of str
        Of the d variables, for what is said of contradictions.
    arrows : iterable of (int, int)
        Cause and effect: the arrow is there.
    forbidden : iterable of (int, int)
        Cause and effect: the arrow is not there. Forbidden both ways, two have no arrow, but can have a common effect.
    joined : iterable of (int, int)
        Pairs with an arrow in one direction or the other.
    apart : iterable of (int, int)
        Pairs that are not joined in the moral graph: no arrow, and no common effect either.
    tiers : sequence of int or None, optional
        Tier of each variable; nothing in a later tier is a cause of anything in an earlier one. None is in no tier.
        The search over orders keeps this also of causes over variables in no tier, the other searches of arrows.

    Attributes
    ----------
    required, forbidden : ndarray of bool, shape (d, d)
        Entry (i, j) says that i -> j is there, or is not, by whatever it follows from.
    has_pairs : bool
        Whether there are joined or apart pairs.

    Raises
    ------
    InputError
        Where these contradict each other.

    Examples
    --------
    >>> Knowledge.from_names(["income", "age", "sex"], tiers=[["age", "sex"], ["income"]]).forbidden.astype(int)
    array([[0, 1, 1],
           [0, 0, 0],
           [0, 0, 0]])
    """

    def __init__(
        self,
        names: Sequence[str],
        arrows: Pairs = (),
        forbidden: Pairs = (),
        joined: Pairs = (),
        apart: Pairs = (),
        tiers: Sequence[int | None] | None = None,
    ) -> None:
        d = len(names)
        self.names = tuple(names)
        self._tiers = list(tiers) if tiers is not None else [None] * d
        self._apart = _sets(d, apart)
        tier = np.array([np.nan if at is None else at for at in self._tiers], dtype=np.float64)
        never = _matrix(d, forbidden) | (tier[:, None] > tier)
        for a, others in enumerate(self._apart):
            never[a, list(others)] = True
        self._joined = _matrix(d, joined)
        self._joined |= self._joined.T
        self.has_pairs = bool(self._joined.any()) or any(self._apart)
        self._check_pairs(never)
        self.required = self._turned(_matrix(d, arrows), never)
        self._causes = [set(np.flatnonzero(column).tolist()) for column in self.required.T]
        self._effects = [set(np.flatnonzero(row).tolist()) for row in self.required]
        self._check_arrows(never)
        self.forbidden: BoolMatrix = never | self.required.T
        self.sorted(list(range(d)))

    @classmethod
    def from_names(
        cls,
        names: Sequence[str],
        arrows: Iterable[Sequence[str]] = (),
        forbidden: Iterable[Sequence[str]] = (),
        tiers: Iterable[Iterable[str]] = (),
        twins: Mapping[str, str] | None = None,
    ) -> Self:
        """Return what is known of named variables, or raise where a name is not one of them.

        Parameters
        ----------
        arrows, forbidden : iterable of (str, str)
            Cause and effect.
        tiers : iterable of iterables of str
            Groups of variables, the earliest first.
        twins : mapping of str to str, optional
            Columns that are no variables since they repeat one, and which.
        """
        there, never = (position_pairs(names, given, twins) for given in (arrows, forbidden))
        return cls(names, there, never, tiers=position_tiers(names, tiers, twins))

    def _turned(self, required: BoolMatrix, never: BoolMatrix) -> BoolMatrix:
        """Return the arrows that are there: a pair that is joined, and cannot be so one way, is so the other way."""
        pairs, changed = np.argwhere(self._joined).tolist(), True
        while changed:
            changed = False
            for a, b in pairs:  # each both ways
                blocked = never[a, b] or required[list(self._apart[a]), b].any()
                if blocked and not required[b, a]:
                    required[b, a] = changed = True
        return required

    def _check_pairs(self, never: BoolMatrix) -> None:
        both = np.argwhere(self._joined & never & never.T)
        if len(both):
            raise InputError(
                f"the pair {self._quote(*both[0])} is both forbidden and required; take one of these away"
            )

    def _check_arrows(self, never: BoolMatrix) -> None:
        both = np.argwhere(self.required & never)
        if len(both):
            a, b = (quote(self.names[at]) for at in both[0])
            raise InputError(
                f"the arrow from {a} to {b} is required, and forbidden by an arrow, a pair or the tiers; "
                "take one of these away"
            )
        for effect, causes in enumerate(self._causes):
            for cause in sorted(causes):
                if together := self._apart[cause] & causes:
                    raise InputError(
                        f"the pair {self._quote(cause, min(together))} is forbidden, but both are required causes of "
                        f"{quote(self.names[effect])}: a common effect joins its causes; take one of these away"
                    )

    def _quote(self, *positions: int) -> str:
        return quote_all([self.names[at] for at in positions])

    @property
    def no_edge(self) -> BoolMatrix:
        """The pairs that are forbidden both ways."""
        return np.asarray(self.forbidden & self.forbidden.T)

    @property
    def edges(self) -> BoolMatrix:
        """The pairs that an arrow must join."""
        return np.asarray(self.required | self.required.T | self._joined)

    def arrows(self, skeleton: BoolMatrix) -> BoolMatrix:
        """Return the directions of the edges of a skeleton that are known."""
        return np.asarray(skeleton & (self.required | self.forbidden.T) & ~self.forbidden)

    def possible_parents(self, child: int, candidates: Ints) -> Ints:
        """Return those of the candidates that may be parents of a variable."""
        possible = ~self.forbidden[:, child]
        possible[child] = False
        return np.asarray(candidates[possible[candidates]], dtype=np.intp)

    def required_parents(self, child: int) -> frozenset[int]:
        """Return who is a parent of a variable whenever it comes before it."""
        sure = self.required[:, child] | self._joined[:, child] & ~self.forbidden[:, child]
        return frozenset(np.flatnonzero(sure).tolist())

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
            raise self._cycle(error.args[1][:-1]) from None
        found, ready = list[int](), list[int]()
        while sorter.is_active():
            ready.extend(sorter.get_ready())
            first = min(ready, key=lambda v: place.get(v, -1))
            ready.remove(first)
            sorter.done(first)
            if first < d:
                found.append(first)
        return found

    def _cycle(self, nodes: Sequence[int]) -> InputError:
        """Return what is wrong with arrows that go round, a gate of the tiers among them or not."""
        real = [node for node in nodes if node < len(self.names)]
        if len(real) == len(nodes):
            return InputError(f"the known arrows make a cycle: {self._quote(*real)}; take one of them away")
        return InputError(
            f"the known arrows lead from a later tier back to an earlier one: {self._quote(*real)}; "
            "take one of them away, or change the tiers"
        )

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


def position_pairs(
    names: Sequence[str], pairs: Iterable[Sequence[str]], twins: Mapping[str, str] | None = None
) -> list[tuple[int, int]]:
    """Return pairs of names as positions, in their order, or raise where that is not possible.

    >>> position_pairs(["a", "b"], [("b", "a")])
    [(1, 0)]
    """
    at = {name: position for position, name in enumerate(names)}
    found = []
    for pair in pairs:
        if len(pair) != 2:
            raise InputError(f"an edge joins two variables; got {quote_all([str(end) for end in pair])}")
        first, second = (_position(at, name, twins or {}, "the edge") for name in pair)
        if first == second:
            raise InputError(f"{quote(pair[0])} cannot have an edge with itself")
        found.append((first, second))
    return found


def position_tiers(
    names: Sequence[str], tiers: Iterable[Iterable[str]], twins: Mapping[str, str] | None = None
) -> tuple[int | None, ...] | None:
    """Return the tier of each variable; None of those in no tier, and of all if there are none.

    >>> position_tiers(["a", "b", "c"], [["c"], ["a"]])
    (1, None, 0)
    """
    at = {name: position for position, name in enumerate(names)}
    found: list[int | None] = [None] * len(names)
    for number, group in enumerate(tiers):
        for name in group:
            here = _position(at, name, twins or {}, "the tier")
            if found[here] is not None:
                raise InputError(f"{quote(name)} is in the tiers twice; a variable is in one of them")
            found[here] = number
    return None if all(tier is None for tier in found) else tuple(found)


def _position(at: Mapping[str, int], name: str, twins: Mapping[str, str], what: str) -> int:
    if name in twins:
        raise InputError(
            f"{quote(name)} is a duplicate of {quote(twins[name])} and is not fitted; "
            f"name {what} with {quote(twins[name])}"
        )
    if name not in at:
        raise InputError(f"no variable {quote(name)} for {what}; there are {quote_all(list(at))}")
    return at[name]


def _sets(d: int, pairs: Pairs) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(d)]
    for a, b in pairs:
        found[a].add(b)
        found[b].add(a)
    return found


def _matrix(d: int, pairs: Pairs) -> BoolMatrix:
    found = np.zeros((d, d), dtype=bool)
    for a, b in pairs:
        found[a, b] = True
    return found
