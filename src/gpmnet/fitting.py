"""One fit of one table: what was asked (`Plan`), the steps in their order (`fit_table`), what comes out (`Outcome`)."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gpmnet import __version__
from gpmnet.directed.knowledge import position_pairs, position_tiers
from gpmnet.engines.base import Engine, Found, Problem, check_fits, looked_at
from gpmnet.engines.decide import cautions_of, decide
from gpmnet.engines.resampled import Asked, frequencies
from gpmnet.errors import InputError, quote
from gpmnet.jobs import Where
from gpmnet.memory import refusals_told
from gpmnet.network import Facts, MarkovNetwork, Origin
from gpmnet.network.build import build_network, edges_alone, joint_findings, shown_edges
from gpmnet.network.density import density_note
from gpmnet.network.joint import group_caution
from gpmnet.network.pairs import RESAMPLED
from gpmnet.network.queries import neighbor_lists
from gpmnet.network.resampling import Resampling
from gpmnet.parallel import limited_threads
from gpmnet.progress import Progress, silent
from gpmnet.selection import Cutoff
from gpmnet.table import Table

_PACKAGES = ("numpy", "scipy", "torch", "pandas", "scikit-learn")
_PHASES = ("load", "test", "groups", "omega")


@dataclass(frozen=True, eq=False)
class Plan:
    """What was asked of a fit, every parameter checked.

    Attributes
    ----------
    engine : Engine
    cutoff : Cutoff
    forbid, require, arrows : sequence of (name, name)
    tiers : sequence of collections of str
    device : str
    n_jobs : int or None
    seed : int
    settings : mapping
        What repeats the fit, for the network's facts.
    stability : int
        Pairs of half-samples; 0 for none.
    where : Where
        Where half-samples are fitted.
    """

    engine: Engine
    cutoff: Cutoff
    forbid: list[tuple[str, str]]
    require: list[tuple[str, str]]
    arrows: list[tuple[str, str]]
    tiers: list[list[str]]
    device: str
    n_jobs: int | None
    seed: int
    settings: Mapping[str, Any]
    stability: int = 0
    where: Where = field(default_factory=Where)

    def problem(self, table: Table, progress: Progress = silent) -> tuple[Problem, tuple[str, ...]]:
        """Return what the engine is given, and a note if these are not all rows."""
        names, twins = table.names, table.schema.duplicates
        known = [
            np.array(position_pairs(names, given, twins), dtype=np.intp).reshape(-1, 2)
            for given in (self.forbid, self.require, self.arrows)
        ]
        forbidden, required = (np.unique(np.sort(pairs, axis=1), axis=0) for pairs in known[:2])
        both = {*map(tuple, forbidden.tolist())} & {*map(tuple, required.tolist())}
        if both:
            a, b = (table.names[at] for at in min(both))
            raise InputError(f"the pair {quote(a)}, {quote(b)} is both forbidden and required")
        encoded, skipped = looked_at(table, self.engine, self.seed)
        tiers = position_tiers(names, self.tiers, twins)
        alpha = self.cutoff.value if self.cutoff.of == "p" else 0.0
        return Problem(
            encoded, forbidden, required, known[2], tiers, alpha, self.seed, self.device, progress
        ), skipped

    def facts(self, table: Table, origin: Origin | None) -> Facts:
        """Return what is known of a run before it begins."""
        return Facts(
            schema=table.schema,
            settings=dict(self.settings),
            seed=self.seed,
            versions={"gpmnet": __version__, **{name: version(name) for name in _PACKAGES}},
            python=platform.python_version(),
            origin=origin,
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a fit has learned.

    Attributes
    ----------
    network : MarkovNetwork
    omega : (d, d) matrix
    learned : mapping
        What the engine learned besides, by name.
    timings : dict
        Seconds per phase.
    n_iter : int
    cautions : tuple of str
        Solvers that stopped at their caps, a sentence each; none if all converged.
    hidden : str
        What near-copies may have explained away; empty if nothing.
    """

    network: MarkovNetwork
    omega: NDArray[np.float64] | sparse.csr_array
    learned: Mapping[str, Any]
    timings: dict[str, float]
    n_iter: int
    cautions: tuple[str, ...]
    hidden: str


