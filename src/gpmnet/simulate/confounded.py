"""Null pairs: x and y that confounders of many shapes join, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy.signal import lfilter
from scipy.special import expit

from gpmnet.checks import check_choice
from gpmnet.errors import InputError, quote
from gpmnet.graphs import undirected
from gpmnet.simulate.base import Simulation, Simulator, Values, generators, kinds_of

Rng: TypeAlias = np.random.Generator
Children: TypeAlias = Callable[[Rng, Rng, Values], tuple[Values, Values]]
"""From generators of the law and of the sample, and confounders (n, k), to x and y (n,)."""


@dataclass(frozen=True)
class Law:
    """How the confounders are drawn, and x and y given them.

    Attributes
    ----------
    shape : str
        "smooth"; "jump", where x and y change abruptly with a confounder or where it has atoms or levels that
        any values can belong to; "limit", where no test that takes rows for independent can be right.
    confounders : callable
        ``(generator, n)`` to (n, k).
    children : Children
        x and y, independent given the confounders.
    levels : tuple of int
        Of x, y and the confounders, 0 for a continuous one.
    edges : tuple of pairs
        Of positions in that order; empty where all pairs but x -- y are edges, as where each confounder acts
        on both: given what they act on together, confounders are dependent.
    """

    shape: str
    confounders: Callable[[Rng, int], Values]
    children: Children
    levels: tuple[int, ...] = (0, 0, 0)
    edges: tuple[tuple[int, int], ...] = ()

    @property
    def kind(self) -> str:
        """The kind of a table of this law."""
        return "mixed" if any(self.levels) else "continuous"


def _normal(count: int) -> Callable[[Rng, int], Values]:
    return lambda rng, n: rng.standard_normal((n, count))


def _codes(*levels: int) -> Callable[[Rng, int], Values]:
    return lambda rng, n: np.column_stack([rng.integers(0, m, n).astype(np.float64) for m in levels])


def _uneven(levels: int) -> Callable[[Rng, int], Values]:
    """Draw one code whose probabilities fall as 1, 1/2, 1/3, ..."""
    mass = 1.0 / np.arange(1, levels + 1)
    return lambda rng, n: rng.choice(levels, (n, 1), p=mass / mass.sum()).astype(np.float64)


def _normal_and_code(levels: int) -> Callable[[Rng, int], Values]:
    return lambda rng, n: np.column_stack([_normal(1)(rng, n), _codes(levels)(rng, n)])


def _tied(rng: Rng, n: int) -> Values:
    return np.asarray(np.round(2.0 * rng.standard_normal((n, 1))) / 2.0)


def _walk(rng: Rng, n: int) -> Values:
    """Return three confounders of which each follows from the one before."""
    return np.asarray((rng.standard_normal((n, 3)) * [1.0, 0.5, 0.5]).cumsum(axis=1))


def _each(child: Callable[..., Values]) -> Children:
    """Draw x and y one after the other by ``child(generator, z1, ..., zk)``."""
    return lambda _, rng, z: (child(rng, *z.T), child(rng, *z.T))


def _shifted(f: Callable[..., Values], g: Callable[..., Values], noise: float) -> Children:
    """Let x = f(z) + noise and y = g(z) + noise."""

    def children(_: Rng, rng: Rng, z: Values) -> tuple[Values, Values]:
        return tuple(mean(*z.T) + noise * rng.standard_normal(len(z)) for mean in (f, g))  # type: ignore[return-value]

    return children


def _both(f: Callable[..., Values], noise: float = 0.5) -> Children:
    return _shifted(f, f, noise)


def _scaled(f: Callable[..., Values]) -> Children:
    """Let x and y share a scale and no mean."""
    return _each(lambda rng, *z: f(*z) * rng.standard_normal(len(z[0])))


def _any_means(levels: int) -> Children:
    """Let the means be arbitrary values of a code."""

    def children(for_law: Rng, rng: Rng, z: Values) -> tuple[Values, Values]:
        means = for_law.standard_normal((2, levels))[:, z[:, 0].astype(np.intp)]
        x, y = means + 0.5 * rng.standard_normal(means.shape)
        return x, y

    return children


def _any_table(levels: int) -> Children:
    """Let x and y have three levels, their probabilities being the same arbitrary values of a code."""

    def children(for_law: Rng, rng: Rng, z: Values) -> tuple[Values, Values]:
        reached = for_law.dirichlet(np.ones(3), levels).cumsum(axis=1)[z[:, 0].astype(np.intp), :2]
        x, y = (rng.random((2, len(z), 1)) > reached).sum(axis=2).astype(np.float64)
        return x, y

    return children


def _persistent(rng: Rng, n: int) -> Values:
    """Return a stationary series of variance 1 whose neighbors in time have correlation 0.9."""
    step = np.sqrt(1 - 0.9**2) * rng.standard_normal(n)
    step[0] /= np.sqrt(1 - 0.9**2)
    return np.asarray(lfilter([1.0], [1.0, -0.9], step))


def _sum(*z: Values) -> Values:
    return np.asarray(np.sum(z, axis=0))


def _differ(a: Values, b: Values) -> Values:
    return np.asarray(a != b, dtype=np.float64)


# Of 50 equally common levels the table layer takes none: its commonest must cover half of the rows.
_CATEGORIES = {m: _codes(m) for m in (2, 3, 8, 15, 30)} | {50: _uneven(50)}
_SCALES, _SLOPES = np.array([0.3, 1.0, 3.0]), np.array([-1.0, 0.5, 2.0])
_CHAIN = ((0, 2), (2, 3), (3, 4), (1, 4))


def _at(values: Values, code: Values) -> Values:
    return np.asarray(values[code.astype(np.intp)])


def _smooth(count: int, children: Children, confounders: Any = None) -> Law:
    return Law("smooth", confounders or _normal(count), children, (0,) * (2 + count))


LAWS: dict[str, Law] = {
    "linear": _smooth(1, _both(lambda z: z, 1.0)),
    "sum of four": _smooth(4, _both(_sum, 1.0)),
    "square": _smooth(1, _both(lambda z: z**2)),
    "sine": _smooth(1, _both(lambda z: np.sin(3 * z))),
    "sine, cosine": _smooth(1, _shifted(lambda z: np.sin(3 * z), lambda z: np.cos(3 * z), 0.3)),
    "fast sine": _smooth(1, _both(lambda z: np.sin(6 * z))),
    "shared scale": _smooth(1, _scaled(lambda z: np.exp(np.sin(3 * z)))),
    "large shared scale": _smooth(1, _scaled(lambda z: np.exp(2 * np.sin(3 * z)))),
    "maximum": _smooth(2, _both(np.maximum)),
    "maximum of four": _smooth(4, _both(lambda *z: np.max(z, axis=0))),
    "product": _smooth(2, _both(lambda a, b: a * b, 0.3)),
    "product of three": _smooth(3, _both(lambda a, b, c: a * b * c)),
    "sum of three squares": _smooth(3, _both(lambda a, b, c: a**2 + b**2 + c**2)),
    "threshold of four": _smooth(4, _both(lambda *z: np.tanh(_sum(*z)), 0.3)),
    "sine of a sum": _smooth(2, _both(lambda a, b: np.sin(2 * (a + b)))),
    "counts": _smooth(1, _each(lambda rng, z: rng.poisson(np.exp(z)).astype(np.float64))),
    "zero inflation": _smooth(
        1, _each(lambda rng, z: (rng.random(len(z)) < expit(2 * z)) * np.exp(z + 0.5 * rng.standard_normal(len(z))))
    ),
    "rounded": _smooth(1, _each(lambda rng, z: np.round(2 * (z + 0.5 * rng.standard_normal(len(z)))) / 2)),
    "Cauchy noise": _smooth(1, _each(lambda rng, z: z + rng.standard_cauchy(len(z)))),
    "Cauchy confounder": _smooth(1, _both(lambda z: z), lambda rng, n: rng.standard_cauchy((n, 1))),
    "chain": Law("smooth", _walk, _shifted(lambda a, b, c: a, lambda a, b, c: c, 0.5), (0,) * 5, _CHAIN),
    "curved chain": Law(
        "smooth", _walk, _shifted(lambda a, b, c: np.sin(2 * a), lambda a, b, c: np.sin(2 * c), 0.5), (0,) * 5, _CHAIN
    ),
    "step": Law("jump", _normal(1), _both(lambda z: 1.0 * (z > 0.5), 0.3)),
    "step of a sum": Law("jump", _normal(3), _both(lambda *z: 1.0 * (_sum(*z) > 0), 0.3), (0,) * 5),
    "sign times": Law("jump", _normal(2), _both(lambda a, b: np.sign(a) * b), (0,) * 4),
    "tied sine": Law("jump", _tied, _both(lambda z: np.sin(3 * z))),
    "whole numbers": Law("jump", _codes(8), _any_means(8)),
    **{f"text of {m}": Law("jump", codes, _any_means(m), (0, 0, m)) for m, codes in _CATEGORIES.items()},
    **{f"table of {m}": Law("jump", codes, _any_table(m), (3, 3, m)) for m, codes in _CATEGORIES.items()},
    "scale by level": Law("jump", _codes(3), _scaled(lambda z: _at(_SCALES, z)), (0, 0, 3)),
    "slope by level": Law("jump", _normal_and_code(3), _both(lambda a, b: _at(_SLOPES, b) * a), (0, 0, 0, 3)),
    "sine by level": Law(
        "jump", _normal_and_code(2), _both(lambda a, b: np.where(b > 0, np.sin(3 * a), np.cos(3 * a))), (0, 0, 0, 2)
    ),
    "exclusive or": Law("jump", _codes(2, 2), _both(_differ), (0, 0, 2, 2)),
    "noisy exclusive or": Law(
        "jump", _codes(2, 2), _each(lambda rng, a, b: _differ(_differ(a, b), 1.0 * (rng.random(len(a)) < 0.2))),
        (2, 2, 2, 2),
    ),
    "dependent rows": Law("limit", _normal(1), _each(lambda rng, z: z + _persistent(rng, len(z)))),
}  # fmt: skip


@dataclass(frozen=True)
class Confounded(Simulator):
    """Draw x and y that are independent given z1, ..., zk: x -- y is no edge, however dependent they are.

    The columns are x, y, the k confounders of a law and, to make up d, free columns of noise. Most laws have
    ``x = f(z) + noise, y = g(z) + noise`` with normal z and noise; ``gpmnet.simulate.confounded.LAWS`` has them all:

    - curves, products, maxima, thresholds and steps of one to four confounders;
    - shared scales, ties, counts, many zeros, heavy tails;
    - codes of 2 to 50 levels whose effect on numbers (*text of*) or on variables of three levels (*table of*) is
      arbitrary, drawn anew with every seed; of 50 levels the k-th is 1/k times as common as the first;
    - levels that change a slope, a curve or a scale; an exclusive or of two;
    - chains x -- z1 -- z2 -- z3 -- y;
    - rows that are dependent: the limit of every test here.

    Where confounders act together they are neighbors of one another: given x they are dependent.

    A law has one kind, so `kind` need not be given.

    Parameters
    ----------
    law : str
        One of ``LAWS``.

    Examples
    --------
    >>> drawn = Confounded("sine of a sum").draw(d=5, n=10)
    >>> drawn.names, len(drawn.edges())
    (('x', 'y', 'z1', 'z2', 'free1'), 5)
    """

    name: ClassVar[str] = "confounded"
    kinds: ClassVar[tuple[str, ...]] = ("continuous", "mixed")
    smallest: ClassVar[int] = 3
    law: str = "linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "law", tuple(LAWS))

    def draw(self, d: int, n: int, seed: int = 0, kind: str | None = None) -> Simulation:
        """Draw a sample, see `Simulator.draw`; the kind is the law's unless given."""
        return super().draw(d, n, seed, LAWS[self.law].kind if kind is None else kind)

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        law = LAWS[self.law]
        named = len(law.levels)
        if kind != law.kind:
            raise InputError(
                f"confounded: the law {quote(self.law)} is {law.kind}, not {kind}; leave the kind out"
            )
        if d < named:
            raise InputError(
                f"confounded: the law {quote(self.law)} has {named} columns; d must be at least that, got {d}"
            )
        # The same noise behind every law would make chance look like a property of the test.
        for_law, for_sample = generators(seed, 2, self.law)
        z = law.confounders(for_sample, n)
        x, y = law.children(for_law, for_sample, z)
        free = for_sample.standard_normal((n, d - named))
        levels = np.array(law.levels + (0,) * (d - named), dtype=np.intp)
        edges = law.edges or tuple(pair for pair in combinations(range(named), 2) if pair != (0, 1))
        first, second = np.array(edges, dtype=np.intp).T
        names = (
            "x",
            "y",
            *(f"z{k + 1}" for k in range(named - 2)),
            *(f"free{k + 1}" for k in range(d - named)),
        )
        return Simulation(
            name=self.name,
            names=names,
            values=np.column_stack([x, y, z, free]),
            kinds=kinds_of(levels),
            truth=undirected(d, first, second),
            parameters=self._parameters(d, n, seed, kind, shape=law.shape),
            levels=tuple(levels.tolist()),
        )
