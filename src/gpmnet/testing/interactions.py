r"""Interactions of the members of a conditioning set: products of functions of several of them.

A continuous member has the functions :math:`c \tanh(z / c), \cos 2\pi u, \ldots, \cos W\pi u` of degree 1, 2, ..., W; a
discrete one its centred indicators, of degree 1. A product of functions of two or more members has the sum of their
degrees. These are, up to bounded functions for polynomials, the leading eigenfunctions of a Gaussian kernel on
normal scores. A set has all products up to the highest total degree at which they fit a budget, of all its members or,
where not even degree 2 fits, of those that are left without the widest discrete ones. Nothing is drawn at random, and
neither names nor order of the columns matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class SetShape(NamedTuple):
    """What decides which interactions a set has.

    Attributes
    ----------
    n_continuous : int
        Continuous members.
    widths : tuple of int
        Columns of each discrete member, in increasing order.
    saturated : bool
        Whether the discrete members' joint table is in the design: their own products are then superfluous.
    w : int
        Degrees of a continuous member.
    """

    n_continuous: int
    widths: tuple[int, ...]
    saturated: bool
    w: int


@lru_cache(maxsize=1 << 14)
def fitting_shape(shape: SetShape, most: int) -> tuple[SetShape, int]:
    """Return the shape less its widest discrete members, as many as must go for products to fit, and their degree.

    Members of the same width stay or go together.

    Examples
    --------
    >>> fitting_shape(SetShape(2, (1, 40), False, w=6), most=30)
    (SetShape(n_continuous=2, widths=(1,), saturated=False, w=6), 5)
    """
    degree = highest_degree(shape, most)
    while degree < 2 and shape.widths:
        shape = shape._replace(widths=tuple(width for width in shape.widths if width < shape.widths[-1]))
        degree = highest_degree(shape, most)
    return shape, degree


def highest_degree(shape: SetShape, most: int) -> int:
    """Return the highest total degree up to which there are at most `most` products; 1 stands for none.

    Examples
    --------
    Of two continuous members there is one product of degree 2 and two of degree 3.

    >>> highest_degree(SetShape(2, (), False, w=6), most=3)
    3
    """
    # Generating functions: coefficient q counts the products of degree q.
    discrete, every = np.ones(1), np.ones(1)
    for width in shape.widths:
        discrete = np.convolve(discrete, [1, width])
    for _ in range(shape.n_continuous):
        every = np.convolve(every, np.ones(shape.w + 1))
    count = np.convolve(every, discrete)
    count[1 : shape.w + 1] -= shape.n_continuous
    if shape.saturated:
        count[1 : len(discrete)] -= discrete[1:]
    else:
        count[1:2] -= sum(shape.widths)
    fits = np.cumsum(count[2:]) <= most
    return 1 + (len(fits) if fits.all() else int(fits.argmin()))


@lru_cache(maxsize=1 << 12)
def factors(shape: SetShape, degree: int) -> tuple[Tensor, ...]:
    """Return which columns are multiplied: a tensor (products, factors) for 2, 3, ... factors.

    Columns are counted member by member, the w functions of each continuous one first, then the discrete ones'.
    """
    n_continuous, widths, saturated, w = shape
    choices = [[(m + 1, k * w + m) for m in range(w)] for k in range(n_continuous)]
    start = n_continuous * w
    for width in widths:
        choices.append([(1, start + m) for m in range(width)])
        start += width
    found = []
    for size in range(2, min(degree, len(choices)) + 1):
        columns: list[tuple[int, ...]] = []
        for members in combinations(range(len(choices)), size):
            if not saturated or members[0] < n_continuous:
                columns += _columns([choices[member] for member in members], degree)
        if columns:
            found.append(torch.tensor(columns))
    return tuple(found)


def _columns(choices: list[list[tuple[int, int]]], degree: int) -> Iterator[tuple[int, ...]]:
    """Yield one column of each choice wherever their degrees add up to at most `degree`."""
    if not choices:
        yield ()
        return
    for own, column in choices[0]:
        if own + len(choices) - 1 <= degree:
            for rest in _columns(choices[1:], degree - own):
                yield (column, *rest)


@lru_cache(maxsize=1 << 12)
def degrees(shape: SetShape, degree: int) -> Tensor:
    """Return the degrees of all products, in the order of `factors`."""
    own = torch.ones(shape.n_continuous * shape.w + sum(shape.widths), dtype=torch.int64)
    own[: shape.n_continuous * shape.w] = torch.arange(1, shape.w + 1).repeat(shape.n_continuous)
    return torch.cat([own[index].sum(dim=1) for index in factors(shape, degree)])


def n_interactions(shape: SetShape, degree: int) -> int:
    """Return how many products there are up to a degree."""
    return sum(len(columns) for columns in factors(shape, degree))


def interactions(columns: Tensor, shape: SetShape, degree: int) -> Tensor:
    """Return the products of the members' columns (b, f, n) in the order of `factors`, (b, products, n)."""
    found = []
    for index in factors(shape, degree):
        index = index.to(columns.device)
        value = columns[:, index[:, 0]]
        for k in range(1, index.shape[1]):
            value *= columns[:, index[:, k]]
        found.append(value)
    return torch.cat(found, dim=1)
