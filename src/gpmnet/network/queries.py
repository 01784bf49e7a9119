"""Questions about an undirected graph over the positions 0, ..., d - 1: pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

Lists = Sequence[Sequence[int]]
SEED = 0
"""Seed of everything random that is only for looking at: communities and layouts."""


def neighbor_lists(d: int, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the neighbors of each vertex, increasing.

    >>> neighbor_lists(3, [(1, 2), (0, 1)])
    [[1], [0, 2], [1]]
    """
    lists: list[list[int]] = [[] for _ in range(d)]
    for a, b in edges:
        lists[a].append(b)
        lists[b].append(a)
    for neighbors in lists:
        neighbors.sort()
    return lists


def open_path(
    neighbors: Lists, start: int, goal: int, closed: Collection[int] = ()
) -> tuple[int, ...] | None:
    """Return a shortest path from start to goal that avoids the closed vertices; None if there is none.

    >>> ring = [[1, 3], [0, 2], [1, 3], [0, 2]]
    >>> open_path(ring, 0, 2, closed={1})
    (0, 3, 2)
    >>> open_path(ring, 0, 2, closed={1, 3}) is None
    True
    """
    came_from = {start: start}
    frontier = [start]
    while frontier:
        following = []
        for at in frontier:
            for neighbor in neighbors[at]:
                if neighbor in came_from or neighbor in closed:
                    continue
                came_from[neighbor] = at
                if neighbor == goal:
                    return _walk_back(came_from, goal)
                following.append(neighbor)
        frontier = following
    return None


def _walk_back(came_from: dict[int, int], goal: int) -> tuple[int, ...]:
    path = [goal]
    while came_from[path[-1]] != path[-1]:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))


def communities(
    d: int, edges: Sequence[tuple[int, int]], weights: Sequence[float]
) -> tuple[tuple[int, ...], ...]:
    """Return groups of vertices with more edge weight inside than chance would give (Louvain modularity).

    The largest group comes first. A weight that is not a positive number counts as the smallest that is,
    or as one where none is. The seed is fixed, so the same graph has the same groups.

    >>> communities(5, [(0, 1), (0, 2), (1, 2), (3, 4)], [1.0] * 4)
    ((0, 1, 2), (3, 4))
    """
    import networkx as nx

    weight = np.array(weights, dtype=np.float64).reshape(-1)
    known = np.isfinite(weight) & (weight > 0)
    weight = np.where(known, weight, weight[known].min() if known.any() else 1.0)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(d))
    graph.add_weighted_edges_from((a, b, w) for (a, b), w in zip(edges, weight.tolist(), strict=True))
    groups = nx.community.louvain_communities(graph, seed=SEED)
    return tuple(sorted((tuple(sorted(group)) for group in groups), key=lambda group: (-len(group), group)))
