"""The edges of half-samples: an engine's fit of each half and the choice of edges, without Omega and shapes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpmnet.engines.base import Engine, Problem
from gpmnet.engines.decide import decide
from gpmnet.errors import InputError
from gpmnet.jobs import Arrays, Given, Tasks, Workplace, run_tasks
from gpmnet.memory import refusals_told
from gpmnet.progress import silent
from gpmnet.selection import Cutoff
from gpmnet.selection.stability import half_sample
from gpmnet.table import Table
from gpmnet.table.varying import varying

LEAST_ROWS = 20
"""Tables with fewer rows have no half-samples that say anything."""
_FORTH, _BACK = 1, 2


@dataclass(frozen=True, eq=False)
class Asked:
    """What every half-sample is asked.

    Attributes
    ----------
    engine : Engine
    problem : Problem
        Of all rows; these travel apart from it.
    cutoff : Cutoff
    """

    engine: Engine
    problem: Problem
    cutoff: Cutoff


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often pairs of variables were edges of half-samples; those that never were are left out.

    Attributes
    ----------
    first, second : ndarray of int, shape (m,)
        Positions, first < second, in their order.
    share : ndarray of shape (m,)
        Of the halves in which the pair was an edge.
    forth, back : ndarray of shape (m,)
        Of the halves in which the arrow first -> second, or second -> first, was in every directed graph of the class.
    mean_edges : float
        Edges of a half, those not counted that were required.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    share: NDArray[np.float64]
    forth: NDArray[np.float64]
    back: NDArray[np.float64]
    mean_edges: float

    def of(
        self, first: NDArray[np.intp], second: NDArray[np.intp], d: int
    ) -> tuple[NDArray[np.float64], ...]:
        """Return the shares (all, forth, back) of some pairs, 0 for those that were never an edge."""
        codes, asked = self.first * d + self.second, first * d + second
        at = np.searchsorted(codes, asked)
        there = np.isin(asked, codes)
        found = []
        for share in (self.share, self.forth, self.back):
            column = np.zeros(len(asked))
            column[there] = share[at[there]]
            found.append(column)
        return tuple(found)


def check_halves(table: Table) -> None:
    """Raise if a table has no half-samples that say what they should."""
    if table.groups is not None:
        raise InputError(
            "stability draws halves of single rows, which depend on each other here: leave out groups"
        )
    if table.has_gaps:
        raise InputError(
            'stability needs complete rows; choose missing="drop" (--missing drop), or leave stability out'
        )


def half_edges(given: Given, asked: Asked, number: int) -> Arrays:
    """Return the edges of one half-sample, (m, 2) positions, and which way the arrow of each goes: 1 forth, 2 back, 0.

    Given is the table of all rows. A variable that does not vary in the half has no edge in it.
    """
    problem = replace(asked.problem, encoded=given.value)
    rows = half_sample(problem.n, number, problem.seed)
    own_seed = int(np.random.default_rng([problem.seed, number]).integers(2**31))
    half, at = part_of(problem, rows, own_seed)
    encoded = half.encoded
    with refusals_told():
        found = asked.engine.fit(half)
        is_edge = decide(found, half, asked.cutoff).is_edge
    first, second = found.first[is_edge], found.second[is_edge]
    way = np.zeros(len(first), dtype=np.int8)
    if (directions := found.directions()) is not None:
        code = {"->": _FORTH, "<-": _BACK}
        for k, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            way[k] = code.get(directions.direction(encoded.names[a], encoded.names[b]), 0)
    return {"ends": np.stack([at[first], at[second]], axis=1).astype(np.int64), "way": way}


def part_of(problem: Problem, rows: NDArray[np.intp], seed: int) -> tuple[Problem, NDArray[np.intp]]:
    """Return the problem of some rows, by their increasing positions, over what varies in them; and where that was."""
    encoded, at = varying(problem.encoded.take(rows))
    part = replace(
        problem,
        encoded=encoded,
        forbidden=_among(problem.forbidden, at, problem.d),
        required=_among(problem.required, at, problem.d),
        arrows=_among(problem.arrows, at, problem.d),
        tiers=None if problem.tiers is None else tuple(problem.tiers[k] for k in at.tolist()),
        clusters=None if problem.clusters is None else problem.clusters[rows],
        seed=seed,
        progress=silent,
    )
    return part, at


def _among(pairs: NDArray[np.intp], at: NDArray[np.intp], d: int) -> NDArray[np.intp]:
    """Return pairs by their positions among the variables `at`, without those that are not there."""
    place = np.full(d, -1, dtype=np.intp)
    place[at] = np.arange(len(at))
    moved = place[pairs].reshape(-1, 2)
    return moved[(moved >= 0).all(axis=1)]


def frequencies(asked: Asked, n_pairs: int, place: Workplace) -> Frequencies:
    """Return how often pairs are edges in the halves of `n_pairs` cuts of the rows, kept by the problem's shelf."""
    problem = asked.problem
    if problem.n < LEAST_ROWS:
        raise InputError(f"stability needs at least {LEAST_ROWS} rows; the table has {problem.n}")
    shelf = problem.shelf.section("half-samples")
    tasks = Tasks(half_edges, problem.encoded, replace(asked, problem=problem.without_rows()))
    halves = run_tasks(tasks, 2 * n_pairs, place, shelf, problem.progress, "half-samples")
    return counted(halves, problem.d, problem.required)


def counted(halves: list[Arrays], d: int, required: NDArray[np.intp]) -> Frequencies:
    """Return the shares of halves in which pairs are edges, from the edges of each."""
    ends = np.concatenate([half["ends"] for half in halves]).reshape(-1, 2)
    way = np.concatenate([half["way"] for half in halves])
    codes, at = np.unique(ends @ np.array([d, 1]), return_inverse=True)
    size = len(halves)
    found = int(np.count_nonzero(~np.isin(codes, required @ np.array([d, 1]))[at]))

    def share(chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.bincount(at[chosen], minlength=len(codes)) / size

    shares = share(way >= 0), share(way == _FORTH), share(way == _BACK)
    return Frequencies(codes // d, codes % d, *shares, mean_edges=found / size)
