"""The edges of half-samples: an engine's fit of each half and the choice of edges, without Omega and shapes.

What is drawn are rows or, where rows belong together, whole groups of them. Of a table with gaps a half has its rows of
every complete draw, and is asked what the table was: each draw's half is fitted and the answers pooled, or its tests use the
rows that have what they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpmnet.engines.base import Engine, Problem
from gpmnet.engines.decide import decide
from gpmnet.engines.pooled import fit_draws
from gpmnet.errors import InputError
from gpmnet.jobs import Arrays, Given, Tasks, Workplace, run_tasks
from gpmnet.memory import refusals_told
from gpmnet.progress import silent
from gpmnet.selection import Cutoff
from gpmnet.selection.stability import half_sample
from gpmnet.table.dependence import LEAST_GROUPS
from gpmnet.table.varying import varying

LEAST_UNITS = 2 * LEAST_GROUPS
"""Tables with fewer rows, or groups of rows, have no half-samples that say anything: a half is tested as a table is."""
_FORTH, _BACK = 1, 2


@dataclass(frozen=True, eq=False)
class Asked:
    """What every half-sample is asked.

    Attributes
    ----------
    engine : Engine
    problems : tuple of Problem
        Of all rows, one for each complete draw that is fitted; the rows of the first travel apart from it.
    cutoff : Cutoff
    """

    engine: Engine
    problems: tuple[Problem, ...]
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


def check_halves(problems: Sequence[Problem]) -> None:
    """Raise if a table has no half-samples that say what they should."""
    count = len(units_of(problems))
    if count < LEAST_UNITS:
        what = "rows" if problems[0].clusters is None else "groups of rows"
        raise InputError(
            f"stability needs at least {LEAST_UNITS} {what}, of which halves are drawn; got {count}"
        )


def units_of(problems: Sequence[Problem]) -> NDArray[np.integer]:
    """Return what is drawn, in the order in which the draws of a table have them: groups, or rows of the table.

    That order depends on what rows hold, not on where they stand; several draws of a long table may look at different rows.
    """
    every = np.concatenate([_units(one) for problem in problems for one in _draws(problem)])
    return every[np.sort(np.unique(every, return_index=True)[1])]


def rows_of(problems: Sequence[Problem], units: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the rows of the table that some of its units have."""
    every = (one for problem in problems for one in _draws(problem))
    return np.unique(np.concatenate([one.encoded.rows[np.isin(_units(one), units)] for one in every]))


def _units(problem: Problem) -> NDArray[np.integer]:
    """Return the unit of each row."""
    return problem.encoded.rows if problem.clusters is None else problem.clusters


def half_edges(given: Given, asked: Asked, number: int) -> Arrays:
    """Return the edges of one half-sample, (m, 2) positions, and which way the arrow of each goes: 1 forth, 2 back, 0.

    Given is the table of all rows. A variable that does not vary in the half has no edge in it.
    """
    problems = (replace(asked.problems[0], encoded=given.value), *asked.problems[1:])
    seed, units = problems[0].seed, units_of(problems)
    rows = rows_of(problems, units[half_sample(len(units), number, seed)])
    own_seed = int(np.random.default_rng([seed, number]).integers(2**31))
    halves, at = part_of(problems, rows, own_seed)
    encoded = halves[0].encoded
    if len(at) < 2:  # no pair is left
        return {"ends": np.empty((0, 2), dtype=np.int64), "way": np.empty(0, dtype=np.int8)}
    with refusals_told():
        found = fit_draws(asked.engine, halves)
        is_edge = decide(found, halves[0], asked.cutoff).is_edge
    first, second = found.first[is_edge], found.second[is_edge]
    way = np.zeros(len(first), dtype=np.int8)
    if (directions := found.directions()) is not None:
        code = {"->": _FORTH, "<-": _BACK}
        for k, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            way[k] = code.get(directions.direction(encoded.names[a], encoded.names[b]), 0)
    return {"ends": np.stack([at[first], at[second]], axis=1).astype(np.int64), "way": way}


def part_of(
    problems: Sequence[Problem], rows: NDArray[np.integer], seed: int
) -> tuple[tuple[Problem, ...], NDArray[np.intp]]:
    """Return the problems of some rows of the table over what varies in them, in every draw; and where that was."""
    every = [one for problem in problems for one in _draws(problem)]
    taken, at = varying([one.encoded.take(np.flatnonzero(np.isin(one.encoded.rows, rows))) for one in every])
    parts = []
    for one, encoded in zip(every, taken, strict=True):
        held = None if one.clusters is None else one.clusters[np.isin(one.encoded.rows, rows)]
        part = replace(
            one,
            encoded=encoded,
            forbidden=_among(one.forbidden, at, one.d),
            required=_among(one.required, at, one.d),
            arrows=_among(one.arrows, at, one.d),
            tiers=None if one.tiers is None else tuple(one.tiers[k] for k in at.tolist()),
            clusters=held,
            seed=seed,
            progress=silent,
        )
        parts.append(part)
    found, left = [], iter(parts)
    for problem in problems:
        first, *others = (next(left) for _ in _draws(problem))
        found.append(replace(first, others=tuple(others)))
    return tuple(found), at


def _draws(problem: Problem) -> tuple[Problem, ...]:
    return problem, *problem.others


def _among(pairs: NDArray[np.intp], at: NDArray[np.intp], d: int) -> NDArray[np.intp]:
    """Return pairs by their positions among the variables `at`, without those that are not there."""
    place = np.full(d, -1, dtype=np.intp)
    place[at] = np.arange(len(at))
    moved = place[pairs].reshape(-1, 2)
    return moved[(moved >= 0).all(axis=1)]


def frequencies(asked: Asked, n_pairs: int, place: Workplace) -> Frequencies:
    """Return how often pairs are edges in the halves of `n_pairs` cuts of the rows, kept by the first problem's shelf."""
    problem, *more = asked.problems
    shelf = problem.shelf.section("half-samples")
    first = replace(problem.without_rows(), others=problem.others)
    sent = replace(asked, problems=(first, *(one.alone() for one in more)))
    tasks = Tasks(half_edges, problem.encoded, sent)
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
