"""The skeleton by PC-stable, inside any graph that contains it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.meek import BoolMatrix
from gpmnet.progress import Progress, silent

FloatMatrix = NDArray[np.float64]
Set = tuple[int, ...]
PValues = Callable[[Sequence[tuple[int, int]], Sequence[Set]], FloatMatrix]
"""Tests of pairs given sets, all by position: p-values of "independent"."""


class Remembered:
    """A test that is asked only what it was not asked before."""

    def __init__(self, p_values: PValues) -> None:
        self._p_values = p_values
        self._known: dict[tuple[tuple[int, int], Set], float] = {}

    @property
    def n_tests(self) -> int:
        """How many tests were made."""
        return len(self._known)

    def __call__(self, pairs: Sequence[tuple[int, int]], given: Sequence[Set]) -> FloatMatrix:
        """Return p-values of pairs, the smaller position first, given increasing sets."""
        keys = list(zip(pairs, given, strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            found = self._p_values([pair for pair, _ in new], [members for _, members in new])
            self._known |= dict(zip(new, found.tolist(), strict=True))
        return np.array([self._known[key] for key in keys])


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Who is adjacent.

    Attributes
    ----------
    adjacent : ndarray of bool, shape (d, d)
    separators : dict
        By pair, the smaller first, the set that separated it; a pair that was never a candidate has none.
    largest : ndarray of shape (d, d)
        The largest p-value of a pair; 0 where none was tested.
    """

    adjacent: BoolMatrix
    separators: dict[tuple[int, int], Set]
    largest: FloatMatrix


@dataclass(frozen=True, eq=False)
class Limits:
    """What a search for a skeleton may look at.

    Attributes
    ----------
    start : ndarray of bool, shape (d, d)
        Symmetric; only these pairs are tested. With the Markov network, which contains the skeleton, the answer is that
        from the complete graph, for fewer tests.
    fixed : ndarray of bool, shape (d, d)
        Symmetric; pairs that stay adjacent untested.
    not_parent : ndarray of bool, shape (d, d)
        Entry (i, j) says that i is not a parent of j. Since the parents of one of two separate them, sets are
        drawn from those who can be parents.
    most : int or None
        Largest set.
    network : ndarray of bool, shape (d, d), optional
        The Markov network, if that is known: then only sets are tested that can separate a pair of it (`CanSeparate`).
    """

    start: BoolMatrix
    fixed: BoolMatrix
    not_parent: BoolMatrix
    most: int | None = None
    network: BoolMatrix | None = None

    @classmethod
    def none(cls, d: int, most: int | None = None) -> Limits:
        """Return limits that allow everything."""
        nothing = np.zeros((d, d), dtype=bool)
        return cls(~np.eye(d, dtype=bool), nothing, nothing, most)


def pc_skeleton(p_values: PValues, alpha: float, limits: Limits, progress: Progress = silent) -> Skeleton:
    """Return the skeleton, and what separated each pair that was removed.

    For s = 0, 1, 2, ...: every pair still adjacent is tested given each set of s other neighbors of either
    end, and is removed at the first set with p >= alpha. Neighbors are those at the beginning of the round
    ("stable"), so that the skeleton does not depend on the order in which pairs are visited, and the k-th sets of all
    pairs can be tested together without a test that a visit one by one would not make.

    References
    ----------
    Spirtes, Glymour, Scheines, "Causation, Prediction, and Search" (2000); Colombo, Maathuis,
    "Order-independent constraint-based causal structure learning", JMLR 15 (2014).
    """
    adjacent = limits.start | limits.fixed
    largest = np.zeros(adjacent.shape)
    separators: dict[tuple[int, int], Set] = {}
    size = 0
    while limits.most is None or size <= limits.most:
        near = candidates(adjacent, limits.not_parent)
        pairs = [(i, j) for i, j in np.argwhere(np.triu(adjacent & ~limits.fixed)).tolist()]
        open_pairs = {pair: sets_of_size(near, pair, size) for pair in pairs}
        if limits.network is not None:
            can_separate = CanSeparate(limits.network, adjacent, limits.not_parent)
            open_pairs = {
                pair: filter(partial(can_separate, pair), sets) for pair, sets in open_pairs.items()
            }
        tested = False
        while open_pairs:
            progress("skeleton", len(separators), len(pairs) + len(separators), f"sets of {size}")
            asked = [
                (pair, given) for pair, sets in open_pairs.items() if (given := next(sets, None)) is not None
            ]
            found = (
                p_values([pair for pair, _ in asked], [given for _, given in asked]) if asked else np.empty(0)
            )
            tested = tested or bool(asked)
            still = {}
            for (pair, given), p in zip(asked, found.tolist(), strict=True):
                i, j = pair
                largest[i, j] = largest[j, i] = max(largest[i, j], p)
                if p >= alpha:
                    adjacent[i, j] = adjacent[j, i] = False
                    separators[pair] = given
                else:
                    still[pair] = open_pairs[pair]
            open_pairs = still
        if not tested and size >= max(map(len, near), default=0):
            break  # no end has that many candidates
        size += 1
    return Skeleton(adjacent, separators, largest)


