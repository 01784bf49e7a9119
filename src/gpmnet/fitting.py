"""One fit of one table: the steps in their order (`fit_table`), what comes out (`Outcome`)."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gpmnet.engines.base import Found, Problem, blocks_that_fit, check_gaps
from gpmnet.engines.decide import cautions_of, decide
from gpmnet.engines.pooled import fit_draws
from gpmnet.engines.resampled import Asked, check_halves, frequencies, part_of, units_of
from gpmnet.errors import InputError, OutOfMemoryError
from gpmnet.files import Shelf
from gpmnet.imputing import gap_notes, rarely_together, thin_note
from gpmnet.jobs import Where, Workplace
from gpmnet.jobs.team import team
from gpmnet.memory import MOST_HALVINGS, refusals_told, smaller_blocks
from gpmnet.network import MarkovNetwork, Origin
from gpmnet.network.build import Draft, build_network, edges_alone, joint_findings, shown_edges
from gpmnet.network.density import density_note
from gpmnet.network.joint import group_caution
from gpmnet.network.pairs import Pairs
from gpmnet.network.queries import neighbor_lists
from gpmnet.network.relations import relation_note
from gpmnet.network.resampling import Resampling, with_shares
from gpmnet.parallel import limited_threads
from gpmnet.planning import Plan
from gpmnet.progress import Progress, silent
from gpmnet.table import Table

_MORE_HALVINGS = 2  # of blocks, when a GPU's memory ran out
_FEW_ROWS = 20
_PHASES = ("load", "test", "groups", "omega")


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
        What near-copies and relations between columns may have explained away; empty if nothing.
    untested : str
        Pairs that too few rows have both of; empty if there are none.
    """

    network: MarkovNetwork
    omega: NDArray[np.float64] | sparse.csr_array
    learned: Mapping[str, Any]
    timings: dict[str, float]
    n_iter: int
    cautions: tuple[str, ...]
    hidden: str
    untested: str


def fit_table(
    plan: Plan,
    table: Table,
    *,
    begun: float,
    origin: Origin | None = None,
    progress: Progress = silent,
    on_edges: Callable[[MarkovNetwork], None] | None = None,
    shelf: Shelf | None = None,
) -> Outcome:
    """Return what the plan's engine learns from a table; `begun` is when its loading did, by `time.perf_counter`.

    What is finished is kept on the shelf, and taken from it where a stopped fit of the same key had put it there. Where a
    GPU has too little memory, all is computed again in smaller blocks, and at last on the CPU, which the network says.
    """
    check_gaps(plan.engine, table)
    if shelf is not None and shelf.folder is not None and team().size > 1:
        raise InputError("processes that train together keep nothing to resume from: leave out resume")
    fit = _Fit(table, begun, origin, progress, on_edges, shelf)
    halvings = blocks_that_fit(plan.engine, table, plan.device, plan.memory)
    while True:
        with told_what_is_kept(shelf):
            found = fit(plan, halvings)
        if found is not None:
            return found
        if halvings + _MORE_HALVINGS <= MOST_HALVINGS:
            halvings += _MORE_HALVINGS
            fit.said = (
                f"the GPU had too little memory: computed in blocks of 1/{1 << halvings} of the size",
            )
        else:
            plan = replace(plan, device="cpu")
            halvings = blocks_that_fit(plan.engine, table, "cpu", plan.memory)
            fit.said = ("the GPU had too little memory, in small blocks too: computed on the CPU",)


