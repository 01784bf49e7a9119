"""The local engine: features, screen, search, tests and node models in their order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.local.edge_test import EdgeTest, TestOptions
from gpmnet.local.features import Features, build_features
from gpmnet.local.nodes import NodeOptions, edge_omegas
from gpmnet.local.nuisance import DesignOptions, most_cells, table_cells
from gpmnet.local.screen import Hits, panels, residual_panels, screen
from gpmnet.local.search import Neighbourhoods, SearchOptions, search, trim
from gpmnet.table import Encoded

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class LocalOptions:
    """Settings of the local engine; one set of values serves all data.

    Attributes
    ----------
    n_features : int
        K, features of a continuous variable.
    joint_share : float
        Joint random features of a conditioning set, as a share of the rows ...
    most_joint : int
        ... and at most this many.
    enter : float
        A candidate joins a neighbourhood at this p-value.
    near : float
        Pairs with a p-value below this in the search get the full test and are reported, edge or not.
    all_pairs_up_to : int
        Up to this many variables every pair is a candidate; above, the screen decides,
    enter_share : float
        and a candidate must pass this divided by the number of variables, in the screen and in the search.
    most_candidates : int
        Candidates of a node kept by the screen.
    most_neighbours : int
        Largest neighbourhood.
    design : DesignOptions or None
        Flexibility of the regressions; None lets it grow with the rows.
    test : TestOptions
    """

    n_features: int = 3
    joint_share: float = 0.1
    most_joint: int = 200
    enter: float = 0.01
    near: float = 0.1
    all_pairs_up_to: int = 100
    enter_share: float = 0.1
    most_candidates: int = 32
    most_neighbours: int = 12
    design: DesignOptions | None = None
    test: TestOptions = field(default_factory=TestOptions)


@dataclass(frozen=True, eq=False)
class LocalResult:
    """Pairs that were tested (first < second), each array of shape (m,), and the features behind them."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    p_value: NDArray[np.float64]
    strength: NDArray[np.float64]
    sign: NDArray[np.float64]
    features: Features

    def omega(
        self, is_edge: NDArray[np.bool_], options: NodeOptions
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Omega of the edges, from node models of their ends (NaN elsewhere), and its diagonal (d,)."""
        neighbours: list[list[int]] = [[] for _ in range(self.features.d)]
        for a, b in zip(self.first[is_edge].tolist(), self.second[is_edge].tolist(), strict=True):
            neighbours[a].append(b)
            neighbours[b].append(a)
        squared, own = edge_omegas(self.features, neighbours, options)
        omega = np.full(len(self.first), np.nan)
        for at in np.flatnonzero(is_edge):
            a, b = int(self.first[at]), int(self.second[at])
            omega[at] = math.sqrt((squared[a, b] + squared[b, a]) / 2)
        return omega, own.sqrt().numpy()


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
            Pairs that are never tested, and pairs that are neighbours from the start.
        """
        o = self.options
        report = progress or (lambda phase, done, total: None)
        n, d = encoded.n_rows, len(encoded.names)
        n_joint = int(min(o.most_joint, max(10, o.joint_share * n)))
        small = d <= o.all_pairs_up_to
        dtype = torch.float64 if small else torch.float32
        n_features = min(o.n_features, max(1, n - 2))  # no more than the rows can tell apart
        features = build_features(encoded, n_features, n_joint, self.seed, self.device, dtype)
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
        first, second = self._near(found, required, max(level, o.near if small else settings.enter))
        given = _unions(features, found.members, first, second, most, most_cells(features.n, design))
        tested = self._final(test, first, second, given, report)
        return LocalResult(first.cpu().numpy(), second.cpu().numpy(), *tested, features)

    def _most(self, features: Features, design: DesignOptions) -> int:
        """Return how many neighbours a set may have: a design takes at most a quarter of the rows."""
        joint = features.weights.shape[1]
        per_variable = 1 + design.n_cosines
        return int(max(1, min(self.options.most_neighbours, (features.n / 4 - joint) // per_variable)))

    def _sparse_search(
        self,
        features: Features,
        test: EdgeTest,
        settings: SearchOptions,
        start: Tensor | None,
        forbidden: NDArray[np.intp] | None,
        report: Progress,
        level: float,
    ) -> Neighbourhoods:
        """Screen, search, screen again with what the neighbours leave, and search where that found more."""
        o, d = self.options, features.d
        white = panels(features)
        level, most = max(level, settings.enter), o.most_candidates
        hits = screen(white, white, level, most, lambda done: report("screen", done, d))
        candidates = _lists(hits, d, forbidden)
        everyone = torch.arange(d, device=features.device)
        found = search(test, everyone, candidates, settings, start, _phase(report, "search"))
        connected = ((found.members >= 0).any(dim=1)).nonzero()[:, 0]
        if not len(connected):
            return found
        left = residual_panels(features, test.whitened(connected, trim(found.members[connected])))
        more = screen(left, white, level, most, lambda done: report("screen again", done, len(connected)))
        fresh = ~_contains(candidates, more.node, more.candidate)
        if not bool(fresh.any()):
            return found
        both = Hits(
            *(torch.cat([getattr(hits, k), getattr(more, k)[fresh]]) for k in ("node", "candidate", "score"))
        )
        candidates, nodes = _lists(both, d, forbidden), more.node[fresh].unique()
        started = None if start is None else start[nodes]
        again = search(test, nodes, candidates[nodes], settings, started, _phase(report, "search again"))
        log_p = torch.zeros(candidates.shape, dtype=torch.float64, device=features.device)
        log_p[:, : found.log_p.shape[1]] = found.log_p
        log_p[nodes], found.members[nodes] = again.log_p, again.members
        return Neighbourhoods(found.members, candidates, log_p)

    @staticmethod
    def _near(found: Neighbourhoods, required: NDArray[np.intp] | None, near: float) -> tuple[Tensor, Tensor]:
        """Return the pairs worth the full test: close to significant from either end, or required."""
        node, slot = ((found.candidates >= 0) & (found.log_p < math.log(near))).nonzero(as_tuple=True)
        other = found.candidates[node, slot]
        if required is not None and len(required):
            extra = torch.as_tensor(required, device=node.device)
            node, other = torch.cat([node, extra[:, 0]]), torch.cat([other, extra[:, 1]])
        d = len(found.members)
        code = torch.unique(torch.minimum(node, other) * d + torch.maximum(node, other))
        return code // d, code % d

    def _final(
        self, test: EdgeTest, first: Tensor, second: Tensor, given: Tensor, report: Progress
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return p-values, strengths and signs of the pairs."""
        log_p, strength, sign = (np.zeros(len(first)) for _ in range(3))
        for begin in range(0, len(first), 2048):
            report("test", begin, len(first))
            at = slice(begin, begin + 2048)
            found = test.pairs(first[at], second[at], given[at])
            log_p[at], strength[at], sign[at] = (x.cpu() for x in (found.log_p, found.strength, found.sign))
        report("test", len(first), len(first))
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


def _lists(hits: Hits, d: int, forbidden: NDArray[np.intp] | None) -> Tensor:
    """Return the hits as one row of candidates a node, -1 pads."""
    node, candidate = hits.node, hits.candidate
    if forbidden is not None and len(forbidden):
        pairs = torch.as_tensor(forbidden, device=node.device)
        closed = torch.cat([pairs[:, 0] * d + pairs[:, 1], pairs[:, 1] * d + pairs[:, 0]])
        allowed = ~torch.isin(node * d + candidate, closed)
        node, candidate = node[allowed], candidate[allowed]
    order = torch.argsort(node, stable=True)
    node, candidate = node[order], candidate[order]
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
    return _lists(Hits(both[:, 0], both[:, 1], both[:, 0]), d, None)


def _unions(
    features: Features, members: Tensor, first: Tensor, second: Tensor, most: int, most_cells: float
) -> Tensor:
    """Return both ends' neighbours without the pair itself; the smaller set where the union is too large.

    Either end's complete neighbourhood separates a pair without an edge; the union also does where one end missed
    a weak neighbour. It is too large with more than `most` members, or when its discrete ones span more than
    `most_cells` cells: the rows of a cell would then be too few to see anything.
    """
    a, b = members[first], members[second]
    a = torch.where(a == second[:, None], -1, a)
    b = torch.where(b == first[:, None], -1, b)
    union = _distinct(torch.cat([a, b], dim=1))
    size_a, size_b = (a >= 0).sum(dim=1), (b >= 0).sum(dim=1)
    # Ties are decided by a hash of the members' names, not by their positions.
    first_smaller = torch.where(
        size_a == size_b, _name_key(features, a) <= _name_key(features, b), size_a < size_b
    )
    smaller = torch.where(first_smaller[:, None], a, b)
    pad = torch.full((len(a), union.shape[1] - a.shape[1]), -1, dtype=a.dtype, device=a.device)
    fits = ((union >= 0).sum(dim=1) <= most) & (table_cells(features, union) <= most_cells)
    union = torch.where(fits[:, None], union, _distinct(torch.cat([smaller, pad], dim=1)))
    width = int((union >= 0).sum(dim=1).max()) if len(union) else 0
    return union[:, :width]


def _name_key(features: Features, sets: Tensor) -> Tensor:
    key = features.weights[features.linear_start[sets.clamp(min=0)], 0].double()
    return torch.where(sets >= 0, key, 0.0).sum(dim=1)


def _distinct(sets: Tensor) -> Tensor:
    """Sort each set in decreasing order, repeated members removed, -1 last."""
    ordered = sets.sort(dim=1, descending=True).values
    repeated = torch.zeros_like(ordered, dtype=torch.bool)
    repeated[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return ordered.masked_fill(repeated, -1).sort(dim=1, descending=True).values
