"""PC inside a Markov network: skeleton, colliders, and the directions that follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpmnet.causal.orient import oriented
from gpmnet.causal.skeleton import (
    Limits,
    PValues,
    Remembered,
    Set,
    Skeleton,
    candidates,
    pc_skeleton,
)
from gpmnet.checks import check_choice, check_number
from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.knowledge import Knowledge
from gpmnet.directed.meek import BoolMatrix, Collider
from gpmnet.errors import InputError, quote_all
from gpmnet.network import MarkovNetwork
from gpmnet.parts import Part
from gpmnet.progress import Progress, silent
from gpmnet.testing.ci import CITest

COLLIDERS = ("separator", "largest")
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Discovery:
    """What a search for directions found.

    Attributes
    ----------
    graph : CPDAG
    n_evaluations : int
        Tests that were made, or scores that were computed.
    contradictions : tuple of (str, str, str)
        Colliders (a, c, b), a -> c <- b, on which the tests and the graph do not agree; none where all answers fit.
    """

    graph: CPDAG
    n_evaluations: int
    contradictions: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class PCOptions(Part):
    """Settings of PC.

    Attributes
    ----------
    alpha : float
        A pair is separated by a set given which its p-value is at least this.
    most_given : int or None
        Largest conditioning set; None is as many as the rows allow (`CITest.most_members`).
    colliders : {"largest", "separator"}
        When a - c - b, with a and b not adjacent, is a collider a -> c <- b. "largest": c is not in the set with the largest
        p-value of a and b, of these: the one that separated them in the search for the skeleton, none, c, and all
        neighbors of either end with and without c. Inside a network fewer are tested: only the one that separated them,
        and that with c put in or taken out; and of a pair that is no edge of the network, no more than all neighbors of
        one end, if they separate it, since then c is no collider. "separator": c is not in the set that separated them,
        and a pair that is no edge of the network has no common effect. This takes fewer tests and is right less often,
        since edges of causes of a common effect are those that a network misses most.
    """

    alpha: float = 0.05
    most_given: int | None = None
    colliders: str = "largest"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "alpha", 0, 1, open_low=True, open_high=True)
        if self.most_given is not None:
            check_number(self, "most_given", 0, integer=True)
        check_choice(self, "colliders", COLLIDERS)


def pc(
    data: Any,
    network: MarkovNetwork | None = None,
    *,
    options: PCOptions | None = None,
    knowledge: Knowledge | None = None,
    progress: Progress = silent,
) -> Discovery:
    """Return the class of directed graphs that PC-stable finds inside a Markov network.

    The network of a law that comes from a directed graph contains every edge of it, and between causes of a common
    effect edges of its own. So only edges of the network are tested whose ends have a common neighbor, since the others
    cannot be of the second kind, and only given sets that can separate them (`gpmnet.causal.skeleton.CanSeparate`).

    Parameters
    ----------
    data : table, path or CITest
        What the network was learned from.
    network : MarkovNetwork, optional
        Without one, every pair is tested.
    options : PCOptions, optional
    knowledge : Knowledge, optional

    Examples
    --------
    >>> from gpmnet import fit
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 500))
    >>> table = {"a": a, "b": b, "c": a + b + rng.normal(size=500)}
    >>> test = CITest(table)
    >>> pc(test, fit(test.table)).graph.compelled
    (('a', 'c'), ('b', 'c'))
    """
    test, options = CITest.of(data), options or PCOptions()
    known = arrows_of(knowledge, test.names)
    start = None if network is None else inside(network, test.names)
    most = test.most_members if options.most_given is None else options.most_given
    return search(test.p_values, test.names, options.with_params(most_given=most), start, known, progress)


def known_of(knowledge: Knowledge | None, names: tuple[str, ...]) -> Knowledge:
    """Return what is known of some variables, or raise where it was said of others."""
    if knowledge is not None and knowledge.names != names:
        raise InputError(
            f"what is known is about {quote_all(knowledge.names)}, the table has {quote_all(names)}; "
            "use Knowledge.from_names with the names of the table"
        )
    return knowledge or Knowledge(names)


def arrows_of(knowledge: Knowledge | None, names: tuple[str, ...]) -> Knowledge:
    """Return what is known, for a search that keeps arrows and tiers only."""
    known = known_of(knowledge, names)
    if known.has_pairs:
        raise InputError(
            "PC and GES take arrows and tiers; pairs that are joined or apart are for the search over orders"
        )
    return known


def inside(network: MarkovNetwork, names: tuple[str, ...]) -> BoolMatrix:
    """Return the edges of a network among some variables, by position among these."""
    missing = [name for name in names if name not in network]
    if missing:
        raise InputError(
            f"the table does not belong to the network, which has no variable {quote_all(missing)}; "
            "give the table that it was learned from"
        )
    at = [network.position(name) for name in names]
    adjacency: Any = network.adjacency
    return np.asarray(
        adjacency[at][:, at].toarray() if not isinstance(adjacency, np.ndarray) else adjacency[np.ix_(at, at)]
    )


def search(
    p_values: PValues,
    names: tuple[str, ...],
    options: PCOptions,
    start: BoolMatrix | None,
    known: Knowledge,
    progress: Progress = silent,
) -> Discovery:
    """Return what PC finds with any test, starting from the graph `start` (d, d) or from the complete one."""
    everything = ~np.eye(len(names), dtype=bool)
    limits = Limits(
        (everything if start is None else start) & ~known.no_edge,
        known.edges,
        known.forbidden,
        options.most_given,
        start,
    )
    test = Remembered(p_values)
    skeleton = pc_skeleton(test, options.alpha, limits, progress)
    by_rule = _by_separator if options.colliders == "separator" else _by_largest
    found = by_rule(Asked(test, options.alpha, limits.most), skeleton, limits)
    graph, wrong = oriented(names, skeleton.adjacent, found, known)
    told = tuple((names[a], names[c], names[b]) for a, c, b in wrong)
    return Discovery(graph, test.n_tests, told)


@dataclass(frozen=True, eq=False)
class Asked:
    """Tests of pairs given several sets each, all at once."""

    test: PValues
    alpha: float
    most: int | None

    def __call__(self, sets: Mapping[Pair, Sequence[Set]]) -> dict[Pair, list[tuple[float, Set]]]:
        """Return, by pair, the p-value given each set that is small enough, once."""
        asked = [
            (pair, given)
            for pair, some in sets.items()
            for given in dict.fromkeys(some)
            if self.most is None or len(given) <= self.most
        ]
        found = self.test([pair for pair, _ in asked], [given for _, given in asked])
        answers: dict[Pair, list[tuple[float, Set]]] = {pair: [] for pair in sets}
        for (pair, given), p in zip(asked, found.tolist(), strict=True):
            answers[pair].append((p, given))
        return answers


def _by_separator(_ask: Asked, skeleton: Skeleton, _limits: Limits) -> list[Collider]:
    """Return the colliders by what separated a pair in the search, the surest separation first."""
    found = [
        (float(skeleton.largest[a, b]), (a, c, b))
        for (a, b), separator in sorted(skeleton.separators.items())
        for c in np.flatnonzero(skeleton.adjacent[a] & skeleton.adjacent[b]).tolist()
        if c not in separator
    ]
    return _surest_first(found)


def _by_largest(ask: Asked, skeleton: Skeleton, limits: Limits) -> list[Collider]:
    """Return the colliders by the set with the largest p-value; surest is where sets with the middle do worst."""
    adjacent = skeleton.adjacent
    near = candidates(adjacent, limits.not_parent)
    count = adjacent.astype(np.int64)
    apart = ~adjacent & (count @ count > 0)
    middles = {
        (a, b): np.flatnonzero(adjacent[a] & adjacent[b]).tolist()
        for a, b in np.argwhere(np.triu(apart, 1)).tolist()
    }
    separated = {pair: skeleton.separators[pair] for pair in middles if pair in skeleton.separators}
    more = {
        pair: _telling_sets(near, pair, middles[pair])
        if limits.network is None
        else _switched(given, middles[pair])
        for pair, given in separated.items()
    }
    answers = ask({pair: [given, *more[pair]] for pair, given in separated.items()})
    # The network does not join the others, so it is expected that no neighbor of both is a common effect.
    unclear = [pair for pair in middles if pair not in separated]
    for which in (0, 1):
        asked = {pair: _sides(near, pair)[which : which + 1] for pair in unclear}
        whole = {pair: [s for s in sets if set(middles[pair]) <= set(s)] for pair, sets in asked.items()}
        told = ask(whole)
        unclear = [pair for pair in unclear if not any(p >= ask.alpha for p, _ in told[pair])]
    answers |= ask({pair: list(_telling_sets(near, pair, middles[pair])) for pair in unclear})
    found: list[tuple[float, Collider]] = []
    for (a, b), tested in answers.items():
        for c in middles[a, b]:
            without, with_it = (
                max((p for p, given in tested if (c in given) == has), default=0.0) for has in (False, True)
            )
            if without > with_it:
                found.append((without - with_it, (a, c, b)))
    return _surest_first(found)


def _switched(given: Set, middle: list[int]) -> Iterator[Set]:
    """Yield a set with each of some members put in where it is not, or taken out where it is."""
    yield from (tuple(sorted({*given} ^ {c})) for c in middle)


def _sides(near: list[list[int]], pair: tuple[int, int]) -> list[Set]:
    """Return the neighbors of either end of a pair, the fewer first."""
    return sorted((tuple(k for k in near[end] if k not in pair) for end in pair), key=len)


def _telling_sets(near: list[list[int]], pair: tuple[int, int], middle: list[int]) -> Iterator[Set]:
    """Yield sets of which some separate two that are not adjacent: with each common neighbor, and without."""
    sides = _sides(near, pair)
    yield ()
    yield from sides
    for c in middle:
        yield (c,)
        yield from (tuple(k for k in side if k != c) for side in sides)


def _surest_first(found: list[tuple[float, Collider]]) -> list[Collider]:
    return [collider for _, collider in sorted(found, key=lambda one: (-one[0], one[1]))]
