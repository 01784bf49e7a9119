"""Labels that do not lie on each other: boxes pushed apart until none overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
_ROUNDS = 300
_HOLD = 0.05  # how strongly a label is drawn back to its place, as long as it moves
_GAP = 2.0


def place_labels(
    anchor: Points,
    size: Points,
    radius: float,
    towards: Points,
    low: Points,
    high: Points,
    obstacles: Points | None = None,
) -> Points:
    """Return centres of label boxes that do not overlap and, as far as there is room, lie on no node.

    Parameters
    ----------
    anchor : ndarray of shape (n, 2)
        The labelled nodes, in pixels.
    size : ndarray of shape (n, 2)
        Width and height of each label.
    radius : float
        Radius of a node.
    towards : ndarray of shape (n, 2)
        Directions in which labels start from their nodes, of any length; zero is upwards.
    low, high : ndarray of shape (2,)
        Corners of the picture, in which labels stay.
    obstacles : ndarray of shape (m, 2), optional
        All nodes, where not all are labelled.

    Examples
    --------
    >>> nodes = np.array([[50.0, 50.0], [52.0, 50.0]])
    >>> box = np.full((2, 2), 10.0)
    >>> centre = place_labels(nodes, box, 3.0, np.zeros((2, 2)), np.zeros(2), np.full(2, 100.0))
    >>> overlaps(centre, box).any()
    np.False_
    """
    half = size / 2
    length = np.linalg.norm(towards, axis=1, keepdims=True)
    unit = np.where(length > 1e-9, towards / np.maximum(length, 1e-9), [0.0, 1.0])
    # Far enough along the direction that the box just clears the node.
    clear = np.min((radius + _GAP + half) / np.maximum(np.abs(unit), 1e-9), axis=1, keepdims=True)
    home = anchor + unit * clear
    centre: Points = home.copy()
    nodes = anchor if obstacles is None else obstacles
    inside = low + half, np.maximum(high - half, low + half)
    for _ in range(_ROUNDS):
        move = _apart(centre, half + _GAP / 2) + _off_nodes(centre, half, nodes, radius)
        centre = np.clip(centre + move + _HOLD * (home - centre), *inside)
    return _resettled(centre, size, home, *inside)


def _resettled(centre: Points, size: Points, home: Points, low: Points, high: Points) -> Points:
    """Move each box that still lies on another to the free place nearest to its home; low, high are (n, 2)."""
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = np.column_stack([np.sin(angle), np.cos(angle)])
    places = (np.geomspace(1.0, float((high - low).max()) + 2.0, 60)[:, None, None] * ring).reshape(-1, 2)
    for at in np.flatnonzero(overlaps(centre, size)):
        others = np.delete(np.arange(len(centre)), at)
        free = np.clip(home[at] + places, low[at], high[at])
        depth = _depth(free, centre[others], np.tile(size[at] / 2, (len(free), 1)), size[others] / 2)
        allowed = np.flatnonzero(~_both(depth).any(axis=1))
        if len(allowed):
            distance = np.linalg.norm(free[allowed] - home[at], axis=1)
            centre[at] = free[allowed[int(np.argmin(distance))]]
    return centre


def overlaps(centre: Points, size: Points) -> NDArray[np.bool_]:
    """Return for each box whether it lies on another, shape (n,)."""
    depth = _depth(centre, centre, size / 2, size / 2)
    np.fill_diagonal(depth[..., 0], -1.0)
    lies: NDArray[np.bool_] = np.any(_both(depth), axis=1)
    return lies


def _depth(a: Points, b: Points, half_a: Points, half_b: Points) -> NDArray[np.float64]:
    """Return how deep boxes lie in each other along both axes: (n, m, 2), positive in both where they overlap."""
    depth: NDArray[np.float64] = half_a[:, None] + half_b[None] - np.abs(a[:, None] - b[None])
    return depth


def _both(depth: NDArray[np.float64]) -> NDArray[np.bool_]:
    lies: NDArray[np.bool_] = (depth[..., 0] > 0) & (depth[..., 1] > 0)
    return lies


def _apart(centre: Points, half: Points) -> Points:
    """Return moves that take overlapping boxes apart along the axis in which they overlap least."""
    n = len(centre)
    depth = _depth(centre, centre, half, half)
    depth[np.arange(n), np.arange(n)] = -1.0
    lies = _both(depth)
    axis = depth.argmin(axis=2)
    side = np.sign(centre[:, None] - centre[None])
    # Of two boxes on one spot the later moves up.
    side = np.where(side == 0, np.sign(np.arange(n)[:, None] - np.arange(n)[None])[..., None], side)
    push = np.where(lies[..., None] & (np.arange(2) == axis[..., None]), side * (depth / 2 + 0.25), 0.0)
    crowd = np.maximum(lies.sum(axis=1, keepdims=True), 1)
    moves: Points = push.sum(axis=1) / np.sqrt(crowd)
    return moves


def _off_nodes(centre: Points, half: Points, anchor: Points, radius: float) -> Points:
    depth = _depth(centre, anchor, half, np.full_like(anchor, radius))
    lies = _both(depth)
    axis = depth.argmin(axis=2)
    side = np.where(centre[:, None] >= anchor[None], 1.0, -1.0)
    push = np.where(lies[..., None] & (np.arange(2) == axis[..., None]), side * depth, 0.0)
    moves: Points = push.sum(axis=1) / np.maximum(lies.sum(axis=1, keepdims=True), 1)
    return moves
