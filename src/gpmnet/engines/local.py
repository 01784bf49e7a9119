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
from gpmnet.columns.features import Features, build_features
from gpmnet.nodes.models import NodeOptions, edge_omegas
from gpmnet.nodes.surfaces import ShapeCollector
from gpmnet.searching.neighborhoods import Neighborhoods, SearchOptions, search, trim
from gpmnet.searching.screen import Hits, panels, residual_panels, screen
from gpmnet.selection.pair_rule import judge
from gpmnet.table import Encoded
from gpmnet.testing.design import DesignOptions
from gpmnet.testing.double_residual import EdgeTest, TestOptions

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class LocalOptions:
    """Settings of the local engine; one set of values serves all data.

    Attributes
    ----------
    n_features : int
        K, features of a continuous variable.
    enter : float
        A candidate joins a neighborhood at this p-value.
    near : float
        Pairs with a p-value below this in the search get the full test and are reported, edge or not.
    all_pairs_up_to : int
        Up to this many variables every pair is a candidate; above, the screen decides,
    enter_share : float
        and a candidate must pass this divided by the number of variables, in the screen and in the search.
    most_candidates : int
        Candidates of a node kept by the screen.
    most_neighbors : int
        Largest neighborhood.
    enough : float
        A conditioning set beyond one end's neighborhood has a say if it leaves this share of the information.
    design : DesignOptions or None
        Flexibility of the regressions; None lets the number of cosines grow with the rows, 2 n^0.15.
    test : TestOptions
    node : NodeOptions
        Node models behind Omega and the shapes of edges.
    """

    n_features: int = 3
    enter: float = 0.01
    near: float = 0.1
    all_pairs_up_to: int = 100
    enter_share: float = 0.1
    most_candidates: int = 32
    most_neighbors: int = 12
    enough: float = 0.1
    design: DesignOptions | None = None
    test: TestOptions = field(default_factory=TestOptions)
    node: NodeOptions = field(default_factory=NodeOptions)

    def __post_init__(self) -> None:
        for name in ("enter", "near", "enter_share", "enough"):
            check_number(self, name, 0.0, 1.0, open_low=True)
        for name, least in (("n_features", 1), ("all_pairs_up_to", 0)):
            check_number(self, name, least, integer=True)
        for name in ("most_candidates", "most_neighbors"):
            check_number(self, name, 1, integer=True)
        check_type(self, "test", TestOptions)
        check_type(self, "node", NodeOptions)
        if self.design is not None:
            check_type(self, "design", DesignOptions)


