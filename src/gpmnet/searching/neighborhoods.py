"""Neighborhood search: per node, add the strongest candidate that passes, drop what no longer does.

All nodes move in step, so that each round is one batched test. The neighborhoods found here only serve as
conditioning sets; the p-value of an edge comes from the full test given both ends' neighborhoods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from gpmnet.files import Shelf
from gpmnet.progress import Progress, silent
from gpmnet.testing.base import BoundTest, packed, trimmed, widened

_PASSES = 2  # forward and backward, and once more where the backward pass dropped something


@dataclass(frozen=True, eq=False)
class Watch:
    """Who follows a search.

    Attributes
    ----------
    progress : Progress
    shelf : Shelf
        Where what was found is kept, and now and then how far the search is.
    phase : str
        What it is called.
    of : str
        What is searched for, where several searches have the same phases.
    group : int or None
        Which of several groups of nodes it is that is searched by itself,
    before, total : int
        the nodes of the groups before it, and of all.
    """

    progress: Progress = silent
    shelf: Shelf = field(default_factory=Shelf)
    phase: str = "search"
    of: str = "neighborhoods"
    group: int | None = None
    before: int = 0
    total: int = 0

    def of_group(self, group: int, before: int, total: int) -> Watch:
        """Return who follows the search of one group of nodes."""
        return replace(self, group=group, before=before, total=total)

    @property
    def name(self) -> str:
        """What its phase is called where progress is told."""
        return self.phase.split(",")[0]

    @property
    def item(self) -> str:
        """Its name on the shelf."""
        whole = f"{self.of}, {self.phase}"
        return whole if self.group is None else f"{whole}, group {self.group}"

    @property
    def under_way(self) -> str:
        """The name of how far it is."""
        return f"{self.item}, under way"

    def tell(self, done: int, total: int) -> None:
        """Say how many of the nodes are done."""
        self.progress(self.name, self.before + done, max(self.total, total))


@dataclass(frozen=True)
class SearchOptions:
    """When a neighbor is added and dropped.

    Attributes
    ----------
    alpha_enter : float
        P-value below which the strongest candidate joins a neighborhood.
    most_members : int
        Largest neighborhood.
    """

    alpha_enter: float = 0.01
    most_members: int = 12


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """Neighbors found for each node and the p-values they had when last tested.

    Attributes
    ----------
    members : Tensor of shape (m, s)
        Neighbors in the order they were found, -1 pads.
    candidates : Tensor of shape (m, C)
        What was searched, -1 pads.
    log_p : Tensor of shape (m, C)
        Log p-value of each candidate given the members (of a member given the other members).
    is_full : Tensor of bool, shape (m,)
        Whether a candidate passed that found no room.
    is_open : Tensor of bool, shape (m,)
        Whether the last backward pass still dropped a member, after which nothing was tried again.
    n_rounds : int
        Batched tests of the forward passes, of the group of nodes that took most.
    """

    members: Tensor
    candidates: Tensor
    log_p: Tensor
    is_full: Tensor
    is_open: Tensor
    n_rounds: int

    def replaced(self, nodes: Tensor, candidates: Tensor, later: Neighborhoods) -> Neighborhoods:
        """Return the neighborhoods with those of some nodes from a later search; candidates (m, C) are all there are."""
        log_p = self.log_p.new_zeros(candidates.shape)
        log_p[:, : self.log_p.shape[1]] = self.log_p
        log_p[nodes] = later.log_p
        members, is_full, is_open = (x.clone() for x in (self.members, self.is_full, self.is_open))
        width = max(members.shape[1], later.members.shape[1])
        members = widened(members, width)
        members[nodes], is_full[nodes], is_open[nodes] = (
            widened(later.members, width),
            later.is_full,
            later.is_open,
        )
        rounds = max(self.n_rounds, later.n_rounds)
        return Neighborhoods(members, candidates, log_p, is_full, is_open, rounds)

    def with_evidence(self, others: Tensor, log_p: Tensor) -> Neighborhoods:
        """Return the same with further evidence (m, k) for some candidates (m, k; -1 for none), where it is stronger."""
        known = self.log_p.clone()
        node, slot = (others >= 0).nonzero(as_tuple=True)
        place = (self.candidates[node] == others[node, slot][:, None]).int().argmax(dim=1)
        known[node, place] = torch.minimum(known[node, place], log_p[node, slot])
        return replace(self, log_p=known)


def search(
    test: BoundTest,
    nodes: Tensor,
    candidates: Tensor,
    options: SearchOptions,
    start: Tensor | None = None,
    watch: Watch | None = None,
) -> Neighborhoods:
    """Find the neighborhood of each of m nodes among its candidates.

    Parameters
    ----------
    nodes : Tensor of shape (m,)
    candidates : Tensor of shape (m, C)
        Variables to consider for each node, -1 pads.
    start : Tensor of shape (m, s), optional
        Members that are there from the start and are never dropped, -1 pads.
    watch : Watch, optional
    """
    device = candidates.device
    watch = Watch() if watch is None else watch
    if start is None:
        start = torch.full((len(nodes), 0), -1, dtype=torch.int64, device=device)

    def found() -> Neighborhoods:
        state = _Search(test, nodes, candidates, options, start, watch)
        state.run()
        is_open = torch.zeros_like(state.is_full)
        is_open[state.begun] = True
        return Neighborhoods(state.members, candidates, state.log_p, state.is_full, is_open, state.n_rounds)

    return watch.shelf.kept_as(Neighborhoods, watch.item, device, found)


@dataclass(eq=False)
class _Search:
    """The neighborhoods of all nodes while they grow and shrink."""

    test: BoundTest
    nodes: Tensor
    candidates: Tensor
    options: SearchOptions
    fixed: Tensor
    watch: Watch
    members: Tensor = field(init=False)
    log_p: Tensor = field(init=False)
    is_full: Tensor = field(init=False)
    n_rounds: int = 0
    turn: int = 0

    def __post_init__(self) -> None:
        m, device = len(self.nodes), self.candidates.device
        none = torch.full((m, self.options.most_members), -1, dtype=torch.int64, device=device)
        self.members = torch.cat([self.fixed, none], dim=1)
        self.room = self.options.most_members + (self.fixed >= 0).sum(dim=1)
        self.log_p = torch.zeros(self.candidates.shape, dtype=torch.float64, device=device)
        self.is_full = torch.zeros(m, dtype=torch.bool, device=device)
        self.begun = self.active = torch.arange(m, device=device)  # nodes of this turn, and of its next round

    def run(self) -> None:
        """Search, or go on where a stopped search was; `begun` are then the nodes that the last pass changed."""
        kept = self.watch.shelf.take(self.watch.under_way)
        if kept is not None:
            self.turn, self.n_rounds = kept.pop("counts").tolist()
            for name, value in kept.items():
                setattr(self, name, value.to(self.nodes.device))
        while self.turn < _PASSES and len(self.begun):
            self.forward()
            self.begun = self.active = self.backward(self.begun)
            self.watch.tell(len(self.nodes), len(self.nodes))
            self.is_full[self.begun] &= self.turn + 1 == _PASSES  # what is searched again may find room
            self.turn += 1

    def _keep(self) -> None:
        if self.watch.shelf.is_due:
            state = {name: getattr(self, name) for name in ("members", "log_p", "is_full", "begun", "active")}
            counts = torch.tensor([self.turn, self.n_rounds], dtype=torch.int64)
            self.watch.shelf.keep_state(self.watch.under_way, state | {"counts": counts})

    def forward(self) -> None:
        """Add to each active node the strongest candidate that passes, as long as there is one."""
        log_alpha = math.log(self.options.alpha_enter)
        while len(self.active):
            active = self.active
            self.watch.tell(len(self.nodes) - len(active), len(self.nodes))
            self._keep()
            self.n_rounds += 1
            given, tried = trimmed(self.members[active]), self.candidates[active]
            found = self.test.rank(self.nodes[active], tried, given)
            taken = (tried[:, :, None] == given[:, None, :]).any(dim=2) if given.shape[1] else tried < 0
            self.log_p[active] = torch.where(taken, self.log_p[active], found)
            best, at = found.masked_fill(taken | (tried < 0), 0.0).min(dim=1)
            passes = best < log_alpha
            has_room = (self.members[active] >= 0).sum(dim=1) < self.room[active]
            self.is_full[active[passes & ~has_room]] = True
            adds = passes & has_room
            chosen = active[adds]
            slot = (self.members[chosen] < 0).int().argmax(dim=1)
            self.members[chosen, slot] = tried[adds, at[adds]]
            self.log_p[chosen, at[adds]] = best[adds]
            rest = self.candidates[chosen]
            left = (rest >= 0) & ~(rest[:, :, None] == self.members[chosen][:, None, :]).any(dim=2)
            self.active = chosen[left.any(dim=1)]

    def backward(self, active: Tensor) -> Tensor:
        """Drop, one at a time, the member that the others make most superfluous; return the nodes that changed."""
        changed = torch.zeros_like(self.is_full)
        active = active[(self.members[active] >= 0).sum(dim=1) > 1]
        while len(active):
            free = ~(self.members[active][:, :, None] == self.fixed[active][:, None, :]).any(dim=2)
            node, slot = ((self.members[active] >= 0) & free).nonzero(as_tuple=True)
            node = active[node]
            tested = self.members[node, slot]
            others = self.members[node].clone()
            others[torch.arange(len(node), device=node.device), slot] = -1
            found = self.test.rank(self.nodes[node], tested[:, None], others)[:, 0]
            place = (self.candidates[node] == tested[:, None]).int().argmax(dim=1)
            self.log_p[node, place] = found
            worst = torch.full(self.members.shape, -torch.inf, dtype=torch.float64, device=node.device)
            worst[node, slot] = found
            value, at = worst[active].max(dim=1)
            drops = value > math.log(self.options.alpha_enter)
            dropped = active[drops]
            self.members[dropped, at[drops]] = -1
            self.members[dropped] = packed(self.members[dropped], self.members.shape[1])
            changed[dropped] = True
            active = dropped[(self.members[dropped] >= 0).sum(dim=1) > 1]
        return changed.nonzero()[:, 0]
