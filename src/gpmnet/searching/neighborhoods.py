"""Neighborhood search: per node, add the strongest candidate that passes, drop what no longer does.

All nodes move in step, so that each round is one batched test. The neighborhoods found here only serve as
conditioning sets; the p-value of an edge comes from the full test given both ends' neighborhoods.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.testing.double_residual import EdgeTest


@dataclass(frozen=True)
class SearchOptions:
    """When a neighbor is added and dropped.

    Attributes
    ----------
    enter : float
        P-value below which the strongest candidate joins a neighborhood.
    most : int
        Largest neighborhood.
    """

    enter: float = 0.01
    most: int = 12


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
    """

    members: Tensor
    candidates: Tensor
    log_p: Tensor


def search(
    test: EdgeTest,
    nodes: Tensor,
    candidates: Tensor,
    options: SearchOptions,
    start: Tensor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Neighborhoods:
    """Find the neighborhood of each of m nodes among its candidates.

    Parameters
    ----------
    nodes : Tensor of shape (m,)
    candidates : Tensor of shape (m, C)
        Variables to consider for each node, -1 pads.
    start : Tensor of shape (m, s), optional
        Members that are there from the start and are never dropped, -1 pads.
    progress : callable, optional
        Called with the numbers of nodes done and of all.
    """
    d = len(candidates)
    widest = options.most + (0 if start is None else start.shape[1])
    members = torch.full((d, widest), -1, dtype=torch.int64, device=candidates.device)
    if start is not None:
        members[:, : start.shape[1]] = start
    fixed = torch.full((d, 1), -2, device=candidates.device) if start is None else start
    room = options.most + (members >= 0).sum(dim=1)
    log_p = torch.zeros(candidates.shape, dtype=torch.float64, device=candidates.device)
    active = torch.arange(d, device=candidates.device)
    for _ in range(2):  # forward, backward, and once more where the backward pass dropped something
        _forward(test, nodes, active, candidates, members, log_p, options, room, progress)
        active = _backward(test, nodes, active, candidates, members, log_p, options, fixed)
        if not len(active):
            break
    return Neighborhoods(members, candidates, log_p)


def _forward(
    test: EdgeTest,
    nodes: Tensor,
    active: Tensor,
    candidates: Tensor,
    members: Tensor,
    log_p: Tensor,
    options: SearchOptions,
    room: Tensor,
    progress: Callable[[int, int], None] | None,
) -> None:
    total = len(active)
    while len(active):
        if progress is not None:
            progress(total - len(active), total)
        given = trim(members[active])
        open_ = candidates[active]
        found = test.rank(nodes[active], open_, given)
        taken = (open_[:, :, None] == given[:, None, :]).any(dim=2) if given.shape[1] else open_ < 0
        log_p[active] = torch.where(taken, log_p[active], found)
        found = found.masked_fill(taken | (open_ < 0), 0.0)
        best, at = found.min(dim=1)
        count = (members[active] >= 0).sum(dim=1)
        adds = (best < math.log(options.enter)) & (count < room[active])
        chosen = active[adds]
        slot = (members[chosen] < 0).int().argmax(dim=1)
        members[chosen, slot] = open_[adds, at[adds]]
        log_p[chosen, at[adds]] = best[adds]
        rest = candidates[chosen]
        left = (rest >= 0) & ~(rest[:, :, None] == members[chosen][:, None, :]).any(dim=2)
        active = chosen[left.any(dim=1)]


def _backward(
    test: EdgeTest,
    nodes: Tensor,
    active: Tensor,
    candidates: Tensor,
    members: Tensor,
    log_p: Tensor,
    options: SearchOptions,
    fixed: Tensor,
) -> Tensor:
    """Drop, one at a time, the member that the others make most superfluous; return the nodes that changed."""
    changed = torch.zeros(len(members), dtype=torch.bool, device=members.device)
    active = active[(members[active] >= 0).sum(dim=1) > 1]
    while len(active):
        free = ~(members[active][:, :, None] == fixed[active][:, None, :]).any(dim=2)
        node, slot = ((members[active] >= 0) & free).nonzero(as_tuple=True)
        node = active[node]
        others = members[node].clone()
        others[torch.arange(len(node), device=node.device), slot] = -1
        tested = members[node, slot]
        found = test.rank(nodes[node], tested[:, None], packed(others))[:, 0]
        place = (candidates[node] == tested[:, None]).int().argmax(dim=1)
        log_p[node, place] = found
        worst = torch.full(members.shape, -torch.inf, dtype=torch.float64, device=members.device)
        worst[node, slot] = found
        value, at = worst[active].max(dim=1)
        drops = value > math.log(options.enter)
        dropped = active[drops]
        members[dropped, at[drops]] = -1
        members[dropped] = packed(members[dropped], members.shape[1])
        changed[dropped] = True
        active = dropped[(members[dropped] >= 0).sum(dim=1) > 1]
    return changed.nonzero()[:, 0]


def packed(sets: Tensor, width: int | None = None) -> Tensor:
    """Move the members of each set to the front, keeping their order, and cut what no set uses."""
    order = torch.argsort((sets < 0).int(), dim=1, stable=True)
    packed = sets.gather(1, order)
    return trim(packed) if width is None else packed[:, :width]


def trim(sets: Tensor) -> Tensor:
    """Cut the columns that no set uses."""
    used = (sets >= 0).any(dim=0).sum()
    return sets[:, : int(used)]