@dataclass(frozen=True, eq=False)
class Description:
    """What an engine says about the edges once they are chosen.

    Attributes
    ----------
    omega : ndarray of shape (m,)
        Omega of each tested pair, NaN where the engine has none.
    own : ndarray of shape (d,)
        Its diagonal.
    shapes : list of ndarray
        Interaction of the log density on the grids of the two variables, of each pair that is to be shown.
    """

    omega: NDArray[np.float64]
    own: NDArray[np.float64]
    shapes: list[NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class LocalResult:
    """Pairs that were tested (first < second), each array of shape (m,), and what describes the edges among them."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    p_value: NDArray[np.float64]
    strength: NDArray[np.float64]
    sign: NDArray[np.float64]
    features: Features
    node: NodeOptions

    def describe(self, is_edge: NDArray[np.bool_], shown: NDArray[np.intp]) -> Description:
        """Return Omega and shapes from node models of the graph of the edges; see `Description`."""
        shapes = ShapeCollector(np.stack([self.first[shown], self.second[shown]], axis=1))
        squared, own = edge_omegas(self.features, self._neighbors(is_edge), self.node, shapes.add)
        omega = np.full(len(self.first), np.nan)
        for at in np.flatnonzero(is_edge):
            a, b = int(self.first[at]), int(self.second[at])
            omega[at] = math.sqrt((squared[a, b] + squared[b, a]) / 2)
        return Description(omega, own.sqrt().numpy(), shapes.shapes())

    def _neighbors(self, is_edge: NDArray[np.bool_]) -> list[list[int]]:
        neighbors: list[list[int]] = [[] for _ in range(self.features.d)]
        for a, b in zip(self.first[is_edge].tolist(), self.second[is_edge].tolist(), strict=True):
            neighbors[a].append(b)
            neighbors[b].append(a)
        return neighbors


@dataclass(frozen=True, eq=False)
class Searched:
    """What the search hands to the tests.

    Attributes
    ----------
    test : EdgeTest
    members : Tensor of shape (d, s)
        Neighbors of each node, -1 pads.
    first, second : Tensor of shape (m,)
        Pairs that came close, first < second.
    near : float
        P-value above which a pair is not followed further.
    most : int
        Largest neighborhood.
    """

    test: EdgeTest
    members: Tensor
    first: Tensor
    second: Tensor
    near: float
    most: int


class LocalEngine:
    """Tests the pairs of an encoded table.

    Parameters
    ----------
    options : LocalOptions
    seed : int
    device : str
    """

    def __init__(self, options: LocalOptions, seed: int = 0, device: str = "cpu") -> None:
        self.options, self.seed, self.device = options, seed, device

    def fit(
        self,
        encoded: Encoded,
        forbidden: NDArray[np.intp] | None = None,
        required: NDArray[np.intp] | None = None,
        progress: Progress | None = None,
        level: float = 0.0,
    ) -> LocalResult:
        """Return the tested pairs.

        Parameters
        ----------
        level : float
            P-value up to which pairs must get the full test, if that is more than the options say.
        forbidden, required : ndarray of shape (m, 2), optional
            Pairs that are never tested, and pairs that are neighbors from the start.
        """
        report = progress or (lambda phase, done, total: None)
        found = self.search(encoded, forbidden, required, report, level)
        tested = self.final(found, report)
        ends = found.first.cpu().numpy(), found.second.cpu().numpy()
        return LocalResult(*ends, *tested, found.test.features, self.options.node)

    def search(
        self,
        encoded: Encoded,
        forbidden: NDArray[np.intp] | None = None,
        required: NDArray[np.intp] | None = None,
        progress: Progress | None = None,
        level: float = 0.0,
    ) -> Searched:
        """Return the neighborhoods and the pairs worth the full test; arguments as those of `fit`."""
        o = self.options
        report = progress or (lambda phase, done, total: None)
        n, d = encoded.n_rows, len(encoded.names)
        small = d <= o.all_pairs_up_to
        dtype = torch.float64 if small else torch.float32
        n_features = min(o.n_features, max(1, n - 2))  # no more than the rows can tell apart
        features = build_features(encoded, n_features, o.node.most(n), self.seed, self.device, dtype)
        design = o.design or DesignOptions(n_cosines=round(2 * n**0.15))
        test = EdgeTest(features, design, o.test)
        most = self._most(features, design)
        settings = SearchOptions(o.enter if small else min(o.enter, o.enter_share / d), most)
        start = _as_sets(required, d, self.device)
        if small:
            everyone = torch.arange(d, device=self.device)
            candidates = _everyone(d, forbidden, self.device)
            found = search(test, everyone, candidates, settings, start, _phase(report, "search"))
        else:
            found = self._sparse_search(features, test, settings, start, forbidden, report, level)
        near = max(level, o.near if small else settings.enter)
        first, second = self._near(found, required, near)
        # Ten times the level: Benjamini-Hochberg at 0.05 gets there with twenty neighbors a node.
        return Searched(test, found.members, first, second, min(10 * near, max(level, o.near)), most)

    def _most(self, features: Features, design: DesignOptions) -> int:
        """Return how many neighbors a set may have: a design takes at most a quarter of the rows."""
        per_variable = 1 + design.n_cosines
        room = (features.n / 4 - design.n_products(features.n)) // per_variable
        return int(max(1, min(self.options.most_neighbors, room)))

    def _sparse_search(
        self,
        features: Features,
        test: EdgeTest,
        settings: SearchOptions,
        start: Tensor | None,
        forbidden: NDArray[np.intp] | None,
        report: Progress,
        level: float,
    ) -> Neighborhoods:
        """Screen, search, screen again with what the neighbors leave, and search where that found more."""
        o, d = self.options, features.d
        white = panels(features)
        level, most = max(level, settings.enter), o.most_candidates
        closed = None if forbidden is None else torch.as_tensor(forbidden, device=features.device)
        hits = screen(white, white, level, most, lambda done: report("screen", done, d), closed)
        candidates = _lists(hits, d)
        everyone = torch.arange(d, device=features.device)
        found = search(test, everyone, candidates, settings, start, _phase(report, "search"))
        connected = ((found.members >= 0).any(dim=1)).nonzero()[:, 0]
        if not len(connected):
            return found
        left = residual_panels(features, test.whitened(connected, trim(found.members[connected])))
        more = screen(
            left, white, level, most, lambda done: report("screen again", done, len(connected)), closed
        )
        fresh = ~_contains(candidates, more.node, more.candidate)
        if not bool(fresh.any()):
            return found
        both = Hits(
            *(torch.cat([getattr(hits, k), getattr(more, k)[fresh]]) for k in ("node", "candidate", "score"))
        )
        candidates, nodes = _lists(both, d), more.node[fresh].unique()
        started = None if start is None else start[nodes]
        again = search(test, nodes, candidates[nodes], settings, started, _phase(report, "search again"))
        log_p = torch.zeros(candidates.shape, dtype=torch.float64, device=features.device)
        log_p[:, : found.log_p.shape[1]] = found.log_p
        log_p[nodes], found.members[nodes] = again.log_p, again.members
        return Neighborhoods(found.members, candidates, log_p)

    @staticmethod
    def _near(found: Neighborhoods, required: NDArray[np.intp] | None, near: float) -> tuple[Tensor, Tensor]:
        """Return the pairs worth the full test: close to significant from either end, or required."""
        node, slot = ((found.candidates >= 0) & (found.log_p < math.log(near))).nonzero(as_tuple=True)
        other = found.candidates[node, slot]
        if required is not None and len(required):
            extra = torch.as_tensor(required, device=node.device)
            node, other = torch.cat([node, extra[:, 0]]), torch.cat([other, extra[:, 1]])
        d = len(found.members)
        code = torch.unique(torch.minimum(node, other) * d + torch.maximum(node, other))
        return code // d, code % d

    def final(
        self, found: Searched, report: Progress
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return p-values, strengths and signs of the pairs."""
        count = len(found.first)
        log_p, strength, sign = (np.zeros(count) for _ in range(3))
        for begin in range(0, count, 2048):
            report("test", begin, count)
            at = slice(begin, begin + 2048)
            ends = found.first[at], found.second[at]
            result = judge(found.test, found.members, *ends, self.options.enough, found.near, found.most)
            log_p[at], strength[at], sign[at] = (
                x.cpu() for x in (result.log_p, result.strength, result.sign)
            )
        report("test", count, count)
        return np.exp(log_p), strength, sign


def _phase(report: Progress, phase: str) -> Callable[[int, int], None]:
    return lambda done, total: report(phase, done, total)


def _everyone(d: int, forbidden: NDArray[np.intp] | None, device: str) -> Tensor:
    """Return every other variable as a candidate of each, forbidden pairs left out."""
    table = torch.arange(d, device=device).repeat(d, 1)
    table.fill_diagonal_(-1)
    if forbidden is not None and len(forbidden):
        a, b = torch.as_tensor(forbidden, device=device).T
        table[a, b] = table[b, a] = -1
    return table


def _lists(hits: Hits, d: int) -> Tensor:
    """Return the hits as one row of candidates a node, -1 pads."""
    order = torch.argsort(hits.node, stable=True)
    node, candidate = hits.node[order], hits.candidate[order]
    count = torch.bincount(node, minlength=d)
    slot = torch.arange(len(node), device=node.device) - (torch.cumsum(count, 0) - count)[node]
    table = torch.full((d, max(int(count.max()), 1) if len(node) else 1), -1, device=node.device)
    table[node, slot] = candidate
    return table


def _contains(table: Tensor, node: Tensor, candidate: Tensor) -> Tensor:
    return (table[node] == candidate[:, None]).any(dim=1)


def _as_sets(pairs: NDArray[np.intp] | None, d: int, device: str) -> Tensor | None:
    if pairs is None or not len(pairs):
        return None
    both = torch.as_tensor(np.concatenate([pairs, pairs[:, ::-1]]), device=device)
    return _lists(Hits(both[:, 0], both[:, 1], both[:, 0]), d)
