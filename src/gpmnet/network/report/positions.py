"""Where the nodes of the picture stand: computed once, from a seed, so that the same network looks the same."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

Points = NDArray[np.float64]
Ends = NDArray[np.intp]

SWEEPS = 30
MOST_ROUNDS = 150
SHORTEST, LONGEST = 0.6, 3.0
"""Of an edge."""
ASPECT = 1.45
"""Width over height that the whole picture aims at."""
GAP = 1.2
"""Between components."""


def layout(
    n: int, first: Ends, second: Ends, weight: NDArray[np.float64] | None = None, seed: int = 0
) -> Points:
    """Return positions of shape (n, 2); an edge is about one unit long, a heavy one shorter, a light one longer.

    Each component minimises its stress sum_ij d_ij^-2 (|x_i - x_j| - d_ij)^2, d the length of the shortest way between
    two nodes along edges, so that heavy pairs stand close and communities apart even where every pair is an edge; the
    components then stand beside each other, the largest first, and nodes without an edge in rows under them.

    Examples
    --------
    >>> where = layout(3, np.array([0]), np.array([1]))
    >>> round(float(np.linalg.norm(where[0] - where[1])), 3)
    1.0
    """
    lengths = np.ones(len(first)) if weight is None else lengths_of(weight, n)
    graph = csr_array((lengths, (first, second)), shape=(n, n))
    label = connected_components(graph, directed=False)[1].astype(np.intp)
    size = np.bincount(label, minlength=1)
    rng = np.random.default_rng(seed)
    where = np.zeros((n, 2))
    boxes = []
    by_label, start = np.argsort(label, kind="stable"), np.r_[0, np.cumsum(size)]
    for part in sorted(np.flatnonzero(size > 1).tolist(), key=lambda at: (-size[at], at)):
        members = by_label[start[part] : start[part + 1]]
        if len(members) == 2:
            where[members] = [[0.0, 0.0], [1.0, 0.0]]
            boxes.append(members)
            continue
        steps = shortest_path(graph[members][:, members], directed=False)
        where[members] = wide(least_stress(steps, rng))
        boxes.append(members)
    alone = np.flatnonzero(size[label] == 1) if n else np.zeros(0, dtype=np.intp)
    bottom, width = on_shelves(where, boxes, [where[box].max(axis=0) + GAP for box in boxes])
    rows_under(where, alone, bottom, width)
    return where


def lengths_of(weight: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return how long edges of n nodes should be: in inverse proportion to the root of the weight, within bounds.

    The median of the heaviest two a node has length 1: where every pair is an edge, most of them say little.

    >>> lengths_of(np.array([0.1, 0.4, 0.4, 0.9]), 4).round(2).tolist()
    [2.0, 1.0, 1.0, 0.67]
    """
    heaviest = np.sort(weight)[::-1][: 2 * n]
    middle = float(np.median(heaviest)) if len(weight) else 0.0
    if middle <= 0:
        return np.ones(len(weight))
    return np.clip(np.sqrt(middle / np.maximum(weight, 1e-12)), SHORTEST, LONGEST)


def least_stress(steps: NDArray[np.float64], rng: np.random.Generator) -> Points:
    """Return positions (n, 2) whose distances are close to `steps` (n, n), by stochastic gradient descent.

    The pairs of one step are disjoint (the rounds of a tournament, by the circle method), so that a step is a
    handful of array operations (Zheng, Pawar and Goodman, 2019, describe the descent and its step sizes). Where
    there are more rounds than `MOST_ROUNDS`, a sweep plays some of them, and then all pairs of close nodes.
    """
    n = len(steps)
    where = np.empty(n, dtype=np.complex128)
    where.real, where.imag = rng.normal(scale=math.sqrt(n), size=(2, n))
    players = n + n % 2
    ring = np.arange(players // 2)
    close = np.nonzero(np.triu(steps <= 2, 1)) if players > MOST_ROUNDS else None
    for rate in np.geomspace(float(steps.max()) ** 2, 0.1, SWEEPS):
        seat = rng.permutation(players)
        for turn in rng.permutation(players - 1)[:MOST_ROUNDS]:
            facing = (turn - ring) % (players - 1)
            facing[0] = players - 1  # the one player who keeps the seat
            left, right = seat[(turn + ring) % (players - 1)], seat[facing]
            if players > n:
                real = (left < n) & (right < n)
                left, right = left[real], right[real]
            move = _pull(where, left, right, steps[left, right], rate)
            where[left] -= move
            where[right] += move
        if close is not None:
            _settle(where, close[0], close[1], steps[close], rate)
    return np.column_stack([where.real, where.imag])


def _pull(
    where: NDArray[np.complex128], left: Ends, right: Ends, goal: NDArray[np.float64], rate: float
) -> NDArray[np.complex128]:
    apart = where[left] - where[right]
    length = np.maximum(np.abs(apart), 1e-9)
    pull: NDArray[np.complex128] = np.minimum(rate / goal**2, 1.0) * (length - goal) / (2 * length) * apart
    return pull


def _settle(
    where: NDArray[np.complex128], left: Ends, right: Ends, goal: NDArray[np.float64], rate: float
) -> None:
    """Move every node by the mean of what its close pairs ask for, a few times."""
    n = len(where)
    both, shares = np.r_[left, right], np.bincount(np.r_[left, right], minlength=n)
    for _ in range(3):
        move = _pull(where, left, right, goal, rate)
        asked = np.r_[-move, move]
        total = np.bincount(both, asked.real, n) + 1j * np.bincount(both, asked.imag, n)
        where += 2 * total / np.maximum(shares, 1)


def wide(where: Points) -> Points:
    """Turn the longest direction of a component to the horizontal, and its corner to the origin."""
    centred = where - where.mean(axis=0)
    turned = centred @ np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    placed: Points = turned - turned.min(axis=0)
    return placed


def on_shelves(where: Points, boxes: list[Ends], sizes: list[Points]) -> tuple[float, float]:
    """Put components, each with its corner at the origin, on shelves; return the height they fill and their width."""
    area = sum(float(w * h) for w, h in sizes)
    width = max([math.sqrt(area * ASPECT), *(float(w) for w, _ in sizes)], default=0.0)
    left = top = tall = reach = 0.0
    for box, (w, h) in zip(boxes, sizes, strict=True):
        if left and left + w > width * 1.05:
            left, top, tall = 0.0, top + tall, 0.0
        where[box] += [left, top]
        left, tall = left + w, max(tall, float(h))
        reach = max(reach, left - GAP)
    return top + tall, reach


def rows_under(where: Points, alone: Ends, top: float, width: float) -> None:
    """Put the nodes without an edge in rows under the components."""
    spacing = 0.9
    columns = max(int(width / spacing) + 1, math.ceil(math.sqrt(len(alone) * ASPECT)), 1)
    columns = min(columns, max(len(alone), 1))
    at = np.arange(len(alone))
    indent = max(0.0, (width - (columns - 1) * spacing) / 2)
    where[alone] = np.column_stack([indent + at % columns * spacing, top + at // columns * spacing])
