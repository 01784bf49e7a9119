"""PC inside a Markov network: skeleton, colliders, and the directions that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpmnet.causal.knowledge import Knowledge, KnownArrows
from gpmnet.causal.orient import oriented
from gpmnet.causal.skeleton import (
    Limits,
    PValues,
    Remembered,
    Set,
    Skeleton,
    candidates,
    pc_skeleton,
    sets_of_size,
)
from gpmnet.checks import check_choice, check_number
from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.meek import BoolMatrix, Collider
from gpmnet.errors import InputError, quote_all
from gpmnet.network import MarkovNetwork
from gpmnet.parts import Part
from gpmnet.progress import Progress, silent
from gpmnet.testing.ci import CITest

COLLIDERS = ("separator", "largest")


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
    colliders : {"separator", "largest"}
        When a - c - b, with a and b not adjacent, is a collider a -> c <- b: c is not in the set that separated a and b
        in the search for the skeleton; or not in the one with the largest p-value of all sets of neighbors of
        either end, which takes more tests and is right more often.
    """

    alpha: float = 0.01
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

    The network of a law that comes from a directed graph contains every edge of it. So only its edges are tested, with
    conditioning sets among the neighbors of their ends; and a pair that is no edge of it has no common effect, which
    saves the tests for colliders too.

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
    known = (knowledge or Knowledge()).matrices(test.names)
    start = None if network is None else inside(network, test.names)
    most = test.most_members if options.most_given is None else options.most_given
    return search(test.p_values, test.names, options.with_params(most_given=most), start, known, progress)


def inside(network: MarkovNetwork, names: tuple[str, ...]) -> BoolMatrix:
    """Return the edges of a network among some variables, by position among these."""
    missing = [name for name in names if name not in network]
    if missing:
        raise InputError(
            f"the network has no variable {quote_all(missing)}, which the table has: it was learned from another"
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
    known: KnownArrows,
    progress: Progress = silent,
) -> Discovery:
    """Return what PC finds with any test, starting from the graph `start` (d, d) or from the complete one."""
    everything = ~np.eye(len(names), dtype=bool)
    limits = Limits(
        (everything if start is None else start) & ~known.no_edge,
        known.edges,
        known.forbidden,
        options.most_given,
    )
    test = Remembered(p_values)
    skeleton = pc_skeleton(test, options.alpha, limits, progress)
    by_rule = _by_separator if options.colliders == "separator" else _by_largest
    found = by_rule(test, skeleton, limits)
    graph, wrong = oriented(names, skeleton.adjacent, found, known)
    told = tuple((names[a], names[c], names[b]) for a, c, b in wrong)
    return Discovery(graph, test.n_tests, told)


def _triples(skeleton: Skeleton) -> list[tuple[int, int, list[int]]]:
    """Return the pairs that a test separated, each with the common neighbors."""
    near = skeleton.adjacent
    return [(a, b, np.flatnonzero(near[a] & near[b]).tolist()) for a, b in sorted(skeleton.separators)]


def _by_separator(_test: PValues, skeleton: Skeleton, _limits: Limits) -> list[Collider]:
    """Return the colliders by what separated a pair in the search, the surest separation first."""
    found = [
        (skeleton.largest[a, b], (a, c, b))
        for a, b, middle in _triples(skeleton)
        for c in middle
        if c not in skeleton.separators[a, b]
    ]
    return [collider for _, collider in sorted(found, key=lambda one: (-one[0], one[1]))]


def _by_largest(test: PValues, skeleton: Skeleton, limits: Limits) -> list[Collider]:
    """Return the colliders by the set with the largest p-value; surest is where sets with the middle do worst."""
    near = candidates(skeleton.adjacent, limits.not_parent)
    triples = [triple for triple in _triples(skeleton) if triple[2]]
    asked: list[tuple[tuple[int, int], Set]] = []
    for a, b, _ in triples:
        most = max(len(near[a]), len(near[b]))
        most = most if limits.most is None else min(most, limits.most)
        sets = [given for size in range(most + 1) for given in sets_of_size(near, (a, b), size)]
        # The set that separated them may hold a neighbor that was removed since.
        asked += [((a, b), given) for given in dict.fromkeys([skeleton.separators[a, b], *sets])]
    p_values = test([pair for pair, _ in asked], [given for _, given in asked])
    answers: dict[tuple[int, int], list[tuple[float, Set]]] = {}
    for (pair, given), p in zip(asked, p_values.tolist(), strict=True):
        answers.setdefault(pair, []).append((p, given))
    found: list[tuple[float, Collider]] = []
    for a, b, middle in triples:
        for c in middle:
            without, with_it = (
                max((p for p, given in answers[a, b] if (c in given) == has), default=0.0)
                for has in (False, True)
            )
            if without > with_it:
                found.append((without - with_it, (a, c, b)))
    return [collider for _, collider in sorted(found, key=lambda one: (-one[0], one[1]))]
