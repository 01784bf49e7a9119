"""Where the nodes of a large network stand: each community in a disc of its own, so that one can be opened by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from gpmnet.network.report.positions import (
    LONGEST,
    Ends,
    Points,
    layout,
    least_stress,
    lengths_of,
    on_shelves,
    rows_under,
    wide,
)

MARGIN = 0.7
"""Between the nodes of a community and the rim of its disc."""
ROUNDS = 300


def layout_apart(
    group: Ends, first: Ends, second: Ends, weight: NDArray[np.float64], seed: int = 0
) -> Points:
    """Return positions of shape (n, 2) in which the communities are discs that do not meet.

    Inside, a community stands as `layout` has it. The discs of communities that heavy edges join are close; nodes without
    an edge are in rows under all.

    Examples
    --------
    >>> ends = np.array([0, 1, 3]), np.array([1, 2, 4])
    >>> where = layout_apart(np.array([0, 0, 0, 1, 1, 2]), *ends, np.ones(3))
    >>> bool(where[5, 1] > where[:5, 1].max())
    True
    """
    n = len(group)
    joined = np.zeros(n, dtype=bool)
    joined[first] = joined[second] = True
    labels = np.unique(group[joined])
    disc = np.searchsorted(labels, group)  # of nodes with an edge
    where, radius = np.zeros((n, 2)), np.zeros(len(labels))
    place = np.zeros(n, dtype=np.intp)
    inner = disc[first] == disc[second]
    for at in range(len(labels)):
        members = np.flatnonzero(joined & (disc == at))
        place[members] = np.arange(len(members))
        own = inner & (disc[first] == at)
        inside = layout(len(members), place[first[own]], place[second[own]], weight[own], seed)
        inside -= (inside.min(axis=0) + inside.max(axis=0)) / 2
        where[members] = inside
        radius[at] = np.linalg.norm(inside, axis=1).max() + MARGIN
    ends = disc[first[~inner]], disc[second[~inner]]
    centre, bottom, width = arranged(radius, *ends, weight[~inner], seed)
    where[joined] += centre[disc[joined]]
    rows_under(where, np.flatnonzero(~joined), bottom, width)
    return where


def arranged(
    radius: NDArray[np.float64], first: Ends, second: Ends, weight: NDArray[np.float64], seed: int = 0
) -> tuple[Points, float, float]:
    """Return the centres of discs that do not meet, given the edges between them, and the height and width they fill."""
    n = len(radius)
    pair, which = np.unique(np.minimum(first, second) * n + np.maximum(first, second), return_inverse=True)
    low, high = pair // max(n, 1), pair % max(n, 1)
    total = np.bincount(which, weight, len(pair)).astype(np.float64)
    reach = (radius[low] + radius[high]) * np.clip(lengths_of(total, n), 1.0, LONGEST)
    graph = csr_array((reach, (low, high)), shape=(n, n))
    label = connected_components(graph, directed=False)[1]
    rng = np.random.default_rng(seed)
    centre, boxes, sizes = np.zeros((n, 2)), [], []
    parts = [np.flatnonzero(label == part) for part in range(label.max(initial=-1) + 1)]
    for members in sorted(parts, key=lambda part: (-float((radius[part] ** 2).sum()), part[0])):
        if len(members) > 1:
            steps = shortest_path(graph[members][:, members], directed=False)
            centre[members] = pushed_apart(wide(least_stress(steps, rng)), radius[members])
        centre[members] -= (centre[members] - radius[members, None]).min(axis=0)
        boxes.append(members)
        sizes.append((centre[members] + radius[members, None]).max(axis=0))
    bottom, width = on_shelves(centre, boxes, sizes)
    return centre, bottom, width


def pushed_apart(centre: Points, radius: NDArray[np.float64]) -> Points:
    """Return centres near these whose discs do not meet: those that meet push each other away, a round at a time."""
    moved = centre.copy()
    need = radius[:, None] + radius
    np.fill_diagonal(need, 0.0)
    for _ in range(ROUNDS):
        apart = moved[:, None] - moved
        length = np.linalg.norm(apart, axis=2)
        short = np.maximum(need - length, 0.0)
        if short.max() <= 1e-9:
            return moved
        push = 0.5 * short / np.maximum(length, 1e-9)
        moved += (push[:, :, None] * apart).sum(axis=1)
    length = np.linalg.norm(moved[:, None] - moved, axis=2)
    np.fill_diagonal(length, 1.0)
    return moved * float(np.maximum(need / np.maximum(length, 1e-9), 1.0).max())
