"""The local engine: features, screen, search, tests and node models in their order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.checks import check_number, check_type
from gpmnet.columns.features import build_features
from gpmnet.columns.functions import ColumnFunction, feature_functions
from gpmnet.engines.base import Description, Engine, Found, Problem, Stop
from gpmnet.errors import InputError, quote
from gpmnet.nodes.models import NodeFitter, NodeOptions, edge_omegas
from gpmnet.nodes.surfaces import SurfaceCollector
from gpmnet.parts import Part
from gpmnet.progress import Progress
from gpmnet.searching.neighborhoods import Neighborhoods, SearchOptions, search
from gpmnet.searching.screen import Hits, candidate_lists, panels, residual_panels, screen
from gpmnet.selection.pair_rule import Limits, PairRule
from gpmnet.selection.two_ended import TwoEnded
from gpmnet.testing.base import BoundTest, ConditionalTest, PairTests, trimmed
from gpmnet.testing.design import DesignOptions, Designs
from gpmnet.testing.double_residual import DoubleResidual
from gpmnet.testing.residuals import whitened_residuals

_PAIRS = 2048  # tested at a time


@dataclass(frozen=True)
class LocalOptions(Part):
    """Settings of the local engine; one set of values serves all data.

    Attributes
    ----------
    functions : tuple of ColumnFunction
        Functions of a continuous variable that tests correlate, the all but linear one first.
    alpha_enter : float
        A candidate joins a neighborhood at this p-value.
    alpha_report : float
        Pairs with a p-value below this in the search get the full test and are reported, edge or not.
    all_pairs_up_to : int
        Up to this many variables every pair is a candidate; above, the screen decides,
    alpha_screen : float
        and a candidate must pass this divided by the number of variables, in the screen and in the search.
    most_candidates : int
        Candidates of a node kept by the screen.
    most_neighbors : int
        Largest neighborhood.
    design : DesignOptions or None
        Flexibility of the regressions; None lets the number of cosines grow with the rows, 2 n^0.15.
    test : ConditionalTest
        The test of a pair given a set.
    rule : PairRule
        How tests of a pair given different sets become one p-value.
    node : NodeOptions
        Node models behind Omega and the surfaces of edges.
    """

    functions: tuple[ColumnFunction, ...] = feature_functions(3)
    alpha_enter: float = 0.01
    alpha_report: float = 0.1
    all_pairs_up_to: int = 100
    alpha_screen: float = 0.1
    most_candidates: int = 32
    most_neighbors: int = 12
    design: DesignOptions | None = None
    test: ConditionalTest = field(default_factory=DoubleResidual)
    rule: PairRule = field(default_factory=TwoEnded)
    node: NodeOptions = field(default_factory=NodeOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.functions, tuple) or not self.functions:
            raise InputError(
                f"LocalOptions: functions must be a tuple of column functions; got {quote(self.functions)}"
            )
        for name in ("alpha_enter", "alpha_report", "alpha_screen"):
            check_number(self, name, 0.0, 1.0, open_low=True)
        check_number(self, "all_pairs_up_to", 0, integer=True)
        for name in ("most_candidates", "most_neighbors"):
            check_number(self, name, 1, integer=True)
        check_type(self, "test", ConditionalTest)
        check_type(self, "rule", PairRule)
        check_type(self, "node", NodeOptions)
        if self.design is not None:
            check_type(self, "design", DesignOptions)

    def design_for(self, n: int) -> DesignOptions:
        """Return the flexibility of the regressions with n rows."""
        return self.design or DesignOptions(n_cosines=round(2 * n**0.15))

    def takes_all_pairs(self, d: int) -> bool:
        """Return whether every pair of d variables is a candidate."""
        return d <= self.all_pairs_up_to


@dataclass(frozen=True, eq=False)
class LocalFound(Found):
    """The tested pairs, and what describes the edges among them."""

    fitter: NodeFitter
    newton_steps: int

    def describe(self, is_edge: NDArray[np.bool_], shown: NDArray[np.intp]) -> Description:
        """Return Omega and surfaces from node models of the graph of the edges; see `Description`."""
        surfaces = SurfaceCollector(np.stack([self.first[shown], self.second[shown]], axis=1))
        found = edge_omegas(self.fitter, self._neighbors(is_edge), surfaces.add)
        omega = np.full(len(self.first), np.nan)
        for at in np.flatnonzero(is_edge):
            omega[at] = found.of(int(self.first[at]), int(self.second[at]))
        stops = tuple(Stop(f"Newton's method (newton_steps={self.newton_steps})", v) for v in found.stopped)
        return Description(omega, found.own.sqrt().numpy(), surfaces.surfaces(), stops)

    def _neighbors(self, is_edge: NDArray[np.bool_]) -> list[list[int]]:
        neighbors: list[list[int]] = [[] for _ in range(self.fitter.features.d)]
        for a, b in zip(self.first[is_edge].tolist(), self.second[is_edge].tolist(), strict=True):
            neighbors[a].append(b)
            neighbors[b].append(a)
        return neighbors


@dataclass(frozen=True, eq=False)
class Searched:
    """What the search hands to the tests.

    Attributes
    ----------
    test : BoundTest
    members : Tensor of shape (d, s)
        Neighbors of each node, -1 pads.
    first, second : Tensor of shape (m,)
        Pairs that came close, first < second.
    limits : Limits
        Of the pair rule.
    n_rounds : int
        Of the search.
    stops : tuple of Stop
    """

    test: BoundTest
    members: Tensor
    first: Tensor
    second: Tensor
    limits: Limits
    n_rounds: int
    stops: tuple[Stop, ...]


@dataclass(frozen=True)
class LocalEngine(Engine):
    """Tests the pairs of a table by regressions around each.

    Attributes
    ----------
    options : LocalOptions
    """

    options: LocalOptions = field(default_factory=LocalOptions)

    def __post_init__(self) -> None:
        check_type(self, "options", LocalOptions)

    def memory(self, n_rows: int, n_levels: NDArray[np.intp]) -> int:
        """Return about how many bytes a fit needs: features three times over, scores, ties, the blocks in flight."""
        columns = np.where(n_levels > 0, n_levels - 1, len(self.options.functions))
        small = self.options.takes_all_pairs(len(columns))
        size = 8 if small else 4
        ties = (size + 4) * int(np.count_nonzero(n_levels == 0))
        features = n_rows * (size * 3 * (int(columns.sum()) + len(columns)) + ties)
        return features + int(5e8 if small else 2e9)

    def fit(self, problem: Problem) -> LocalFound:
        """Return the tested pairs."""
        searched = self.search(problem)
        tests = self.test_pairs(searched, problem.progress)
        return LocalFound(
            searched.first.cpu().numpy(),
            searched.second.cpu().numpy(),
            tests.log_p.cpu().numpy(),
            tests.strength.cpu().numpy(),
            tests.sign.cpu().numpy(),
            n_iter=searched.n_rounds,
            stops=searched.stops,
            learned={},
            fitter=NodeFitter(searched.test.designs.features, self.options.node, problem.seed),
            newton_steps=self.options.node.newton_steps,
        )

    def search(self, problem: Problem) -> Searched:
        """Return the neighborhoods and the pairs worth the full test."""
        o, d = self.options, problem.d
        small = o.takes_all_pairs(d)
        functions = o.functions[: max(1, problem.n - 2)]  # no more than the rows can tell apart
        dtype = torch.float64 if small else torch.float32
        features = build_features(problem.encoded, functions, problem.device, dtype)
        design = o.design_for(problem.n)
        test = BoundTest(o.test, Designs(features, design))
        most = min(o.most_neighbors, design.most_members(problem.n))
        alpha_enter = o.alpha_enter if small else min(o.alpha_enter, o.alpha_screen / d)
        settings = SearchOptions(alpha_enter, most)
        start = _as_sets(problem.required, d, features.device)
        if small:
            everyone = torch.arange(d, device=features.device)
            candidates = _everyone(d, problem.forbidden, features.device)
            found = search(test, everyone, candidates, settings, start, _phase(problem.progress, "search"))
        else:
            found = self._sparse_search(problem, test, settings, start)
        alpha = max(problem.alpha, o.alpha_report if small else alpha_enter)
        first, second = _close_pairs(found, problem.required, alpha)
        # Ten times that: Benjamini-Hochberg at 0.05 gets there with twenty neighbors a node.
        limits = Limits(min(10 * alpha, max(problem.alpha, o.alpha_report)), most)
        cap = f"most_neighbors={most}" if most == o.most_neighbors else f"{problem.n:,} rows allow {most}"
        return Searched(test, found.members, first, second, limits, found.n_rounds, _stops(found, cap))

    def _sparse_search(
        self, problem: Problem, test: BoundTest, settings: SearchOptions, start: Tensor | None
    ) -> Neighborhoods:
        """Screen, search, screen again with what the neighbors leave, and search where that found more."""
        features, report, d = test.designs.features, problem.progress, problem.d
        white = panels(features)
        alpha, most = max(problem.alpha, settings.alpha_enter), self.options.most_candidates
        closed = torch.as_tensor(problem.forbidden, device=features.device)
        hits = screen(white, white, alpha, most, lambda done: report("screen", done, d), closed)
        candidates = hits.lists(d)
        everyone = torch.arange(d, device=features.device)
        found = search(test, everyone, candidates, settings, start, _phase(report, "search"))
        connected = ((found.members >= 0).any(dim=1)).nonzero()[:, 0]
        if not len(connected):
            return found
        blocks = whitened_residuals(test.designs, connected, trimmed(found.members[connected]))
        again = _phase(report, "screen again")
        more = screen(
            residual_panels(features, blocks), white, alpha, most,
            lambda done: again(done, len(connected)), closed,
        )  # fmt: skip
        fresh = ~(candidates[more.node] == more.candidate[:, None]).any(dim=1)
        if not bool(fresh.any()):
            return found
        more = more.take(fresh)
        candidates, nodes = Hits.joined([hits, more]).lists(d), torch.unique(more.node)
        started = None if start is None else start[nodes]
        later = search(test, nodes, candidates[nodes], settings, started, _phase(report, "search again"))
        log_p = torch.zeros(candidates.shape, dtype=torch.float64, device=features.device)
        log_p[:, : found.log_p.shape[1]] = found.log_p
        log_p[nodes] = later.log_p
        for old, new in (
            (found.members, later.members),
            (found.is_full, later.is_full),
            (found.is_open, later.is_open),
        ):
            old[nodes] = new
        rounds = max(found.n_rounds, later.n_rounds)
        return Neighborhoods(found.members, candidates, log_p, found.is_full, found.is_open, rounds)

    def test_pairs(self, searched: Searched, progress: Progress) -> PairTests:
        """Return the full tests of the pairs that came close."""
        count = len(searched.first)
        tests = PairTests.unknown(count, searched.first.device)
        for part in torch.split(torch.arange(count, device=searched.first.device), _PAIRS):
            if not len(part):
                break
            progress("test", int(part[0]), count)
            ends = searched.first[part], searched.second[part]
            tests.put(part, self.options.rule(searched.test, searched.members, *ends, searched.limits))
        progress("test", count, count)
        return tests


def _phase(progress: Progress, phase: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(phase, done, total)


def _close_pairs(found: Neighborhoods, required: NDArray[np.intp], alpha: float) -> tuple[Tensor, Tensor]:
    """Return the pairs worth the full test: close to significant from either end, or required."""
    node, slot = ((found.candidates >= 0) & (found.log_p < math.log(alpha))).nonzero(as_tuple=True)
    extra = torch.as_tensor(required, device=node.device)
    other = torch.cat([found.candidates[node, slot], extra[:, 1]])
    node = torch.cat([node, extra[:, 0]])
    d = len(found.members)
    code = torch.unique(torch.minimum(node, other) * d + torch.maximum(node, other))
    return code // d, code % d


def _stops(found: Neighborhoods, cap: str) -> tuple[Stop, ...]:
    """Return the nodes whose search ended at a cap."""
    full = [Stop(f"the search for neighbors ({cap})", int(v)) for v in found.is_full.nonzero()]
    still = (found.is_open & ~found.is_full).nonzero()
    return (*full, *(Stop("the search for neighbors (two passes)", int(v)) for v in still))


def _everyone(d: int, forbidden: NDArray[np.intp], device: torch.device) -> Tensor:
    """Return every other variable as a candidate of each, forbidden pairs left out."""
    table = torch.arange(d, device=device).repeat(d, 1)
    table.fill_diagonal_(-1)
    a, b = torch.as_tensor(forbidden, device=device).T
    table[a, b] = table[b, a] = -1
    return table


def _as_sets(pairs: NDArray[np.intp], d: int, device: torch.device) -> Tensor | None:
    if not len(pairs):
        return None
    both = torch.as_tensor(np.concatenate([pairs, pairs[:, ::-1]]), device=device)
    return candidate_lists(both[:, 0], both[:, 1], d)
