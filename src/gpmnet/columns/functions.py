r"""Functions of one continuous column, each with its first and second derivative; they are spelled nowhere else.

A column reaches its functions as normal scores z, with the rank :math:`u = \Phi(z)` in (0, 1):

=================  ==========================================  ================================================
function           formula                                     who uses it
=================  ==========================================  ================================================
`Tanh(c)`          :math:`c \tanh(z / c)`                      tests (all but linear, bounded), node models
`Cosine(m)`        :math:`\cos m \pi u`                        tests, design matrices, node models
`Power(p)`         :math:`z^p / p!`                            design matrices, node models, pairwise energies
`Bell(p, width)`   :math:`z^p e^{-z^2 / \mathrm{width}}`       node models, pairwise energies
=================  ==========================================  ================================================

To add one, write a class with the three methods of `ColumnFunction` and put it into a family.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.table.encode import normal_quantiles

CLIP = 2.5
"""The constant c of the first function that tests use."""
GRID: NDArray[np.float64] = normal_quantiles(21)
"""Normal scores at which the surface of an edge is told; a discrete variable has all its levels."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Normal scores of any shape, and what several functions of them share, computed once."""

    z: Tensor
    _known: dict[ColumnFunction, Tensor] = field(default_factory=dict, repr=False)

    def value(self, function: ColumnFunction) -> Tensor:
        """Return a function of the scores, computed once however often it is asked for."""
        if function not in self._known:
            self._known[function] = function.value(self)
        return self._known[function]

    @cached_property
    def phase(self) -> Tensor:
        r""":math:`\pi u`."""
        u: Tensor = torch.special.ndtr(self.z)
        return torch.pi * u

    @cached_property
    def rate(self) -> Tensor:
        r""":math:`\pi\, du / dz`."""
        return math.sqrt(math.pi / 2) * torch.exp(-0.5 * self.z.square())


@runtime_checkable
class ColumnFunction(Protocol):
    """A smooth function of a normal score; every method returns the shape of the scores."""

    def value(self, s: Scores) -> Tensor:
        """Return the function."""
        ...

    def first(self, s: Scores) -> Tensor:
        """Return its derivative in z."""
        ...

    def second(self, s: Scores) -> Tensor:
        """Return its second derivative in z."""
        ...


@dataclass(frozen=True)
class Tanh:
    r""":math:`c \tanh(z / c)`: linear in the middle, between -c and c."""

    c: float

    def value(self, s: Scores) -> Tensor:
        """Return the function."""
        return self.c * torch.tanh(s.z / self.c)

    def first(self, s: Scores) -> Tensor:
        """Return its derivative in z."""
        return 1 - torch.tanh(s.z / self.c).square()

    def second(self, s: Scores) -> Tensor:
        """Return its second derivative in z."""
        tanh = torch.tanh(s.z / self.c)
        return -2 / self.c * tanh * (1 - tanh.square())


@dataclass(frozen=True)
class Cosine:
    r""":math:`\cos m \pi u` of the rank."""

    m: int

    def value(self, s: Scores) -> Tensor:
        """Return the function."""
        return torch.cos(self.m * s.phase)

    def first(self, s: Scores) -> Tensor:
        """Return its derivative in z."""
        return -self.m * s.rate * torch.sin(self.m * s.phase)

    def second(self, s: Scores) -> Tensor:
        """Return its second derivative in z."""
        bend = s.z * torch.sin(self.m * s.phase) - self.m * s.rate * torch.cos(self.m * s.phase)
        return self.m * s.rate * bend


@dataclass(frozen=True)
class Power:
    """z^p / p!, p at least 1."""

    p: int = 1

    def value(self, s: Scores) -> Tensor:
        """Return the function."""
        return s.z if self.p == 1 else s.z**self.p / math.factorial(self.p)

    def first(self, s: Scores) -> Tensor:
        """Return its derivative in z."""
        return torch.ones_like(s.z) if self.p == 1 else Power(self.p - 1).value(s)

    def second(self, s: Scores) -> Tensor:
        """Return its second derivative in z."""
        return torch.zeros_like(s.z) if self.p == 1 else Power(self.p - 1).first(s)


