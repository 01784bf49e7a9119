"""The shape of each dependence: the estimated interaction of two variables on a grid, given the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError
from gpmnet.frozen import Frozen, FrozenMap, locked

_LARGEST = 50.0  # of an interaction, in log units: more is no longer a difference
_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Axis:
    """The grid of one variable.

    Attributes
    ----------
    values : tuple of float
        Grid points in the variable's own units, not decreasing; empty for categories.
    labels : tuple of str
        One text a grid point: the categories, or the values as they are printed.
    shares : tuple of float
        The share of the rows that each category has; empty where it is the same, as it is for quantiles, or not known.
    """

    values: tuple[float, ...]
    labels: tuple[str, ...]
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        values = tuple(float(value) for value in self.values)
        if values and len(values) != len(self.labels):
            raise InputError(f"an axis has {len(values)} values for {len(self.labels)} labels")
        if not np.isfinite(values).all() or any(b < a for a, b in pairwise(values)):
            raise InputError("the values of an axis must be finite and must not decrease")
        shares = tuple(float(share) for share in self.shares)
        if shares and (
            len(shares) != len(self.labels) or not (min(shares) >= 0 and abs(sum(shares) - 1) < 1e-6)
        ):
            raise InputError("the shares of an axis must be one a label, none below 0, and 1 together")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "shares", shares)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The share of the rows that each grid point stands for, (len,)."""
        return np.array(self.shares) if self.shares else np.full(len(self), 1 / len(self))

    @property
    def is_numeric(self) -> bool:
        """Whether the grid has a scale; categories have none."""
        return bool(self.values)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Shapes(Frozen):
    """Interactions of pairs of variables, each on the grid of its two axes.

    The interaction of variables j and k is the part of log p(x) that neither x_j nor x_k carries alone,
    on the grid and double-centred: every row and every column of a grid has mean zero.

    Attributes
    ----------
    axes : mapping
        Position of a variable among the names -> its `Axis`.
    pair : ndarray of int, shape (m,)
        Positions among the pairs of the network, increasing.
    values : tuple of ndarray of float32
        One array a pair, of shape (length of the first axis, length of the second axis).

    Examples
    --------
    >>> up = np.array([[0.5, -0.5], [-0.5, 0.5]], dtype=np.float32)
    >>> axis = Axis((), ("no", "yes"))
    >>> shapes = Shapes({0: axis, 2: axis}, np.array([1]), (up,))
    >>> shapes.of(1).shape, shapes.of(0)
    ((2, 2), None)
    """

    axes: Mapping[int, Axis]
    pair: NDArray[np.intp]
    values: tuple[NDArray[np.float32], ...]

    def __post_init__(self) -> None:
        pair = locked(self.pair, np.intp)
        if pair.shape != (len(self.values),) or np.any(np.diff(pair) <= 0):
            raise InputError("shapes need one grid a pair, their pairs increasing")
        grids = []
        for value in self.values:
            grid = locked(value, np.float32)
            if grid.ndim != 2:
                raise InputError(f"a shape is a grid over two axes, not an array of shape {grid.shape}")
            if not np.isfinite(grid).all():
                raise InputError("a shape must have a finite value at every point of its grid")
            grids.append(grid)
        object.__setattr__(self, "pair", pair)
        object.__setattr__(self, "values", tuple(grids))
        object.__setattr__(self, "axes", FrozenMap(self.axes))

    def of(self, pair: int) -> NDArray[np.float32] | None:
        """Return the grid of a pair by its position among the pairs; None where it has none."""
        at = int(np.searchsorted(self.pair, pair))
        return self.values[at] if at < len(self.pair) and self.pair[at] == pair else None

    def check(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> None:
        """Raise unless every grid belongs to one of the pairs (first, second) and fits their axes."""
        if self.pair.size and not (self.pair[0] >= 0 and self.pair[-1] < len(first)):
            raise InputError("a shape belongs to a pair that the network does not have")
        for at, grid in zip(self.pair.tolist(), self.values, strict=True):
            ends = int(first[at]), int(second[at])
            if not all(end in self.axes for end in ends):
                raise InputError(f"the shape of pair {at} has no axis for one of its variables")
            expected = tuple(len(self.axes[end]) for end in ends)
            if grid.shape != expected:
                raise InputError(f"the shape of pair {at} is {grid.shape} over axes of {expected} points")

    def __len__(self) -> int:
        return len(self.pair)

    def __repr__(self) -> str:
        return f"Shapes({len(self):,} pairs over {len(self.axes):,} axes)"


def joint_shares(x: Axis, y: Axis, values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return how often two values occur together, as shares of the rows, (len(x), len(y)).

    An interaction alone does not say that: where one category falls and another rises, a third with a flat line is common
    in between. These are the shares of the one distribution with the interaction and both axes' own weights, to which
    fitting rows and columns in turn leads (Deming and Stephan 1940).

    >>> shares = joint_shares(Axis((), ("a", "b")), Axis((), ("c", "d"), (0.2, 0.8)), np.log([[9.0, 1.0], [1.0, 9.0]]))
    >>> shares.sum(axis=0).round(4).tolist(), round(float(shares[0, 0] * shares[1, 1] / (shares[0, 1] * shares[1, 0])))
    ([0.2, 0.8], 81)
    """
    wanted_x, wanted_y = x.weights, y.weights
    kernel = np.exp(np.clip(np.asarray(values, dtype=np.float64), -_LARGEST, _LARGEST))
    rows, columns = np.ones(len(x)), np.ones(len(y))
    for _ in range(_ROUNDS):
        rows = wanted_x / (kernel @ columns)
        columns = wanted_y / (rows @ kernel)
    return rows[:, None] * kernel * columns


def untied(axis: Axis) -> tuple[Axis, NDArray[np.float64]]:
    """Return the axis that a picture has, and the weights (its points, points of the grid) that bring a grid to it.

    Grid points of one value, as a column with many zeros has, become one, with the mean of their interactions. Where all
    have the same value (more than 95% of the rows), the picture is over the ranks, and says so.

    >>> drawn, weights = untied(Axis((0.0, 0.0, 7.0), ("0", "0", "7")))
    >>> drawn.labels, weights.tolist()
    (('0', '7'), [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> untied(Axis((0.0, 0.0), ("0", "0")))[0].labels
    ('rank 25%', 'rank 75%')
    """
    n = len(axis)
    if not axis.is_numeric or n < 2:
        return axis, np.eye(n)
    values, first, place = np.unique(axis.values, return_index=True, return_inverse=True)
    if len(values) == 1:
        ranks = [100 * (at + 0.5) / n for at in range(n)]
        return Axis(tuple(ranks), tuple(f"rank {rank:.0f}%" for rank in ranks)), np.eye(n)
    weights = (place == np.arange(len(values))[:, None]).astype(np.float64)
    drawn = Axis(tuple(values.tolist()), tuple(axis.labels[at] for at in first.tolist()))
    return drawn, weights / weights.sum(axis=1, keepdims=True)


def untied_grid(x: Axis, y: Axis, values: NDArray[Any]) -> tuple[Axis, Axis, NDArray[np.float32]]:
    """Return both axes and the grid (len(x), len(y)) as a picture has them, see `untied`."""
    (x, rows), (y, columns) = untied(x), untied(y)
    return x, y, (rows @ values @ columns.T).astype(np.float32)
