"""From what an engine found to edges: by p-values up to a cutoff, or as the engine itself decided."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpmnet.engines.base import Found, Problem, Stop
from gpmnet.errors import InputError, quote_all
from gpmnet.selection import Chosen, Cutoff, choose_edges
from gpmnet.testing.strength import log_p_at_most


def decide(found: Found, problem: Problem, cutoff: Cutoff) -> Chosen:
    """Return the edges: those the engine decided on, or those up to the cutoff; in both cases those that are required."""
    required, decided = _is_required(found, problem), found.decided()
    if decided is None:
        return choose_edges(_log_p(found, cutoff.min_strength), _n_tests(problem), cutoff, required)
    return Chosen(decided | required, np.exp(found.log_p), np.full(len(decided), np.nan))


def _n_tests(problem: Problem) -> int:
    return problem.d * (problem.d - 1) // 2 - len(problem.forbidden)


def _log_p(found: Found, least: float) -> NDArray[np.float64]:
    """Return the log p-values of the hypothesis that a strength is at most `least`.

    The larger of that of no dependence, which is a part of the hypothesis and is guarded against missed neighbors in
    more ways, and the one from the strength's standard error.
    """
    if not least:
        return found.log_p
    if np.isnan(found.strength_error).any():
        raise InputError(
            "min_strength needs standard errors of the strengths, which the engine does not give"
        )
    weak = log_p_at_most(least, found.strength, found.strength_error, found.strength_excess)
    return np.maximum(found.log_p, weak)


def _is_required(found: Found, problem: Problem) -> NDArray[np.bool_]:
    first, second = problem.required.T
    return np.isin(found.first * problem.d + found.second, first * problem.d + second)


def cautions_of(stops: Sequence[Stop], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a reader should know of solvers that stopped at their caps, one sentence a solver."""
    by_solver: dict[str, list[str]] = {}
    for stop in stops:
        who = by_solver.setdefault(stop.solver, [])
        if names[stop.variable] not in who:
            who.append(names[stop.variable])
    return tuple(f"{solver} stopped at its cap for {quote_all(who)}" for solver, who in by_solver.items())