class CanSeparate:
    """Whether a set can be what separates two variables that a Markov network joins, if they are not adjacent.

    The network joins them then because of common effects. These are adjacent to both, and are no ancestors of either. The
    parents of one end, x say, separate it from the other, y; of them take the fewest that do. They are ancestors of x, and
    each is needed: in the moral graph of the ancestors of x and y, which is a part of the network without the common
    effects, a path leads from it to y that meets neither x nor another member. So there must be a common neighbor c outside
    the set such that each member reaches y in the network without x, c and the other members.

    Nothing else is tested, and a pair whose ends have no common neighbor (any more) stays adjacent untested.

    Parameters
    ----------
    network : ndarray of bool, shape (d, d)
        The Markov network, or any graph that contains it.
    adjacent : ndarray of bool, shape (d, d)
        Who is still adjacent: a graph that contains the skeleton.
    not_parent : ndarray of bool, shape (d, d)
        As in `Limits`: who cannot be an effect of whom.
    """

    def __init__(self, network: BoolMatrix, adjacent: BoolMatrix, not_parent: BoolMatrix) -> None:
        self._near = [_bits(row) for row in network | adjacent]
        self._beside = [_bits(row) for row in adjacent]
        self._effects = [_bits(row) for row in adjacent & ~not_parent]

    def __call__(self, pair: tuple[int, int], given: Set) -> bool:
        """Return whether an increasing set may be one of the smallest that separate a pair."""
        members = sum(1 << s for s in given)
        effects = self._effects[pair[0]] & self._effects[pair[1]] & ~members
        if not given:
            return effects != 0
        sides = [(x, y) for x, y in (pair, pair[::-1]) if members & ~self._beside[x] == 0]
        while effects:
            effect = effects & -effects
            effects ^= effect
            for x, y in sides:
                reached = self._reached(y, ~(members | effect | 1 << x))
                if all(self._near[s] & reached for s in given):
                    return True
        return False

    def _reached(self, start: int, allowed: int) -> int:
        """Return where one gets from a node of the network inside a set, both as bits; with the node itself."""
        found = todo = 1 << start
        while todo:
            node = todo & -todo
            todo ^= node
            new = self._near[node.bit_length() - 1] & allowed & ~found
            found |= new
            todo |= new
        return found


def _bits(row: NDArray[np.bool_]) -> int:
    """Return a row of bool as the bits of a number, the first the lowest."""
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")


def candidates(adjacent: BoolMatrix, not_parent: BoolMatrix) -> list[list[int]]:
    """Return, node by node, the neighbors that can be parents."""
    return [np.flatnonzero(row).tolist() for row in adjacent & ~not_parent.T]


def sets_of_size(near: list[list[int]], pair: tuple[int, int], size: int) -> Iterator[Set]:
    """Yield the sets of candidates of either end of a pair, each once."""
    beside_i, beside_j = ([k for k in near[end] if k not in pair] for end in pair)
    yield from combinations(beside_i, size)
    seen = set(beside_i)
    yield from (given for given in combinations(beside_j, size) if not seen.issuperset(given))
