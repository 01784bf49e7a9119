"""Who is searched for whom: everyone in small tables, what the screen lets through in large ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial

import torch
from torch import Tensor

from gpmnet.jobs.crew import Crew
from gpmnet.searching.groups import search_in_groups
from gpmnet.searching.neighborhoods import Neighborhoods, SearchOptions, Watch, search
from gpmnet.searching.screen import (
    Hits,
    Panel,
    candidate_lists,
    merged,
    panel_hits,
    panels,
    residual_panels,
    screen,
)
from gpmnet.searching.together import Unseen, unseen
from gpmnet.testing.base import BoundTest, distinct, packed, trimmed, widened
from gpmnet.testing.blocks import budget
from gpmnet.testing.residuals import residuals_of_one_shape

LOOKS = 2
"""How often it is looked for what single features do not show."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """Pairs (m, 2) that are never edges, and pairs that always are."""

    forbidden: Tensor
    required: Tensor

    def start(self, d: int) -> Tensor | None:
        """Return the required neighbors of each of d nodes, (d, s; -1 pads); None if there are none."""
        if not len(self.required):
            return None
        both = torch.cat([self.required, self.required.flip(1)])
        return candidate_lists(both[:, 0], both[:, 1], d)


def search_all_pairs(
    test: BoundTest, options: SearchOptions, constraints: Constraints, watch: Watch
) -> Neighborhoods:
    """Return the neighborhoods of all nodes, every other variable a candidate."""
    d, device = test.designs.features.d, test.designs.features.device
    candidates = torch.arange(d, device=device).repeat(d, 1)
    candidates.fill_diagonal_(-1)
    a, b = constraints.forbidden.T
    candidates[a, b] = candidates[b, a] = -1
    everyone, start = torch.arange(d, device=device), constraints.start(d)
    return _search_and_look(test, everyone, candidates, options, start, watch)


@dataclass(frozen=True, eq=False)
class Apart:
    """Neighborhoods of nodes that were searched without the neighbor that says most about each.

    An effect of the same causes may say so much about a node that they go unseen beside it, and hide between the two.

    Attributes
    ----------
    partner : Tensor of shape (d,)
        The neighbor that was left out, -1 for none.
    members : Tensor of shape (d, s)
        Neighbors, -1 pads.
    """

    partner: Tensor
    members: Tensor


def search_apart(test: BoundTest, options: SearchOptions, found: Neighborhoods, watch: Watch) -> Apart:
    """Return what the search finds for each node without the member that has the smallest p-value given the others.

    The other members stay; at most half as many as a neighborhood may have join them.
    """
    member = (found.candidates[:, :, None] == found.members[:, None, :]).any(dim=2) & (found.candidates >= 0)
    at = torch.where(member, found.log_p, torch.inf).argmin(dim=1)
    partner = found.candidates.gather(1, at[:, None])[:, 0].masked_fill(~member.any(dim=1), -1)
    members = torch.full_like(found.members, -1)
    nodes = (partner >= 0).nonzero()[:, 0]
    if len(nodes):
        candidates, start = (
            torch.where(x[nodes] == partner[nodes, None], -1, x[nodes])
            for x in (found.candidates, found.members)
        )
        fewer = replace(options, most_members=-(-options.most_members // 2))
        later = _search_and_look(test, nodes, candidates, fewer, start, replace(watch, of="apart"))
        members = widened(members, max(members.shape[1], later.members.shape[1]))
        members[nodes] = widened(later.members, members.shape[1])
    return Apart(partner, members)


def confirmed(
    crew: Crew, members: Tensor, options: SearchOptions, start: Tensor | None, watch: Watch, looks: int
) -> Tensor:
    """Return neighborhoods (d, s; -1 pads) without the members that the search does not find in another draw of the table.

    The same noise of what was observed is in every draw, and what was drawn repeats it: one draw has about as many members
    that mean nothing as ones that do, where a third of the values is missing. The crew is that of the other draw.
    """
    everyone = torch.arange(len(members), device=members.device)
    if not members.shape[1]:
        return members
    if looks:
        test = crew.base.test
        later = _search_and_look(test, everyone, members, options, start, watch, looks).members
    else:
        later = search_in_groups(crew, everyone, members, options, start, watch).members
    return packed(torch.where((members[:, :, None] == later[:, None, :]).any(dim=2), members, -1))


def _search_and_look(
    test: BoundTest,
    nodes: Tensor,
    candidates: Tensor,
    options: SearchOptions,
    start: Tensor | None,
    watch: Watch,
    looks: int = LOOKS,
) -> Neighborhoods:
    """Search, look for what single features do not show, and search again with that."""
    m, device = len(nodes), nodes.device
    found = search(test, nodes, candidates, options, start, watch)
    kept = torch.full((m, 0), -1, dtype=torch.int64, device=device) if start is None else start
    allowed = torch.zeros((m, test.designs.features.d + 1), dtype=torch.bool, device=device)
    allowed = allowed.scatter_(1, candidates % allowed.shape[1], True)[:, :-1]
    for look in range(1, looks + 1):
        seen = partial(unseen, test, nodes, found.members, allowed, options.alpha_enter)
        more = watch.shelf.kept_as(Unseen, f"{watch.of}, look {look}", device, seen)
        at = ((more.members >= 0).any(dim=1) & ~found.is_full).nonzero()[:, 0]
        if not len(at):
            break
        kept = torch.cat([kept, more.members], dim=1)
        fixed = distinct(kept[at])
        options = replace(options, most_members=max(0, options.most_members - more.members.shape[1]))
        again = replace(watch, phase=f"search again, {look}")
        later = search(test, nodes[at], candidates[at], options, fixed, again)
        found = found.replaced(at, candidates, later).with_evidence(more.members, more.log_p)
    return found


@dataclass(frozen=True)
class ScreenOptions:
    """What the screen lets through.

    Attributes
    ----------
    alpha : float
        P-value to pass.
    most : int
        Candidates of a node.
    """

    alpha: float
    most: int


@dataclass(frozen=True, eq=False)
class Ground:
    """What the tasks of a fit use.

    Attributes
    ----------
    test : BoundTest
    """

    test: BoundTest

    @cached_property
    def white(self) -> list[Panel]:
        """The whitened features of all variables, for screens."""
        return panels(self.test.designs.features)

    def forget(self) -> None:
        """Give the memory of what screens use back."""
        self.__dict__.pop("white", None)


def search_screened(
    options: SearchOptions,
    screening: ScreenOptions,
    constraints: Constraints,
    watch: Watch,
    crew: Crew,
) -> Neighborhoods:
    """Screen, search, screen again with what the neighbors leave, and search where that found more.

    The base of the crew, which does the screens and searches groups of nodes, is a `Ground`.
    """
    ground: Ground = crew.base
    test = ground.test
    features, shelf = test.designs.features, watch.shelf
    d, start, closed = features.d, constraints.start(features.d), constraints.forbidden
    device = features.device
    hits = shelf.kept_as(Hits, "screen", device, partial(_screened, crew, ground, screening, closed))
    candidates = hits.lists(d)
    everyone = torch.arange(d, device=device)
    found = search_in_groups(crew, everyone, candidates, options, start, watch)
    connected = ((found.members >= 0).any(dim=1)).nonzero()[:, 0]
    if not len(connected):
        return found

    members = trimmed(found.members[connected])
    batches = list(test.designs.batches(members, budget(device)))
    left = _Left(connected, members, batches, screening, closed)
    more = shelf.kept_as(Hits, "screen again", device, partial(_screened_again, crew, left))
    ground.forget()
    more = more.take(~(candidates[more.node] == more.candidate[:, None]).any(dim=1))
    if not len(more.node):
        return found
    candidates, nodes = Hits.joined([hits, more]).lists(d), torch.unique(more.node)
    started = None if start is None else start[nodes]
    watch = replace(watch, phase="search again")
    later = search_in_groups(crew, nodes, candidates[nodes], options, started, watch)
    return found.replaced(nodes, candidates, later)


@dataclass(frozen=True, eq=False)
class _Left:
    """Nodes (m,), their neighbors (m, s), which of them are looked at together, and what is asked of them."""

    nodes: Tensor
    members: Tensor
    batches: list[Tensor]
    screening: ScreenOptions
    closed: Tensor


def _screened(crew: Crew, ground: Ground, screening: ScreenOptions, closed: Tensor) -> Hits:
    """Return the pairs that pass given nothing."""
    d, done = ground.test.designs.features.d, 0
    sizes = [len(panel.variables) for panel in ground.white]
    parts = []
    for size, said in zip(sizes, crew.each(_panel_task, screening.alpha, len(sizes), "screen"), strict=True):
        parts.append((_heard("own", said), _heard("later", said)))
        done += size
        crew.progress("screen", done, d)
    return merged(parts, True, screening.most, closed)


def _panel_task(ground: Ground, alpha: float, number: int) -> dict[str, Tensor]:
    own, later = panel_hits(ground.white[number], ground.white[number:], alpha)
    return _said("own", own) | _said("later", later)


def _screened_again(crew: Crew, left: _Left) -> Hits:
    """Return the pairs that pass given the neighbors of their nodes."""
    found, done = [], 0
    for rows, said in zip(
        left.batches, crew.each(_left_task, left, len(left.batches), "screen again"), strict=True
    ):
        found.append(_heard("hits", said))
        done += len(rows)
        crew.progress("screen again", done, len(left.nodes))
    return Hits.joined(found)


def _left_task(ground: Ground, left: _Left, number: int) -> dict[str, Tensor]:
    rows, designs = left.batches[number], ground.test.designs
    nodes = left.nodes[rows]
    block = nodes, residuals_of_one_shape(designs, nodes, left.members[rows])
    parts = residual_panels(designs.features, iter([block]))
    o = left.screening
    return _said("hits", screen(parts, ground.white, o.alpha, o.most, forbidden=left.closed))


def _said(name: str, hits: Hits) -> dict[str, Tensor]:
    return {f"{name} {field.name}": getattr(hits, field.name) for field in fields(hits)}


def _heard(name: str, said: dict[str, Tensor]) -> Hits:
    return Hits(**{field.name: said[f"{name} {field.name}"] for field in fields(Hits)})


def close_pairs(found: Neighborhoods, required: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Return the pairs worth the full test: close to significant from either end, or required."""
    node, slot = ((found.candidates >= 0) & (found.log_p < math.log(alpha))).nonzero(as_tuple=True)
    other = torch.cat([found.candidates[node, slot], required[:, 1]])
    node = torch.cat([node, required[:, 0]])
    d = len(found.members)
    code = torch.unique(torch.minimum(node, other) * d + torch.maximum(node, other))
    return code // d, code % d