@contextmanager
def told_what_is_kept(shelf: Shelf | None) -> Iterator[None]:
    """Add to a KeyboardInterrupt what is left of the fit that it stops."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if shelf is None:
            said = "nothing of the fit is kept; with resume=FOLDER the same fit would go on from what was finished"
        elif shelf.has_files:
            said = "what the fit has finished is kept: the same fit with the same resume= goes on from there"
        else:
            said = "the fit had not finished anything yet that could be kept"
        stop.add_note(said)
        raise


def fit_rows(plan: Plan, problems: Sequence[Problem], rows: NDArray[np.integer]) -> MarkovNetwork:
    """Return the strengths and signs of the pairs of some rows of a table, and which are edges; nothing else.

    Parameters
    ----------
    problems : sequence of Problem
        Of all rows, as `Plan.problems` gives them.
    """
    parts, at = part_of(problems, rows, plan.seed)
    if len(at) < 2:  # no pair is left of what varies
        none = np.empty(0, dtype=np.intp)
        return MarkovNetwork(problems[0].encoded.names, Pairs.of(none, none, none.astype(bool)))
    found = fit_draws(plan.engine, parts)
    chosen = decide(found, parts[0], plan.cutoff)
    ends = at[found.first], at[found.second]
    pairs = Pairs.of(*ends, chosen.is_edge, strength=found.strength, sign=found.sign)
    return MarkovNetwork(problems[0].encoded.names, pairs)


@dataclass
class _Fit:
    """Fits of one table, one after the other as long as a GPU has too little memory; see `fit_table`.

    Attributes
    ----------
    said : tuple of str
        What a reader of the network should know of fits before.
    """

    table: Table
    begun: float
    origin: Origin | None
    progress: Progress
    on_edges: Callable[[MarkovNetwork], None] | None
    shelf: Shelf | None
    said: tuple[str, ...] = ()

    def __call__(self, plan: Plan, halvings: int) -> Outcome | None:
        """Return what a plan's engine learns, with blocks that are halved so often; None if a GPU's memory ran out."""
        import torch

        try:
            with (
                refusals_told(),
                limited_threads(plan.threads),
                smaller_blocks(halvings),
                Workplace(plan.where) as place,
            ):
                return self._outcome(plan, halvings, place)
        except OutOfMemoryError as error:
            # Not in here, where the error still holds what the fit had on the GPU.
            if not isinstance(error.__cause__, torch.OutOfMemoryError) or plan.device == "cpu":
                raise
        gc.collect()
        torch.cuda.empty_cache()
        return None

    def _problems(
        self, plan: Plan, halvings: int, place: Workplace
    ) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
        """Return what the engine is given of every draw, with where it keeps its work and has it done; and what to note."""
        self.progress("encode", 0, 1)
        problems, skipped = plan.problems(self.table, self.progress)
        if plan.stability:
            check_halves(problems)
        if self.shelf is not None:
            self.shelf.open(plan.key(self.table, halvings))
            sections = [self.shelf, *(self.shelf.section(f"draw {k}") for k in range(1, len(problems)))]
            pairs = zip(problems, sections, strict=True)
            problems = tuple(replace(one, shelf=section) for one, section in pairs)
        problems = tuple(replace(one, place=place) for one in problems)
        if plan.where.is_elsewhere or (plan.stability and plan.n_jobs != 1):  # once, and not for every task
            problems = tuple(replace(one, encoded=one.encoded.held()) for one in problems)
        self.progress("encode", 1, 1)
        return problems, skipped

    def _outcome(self, plan: Plan, halvings: int, place: Workplace) -> Outcome:
        engine, cutoff, clock, table = plan.engine, plan.cutoff, [self.begun], self.table
        problems, skipped = self._problems(plan, halvings, place)
        problem = problems[0]
        facts = plan.facts(table, self.origin)
        clock.append(time.perf_counter())
        found = fit_draws(engine, problems)
        clock.append(time.perf_counter())
        chosen = decide(found, problem, cutoff)
        said = cutoff if engine.own_rule is None else None
        draft = Draft(table, found, chosen, said)
        if self.on_edges is not None:
            self.on_edges(edges_alone(draft, facts))
        joint, determined = found.joint(chosen.is_edge), found.determined(chosen.is_edge)
        clock.append(time.perf_counter())
        shown = shown_edges(problem.d, chosen, found.strength)
        described = found.describe(chosen.is_edge, shown)
        clock.append(time.perf_counter())
        timings = dict(zip(_PHASES, np.diff(clock).tolist(), strict=True))
        cautions = cautions_of((*found.stops, *described.stops), table.names)
        groups, findings = joint_findings(table, joint, cutoff, _neighbors(found, chosen.is_edge, problem.d))
        hidden = group_caution(groups, findings)
        dense = density_note(problem.d, found.strength[chosen.is_edge], cutoff.min_strength)
        relations = relation_note(table.names, determined)
        alike = tuple(note for note in (hidden, relations) if note)
        untested = rarely_together(table)
        said_first = (
            *self.said,
            *gap_notes(table, untested),
            *thin_note(table, found.first, found.second, found.n_rows),
            *skipped,
            *_few_rows(table.n_rows),
            *cautions,
            *alike,
            *dense,
        )
        notes = (*said_first, *([engine.own_rule] if engine.own_rule else []), *found.notes)
        seconds = {phase: round(value, 3) for phase, value in timings.items()}
        facts = replace(facts, seconds=seconds, warnings=notes)
        network, omega = build_network(draft, described, shown, facts)
        network = replace(network, groups=groups, joint_findings=findings)
        if plan.stability:
            begun = time.perf_counter()
            network = with_stability(network, plan, problems)
            timings["stability"] = time.perf_counter() - begun
            seconds["stability"] = round(timings["stability"], 3)
            network = replace(network, facts=replace(network.facts, seconds=seconds))
        n_iter = max(found.n_iter, described.n_iter)
        told = cautions, "; ".join(alike), untested
        return Outcome(network, omega, found.learned, timings, n_iter, *told)


def _few_rows(n: int) -> tuple[str, ...]:
    if n >= _FEW_ROWS:
        return ()
    return (f"{n} rows show all but perfect dependence only: that two variables have no edge says nothing",)


def with_stability(network: MarkovNetwork, plan: Plan, problems: tuple[Problem, ...]) -> MarkovNetwork:
    """Return a network whose pairs have their stability: how often they are edges in half-samples of its rows.

    The half-samples are of the rows that the engine looked at, and edges are chosen in them as they were in all.
    """
    problem, n_units = problems[0], len(units_of(problems))
    asked = Asked(plan.engine, problems, plan.cutoff)
    if plan.where.is_elsewhere:
        found = frequencies(asked, plan.stability, problem.place)
    else:
        with Workplace(Where(workers=plan.n_jobs)) as beside:
            found = frequencies(asked, plan.stability, beside)
    drawn = Resampling(
        plan.stability,
        n_rows=round(problem.n * (n_units // 2) / n_units),
        mean_edges=found.mean_edges,
        n_tests=problem.d * (problem.d - 1) // 2 - len(problem.forbidden) - len(problem.required),
        n_groups=0 if problem.clusters is None else n_units // 2,
    )
    return with_shares(network, drawn, found, problem.encoded.names, plan.engine.takes_directions)


def _neighbors(found: Found, is_edge: NDArray[np.bool_], d: int) -> list[list[int]]:
    ends = (found.first[is_edge].tolist(), found.second[is_edge].tolist())
    return neighbor_lists(d, zip(*ends, strict=True))
