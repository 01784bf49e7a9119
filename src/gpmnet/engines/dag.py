"""The dag engine: a score, the search for the best order, and the moral graph of what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.checks import check_number, check_type
from gpmnet.directed.build import ScoreOptions, build_score, score_memory
from gpmnet.directed.directions import Directions, MoralEdge, moral_edges
from gpmnet.directed.knowledge import Knowledge
from gpmnet.directed.order import OrderSearch
from gpmnet.directed.score import Ints
from gpmnet.engines.base import Engine, Joint, Problem
from gpmnet.engines.local import LocalEngine, LocalFound, LocalOptions
from gpmnet.engines.local_tasks import Searched, crew_of
from gpmnet.errors import InputError
from gpmnet.nodes.models import NodeFitter
from gpmnet.parts import Part
from gpmnet.searching.near_copies import near_copies
from gpmnet.searching.screen import candidate_lists
from gpmnet.selection.pair_rule import Limits

_RULE = (
    "edges were chosen by the score of a directed graph: fdr does not apply to them, and p-values are those of the local "
    "test, not corrected for the search"
)


@dataclass(frozen=True)
class DagOptions(Part):
    """Settings of the dag engine; one set of values serves all data.

    Attributes
    ----------
    starts : int
        Orders from which the search begins: that of the columns, then random ones.
    most_parents : int
        Parents of a variable at most.
    screened_above : int
        Above this many variables the local engine's screen says who may be a parent of whom.
    drop_fill_in : bool
        Leave out edges that the local test, given the neighbors of its ends, does not support. For data that did not come
        from a directed graph, whose moral graph has more edges than the data; else it costs true ones. Rows that are scored
        must be tested too: it needs `most_rows` up to `local.most_rows`.
    alpha_fill_in : float
        P-value above which they are left out.
    most_rows : int or None
        Rows that the score looks at: of longer tables a random sample; None takes all, which costs time in proportion but
        no memory to speak of. Tests, Omega and the screen look at `local.most_rows` of them at most.
    score : ScoreOptions
    local : LocalOptions
        Of the tests, of Omega and of the screen.
    """

    starts: int = 2
    most_parents: int = 10
    screened_above: int = 300
    drop_fill_in: bool = False
    alpha_fill_in: float = 0.01
    most_rows: int | None = 50_000
    score: ScoreOptions = field(default_factory=ScoreOptions)
    local: LocalOptions = field(default_factory=LocalOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("starts", "most_parents"):
            check_number(self, name, 1, integer=True)
        check_number(self, "screened_above", 0, integer=True)
        check_number(self, "alpha_fill_in", 0.0, 1.0, open_low=True)
        if self.most_rows is not None:
            check_number(self, "most_rows", 100, integer=True)
        check_type(self, "drop_fill_in", bool)
        check_type(self, "score", ScoreOptions)
        check_type(self, "local", LocalOptions)


@dataclass(frozen=True, eq=False)
class DagFound(LocalFound):
    """The edges of the moral graph with their tests, and the directed graph behind them."""

    graph: Directions
    is_kept: NDArray[np.bool_]
    n_scored: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Say which rows what rests on, if not all on the same."""
        if self.problem.n == self.n_scored:
            return ()
        return (
            f"p-values, strengths and Omega rest on {self.problem.n:,} of the {self.n_scored:,} rows behind the edges, "
            "drawn at random",
        )

    def decided(self) -> NDArray[np.bool_]:
        """Return which pairs are edges: all, but for those that were dropped as fill-in."""
        return self.is_kept

    def directions(self) -> Directions:
        """Return the class of the directed graph, and what each edge rests on."""
        return self.graph

    def joint(self, is_edge: NDArray[np.bool_]) -> Joint:
        """Return the groups of near-copies; what they say jointly is told by tests, and edges here are not."""
        return Joint(near_copies(self.searched.test.designs.features, self.searched.candidates))


