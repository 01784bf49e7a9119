"""The local engine: features, screen, search, tests and node models in their order."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.checks import check_number, check_type
from gpmnet.columns.functions import ColumnFunction, feature_functions
from gpmnet.columns.tabulated import table_bytes
from gpmnet.engines.base import Description, Engine, Found, Joint, Problem, Stop
from gpmnet.engines.local_tasks import Searched, crew_of, tested, tested_elsewhere
from gpmnet.errors import InputError, quote
from gpmnet.memory import block_size
from gpmnet.nodes.models import NodeFitter, NodeOptions, edge_omegas
from gpmnet.nodes.surfaces import SurfaceCollector
from gpmnet.parts import Part
from gpmnet.searching.candidates import (
    LOOKS,
    Apart,
    Constraints,
    ScreenOptions,
    close_pairs,
    confirmed,
    search_all_pairs,
    search_apart,
    search_screened,
)
from gpmnet.searching.near_copies import near_copies
from gpmnet.searching.neighborhoods import Neighborhoods, SearchOptions, Watch
from gpmnet.selection.joint import JointRule, JointTest, joint_hypotheses
from gpmnet.selection.pair_rule import Limits, PairRule
from gpmnet.selection.say import left_of
from gpmnet.selection.two_ended import TwoEnded
from gpmnet.testing.base import ConditionalTest, PairTests
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual

_PAIRS, _FEW_PAIRS = 2048, 32  # tested at a time, at most and at least
_FIXED = 3 << 26  # bytes that a fit takes besides, whatever its blocks
_VALUES = 1 << 20  # rows times pairs tested at a time
_SMALL = 1 << 15  # values of a table
_STRONG = 0.7  # strength of an edge of what may be determined
_EXACT = 0.005  # share of a variable's variance that is left if others determine it, as far as regressions can follow
_RELATED = 5  # neighbors of what is looked at: in many a regression finds a relation that nobody made
_DETERMINED = 0.02  # the same for the others of a relation that is seen once


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
    most_rows : int or None
        Of longer tables a random sample of this many rows is looked at; None takes all. 50,000 show a partial
        correlation of 0.03 beyond doubt; more cost time in proportion and show what is weaker still, departures from the
        test's regressions included.
    most_joint : int
        Tests of a variable against a group of near-copies, those whose pairs came closest first; 0 leaves them out.
    design : DesignOptions
        Flexibility of the regressions.
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
    most_rows: int | None = 50_000
    most_joint: int = 1000
    design: DesignOptions = field(default_factory=DesignOptions)
    test: ConditionalTest = field(default_factory=DoubleResidual)
    rule: PairRule = field(default_factory=TwoEnded)
    node: NodeOptions = field(default_factory=NodeOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        functions = self.functions if isinstance(self.functions, tuple) else ()
        if not functions or not all(isinstance(function, ColumnFunction) for function in functions):
            raise InputError(
                f"LocalOptions: functions must be a tuple of column functions; got {quote(self.functions)}"
            )
        for name in ("alpha_enter", "alpha_report", "alpha_screen"):
            check_number(self, name, 0.0, 1.0, open_low=True)
        for name in ("all_pairs_up_to", "most_joint"):
            check_number(self, name, 0, integer=True)
        for name in ("most_candidates", "most_neighbors"):
            check_number(self, name, 1, integer=True)
        if self.most_rows is not None:
            check_number(self, "most_rows", 100, integer=True)
        check_type(self, "test", ConditionalTest)
        check_type(self, "rule", PairRule)
        check_type(self, "node", NodeOptions)
        check_type(self, "design", DesignOptions)

    def takes_all_pairs(self, d: int) -> bool:
        """Return whether every pair of d variables is a candidate."""
        return d <= self.all_pairs_up_to


@dataclass(frozen=True, eq=False)
class LocalFound(Found):
    """The tested pairs, and what describes the edges among them."""

    fitter: NodeFitter
    newton_steps: int
    searched: Searched
    problem: Problem
    most_joint: int

    def describe(self, is_edge: NDArray[np.bool_], shown: NDArray[np.intp]) -> Description:
        """Return Omega and surfaces from node models of the graph of the edges; see `Description`."""
        surfaces = SurfaceCollector(np.stack([self.first[shown], self.second[shown]], axis=1))
        watched = self.searched.crew, self.problem.progress
        found = edge_omegas(self.fitter, self._neighbors(is_edge), surfaces, *watched)
        omega = np.full(len(self.first), np.nan)
        for at in np.flatnonzero(is_edge):
            omega[at] = found.of(int(self.first[at]), int(self.second[at]))
        stops = tuple(Stop(f"Newton's method (newton_steps={self.newton_steps})", v) for v in found.stopped)
        return Description(omega, found.own.sqrt().numpy(), surfaces.surfaces(), stops)

    def joint(self, is_edge: NDArray[np.bool_]) -> Joint:
        """Return the groups of near-copies, and the tests of variables that came close to one but have no edge into it.

        Time: one pass over the candidates of all variables, and at most `most_joint` times 8 tests given a set, each about
        as long as the test of a pair.
        """
        searched, d = self.searched, self.problem.d
        groups = near_copies(searched.test.designs.features, searched.candidates)
        ends = np.stack([self.first, self.second], axis=1)
        closest = np.argsort(self.log_p, kind="stable")
        some = ends[closest[~is_edge[closest]]], ends[is_edge], self.problem.forbidden
        close, edges, forbidden = ([(int(a), int(b)) for a, b in pairs] for pairs in some)
        hypotheses = joint_hypotheses(groups, close, edges, forbidden)[: self.most_joint]
        limits = searched.limits
        if self.problem.clusters is not None:  # the joint test takes rows for independent
            hypotheses = []
        sets = searched.members, searched.candidates
        rule = JointRule(searched.test, groups, *sets, limits.alpha, limits.most_members)
        tests = []
        for done, (variable, group) in enumerate(hypotheses):
            self.problem.progress("groups", done, len(hypotheses))
            # As plain data, which is what a shelf can keep of it.
            test = partial(_joint_test, rule, variable, group)
            said = self.problem.shelf.kept_data(f"joint {done}", test)
            tests.append(JointTest(**(said | {"rivals": tuple(said["rivals"])})))
        if tests:
            self.problem.progress("groups", len(tests), len(tests))
        return Joint(groups, tuple(tests), sum(d - len(group) for group in groups))

    def determined(self, is_edge: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
        """Return variables of which regressions on their neighbors leave next to nothing, each before these.

        Only a variable with a strong edge is looked at, in tables in which every pair is. Time: a regression each.
        """
        neighbors = self._neighbors(is_edge)
        strong = is_edge & (self.strength > _STRONG)
        nodes = np.unique(np.concatenate([self.first[strong], self.second[strong]]))
        some = [int(v) for v in nodes if len(neighbors[v]) <= _RELATED]
        if not some or not self.searched.apart:
            return ()
        width = max(len(neighbors[v]) for v in some)
        sets = torch.tensor([neighbors[v] + [-1] * (width - len(neighbors[v])) for v in some])
        device = self.searched.first.device
        left = left_of(self.searched.test, (torch.tensor(some, device=device),), sets.to(device))[0]
        closed = [frozenset((v, *neighbors[v])) for v in some]
        exact = {whole for whole, x in zip(closed, left.tolist(), strict=True) if x < _EXACT}
        least = [_DETERMINED if whole in exact else _EXACT for whole in closed]
        found = zip(some, left.tolist(), least, strict=True)
        return tuple((v, *neighbors[v]) for v, x, most in found if x < most)

    def _neighbors(self, is_edge: NDArray[np.bool_]) -> list[list[int]]:
        neighbors: list[list[int]] = [[] for _ in range(self.fitter.features.d)]
        for a, b in zip(self.first[is_edge].tolist(), self.second[is_edge].tolist(), strict=True):
            neighbors[a].append(b)
            neighbors[b].append(a)
        return neighbors


@dataclass(frozen=True)
class LocalEngine(Engine):
    """Tests the pairs of a table by regressions around each.

    Attributes
    ----------
    options : LocalOptions
    """

    takes_clusters: ClassVar[bool] = True
    leaves_out_gaps: ClassVar[bool] = True

    options: LocalOptions = field(default_factory=LocalOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self, "options", LocalOptions)

    @property
    def most_rows(self) -> int | None:
        """How many rows it looks at, None for all."""
        return self.options.most_rows

    def memory(self, n_rows: int, n_levels: NDArray[np.intp]) -> int:
        """Return about how many bytes a fit needs: features three times over, scores, ties, tables, blocks in flight."""
        n_rows = n_rows if self.most_rows is None else min(n_rows, self.most_rows)
        columns = np.where(n_levels > 0, n_levels - 1, len(self.options.functions))
        small = self.options.takes_all_pairs(len(columns))
        size = 8 if small else 4
        ties = (size + 4) * int(np.count_nonzero(n_levels == 0))
        features = n_rows * (size * 3 * (int(columns.sum()) + len(columns)) + ties)
        levels, k = torch.as_tensor(n_levels), len(self.options.functions)
        cosines = min(self.options.design.cosines(n_rows, 1), self.options.design.room(n_rows, levels, k))
        tables = table_bytes(n_rows, levels, cosines, k, size)
        return features + tables + _FIXED + block_size(int(3e8 if small else 1.8e9))

    def fit(self, problem: Problem) -> LocalFound:
        """Return the tested pairs; small tables on the CPU, which is done before a GPU has begun."""
        if problem.n * problem.d <= _SMALL:
            problem = replace(problem, device="cpu")
        searched = self.search(problem)
        tests = self.test_pairs(searched, problem)
        return LocalFound(
            searched.first.cpu().numpy(),
            searched.second.cpu().numpy(),
            tests.log_p.cpu().numpy(),
            tests.strength.cpu().numpy(),
            tests.strength_error.cpu().numpy(),
            tests.strength_excess.cpu().numpy(),
            tests.sign.cpu().numpy(),
            tests.n_rows.cpu().numpy(),
            n_iter=searched.n_rounds,
            stops=searched.stops,
            learned={},
            fitter=NodeFitter(searched.test.designs.features, self.options.node, problem.seed),
            newton_steps=self.options.node.newton_steps,
            searched=searched,
            problem=problem,
            most_joint=self.options.most_joint,
        )

    def search(self, problem: Problem) -> Searched:
        """Return the neighborhoods and the pairs worth the full test."""
        o, d = self.options, problem.d
        small = o.takes_all_pairs(d)
        crew = crew_of(o, problem)
        test = crew.base.test
        features = test.designs.features
        most = min(o.most_neighbors, o.design.most_members(problem.n))
        alpha_enter = o.alpha_enter if small else min(o.alpha_enter, o.alpha_screen / d)
        settings = SearchOptions(alpha_enter, most)
        forbidden, required = (
            torch.as_tensor(x, device=features.device) for x in (problem.forbidden, problem.required)
        )
        constraints = Constraints(torch.cat([forbidden, test.untestable()]), required)
        screening = ScreenOptions(max(problem.alpha, alpha_enter), o.most_candidates)
        watch = Watch(problem.progress, problem.shelf)
        if small:
            found = search_all_pairs(test, settings, constraints, watch)
        else:
            found = search_screened(settings, screening, constraints, watch, crew)
        alpha = max(problem.alpha, o.alpha_report if small else alpha_enter)
        first, second = close_pairs(found, constraints.required, alpha)
        # Ten times that: Benjamini-Hochberg at 0.05 gets there with twenty neighbors a node.
        limits = Limits(min(10 * alpha, max(problem.alpha, o.alpha_report)), most)
        apart = search_apart(test, settings, found, watch) if small else None
        found, apart = self._agreed(problem, settings, constraints.start(d), found, apart)
        cap = f"most_neighbors={most}" if most == o.most_neighbors else f"{problem.n:,} rows allow {most}"
        stops = _stops(found, cap)
        return Searched(
            crew, found.members, found.candidates, first, second, limits, found.n_rounds, stops, apart
        )

    def _agreed(
        self,
        problem: Problem,
        settings: SearchOptions,
        start: Tensor | None,
        found: Neighborhoods,
        apart: Apart | None,
    ) -> tuple[Neighborhoods, Apart | None]:
        """Return what was found in one draw of a table, as far as all other draws confirm it."""
        members, looks = found.members, LOOKS if apart is not None else 0
        for k, other in enumerate(problem.others, 1):
            same = replace(problem, encoded=other.encoded, clusters=other.clusters, others=())
            crew = crew_of(self.options, same)
            watch = Watch(problem.progress, problem.shelf, of=f"draw {k}")
            members = confirmed(crew, members, settings, start, watch, looks)
            if apart is not None:
                watch = replace(watch, of=f"draw {k}, apart")
                still = (members == apart.partner[:, None]).any(dim=1)
                partner = torch.where(still, apart.partner, -1)
                apart = Apart(partner, confirmed(crew, apart.members, settings, start, watch, looks))
        full = found.is_full & ((members >= 0).sum(dim=1) >= settings.most_members)
        return replace(found, members=members, is_full=full), apart

    def test_pairs(self, searched: Searched, problem: Problem) -> PairTests:
        """Return the full tests of the pairs that came close."""
        count, device = len(searched.first), searched.first.device
        tests = PairTests.unknown(count, device)
        parts = torch.split(torch.arange(count, device=device), _at_a_time(problem.n, device))
        parts = parts if count else ()
        if searched.crew.is_elsewhere:
            for part, found in zip(parts, tested_elsewhere(searched, parts, self.options.rule), strict=True):
                tests.put(part, found)
            return tests
        for part in parts:
            problem.progress("test", int(part[0]), count)
            ends = searched.first[part], searched.second[part]
            test = partial(tested, searched.test, searched, self.options.rule, *ends)
            tests.put(part, problem.shelf.kept_as(PairTests, f"tests {int(part[0])}", device, test))
        problem.progress("test", count, count)
        return tests


def _joint_test(rule: JointRule, variable: int, group: int) -> dict[str, Any]:
    return asdict(rule(variable, group))


def _at_a_time(n: int, device: torch.device) -> int:
    """Return how many pairs are tested at a time: seconds of work on a CPU, all that it takes to keep a GPU busy."""
    return _PAIRS if device.type != "cpu" else min(_PAIRS, max(_FEW_PAIRS, _VALUES // max(1, n)))


def _stops(found: Neighborhoods, cap: str) -> tuple[Stop, ...]:
    """Return the nodes whose search ended at a cap."""
    full = [Stop(f"the search for neighbors ({cap})", int(v)) for v in found.is_full.nonzero()]
    still = (found.is_open & ~found.is_full).nonzero()
    return (*full, *(Stop("the search for neighbors (two passes)", int(v)) for v in still))
