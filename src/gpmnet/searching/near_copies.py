r"""Groups of variables that nearly determine each other.

The likeness of two variables is the share of one that the other explains, taken symmetrically over their first
features: the squared correlation of the normal scores of two continuous variables, :math:`\sum \rho^2 / \max(k_i,
k_j)` of the canonical correlations otherwise (Cramér's V squared for categories with equally many levels). From .81
on, a correlation of .9, two variables are near-copies: a test of one given the other has a fifth of the rows'
information left, and what a third variable owes to both, neither shows alone.

A group is a variable and its near-copies, the one with most of them first. So all members are close to one centre: a
chain of neighbors, each close to the next only, does not become one group.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.searching.screen import panels

LIKENESS = 0.81
"""Share of the variance from which on two variables are near-copies: a correlation of .9."""
FEWEST_ROWS = 20
"""In fewer rows columns that have nothing to do with each other look alike."""
_BLOCK = 1 << 24  # values in flight


def near_copies(features: Features, candidates: Tensor) -> tuple[tuple[int, ...], ...]:
    """Return the groups, each with its centre first, then the others in order; the largest group first.

    Parameters
    ----------
    candidates : Tensor of shape (d, C)
        Whom to compare each variable with, -1 pads: all in small tables, what passed the screen in large ones.

    Notes
    -----
    Time O(n d C), memory O(n d): linear in the number of variables where C is bounded.
    """
    if features.n < FEWEST_ROWS or not candidates.numel():
        return ()
    first, second = _pairs(features, candidates)
    alike = _likeness(features, first, second)
    close = alike >= LIKENESS
    return _stars(first[close].tolist(), second[close].tolist(), alike[close].tolist())


def _pairs(features: Features, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Return the pairs to compare, first < second; those of very different width cannot be alike."""
    node, slot = (candidates >= 0).nonzero(as_tuple=True)
    other = candidates[node, slot]
    code = torch.unique(torch.minimum(node, other) * features.d + torch.maximum(node, other))
    first, second = code // features.d, code % features.d
    a, b = features.coarse(first), features.coarse(second)
    fits = torch.minimum(a, b) >= LIKENESS * torch.maximum(a, b)
    return first[fits], second[fits]


def _likeness(features: Features, first: Tensor, second: Tensor) -> Tensor:
    place = torch.zeros(features.d, dtype=torch.int64, device=features.device)
    blocks: dict[int, list[Tensor]] = {}
    size: dict[int, int] = {}
    for panel in panels(features):
        k, m = panel.coarse, len(panel.variables)
        block = panel.rows[: k * m].reshape(k, m, -1).permute(1, 0, 2)
        if k == 1:  # columns with ties have less than unit variance
            norm = torch.linalg.vector_norm(block, dim=2, keepdim=True)
            block = block * (features.n**0.5 / norm.clamp(min=1e-6))
        place[panel.variables] = torch.arange(m, device=place.device) + size.get(k, 0)
        size[k] = size.get(k, 0) + m
        blocks.setdefault(k, []).append(block)
    whole = {k: torch.cat(parts) for k, parts in blocks.items()}
    wide_a, wide_b = features.coarse(first), features.coarse(second)
    found = torch.zeros(len(first), dtype=torch.float32, device=features.device)
    for key in torch.unique(wide_a * (int(wide_b.max()) + 1) + wide_b) if len(first) else ():
        a, b = divmod(int(key), int(wide_b.max()) + 1)
        same = ((wide_a == a) & (wide_b == b)).nonzero()[:, 0]
        for part in torch.split(same, max(1, _BLOCK // (features.n * (a + b)))):
            left, right = whole[a][place[first[part]]], whole[b][place[second[part]]]
            squares = (left @ right.mT / features.n).square().sum(dim=(1, 2))
            found[part] = squares / max(a, b)
    return found


def _stars(first: list[int], second: list[int], alike: list[float]) -> tuple[tuple[int, ...], ...]:
    """Return disjoint groups around the variables with most near-copies, the closest of equals first."""
    near: dict[int, list[int]] = {}
    weight: dict[int, float] = {}
    for a, b, value in zip(first, second, alike, strict=True):
        for one, other in ((a, b), (b, a)):
            near.setdefault(one, []).append(other)
            weight[one] = weight.get(one, 0.0) + value
    order = sorted(near, key=lambda at: (-len(near[at]), -round(weight[at], 4), at))
    free = dict.fromkeys(near, True)
    groups = []
    for centre in order:
        members = [other for other in sorted(near[centre]) if free[other]]
        if not free[centre] or not members:
            continue
        groups.append((centre, *members))
        free |= dict.fromkeys(groups[-1], False)
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))