@dataclass(frozen=True)
class Bell:
    """z^p e^(-z^2 / width), less its mean under N(0, 1) if it is centred."""

    p: int
    width: float
    centred: bool = False

    def value(self, s: Scores) -> Tensor:
        """Return the function."""
        found = s.z**self.p * torch.exp(-s.z.square() / self.width)
        return found - self.mean if self.centred else found

    def first(self, s: Scores) -> Tensor:
        """Return its derivative in z."""
        slope = 2 / self.width * s.z ** (self.p + 1)
        return (self._power(s.z, 1) - slope) * torch.exp(-s.z.square() / self.width)

    def second(self, s: Scores) -> Tensor:
        """Return its second derivative in z."""
        rate = 2 / self.width
        bend = rate * (2 * self.p + 1) * s.z**self.p - rate**2 * s.z ** (self.p + 2)
        return (self._power(s.z, 2) - bend) * torch.exp(-s.z.square() / self.width)

    @property
    def mean(self) -> float:
        """E under N(0, 1): that of z^p under N(0, v), v = 1 / (1 + 2 / width), times the root of v."""
        if self.p % 2:
            return 0.0
        return math.prod(range(1, self.p, 2)) * math.pow(1 + 2 / self.width, -0.5 * (self.p + 1))

    def _power(self, z: Tensor, order: int) -> Tensor:
        """Return a derivative of z^p of some order."""
        if self.p < order:
            return torch.zeros_like(z)
        return math.perm(self.p, order) * z ** (self.p - order)


Family = Sequence[ColumnFunction]


def feature_functions(k: int) -> tuple[ColumnFunction, ...]:
    """Return the k functions that tests correlate, of degree 1, 2, ...: all bounded, the first all but linear."""
    return (Tanh(CLIP), *(Cosine(m) for m in range(2, k + 1)))


def design_functions(n_cosines: int) -> tuple[ColumnFunction, ...]:
    """Return the functions of a column in a design matrix: z and cosines of its rank."""
    return (Power(1), *(Cosine(m) for m in range(1, n_cosines + 1)))


def cosines(s: Scores, count: int) -> Iterator[Tensor]:
    """Yield the cosines of degree 1, 2, ..., count of scores, each from the two before it: far faster than one by one."""
    first = Cosine(1).value(s)
    before, last = torch.ones_like(first), first
    for _ in range(count):
        yield last
        before, last = last, 2 * first * last - before


def waves(s: Scores, count: int, reach: float) -> Iterator[Tensor]:
    r"""Yield :math:`\sin \omega z, \cos \omega z, \sin 2 \omega z, \ldots`, bounded and smooth in z however long the tails.

    Half a period of the slowest is 1.25 times the largest score, `reach`: a Fourier basis on the range of the scores, with
    room at its ends, so that functions that do not close into a period are followed too.
    """
    slowest = 0.8 * math.pi / reach
    for m in range(1, count + 1):
        phase = (m + 1) // 2 * slowest * s.z
        yield torch.sin(phase) if m % 2 else torch.cos(phase)


def pairwise_functions(k: int) -> tuple[ColumnFunction, ...]:
    """Return the k functions of a coordinate in a pairwise energy: z and centred bells."""
    return (Power(1), *(Bell(p, 3.0, centred=True) for p in range(k - 1)))


OWN_FUNCTIONS: tuple[ColumnFunction, ...] = (Power(1), Power(2), Tanh(1.0), Bell(0, 2.0))
"""Functions of a continuous node in its own model: z, z²/2 (Gaussian conditionals are exact), tanh z, e^(-z²/2)."""


def values(family: Family, s: Scores) -> Tensor:
    """Return all functions of a family along a new last axis."""
    return _stacked([function.value for function in family], s)


def firsts(family: Family, s: Scores) -> Tensor:
    """Return their derivatives likewise."""
    return _stacked([function.first for function in family], s)


def seconds(family: Family, s: Scores) -> Tensor:
    """Return their second derivatives likewise."""
    return _stacked([function.second for function in family], s)


def _stacked(functions: list[Callable[[Scores], Tensor]], s: Scores) -> Tensor:
    return torch.stack([function(s) for function in functions], dim=-1)