def fit_table(
    plan: Plan,
    table: Table,
    *,
    begun: float,
    origin: Origin | None = None,
    progress: Progress = silent,
    on_edges: Callable[[MarkovNetwork], None] | None = None,
) -> Outcome:
    """Return what the plan's engine learns from a table; `begun` is when its loading did, by `time.perf_counter`."""
    engine, cutoff, clock = plan.engine, plan.cutoff, [begun]
    check_fits(engine, table, plan.device)
    problem, skipped = plan.problem(table, progress)
    facts = plan.facts(table, origin)
    clock.append(time.perf_counter())
    with refusals_told(), limited_threads(plan.n_jobs):
        found = engine.fit(problem)
        clock.append(time.perf_counter())
        chosen = decide(found, problem, cutoff)
        said = cutoff if engine.own_rule is None else None
        if on_edges is not None:
            on_edges(edges_alone(table, found, chosen, said, facts))
        joint = found.joint(chosen.is_edge)
        clock.append(time.perf_counter())
        shown = shown_edges(problem.d, chosen, found.strength)
        described = found.describe(chosen.is_edge, shown)
    clock.append(time.perf_counter())
    timings = dict(zip(_PHASES, np.diff(clock).tolist(), strict=True))
    cautions = cautions_of((*found.stops, *described.stops), table.names)
    groups, findings = joint_findings(table, joint, cutoff, _neighbors(found, chosen.is_edge, problem.d))
    hidden = group_caution(groups, findings)
    dense = density_note(problem.d, found.strength[chosen.is_edge], cutoff.min_strength)
    said_first = (*skipped, *cautions, *([hidden] if hidden else []), *dense)
    notes = (*said_first, *([engine.own_rule] if engine.own_rule else []), *found.notes)
    seconds = {phase: round(value, 3) for phase, value in timings.items()}
    facts = replace(facts, seconds=seconds, warnings=notes)
    network, omega = build_network(table, found, chosen, described, shown, said, facts)
    network = replace(network, groups=groups, joint_findings=findings)
    if plan.stability:
        network = with_stability(network, plan, problem, table)
        timings["stability"] = time.perf_counter() - clock[-1]
    n_iter = max(found.n_iter, described.n_iter)
    return Outcome(network, omega, found.learned, timings, n_iter, cautions, hidden or "")


def with_stability(network: MarkovNetwork, plan: Plan, problem: Problem, table: Table) -> MarkovNetwork:
    """Return a network whose pairs have their stability: how often they are edges in half-samples of its rows.

    The half-samples are of the rows that the engine looked at, and edges are chosen in them as they were in all.
    """
    where = plan.where if plan.where.workers is not None else replace(plan.where, workers=plan.n_jobs)
    found = frequencies(Asked(plan.engine, problem, plan.cutoff), plan.stability, where)
    place = {name: at for at, name in enumerate(table.names)}
    at = np.array([place.get(name, -1) for name in network.names], dtype=np.intp)
    pairs = network.pairs
    first, second = at[pairs.first], at[pairs.second]
    known = (first >= 0) & (second >= 0)  # a column that repeats another one was not asked
    # Positions among the table's variables keep the order of the network's names: first stays first.
    shares = found.of(first[known], second[known], problem.d)
    columns = {name: np.full(len(pairs), np.nan) for name in RESAMPLED}
    for name, share in zip(
        RESAMPLED if plan.engine.takes_directions else RESAMPLED[:1], shares, strict=False
    ):
        columns[name][known] = share
    tests = problem.d * (problem.d - 1) // 2 - len(problem.forbidden) - len(problem.required)
    drawn = Resampling(plan.stability, problem.n // 2, found.mean_edges, tests)
    often = np.isin(found.first * problem.d + found.second, first[known] * problem.d + second[known])
    missed = int(np.count_nonzero(~often & (found.share > 0.5)))
    more = (
        (f"{missed:,} pairs that did not come close in all rows are edges in most half-samples",)
        if missed
        else ()
    )
    facts = replace(network.facts, warnings=(*network.facts.warnings, drawn.text, *more))
    return replace(network, pairs=replace(pairs, **columns), resampling=drawn, facts=facts)


def _neighbors(found: Found, is_edge: NDArray[np.bool_], d: int) -> list[list[int]]:
    ends = (found.first[is_edge].tolist(), found.second[is_edge].tolist())
    return neighbor_lists(d, zip(*ends, strict=True))