@dataclass(frozen=True)
class DagEngine(Engine):
    """Searches the directed graph with the best score; the network is its moral graph.

    Attributes
    ----------
    options : DagOptions
    """

    takes_directions: ClassVar[bool] = True

    options: DagOptions = field(default_factory=DagOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self, "options", DagOptions)

    @property
    def own_rule(self) -> str:
        """How it chooses edges."""
        return _RULE

    @property
    def most_rows(self) -> int | None:
        """How many rows its score looks at."""
        return self.options.most_rows

    def memory(self, n_rows: int, n_levels: NDArray[np.intp]) -> int:
        """Return about how many bytes a fit needs: what the local engine needs, and the moments of all columns."""
        n_rows = n_rows if self.most_rows is None else min(n_rows, self.most_rows)
        local = LocalEngine(self.options.local).memory(n_rows, n_levels)
        return local + score_memory(n_rows, n_levels, self.options.score)

    def fit(self, problem: Problem) -> DagFound:
        """Return the edges of the moral graph of the best directed graph that was found."""
        o, d = self.options, problem.d
        knowledge, few = known(problem), self._few(problem)
        candidates = self._candidates(few)
        problem.progress("moments", 0, 1)
        score = build_score(problem.encoded, o.score)
        problem.progress("moments", 1, 1)
        search = OrderSearch(score, knowledge, candidates, o.most_parents)
        found = search(problem.seed, o.starts, problem.progress, problem.shelf)
        edges = moral_edges(score, found.parents)
        del score, search
        searched = self._searched(few, edges, candidates)
        tests = LocalEngine(o.local).test_pairs(searched, few)
        graph = found.graph_class(problem.encoded.names, knowledge)
        log_p = tests.log_p.cpu().numpy()
        kept = (log_p <= np.log(o.alpha_fill_in)) if o.drop_fill_in else np.ones(len(edges), dtype=bool)
        if o.drop_fill_in and d:
            kept |= np.isin(_codes(edges, d), problem.required @ np.array([d, 1]))
        return DagFound(
            searched.first.cpu().numpy(),
            searched.second.cpu().numpy(),
            log_p,
            tests.strength.cpu().numpy(),
            tests.strength_error.cpu().numpy(),
            tests.strength_excess.cpu().numpy(),
            tests.sign.cpu().numpy(),
            tests.n_rows.cpu().numpy(),
            n_iter=found.sweeps,
            stops=(),
            learned={"dag": graph},
            fitter=NodeFitter(searched.test.designs.features, o.local.node, problem.seed),
            newton_steps=o.local.node.newton_steps,
            searched=searched,
            problem=few,
            most_joint=0,
            graph=Directions(graph, edges),
            is_kept=kept,
            n_scored=problem.n,
        )

    def _few(self, problem: Problem) -> Problem:
        """Return the problem of the rows that tests, Omega and the screen look at."""
        most = self.options.local.most_rows
        if most is None or problem.n <= most:
            return problem
        if self.options.drop_fill_in:  # what only the other rows show would be dropped
            raise InputError(
                f"fill-in is dropped by tests, which look at {most:,} of these {problem.n:,} rows; set most_rows "
                f"(--most-rows) to at most {most:,}, or leave drop_fill_in (--drop-fill-in) out"
            )
        return replace(problem, encoded=problem.encoded.sample(most, problem.seed))

    def _candidates(self, problem: Problem) -> list[Ints] | None:
        """Return who may be a parent of whom: all, or what the local engine's screen lets through either way."""
        if problem.d <= self.options.screened_above:
            return None
        local = replace(self.options.local, all_pairs_up_to=0)
        lists = LocalEngine(local).search(problem).candidates.cpu().numpy()
        node, slot = np.nonzero(lists >= 0)
        pairs = np.stack([node, lists[node, slot]], axis=1)
        either = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
        return np.split(either[:, 1], np.searchsorted(either[:, 0], np.arange(1, problem.d)))

    def _searched(
        self, problem: Problem, edges: Sequence[MoralEdge], candidates: list[Ints] | None
    ) -> Searched:
        """Return the tests of the edges, each given the neighbors of its ends in the moral graph."""
        o, d = self.options.local, problem.d
        crew = crew_of(o, problem)
        features = crew.base.test.designs.features
        first = torch.tensor([edge.first for edge in edges], dtype=torch.int64, device=features.device)
        second = torch.tensor([edge.second for edge in edges], dtype=torch.int64, device=features.device)
        members = _strongest(edges, d, min(o.most_neighbors, o.design.most_members(problem.n)))
        members, near = (lists.to(features.device) for lists in (members, _lists(candidates, d)))
        limits = Limits(1.0, max(members.shape[1], 1))
        return Searched(crew, members, near, first, second, limits, 0, ())


def known(problem: Problem) -> Knowledge:
    """Return what is known of the graph beforehand, or raise saying which variables contradict each other."""
    arrows, joined, apart = (
        _tuples(pairs) for pairs in (problem.arrows, problem.required, problem.forbidden)
    )
    return Knowledge(problem.encoded.names, arrows, joined=joined, apart=apart, tiers=problem.tiers)


def _tuples(pairs: NDArray[np.intp]) -> list[tuple[int, int]]:
    return [(a, b) for a, b in pairs.tolist()]


def _strongest(edges: Sequence[MoralEdge], d: int, most: int) -> Tensor:
    """Return the neighbors of each node, at most so many with the most evidence: (d, s; -1 pads)."""
    near: list[list[tuple[float, int]]] = [[] for _ in range(d)]
    for edge in edges:
        near[edge.first].append((-edge.evidence, edge.second))
        near[edge.second].append((-edge.evidence, edge.first))
    pairs = [(node, other) for node, found in enumerate(near) for _, other in sorted(found)[:most]]
    node, other = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    return candidate_lists(node, other, d)


def _lists(candidates: list[Ints] | None, d: int) -> Tensor:
    """Return who was searched among whom: (d, C; -1 pads); all others where there are no lists."""
    if candidates is None:
        candidates = [np.delete(np.arange(d), at) for at in range(d)]
    node = np.repeat(np.arange(d), [len(others) for others in candidates])
    other = np.concatenate([*candidates, np.empty(0, dtype=np.intp)]).astype(np.int64)
    return candidate_lists(torch.as_tensor(node), torch.as_tensor(other), d)


def _codes(edges: Sequence[MoralEdge], d: int) -> NDArray[np.intp]:
    return np.array([edge.first * d + edge.second for edge in edges], dtype=np.intp)
